//! Text as it is searched, and words without their marks (spec/recall.md sections 2.2 and 2.3).

use std::borrow::Cow;

use unicode_normalization::UnicodeNormalization;

use super::classes::{class_of, is_accent};
use crate::unicode;

/// Folds text: NFKC, casefolded, without invisible characters and the commas inside numbers.
#[must_use]
pub fn fold(text: &str) -> String {
    let mut folded = if text.is_ascii() {
        text.to_ascii_lowercase()
    } else {
        let known: String = text.chars().filter_map(known).nfkc().collect();
        unicode::fold(&known).nfkc().collect()
    };
    if folded.as_bytes().contains(&b',') {
        ungroup(&mut folded);
    }
    folded
}

/// What a character is read as: nothing for an invisible one.
fn known(c: char) -> Option<char> {
    Some(match c {
        _ if c.is_ascii() => c,
        '\u{2019}' | '\u{2BC}' | '\u{FF07}' => '\'',
        '\u{2010}'..='\u{2013}' | '\u{2212}' | '\u{FE63}' | '\u{FF0D}' => '-',
        _ if class_of(c) == b'x' => ' ',
        _ if is_invisible(c) => return None,
        _ => c,
    })
}

fn is_invisible(c: char) -> bool {
    matches!(c,
        '\u{AD}' | '\u{34F}' | '\u{61C}' | '\u{640}' | '\u{180B}'..='\u{180F}' | '\u{200C}'..='\u{200F}'
        | '\u{202A}'..='\u{202E}' | '\u{2060}'..='\u{2064}' | '\u{2066}'..='\u{206F}' | '\u{FE00}'..='\u{FE0F}'
        | '\u{FEFF}' | '\u{E0100}'..='\u{E01EF}')
}

/// Takes the commas out of numbers such as `1,000`.
fn ungroup(text: &mut String) {
    let bytes = text.as_bytes();
    let digits = |from: usize| bytes[from..].iter().take_while(|byte| byte.is_ascii_digit()).count();
    let mut commas = Vec::new();
    let mut at = 0;
    while at < bytes.len() {
        let run = digits(at);
        if run == 0 {
            at += 1;
            continue;
        }
        let begins = at == 0 || !matches!(bytes[at - 1], b'0'..=b'9' | b'A'..=b'Z' | b'a'..=b'z' | b',' | b'.');
        let mut end = at + run;
        if begins && run <= 3 {
            let first = commas.len();
            while bytes.get(end) == Some(&b',') && digits(end + 1) == 3 {
                commas.push(end);
                end += 4;
            }
            // What follows must be no letter or digit and no further group; a longer group of digits is one.
            let next = bytes.get(end).copied().unwrap_or(b' ');
            let more = next == b',' && bytes.get(end + 1).is_some_and(u8::is_ascii_digit);
            if next.is_ascii_alphanumeric() || more {
                commas.truncate(first);
            }
        }
        at = end;
    }
    if !commas.is_empty() {
        let mut place = 0;
        let mut next = commas.iter().copied().peekable();
        text.retain(|c| {
            let keep = next.next_if_eq(&place).is_none();
            place += c.len_utf8();
            keep
        });
    }
}

/// The word in NFC without accents, vowel points and tones.
#[must_use]
pub fn strip(word: &str) -> Cow<'_, str> {
    if word.is_ascii() {
        return Cow::Borrowed(word);
    }
    Cow::Owned(word.nfd().filter(|c| !is_accent(*c)).nfc().collect())
}

/// The first characters of a text, as many as `most`.
#[must_use]
pub fn beginning(text: &str, most: usize) -> &str {
    if text.len() <= most {
        return text;
    }
    text.char_indices().nth(most).map_or(text, |(end, _)| &text[..end])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn folding_reads_what_is_written_alike_alike() {
        for (text, folded) in [
            ("STRASSE Straße", "strasse strasse"),
            ("O\u{2019}Neil \u{2212}5", "o'neil -5"),
            ("ﬁne ①", "fine 1"),
            ("soft\u{AD}ware", "software"),
            ("a\u{1fae9}b", "a b"),
            ("12,000 1,234,567", "12000 1234567"),
            ("1,2345 1,234,5 1234,567 a1,234 1,234b .1,234", "1,2345 1,234,5 1234,567 a1,234 1,234b .1,234"),
            ("1,234,", "1234,"),
        ] {
            assert_eq!(fold(text), folded, "{text}");
        }
    }

    #[test]
    fn accents_go_and_letters_stay() {
        for (word, bare) in [("café", "cafe"), ("が", "が"), ("שָׁלוֹם", "שלום"), ("plain", "plain")] {
            assert_eq!(strip(word), bare);
        }
    }
}
