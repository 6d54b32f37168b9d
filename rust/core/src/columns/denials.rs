//! Records of opposite polarity with at least half of their core terms in common.
//!
//! Two sets of which at least half of the union is shared have one of any ⌊n/2⌋ + 1 members of either in common, so it is
//! enough to look at those who have one of the rarest that many. Who is first met at the i-th of a terms shares none of those
//! before, so shares a - i at most; and a bit that only one of two sketches has stands for a term that only one has. Where the
//! sizes ask for more than that allows, nothing more is looked at. Within a group both sides are met at
//! their rarest terms; a few records meet all others at any.

use super::Columns;
use super::grid::{Grid, Local};
use super::rows::Text;
use super::words::count;

/// Whether the sizes of two cores allow that half of their union is shared.
fn sizes_allow(a: usize, b: usize) -> bool {
    3 * a.min(b) >= a + b
}

/// A bit for each term of a core; different terms may have one bit.
pub fn sketch_of(core: &[u32]) -> u64 {
    core.iter().fold(0, |sketch, term| sketch | 1 << (term.wrapping_mul(0x9e37_79b9) >> 26))
}

/// Whether two cores, by their sketches and sizes, may share half of their union: then at most a third of what both have
/// together, counted twice where it is shared, is not.
fn sketches_allow(a: (u64, u32), b: (u64, u32)) -> bool {
    3 * (a.0 ^ b.0).count_ones() <= a.1 + b.1
}

/// Whether at least half of the union of two sorted cores, which is not empty, is shared.
fn half_is_shared(a: &[u32], b: &[u32]) -> bool {
    if a.is_empty() || !sizes_allow(a.len(), b.len()) {
        return false;
    }
    let (mut left, mut right, mut shared) = (0, 0, 0);
    while let (Some(x), Some(y)) = (a.get(left), b.get(right)) {
        left += usize::from(x <= y);
        right += usize::from(y <= x);
        shared += usize::from(x == y);
    }
    3 * shared >= a.len() + b.len()
}

impl Columns {
    /// The texts that deny what a text claims, or claim what it denies, through `found`; some more than once.
    pub(super) fn denials_of(&self, text: &Text, mut found: impl FnMut(u32)) {
        let with = |term: u32| self.index.with_term(text.group, term, !text.negated);
        let mut lists: Vec<&[u32]> = text.core().iter().map(|term| with(*term)).collect();
        lists.sort_unstable_by_key(|list| list.len());
        let own = lists.len();
        let (sketch, size) = (sketch_of(text.core()), count(own));
        for (place, list) in lists.iter().take(own / 2 + 1).enumerate() {
            // Of the terms left here, b of the other may be shared: 3 · (own - place) ≥ own + b, and 3 · b ≥ own + b.
            let (least, most) = (own.div_ceil(2), 2 * own - 3 * place.min(2 * own / 3));
            for other in *list {
                let held = self.sizes[*other as usize];
                let fits = held == u8::MAX
                    || ((least..=most).contains(&usize::from(held))
                        && sketches_allow((sketch, size), (self.sketches[*other as usize], held.into())));
                if fits && self.text(*other).is_some_and(|held| half_is_shared(text.core(), held.core())) {
                    found(*other);
                }
            }
        }
    }
}

/// The denials within one group.
#[derive(Debug, Default)]
pub struct Denials {
    /// The core terms of each member, sorted.
    cores: Grid<u32>,
    /// The rarest terms of each member, as far as one of opposite polarity has them.
    rarest: Grid<Rare>,
    /// Who has a term among the rarest: those who claim, then those who deny something.
    holders: Grid<Holder>,
    /// For each row of holders, how many of them come before those that are still looked at.
    passed: Vec<u32>,
}

/// A term of a member, and how many of its terms are as rare or less so, this one included.
#[derive(Clone, Copy, Debug, Default)]
struct Rare {
    term: u32,
    left: u16,
}

/// A member that has a term; how many core terms it has, how many of them are as rare or less so, and the
/// sketch of all.
#[derive(Clone, Copy, Debug, Default)]
struct Holder {
    rank: u32,
    size: u16,
    left: u16,
    sketch: u64,
}

impl Denials {
    /// Of the members of a group, sorted by id.
    pub fn new(columns: &Columns, members: &[u32], local: &mut Local) -> Self {
        let texts = || members.iter().filter_map(|number| columns.text(*number));
        if texts().all(|text| text.negated) || texts().all(|text| !text.negated) {
            return Self::default();
        }
        // How many claim and how many deny something with each term.
        let mut frequency: Vec<[u32; 2]> = Vec::new();
        let mut cores = Grid::default();
        for text in texts() {
            cores.push(text.core());
            for term in text.core() {
                let term = local.number(*term) as usize;
                frequency.resize(frequency.len().max(term + 1), [0; 2]);
                frequency[term][usize::from(text.negated)] += 1;
            }
        }
        let mut rarest = Grid::default();
        let mut held: Vec<(u32, Holder)> = Vec::new();
        let mut order: Vec<(u32, u32)> = Vec::new();
        let mut own: Vec<Rare> = Vec::new();
        for (rank, text) in texts().enumerate() {
            order.clear();
            order.extend(text.core().iter().map(|term| {
                let term = local.number(*term);
                (frequency[term as usize].iter().sum::<u32>(), term)
            }));
            order.sort_unstable();
            let size = bounded(order.len());
            let opposite = usize::from(!text.negated);
            let enough = order.iter().zip((1..=order.len()).rev().map(bounded)).take(order.len() / 2 + 1);
            own.clear();
            own.extend(
                enough
                    .filter(|((_, term), _)| frequency[*term as usize][opposite] > 0)
                    .map(|((_, term), left)| Rare { term: *term, left }),
            );
            let (rank, sketch) = (count(rank), sketch_of(text.core()));
            held.extend(
                own.iter()
                    .map(|rare| (row_of(rare.term, text.negated), Holder { rank, size, left: rare.left, sketch })),
            );
            rarest.push(&own);
        }
        let holders = Grid::by_first(2 * frequency.len(), &held);
        local.clear();
        Self { cores, rarest, holders, passed: vec![0; 2 * frequency.len()] }
    }

    /// The ranks after `first` of those that oppose it, through `found`. `is_new` says of a rank whether it was not asked of it
    /// before: thousands that share many terms are met at each of them.
    ///
    /// To be asked of each rank in ascending order.
    pub fn later(
        &mut self,
        negated: bool,
        first: u32,
        mut is_new: impl FnMut(u32) -> bool,
        mut found: impl FnMut(u32),
    ) {
        let Self { cores, rarest, holders, passed } = self;
        if rarest.is_empty() {
            return;
        }
        let core = cores.get(first);
        let (sketch, size) = (sketch_of(core), u32::from(bounded(core.len())));
        for rare in rarest.get(first) {
            let row = row_of(rare.term, !negated);
            let holders = holders.get(row);
            let passed = &mut passed[row as usize];
            *passed += count(holders[*passed as usize..].iter().take_while(|holder| holder.rank <= first).count());
            for holder in &holders[*passed as usize..] {
                let held = u32::from(holder.size);
                if 3 * u32::from(rare.left.min(holder.left)) >= size + held
                    && sketches_allow((sketch, size), (holder.sketch, held))
                    && is_new(holder.rank)
                    && half_is_shared(core, cores.get(holder.rank))
                {
                    found(holder.rank);
                }
            }
        }
    }
}

/// A number of terms, or the greatest there is room for: comparisons of such numbers rule out no more than of the true ones.
fn bounded(many: usize) -> u16 {
    u16::try_from(many).unwrap_or(u16::MAX)
}

fn row_of(term: u32, negated: bool) -> u32 {
    2 * term + u32::from(negated)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn half_of_the_union_is_enough() {
        assert!(half_is_shared(&[1, 2, 3, 4], &[2, 3, 4, 5, 6]));
        assert!(half_is_shared(&[1], &[1, 2]));
        assert!(!half_is_shared(&[1], &[1, 2, 3]));
        assert!(!half_is_shared(&[1, 2, 3], &[3, 4, 5]));
        assert!(!half_is_shared(&[], &[]));
        assert!(!half_is_shared(&[], &[1]));
    }

    #[test]
    fn sketches_allow_what_is_shared() {
        let sets: Vec<Vec<u32>> =
            (0..200).map(|seed: u32| (0..seed % 9).map(|term| (seed / 9 + term * 3) % 40).collect()).collect();
        let mut refused = 0;
        for a in &sets {
            for b in &sets {
                let (mut a, mut b) = (a.clone(), b.clone());
                for core in [&mut a, &mut b] {
                    core.sort_unstable();
                    core.dedup();
                }
                let allowed = sketches_allow((sketch_of(&a), count(a.len())), (sketch_of(&b), count(b.len())));
                assert!(allowed || !half_is_shared(&a, &b), "{a:?} {b:?}");
                refused += u32::from(!allowed);
            }
        }
        assert!(refused > 20_000, "{refused}");
    }
}
