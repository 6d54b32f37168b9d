//! The frozen Unicode version of normalisation, and what later versions added to it.
//!
//! Ids are hashes of normalised text, so they must not depend on which Unicode version a program happens to have. The rule
//! is NFC of Unicode 14.0. Later versions never change how characters of 14.0 normalise, but they add characters that
//! combine, decompose or compose. Under the rule those are inert: they stay as they are, and nothing moves or composes
//! across them. The same table stands in `kernel/reference/unicode14.py`; a test compares the two.

/// The Unicode version whose NFC is the rule.
pub const NFC_VERSION: &str = "14.0.0";

/// The Unicode version up to which [`INERT`] is complete; the tables in use must not be newer.
pub const COVERED: (u8, u8, u8) = (18, 0, 0);

/// Inclusive ranges of the code points unassigned in 14.0 that have a combining class, a canonical decomposition or a part
/// in a canonical composition in a later version.
#[rustfmt::skip]
pub const INERT: &[(u32, u32)] = &[
    (0x005C8, 0x005C9), (0x00897, 0x00897), (0x01ACF, 0x01AF0), (0x105C9, 0x105C9), (0x105D2, 0x105D2),
    (0x105DA, 0x105DA), (0x105E4, 0x105E4), (0x10D69, 0x10D6D), (0x10ECB, 0x10ECF), (0x10EF0, 0x10EFB),
    (0x10EFD, 0x10EFF), (0x11382, 0x11385), (0x1138B, 0x1138B), (0x1138E, 0x1138E), (0x11390, 0x11391),
    (0x113B8, 0x113B8), (0x113BB, 0x113BB), (0x113C2, 0x113C2), (0x113C5, 0x113C5), (0x113C7, 0x113C9),
    (0x113CE, 0x113D0), (0x11F41, 0x11F42), (0x1611E, 0x16129), (0x1612F, 0x1612F), (0x16D63, 0x16D63),
    (0x16D67, 0x16D6A), (0x1D127, 0x1D128), (0x1D250, 0x1D252), (0x1D25B, 0x1D25C), (0x1D25F, 0x1D25F),
    (0x1D280, 0x1D281), (0x1E08F, 0x1E08F), (0x1E4EC, 0x1E4EF), (0x1E5EE, 0x1E5EF), (0x1E6E3, 0x1E6E3),
    (0x1E6E6, 0x1E6E6), (0x1E6EE, 0x1E6EF), (0x1E6F5, 0x1E6F5),
];

/// Whether normalisation leaves `c` alone although the tables in use would not.
#[must_use]
pub fn is_inert(c: char) -> bool {
    let point = u32::from(c);
    let next = INERT.partition_point(|&(_, last)| last < point);
    INERT.get(next).is_some_and(|&(first, _)| first <= point)
}

#[cfg(test)]
mod tests {
    use super::*;
    use unicode_normalization::char::{canonical_combining_class, decompose_canonical};

    #[test]
    fn the_table_covers_the_version_in_use() {
        assert_eq!(unicode_normalization::UNICODE_VERSION, COVERED);
    }

    #[test]
    fn the_table_is_sorted_and_disjoint() {
        assert!(INERT.iter().all(|(first, last)| first <= last));
        assert!(INERT.windows(2).all(|pair| pair[0].1 + 1 < pair[1].0));
    }

    #[test]
    fn every_entry_needs_to_be_there() {
        let mut parts = std::collections::BTreeSet::new();
        for c in '\0'..=char::MAX {
            let mut whole = Vec::new();
            decompose_canonical(c, |part| whole.push(part));
            if canonical_combining_class(c) != 0 {
                parts.insert(c);
            }
            if whole != [c] {
                parts.insert(c);
                parts.extend(whole);
            }
        }
        for &(first, last) in INERT {
            for point in first..=last {
                assert!(parts.contains(&char::from_u32(point).unwrap()), "{point:X}");
            }
        }
    }
}
