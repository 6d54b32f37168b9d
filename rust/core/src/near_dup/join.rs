//! The comparing: every block of the plan, tile by tile.

use std::ops::Range;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

use super::classes::{Classes, Ranked, index};
use super::plan::{Bitmaps, Block, FULL, Plan, Probe, fill};
use super::simd::Instructions;
use super::team::{self, Pulse, Watch};
use super::threshold::Bounds;

/// Words of a tile: half of a near cache, so that it stays there while all probes of a block are held against it.
const TILE: usize = 2048;

/// A tile ends where sets are larger than its first by more than one in so many: one limit is taken for all of it.
const SIZE_STEP: u32 = 64;

/// For each word compared this much work more is worth a further thread.
const THREAD_WORTH: u64 = 1 << 21;

/// Members compared one by one before a thread looks up.
const BREATH: usize = 1 << 20;

/// Pairs that are handled without looking up.
const PART: usize = 1 << 18;

/// Everything the threads read.
pub struct Join<'a> {
    pub ranked: &'a Ranked<'a>,
    pub classes: &'a Classes,
    pub bounds: &'a Bounds,
    pub plan: &'a Plan,
    pub bitmaps: &'a Bitmaps,
    pub instructions: Instructions,
    pub incremental: bool,
}

impl Join<'_> {
    /// The pairs of classes that reach the threshold, in each order in which texts of the second follow one of the first, in
    /// parts. `None` when the caller wants an end.
    pub fn run(&self, threads: usize, watch: &mut Watch<'_>) -> Option<Vec<Vec<(u32, u32)>>> {
        let worth = usize::try_from(self.plan.cost / THREAD_WORTH).unwrap_or(usize::MAX).saturating_add(1);
        // The last blocks are the longest: they come first, so that no thread is left alone with one at the end.
        let left = AtomicUsize::new(self.plan.blocks.len());
        let found = Mutex::new(Vec::new());
        let threads = threads.min(worth).min(self.plan.blocks.len());
        let sound = team::run(threads, self.plan.cost, watch, &|pulse| {
            let mut worker = Worker {
                join: self,
                found: Vec::new(),
                parts: Vec::new(),
                near: Vec::new(),
                probes: Vec::new(),
                compared: 0,
            };
            let take = || left.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |left| left.checked_sub(1)).ok();
            while let Some(block) = take().and_then(|before| self.plan.blocks.get(before - 1)) {
                if !worker.block(block, pulse) {
                    return;
                }
            }
            worker.parts.push(worker.found);
            found.lock().unwrap_or_else(PoisonError::into_inner).append(&mut worker.parts);
        });
        sound.then(|| found.into_inner().unwrap_or_else(PoisonError::into_inner))
    }
}

/// One thread's state.
struct Worker<'a> {
    join: &'a Join<'a>,
    found: Vec<(u32, u32)>,
    /// What was found before, in parts of about [`PART`].
    parts: Vec<Vec<(u32, u32)>>,
    /// What a scan lets through.
    near: Vec<usize>,
    /// The bitmaps of the block's probes, one after another.
    probes: Vec<u64>,
    /// Members compared one by one since the last beat.
    compared: usize,
}

impl Worker<'_> {
    /// False when the caller wants an end.
    fn block(&mut self, block: &Block, pulse: &mut Pulse<'_, '_, '_>) -> bool {
        let Join { ranked, plan, bitmaps, .. } = *self.join;
        let probes = &plan.probes[block.probes.clone()];
        let words = bitmaps.levels[block.level].words();
        self.probes.clear();
        let mut bitmap = Vec::new();
        for probe in probes {
            let class = probe.class as usize;
            fill(&mut bitmap, words, &bitmaps.full[class], ranked.set(class));
            self.probes.extend_from_slice(&bitmap);
        }
        let mut start = block.others.start;
        while start < block.others.end {
            let tile = self.tile(start, block.others.end, words);
            start = tile.end;
            let mut cost = 0;
            for (nth, probe) in probes.iter().enumerate() {
                let others = tile.start.max(probe.from as usize)..tile.end.min(probe.to as usize);
                if others.is_empty() {
                    continue;
                }
                cost += (others.len() * words) as u64;
                if !self.probe(block, probe, nth * words..(nth + 1) * words, others, pulse) {
                    return false;
                }
            }
            if self.found.len() >= PART {
                self.parts.push(std::mem::take(&mut self.found));
            }
            if !pulse.beat(cost) {
                return false;
            }
        }
        true
    }

    /// Classes from `start` on that are about of one size.
    fn tile(&self, start: usize, end: usize, words: usize) -> Range<usize> {
        let sizes = &self.join.ranked.sizes;
        let end = end.min(start + (TILE / words).max(64));
        let most = sizes[start].saturating_add(sizes[start] / SIZE_STEP);
        start..start + sizes[start..end].partition_point(|&size| size <= most)
    }

    /// Compares a probe, whose bitmap stands at `bitmap`, with others of one tile.
    fn probe(
        &mut self,
        block: &Block,
        probe: &Probe,
        bitmap: Range<usize>,
        others: Range<usize>,
        pulse: &mut Pulse<'_, '_, '_>,
    ) -> bool {
        let Join { ranked, bounds, bitmaps, instructions, .. } = *self.join;
        let size = ranked.sizes[probe.class as usize];
        // The limit of the largest is the loosest; each is looked at again by its own.
        let Some(limit) = bounds.apart(size, ranked.sizes[others.end - 1]) else { return true };
        let place = |class: usize| class - block.others.start + block.place;
        let places = place(others.start)..place(others.end);
        let mut near = std::mem::take(&mut self.near);
        near.clear();
        bitmaps.levels[block.level].scan(instructions, &self.probes[bitmap], places, limit, &mut near);
        for place in &near {
            self.look(probe.class as usize, place - block.place + block.others.start);
            if self.compared >= BREATH {
                self.compared = 0;
                if !pulse.beat(0) {
                    return false;
                }
            }
        }
        self.near = near;
        true
    }

    /// Decides a pair that the bitmaps could not.
    fn look(&mut self, probe: usize, other: usize) {
        let Join { ranked, classes, bounds, bitmaps, incremental, .. } = *self.join;
        // Where both are probes, the pair comes up from either side.
        if probe == other || incremental && other > probe && classes.is_dirty(other) {
            return;
        }
        let (a, b) = (ranked.sizes[probe], ranked.sizes[other]);
        let Some(limit) = bounds.apart(a, b) else { return };
        if bits_apart(&bitmaps.full[probe], &bitmaps.full[other]) > limit {
            return;
        }
        let (left, right) = (ranked.set(probe), ranked.set(other));
        self.compared += left.len() + right.len();
        if shares(left, right, bounds.shared(a, b) as usize) {
            for (first, second) in [(probe, other), (other, probe)] {
                if classes.follows(second, first) {
                    self.found.push((index(first), index(second)));
                }
            }
        }
    }
}

fn bits_apart(a: &[u64; FULL], b: &[u64; FULL]) -> u64 {
    a.iter().zip(b).map(|(a, b)| u64::from((a ^ b).count_ones())).sum()
}

/// Whether two sorted sets share at least so many members.
fn shares(left: &[u32], right: &[u32], least: usize) -> bool {
    let (mut i, mut j, mut shared) = (0, 0, 0);
    while shared < least {
        if shared + (left.len() - i).min(right.len() - j) < least {
            return false;
        }
        let (x, y) = (left[i], right[j]);
        shared += usize::from(x == y);
        i += usize::from(x <= y);
        j += usize::from(y <= x);
    }
    true
}
