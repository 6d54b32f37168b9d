//! Numbers for what many records have in common: words, slot names, tags, scopes.

use std::hash::{BuildHasher, Hash};

use hashbrown::DefaultHashBuilder;
use hashbrown::hash_table::{Entry, HashTable};

/// No number.
pub const NONE: u32 = u32::MAX;

/// Values and their numbers. A value is held as long as something takes it, so what no record says any more is gone.
#[derive(Debug)]
pub struct Interner<T: ?Sized> {
    values: Vec<Option<Box<T>>>,
    holders: Vec<u32>,
    free: Vec<u32>,
    numbers: HashTable<u32>,
    hasher: DefaultHashBuilder,
}

/// Words, and all other texts.
pub type Words = Interner<str>;
/// Tuples of words.
pub type Tuples = Interner<[u32]>;

impl<T: ?Sized> Default for Interner<T> {
    fn default() -> Self {
        Self {
            values: Vec::new(),
            holders: Vec::new(),
            free: Vec::new(),
            numbers: HashTable::new(),
            hasher: DefaultHashBuilder::default(),
        }
    }
}

impl<T: ?Sized + Eq + Hash> Interner<T>
where
    Box<T>: for<'a> From<&'a T>,
{
    /// The number of a value, held once more. The flag says that nothing held it before.
    pub fn take(&mut self, value: &T) -> (u32, bool) {
        let Self { values, holders, free, numbers, hasher } = self;
        let is_it = |number: &u32| values[*number as usize].as_deref() == Some(value);
        let rehash = |number: &u32| hasher.hash_one(values[*number as usize].as_deref());
        match numbers.entry(hasher.hash_one(Some(value)), is_it, rehash) {
            Entry::Occupied(found) => {
                let number = *found.get();
                holders[number as usize] += 1;
                (number, false)
            }
            Entry::Vacant(place) => {
                let number = free.pop().unwrap_or_else(|| count(values.len()));
                place.insert(number);
                if number as usize == values.len() {
                    values.push(None);
                    holders.push(0);
                }
                values[number as usize] = Some(value.into());
                holders[number as usize] = 1;
                (number, true)
            }
        }
    }

    /// Holds a value that is held already once more.
    pub fn hold(&mut self, number: u32) {
        self.holders[number as usize] += 1;
    }

    /// The number of a value that is held.
    pub fn find(&self, value: &T) -> Option<u32> {
        let is_it = |number: &u32| self.values[*number as usize].as_deref() == Some(value);
        self.numbers.find(self.hasher.hash_one(Some(value)), is_it).copied()
    }

    /// Lets go of a value once; gives it back when that was the last time.
    pub fn release(&mut self, number: u32) -> Option<Box<T>> {
        let index = number as usize;
        self.holders[index] -= 1;
        if self.holders[index] > 0 {
            return None;
        }
        let hash = self.hasher.hash_one(self.values[index].as_deref());
        if let Ok(found) = self.numbers.find_entry(hash, |held| *held == number) {
            found.remove();
        }
        self.free.push(number);
        self.values[index].take()
    }
}

impl<T: ?Sized> Interner<T> {
    /// The value of a number that is held.
    pub fn get(&self, number: u32) -> Option<&T> {
        self.values.get(number as usize).and_then(Option::as_deref)
    }

    /// One more than the greatest number there has been.
    pub fn limit(&self) -> usize {
        self.values.len()
    }
}

impl Words {
    /// The text of a word that is held.
    pub fn text(&self, number: u32) -> &str {
        self.get(number).unwrap_or("")
    }
}

/// A count as it is kept in columns; [`super::Columns::update`] takes in nothing that would make one too great.
#[allow(clippy::cast_possible_truncation)]
pub fn count(length: usize) -> u32 {
    length as u32
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_nobody_holds_is_gone_and_its_number_used_again() {
        let mut words = Words::default();
        assert_eq!(words.take("a"), (0, true));
        assert_eq!(words.take("b"), (1, true));
        assert_eq!(words.take("a"), (0, false));
        assert!(words.release(0).is_none());
        assert_eq!((words.find("a"), words.text(0)), (Some(0), "a"));
        assert_eq!(words.release(0).as_deref(), Some("a"));
        assert_eq!((words.find("a"), words.text(0)), (None, ""));
        assert_eq!(words.take("c"), (0, true));
        assert_eq!((words.text(0), words.limit()), ("c", 2));
    }
}
