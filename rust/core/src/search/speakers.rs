//! The known authors, and the words that name them (spec/recall.md sections 5.2 and 5.3).

use hashbrown::HashMap;

use super::analyser::{Analyser, wipe_text};
use super::names::Texts;

/// What is known of an author.
#[derive(Debug)]
struct Author {
    /// How many records are theirs.
    records: u32,
    /// The terms of the name.
    terms: Vec<String>,
    /// The word that names them.
    word: Option<String>,
}

/// The authors of the records held, by the number of their folded name.
#[derive(Debug, Default)]
pub struct Speakers {
    authors: HashMap<u32, Author>,
    /// How many authors have a term in their name.
    terms: HashMap<String, u32>,
    /// The authors a word names.
    words: HashMap<String, Vec<u32>>,
}

impl Speakers {
    /// Counts a record in.
    pub fn add(&mut self, author: u32, texts: &Texts, analyser: &mut Analyser) {
        if let Some(known) = self.authors.get_mut(&author) {
            known.records += 1;
            return;
        }
        let name = texts.text(author);
        let mut numbers = Vec::new();
        analyser.terms_of(name, false, &mut numbers);
        let mut terms: Vec<String> = numbers.iter().map(|number| analyser.term(*number).to_string()).collect();
        terms.sort_unstable();
        terms.dedup();
        let words: Vec<String> = analyser.query_words(name).map(str::to_string).collect();
        let word = words.into_iter().find(|word| !analyser.is_stop_word(word));
        for term in &terms {
            *self.terms.entry_ref(term.as_str()).or_insert(0) += 1;
        }
        if let Some(word) = &word {
            self.words.entry_ref(word.as_str()).or_default().push(author);
        }
        self.authors.insert(author, Author { records: 1, terms, word });
    }

    /// Counts a record out.
    pub fn remove(&mut self, author: u32) {
        let Some(known) = self.authors.get_mut(&author) else { return };
        known.records -= 1;
        if known.records > 0 {
            return;
        }
        let Some(Author { terms, word, .. }) = self.authors.remove(&author) else { return };
        for term in terms {
            if let Some(count) = self.terms.get_mut(&term) {
                *count -= 1;
                if *count == 0
                    && let Some((held, _)) = self.terms.remove_entry(&term)
                {
                    wipe_text(held);
                }
            }
            wipe_text(term);
        }
        if let Some(word) = word {
            if let Some(named) = self.words.get_mut(&word) {
                named.retain(|other| *other != author);
                if named.is_empty()
                    && let Some((held, _)) = self.words.remove_entry(&word)
                {
                    wipe_text(held);
                }
            }
            wipe_text(word);
        }
    }

    /// Whether a term is part of the name of a known author.
    #[must_use]
    pub fn has_term(&self, term: &str) -> bool {
        self.terms.contains_key(term)
    }

    /// The one author that distinct words name; nothing when they name none or several.
    #[must_use]
    pub fn named<'a>(&self, words: impl IntoIterator<Item = &'a str>) -> Option<u32> {
        let mut named = None;
        for word in words {
            for author in self.words.get(word).map_or(&[][..], Vec::as_slice) {
                if named.replace(*author).is_some() {
                    return None;
                }
            }
        }
        named
    }
}
