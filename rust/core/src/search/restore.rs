//! An index out of the bytes of a snapshot (spec/recall.md section 7).
//!
//! The bytes are trusted with nothing: whatever is wrong with them, the answer is none, and no memory is set aside that
//! they do not fill.

use sha2::{Digest, Sha256};

use super::NONE;
use super::analyser::Analyser;
use super::config::Config;
use super::index::Index;
use super::records::{Id, Links, QUESTION, Row, State, TIMELY, Type, USER};
use super::snapshot::{HEAD, MAGIC, STANDING, VERSION};

impl Index {
    /// Index, cursor and epoch of a snapshot; none for one that is damaged, of another version or configuration.
    #[must_use]
    pub fn restore(bytes: &[u8], config: Config) -> Option<(Self, String, u64)> {
        let (head, rest) = bytes.split_at_checked(HEAD)?;
        let mut reader = Reader(head);
        let known = reader.take(8)? == MAGIC && reader.number()? == VERSION && reader.take(32)? == config.fingerprint();
        if !known || reader.long()? != rest.len() as u64 || reader.take(32)? != &Sha256::digest(rest)[..] {
            return None;
        }
        let mut reader = Reader(rest);
        let cursor = reader.text()?.to_string();
        let epoch = reader.long()?;
        let mut index = Self::new(config);
        let rows = index.read_records(&mut reader)?;
        index.read_tombstones(&mut reader)?;
        index.read_terms(&mut reader, rows)?;
        index.read_touches(&mut reader)?;
        reader.0.is_empty().then_some((index, cursor, epoch))
    }

    fn read_records(&mut self, reader: &mut Reader<'_>) -> Option<Vec<Row>> {
        let amount = reader.count(4)?;
        let mut strings = Vec::with_capacity(amount);
        for _ in 0..amount {
            strings.push(self.texts.hold(reader.text()?));
        }
        let amount = reader.count(95)?;
        let mut rows: Vec<Row> = Vec::with_capacity(amount);
        for _ in 0..amount {
            let row = self.read_record(reader, &strings)?;
            if rows.last().is_some_and(|last| last.id >= row.id) {
                return None;
            }
            rows.push(row);
        }
        for string in strings {
            self.texts.release(string);
        }
        Some(rows)
    }

    fn read_record(&mut self, reader: &mut Reader<'_>, strings: &[u32]) -> Option<Row> {
        let id = reader.id()?;
        let kind = *Type::ALL.get(usize::from(reader.byte()?))?;
        let state = *State::ALL.get(usize::from(reader.byte()?))?;
        let flags = reader.byte()?;
        if flags > QUESTION | TIMELY | STANDING {
            return None;
        }
        let confidence = u16::from_le_bytes(reader.take(2)?.try_into().ok()?);
        let value = reader.long()?;
        let mut times = [0; 3];
        for time in &mut times {
            *time = reader.long()?.cast_signed();
        }
        let tokens = reader.number()?;
        let mut texts = [NONE; 6];
        for text in &mut texts {
            *text = match reader.number()? {
                NONE => NONE,
                place => *strings.get(place as usize)?,
            };
        }
        let [project, user, agent, session, key, author] = texts;
        let mut tags = Vec::new();
        for _ in 0..reader.count(4)? {
            tags.push(*strings.get(reader.number()? as usize)?);
        }
        let borrowed = reader.ids()?;
        let replaces = reader.ids()?;
        let (mut superseded_by, mut partner) = (None, None);
        reader.maybe(&mut superseded_by)?;
        reader.maybe(&mut partner)?;
        let standing = if flags & STANDING > 0 { Some((reader.long()?, reader.long()?)) } else { None };
        for text in tags.iter().copied().chain([key, author]).filter(|text| *text != NONE) {
            self.texts.hold_again(text);
        }
        let scope = self.hold_scope_numbers([project, user, agent, session]);
        Some(Row {
            id,
            held: true,
            kind,
            state,
            traits: flags & (QUESTION | TIMELY)
                | if author != NONE && self.texts.text(author) == "user" { USER } else { 0 },
            confidence,
            value: value.max(1),
            created_at: times[0],
            updated_at: times[1],
            event_at: times[2],
            tokens: tokens.max(1),
            scope,
            key,
            author,
            tags: tags.into(),
            terms: Box::default(),
            length: 0,
            links: Links { borrowed, replaces, superseded_by, partner, standing }.boxed(),
        })
    }

    fn read_tombstones(&mut self, reader: &mut Reader<'_>) -> Option<()> {
        let mut last = None;
        for _ in 0..reader.count(21)? {
            let id = reader.id()?;
            if last.is_some_and(|last| last >= id) {
                return None;
            }
            last = Some(id);
            let replaces = reader.ids()?;
            let mut superseded_by = None;
            reader.maybe(&mut superseded_by)?;
            self.bury(id, replaces, superseded_by);
        }
        Some(())
    }

    /// Reads the terms, twice: how long a record is has to be known before its postings are made.
    fn read_terms(&mut self, reader: &mut Reader<'_>, mut rows: Vec<Row>) -> Option<()> {
        let amount = reader.count(12)?;
        let mut lists: Vec<(&str, &[u8])> = Vec::with_capacity(amount);
        let mut distinct = vec![0_u32; rows.len()];
        for _ in 0..amount {
            let term = reader.text()?;
            let postings = reader.count(8)?;
            let list = reader.take(8 * postings)?;
            if postings == 0 || term.is_empty() || lists.last().is_some_and(|(last, _)| *last >= term) {
                return None;
            }
            let mut before = None;
            for (place, occurrences) in postings_of(list) {
                let row = rows.get_mut(place as usize)?;
                if occurrences == 0 || before.is_some_and(|before| before >= place) {
                    return None;
                }
                before = Some(place);
                row.length += u64::from(occurrences);
                distinct[place as usize] += 1;
            }
            lists.push((term, list));
        }
        let mut terms: Vec<Vec<u32>> = distinct.iter().map(|amount| Vec::with_capacity(*amount as usize)).collect();
        self.weights.set_mean(rows.len() as u64, rows.iter().map(|row| row.length).sum(), &self.config);
        for (term, list) in lists {
            let length = |place: u32| rows[place as usize].length;
            let number = self.postings.insert(term, postings_of(list), length, &mut self.weights, &self.config);
            for (place, _) in postings_of(list) {
                terms[place as usize].push(number);
            }
        }
        let mut analyser = Analyser::new(self.config.language);
        for (mut row, terms) in rows.into_iter().zip(terms) {
            if self.tombstones.contains_key(&row.id) {
                return None;
            }
            row.terms = terms.into();
            self.add_row(row, &mut analyser);
        }
        self.renumber();
        self.settle();
        Some(())
    }

    fn read_touches(&mut self, reader: &mut Reader<'_>) -> Option<()> {
        let mut last = None;
        for _ in 0..reader.count(24)? {
            let id = reader.id()?;
            if last.is_some_and(|last| last >= id) {
                return None;
            }
            last = Some(id);
            self.touches.insert(id, reader.long()?);
        }
        Some(())
    }
}

/// Places of records and how often a term occurs in them.
fn postings_of(bytes: &[u8]) -> impl ExactSizeIterator<Item = (u32, u32)> {
    let number = |bytes: &[u8]| bytes.iter().rev().fold(0, |number, byte| (number << 8) | u32::from(*byte));
    bytes.chunks_exact(8).map(move |posting| (number(&posting[..4]), number(&posting[4..])))
}

/// Reads parts one after the other; nothing when there are too few bytes.
struct Reader<'a>(&'a [u8]);

impl<'a> Reader<'a> {
    fn take(&mut self, amount: usize) -> Option<&'a [u8]> {
        let (taken, rest) = self.0.split_at_checked(amount)?;
        self.0 = rest;
        Some(taken)
    }

    fn byte(&mut self) -> Option<u8> {
        Some(self.take(1)?[0])
    }

    fn number(&mut self) -> Option<u32> {
        Some(u32::from_le_bytes(self.take(4)?.try_into().ok()?))
    }

    fn long(&mut self) -> Option<u64> {
        Some(u64::from_le_bytes(self.take(8)?.try_into().ok()?))
    }

    /// How many parts follow, each of so many bytes at least: no more than there is room for.
    fn count(&mut self, least: usize) -> Option<usize> {
        let amount = self.number()? as usize;
        (amount <= self.0.len() / least).then_some(amount)
    }

    fn text(&mut self) -> Option<&'a str> {
        let length = self.number()? as usize;
        std::str::from_utf8(self.take(length)?).ok()
    }

    fn id(&mut self) -> Option<Id> {
        self.take(16)?.try_into().ok()
    }

    fn ids(&mut self) -> Option<Vec<Id>> {
        let amount = self.count(16)?;
        let bytes = self.take(16 * amount)?;
        bytes.chunks_exact(16).map(|id| id.try_into().ok()).collect()
    }

    /// An id or none, into a place that is none.
    fn maybe(&mut self, into: &mut Option<Id>) -> Option<()> {
        match self.byte()? {
            0 => {}
            1 => *into = Some(self.id()?),
            _ => return None,
        }
        Some(())
    }
}
