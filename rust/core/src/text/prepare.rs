//! One spelling for what is one character to a reader (spec/text.md section 2).

use std::borrow::Cow;

use crate::normal::nfc;
use crate::unicode;

/// NFC, with apostrophes, dashes and full-width operators unified and invisible characters removed.
#[must_use]
pub fn prepare(body: &str) -> Cow<'_, str> {
    if body.is_ascii() {
        return Cow::Borrowed(body);
    }
    let normal = nfc(body);
    if normal.chars().all(|c| unified(c) == Some(c)) {
        return normal;
    }
    let one: String = normal.chars().filter_map(unified).collect();
    Cow::Owned(nfc(&one).into_owned())
}

/// The one shape of a character; nothing for one that is no character to a reader.
fn unified(c: char) -> Option<char> {
    if c < '\u{ad}' {
        return Some(c);
    }
    Some(match c {
        '\u{2019}' | '\u{2bc}' | '\u{ff07}' => '\'',
        '\u{2010}'..='\u{2013}' | '\u{2212}' | '\u{fe63}' | '\u{ff0d}' => '-',
        '＋' => '+',
        '＃' => '#',
        '／' => '/',
        '＠' => '@',
        '＆' => '&',
        '！' => '!',
        '＝' => '=',
        '＜' => '<',
        '＞' => '>',
        '％' => '%',
        '＄' => '$',
        '＊' => '*',
        '＿' => '_',
        '？' | '\u{61f}' | '\u{2047}' | '\u{2048}' | '\u{2049}' | '\u{203d}' => '?',
        '\u{ad}'
        | '\u{200c}'..='\u{200f}'
        | '\u{202a}'..='\u{202e}'
        | '\u{2060}'
        | '\u{2066}'..='\u{2069}'
        | '\u{fe0e}'
        | '\u{fe0f}'
        | '\u{feff}' => return None,
        _ => c,
    })
}

/// Appends the full case folding, in NFC.
pub fn fold_into(text: &str, out: &mut String) {
    if text.is_ascii() {
        unicode::fold_into(text, out);
    } else {
        out.push_str(&nfc(&unicode::fold(text)));
    }
}

/// The full case folding, in NFC.
#[must_use]
pub fn fold(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    fold_into(text, &mut out);
    out
}

/// Appends the text lower-cased letter by letter, one for one: no two spellings become equal, as `ß` and `ss` do folded.
pub fn lower_into(text: &str, out: &mut String) {
    if text.is_ascii() {
        unicode::lower_into(text, out);
        return;
    }
    out.extend(text.chars().map(|c| match unicode::lower_char(c) {
        'ς' => 'σ',
        small => small,
    }));
}

/// The text lower-cased letter by letter.
#[must_use]
pub fn lower(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    lower_into(text, &mut out);
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_is_unified_and_still_normal() {
        assert_eq!(prepare("It’s ５＋５ – ok？"), "It's ５+５ - ok?");
        assert_eq!(prepare("e\u{200d}\u{301}"), "é");
        assert!(matches!(prepare("née"), Cow::Borrowed(_)));
    }

    #[test]
    fn no_spelling_becomes_another_in_lower_case() {
        assert_eq!(lower("İSTANBUL ẞ ΟΔΟΣ ος"), "İstanbul ß οδοσ οσ");
        assert_eq!(fold("Maße Å"), "masse å");
    }
}
