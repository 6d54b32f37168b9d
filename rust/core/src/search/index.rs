//! The index: what it holds, and how it changes (spec/recall.md section 1).

use std::sync::Mutex;

use hashbrown::hash_table::HashTable;
use hashbrown::{DefaultHashBuilder, HashMap};
use std::hash::BuildHasher;

use super::NONE;
use super::analyser::Analyser;
use super::config::Config;
use super::lending::Scratch;
use super::names::{Scopes, Texts, count};
use super::postings::{Posting, Postings};
use super::reading::{self, Batch, Draft};
use super::records::{Id, Order, QUESTION, Row, TIMELY, Tombstone, USER, parse_id};
use super::sessions::Sessions;
use super::speakers::Speakers;
use super::weights::Weights;
use crate::json::Malformed;

/// Records read at a time.
const AT_ONCE: usize = 1 << 14;
/// Most records there can be.
const MOST: usize = 1 << 31;
/// Records are numbered anew when more than this many, and more than a quarter of all, are gone or scattered.
const FEW: usize = 4096;

/// Why an update was refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Fault {
    /// Bytes that are no record.
    #[error("a payload is no record: give the canonical bytes of records")]
    NoRecord,
    /// More than an index can number.
    #[error("an index holds at most 2,147,483,648 records")]
    TooMany,
}

impl From<Malformed> for Fault {
    fn from(_: Malformed) -> Self {
        Self::NoRecord
    }
}

/// Finds, scores and packs records.
#[derive(Debug, Default)]
pub struct Index {
    pub(super) config: Config,
    /// By number; numbers of records that are gone are not given again until all are numbered anew.
    pub(super) rows: Vec<Row>,
    /// The traits of each row once more, close together.
    pub(super) traits: Vec<u8>,
    /// How many rows hold a record.
    pub(super) held: usize,
    /// The sum of their lengths.
    pub(super) length: u64,
    numbers: HashTable<u32>,
    hasher: DefaultHashBuilder,
    pub(super) tombstones: HashMap<Id, Tombstone>,
    pub(super) postings: Postings,
    pub(super) weights: Weights,
    pub(super) texts: Texts,
    pub(super) scopes: Scopes,
    pub(super) sessions: Sessions,
    pub(super) speakers: Speakers,
    /// How many live records of a scope have a key.
    pub(super) holders: HashMap<u32, HashMap<u32, u32>>,
    /// What names a record as its successor, sorted.
    pub(super) retired: HashMap<Id, Vec<Id>>,
    pub(super) touches: HashMap<Id, u64>,
    /// Memory of queries that have ended.
    pub(super) scratch: Mutex<Vec<Scratch>>,
}

impl Index {
    /// An empty index.
    #[must_use]
    pub fn new(config: Config) -> Self {
        Self { config, ..Self::default() }
    }

    /// How many records are held; tombstones do not count.
    #[must_use]
    pub fn len(&self) -> usize {
        self.held
    }

    /// Whether no record is held.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.held == 0
    }

    /// Whether a record of that id is held.
    #[must_use]
    pub fn contains(&self, id: &str) -> bool {
        parse_id(id).is_some_and(|id| self.number(id).is_some())
    }

    /// The number of a record that is held.
    pub(super) fn number(&self, id: Id) -> Option<u32> {
        self.numbers.find(self.hasher.hash_one(id), |number| self.rows[*number as usize].id == id).copied()
    }

    pub(super) fn row(&self, number: u32) -> &Row {
        &self.rows[number as usize]
    }

    /// Adds records, or replaces what is held of them, given the canonical bytes of their newest versions. Of a redacted
    /// record only its id and links are kept.
    pub fn update(&mut self, payloads: &[&[u8]]) -> Result<(), Fault> {
        let before = self.held;
        for payloads in payloads.chunks(AT_ONCE) {
            if self.rows.len() + payloads.len() > MOST {
                return Err(Fault::TooMany);
            }
            let mut batches = reading::read(payloads, self.config.language)?;
            self.take_in(&mut batches);
        }
        if payloads.len() > before / 2 {
            self.postings.shrink();
            self.rows.shrink_to_fit();
            self.sessions.shrink();
        }
        Ok(())
    }

    /// Forgets records and tombstones wholly, touches included. An id that is not held is no error.
    pub fn remove(&mut self, ids: &[Id]) {
        let mut gone = Vec::new();
        for id in ids {
            self.touches.remove(id);
            self.leave(*id, &mut gone);
        }
        self.postings.remove(gone);
        self.settle();
    }

    /// Sets how often records were recalled; others keep their counts.
    pub fn set_touches(&mut self, touches: impl IntoIterator<Item = (Id, u64)>) {
        self.touches.extend(touches);
    }

    fn take_in(&mut self, batches: &mut [Batch<'_>]) {
        // Of several versions of one record the last counts.
        let mut last: HashMap<Id, (usize, usize)> = HashMap::new();
        for (part, batch) in batches.iter().enumerate() {
            for (place, draft) in batch.drafts.iter().enumerate() {
                last.insert(draft.wire.id, (part, place));
                if draft.wire.redacted {
                    self.touches.remove(&draft.wire.id);
                }
            }
        }
        let mut gone = Vec::new();
        let mut fresh: Vec<(u32, Order, usize, usize)> = Vec::new();
        for part in 0..batches.len() {
            for place in 0..batches[part].drafts.len() {
                let batch = &mut batches[part];
                let draft = &batch.drafts[place];
                let id = draft.wire.id;
                if last.get(&id) != Some(&(part, place)) {
                    continue;
                }
                let same = (!draft.wire.redacted).then(|| self.number(id)).flatten();
                if let Some(number) = same.filter(|number| self.is_placed_alike(*number, draft, batch)) {
                    self.replace(number, part, place, batches);
                    continue;
                }
                self.leave(id, &mut gone);
                let draft = &batches[part].drafts[place];
                let wire = &draft.wire;
                if wire.redacted {
                    self.bury(id, wire.links.replaces.clone(), wire.links.superseded_by);
                    continue;
                }
                let scope = self.hold_scope(wire.scope.each_ref().map(Option::as_deref));
                let session = if wire.scope[3].is_some() { scope } else { NONE };
                fresh.push((session, (wire.event_at, wire.created_at, id), part, place));
                // The row is made below; until then its scope is held here.
            }
        }
        self.postings.remove(gone);
        // Records of one session follow each other, in order; others as they came.
        fresh.sort_by(|a, b| {
            a.0.cmp(&b.0).then_with(|| if a.0 == NONE { std::cmp::Ordering::Equal } else { a.1.cmp(&b.1) })
        });
        let mut known: Vec<Vec<u32>> = batches.iter().map(|batch| vec![NONE; batch.analyser.terms_met()]).collect();
        for (_, _, part, place) in fresh {
            let row = self.make_row(&batches[part].drafts[place]);
            let terms = std::mem::take(&mut batches[part].drafts[place].terms);
            let batch = &mut batches[part];
            let mut numbered: Vec<(u32, u32)> = Vec::with_capacity(terms.len());
            for (local, occurrences) in &batch.terms[terms] {
                let slot = &mut known[part][*local as usize];
                if *slot == NONE {
                    *slot = self.postings.names.hold(batch.analyser.term(*local));
                } else {
                    self.postings.names.hold_again(*slot);
                }
                numbered.push((*slot, *occurrences));
            }
            self.enter(row, numbered, &mut batch.analyser);
        }
        self.settle();
    }

    /// Whether a version that replaces a record leaves its terms and its place among others as they are.
    fn is_placed_alike(&self, number: u32, draft: &Draft<'_>, batch: &Batch<'_>) -> bool {
        let row = self.row(number);
        let wire = &draft.wire;
        let alike = row.order() == (wire.event_at, wire.created_at, wire.id)
            && row.length == draft.length
            && row.terms.len() == draft.terms.len()
            && self.scope_is(row.scope, wire.scope.each_ref().map(Option::as_deref))
            && self.texts.get(row.author).unwrap_or("") == draft.author;
        alike
            && batch.terms[draft.terms.clone()].iter().all(|(local, occurrences)| {
                let term = self.postings.names.find(batch.analyser.term(*local));
                term.is_some_and(|term| self.postings.occurrences(term, number, &self.weights) == *occurrences)
            })
    }

    /// Puts a version in place of another whose terms, scope and order are the same.
    fn replace(&mut self, number: u32, part: usize, place: usize, batches: &[Batch<'_>]) {
        let draft = &batches[part].drafts[place];
        self.hold_scope(draft.wire.scope.each_ref().map(Option::as_deref));
        let mut row = self.make_row(draft);
        let old = std::mem::take(&mut self.rows[number as usize]);
        self.untie(&old);
        self.release_texts(&old);
        (row.terms, row.length) = (old.terms, old.length);
        self.tie(&row);
        self.traits[number as usize] = row.traits;
        self.rows[number as usize] = row;
    }

    fn hold_scope(&mut self, scope: [Option<&str>; 4]) -> u32 {
        let numbers = scope.map(|member| member.map_or(NONE, |text| self.texts.hold(text)));
        let scope = self.hold_scope_numbers(numbers);
        for number in numbers.into_iter().filter(|number| *number != NONE) {
            self.texts.release(number);
        }
        scope
    }

    /// Holds a scope once more; a new one holds its texts.
    pub(super) fn hold_scope_numbers(&mut self, numbers: [u32; 4]) -> u32 {
        if let Some(known) = self.scopes.find(&numbers) {
            self.scopes.hold_again(known);
            return known;
        }
        for number in numbers.into_iter().filter(|number| *number != NONE) {
            self.texts.hold_again(number);
        }
        self.scopes.hold(&numbers)
    }

    fn release_scope(&mut self, scope: u32) {
        let numbers = self.scope_numbers(scope);
        if self.scopes.release(scope) {
            for number in numbers.into_iter().filter(|number| *number != NONE) {
                self.texts.release(number);
            }
        }
    }

    /// Project, user, agent and session of a scope, as numbers of texts.
    pub(super) fn scope_numbers(&self, scope: u32) -> [u32; 4] {
        self.scopes.get(scope).and_then(|numbers| <[u32; 4]>::try_from(numbers).ok()).unwrap_or([NONE; 4])
    }

    fn scope_is(&self, scope: u32, members: [Option<&str>; 4]) -> bool {
        self.scope_numbers(scope).iter().zip(members).all(|(number, member)| self.texts.get(*number) == member)
    }

    /// A row without terms. Its scope is held already.
    fn make_row(&mut self, draft: &Draft<'_>) -> Row {
        let wire = &draft.wire;
        let scope = wire
            .scope
            .each_ref()
            .map(|member| member.as_deref().map_or(NONE, |text| self.texts.find(text).unwrap_or(NONE)));
        Row {
            id: wire.id,
            held: true,
            kind: wire.kind,
            state: wire.state,
            traits: if draft.question { QUESTION } else { 0 }
                | if draft.timely { TIMELY } else { 0 }
                | if draft.author == "user" { USER } else { 0 },
            confidence: wire.confidence,
            value: wire.value,
            created_at: wire.created_at,
            updated_at: wire.updated_at,
            event_at: wire.event_at,
            tokens: draft.tokens,
            scope: self.scopes.find(&scope).unwrap_or(NONE),
            key: wire.key.as_deref().map_or(NONE, |key| self.texts.hold(key)),
            author: if draft.author.is_empty() { NONE } else { self.texts.hold(&draft.author) },
            tags: wire.tags.iter().map(|tag| self.texts.hold(tag)).collect(),
            terms: Box::default(),
            length: draft.length,
            links: wire.links.clone().boxed(),
        }
    }

    /// Takes in a record with its terms, which are held already, and how often they occur.
    fn enter(&mut self, mut row: Row, mut terms: Vec<(u32, u32)>, analyser: &mut Analyser) {
        let number = count(self.rows.len());
        terms.sort_unstable();
        for (term, occurrences) in &terms {
            let shape = self.weights.number(*occurrences, row.length, &self.config);
            self.postings.push(*term, Posting { record: number, shape });
        }
        row.terms = terms.iter().map(|term| term.0).collect();
        self.add_row(row, analyser);
    }

    /// Takes in a record whose postings are there.
    pub(super) fn add_row(&mut self, row: Row, analyser: &mut Analyser) {
        let number = count(self.rows.len());
        self.held += 1;
        self.length += row.length;
        if row.author != NONE {
            self.speakers.add(row.author, &self.texts, analyser);
        }
        self.tie(&row);
        let rows = &self.rows;
        self.numbers.insert_unique(self.hasher.hash_one(row.id), number, |number| {
            self.hasher.hash_one(rows.get(*number as usize).map_or(row.id, |row| row.id))
        });
        let in_session = self.scope_numbers(row.scope)[3] != NONE;
        self.traits.push(row.traits);
        self.rows.push(row);
        self.sessions.grow(self.rows.len());
        if in_session {
            self.sessions.add(number, &self.rows);
        }
    }

    /// Ties a record to its successor and its key.
    fn tie(&mut self, row: &Row) {
        if let Some(successor) = row.superseded_by() {
            self.retire(successor, row.id);
        }
        if row.key != NONE && row.state.is_live() {
            *self.holders.entry(row.key).or_default().entry(row.scope).or_insert(0) += 1;
        }
    }

    fn untie(&mut self, row: &Row) {
        if let Some(successor) = row.superseded_by() {
            self.unretire(successor, row.id);
        }
        if row.key != NONE
            && row.state.is_live()
            && let Some(scopes) = self.holders.get_mut(&row.key)
            && let Some(holding) = scopes.get_mut(&row.scope)
        {
            *holding -= 1;
            if *holding == 0 {
                scopes.remove(&row.scope);
                if scopes.is_empty() {
                    self.holders.remove(&row.key);
                }
            }
        }
    }

    fn retire(&mut self, successor: Id, id: Id) {
        let named = self.retired.entry(successor).or_default();
        if let Err(place) = named.binary_search(&id) {
            named.insert(place, id);
        }
    }

    fn unretire(&mut self, successor: Id, id: Id) {
        if let Some(named) = self.retired.get_mut(&successor) {
            if let Ok(place) = named.binary_search(&id) {
                named.remove(place);
            }
            if named.is_empty() {
                self.retired.remove(&successor);
            }
        }
    }

    pub(super) fn bury(&mut self, id: Id, replaces: Vec<Id>, superseded_by: Option<Id>) {
        if let Some(successor) = superseded_by {
            self.retire(successor, id);
        }
        self.tombstones.insert(id, Tombstone { replaces, superseded_by });
    }

    /// Forgets what is held of an id; the postings, as (term, record), are left to the caller.
    fn leave(&mut self, id: Id, gone: &mut Vec<(u32, u32)>) {
        if let Some(tombstone) = self.tombstones.remove(&id)
            && let Some(successor) = tombstone.superseded_by
        {
            self.unretire(successor, id);
        }
        let hash = self.hasher.hash_one(id);
        let Ok(found) = self.numbers.find_entry(hash, |number| self.rows[*number as usize].id == id) else { return };
        let (number, _) = found.remove();
        self.sessions.remove(number, &self.rows);
        let mut row = std::mem::take(&mut self.rows[number as usize]);
        gone.extend(row.terms.iter().map(|term| (*term, number)));
        row.terms.fill(0);
        self.held -= 1;
        self.length -= row.length;
        if row.author != NONE {
            self.speakers.remove(row.author);
        }
        self.untie(&row);
        self.release_texts(&row);
    }

    fn release_texts(&mut self, row: &Row) {
        for text in row.tags.iter().copied().chain([row.key, row.author]).filter(|text| *text != NONE) {
            self.texts.release(text);
        }
        self.release_scope(row.scope);
    }

    /// Brings everything that is derived in line after changes.
    pub(super) fn settle(&mut self) {
        self.weights.set_mean(self.held as u64, self.length, &self.config);
        self.settle_sessions();
        let gone = self.rows.len() - self.held;
        if gone + self.sessions.scattered() > FEW.max(self.rows.len() / 4) {
            self.renumber();
        }
    }

    fn settle_sessions(&mut self) {
        let (rows, most) = (&self.rows, self.config.context_length);
        self.sessions
            .settle(self.config.context.len(), |record| most > 0 && rows[record as usize].terms.len() as u64 > most);
    }

    /// Numbers the records anew, so that those of a session follow each other and no number is unused.
    pub(super) fn renumber(&mut self) {
        let order = self.sessions.arrangement(&self.rows);
        let mut numbers = vec![NONE; self.rows.len()];
        let mut rows = Vec::with_capacity(order.len());
        for (number, old) in (0..).zip(&order) {
            numbers[*old as usize] = number;
            rows.push(std::mem::take(&mut self.rows[*old as usize]));
        }
        self.traits = rows.iter().map(|row| row.traits).collect();
        self.rows = rows;
        self.postings.renumber(&numbers);
        for number in &mut self.numbers {
            *number = numbers[*number as usize];
        }
        self.sessions.renumber(&numbers, self.rows.len());
        self.settle_sessions();
    }
}
