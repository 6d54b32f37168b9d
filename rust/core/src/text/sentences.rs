//! The sentences of a text (spec/text.md section 8).

use super::lexicon::{SHORTENED, TITLE, lookup};
use crate::unicode::{fold, is_decimal, is_digit, is_lowercase, is_space, is_uppercase, lines, split, trim};

/// How far back the word before a point is looked for, in characters.
const LOOK_BACK: usize = 40;

/// The sentences of a text, trimmed, without bullets; line breaks inside a paragraph do not end one.
#[must_use]
pub fn split_sentences(text: &str) -> Vec<String> {
    let mut sentences = Vec::new();
    for block in blocks(text) {
        split_block(&block, &mut sentences);
    }
    sentences
}

/// The paragraphs and the entries of lists, their lines joined by spaces.
fn blocks(text: &str) -> Vec<String> {
    let mut blocks: Vec<Option<String>> = vec![None];
    for line in lines(text) {
        let bullet = after_bullet(line);
        let blank = trim(line).is_empty();
        if bullet.is_some() || blank {
            blocks.push(None);
        }
        if let (false, Some(block)) = (blank, blocks.last_mut()) {
            let line = trim(bullet.unwrap_or(line));
            match block {
                Some(block) => {
                    block.push(' ');
                    block.push_str(line);
                }
                None => *block = Some(line.to_owned()),
            }
        }
    }
    blocks.into_iter().flatten().collect()
}

/// What follows the bullet of a line and the white space after it, if the line has a bullet.
fn after_bullet(line: &str) -> Option<&str> {
    let line = line.trim_start_matches(is_space);
    let first = line.chars().next()?;
    let rest = match first {
        '-' | '*' | '+' | '•' | '‣' | '◦' | '·' | '–' | '>' => &line[first.len_utf8()..],
        '#' => line.trim_start_matches('#'),
        _ => line.trim_start_matches(is_decimal).strip_prefix(['.', ')'])?,
    };
    let (most, length) = match first {
        '#' => (6, line.len() - rest.len()),
        _ if is_decimal(first) => (4, line[..line.len() - rest.len()].chars().count()),
        _ if line.len() - rest.len() == first.len_utf8() && !matches!(first, '.' | ')') => (1, 1),
        _ => return None,
    };
    let text = rest.trim_start_matches(is_space);
    (length <= most && text.len() < rest.len()).then_some(text)
}

fn split_block(block: &str, sentences: &mut Vec<String>) {
    let mut start = 0;
    let mut at = 0;
    while let Some(offset) = block[at..].find(|c| is_wide(c) || is_narrow(c)) {
        let stop = at + offset;
        let narrow = block[stop..].chars().next().is_some_and(is_narrow);
        let tail = block[stop..].trim_start_matches(if narrow { is_narrow } else { is_wide });
        at = block.len() - tail.len();
        let ends = if narrow {
            let series = &block[stop..at];
            let rest = tail.trim_start_matches(['"', '\'', '”', '’', ')', ']', '»']);
            at = block.len() - rest.len();
            let closed = rest.len() < tail.len();
            rest.chars().next().is_none_or(is_space) && ends_sentence(&block[start..stop], series, closed, rest)
        } else {
            true
        };
        if ends {
            push_sentence(&block[start..at], sentences);
            start = at;
        }
    }
    push_sentence(&block[start..], sentences);
}

fn push_sentence(text: &str, sentences: &mut Vec<String>) {
    let text = trim(text);
    if !text.is_empty() {
        sentences.push(text.to_owned());
    }
}

/// Whether a series of stops ends a sentence, and is not the point of an abbreviation, an initial or a pause.
fn ends_sentence(before: &str, series: &str, closed: bool, rest: &str) -> bool {
    let following = rest.chars().find(|&c| !is_space(c));
    let lower_follows = following.is_some_and(is_lowercase);
    let digit_follows = following.is_some_and(is_digit);
    if matches!(series, ".." | "..." | "…") {
        return !lower_follows;
    }
    if series != "." || closed {
        return true;
    }
    let from = before.char_indices().rev().nth(LOOK_BACK - 1).map_or(0, |(at, _)| at);
    let mut words = split(&before[from..]).rev();
    let word = words.next().unwrap_or("").trim_start_matches(['(', '[', '"', '\'', '“', '‘']);
    let folded = fold(word);
    let lists = lookup(&folded);
    if lists.any(TITLE) && (folded != "no" || digit_follows) {
        return following.is_none();
    }
    if lists.any(SHORTENED) {
        return !(lower_follows || digit_follows);
    }
    let mut letters = word.chars();
    if letters.next().is_some_and(is_uppercase) && letters.next().is_none() {
        // An initial: "J. Smith", "Ada B. Lovelace".
        let capital_before = words.next().map(|word| word.chars().next().is_some_and(is_uppercase));
        return following.is_none() || capital_before == Some(false);
    }
    true
}

fn is_wide(c: char) -> bool {
    matches!(c, '。' | '！' | '？' | '｡' | '؟' | '।' | '॥' | '۔')
}

fn is_narrow(c: char) -> bool {
    matches!(c, '.' | '!' | '?' | '…')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bullets_are_taken_off() {
        for (line, rest) in [
            ("- a", Some("a")),
            ("  12) a", Some("a")),
            ("123. a", Some("a")),
            ("1234. a", None),
            ("###### a", Some("a")),
            ("####### a", None),
            ("> a", Some("a")),
            ("-a", None),
            (". a", None),
            ("a. b", None),
            ("– ", Some("")),
        ] {
            assert_eq!(after_bullet(line), rest, "{line}");
        }
    }

    #[test]
    fn sentences_end_where_they_end() {
        assert_eq!(
            split_sentences(
                "Dr. J. Smith came. He said \"Hi!\" to e.g. me... and left. 好。好！\n- one\n  two\n\nthree"
            ),
            ["Dr. J. Smith came.", "He said \"Hi!\"", "to e.g. me... and left.", "好。", "好！", "one two", "three"]
        );
    }
}
