//! Words that hold a negator and deny nothing: "no doubt", "can't wait to" (spec/text.md section 4).

use super::lexicon::{BEFORE_IDIOM, BEFORE_PARTICIPLE, SPEAKER, lookup};
use super::prepare::lower;
use super::scan::Scan;
use super::words::IDIOMS;

/// Whether the negator at token `index` is part of an idiom; `following` is the first token after it.
#[must_use]
pub fn denies_nothing(scan: &Scan<'_>, index: usize, following: usize) -> bool {
    let word = word(scan, index);
    for idiom in IDIOMS {
        let Some((first, rest)) = idiom.split_once(' ').filter(|(first, _)| *first == word) else { continue };
        if follow(scan, following, rest.split(' ').count()).join(" ") == rest {
            let before = precede(scan, index, 2);
            let literal = before.last().is_some_and(|word| lookup(word).any(BEFORE_PARTICIPLE))
                || before.iter().any(|word| word == "there");
            return !(first == "no" && matches!(rest, "problem" | "worries") && literal);
        }
    }
    cannot_wait_or_help(scan, index, following)
}

fn cannot_wait_or_help(scan: &Scan<'_>, mut index: usize, following: usize) -> bool {
    match word(scan, index).as_str() {
        "not" => {
            if !precede(scan, index, 1).first().is_some_and(|verb| matches!(verb.as_str(), "can" | "could")) {
                return false;
            }
            index -= 1;
        }
        "can" | "cannot" | "cant" | "could" | "couldn" | "couldnt" => {}
        _ => return false,
    }
    let mut after = follow(scan, following, 2);
    if after.is_empty() {
        after = follow(scan, following, 1);
    }
    let after: Vec<&str> = after.iter().map(String::as_str).collect();
    match after.as_slice() {
        ["help", next] => matches!(*next, "but" | "it") || next.ends_with("ing"),
        ["wait", "to" | "until" | "till"] => true,
        ["wait", rest @ ..] => {
            let before = precede(scan, index, 3);
            match before.iter().rfind(|word| !lookup(word).any(BEFORE_IDIOM)) {
                None => rest.is_empty(), // the whole clause: "Next week is the show - can't wait!"
                Some(who) => lookup(who).any(SPEAKER),
            }
        }
        _ => false,
    }
}

fn word(scan: &Scan<'_>, index: usize) -> String {
    scan.tokens.get(index).map_or_else(String::new, |&token| lower(scan.text(token)))
}

/// The `count` words from `index` on, if only spaces or apostrophes are before each; else nothing.
fn follow(scan: &Scan<'_>, index: usize, count: usize) -> Vec<String> {
    let places = index..index + count;
    if places.end > scan.tokens.len() || !places.clone().all(|place| adjoins(scan, place)) {
        return Vec::new();
    }
    places.map(|place| word(scan, place)).collect()
}

/// Up to `count` words before `index` with only spaces or an apostrophe between.
fn precede(scan: &Scan<'_>, index: usize, count: usize) -> Vec<String> {
    let places = (1..=index).rev().take(count).take_while(|&place| adjoins(scan, place));
    let mut found: Vec<String> = places.map(|place| word(scan, place - 1)).collect();
    found.reverse();
    found
}

/// Whether something stands between a token and the one before, and only spaces or apostrophes do.
fn adjoins(scan: &Scan<'_>, index: usize) -> bool {
    let (Some(before), Some(token)) = (scan.previous(index), scan.tokens.get(index)) else { return false };
    let gap = scan.letters.slice(before.end, token.start);
    !gap.is_empty() && gap.bytes().all(|byte| matches!(byte, b' ' | b'\''))
}
