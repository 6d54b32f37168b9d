//! Numbers for what many records have in common: terms, tags, keys, authors, scopes.

use std::hash::{BuildHasher, Hash};

use hashbrown::DefaultHashBuilder;
use hashbrown::hash_table::{Entry, HashTable};

use super::analyser::wipe;

/// Values and their numbers. A value is held as long as something holds it; after that it is overwritten.
#[derive(Debug)]
pub struct Numbered<T: Value + ?Sized> {
    values: Vec<Option<Box<T>>>,
    holders: Vec<u32>,
    free: Vec<u32>,
    numbers: HashTable<u32>,
    hasher: DefaultHashBuilder,
}

/// Texts and their numbers.
pub type Texts = Numbered<str>;
/// Scopes, as numbers of texts, and their numbers.
pub type Scopes = Numbered<[u32]>;

/// What can be numbered.
pub trait Value: Eq + Hash {
    /// Overwrites a value that nothing holds any more.
    fn forget(value: Box<Self>);
}

impl Value for str {
    fn forget(value: Box<Self>) {
        wipe(&mut value.into_boxed_bytes());
    }
}

impl Value for [u32] {
    fn forget(_: Box<Self>) {}
}

impl<T: Value + ?Sized> Default for Numbered<T> {
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

impl<T: Value + ?Sized> Numbered<T>
where
    Box<T>: for<'a> From<&'a T>,
{
    /// The number of a value, held once more.
    pub fn hold(&mut self, value: &T) -> u32 {
        let Self { values, holders, free, numbers, hasher } = self;
        let is_it = |number: &u32| values[*number as usize].as_deref() == Some(value);
        let rehash = |number: &u32| hasher.hash_one(values[*number as usize].as_deref());
        match numbers.entry(hasher.hash_one(Some(value)), is_it, rehash) {
            Entry::Occupied(found) => {
                let number = *found.get();
                holders[number as usize] += 1;
                number
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
                number
            }
        }
    }
}

impl<T: Value + ?Sized> Numbered<T> {
    /// Holds a value that is held already once more.
    pub fn hold_again(&mut self, number: u32) {
        self.holders[number as usize] += 1;
    }

    /// The number of a value that is held.
    #[must_use]
    pub fn find(&self, value: &T) -> Option<u32> {
        let is_it = |number: &u32| self.values[*number as usize].as_deref() == Some(value);
        self.numbers.find(self.hasher.hash_one(Some(value)), is_it).copied()
    }

    /// Lets go of a value once; says whether that was the last time.
    pub fn release(&mut self, number: u32) -> bool {
        let place = number as usize;
        self.holders[place] -= 1;
        if self.holders[place] > 0 {
            return false;
        }
        let hash = self.hasher.hash_one(self.values[place].as_deref());
        if let Ok(found) = self.numbers.find_entry(hash, |held| *held == number) {
            found.remove();
        }
        self.free.push(number);
        self.values[place].take().into_iter().for_each(T::forget);
        true
    }

    /// The value of a number that is held.
    #[must_use]
    pub fn get(&self, number: u32) -> Option<&T> {
        self.values.get(number as usize).and_then(Option::as_deref)
    }

    /// All values that are held, with their numbers.
    pub fn all(&self) -> impl Iterator<Item = (u32, &T)> {
        self.values.iter().enumerate().filter_map(|(number, value)| Some((count(number), value.as_deref()?)))
    }
}

impl Texts {
    /// The text of a number that is held.
    #[must_use]
    pub fn text(&self, number: u32) -> &str {
        self.get(number).unwrap_or("")
    }
}

/// A count as it is kept in columns; an index takes in nothing that would make one too great.
#[allow(clippy::cast_possible_truncation)]
#[must_use]
pub fn count(length: usize) -> u32 {
    length as u32
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_nobody_holds_is_gone_and_its_number_used_again() {
        let mut texts = Texts::default();
        assert_eq!((texts.hold("a"), texts.hold("b"), texts.hold("a")), (0, 1, 0));
        assert!(!texts.release(0));
        assert_eq!((texts.find("a"), texts.text(0)), (Some(0), "a"));
        assert!(texts.release(0));
        assert_eq!((texts.find("a"), texts.text(0), texts.all().count()), (None, "", 1));
        assert_eq!(texts.hold("c"), 0);
        assert_eq!(texts.text(0), "c");
    }
}
