//! Near duplicates: every pair of texts whose trigrams are similar enough, none missed (spec/text.md section 6).
//!
//! Every set is compared with every other of about its size, which for the sizes of notes is quicker than any index: most of
//! their trigrams are common ones. What is compared first is bitmaps, a word of eight at a time; the few pairs these cannot
//! rule out are decided by the sets themselves, in integers. Equal sets are compared once.

mod classes;
mod join;
mod lists;
mod pairs;
mod plan;
mod sets;
mod simd;
mod team;
mod threshold;

pub use pairs::Pairs;
pub use team::Progress;
pub use threshold::Threshold;

use classes::{Classes, Ranked};
use join::Join;
use plan::{Bitmaps, Plan};
use simd::Instructions;
use team::Watch;
use threshold::Bounds;

/// A text to compare.
#[derive(Clone, Copy, Debug)]
pub struct Text<'a> {
    /// What it says.
    pub body: &'a str,
    /// It makes pairs only with texts of the same group.
    pub group: u32,
    /// Of a pair, at least one side is dirty. When few texts are, the work is about their number times that of all.
    pub dirty: bool,
}

/// Why there is no answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum JoinError {
    /// The caller asked for an end.
    #[error("the comparison was stopped")]
    Stopped,
    /// Texts, or different trigrams, can no longer be numbered with 32 bits.
    #[error("there are too many texts, or too many different trigrams, to number: compare fewer at a time")]
    TooMany,
}

/// Every pair of texts of one group, at least one of them dirty, whose similarity reaches the threshold.
///
/// `threads` is how many threads work, 0 meaning one for every processor; the calling one is among them. `progress` is
/// called from the calling thread alone: at once, then about every tenth of a second, and at the end, with how many pairs
/// are decided, and how many there are to decide. It may break to end the work.
///
/// Memory: four bytes for each different trigram of each text, about as much again for bitmaps, and about sixteen bytes for
/// each pair found. The time grows with the square of the number of texts, or with that of the dirty ones times it.
///
/// # Errors
///
/// [`JoinError::Stopped`] when `progress` broke, [`JoinError::TooMany`] for 2^32 - 1 texts or more.
pub fn similar_pairs(
    texts: &[Text<'_>],
    threshold: Threshold,
    threads: usize,
    progress: &mut Progress<'_>,
) -> Result<Pairs, JoinError> {
    similar_pairs_with(Instructions::best(), texts, threshold, threads, progress)
}

fn similar_pairs_with(
    instructions: Instructions,
    texts: &[Text<'_>],
    threshold: Threshold,
    threads: usize,
    progress: &mut Progress<'_>,
) -> Result<Pairs, JoinError> {
    if texts.len() >= u32::MAX as usize {
        return Err(JoinError::TooMany);
    }
    let mut watch = Watch::new(pairs_to_decide(texts), progress);
    let (classes, found) = match threshold {
        Threshold::Never => (Classes::of_groups(&[]), Vec::new()),
        Threshold::Every => (Classes::of_groups(texts), Vec::new()),
        Threshold::Ratio { over, under } => {
            let threads = team::wanted(threads);
            let sets = sets::sets_of(texts, threads, &mut watch)?;
            let (ranked, classes) = Ranked::new(texts, &sets, || watch.look()).ok_or(JoinError::Stopped)?;
            let largest = ranked.sizes.iter().max().copied().unwrap_or(0);
            let bounds = Bounds::new(over, under, largest);
            // Each dirty text is compared with all others, and all texts with half of them on average.
            let incremental = 2 * texts.iter().filter(|text| text.dirty).count() < texts.len();
            let plan = Plan::new(&ranked, &classes, &bounds, incremental);
            let bitmaps = Bitmaps::new(&ranked, &plan, || watch.look()).ok_or(JoinError::Stopped)?;
            let join = Join {
                ranked: &ranked,
                classes: &classes,
                bounds: &bounds,
                plan: &plan,
                bitmaps: &bitmaps,
                instructions,
                incremental,
            };
            let found = join.run(threads, &mut watch).ok_or(JoinError::Stopped)?;
            (classes, found)
        }
    };
    let pairs = Pairs::new(texts, classes, found, || watch.look())?;
    if watch.finish() { Ok(pairs) } else { Err(JoinError::Stopped) }
}

/// How many pairs of texts share a group and have a dirty side.
fn pairs_to_decide(texts: &[Text<'_>]) -> u64 {
    let among = |count: usize| (count as u64) * (count as u64).saturating_sub(1) / 2;
    let mut sides: Vec<(u32, bool)> = texts.iter().map(|text| (text.group, text.dirty)).collect();
    sides.sort_unstable();
    sides
        .chunk_by(|a, b| a.0 == b.0)
        .map(|group| among(group.len()) - among(group.iter().filter(|(_, dirty)| !dirty).count()))
        .sum()
}

#[cfg(test)]
mod tests;
