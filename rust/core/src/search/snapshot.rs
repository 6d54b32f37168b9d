//! An index as bytes (spec/recall.md section 7); [`super::restore`] reads them back.

use hashbrown::HashMap;
use sha2::{Digest, Sha256};

use super::NONE;
use super::index::Index;
use super::names::count;
use super::records::{Id, QUESTION, Row, TIMELY};

/// What a snapshot begins with.
pub const MAGIC: &[u8; 8] = b"AMRECALL";
/// The version of the format.
pub const VERSION: u32 = 1;
/// Bytes before the rest.
pub const HEAD: usize = 8 + 4 + 32 + 8 + 32;
/// The flag of a record whose standing follows; the others are its traits.
pub const STANDING: u8 = 4;

impl Index {
    /// All of it as bytes, with the change cursor and the erasure epoch of the store that it reflects.
    #[must_use]
    pub fn snapshot(&self, cursor: &str, epoch: u64) -> Vec<u8> {
        let mut writer = Writer { bytes: vec![0; HEAD] };
        writer.text(cursor);
        writer.bytes.extend(epoch.to_le_bytes());
        let numbers = self.write_strings(&mut writer);
        let mut order: Vec<u32> = (0..).zip(&self.rows).filter(|(_, row)| row.held).map(|(number, _)| number).collect();
        order.sort_unstable_by_key(|number| self.row(*number).id);
        writer.count(order.len());
        let mut places = vec![NONE; self.rows.len()];
        for (place, number) in (0..).zip(&order) {
            places[*number as usize] = place;
            self.write_record(self.row(*number), &numbers, &mut writer);
        }
        self.write_tombstones(&mut writer);
        self.write_terms(&places, &mut writer);
        let mut touches: Vec<(&Id, &u64)> = self.touches.iter().collect();
        touches.sort_unstable();
        writer.count(touches.len());
        for (id, touched) in touches {
            writer.bytes.extend(id);
            writer.bytes.extend(touched.to_le_bytes());
        }
        self.seal(writer.bytes)
    }

    /// Every text, sorted; answers their places.
    fn write_strings(&self, writer: &mut Writer) -> HashMap<u32, u32> {
        let mut texts: Vec<(u32, &str)> = self.texts.all().collect();
        texts.sort_unstable_by_key(|(_, text)| *text);
        writer.count(texts.len());
        for (_, text) in &texts {
            writer.text(text);
        }
        (0..).zip(texts).map(|(place, (number, _))| (number, place)).collect()
    }

    fn write_record(&self, row: &Row, numbers: &HashMap<u32, u32>, writer: &mut Writer) {
        let flags = row.traits & (QUESTION | TIMELY) | if row.standing().is_some() { STANDING } else { 0 };
        writer.bytes.extend(row.id);
        writer.bytes.extend([row.kind as u8, row.state as u8, flags]);
        writer.bytes.extend(row.confidence.to_le_bytes());
        writer.bytes.extend(row.value.to_le_bytes());
        for time in [row.created_at, row.updated_at, row.event_at] {
            writer.bytes.extend(time.to_le_bytes());
        }
        writer.number(row.tokens);
        for text in self.scope_numbers(row.scope).into_iter().chain([row.key, row.author]) {
            writer.number(numbers.get(&text).copied().unwrap_or(NONE));
        }
        writer.count(row.tags.len());
        for tag in &row.tags {
            writer.number(numbers.get(tag).copied().unwrap_or(NONE));
        }
        writer.ids(row.borrowed());
        writer.ids(row.replaces());
        writer.maybe(row.superseded_by());
        writer.maybe(row.partner());
        if let Some((good, bad)) = row.standing() {
            writer.bytes.extend(good.to_le_bytes());
            writer.bytes.extend(bad.to_le_bytes());
        }
    }

    fn write_tombstones(&self, writer: &mut Writer) {
        let mut tombstones: Vec<_> = self.tombstones.iter().collect();
        tombstones.sort_unstable_by_key(|(id, _)| **id);
        writer.count(tombstones.len());
        for (id, tombstone) in tombstones {
            writer.bytes.extend(id);
            writer.ids(&tombstone.replaces);
            writer.maybe(tombstone.superseded_by);
        }
    }

    fn write_terms(&self, places: &[u32], writer: &mut Writer) {
        let mut terms: Vec<(u32, &str)> = self.postings.all().collect();
        terms.sort_unstable_by_key(|(_, term)| *term);
        writer.count(terms.len());
        let mut postings = Vec::new();
        for (number, term) in terms {
            let list = self.postings.list(number);
            writer.text(term);
            writer.count(list.len());
            postings.clear();
            let weights = &self.weights;
            postings.extend(
                list.iter().map(|posting| (places[posting.record as usize], weights.occurrences(posting.shape))),
            );
            if !postings.is_sorted() {
                postings.sort_unstable();
            }
            writer.bytes.reserve(8 * postings.len());
            for (place, occurrences) in &postings {
                writer.number(*place);
                writer.number(*occurrences);
            }
        }
    }

    /// Writes what comes first: what it is, for which constants, and the sum.
    fn seal(&self, mut bytes: Vec<u8>) -> Vec<u8> {
        let digest = Sha256::digest(&bytes[HEAD..]);
        let length = (bytes.len() - HEAD) as u64;
        let head = MAGIC
            .iter()
            .copied()
            .chain(VERSION.to_le_bytes())
            .chain(self.config.fingerprint())
            .chain(length.to_le_bytes())
            .chain(digest);
        for (place, byte) in bytes.iter_mut().zip(head) {
            *place = byte;
        }
        bytes
    }
}

/// Appends parts.
struct Writer {
    bytes: Vec<u8>,
}

impl Writer {
    fn number(&mut self, number: u32) {
        self.bytes.extend(number.to_le_bytes());
    }

    fn count(&mut self, length: usize) {
        self.number(count(length));
    }

    fn text(&mut self, text: &str) {
        self.count(text.len());
        self.bytes.extend(text.as_bytes());
    }

    fn ids(&mut self, ids: &[Id]) {
        self.count(ids.len());
        self.bytes.extend(ids.iter().flatten());
    }

    fn maybe(&mut self, id: Option<Id>) {
        self.bytes.push(u8::from(id.is_some()));
        self.bytes.extend(id.iter().flatten());
    }
}
