//! Who says a text, and what kind of text it is (spec/recall.md sections 4.1 and 4.3).

use super::classes::class_of;
use super::fold::beginning;
use crate::unicode;

const LONGEST_NAME: usize = 40;
const MOST_WORDS: usize = 3;
const BLANKS: [char; 4] = [' ', '\t', '\r', '\n'];

/// The name before a leading colon, when it looks like one; else nothing.
#[must_use]
pub fn leading_name(body: &str) -> Option<&str> {
    let text = body.trim_start_matches(BLANKS);
    // A name is short, so that a long text without a colon is not read to its end.
    let text = beginning(text, LONGEST_NAME + 2);
    let is_word = |c: char| !BLANKS.contains(&c) && c != ':' && c != '：';
    let mut end = 0;
    for _ in 0..MOST_WORDS {
        let word = text[end..].find(|c| !is_word(c)).unwrap_or(text.len() - end);
        if word == 0 {
            return None;
        }
        end += word;
        let rest = &text[end..];
        let closed = rest.starts_with('：') || rest.strip_prefix(':').is_some_and(|rest| rest.starts_with(BLANKS));
        if closed {
            let name = &text[..end];
            let is_name = name.split(' ').all(|word| word.starts_with(begins_a_name));
            let is_short = name.chars().count() <= LONGEST_NAME;
            return (is_short && (is_name || matches!(name, "user" | "assistant" | "system"))).then_some(name);
        }
        if !rest.starts_with(' ') {
            return None;
        }
        end += 1;
    }
    None
}

/// Whether a character is a capital, or a letter of a script that has none.
fn begins_a_name(first: char) -> bool {
    if !matches!(class_of(first), b'l' | b'u') {
        return false;
    }
    if matches!(first, '\u{10D0}'..='\u{10FF}') {
        return true;
    }
    // A capital that was assigned later than Unicode 14.0 is none.
    let mut upper = first.to_uppercase();
    let stays = upper.clone().eq([first]);
    stays || upper.any(|c| !unicode::is_assigned(c))
}

/// Whether a folded body begins with a folded author's name.
#[must_use]
pub fn begins_with(body: &str, author: &str) -> bool {
    let rest = body.trim_start_matches(BLANKS).strip_prefix(author);
    rest.is_some_and(|rest| rest.chars().next().is_none_or(|next| !matches!(class_of(next), b'l' | b'm' | b'n' | b'u')))
}

/// Whether a text ends as a question. The mark of Greek, U+037E, is a semicolon in normalised text.
#[must_use]
pub fn is_question(body: &str) -> bool {
    let closing = ['"', '\'', ')', ']', '»', '”', '’', '」', '』', '）', '*', ' ', '\t', '\r', '\n'];
    body.trim_end_matches(closing).ends_with(['?', '？', '؟', ';'])
}

/// Whether a text holds a year from 1900 to 2099.
#[must_use]
pub fn holds_a_year(body: &str) -> bool {
    let bytes = body.as_bytes();
    let digit = |at: usize| bytes.get(at).is_some_and(u8::is_ascii_digit);
    let mut at = 0;
    while at < bytes.len() {
        if !digit(at) {
            at += 1;
            continue;
        }
        let start = at;
        while digit(at) {
            at += 1;
        }
        if at - start == 4 && matches!(&bytes[start..start + 2], b"19" | b"20") {
            return true;
        }
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_stands_before_a_colon() {
        for (body, name) in [
            ("Alice: hello", Some("Alice")),
            (" \n Mary Jane Watson:\thi", Some("Mary Jane Watson")),
            ("user: hi", Some("user")),
            ("田中：はい", Some("田中")),
            ("ნინო: კი", Some("ნინო")),
            ("Alice:hello", None),
            ("Alice:", None),
            ("note: hello", None),
            ("Alice said: hello", None),
            ("A B C D: hello", None),
            ("A  B: hello", None),
            (": hello", None),
            ("", None),
        ] {
            assert_eq!(leading_name(body), name, "{body}");
        }
        let long = "A".repeat(41);
        assert_eq!(leading_name(&format!("{long}: x")), None);
        assert_eq!(leading_name(&format!("{}: x", &long[1..])), Some(&long[1..]));
    }

    #[test]
    fn questions_and_years() {
        assert!(is_question("Is it?\" ) *\n") && is_question("本当？」") && !is_question("It is.") && !is_question(""));
        assert!(holds_a_year("in 1999.") && holds_a_year("2024-01") && !holds_a_year("12024 20245 2124 199"));
    }

    #[test]
    fn a_body_may_begin_with_its_author() {
        assert!(begins_with(" alice: hi", "alice") && begins_with("alice", "alice"));
        assert!(!begins_with("alices", "alice") && !begins_with("bob", "alice"));
    }
}
