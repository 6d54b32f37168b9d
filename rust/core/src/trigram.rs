//! Character trigrams, and how many of them two texts share (spec/text.md section 6).

use crate::normal::nfc;
use crate::unicode::{is_space, lower_into};

/// Bits of a character in a key.
const BITS: u32 = 21;

/// Marks the key of a text shorter than three characters: three characters take 63 bits, so no window has it.
const SHORT: u64 = 1 << 63;

/// Brings texts into the form that is cut into windows, keeping its memory from one text to the next.
#[derive(Debug, Default)]
pub struct Preparer {
    lowered: String,
    points: Vec<u32>,
}

impl Preparer {
    /// The code points of the text in NFC and lower case, with one space for every run of white space between words and
    /// none at the ends.
    pub fn prepare(&mut self, text: &str) -> &[u32] {
        self.points.clear();
        if text.is_ascii() {
            let is_space = |byte| matches!(byte, b'\t'..=b'\r' | 0x1C..=b' ');
            self.collapse(text.bytes().map(|byte| (!is_space(byte)).then(|| u32::from(byte.to_ascii_lowercase()))));
        } else {
            let mut lowered = std::mem::take(&mut self.lowered);
            lowered.clear();
            lower_into(&nfc(text), &mut lowered);
            self.collapse(lowered.chars().map(|c| (!is_space(c)).then(|| u32::from(c))));
            self.lowered = lowered;
        }
        &self.points
    }

    /// Takes code points, white space being `None`.
    fn collapse(&mut self, points: impl Iterator<Item = Option<u32>>) {
        let mut apart = false;
        for point in points {
            if let Some(point) = point {
                if apart && !self.points.is_empty() {
                    self.points.push(u32::from(' '));
                }
                self.points.push(point);
            }
            apart = point.is_none();
        }
    }
}

/// The key of each window of three code points, in their order and with repetitions. A shorter text has one key, which is
/// no window's; an empty one has none.
pub fn keys(points: &[u32]) -> impl Iterator<Item = u64> + '_ {
    let short = match *points {
        [one] => Some(SHORT | u64::from(one)),
        [one, two] => Some(SHORT | (u64::from(one) + 1) << BITS | u64::from(two)),
        _ => None,
    };
    let windows = points.windows(3).map(|window| window.iter().fold(0, |key, &point| key << BITS | u64::from(point)));
    short.into_iter().chain(windows)
}

/// How many trigrams two texts share, and how many they have together.
#[must_use]
pub fn overlap(a: &str, b: &str) -> (u64, u64) {
    let mut preparer = Preparer::default();
    let [a, b] = [a, b].map(|text| {
        let mut set: Vec<u64> = keys(preparer.prepare(text)).collect();
        set.sort_unstable();
        set.dedup();
        set
    });
    let (mut i, mut j, mut shared) = (0, 0, 0);
    while let (Some(x), Some(y)) = (a.get(i), b.get(j)) {
        shared += u64::from(x == y);
        i += usize::from(x <= y);
        j += usize::from(y <= x);
    }
    (shared, (a.len() + b.len()) as u64 - shared)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn prepared(text: &str) -> String {
        Preparer::default().prepare(text).iter().map(|&point| char::from_u32(point).unwrap()).collect()
    }

    #[test]
    fn the_examples_of_the_specification_hold() {
        assert_eq!(overlap("abc", "abcd"), (1, 2));
        assert_eq!(overlap("aaa", "aaaa"), (1, 1));
        assert_eq!(overlap("ab", "abc"), (0, 2));
        assert_eq!(overlap("", ""), (0, 0));
        assert_eq!(overlap("", "a"), (0, 1));
    }

    #[test]
    fn text_is_normalised_lowered_and_collapsed() {
        assert_eq!(prepared("\t The\u{1C}\u{1F} Cache \r\n"), "the cache");
        assert_eq!(prepared("\u{3000}ΟΔΟΣ\u{A0}\u{2003}İ e\u{301}\u{85}"), "οδος i\u{307} é");
        assert_eq!(prepared(" \n\t"), "");
        // U+200B and U+180E are no white space, U+FEFF neither.
        assert_eq!(prepared("a\u{200B}b\u{180E}c\u{FEFF}"), "a\u{200B}b\u{180E}c\u{FEFF}");
    }

    #[test]
    fn a_short_text_is_equal_to_itself_alone() {
        let all =
            ["a", "b", "ab", "ba", "aa", "\0", "\0\0", "\0a", "\u{10FFFF}", "\u{10FFFF}\u{10FFFF}", "\0\0\0", "abc"];
        for (i, a) in all.iter().enumerate() {
            for (j, b) in all.iter().enumerate() {
                assert_eq!(overlap(a, b), if i == j { (1, 1) } else { (0, 2) }, "{a:?} {b:?}");
            }
        }
    }
}
