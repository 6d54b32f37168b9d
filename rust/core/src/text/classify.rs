//! What kind of memory a sentence makes (spec/text.md section 8).

use super::lexicon::{AUXILIARY, COPULA, MODAL, NO_VERB_AFTER, NOISE, PAST, PERSON, PRESENT, STATIVE, TIME, lookup};
use super::prepare::fold;
use super::scan::{Kind, scan};

/// What a sentence tells.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tells {
    /// What is so.
    Fact,
    /// What happened.
    Episode,
}

/// What a sentence tells; nothing for noise and questions.
#[must_use]
pub fn classify_sentence(sentence: &str) -> Option<Tells> {
    let scanned = scan(sentence);
    let told = || scanned.tokens.iter().filter(|token| matches!(token.kind, Kind::Word | Kind::Run));
    let words: Vec<String> = told().map(|&token| fold(scanned.text(token))).collect();
    let unspaced: usize = told().filter(|token| token.kind == Kind::Run).map(|token| token.end - token.start).sum();
    let question = scanned.letters.text().trim_end_matches([' ', '"', '\'', ')']).ends_with('?');
    if question || lookup(words.first()?).any(NOISE) {
        return None;
    }
    if unspaced >= 5 {
        return Some(Tells::Fact);
    }
    if words.len() < 3 {
        return None;
    }
    Some(if happened(&words) { Tells::Episode } else { Tells::Fact })
}

fn happened(words: &[String]) -> bool {
    let dated = words.iter().any(|word| lookup(word).any(TIME));
    let mut before = None;
    for word in words {
        let lists = lookup(word);
        if matches!(word.as_str(), "was" | "were" | "did" | "had") {
            return dated;
        }
        let present = lists.any(COPULA | AUXILIARY) && !matches!(word.as_str(), "be" | "been" | "being");
        if lists.any(MODAL | PRESENT) || present {
            return false;
        }
        if lists.any(STATIVE) {
            return dated;
        }
        if let Some(before) = before.replace(lists) {
            let past =
                lists.any(PAST) || (word.ends_with("ed") && !word.ends_with("eed") && word.chars().nth(4).is_some());
            if past && !before.any(NO_VERB_AFTER) {
                return true;
            }
            if before.any(PERSON) && !word.ends_with("ly") {
                return false;
            }
        }
    }
    false
}
