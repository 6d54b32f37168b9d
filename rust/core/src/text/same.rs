//! Whether two analysed texts say the same, and whether they oppose each other (spec/text.md section 5).

use super::analysis::{Analysis, Item};
use super::stem::is_gerund;

/// Whether a merge of the two texts would lose nothing the texts say.
///
/// Equal item by item: polarity, terms in order, stop words, symbols; articles, plain punctuation and the case of words
/// aside. A word in lower case on both sides may differ in number, person or a regular past; a capitalised one, a number, a
/// gerund and a participle after a copula may not. Texts without terms are the same when equal.
#[must_use]
pub fn same_statement(a: &Analysis, b: &Analysis) -> bool {
    a.negated == b.negated
        && a.items().len() == b.items().len()
        && a.bare == b.bare
        && a.terms().eq(b.terms())
        && a.items().zip(b.items()).all(|(left, right)| same_item(left, right))
}

/// Whether one text denies what the other claims: opposite polarity, and at least half of both cores shared.
#[must_use]
pub fn statements_oppose(a: &Analysis, b: &Analysis) -> bool {
    a.negated != b.negated && cores_oppose(&a.core(), &b.core())
}

/// Whether two cores share at least half of what they have together, which is something.
#[must_use]
pub fn cores_oppose(a: &[&str], b: &[&str]) -> bool {
    let (shared, together) = core_counts(a, b);
    together > 0 && 2 * shared >= together
}

/// How many terms two cores share, and how many they have together.
#[must_use]
pub fn core_counts(a: &[&str], b: &[&str]) -> (usize, usize) {
    let shared = a.iter().filter(|term| b.binary_search(term).is_ok()).count();
    (shared, a.len() + b.len() - shared)
}

/// Whether two items agree.
#[must_use]
pub fn same_item(a: Item<'_>, b: Item<'_>) -> bool {
    if a.text == b.text {
        return true;
    }
    if a.fixed || b.fixed || a.stem != b.stem || is_gerund(a.text) != is_gerund(b.text) {
        return false;
    }
    let (left, right) = (Bases::of(a.text), Bases::of(b.text));
    left.iter().any(|base| right.iter().any(|other| base == other))
}

/// The words a regular inflection may come from, itself included; each as a beginning of the word and an added `e`.
struct Bases<'a> {
    found: [(&'a str, bool); 5],
    count: usize,
}

impl<'a> Bases<'a> {
    fn of(word: &'a str) -> Self {
        let mut bases = Self { found: [(word, false); 5], count: 1 };
        if let Some(singular) = word.strip_suffix('s').filter(|rest| !rest.ends_with('s')) {
            bases.add(singular, false);
            if let Some(root) = singular.strip_suffix('e').filter(|root| takes_es(root)) {
                bases.add(root, false);
            }
        }
        // No word ends in both.
        if let Some(root) = word.strip_suffix("ed").or_else(|| word.strip_suffix("ing")) {
            bases.add(root, true);
            if !doubles(root) {
                bases.add(root, false);
            }
        }
        bases
    }

    fn add(&mut self, root: &'a str, with_e: bool) {
        self.found[self.count] = (root, with_e);
        self.count += 1;
    }

    /// A base that ends in a letter `e` of its own is told as one with an added `e`, so that equal words compare equal.
    fn iter(&self) -> impl Iterator<Item = (&'a str, bool)> {
        self.found[..self.count].iter().map(|&(root, with_e)| match root.strip_suffix('e') {
            Some(rest) if !with_e => (rest, true),
            _ => (root, with_e),
        })
    }
}

fn takes_es(root: &str) -> bool {
    ["s", "x", "z", "ch", "sh", "o"].iter().any(|ending| root.ends_with(ending))
}

/// Whether one syllable ends consonant, vowel, consonant: such a word doubles its last letter ("planned"), so an undoubled
/// form in -ed or -ing belongs to the word with an e ("planed").
fn doubles(root: &str) -> bool {
    let vowel = |c: char| "aeiouy".contains(c);
    let mut letters = root.chars().rev();
    letters.next().is_some_and(|c| !vowel(c) && c != 'w' && c != 'x')
        && letters.next().is_some_and(vowel)
        && !letters.any(vowel)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bases(word: &str) -> Vec<String> {
        let mut all: Vec<String> =
            Bases::of(word).iter().map(|(root, e)| format!("{root}{}", if e { "e" } else { "" })).collect();
        all.sort();
        all
    }

    #[test]
    fn bases_are_what_a_regular_inflection_may_come_from() {
        assert_eq!(bases("boxes"), ["box", "boxe", "boxes"]);
        assert_eq!(bases("glass"), ["glass"]);
        assert_eq!(bases("planed"), ["plane", "planed"]);
        assert_eq!(bases("planned"), ["plann", "planne", "planned"]);
        assert_eq!(bases("staging"), ["stage", "staging"]);
        assert_eq!(bases("restarted"), ["restart", "restarte", "restarted"]);
        assert_eq!(bases("e"), ["e"]);
    }
}
