//! What is compared with what, and by which bitmaps.
//!
//! Two sets differ in at least as many members as their bitmaps differ in bits, whatever the hash. Bitmaps so narrow that
//! most bits are set tell little, wide ones take long to compare, so there are several widths, each about as wide as the
//! sets it serves are large.

use std::ops::Range;

use super::classes::{Classes, Ranked, index};
use super::simd::Columns;
use super::team::Pace;
use super::threshold::Bounds;

/// Words of the narrowest bitmaps.
const NARROWEST: usize = 2;

/// A bitmap serves sets of up to so many members for each of its words.
const MEMBERS_PER_WORD: usize = 38;

/// Most probes that are compared together.
const BLOCK: usize = 256;

/// Words of the bitmap that every class has, to look closer at what a narrower one lets through.
pub const FULL: usize = 8;

/// A class and those that it is compared with.
#[derive(Clone, Debug)]
pub struct Probe {
    pub class: u32,
    pub from: u32,
    pub to: u32,
}

/// Probes of one group and about one size.
#[derive(Debug)]
pub struct Block {
    pub probes: Range<usize>,
    /// All that any of the probes is compared with.
    pub others: Range<usize>,
    /// Which of the columns have their bitmaps.
    pub level: usize,
    /// The place of class `others.start` in the columns.
    pub place: usize,
}

/// The classes that have a bitmap of one width.
#[derive(Clone, Debug, Default)]
struct Level {
    /// In the order of their places.
    runs: Vec<Range<usize>>,
    /// How many there are in all runs but the last.
    before: usize,
}

impl Level {
    fn count(&self) -> usize {
        self.before + self.runs.last().map_or(0, Range::len)
    }
}

/// All the work there is.
#[derive(Debug, Default)]
pub struct Plan {
    pub probes: Vec<Probe>,
    pub blocks: Vec<Block>,
    levels: Vec<Level>,
    /// Words compared if no bitmap is given up early.
    pub cost: u64,
}

impl Plan {
    /// With `incremental`, only classes with a dirty text are probes, and each is compared with all that come into
    /// question; else every class is one, and is compared with those before it.
    pub fn new(ranked: &Ranked<'_>, classes: &Classes, bounds: &Bounds, incremental: bool) -> Self {
        let mut plan = Self::default();
        for group in &ranked.groups {
            let sizes = &ranked.sizes[group.clone()];
            let first_of = |size| group.start + sizes.partition_point(|&other| other < size);
            let begin = plan.probes.len();
            for class in group.clone() {
                if incremental && !classes.is_dirty(class) {
                    continue;
                }
                let size = ranked.sizes[class];
                let from = first_of(bounds.smallest(size));
                let to = if incremental { first_of(bounds.largest(size).saturating_add(1)) } else { class };
                if from < to {
                    plan.probes.push(Probe { class: index(class), from: index(from), to: index(to) });
                }
            }
            plan.cut(begin, &ranked.sizes);
        }
        plan
    }

    /// Cuts the probes of a group, from `begin` on, into blocks.
    fn cut(&mut self, begin: usize, sizes: &[u32]) {
        let level = |probe: &Probe| level_of(sizes[probe.class as usize] as usize);
        let mut begin = begin;
        while let Some(first) = self.probes.get(begin) {
            let end = (begin + BLOCK).min(self.probes.len());
            let end = begin + self.probes[begin..end].partition_point(|probe| level(probe) == level(first));
            let others = first.from as usize..self.probes[end - 1].to as usize;
            // Where the others are far smaller, bitmaps as wide as the probes are large would take more memory than all
            // the sets; so they are never much wider than the smallest of the others.
            let level = level(first).min(level_of(4 * sizes[others.start] as usize));
            let place = self.place(level, &others);
            let compared: u64 = self.probes[begin..end].iter().map(|probe| u64::from(probe.to - probe.from)).sum();
            self.cost += compared * words_of(level) as u64;
            self.blocks.push(Block { probes: begin..end, others, level, place });
            begin = end;
        }
    }

    /// Makes sure of bitmaps for all of `others`, and gives the place of the first. Blocks come in the order of their
    /// sizes, so that neither their first others nor their last ones ever go back.
    fn place(&mut self, level: usize, others: &Range<usize>) -> usize {
        if self.levels.len() <= level {
            self.levels.resize(level + 1, Level::default());
        }
        let Level { runs, before } = &mut self.levels[level];
        match runs.last_mut() {
            Some(last) if last.contains(&others.start) => last.end = last.end.max(others.end),
            last => {
                *before += last.map_or(0, |last| last.len());
                runs.push(others.clone());
            }
        }
        *before + others.start - runs.last().map_or(0, |last| last.start)
    }
}

/// The level whose bitmaps serve sets of this size.
fn level_of(size: usize) -> usize {
    size.div_ceil(NARROWEST * MEMBERS_PER_WORD).max(1).next_power_of_two().trailing_zeros() as usize
}

fn words_of(level: usize) -> usize {
    NARROWEST << level
}

/// The bitmaps of all classes.
#[derive(Debug)]
pub struct Bitmaps {
    /// A bitmap of [`FULL`] words for each class.
    pub full: Vec<[u64; FULL]>,
    /// For each level the columns that the blocks name.
    pub levels: Vec<Columns>,
}

impl Bitmaps {
    /// All that the plan asks for. `go_on` is asked now and then; `None` when it says false.
    pub fn new(ranked: &Ranked<'_>, plan: &Plan, go_on: impl FnMut() -> bool) -> Option<Self> {
        let mut pace = Pace::new(go_on);
        let mut full = vec![[0; FULL]; ranked.len()];
        for (class, bitmap) in full.iter_mut().enumerate() {
            mark(ranked.set(class), bitmap);
            if !pace.go_on(ranked.set(class).len()) {
                return None;
            }
        }
        let mut levels = Vec::new();
        let mut bitmap = Vec::new();
        for (level, classes) in plan.levels.iter().enumerate() {
            let mut columns = Columns::new(words_of(level), classes.count());
            for (place, class) in classes.runs.iter().flat_map(Range::clone).enumerate() {
                fill(&mut bitmap, columns.words(), &full[class], ranked.set(class));
                columns.set(place, &bitmap);
                if !pace.go_on(bitmap.len()) {
                    return None;
                }
            }
            levels.push(columns);
        }
        Some(Self { full, levels })
    }
}

/// Makes the bitmap of `words` words of a set.
pub fn fill(bitmap: &mut Vec<u64>, words: usize, full: &[u64; FULL], set: &[u32]) {
    bitmap.clear();
    bitmap.resize(words, 0);
    if words > FULL {
        mark(set, bitmap);
    } else {
        // Half as many words are the two halves, one laid over the other, for the hash loses its highest bit.
        for (word, bits) in full.iter().enumerate() {
            bitmap[word % words] |= bits;
        }
    }
}

/// Sets the bits of all members; the bitmap has a power of two of words.
fn mark(set: &[u32], bitmap: &mut [u64]) {
    let last = bitmap.len() - 1;
    for &number in set {
        let hash = u64::from(number).wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 24;
        let word = (hash >> 6) & last as u64;
        if let Some(word) = usize::try_from(word).ok().and_then(|word| bitmap.get_mut(word)) {
            *word |= 1 << (hash & 63);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_level_serves_its_sizes() {
        let levels: Vec<_> = [1, 76, 77, 152, 153, 304, 305, 1_000_000].into_iter().map(level_of).collect();
        assert_eq!(levels, [0, 0, 1, 1, 2, 2, 3, 14]);
    }

    #[test]
    fn a_narrow_bitmap_is_the_one_marked_as_such() {
        let set: Vec<u32> = (0..90).map(|number| number * 7919).collect();
        let mut full = [0; FULL];
        mark(&set, &mut full);
        for words in [2, 4, 8, 16] {
            let (mut folded, mut marked) = (Vec::new(), vec![0; words]);
            fill(&mut folded, words, &full, &set);
            mark(&set, &mut marked);
            assert_eq!(folded, marked);
        }
    }
}
