//! The subject and value of a sentence that says what something is (spec/text.md section 7).

use super::lexicon::{
    ADVERB, CONDITION, COPULA, HEDGE, MODAL, NEGATOR, NO_SUBJECT, PARTICIPLE, VALUE_PREPOSITION, lookup,
};
use super::prepare::{fold, prepare};
use super::reader::analyse;
use super::scan::{Kind, Scan, scan};
use super::sentences::split_sentences;
use crate::unicode::{is_capital, is_decimal, is_lowercase, is_number, is_space, trim};

/// In characters; a longer sentence names no one thing.
const LONGEST: usize = 400;

/// The one slot a text fills, subject terms and value terms, or nothing.
///
/// Only a present copula makes one ("X is Y"), without negation, about a subject of two content words or more, with a value
/// that names something: it has a capital or a digit and starts with no preposition or participle.
#[must_use]
pub fn infer_slot(body: &str) -> Option<(String, String)> {
    if analyse(body).negated() {
        return None;
    }
    let mut found = split_sentences(body).into_iter().filter_map(|sentence| slot(&sentence));
    let only = found.next()?;
    found.next().is_none().then_some(only)
}

/// Whether two values of one slot contradict each other.
///
/// Values are compared by all their word runs and symbols. They clash when these differ, unless one value contains the other's
/// as a stretch ("Postgres" / "Postgres 14"): that is more detail. A stretch plus a negator ("not on" / "on") is no detail.
/// Values without any run are compared as they are.
#[must_use]
pub fn slot_values_clash(x: &str, y: &str) -> bool {
    let (mut part, mut whole) = (said(x), said(y));
    if part.is_empty() || whole.is_empty() {
        return part.len() != whole.len() || trim(&prepare(x)) != trim(&prepare(y));
    }
    if part.len() > whole.len() {
        std::mem::swap(&mut part, &mut whole);
    }
    let Some(start) = whole.windows(part.len()).position(|stretch| stretch == part) else { return true };
    let added = whole[..start].iter().chain(&whole[start + part.len()..]);
    added.into_iter().any(|word| lookup(word).any(NEGATOR))
}

/// The folded words, runs and symbols of a value.
fn said(value: &str) -> Vec<String> {
    let scanned = scan(value);
    scanned.tokens.iter().filter(|token| token.kind != Kind::Mark).map(|&token| fold(scanned.text(token))).collect()
}

fn folded(scan: &Scan<'_>) -> Vec<String> {
    scan.tokens.iter().map(|&token| fold(scan.text(token))).collect()
}

fn slot(sentence: &str) -> Option<(String, String)> {
    if sentence.chars().nth(LONGEST).is_some() {
        return None;
    }
    let scanned = scan(sentence);
    let words = folded(&scanned);
    let copula = words.iter().position(|word| word == "is" || word == "are")?;
    let text = scanned.letters.text();
    if copula < 2 || text.trim_end_matches(is_space).ends_with('?') {
        return None;
    }
    let (before, from) = words.split_at(copula);
    if lookup(&before[0]).any(NO_SUBJECT)
        || before.iter().any(|word| lookup(word).any(MODAL | HEDGE | COPULA))
        || from.iter().any(|word| lookup(word).any(CONDITION))
    {
        return None;
    }
    let token = scanned.tokens[copula];
    let value = first_clause(scanned.letters.slice(token.end, usize::MAX));
    let subject = analyse(scanned.letters.slice(0, token.start));
    let named = analyse(value);
    if subject.terms().len() < 2 || !named.has_terms() || !names(value) {
        return None;
    }
    let joined = |terms: Vec<&str>| terms.join(" ");
    Some((joined(subject.terms().collect()), joined(named.terms().collect())))
}

/// The text up to the first clause end.
fn first_clause(text: &str) -> &str {
    let end = text.char_indices().find(|&(at, c)| ends_clause(&text[at..], c));
    end.map_or(text, |(at, _)| &text[..at])
}

/// Whether a clause ends before `text`, whose first character is `first`.
fn ends_clause(text: &str, first: char) -> bool {
    let comma = text.strip_prefix(',');
    if first != ';' && comma.is_none() && !is_space(first) && first != '(' {
        return false;
    }
    let after = comma.unwrap_or(text);
    let next = after.trim_start_matches(is_space);
    let spaced = next.len() < after.len();
    first == ';'
        || (comma.is_none() && (next.starts_with('(') || dash_follows(text)))
        || (spaced
            && word_follows(
                next,
                &["which", "who", "because", "although", "though", "but", "since", "unless", "until", "while"],
            ))
        || (comma.is_some() && word_follows(next, &["so", "and"]))
}

/// A space, dashes and a space, and no digit after them.
fn dash_follows(text: &str) -> bool {
    let Some(dashes) = text.strip_prefix(is_space) else { return false };
    let after = dashes.trim_start_matches(['—', '-']);
    after.len() < dashes.len()
        && after.strip_prefix(is_space).is_some_and(|rest| !rest.chars().next().is_some_and(is_decimal))
}

/// Whether one of the words stands here, in any case, and white space after it.
fn word_follows(text: &str, words: &[&str]) -> bool {
    words.iter().any(|word| {
        let mut letters = text.chars();
        word.chars().all(|letter| letters.next().map(simple_lower) == Some(letter))
            && letters.next().is_some_and(is_space)
    })
}

/// The lower case in which one letter equals another whatever their case: `ı` and `İ` are `i`, `ſ` is `s`.
fn simple_lower(c: char) -> char {
    match c {
        'ı' | 'İ' => 'i',
        'ſ' => 's',
        _ => c.to_ascii_lowercase(),
    }
}

/// Whether a value names something.
fn names(value: &str) -> bool {
    let scanned = scan(value);
    let words = folded(&scanned);
    if words.iter().any(|word| matches!(word.as_str(), "than" | "is" | "are" | "was" | "were"))
        || !value.contains(|c| is_capital(c) || is_number(c))
    {
        return false;
    }
    let Some(first) = words.iter().position(|word| !lookup(word).any(ADVERB)) else { return false };
    let word = &words[first];
    if lookup(word).any(VALUE_PREPOSITION) {
        return false;
    }
    let inflected = (word.ends_with("ing") || word.ends_with("ed")) && word.chars().nth(4).is_some();
    let participle = inflected || lookup(word).any(PARTICIPLE);
    let written = scanned.text(scanned.tokens[first]);
    !(participle && written.chars().next().is_some_and(is_lowercase))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sentence_fills_one_slot() {
        let slot = |text| infer_slot(text).map(|(key, value)| format!("{key}: {value}"));
        assert_eq!(slot("The staging database is Postgres.").as_deref(), Some("stag databas: postgr"));
        assert_eq!(slot("My favorite editor is Vim, which I like.").as_deref(), Some("my favorit editor: vim"));
        assert_eq!(slot("The staging database is not Postgres."), None);
        assert_eq!(slot("The port is 8443. The host port is 5."), Some("host port: 5".into()));
    }

    #[test]
    fn values_clash_unless_one_is_more_detail() {
        for (x, y, clash) in [
            ("on", "off", true),
            ("1", "1.5", true),
            ("us-east-1", "eu-west-1", true),
            ("not on", "on", true),
            ("Postgres", "Postgres 14", false),
            ("", " ", false),
            ("!", "", true),
            ("(a)", "a", false),
        ] {
            assert_eq!(slot_values_clash(x, y), clash, "{x} / {y}");
        }
    }
}
