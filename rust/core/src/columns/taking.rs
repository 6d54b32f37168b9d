//! Taking in what changed, and keeping every index in step with it.

use std::borrow::Cow;

use super::payload::{Draft, Kind, State, read};
use super::reading::{Pool, Said, Taken, in_parallel};
use super::rows::{Row, group_of, pair};
use super::words::NONE;
use super::{Columns, Fault};

/// How many payloads are read and analysed before they are entered.
const AT_ONCE: usize = 8192;
/// Rows have to stay below this: a group is the number of a scope with two bits for the type.
const MOST_ROWS: usize = 1 << 29;
/// Words have to stay below this: with one bit more they are labels.
const MOST_WORDS: usize = 1 << 31;

/// What has to be looked at again when a batch is entered.
#[derive(Default)]
struct Changed {
    /// Rows that have to be entered in the indexes.
    rows: Vec<u32>,
    /// Rows on which the scope of others may hang.
    facets: Vec<u32>,
    /// Rows that may be, or are no more, sides of a whole dispute.
    sides: Vec<u32>,
}

impl Columns {
    /// Takes in the newest versions of records, in place of what is known of them.
    ///
    /// Fails, and takes in nothing, for bytes that are no record's.
    pub fn update(&mut self, payloads: &[&[u8]]) -> Result<(), Fault> {
        self.check_room(payloads)?;
        if payloads.len() > AT_ONCE {
            in_parallel(payloads, |payload, _| read(payload).map(drop).map_err(|_| Fault::NoRecord))?;
        }
        for some in payloads.chunks(AT_ONCE) {
            let taken = in_parallel(some, |payload, pool| self.take(payload, pool))?;
            self.enter(taken);
        }
        Ok(())
    }

    /// Forgets records. Ids that are not known are passed over.
    pub fn remove<'a>(&mut self, ids: impl IntoIterator<Item = &'a str>) {
        let mut changed = Changed::default();
        for id in ids {
            if let Some(row) = self.row(id) {
                self.known -= 1;
                self.drop_text(row);
                self.set_row(row, Row::default(), &mut changed);
            }
        }
        self.settle(&changed);
    }

    fn check_room(&self, payloads: &[&[u8]]) -> Result<(), Fault> {
        // No word or name takes less than a byte.
        let bytes: usize = payloads.iter().map(|payload| payload.len()).sum();
        let named = self.names.len().saturating_add(bytes / 32);
        let worded = self.words.limit().saturating_add(bytes);
        if named < MOST_ROWS && worded < MOST_WORDS { Ok(()) } else { Err(Fault::TooMany) }
    }

    fn enter(&mut self, taken: Vec<(Vec<Taken<'_>>, Pool)>) {
        self.hold_frames();
        let mut changed = Changed::default();
        for (taken, mut pool) in taken {
            for (draft, said) in taken {
                self.enter_one(&draft, said, &mut pool, &mut changed);
            }
        }
        self.settle(&changed);
    }

    fn enter_one(&mut self, draft: &Draft<'_>, said: Option<Said>, pool: &mut Pool, changed: &mut Changed) {
        let row = self.names.take_id(draft.id);
        self.grow();
        self.known += usize::from(!self.rows[row as usize].known);
        if draft.state == State::Active {
            self.set_text(row, draft, said, pool);
        } else {
            self.drop_text(row);
        }
        let next = self.row_of(draft);
        self.grow();
        self.set_row(row, next, changed);
    }

    fn grow(&mut self) {
        self.rows.resize_with(self.names.len(), Row::default);
    }

    // -- rows -------------------------------------------------------------------------------------------------------

    /// The row of a draft, with one hold on its scope and on its signature.
    fn row_of(&mut self, draft: &Draft<'_>) -> Row {
        let mut evidence: Vec<u32> = draft.evidence.iter().map(|name| self.names.take(name)).collect();
        evidence.sort_unstable();
        evidence.dedup();
        let mut row = Row {
            known: true,
            kind: draft.kind,
            state: draft.state,
            redacted: draft.redacted,
            made: draft.made,
            borrows: draft.borrows,
            scope: self.take_scope(draft),
            superseded_by: draft.superseded_by.as_deref().map_or(NONE, |name| self.names.take(name)),
            sides: draft.sides.map(|sides| sides.map(|side| self.names.take_id(side))),
            evidence: evidence.into(),
            ..Row::default()
        };
        if row.is_drawn() || (draft.kind == Kind::Episode && draft.state == State::Active) {
            row.signature = self.take_signature(draft);
        }
        row
    }

    fn take_scope(&mut self, draft: &Draft<'_>) -> u32 {
        let words = draft.scope.each_ref().map(|part| part.as_deref().map_or(NONE, |part| self.words.take(part).0));
        let (scope, new) = self.scopes.take(&words[..]);
        if !new {
            self.release_words(words);
        }
        scope
    }

    fn take_signature(&mut self, draft: &Draft<'_>) -> u32 {
        let names = draft.slots.iter().map(|(name, _)| name).filter(|_| draft.kind == Kind::Episode);
        let mut texts: Vec<&Cow<'_, str>> =
            if draft.tags.is_empty() { names.collect() } else { draft.tags.iter().collect() };
        if texts.is_empty() {
            return NONE;
        }
        texts.sort_unstable();
        texts.dedup();
        let words: Vec<u32> = texts.into_iter().map(|text| self.words.take(text).0).collect();
        let (signature, new) = self.signatures.take(&words[..]);
        if !new {
            self.release_words(words);
        }
        signature
    }

    pub(super) fn release_scope(&mut self, scope: u32) {
        if scope != NONE
            && let Some(words) = self.scopes.release(scope)
        {
            self.release_words(words);
        }
    }

    fn release_signature(&mut self, signature: u32) {
        if signature != NONE
            && let Some(words) = self.signatures.release(signature)
        {
            self.release_words(words);
        }
    }

    pub(super) fn release_words(&mut self, words: impl IntoIterator<Item = u32>) {
        for word in words {
            if word != NONE && self.words.release(word).is_some() {
                self.gists.remove(&word);
            }
        }
    }

    /// Puts a row in place of what is known of it. What it says is in place already.
    fn set_row(&mut self, number: u32, mut next: Row, changed: &mut Changed) {
        let old = std::mem::take(&mut self.rows[number as usize]);
        (next.text, next.treated, next.standing) = (old.text, old.treated, old.standing);
        if old.hangs() != next.hangs() || old.evidence != next.evidence {
            if old.hangs() {
                old.evidence.iter().for_each(|name| self.dependents.remove(*name, number));
            }
            if next.hangs() {
                next.evidence.iter().for_each(|name| self.dependents.add(*name, number));
            }
        }
        if old.superseded_by != next.superseded_by {
            if old.superseded_by != NONE {
                self.successors.remove(old.superseded_by, number);
            }
            if next.superseded_by != NONE {
                self.successors.add(next.superseded_by, number);
            }
        }
        if old.sides != next.sides {
            changed.sides.extend(old.sides.into_iter().chain(next.sides).flatten());
            changed.sides.push(number);
        }
        put(&mut self.live_rules, number, next.is_live_rule());
        put(&mut self.erased_rules, number, next.is_erased_rule());
        if facets(&old) != facets(&next) {
            changed.facets.push(number);
        }
        changed.rows.push(number);
        self.revision += 1;
        let (old_scope, old_signature) = (old.scope, old.signature);
        let (signature, text) = (next.signature, next.text);
        self.rows[number as usize] = next;
        // An episode of another signature is found elsewhere from now on.
        if old_signature != signature {
            self.displace(text);
        }
        self.leave_standing(number);
        self.release_scope(old_scope);
        self.release_signature(old_signature);
    }

    fn leave_standing(&mut self, number: u32) {
        if let Some(label) = self.rows[number as usize].standing.take() {
            self.standing.remove(label, number);
        }
    }

    /// Brings groups, disputes and standing rules in line with the rows that changed.
    fn settle(&mut self, changed: &Changed) {
        let mut rows = changed.rows.clone();
        rows.extend(self.borrowers(&changed.facets));
        rows.sort_unstable();
        rows.dedup();
        for row in rows {
            self.set_group(row);
        }
        for side in &changed.sides {
            self.check_dispute(*side);
        }
        self.clear_away();
    }

    /// Enters a row where its scope says.
    fn set_group(&mut self, number: u32) {
        let row = &self.rows[number as usize];
        let drawn = row.is_drawn();
        let treated = if row.text != NONE || drawn { self.scope_of_row(number).unwrap_or(NONE) } else { NONE };
        if treated != NONE {
            self.scopes.hold(treated);
        }
        let row = &mut self.rows[number as usize];
        let before = std::mem::replace(&mut row.treated, treated);
        let (kind, signature) = (row.kind, row.signature);
        self.release_scope(before);
        self.leave_standing(number);
        if drawn && treated != NONE && signature != NONE {
            let label = pair(treated, signature);
            self.standing.add(label, number);
            self.rows[number as usize].standing = Some(label);
        }
        let group = if treated == NONE { NONE } else { group_of(treated, kind) };
        let Some(entered) = self.text(self.rows[number as usize].text).map(|text| text.group) else { return };
        if entered != group {
            self.displace(self.rows[number as usize].text);
            if group != NONE {
                self.enter_text(self.rows[number as usize].text, group, signature);
            }
        }
    }
}

fn put(set: &mut hashbrown::HashSet<u32>, number: u32, belongs: bool) {
    if belongs {
        set.insert(number);
    } else {
        set.remove(&number);
    }
}

/// What the scope of other records may depend on.
fn facets(row: &Row) -> (bool, bool, bool, u32, &[u32]) {
    let evidence: &[u32] = if row.borrows { &row.evidence } else { &[] };
    (row.known, row.redacted, row.borrows, row.scope, evidence)
}
