//! The join against comparing every two texts.

use std::ops::ControlFlow;

use super::*;
use crate::trigram::overlap;

/// Numbers that look random and are the same every time.
struct Chance(u64);

impl Chance {
    fn below(&mut self, end: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        usize::try_from(self.0 >> 33).unwrap() % end
    }
}

/// Texts of very different lengths, many of them close to an earlier one.
fn bodies(count: usize, longest: usize, chance: &mut Chance) -> Vec<String> {
    const WORDS: [&str; 12] =
        ["cache", "Über", "port", "8443", "日本語", "not", "is", "the", "queue", "ὈΔΥΣΣΕΎΣ", "🍵", "restart"];
    let mut bodies: Vec<String> = Vec::new();
    for _ in 0..count {
        let body = if !bodies.is_empty() && chance.below(3) == 0 {
            let mut near = bodies[chance.below(bodies.len())].clone();
            if chance.below(2) == 0 {
                near.push_str(WORDS[chance.below(WORDS.len())]);
            }
            near
        } else {
            let word = |chance: &mut Chance| format!("{}{}", WORDS[chance.below(WORDS.len())], chance.below(40));
            let count = chance.below(longest);
            (0..count).map(|_| word(chance)).collect::<Vec<_>>().join(" ")
        };
        bodies.push(body);
    }
    bodies
}

fn all_pairs(pairs: &Pairs) -> Vec<(u32, u32)> {
    let mut all = Vec::new();
    pairs
        .rows(
            || true,
            |first, seconds| {
                all.extend(seconds.iter().map(|&second| (first, second)));
                true
            },
        )
        .unwrap();
    assert_eq!(pairs.count(), all.len() as u64);
    all
}

fn join(instructions: Instructions, texts: &[Text<'_>], threshold: f64, threads: usize) -> Vec<(u32, u32)> {
    let mut keep_on = |_, _| ControlFlow::Continue(());
    let threshold = Threshold::new(threshold).unwrap();
    all_pairs(&similar_pairs_with(instructions, texts, threshold, threads, &mut keep_on).unwrap())
}

/// What every two bodies share and have together, computed from the strings.
fn overlaps(bodies: &[String]) -> Vec<Vec<(u64, u64)>> {
    bodies.iter().map(|a| bodies.iter().map(|b| overlap(a, b)).collect()).collect()
}

fn one_by_one(texts: &[Text<'_>], overlaps: &[Vec<(u64, u64)>], threshold: f64) -> Vec<(u32, u32)> {
    let reaches = |(shared, total): (u64, u64)| match Threshold::new(threshold).unwrap() {
        Threshold::Every => true,
        Threshold::Never => false,
        Threshold::Ratio { over, under } => total > 0 && u128::from(shared) * under >= over * u128::from(total),
    };
    let mut all = Vec::new();
    for (i, (a, overlaps)) in texts.iter().zip(overlaps).enumerate() {
        for (j, (b, overlap)) in texts.iter().zip(overlaps).enumerate().skip(i + 1) {
            if a.group == b.group && (a.dirty || b.dirty) && reaches(*overlap) {
                all.push((classes::index(i), classes::index(j)));
            }
        }
    }
    all
}

#[test]
fn no_pair_is_missed_and_none_is_made_up() {
    let mut chance = Chance(7);
    for (count, longest) in [(0, 1), (1, 3), (2, 2), (70, 3), (40, 12), (12, 200)] {
        let bodies = bodies(count, longest, &mut chance);
        let overlaps = overlaps(&bodies);
        for (groups, clean) in [(1, 0), (3, 0), (1, 4), (2, 30), (40, 2)] {
            let texts: Vec<_> = bodies
                .iter()
                .map(|body| {
                    let group = u32::MAX - u32::try_from(chance.below(groups)).unwrap() * 1_000_000;
                    Text { body, group, dirty: chance.below(clean + 1) == 0 }
                })
                .collect();
            for threshold in [-1.0, 0.0, 1e-9, 0.1, 0.3, 1.0 / 3.0, 0.5, 0.6, 2.0 / 3.0, 0.9, 1.0, 1.01] {
                let expected = one_by_one(&texts, &overlaps, threshold);
                for instructions in Instructions::available() {
                    let found = join(instructions, &texts, threshold, 2);
                    assert_eq!(found, expected, "{instructions:?} {threshold} {groups} {clean}");
                }
            }
        }
    }
}

#[test]
fn one_very_long_text_costs_little_among_short_ones() {
    let mut chance = Chance(11);
    let mut bodies = bodies(300, 8, &mut chance);
    let long: String =
        (0..50_000).map(|_| char::from_u32(97 + u32::try_from(chance.below(3000)).unwrap()).unwrap()).collect();
    bodies.push(long.clone());
    bodies.push(long + " and more");
    let texts: Vec<_> = bodies.iter().map(|body| Text { body, group: 0, dirty: true }).collect();
    for threshold in [0.001, 0.6, 1.0] {
        let found = join(Instructions::best(), &texts, threshold, 0);
        assert_eq!(found.contains(&(300, 301)), threshold < 1.0);
        assert!(found.iter().all(|&(_, second)| second < 300 || threshold < 0.6 || (second, 301) == (301, 301)));
    }
}

#[test]
fn copies_are_compared_once_and_written_as_they_are() {
    let texts = vec![Text { body: "the cache is on", group: 0, dirty: true }; 3000];
    let mut keep_on = |_, _| ControlFlow::Continue(());
    let pairs = similar_pairs(&texts, Threshold::new(0.6).unwrap(), 0, &mut keep_on).unwrap();
    assert_eq!(pairs.count(), 3000 * 2999 / 2);
    let mut room = [0; 20];
    pairs.write(&mut room, || true).unwrap();
    assert_eq!(room, [0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 2, 0, 0, 0, 0, 0, 0, 0]);
}

#[test]
fn the_caller_may_stop_at_any_call() {
    let mut chance = Chance(3);
    let bodies = bodies(2000, 30, &mut chance);
    let texts: Vec<_> = bodies.iter().map(|body| Text { body, group: 0, dirty: true }).collect();
    for calls in 0..2 {
        let mut left = calls;
        let mut progress = |done, total| {
            assert!(done <= total && total == 2000 * 1999 / 2);
            left -= 1;
            if left < 0 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        };
        let stopped = similar_pairs(&texts, Threshold::new(0.5).unwrap(), 2, &mut progress);
        assert_eq!(stopped.err(), Some(JoinError::Stopped));
    }
    let mut told = Vec::new();
    let mut progress = |done, total| {
        told.push((done, total));
        ControlFlow::Continue(())
    };
    similar_pairs(&texts, Threshold::new(0.5).unwrap(), 2, &mut progress).unwrap();
    assert!(told.is_sorted() && told[0].0 == 0 && told.last() == Some(&(1_999_000, 1_999_000)), "{told:?}");
}
