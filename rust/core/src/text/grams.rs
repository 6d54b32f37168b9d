//! The trigrams of a text as strings (spec/text.md section 6); [`crate::trigram`] counts them where speed matters.

use crate::normal::nfc;
use crate::unicode::{lower, split};

/// Every distinct window of three characters of the text in NFC, lower case, white space collapsed; a shorter text is its
/// own one trigram, an empty one has none.
#[must_use]
pub fn trigrams(body: &str) -> Vec<String> {
    let lowered = lower(&nfc(body));
    let text = split(&lowered).collect::<Vec<_>>().join(" ");
    let mut places: Vec<usize> = text.char_indices().map(|(at, _)| at).collect();
    places.push(text.len());
    let mut grams: Vec<String> = match places.len() {
        1 => Vec::new(),
        2 | 3 => vec![text],
        _ => places.windows(4).map(|window| text[window[0]..window[3]].to_owned()).collect(),
    };
    grams.sort_unstable();
    grams.dedup();
    grams
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_short_text_is_its_own_trigram() {
        assert!(trigrams(" \u{1c}").is_empty());
        assert_eq!(trigrams("É"), ["é"]);
        assert_eq!(trigrams("A  b"), ["a b"]);
        assert_eq!(trigrams("aaaa b"), ["a b", "aa ", "aaa"]);
    }
}
