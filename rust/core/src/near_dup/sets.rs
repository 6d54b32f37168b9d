//! Texts as sets of numbers: equal trigrams have equal numbers, which mean nothing else.

use std::collections::HashMap;
use std::ops::Range;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

use super::lists::Lists;
use super::team::{self, Pace, Watch};
use super::{JoinError, Text};
use crate::trigram::{Preparer, keys};

/// A share of the work: at most so many texts, and the text that brings it over so many bytes is its last.
const SHARE_TEXTS: usize = 512;
const SHARE_BYTES: usize = 1 << 16;

/// Numbers below this one are those of trigrams in ASCII: the three characters themselves.
const ASCII_END: u32 = 1 << 21;

/// Parts of the table of all other trigrams, so that threads seldom wait for each other.
const SHARDS: usize = 64;

/// Trigrams a thread remembers, by their hash: as few as fit a near cache, for some are far more common than most.
const REMEMBERED: usize = 1 << 12;

/// The sets of all texts, each sorted.
pub fn sets_of(texts: &[Text<'_>], threads: usize, watch: &mut Watch<'_>) -> Result<Lists, JoinError> {
    let shares = shares_of(texts);
    let next = AtomicUsize::new(0);
    let numbers = Numbers::default();
    let made = Mutex::new(Vec::with_capacity(shares.len()));
    let sound = team::run(threads.min(shares.len()), 0, watch, &|pulse| {
        let mut maker = Maker::new(&numbers);
        let mut own = Vec::new();
        while let Some(share) = shares.get(next.fetch_add(1, Ordering::Relaxed)) {
            own.push((share.start, maker.make(&texts[share.clone()])));
            if !pulse.beat(0) {
                break;
            }
        }
        made.lock().unwrap_or_else(PoisonError::into_inner).append(&mut own);
    });
    if !sound {
        return Err(JoinError::Stopped);
    }
    let mut made = made.into_inner().unwrap_or_else(PoisonError::into_inner);
    made.sort_unstable_by_key(|&(start, _)| start);
    let made: Vec<Made> = made.into_iter().map(|(_, share)| share).collect::<Result<_, _>>()?;
    let mut pace = Pace::new(|| watch.look());
    let mut sets = Lists::default();
    sets.reserve(made.iter().map(|share| share.numbers.len()).sum(), texts.len());
    for share in made {
        sets.append(&share.numbers, &share.sizes);
        if !pace.go_on(share.numbers.len()) {
            return Err(JoinError::Stopped);
        }
    }
    Ok(sets)
}

fn shares_of(texts: &[Text<'_>]) -> Vec<Range<usize>> {
    let mut shares = Vec::new();
    let (mut start, mut bytes) = (0, 0);
    for (index, text) in texts.iter().enumerate() {
        bytes += text.body.len();
        if bytes >= SHARE_BYTES || index + 1 - start == SHARE_TEXTS || index + 1 == texts.len() {
            shares.push(start..index + 1);
            (start, bytes) = (index + 1, 0);
        }
    }
    shares
}

/// The sets of one share, one after another.
struct Made {
    numbers: Vec<u32>,
    sizes: Vec<u32>,
}

/// One thread's means of making sets.
struct Maker<'a> {
    numbers: &'a Numbers,
    preparer: Preparer,
    remembered: Vec<(u64, u32)>,
}

impl<'a> Maker<'a> {
    fn new(numbers: &'a Numbers) -> Self {
        // No trigram has this key.
        Self { numbers, preparer: Preparer::default(), remembered: vec![(u64::MAX, 0); REMEMBERED] }
    }

    fn make(&mut self, texts: &[Text<'_>]) -> Result<Made, JoinError> {
        let mut made = Made { numbers: Vec::new(), sizes: Vec::with_capacity(texts.len()) };
        let mut set = Vec::new();
        for text in texts {
            set.clear();
            for key in keys(self.preparer.prepare(text.body)) {
                set.push(number(key, &mut self.remembered, self.numbers)?);
            }
            set.sort_unstable();
            set.dedup();
            made.sizes.push(u32::try_from(set.len()).map_err(|_| JoinError::TooMany)?);
            made.numbers.extend_from_slice(&set);
        }
        Ok(made)
    }
}

fn number(key: u64, remembered: &mut [(u64, u32)], numbers: &Numbers) -> Result<u32, JoinError> {
    // Three characters of 21 bits each, none above 127.
    const ASCII: u64 = 0x7F << 42 | 0x7F << 21 | 0x7F;
    if key & !ASCII == 0 {
        return Ok(narrow(key >> 28 | key >> 14 | key));
    }
    let hash = mixed(key);
    let slot = &mut remembered[hash % REMEMBERED];
    if slot.0 != key {
        *slot = (key, numbers.of(key, hash / REMEMBERED % SHARDS)?);
    }
    Ok(slot.1)
}

/// The lower half.
#[allow(clippy::cast_possible_truncation)]
fn narrow(value: u64) -> u32 {
    value as u32
}

/// The upper half of a product, in which every bit of the key has a part.
fn mixed(key: u64) -> usize {
    narrow((key ^ key >> 32).wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 32) as usize
}

/// The numbers of trigrams that are not in ASCII, given as they are met. Which number a trigram gets depends on which
/// thread comes first; nothing but the speed depends on the number.
struct Numbers {
    // Keys come from anyone, so the maps hash with a secret: a thread's own small memory is all that keeps none.
    shards: [Mutex<HashMap<u64, u32>>; SHARDS],
}

impl Default for Numbers {
    fn default() -> Self {
        Self { shards: std::array::from_fn(|_| Mutex::default()) }
    }
}

impl Numbers {
    fn of(&self, key: u64, shard: usize) -> Result<u32, JoinError> {
        let mut known = self.shards[shard].lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(&number) = known.get(&key) {
            return Ok(number);
        }
        let number = known.len() * SHARDS + shard + ASCII_END as usize;
        let number = u32::try_from(number).map_err(|_| JoinError::TooMany)?;
        known.insert(key, number);
        Ok(number)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::ops::ControlFlow;

    #[test]
    fn equal_trigrams_have_equal_numbers_and_others_have_others() {
        let bodies = ["abc", "bcd", "ABCD", "äbc", "Äbcd", "ab", "", "ba", "日本語", "xx日本語", "a\0b", "aaaa"];
        let texts: Vec<_> = bodies.iter().map(|body| Text { body, group: 0, dirty: true }).collect();
        let mut keep_on = |_, _| ControlFlow::Continue(());
        let sets = sets_of(&texts, 2, &mut Watch::new(0, &mut keep_on)).unwrap();
        for (i, a) in bodies.iter().enumerate() {
            for (j, b) in bodies.iter().enumerate() {
                let shared = sets.get(i).iter().filter(|number| sets.get(j).contains(number)).count();
                let total = sets.get(i).len() + sets.get(j).len() - shared;
                assert_eq!((shared as u64, total as u64), crate::trigram::overlap(a, b), "{a:?} {b:?}");
            }
        }
    }
}
