//! What text is asked of its characters, as Unicode 14.0 answers it (spec/text.md sections 1 and 3).
//!
//! Characters that 14.0 does not assign are symbols without case, whatever later versions say of them, so every build and
//! every interpreter reads a text alike. `tables.rs` is made by `rust/core/tables.py`. The mappings and properties are those
//! of Python's `str` methods: [`lower`] is `str.lower`, [`split`] is `str.split`, [`lines`] is `str.splitlines`.

mod tables;

use tables::{FOLD, FOLD_LONG, LOWER, PAGE, PAGES, RECORDS, STAGE};

/// What the tables hold for one character.
#[derive(Clone, Copy)]
struct Record {
    class: u8,
    bits: u16,
}

/// The bits of a record, in the order of `FLAGS` in `tables.py`.
struct Bits;

impl Bits {
    const UPPER_OR_TITLE: u16 = 1;
    const LOWER_LETTER: u16 = 1 << 1;
    const NUMBER: u16 = 1 << 2;
    const DECIMAL: u16 = 1 << 3;
    const DIGIT: u16 = 1 << 4;
    const ALNUM: u16 = 1 << 5;
    const SPACE: u16 = 1 << 6;
    const LINE_END: u16 = 1 << 7;
    const LOWERCASE: u16 = 1 << 8;
    const UPPERCASE: u16 = 1 << 9;
    const CASED: u16 = 1 << 10;
    const IGNORABLE: u16 = 1 << 11;
    const LOWERS: u16 = 1 << 12;
    const FOLDS: u16 = 1 << 13;
    const ASSIGNED: u16 = 1 << 14;
}

fn record(c: char) -> Record {
    let point = c as usize;
    let page = usize::from(STAGE[point / PAGE]);
    RECORDS[usize::from(PAGES[page * PAGE + point % PAGE])]
}

fn has(c: char, bits: u16) -> bool {
    record(c).bits & bits != 0
}

/// The class letter of a character of a prepared text, as section 3 of the specification lists them; an ASCII byte.
#[must_use]
pub fn class(c: char) -> u8 {
    record(c).class
}

/// General category Lu or Lt: a capital.
#[must_use]
pub fn is_capital(c: char) -> bool {
    if c.is_ascii() { c.is_ascii_uppercase() } else { has(c, Bits::UPPER_OR_TITLE) }
}

/// General category Ll.
#[must_use]
pub fn is_lower_letter(c: char) -> bool {
    if c.is_ascii() { c.is_ascii_lowercase() } else { has(c, Bits::LOWER_LETTER) }
}

/// General category Nd, Nl or No.
#[must_use]
pub fn is_number(c: char) -> bool {
    if c.is_ascii() { c.is_ascii_digit() } else { has(c, Bits::NUMBER) }
}

/// General category Nd, as `str.isdecimal` and `\d` in an expression.
#[must_use]
pub fn is_decimal(c: char) -> bool {
    if c.is_ascii() { c.is_ascii_digit() } else { has(c, Bits::DECIMAL) }
}

/// As `str.isdigit`: also superscripts and circled digits.
#[must_use]
pub fn is_digit(c: char) -> bool {
    if c.is_ascii() { c.is_ascii_digit() } else { has(c, Bits::DIGIT) }
}

/// As `str.isalnum`: letters and numbers of any kind, no marks.
#[must_use]
pub fn is_alnum(c: char) -> bool {
    if c.is_ascii() { c.is_ascii_alphanumeric() } else { has(c, Bits::ALNUM) }
}

/// As `str.isspace`, `str.split` and `\s`: U+001C to U+001F too.
#[must_use]
pub fn is_space(c: char) -> bool {
    has(c, Bits::SPACE)
}

/// Where `str.splitlines` cuts.
#[must_use]
pub fn is_line_end(c: char) -> bool {
    has(c, Bits::LINE_END)
}

/// The property Lowercase, as `str.islower`.
#[must_use]
pub fn is_lowercase(c: char) -> bool {
    if c.is_ascii() { c.is_ascii_lowercase() } else { has(c, Bits::LOWERCASE) }
}

/// The property Uppercase, as `str.isupper` of one character.
#[must_use]
pub fn is_uppercase(c: char) -> bool {
    if c.is_ascii() { c.is_ascii_uppercase() } else { has(c, Bits::UPPERCASE) }
}

/// As `str.isupper`: something upper-case, nothing lower- or title-case.
#[must_use]
pub fn is_all_upper(text: &str) -> bool {
    let title = |c| is_capital(c) && !is_uppercase(c);
    text.chars().any(is_uppercase) && !text.chars().any(|c| is_lowercase(c) || title(c))
}

/// Whether Unicode 14.0 assigns the code point.
#[must_use]
pub fn is_assigned(c: char) -> bool {
    has(c, Bits::ASSIGNED)
}

/// The lower-case form of one character where that is one character, else the character itself.
#[must_use]
pub fn lower_char(c: char) -> char {
    if c.is_ascii() {
        return c.to_ascii_lowercase();
    }
    if has(c, Bits::LOWERS) { mapped(&LOWER, c).unwrap_or(c) } else { c }
}

/// Appends the text in lower case, exactly as `str.lower`: `Σ` is `ς` at the end of a word, `İ` becomes two characters.
pub fn lower_into(text: &str, out: &mut String) {
    if text.is_ascii() {
        push_ascii_lower(text, out);
        return;
    }
    for (at, c) in text.char_indices() {
        match c {
            'Σ' => out.push(if ends_word(text, at) { 'ς' } else { 'σ' }),
            'İ' => out.push_str("i\u{307}"),
            _ => out.push(lower_char(c)),
        }
    }
}

/// The text in lower case, exactly as `str.lower`.
#[must_use]
pub fn lower(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    lower_into(text, &mut out);
    out
}

/// Whether the sigma at byte `at` ends a word: what has case stands before it and not after it, ignorable marks aside.
fn ends_word(text: &str, at: usize) -> bool {
    let cased = |c: Option<char>| c.is_some_and(|c| has(c, Bits::CASED));
    let counts = |c: &char| !has(*c, Bits::IGNORABLE);
    cased(text[..at].chars().rev().find(counts)) && !cased(text[at + 'Σ'.len_utf8()..].chars().find(counts))
}

/// Appends the full case folding, exactly as `str.casefold`; the result need not be in NFC.
pub fn fold_into(text: &str, out: &mut String) {
    if text.is_ascii() {
        push_ascii_lower(text, out);
        return;
    }
    for c in text.chars() {
        if c.is_ascii() {
            out.push(c.to_ascii_lowercase());
        } else if !has(c, Bits::FOLDS) {
            out.push(c);
        } else if let Some(folded) = mapped(&FOLD, c) {
            out.push(folded);
        } else if let Ok(at) = FOLD_LONG.binary_search_by_key(&u32::from(c), |&(point, _)| point) {
            out.push_str(FOLD_LONG[at].1);
        }
    }
}

/// The full case folding, exactly as `str.casefold`.
#[must_use]
pub fn fold(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    fold_into(text, &mut out);
    out
}

/// The pieces between white space, as `str.split` without arguments; none is empty.
pub fn split(text: &str) -> impl DoubleEndedIterator<Item = &str> {
    text.split(is_space).filter(|piece| !piece.is_empty())
}

/// The text without white space at its ends, as `str.strip`.
#[must_use]
pub fn trim(text: &str) -> &str {
    text.trim_matches(is_space)
}

/// The lines without their ends, as `str.splitlines`: `\r\n` is one end, and nothing follows the last.
pub fn lines(text: &str) -> impl Iterator<Item = &str> {
    let mut rest = text;
    std::iter::from_fn(move || {
        if rest.is_empty() {
            return None;
        }
        let Some((at, end)) = rest.char_indices().find(|&(_, c)| is_line_end(c)) else {
            return Some(std::mem::take(&mut rest));
        };
        let line = &rest[..at];
        let tail = &rest[at..];
        rest = tail.strip_prefix("\r\n").unwrap_or(&tail[end.len_utf8()..]);
        Some(line)
    })
}

fn push_ascii_lower(text: &str, out: &mut String) {
    let start = out.len();
    out.push_str(text);
    out[start..].make_ascii_lowercase();
}

fn mapped(table: &[(u32, u32)], c: char) -> Option<char> {
    let at = table.binary_search_by_key(&u32::from(c), |&(point, _)| point).ok()?;
    char::from_u32(table[at].1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lower_case_knows_the_final_sigma_and_the_dotted_i() {
        for (text, lowered) in [
            ("ΟΔΟΣ", "οδος"),
            ("ΟΔΟΣ ΣΑΣ", "οδος σας"),
            ("Σ", "σ"),
            ("Α.Σ", "α.ς"),
            ("ΑΣ.Α", "ασ.α"),
            ("ΑΣ\u{301}", "ας\u{301}"),
            ("İX", "i\u{307}x"),
            ("ẞ", "ß"),
            ("PORT 8443", "port 8443"),
        ] {
            assert_eq!(lower(text), lowered, "{text}");
        }
    }

    #[test]
    fn folding_is_full() {
        assert_eq!(fold("Maße ŉ ΐ ſ K İ"), "masse ʼn ι\u{308}\u{301} s k i\u{307}");
        assert_eq!(fold("ς Σ Ꭰ ꭰ"), "σ σ Ꭰ Ꭰ");
    }

    #[test]
    fn what_later_versions_assign_has_no_case_and_is_a_symbol() {
        for c in ['\u{A7DA}', '\u{1C89}', '\u{10D50}', '\u{1FAE9}'] {
            assert!(!is_assigned(c));
            assert_eq!(class(c), b's');
            assert_eq!(lower(&c.to_string()), c.to_string());
            assert_eq!(fold(&c.to_string()), c.to_string());
            assert!(!is_capital(c) && !is_alnum(c) && !is_space(c));
        }
    }

    #[test]
    fn white_space_and_lines_are_those_of_python() {
        assert_eq!(split(" a\u{1c}b\u{a0}\u{2003}c\u{200b}d ").collect::<Vec<_>>(), ["a", "b", "c\u{200b}d"]);
        assert_eq!(lines("a\r\nb\rc\n\nd\u{85}e\u{2028}").collect::<Vec<_>>(), ["a", "b", "c", "", "d", "e"]);
        assert_eq!(lines("").count(), 0);
        assert_eq!(trim("\u{1f}a b\u{3000}"), "a b");
    }

    #[test]
    fn the_shortcuts_for_ascii_say_what_the_tables_say() {
        for c in '\0'..='\u{7f}' {
            assert_eq!(is_capital(c), has(c, Bits::UPPER_OR_TITLE));
            assert_eq!(is_lower_letter(c), has(c, Bits::LOWER_LETTER));
            assert_eq!(is_number(c), has(c, Bits::NUMBER));
            assert_eq!(is_decimal(c), has(c, Bits::DECIMAL));
            assert_eq!(is_digit(c), has(c, Bits::DIGIT));
            assert_eq!(is_alnum(c), has(c, Bits::ALNUM));
            assert_eq!(is_lowercase(c), has(c, Bits::LOWERCASE));
            assert_eq!(is_uppercase(c), has(c, Bits::UPPERCASE));
            assert_eq!(Some(lower_char(c)), Some(mapped(&LOWER, c).unwrap_or(c)));
        }
    }

    #[test]
    fn most_characters_agree_with_the_newer_tables_of_the_standard_library() {
        for c in ('\0'..=char::MAX).filter(|&c| is_assigned(c)) {
            let alone: String = c.to_lowercase().collect();
            assert_eq!(lower(&c.to_string()), alone);
            if !matches!(c, '\u{1c}'..='\u{1f}') {
                assert_eq!(is_space(c), c.is_whitespace(), "{c:?}");
            }
        }
    }
}
