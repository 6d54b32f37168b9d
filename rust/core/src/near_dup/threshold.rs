//! The least similarity of a pair, as an exact ratio.

/// A power of ten below which a threshold asks for no more than one shared trigram: no two sets have as many together.
const SMALLEST: f64 = 1e-12;
const SMALLEST_POWER: u32 = 12;

/// The least similarity of a pair: the decimal that a number is written as in its shortest form that reads back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Threshold {
    /// 0 or less: every pair reaches it, also one of empty texts.
    Every,
    /// Above 0 and not above 1.
    Ratio {
        /// The numerator, at most the denominator, below 10^17.
        over: u128,
        /// The denominator, a power of ten, at most 10^28.
        under: u128,
    },
    /// Above 1: no pair reaches it.
    Never,
}

impl Threshold {
    /// The threshold that the number is written as; `None` for what is no number.
    #[must_use]
    pub fn new(value: f64) -> Option<Self> {
        if value.is_nan() {
            return None;
        }
        if value <= 0.0 {
            return Some(Self::Every);
        }
        if value > 1.0 {
            return Some(Self::Never);
        }
        if value < SMALLEST {
            return Some(Self::Ratio { over: 1, under: 10_u128.pow(SMALLEST_POWER) });
        }
        // Shortest digits that read back, such as `6e-1` or `3.333333333333333e-1`; the exponent is not above 0.
        let written = format!("{value:e}");
        let (digits, exponent) = written.split_once('e')?;
        let (whole, fraction) = digits.split_once('.').unwrap_or((digits, ""));
        let exponent: u32 = exponent.trim_start_matches('-').parse().ok()?;
        let over = format!("{whole}{fraction}").parse().ok()?;
        let power = u32::try_from(fraction.len()).ok()? + exponent;
        Some(Self::Ratio { over, under: 10_u128.checked_pow(power)? })
    }
}

/// What a ratio asks of sets, worked out once for every size there is.
#[derive(Debug)]
pub struct Bounds {
    over: u128,
    under: u128,
    /// For each sum of two sizes, how many members the two must share.
    shared: Vec<u32>,
}

impl Bounds {
    /// For sets of up to `largest` members.
    pub fn new(over: u128, under: u128, largest: u32) -> Self {
        // shared / (sum - shared) >= over / under, solved for shared.
        let shared = (0..=2 * u128::from(largest)).map(|sum| saturated((over * sum).div_ceil(over + under))).collect();
        Self { over, under, shared }
    }

    /// The size of the smallest set that can reach the threshold with one of `size`.
    pub fn smallest(&self, size: u32) -> u32 {
        saturated((self.over * u128::from(size)).div_ceil(self.under))
    }

    /// The size of the largest such set.
    pub fn largest(&self, size: u32) -> u32 {
        saturated(u128::from(size) * self.under / self.over)
    }

    /// How many members sets of these sizes must share.
    pub fn shared(&self, a: u32, b: u32) -> u32 {
        self.shared.get(a as usize + b as usize).copied().unwrap_or(u32::MAX)
    }

    /// How many members, at most, sets of these sizes may have that the other has not; `None` when they cannot reach it.
    pub fn apart(&self, a: u32, b: u32) -> Option<u64> {
        (u64::from(a) + u64::from(b)).checked_sub(2 * u64::from(self.shared(a, b)))
    }
}

fn saturated(value: u128) -> u32 {
    u32::try_from(value).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_is_the_decimal_it_is_written_as() {
        let ratio = |over, under| Some(Threshold::Ratio { over, under });
        assert_eq!(Threshold::new(0.6), ratio(6, 10));
        assert_eq!(Threshold::new(1.0), ratio(1, 1));
        assert_eq!(Threshold::new(0.025), ratio(25, 1000));
        assert_eq!(Threshold::new(1.0 / 3.0), ratio(3_333_333_333_333_333, 10_u128.pow(16)));
        assert_eq!(Threshold::new(1e-12), ratio(1, 10_u128.pow(12)));
        assert_eq!(Threshold::new(1.234_567_890_123_456_7e-12), ratio(12_345_678_901_234_567, 10_u128.pow(28)));
        assert_eq!(Threshold::new(5e-324), ratio(1, 10_u128.pow(12)));
        assert_eq!(Threshold::new(0.0), Some(Threshold::Every));
        assert_eq!(Threshold::new(f64::NEG_INFINITY), Some(Threshold::Every));
        assert_eq!(Threshold::new(1.0 + f64::EPSILON), Some(Threshold::Never));
        assert_eq!(Threshold::new(f64::INFINITY), Some(Threshold::Never));
        assert_eq!(Threshold::new(f64::NAN), None);
    }

    #[test]
    fn bounds_are_what_the_ratio_says() {
        for value in [0.3, 1.0 / 3.0, 0.5, 0.6, 2.0 / 3.0, 0.999, 1.0, 1e-9] {
            let Some(Threshold::Ratio { over, under }) = Threshold::new(value) else { panic!() };
            let bounds = Bounds::new(over, under, 40);
            for a in 1..=40 {
                for b in 1..=40 {
                    let reaches = |shared: u32| u128::from(shared) * under >= over * u128::from(a + b - shared);
                    let least = (0..=a.min(b)).find(|&shared| reaches(shared));
                    let possible = least.is_some();
                    assert_eq!(possible, bounds.smallest(a) <= b && b <= bounds.largest(a), "{value} {a} {b}");
                    if let Some(least) = least {
                        assert_eq!(bounds.shared(a, b), least, "{value} {a} {b}");
                        assert_eq!(bounds.apart(a, b), Some(u64::from(a + b - 2 * least)));
                    }
                }
            }
        }
    }

    #[test]
    fn the_largest_sizes_do_not_overflow() {
        let Some(Threshold::Ratio { over, under }) = Threshold::new(1.234_567_890_123_456_7e-12) else { panic!() };
        let bounds = Bounds::new(over, under, 1);
        assert_eq!(bounds.smallest(u32::MAX), 1);
        assert_eq!(bounds.largest(u32::MAX), u32::MAX);
    }
}
