//! Numbers under labels, of which most have one number only: lists that take little room.

use hashbrown::hash_table::{Entry, HashTable};

use super::words::NONE;

/// Numbers by label. The labels are hashes; each number has one at a time.
#[derive(Debug, Default)]
pub struct Chains {
    /// The number added last under each label.
    heads: HashTable<u32>,
    /// For each number its label, and the number that was added under it before.
    links: Vec<(u64, u32)>,
}

impl Chains {
    /// Puts a number that is under no label under one.
    pub fn add(&mut self, label: u64, number: u32) {
        let Self { heads, links } = self;
        if links.len() <= number as usize {
            links.resize(number as usize + 1, (0, NONE));
        }
        let before = match heads.entry(label, |head| links[*head as usize].0 == label, |head| links[*head as usize].0) {
            Entry::Occupied(mut head) => std::mem::replace(head.get_mut(), number),
            Entry::Vacant(place) => {
                place.insert(number);
                NONE
            }
        };
        links[number as usize] = (label, before);
    }

    /// The numbers under a label.
    pub fn get(&self, label: u64) -> impl Iterator<Item = u32> {
        let head = self.heads.find(label, |head| self.links[*head as usize].0 == label);
        self.chain(head.copied().unwrap_or(NONE))
    }

    /// One number of each label that has several.
    pub fn heads(&self) -> impl Iterator<Item = u32> {
        self.heads.iter().copied().filter(|head| self.links[*head as usize].1 != NONE)
    }

    /// A head and the numbers under its label.
    pub fn chain(&self, head: u32) -> impl Iterator<Item = u32> {
        let some = |number: u32| (number != NONE).then_some(number);
        std::iter::successors(some(head), move |number| some(self.links[*number as usize].1))
    }

    /// Keeps the numbers that pass.
    pub fn retain(&mut self, keep: impl Fn(u32) -> bool) {
        let numbers: Vec<u32> =
            self.heads.iter().flat_map(|head| self.chain(*head)).filter(|number| keep(*number)).collect();
        let old = std::mem::take(self);
        self.links = vec![(0, NONE); old.links.len()];
        for number in numbers {
            self.add(old.links[number as usize].0, number);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_found_under_their_labels() {
        let mut chains = Chains::default();
        for (label, number) in [(7, 3), (9, 0), (7, 1), (7, 8)] {
            chains.add(label, number);
        }
        assert_eq!(chains.get(7).collect::<Vec<_>>(), [8, 1, 3]);
        assert_eq!(chains.heads().collect::<Vec<_>>(), [8]);
        chains.retain(|number| number != 1 && number != 0);
        let mut kept: Vec<_> = chains.get(7).collect();
        kept.sort_unstable();
        assert_eq!((kept, chains.get(9).count()), (vec![3, 8], 0));
        chains.add(9, 1);
        assert_eq!(chains.get(9).collect::<Vec<_>>(), [1]);
    }
}
