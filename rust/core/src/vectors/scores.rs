//! What one query scores, and how neighbours in a session lend to each other.

use std::cmp::Ordering;

use hashbrown::{HashMap, HashSet};

use super::Id;
use super::sessions::Sessions;

/// A mean is taken over whole numbers, so that no order of adding changes it.
const UNIT: f64 = 4_294_967_296.0;

/// Shares of a neighbour's score, as far as it lies above the mean, that are added to a record's own.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Around {
    /// Of the record before.
    pub previous: f64,
    /// Of the record after.
    pub next: f64,
    /// Of each of the two that are two away.
    pub two_away: f64,
}

impl Around {
    pub(super) fn smoothed(self, own: &[f64], sessions: &Sessions) -> Vec<f64> {
        let mut smoothed = own.to_vec();
        let mean = mean(own);
        for members in sessions.each() {
            for (at, (_, slot)) in members.iter().enumerate() {
                let before = |steps: usize| at.checked_sub(steps).and_then(|at| members.get(at));
                let neighbours = [
                    (self.previous, before(1)),
                    (self.next, members.get(at + 1)),
                    (self.two_away, before(2)),
                    (self.two_away, members.get(at + 2)),
                ];
                for (share, neighbour) in neighbours {
                    if let Some((_, other)) = neighbour {
                        smoothed[*slot] += share * (own[*other] - mean);
                    }
                }
            }
        }
        smoothed
    }
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_precision_loss,
    reason = "cosines are rounded to 32 bits after the point, and less than 2^31 of them are added"
)]
fn mean(own: &[f64]) -> f64 {
    let sum: i64 = own.iter().map(|score| (score * UNIT + 0.5).floor() as i64).sum();
    if own.is_empty() { 0.0 } else { sum as f64 / UNIT / own.len() as f64 }
}

/// The scores of all vectors that were held, for one query.
pub struct Scores {
    ids: Vec<Id>,
    scores: Vec<f64>,
}

impl Scores {
    pub(super) fn new(ids: Vec<Id>, scores: Vec<f64>) -> Self {
        Self { ids, scores }
    }

    /// How many there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.ids.len()
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.ids.is_empty()
    }

    /// At most `count`, greatest first, then by id; only of ids `among` those given.
    #[must_use]
    pub fn best(&self, count: usize, among: Option<&HashSet<Id>>) -> Vec<(Id, f64)> {
        let all = self.ids.iter().copied().zip(self.scores.iter().copied());
        let mut found: Vec<(Id, f64)> = match among {
            Some(among) => all.filter(|(id, _)| among.contains(id)).collect(),
            None => all.collect(),
        };
        if count == 0 {
            return Vec::new();
        }
        if count < found.len() {
            found.select_nth_unstable_by(count - 1, order);
            found.truncate(count);
        }
        found.sort_unstable_by(order);
        found
    }

    /// The scores of some ids, None where there is none.
    #[must_use]
    pub fn of(&self, ids: &[Id]) -> Vec<Option<f64>> {
        let wanted: HashSet<Id> = ids.iter().copied().collect();
        let all = self.ids.iter().zip(&self.scores);
        let found: HashMap<Id, f64> =
            all.filter(|(id, _)| wanted.contains(*id)).map(|(id, score)| (*id, *score)).collect();
        ids.iter().map(|id| found.get(id).copied()).collect()
    }
}

fn order(one: &(Id, f64), other: &(Id, f64)) -> Ordering {
    other.1.total_cmp(&one.1).then_with(|| one.0.cmp(&other.0))
}
