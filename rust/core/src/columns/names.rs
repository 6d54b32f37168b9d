//! Numbers for record ids and whatever else stands where one is expected.

use std::hash::BuildHasher;

use hashbrown::DefaultHashBuilder;
use hashbrown::hash_table::{Entry, HashTable};

use super::payload::{Id, id_text, parse_id};
use super::words::{Words, count};

/// Names are numbered from here that are no ids: evidence may name something else than a record.
const STRAY: u32 = 1 << 31;

/// What records name: ids have the numbers of rows, other names numbers of their own. They are kept for good; none says
/// anything of what a record held.
#[derive(Debug, Default)]
pub struct Names {
    ids: Vec<Id>,
    rows: HashTable<u32>,
    hasher: DefaultHashBuilder,
    strays: Words,
}

impl Names {
    /// The number of a name, new or not.
    pub fn take(&mut self, name: &str) -> u32 {
        match parse_id(name) {
            Some(id) => self.take_id(id),
            None => STRAY | self.strays.take(name).0,
        }
    }

    /// The number of an id, new or not.
    pub fn take_id(&mut self, id: Id) -> u32 {
        let Self { ids, rows, hasher, strays: _ } = self;
        let rehash = |row: &u32| hasher.hash_one(ids[*row as usize]);
        match rows.entry(hasher.hash_one(id), |row| ids[*row as usize] == id, rehash) {
            Entry::Occupied(found) => *found.get(),
            Entry::Vacant(place) => {
                let row = count(ids.len());
                place.insert(row);
                ids.push(id);
                row
            }
        }
    }

    /// The number of a name there has been.
    pub fn find(&self, name: &str) -> Option<u32> {
        match parse_id(name) {
            Some(id) => self.find_id(id),
            None => self.strays.find(name).map(|number| STRAY | number),
        }
    }

    /// The row of an id there has been.
    pub fn find_id(&self, id: Id) -> Option<u32> {
        self.rows.find(self.hasher.hash_one(id), |row| self.ids[*row as usize] == id).copied()
    }

    /// The text of a name.
    pub fn text(&self, number: u32) -> String {
        if number < STRAY { id_text(self.id(number)) } else { self.strays.text(number & !STRAY).to_owned() }
    }

    /// The id of a row.
    pub fn id(&self, row: u32) -> Id {
        self.ids.get(row as usize).copied().unwrap_or_default()
    }

    /// How many ids there are.
    pub fn len(&self) -> usize {
        self.ids.len()
    }
}
