//! Vectors as bytes, and back (spec/recall.md section 8.4).

use hashbrown::HashMap;
use sha2::{Digest, Sha256};

use super::{Id, NUMBER, Vectors};

const MAGIC: &[u8; 8] = b"AMVECTOR";
const VERSION: u32 = 1;
const HEAD: usize = 8 + 4 + 8 + 32;
/// A record that is in no session.
const NONE: u32 = u32::MAX;

impl Vectors {
    /// All of it, with the change cursor it reflects and what its owner wants to find beside it.
    #[must_use]
    pub fn to_bytes(&self, cursor: &str, note: &[u8]) -> Vec<u8> {
        let mut slots: Vec<usize> = (0..self.ids.len()).collect();
        slots.sort_unstable_by_key(|slot| self.ids[*slot]);
        let mut names: Vec<&str> =
            slots.iter().filter_map(|slot| self.sessions.of(*slot)).map(|found| found.0).collect();
        names.sort_unstable();
        names.dedup();
        let numbers: HashMap<&str, usize> = names.iter().enumerate().map(|(number, name)| (*name, number)).collect();
        let mut rest = Vec::with_capacity(self.numbers.len() * NUMBER + self.ids.len() * 36 + note.len() + 256);
        push_text(&mut rest, &self.identity);
        push_count(&mut rest, self.dimension);
        push_text(&mut rest, cursor);
        push_count(&mut rest, note.len());
        rest.extend_from_slice(note);
        push_count(&mut rest, names.len());
        for name in names {
            push_text(&mut rest, name);
        }
        push_count(&mut rest, slots.len());
        for slot in &slots {
            rest.extend_from_slice(&self.ids[*slot]);
            match self.sessions.of(*slot) {
                None => rest.extend_from_slice(&NONE.to_le_bytes()),
                Some((session, place)) => {
                    push_count(&mut rest, numbers[session]);
                    rest.extend_from_slice(&place.event_at.to_le_bytes());
                    rest.extend_from_slice(&place.created_at.to_le_bytes());
                }
            }
        }
        for slot in &slots {
            let start = slot * self.dimension;
            rest.extend(self.numbers[start..start + self.dimension].iter().flat_map(|number| number.to_le_bytes()));
        }
        let mut bytes = Vec::with_capacity(HEAD + rest.len());
        bytes.extend_from_slice(MAGIC);
        bytes.extend_from_slice(&VERSION.to_le_bytes());
        bytes.extend_from_slice(&(rest.len() as u64).to_le_bytes());
        bytes.extend_from_slice(&Sha256::digest(&rest));
        bytes.extend_from_slice(&rest);
        bytes
    }

    /// Vectors, cursor and note of a snapshot; None for one that is damaged or of another version.
    #[must_use]
    pub fn from_bytes(bytes: &[u8]) -> Option<(Self, String, Vec<u8>)> {
        let (head, rest) = bytes.split_at_checked(HEAD)?;
        let mut head = Reader(head);
        let known = head.take(8)? == MAGIC && head.count()? == VERSION as usize;
        if !known || head.long()? != rest.len() as u64 || head.0 != Sha256::digest(rest).as_slice() {
            return None;
        }
        let mut reader = Reader(rest);
        let identity = reader.text()?.to_owned();
        let mut vectors = Self::new(identity, reader.count()?).ok()?;
        let cursor = reader.text()?.to_owned();
        let note = reader.count()?;
        let note = reader.take(note)?.to_vec();
        let count = reader.count()?;
        let names: Vec<&str> = (0..count).map_while(|_| reader.text()).collect();
        if names.len() != count {
            return None;
        }
        let count = reader.count()?;
        let mut ids: Vec<Id> = Vec::new();
        let mut places = Vec::new();
        for _ in 0..count {
            let id = Id::try_from(reader.take(16)?).ok()?;
            if ids.last().is_some_and(|last| *last >= id) {
                return None;
            }
            ids.push(id);
            places.push(match reader.count()? {
                number if number == NONE as usize => None,
                number => Some((*names.get(number)?, reader.time()?, reader.time()?)),
            });
        }
        vectors.set(&ids, reader.0).ok()?;
        for (id, place) in ids.iter().zip(places) {
            vectors.place(id, place);
        }
        Some((vectors, cursor, note))
    }
}

#[expect(clippy::cast_possible_truncation, reason = "nothing that is counted here comes near four thousand millions")]
fn push_count(bytes: &mut Vec<u8>, count: usize) {
    bytes.extend_from_slice(&(count as u32).to_le_bytes());
}

fn push_text(bytes: &mut Vec<u8>, text: &str) {
    push_count(bytes, text.len());
    bytes.extend_from_slice(text.as_bytes());
}

/// What is still to be read.
struct Reader<'a>(&'a [u8]);

impl<'a> Reader<'a> {
    fn take(&mut self, size: usize) -> Option<&'a [u8]> {
        let (taken, rest) = self.0.split_at_checked(size)?;
        self.0 = rest;
        Some(taken)
    }

    fn count(&mut self) -> Option<usize> {
        Some(u32::from_le_bytes(self.take(4)?.try_into().ok()?) as usize)
    }

    fn long(&mut self) -> Option<u64> {
        Some(u64::from_le_bytes(self.take(8)?.try_into().ok()?))
    }

    fn time(&mut self) -> Option<i64> {
        Some(i64::from_le_bytes(self.take(8)?.try_into().ok()?))
    }

    fn text(&mut self) -> Option<&'a str> {
        let size = self.count()?;
        std::str::from_utf8(self.take(size)?).ok()
    }
}
