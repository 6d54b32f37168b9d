//! Integers of any size in decimal, by divide and conquer.
//!
//! A number arrives as limbs of 32 bits. It is cut in two at a power of two, both halves are turned to decimal, and the
//! upper one is multiplied by that power in decimal limbs; with Karatsuba's multiplication a million digits take well
//! under a second instead of minutes.

use std::fmt::Write as _;

/// Nine decimal digits a limb.
const BASE: u64 = 1_000_000_000;

/// Below this many limbs a product is quicker by the school method.
const SCHOOL: usize = 40;

/// The decimal digits of the number whose limbs of 32 bits are given, lowest first.
#[must_use]
pub fn decimal(limbs: &[u32]) -> String {
    let mut powers = vec![vec![294_967_296, 4]]; // 2^32
    let mut size = 1;
    while size * 2 < limbs.len() {
        let last = &powers[powers.len() - 1];
        powers.push(multiply(last, last));
        size *= 2;
    }
    let digits = convert(limbs, &powers);
    let Some((top, rest)) = digits.split_last() else { return String::from("0") };
    let mut text = top.to_string();
    for limb in rest.iter().rev() {
        let _ = write!(text, "{limb:09}"); // Writing to a string cannot fail.
    }
    text
}

/// The decimal limbs of `limbs`; `powers[i]` is 2^32 to the power 2^i, up to half the number's length.
fn convert(limbs: &[u32], powers: &[Vec<u32>]) -> Vec<u32> {
    match limbs {
        [] => Vec::new(),
        [limb] => trim(vec![limb % 1_000_000_000, limb / 1_000_000_000]),
        _ => {
            let level = (limbs.len() - 1).ilog2() as usize;
            let (low, high) = limbs.split_at(1 << level);
            let mut sum = multiply(&convert(high, powers), &powers[level]);
            add(&mut sum, &convert(low, powers), 0);
            trim(sum)
        }
    }
}

/// Adds `term` times `BASE` to the power `shift` to `sum`.
fn add(sum: &mut Vec<u32>, term: &[u32], shift: usize) {
    if sum.len() < shift + term.len() {
        sum.resize(shift + term.len(), 0);
    }
    let mut carry = 0;
    for (index, digit) in sum.iter_mut().enumerate().skip(shift) {
        let here = term.get(index - shift).copied().unwrap_or(0);
        if index - shift >= term.len() && carry == 0 {
            break;
        }
        let total = u64::from(*digit) + u64::from(here) + carry;
        *digit = low(total);
        carry = total / BASE;
    }
    if carry > 0 {
        sum.push(low(carry));
    }
}

/// Takes `term` from `sum`, which is not smaller.
fn subtract(sum: &mut [u32], term: &[u32]) {
    let mut borrow = 0;
    for (index, digit) in sum.iter_mut().enumerate() {
        let take = u64::from(term.get(index).copied().unwrap_or(0)) + borrow;
        borrow = u64::from(u64::from(*digit) < take);
        *digit = low(u64::from(*digit) + borrow * BASE - take);
    }
}

/// The product, without leading zeros.
fn multiply(left: &[u32], right: &[u32]) -> Vec<u32> {
    let (short, long) = if left.len() < right.len() { (left, right) } else { (right, left) };
    if short.len() < SCHOOL {
        return school(short, long);
    }
    let half = long.len() / 2;
    if short.len() <= half {
        let mut product = multiply(short, &long[..half]);
        add(&mut product, &multiply(short, &long[half..]), half);
        return trim(product);
    }
    let ((a, b), (c, d)) = (short.split_at(half), long.split_at(half));
    let (low, high) = (multiply(a, c), multiply(b, d));
    let (mut left, mut right) = (a.to_vec(), c.to_vec());
    add(&mut left, b, 0);
    add(&mut right, d, 0);
    let mut middle = multiply(&left, &right);
    subtract(&mut middle, &low);
    subtract(&mut middle, &high);
    let mut product = low;
    add(&mut product, &trim(middle), half);
    add(&mut product, &high, 2 * half);
    trim(product)
}

fn school(left: &[u32], right: &[u32]) -> Vec<u32> {
    let mut product = vec![0; left.len() + right.len()];
    for (shift, &factor) in left.iter().enumerate() {
        let mut carry = 0;
        for (index, digit) in product.iter_mut().enumerate().skip(shift) {
            let Some(&other) = right.get(index - shift) else {
                *digit = low(carry); // Nothing has been written this far up yet.
                break;
            };
            let total = u64::from(*digit) + u64::from(factor) * u64::from(other) + carry;
            *digit = low(total);
            carry = total / BASE;
        }
    }
    trim(product)
}

fn trim(mut limbs: Vec<u32>) -> Vec<u32> {
    let length = limbs.iter().rposition(|&limb| limb != 0).map_or(0, |last| last + 1);
    limbs.truncate(length);
    limbs
}

/// The lowest decimal limb of a total; the remainder of a division by `BASE` always fits.
#[allow(clippy::cast_possible_truncation)]
fn low(total: u64) -> u32 {
    (total % BASE) as u32
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn small_numbers_are_themselves() {
        assert_eq!(decimal(&[]), "0");
        assert_eq!(decimal(&[0, 0]), "0");
        for value in
            [1, 9, 999_999_999, 1_000_000_000, u64::from(u32::MAX), 1 << 32, u64::MAX, 10_000_000_000_000_000_000]
        {
            let limbs = [(value & 0xFFFF_FFFF) as u32, (value >> 32) as u32];
            assert_eq!(decimal(&limbs), value.to_string());
        }
    }

    #[test]
    fn powers_of_two_agree_with_doubling() {
        let mut digits = vec![1_u8]; // Lowest first.
        for exponent in 0..20_000_usize {
            if exponent % 997 == 0 || exponent.is_power_of_two() {
                let mut limbs = vec![0; exponent / 32];
                limbs.push(1 << (exponent % 32));
                let expected: String = digits.iter().rev().map(|digit| char::from(b'0' + digit)).collect();
                assert_eq!(decimal(&limbs), expected, "2^{exponent}");
            }
            let mut carry = 0;
            for digit in &mut digits {
                let twice = *digit * 2 + carry;
                (*digit, carry) = (twice % 10, twice / 10);
            }
            if carry > 0 {
                digits.push(carry);
            }
        }
    }

    #[test]
    fn karatsuba_agrees_with_the_school_method() {
        let mut seed = 7_u64;
        let mut number = |length: usize| -> Vec<u32> {
            (0..length)
                .map(|_| {
                    seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                    if seed >> 60 == 0 { 0 } else { low(seed >> 20) }
                })
                .collect()
        };
        for (left, right) in [(40, 40), (41, 80), (100, 333), (257, 255), (40, 900)] {
            let (left, right) = (number(left), number(right));
            assert_eq!(multiply(&left, &right), school(&left, &right));
        }
    }
}
