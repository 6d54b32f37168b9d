//! Whether an "a", "an" or "the" is an article or the name of something (spec/text.md section 4, rule 6).

use super::lexicon::{
    ARTICLE_FOLLOWS, NEGATOR_ENGLISH, NO_NOUN_FOLLOWS, NOT_INFLECTION, PREPOSITION, STOP_WORD, lookup,
};
use super::prepare::lower;
use super::scan::{Kind, Scan, Token};
use super::stem::stem;
use crate::unicode::is_capital;

/// Whether the "a" at token `index`, in a chunk that is no code, begins a noun phrase where one may begin; a capital one
/// does so inside no sentence.
#[must_use]
pub fn is_article(scan: &Scan<'_>, index: usize, shouting: bool) -> bool {
    if !begins_noun_phrase(scan, index, shouting) {
        return false;
    }
    let Some(before) = scan.previous(index) else { return true };
    let token = scan.tokens[index];
    let gap = scan.letters.between(before.end, token.start);
    let begins = begins_sentence(scan, index);
    if scan.text(token) != "a" && !shouting && !begins {
        return false;
    }
    let word = lower(scan.text(before));
    begins
        || gap.iter().any(|class| matches!(class, b',' | b';' | b'x'))
        || lookup(&word).any(STOP_WORD | NEGATOR_ENGLISH)
        || lookup(stem(&word)).any(ARTICLE_FOLLOWS)
        || (word == "t" && scan.letters.before(before.start) == b'\'')
}

/// Whether a sentence, a line or what a colon announces begins with the token at `index`.
#[must_use]
pub fn begins_sentence(scan: &Scan<'_>, index: usize) -> bool {
    let Some(before) = scan.previous(index) else { return true };
    let gap = scan.letters.between(before.end, scan.tokens[index].start);
    scan.text(before) == "?" || gap.iter().any(|class| matches!(class, b'.' | b'!' | b'?' | b':' | b'\n'))
}

fn begins_noun_phrase(scan: &Scan<'_>, index: usize, shouting: bool) -> bool {
    let token = scan.tokens[index];
    let Some(&next) = scan.tokens.get(index + 1) else { return false };
    if ends_clause(scan, token, next) {
        return false;
    }
    if next.kind != Kind::Word {
        return next.kind == Kind::Run;
    }
    let word = lower(scan.text(next));
    if lookup(&word).any(NO_NOUN_FOLLOWS | NEGATOR_ENGLISH) {
        return false;
    }
    let written = if shouting { &word } else { scan.text(next) };
    if written.contains(is_capital) || scan.classes(next).iter().any(|&class| class != b'a') {
        return true;
    }
    let plural = word.ends_with('s')
        && !["ss", "us", "is"].iter().any(|ending| word.ends_with(ending))
        && !lookup(&word).any(NOT_INFLECTION);
    if plural && !scan.previous(index).is_some_and(|before| lookup(&lower(scan.text(before))).any(PREPOSITION)) {
        return false; // "a blocks b"
    }
    if !word.ends_with("ed") {
        return true;
    }
    let Some(&after) = scan.tokens.get(index + 2).filter(|after| matches!(after.kind, Kind::Word | Kind::Run)) else {
        return false; // "a failed"
    };
    !(ends_clause(scan, next, after) || lookup(&lower(scan.text(after))).any(STOP_WORD | NEGATOR_ENGLISH))
}

fn ends_clause(scan: &Scan<'_>, token: Token, next: Token) -> bool {
    let gap = scan.letters.between(token.end, next.start);
    gap.iter().any(|class| matches!(class, b'.' | b',' | b':' | b';' | b'!' | b'?' | b')'))
}
