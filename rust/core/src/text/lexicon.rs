//! What is known of a word: one look-up says which lists hold it.

use std::sync::LazyLock;

use super::words;

/// The lists a word is on, as bits.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Lists(u64);

impl Lists {
    /// Whether the word is on one of these lists.
    #[must_use]
    pub fn any(self, lists: u64) -> bool {
        self.0 & lists != 0
    }
}

macro_rules! lists {
    ($($(#[$doc:meta])* $bit:ident = $list:ident;)*) => {
        lists!(@bits 0; $($(#[$doc])* $bit)*);
        /// Every list with its bit.
        const LISTS: &[(u64, &str)] = &[$(($bit, words::$list)),*];
    };
    (@bits $at:expr; $(#[$doc:meta])* $bit:ident $($rest:tt)*) => {
        $(#[$doc])*
        pub const $bit: u64 = 1 << ($at);
        lists!(@bits $at + 1; $($rest)*);
    };
    (@bits $at:expr;) => {};
}

lists! {
    /// `a` `an` `the`
    ARTICLE = ARTICLES;
    /// A form of be.
    COPULA = COPULAS;
    /// A form of have or do.
    AUXILIARY = AUXILIARIES;
    /// `may`, `must` and their like.
    MODAL = MODALS;
    /// Where, when, whose.
    PREPOSITION = PREPOSITIONS;
    /// `it`, `this`, `there` and their like.
    POINTER = POINTERS;
    /// `and`, `if`, `now` and their like.
    CONNECTIVE = CONNECTIVES;
    /// Besides verbs and prepositions: "a" before one of these is no article.
    NO_NOUN = NO_NOUN_FOLLOWS;
    /// A form of have.
    HAVE = BEFORE_PARTICIPLE;
    /// A stem that frames a claim.
    FRAME_STEM = FRAME_STEMS;
    /// An English negator.
    NEGATOR_ENGLISH = NEGATORS_ENGLISH;
    /// A negator of another language.
    NEGATOR_OTHER = NEGATORS_OTHER;
    /// The stem of a verb after which "a" is an article.
    ARTICLE_FOLLOWS = TAKES_ARTICLE;
    /// No inflection of its stem.
    NOT_INFLECTION = NOT_INFLECTIONS;
    /// A unit that keeps its case.
    CASED_UNIT = CASED_UNITS;
    /// An abbreviation that is another word in lower case.
    CASED_WORD = CASED_WORDS;
    /// Who cannot wait for joy.
    SPEAKER = SPEAKERS;
    /// `just`, `really`, `simply`
    BEFORE_IDIOM = BEFORE_IDIOM;
    /// `currently`, `only` and their like.
    ADVERB = ADVERBS;
    /// Besides the prepositions: no value of a slot starts with it.
    NO_VALUE = VALUE_PREPOSITIONS;
    /// An irregular participle.
    PARTICIPLE = IRREGULAR_PARTICIPLES;
    /// Names no subject at the start.
    NO_SUBJECT = NO_SUBJECT;
    /// Someone thinks so.
    HEDGE = HEDGES;
    /// It is so at times only.
    CONDITION = CONDITIONS;
    /// Its point ends no sentence.
    TITLE = TITLES;
    /// Its point may end a sentence.
    SHORTENED = SHORTENED;
    /// Starts no memory.
    NOISE = NOISE;
    /// Dates an episode.
    TIME = TIMES;
    /// An irregular past form.
    PAST = IRREGULAR_PAST;
    /// The past of a state.
    STATIVE = STATIVE_PAST;
    /// The present of a state.
    PRESENT = PRESENT_VERBS;
    /// Besides structure and negators: no verb follows.
    NO_VERB = NO_VERB_AFTER;
    /// A verb follows.
    PERSON = PERSONS;
}

/// Carries structure, not content.
pub const STOP_WORD: u64 = ARTICLE | COPULA | AUXILIARY | MODAL | PREPOSITION | POINTER | CONNECTIVE;
/// "a" before it is no article.
pub const NO_NOUN_FOLLOWS: u64 = COPULA | AUXILIARY | MODAL | PREPOSITION | NO_NOUN;
/// The participle after it is passive or perfect.
pub const BEFORE_PARTICIPLE: u64 = COPULA | HAVE;
/// A negator of any language written with spaces.
pub const NEGATOR: u64 = NEGATOR_ENGLISH | NEGATOR_OTHER;
/// No value of a slot starts with it.
pub const VALUE_PREPOSITION: u64 = PREPOSITION | NO_VALUE;
/// What looks like a past form is none after it.
pub const NO_VERB_AFTER: u64 = NO_VERB | PREPOSITION | COPULA | AUXILIARY | NEGATOR_ENGLISH;

/// The lists that hold `word`.
#[must_use]
pub fn lookup(word: &str) -> Lists {
    TABLE.get(word)
}

/// The form an auxiliary stands for, the verb of a contraction: the other half of a pair.
#[must_use]
pub fn paired(pairs: &[(&'static str, &'static str)], word: &str) -> Option<&'static str> {
    pairs.iter().find(|(first, _)| *first == word).map(|&(_, second)| second)
}

static TABLE: LazyLock<Table> = LazyLock::new(Table::new);

/// Open addressing, at most half full; it is made once and never grows.
struct Table {
    slots: Vec<(&'static str, Lists)>,
    longest: usize,
}

impl Table {
    const SIZE: usize = 2048;

    fn new() -> Self {
        let mut table = Self { slots: vec![("", Lists(0)); Self::SIZE], longest: 0 };
        for &(bit, list) in LISTS {
            for word in list.split_ascii_whitespace() {
                let at = table.find(word);
                table.slots[at].0 = word;
                table.slots[at].1.0 |= bit;
                table.longest = table.longest.max(word.len());
            }
        }
        table
    }

    fn get(&self, word: &str) -> Lists {
        if word.is_empty() || word.len() > self.longest {
            return Lists(0);
        }
        self.slots[self.find(word)].1
    }

    /// Where the word is, or the free slot where it would be.
    fn find(&self, word: &str) -> usize {
        let mut at = hash(word.as_bytes()) % Self::SIZE;
        while !self.slots[at].0.is_empty() && self.slots[at].0 != word {
            at = (at + 1) % Self::SIZE;
        }
        at
    }
}

fn hash(word: &[u8]) -> usize {
    let mut hash = 0x811c_9dc5_usize;
    for &byte in word {
        hash = (hash ^ usize::from(byte)).wrapping_mul(0x0100_0193);
    }
    hash ^ (hash >> 15)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::normal::nfc;
    use crate::unicode::fold;

    #[test]
    fn every_word_is_found_on_its_lists_and_no_other_is() {
        for &(bit, list) in LISTS {
            for word in list.split_ascii_whitespace() {
                assert!(lookup(word).any(bit), "{word}");
                assert!(!lookup(&format!("{word}x")).any(bit), "{word}");
            }
        }
        assert_eq!(lookup(""), Lists(0));
        assert_eq!(lookup("backend"), Lists(0));
        assert!(TABLE.slots.iter().filter(|slot| !slot.0.is_empty()).count() * 2 <= Table::SIZE);
    }

    #[test]
    fn every_word_is_normal_and_folded() {
        let runs = [words::RUN_KEPT, words::RUN_NEGATORS].concat();
        for word in LISTS.iter().flat_map(|(_, list)| list.split_ascii_whitespace()).chain(runs) {
            assert_eq!(nfc(&fold(word)), word);
        }
    }
}
