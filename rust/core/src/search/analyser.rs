//! The search analyser: text to terms (spec/recall.md section 3), with a memory for words met before.
//!
//! The words it has met are kept in one stretch of memory that is overwritten when it is dropped, so that nothing of a text
//! outlives the call that read it.

use std::hash::BuildHasher;
use std::hint::black_box;

use hashbrown::DefaultHashBuilder;
use hashbrown::hash_table::{Entry, HashTable};

use super::NONE;
use super::english::{FIRST_PERSON, STOP_WORDS, TIME_WORDS};
use super::fold::{beginning, fold, strip};
use super::stems::Language;
use super::words::Scanner;

/// Characters of a query that are read.
pub const MOST_QUERY_CHARACTERS: usize = 65_536;

type Span = (u32, u32);

/// A word and what it is worth.
#[derive(Clone, Copy, Debug)]
struct Word {
    text: Span,
    plain: bool,
    /// It without its marks.
    bare: Span,
    /// Numbers of its terms, [`NONE`] for none.
    terms: [u32; 2],
    is_time: bool,
}

/// Takes texts apart in one language.
#[derive(Debug)]
pub struct Analyser {
    language: Language,
    scanner: Scanner,
    /// The texts of words and terms.
    arena: Vec<u8>,
    words: Vec<Word>,
    numbers: HashTable<u32>,
    terms: Vec<Span>,
    term_numbers: HashTable<u32>,
    hasher: DefaultHashBuilder,
    /// The words of the text read last, by number.
    read: Vec<u32>,
}

impl Drop for Analyser {
    fn drop(&mut self) {
        wipe(&mut self.arena);
    }
}

/// Overwrites text that is to be forgotten.
pub fn wipe(bytes: &mut [u8]) {
    bytes.fill(0);
    black_box(&bytes);
}

/// Overwrites text that is to be forgotten, and drops it.
pub fn wipe_text(text: String) {
    wipe(&mut text.into_bytes());
}

/// Whether a word is of the first person.
#[must_use]
pub fn is_first_person(word: &str) -> bool {
    FIRST_PERSON.contains(&word)
}

impl Analyser {
    /// An analyser that has met no word yet.
    #[must_use]
    pub fn new(language: Language) -> Self {
        Self {
            language,
            scanner: Scanner::default(),
            arena: Vec::new(),
            words: Vec::new(),
            numbers: HashTable::new(),
            terms: Vec::new(),
            term_numbers: HashTable::new(),
            hasher: DefaultHashBuilder::default(),
            read: Vec::new(),
        }
    }

    /// The text of a term, by its number.
    #[must_use]
    pub fn term(&self, number: u32) -> &str {
        self.terms.get(number as usize).map_or("", |span| self.text(*span))
    }

    /// How many different terms there have been.
    #[must_use]
    pub fn terms_met(&self) -> usize {
        self.terms.len()
    }

    /// Bytes of text it remembers.
    #[must_use]
    pub fn size(&self) -> usize {
        self.arena.len()
    }

    /// Appends the terms of a text, as often as they occur, in order; those of a query for `query`.
    ///
    /// Stop words are left out, except of a text that holds nothing else.
    pub fn terms_of(&mut self, text: &str, query: bool, terms: &mut Vec<u32>) {
        self.read(if query { beginning(text, MOST_QUERY_CHARACTERS) } else { text }, query);
        self.terms_read(terms);
    }

    /// Reads a text, for [`Self::terms_read`] and [`Self::tells_time`].
    pub fn read(&mut self, text: &str, query: bool) {
        let folded = fold(text);
        let mut scanner = std::mem::take(&mut self.scanner);
        let mut read = std::mem::take(&mut self.read);
        read.clear();
        scanner.scan(&folded, query, |word, plain| read.push(self.word(word, plain)));
        self.scanner = scanner;
        self.read = read;
        wipe_text(folded);
    }

    /// Appends the terms of the text read last.
    pub fn terms_read(&mut self, terms: &mut Vec<u32>) {
        let before = terms.len();
        for word in &self.read {
            let word = &self.words[*word as usize];
            terms.extend(word.terms.iter().filter(|term| **term != NONE));
        }
        if terms.len() > before {
            return;
        }
        for place in 0..self.read.len() {
            let bare = self.text(self.words[self.read[place] as usize].bare).to_string();
            if !bare.is_empty() {
                terms.push(self.number_of(&bare));
            }
            wipe_text(bare);
        }
    }

    /// Whether one of the words read last tells a time.
    #[must_use]
    pub fn tells_time(&self) -> bool {
        self.read.iter().any(|word| self.words[*word as usize].is_time)
    }

    /// The words of a query, without marks but not stemmed, stop words included.
    pub fn query_words(&mut self, text: &str) -> impl Iterator<Item = &str> {
        self.read(beginning(text, MOST_QUERY_CHARACTERS), true);
        self.words_read()
    }

    /// The words of the text read last, without marks but not stemmed.
    pub fn words_read(&self) -> impl Iterator<Item = &str> {
        self.read.iter().map(|word| self.text(self.words[*word as usize].bare)).filter(|word| !word.is_empty())
    }

    /// Whether a word of a query is a stop word or of the first person.
    #[must_use]
    pub fn is_stop_word(&self, word: &str) -> bool {
        self.language.is_english() && (STOP_WORDS.binary_search(&word).is_ok() || is_first_person(word))
    }

    fn text(&self, (start, end): Span) -> &str {
        std::str::from_utf8(&self.arena[start as usize..end as usize]).unwrap_or("")
    }

    fn keep(&mut self, text: &str) -> Span {
        let start = place(self.arena.len());
        self.arena.extend_from_slice(text.as_bytes());
        (start, place(self.arena.len()))
    }

    /// The number of a word.
    fn word(&mut self, text: &str, plain: bool) -> u32 {
        let hash = self.hasher.hash_one((text.as_bytes(), plain));
        let (words, arena) = (&self.words, &self.arena);
        let is_it = |number: &u32| {
            let word = &words[*number as usize];
            word.plain == plain && &arena[word.text.0 as usize..word.text.1 as usize] == text.as_bytes()
        };
        if let Some(number) = self.numbers.find(hash, is_it) {
            return *number;
        }
        let span = self.keep(text);
        let bare = strip(text);
        let bare_span = if *bare == *text { span } else { self.keep(&bare) };
        let mut terms = [NONE; 2];
        let english = self.language.is_english();
        if !plain {
            terms[0] = self.number_of(text);
        } else if english && is_first_person(&bare) {
            terms[0] = self.number_of(&bare);
        } else if !(bare.is_empty() || english && STOP_WORDS.binary_search(&&*bare).is_ok()) {
            let mut count = 0;
            self.language.terms(text, &bare, |term| {
                if !term.is_empty() && count < terms.len() {
                    terms[count] = self.number_of(term);
                    count += 1;
                }
            });
        }
        let is_time = plain && TIME_WORDS.binary_search(&&*bare).is_ok();
        let number = place(self.words.len());
        self.words.push(Word { text: span, plain, bare: bare_span, terms, is_time });
        let (words, arena, hasher) = (&self.words, &self.arena, &self.hasher);
        self.numbers.insert_unique(hash, number, |number| {
            let word = &words[*number as usize];
            hasher.hash_one((&arena[word.text.0 as usize..word.text.1 as usize], word.plain))
        });
        number
    }

    /// The number of a term.
    fn number_of(&mut self, term: &str) -> u32 {
        let (terms, arena, hasher) = (&self.terms, &self.arena, &self.hasher);
        let bytes = |number: &u32| {
            let (start, end) = terms[*number as usize];
            &arena[start as usize..end as usize]
        };
        let hash = hasher.hash_one(term.as_bytes());
        match self.term_numbers.entry(
            hash,
            |number| bytes(number) == term.as_bytes(),
            |number| hasher.hash_one(bytes(number)),
        ) {
            Entry::Occupied(found) => *found.get(),
            Entry::Vacant(vacant) => {
                let number = place(terms.len());
                vacant.insert(number);
                let span = self.keep(term);
                self.terms.push(span);
                number
            }
        }
    }
}

/// A place in memory that [`Analyser`] keeps below 4 GiB: who reads many texts begins anew before that.
#[allow(clippy::cast_possible_truncation)]
fn place(length: usize) -> u32 {
    length as u32
}

#[cfg(test)]
mod tests {
    use super::*;

    fn terms(text: &str, query: bool) -> String {
        let mut analyser = Analyser::new(Language::ENGLISH);
        let mut terms = Vec::new();
        analyser.terms_of(text, query, &mut terms);
        terms.iter().map(|term| analyser.term(*term)).collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn stop_words_go_unless_there_is_nothing_else() {
        assert_eq!(terms("What did I say about the Cafés?", true), "i say cafe");
        assert_eq!(terms("to be or not to be", true), "to be or not to be");
        assert_eq!(terms("", true), "");
        assert_eq!(terms("a b a", false), "b");
    }

    #[test]
    fn words_are_without_marks_and_not_stemmed() {
        let mut analyser = Analyser::new(Language::ENGLISH);
        let words: Vec<String> = analyser.query_words("Where's the café?").map(str::to_string).collect();
        assert_eq!(words, ["where", "the", "cafe"]);
        assert!(analyser.is_stop_word("the") && analyser.is_stop_word("my") && !analyser.is_stop_word("cafe"));
    }
}
