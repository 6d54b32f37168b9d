//! Normalisation of text: NFC as Unicode 14.0 defines it, whatever the tables in use (see [`crate::unicode14`]).

use std::borrow::Cow;

use unicode_normalization::{IsNormalized, UnicodeNormalization, is_nfc_quick};

use crate::unicode14::is_inert;

/// The Unicode version of the tables in use, such as `17.0.0`.
#[must_use]
pub fn tables_version() -> String {
    let (major, minor, patch) = unicode_normalization::UNICODE_VERSION;
    format!("{major}.{minor}.{patch}")
}

/// The text in NFC; borrowed when it already is.
#[must_use]
pub fn nfc(text: &str) -> Cow<'_, str> {
    // Below U+0300, the first byte of whose encoding is 0xCC, nothing combines and nothing decomposes differently.
    if text.is_ascii() || text.bytes().fold(0, u8::max) < 0xCC || text.chars().all(is_plain) {
        return Cow::Borrowed(text);
    }
    // A text that the newer tables call normalised is so under the frozen rule too: an inert character counts as a starter
    // there, which only lifts restrictions on the order of marks, and all other properties are the same in both.
    if is_nfc_quick(text.chars()) == IsNormalized::Yes {
        return Cow::Borrowed(text);
    }
    let normal = split_and_normalise(text);
    if normal == text { Cow::Borrowed(text) } else { Cow::Owned(normal) }
}

/// Starters in blocks that neither decompose nor take part in a composition as a second part: most of the text there is.
fn is_plain(c: char) -> bool {
    matches!(c, '\0'..='\u{2FF}' | '\u{400}'..='\u{482}' | '\u{3041}'..='\u{3098}' | '\u{4E00}'..='\u{9FFF}' | '\u{AC00}'..='\u{D7A3}')
}

/// An inert character is a starter that composes with nothing, so the text between two of them normalises on its own.
fn split_and_normalise(text: &str) -> String {
    let mut normal = String::with_capacity(text.len());
    let mut from = 0;
    for (at, c) in text.char_indices().filter(|&(_, c)| is_inert(c)) {
        normal.extend(text[from..at].nfc());
        normal.push(c);
        from = at + c.len_utf8();
    }
    normal.extend(text[from..].nfc());
    normal
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn plain_characters_are_what_the_full_check_says() {
        for c in ('\0'..=char::MAX).filter(|&c| is_plain(c)) {
            let text = c.to_string();
            assert_eq!(is_nfc_quick(text.chars()), IsNormalized::Yes, "{c:?}");
            assert_eq!(unicode_normalization::char::canonical_combining_class(c), 0, "{c:?}");
        }
    }

    #[test]
    fn text_composes_and_unchanged_text_is_borrowed() {
        assert_eq!(nfc("e\u{301}"), "é");
        assert_eq!(nfc("\u{1100}\u{1161}\u{11A8}"), "각");
        assert_eq!(nfc("\u{2126}"), "Ω");
        for text in ["", "plain", "é", "naïve – “quoted”", "漢字かな", "Привет", "각", "🎉", "q\u{301}"]
        {
            assert!(matches!(nfc(text), Cow::Borrowed(_)), "{text}");
        }
    }

    #[test]
    fn marks_newer_than_the_rule_stay_where_they_are() {
        // U+1ACF combines (230) in later versions; in 14.0 it is a starter, so nothing moves or composes across it.
        assert_eq!(nfc("e\u{1ACF}\u{301}"), "e\u{1ACF}\u{301}");
        assert_eq!(nfc("e\u{301}\u{1ACF}e\u{301}"), "é\u{1ACF}é");
        // U+105D2 U+0307 composes to U+105C9 in later versions.
        assert_eq!(nfc("\u{105D2}\u{307}"), "\u{105D2}\u{307}");
        assert_eq!(nfc("\u{105C9}"), "\u{105C9}");
    }
}
