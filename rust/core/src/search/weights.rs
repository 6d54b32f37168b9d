//! What a term counts in a record: BM25 in whole numbers (spec/recall.md section 5.1).
//!
//! It depends on the mean length, which every update may change, so postings hold the number of a shape, that is, how often
//! the term occurs and how long the record is; there are few of those, and what each counts is worked out anew for all
//! postings at once.

use hashbrown::HashMap;

use super::config::Config;
use super::names::count;

/// One, in the fixed-point numbers of ranking.
const UNIT: f64 = 65_536.0;

/// The shapes of postings and what they count.
#[derive(Debug, Default)]
pub struct Weights {
    numbers: HashMap<(u32, u64), u32>,
    shapes: Vec<(u32, u64)>,
    values: Vec<u32>,
    /// The mean length in quarters that `values` hold for.
    mean: u64,
}

impl Weights {
    /// The number of a shape.
    pub fn number(&mut self, occurrences: u32, length: u64, config: &Config) -> u32 {
        let Self { numbers, shapes, values, mean } = self;
        *numbers.entry((occurrences, length)).or_insert_with(|| {
            shapes.push((occurrences, length));
            values.push(weight(occurrences, length, *mean, config));
            count(shapes.len() - 1)
        })
    }

    /// How often a term occurs in postings of a shape.
    #[must_use]
    pub fn occurrences(&self, number: u32) -> u32 {
        self.shapes[number as usize].0
    }

    /// What each shape counts, in units of 1/65536.
    #[must_use]
    pub fn values(&self) -> &[u32] {
        &self.values
    }

    /// Works out what shapes count when the mean length, in quarters of a term, has changed.
    pub fn set_mean(&mut self, records: u64, length: u64, config: &Config) {
        let records = u128::from(records.max(1));
        let mean = (8 * u128::from(length) + records) / (2 * records);
        let mean = u64::try_from(mean.max(1)).unwrap_or(u64::MAX);
        if mean != self.mean {
            self.mean = mean;
            self.values.clear();
            self.values
                .extend(self.shapes.iter().map(|(occurrences, length)| weight(*occurrences, *length, mean, config)));
        }
    }
}

/// What a term that occurs so often counts in a record of a length, for a mean length in quarters of a term.
#[allow(clippy::cast_precision_loss, clippy::cast_possible_truncation, clippy::cast_sign_loss)]
fn weight(occurrences: u32, length: u64, mean: u64, config: &Config) -> u32 {
    let relative = length as f64 / (mean as f64 / 4.0);
    let occurrences = f64::from(occurrences);
    let damped = occurrences + config.k1 * (1.0 - config.b + config.b * relative);
    (UNIT * (occurrences * (config.k1 + 1.0) / damped) + 0.5).floor() as u32
}

/// How telling a term is that `holding` of `records` records have, in units of 1/65536, 1 or more.
#[allow(clippy::cast_precision_loss, clippy::cast_possible_truncation, clippy::cast_sign_loss)]
#[must_use]
pub fn rarity(records: usize, holding: usize) -> u32 {
    let rarity = (1.0 + ((records - holding) as f64 + 0.5) / (holding as f64 + 0.5)).ln();
    ((UNIT * rarity + 0.5).floor() as u32).max(1)
}

/// What a term of a rarity counts in a posting of a weight.
#[allow(clippy::cast_possible_truncation)]
#[must_use]
pub fn impact(weight: u32, rarity: u32) -> u32 {
    ((u64::from(weight) * u64::from(rarity)) >> 16).max(1) as u32
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn weights_follow_the_mean_length() {
        let (config, mut weights) = (Config::default(), Weights::default());
        weights.set_mean(2, 20, &config);
        let shape = weights.number(1, 10, &config);
        assert_eq!(weights.values(), [65_536]);
        weights.set_mean(2, 10, &config);
        assert!(weights.values()[shape as usize] < 65_536);
        assert_eq!((weights.number(1, 10, &config), weights.occurrences(shape)), (shape, 1));
    }

    #[test]
    fn rare_terms_tell_more() {
        assert!(rarity(1000, 1) > rarity(1000, 2));
        assert_eq!(rarity(1 << 24, 1 << 24), 1);
        assert_eq!(impact(1, 1), 1);
    }
}
