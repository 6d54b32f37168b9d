//! Which records have a term (spec/recall.md sections 4.2 and 5.1).

use super::config::Config;
use super::names::Texts;
use super::weights::Weights;

/// A record that has a term.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Posting {
    /// The number of the record.
    pub record: u32,
    /// The shape in [`Weights`].
    pub shape: u32,
}

/// Terms by number, and their postings, ascending by record. A term is held by its postings, so one that no record has is
/// forgotten.
#[derive(Debug, Default)]
pub struct Postings {
    pub names: Texts,
    lists: Vec<Vec<Posting>>,
}

impl Postings {
    /// The postings of a term.
    #[must_use]
    pub fn list(&self, term: u32) -> &[Posting] {
        self.lists.get(term as usize).map_or(&[], Vec::as_slice)
    }

    /// Adds a posting of the last record there is. Its term is held already.
    pub fn push(&mut self, term: u32, posting: Posting) {
        let place = term as usize;
        if place >= self.lists.len() {
            self.lists.resize_with(place + 1, Vec::new);
        }
        self.lists[place].push(posting);
    }

    /// How often a record has a term.
    #[must_use]
    pub fn occurrences(&self, term: u32, record: u32, weights: &Weights) -> u32 {
        let list = self.list(term);
        let found = list.binary_search_by_key(&record, |posting| posting.record);
        found.map_or(0, |place| weights.occurrences(list[place].shape))
    }

    /// Takes out the postings of records, given as (term, record).
    pub fn remove(&mut self, mut postings: Vec<(u32, u32)>) {
        postings.sort_unstable();
        for one in postings.chunk_by(|a, b| a.0 == b.0) {
            let term = one[0].0;
            let list = &mut self.lists[term as usize];
            let before = list.len();
            if let [(_, record)] = one {
                if let Ok(place) = list.binary_search_by_key(record, |posting| posting.record) {
                    list.remove(place);
                }
            } else {
                list.retain(|posting| one.binary_search(&(term, posting.record)).is_err());
            }
            // What stood last is still there beyond the end.
            let after = list.len();
            list.resize(before, Posting { record: 0, shape: 0 });
            list.truncate(after);
            if list.is_empty() {
                *list = Vec::new();
            } else if list.capacity() > 4 * list.len() {
                list.shrink_to_fit();
            }
            for _ in one {
                self.names.release(term);
            }
        }
    }

    /// Gives records new numbers; those that have none are in no list.
    pub fn renumber(&mut self, numbers: &[u32]) {
        for list in &mut self.lists {
            for posting in list.iter_mut() {
                posting.record = numbers[posting.record as usize];
            }
            if !list.is_sorted_by_key(|posting| posting.record) {
                list.sort_unstable_by_key(|posting| posting.record);
            }
        }
    }

    /// Gives back memory that growing lists have set aside.
    pub fn shrink(&mut self) {
        for list in &mut self.lists {
            if list.capacity() - list.len() > list.len() / 8 {
                list.shrink_to_fit();
            }
        }
    }

    /// All terms that records have, with their numbers.
    pub fn all(&self) -> impl Iterator<Item = (u32, &str)> {
        self.names.all()
    }

    /// Takes in a new term with all its postings, given as (record, occurrences), ascending; answers its number.
    pub fn insert(
        &mut self,
        term: &str,
        postings: impl ExactSizeIterator<Item = (u32, u32)>,
        length: impl Fn(u32) -> u64,
        weights: &mut Weights,
        config: &Config,
    ) -> u32 {
        let number = self.names.hold(term);
        for _ in 1..postings.len() {
            self.names.hold_again(number);
        }
        let shape =
            |(record, occurrences)| Posting { record, shape: weights.number(occurrences, length(record), config) };
        let list = postings.map(shape).collect();
        let place = number as usize;
        if place >= self.lists.len() {
            self.lists.resize_with(place + 1, Vec::new);
        }
        self.lists[place] = list;
        number
    }
}
