//! Lists of numbers under labels: what an index is made of.

use std::hash::Hash;

use hashbrown::HashMap;
use hashbrown::hash_map::Entry;

/// The numbers under one label. Most labels have one.
#[derive(Debug)]
enum List {
    One(u32),
    Many(Vec<u32>),
}

impl List {
    fn as_slice(&self) -> &[u32] {
        match self {
            Self::One(number) => std::slice::from_ref(number),
            Self::Many(numbers) => numbers,
        }
    }
}

/// Lists by label, in the order in which numbers were added.
#[derive(Debug)]
pub struct Lists<K>(HashMap<K, List>);

impl<K> Default for Lists<K> {
    fn default() -> Self {
        Self(HashMap::default())
    }
}

impl<K: Eq + Hash + Copy> Lists<K> {
    pub fn add(&mut self, label: K, number: u32) {
        match self.0.entry(label) {
            Entry::Vacant(place) => {
                place.insert(List::One(number));
            }
            Entry::Occupied(mut place) => match place.get_mut() {
                List::One(first) => {
                    let numbers = vec![*first, number];
                    *place.get_mut() = List::Many(numbers);
                }
                List::Many(numbers) => numbers.push(number),
            },
        }
    }

    /// Takes a number off a list it is on once at most.
    pub fn remove(&mut self, label: K, number: u32) {
        let Entry::Occupied(mut place) = self.0.entry(label) else { return };
        let empty = match place.get_mut() {
            List::One(only) => *only == number,
            List::Many(numbers) => {
                if let Some(at) = numbers.iter().rposition(|held| *held == number) {
                    numbers.remove(at);
                }
                numbers.is_empty()
            }
        };
        if empty {
            place.remove();
        }
    }

    pub fn get(&self, label: K) -> &[u32] {
        self.0.get(&label).map_or(&[], List::as_slice)
    }

    /// All lists, in no order.
    pub fn iter(&self) -> impl Iterator<Item = (K, &[u32])> {
        self.0.iter().map(|(label, list)| (*label, list.as_slice()))
    }

    /// Keeps the numbers that pass.
    pub fn retain(&mut self, keep: impl Fn(u32) -> bool) {
        self.0.retain(|_, list| match list {
            List::One(number) => keep(*number),
            List::Many(numbers) => {
                numbers.retain(|number| keep(*number));
                if let [only] = numbers[..] {
                    *list = List::One(only);
                    return true;
                }
                !numbers.is_empty()
            }
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_come_and_go() {
        let mut lists = Lists::default();
        for number in [3, 1, 2] {
            lists.add('a', number);
        }
        lists.add('b', 7);
        lists.remove('a', 1);
        lists.remove('c', 1);
        assert_eq!(lists.get('a'), [3, 2]);
        lists.retain(|number| number != 3);
        assert_eq!(lists.get('a'), [2]);
        lists.remove('a', 3);
        lists.remove('a', 2);
        lists.retain(|number| number != 7);
        assert_eq!(lists.iter().count(), 0);
    }
}
