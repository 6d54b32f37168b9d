//! What a text is reduced to: its terms, its items, its polarity (spec/text.md section 4).

use super::lexicon;
use super::stem::{is_gerund, stem_of_text};

/// A text reduced to what two texts are compared by. All its strings lie in one buffer.
#[derive(Clone, Debug, Default)]
pub struct Analysis {
    pool: String,
    terms: Vec<Span>,
    items: Vec<Entry>,
    pub(super) negated: bool,
    pub(super) bare: String,
}

/// One thing a text says, in order: a word, a form of a stop word, a symbol or a mark.
///
/// A fixed item equals only itself; another also equals an inflection of its word with the same stem.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Item<'a> {
    /// What is said.
    pub text: &'a str,
    /// The term it makes; of a fixed item that makes none, its text.
    pub stem: &'a str,
    /// Whether it equals only itself.
    pub fixed: bool,
}

/// A stretch of the buffer.
#[derive(Clone, Copy, Debug)]
pub(super) struct Span {
    start: usize,
    end: usize,
}

#[derive(Clone, Copy, Debug)]
struct Entry {
    text: Span,
    stem: Span,
    fixed: bool,
}

impl Analysis {
    /// The content terms in order, stop words and negators dropped.
    #[must_use]
    pub fn terms(&self) -> impl ExactSizeIterator<Item = &str> {
        self.terms.iter().map(|&span| self.get(span))
    }

    /// Everything said, articles and plain punctuation aside.
    #[must_use]
    pub fn items(&self) -> impl ExactSizeIterator<Item = Item<'_>> {
        self.items.iter().map(|entry| Item {
            text: self.get(entry.text),
            stem: self.get(entry.stem),
            fixed: entry.fixed,
        })
    }

    /// The terms, each once and sorted, without those that say only that something is needed.
    #[must_use]
    pub fn core(&self) -> Vec<&str> {
        core_of(self.terms())
    }

    /// Whether a negator occurs that is no part of an idiom.
    #[must_use]
    pub fn negated(&self) -> bool {
        self.negated
    }

    /// The text itself in NFC when it has no terms, else empty.
    #[must_use]
    pub fn bare(&self) -> &str {
        &self.bare
    }

    /// A number that is equal for any two texts that are the same statement; most others differ in it.
    ///
    /// [`super::same_statement`] asks for equal polarity, terms, bare texts and number of items, so all these count. Two items
    /// agree when their texts are equal, or when neither is fixed and their stems and gerunds are. What counts of an item
    /// is made of its text alone, the stem of its folded lower case: of an item that is not fixed that is its stem, so it is
    /// equal whenever two items agree, whatever they are.
    #[must_use]
    pub fn statement_key(&self) -> u128 {
        let mut key = Key::new();
        key.add(if self.negated { b"-" } else { b"+" });
        key.add(self.bare.as_bytes());
        for term in self.terms() {
            key.add(term.as_bytes());
        }
        key.add(b"");
        for item in self.items() {
            if item.fixed {
                stem_of_text(item.text, |stem| key.add(stem.as_bytes()));
            } else {
                key.add(item.stem.as_bytes());
            }
            key.add(if is_gerund(item.text) { b"g" } else { b"" });
        }
        key.0
    }

    // -- what fills it ----------------------------------------------------------------------------------------------

    pub(super) fn with_capacity(bytes: usize, tokens: usize) -> Self {
        Self {
            pool: String::with_capacity(bytes),
            terms: Vec::with_capacity(tokens),
            items: Vec::with_capacity(tokens),
            ..Self::default()
        }
    }

    /// Appends to the buffer what `write` writes.
    pub(super) fn write(&mut self, write: impl FnOnce(&mut String)) -> Span {
        let start = self.pool.len();
        write(&mut self.pool);
        Span { start, end: self.pool.len() }
    }

    pub(super) fn push_text(&mut self, text: &str) -> Span {
        self.write(|pool| pool.push_str(text))
    }

    /// The first `length` bytes of a stretch.
    pub(super) fn head(span: Span, length: usize) -> Span {
        Span { start: span.start, end: span.start + length }
    }

    pub(super) fn get(&self, span: Span) -> &str {
        &self.pool[span.start..span.end]
    }

    pub(super) fn push_term(&mut self, term: Span) {
        self.terms.push(term);
    }

    pub(super) fn push_item(&mut self, text: Span, stem: Span, fixed: bool) {
        self.items.push(Entry { text, stem, fixed });
    }

    pub(super) fn has_terms(&self) -> bool {
        !self.terms.is_empty()
    }
}

/// The core of some terms: each once and sorted, without those that say only that something is needed.
pub fn core_of<'a>(terms: impl Iterator<Item = &'a str>) -> Vec<&'a str> {
    let mut core: Vec<&str> = terms.filter(|term| !lexicon::lookup(term).any(lexicon::FRAME_STEM)).collect();
    core.sort_unstable();
    core.dedup();
    core
}

impl PartialEq for Analysis {
    fn eq(&self, other: &Self) -> bool {
        self.negated == other.negated
            && self.bare == other.bare
            && self.terms().eq(other.terms())
            && self.items().eq(other.items())
    }
}

impl Eq for Analysis {}

/// FNV-1a of 128 bits over parts that cannot run into one another.
struct Key(u128);

impl Key {
    const PRIME: u128 = (1 << 88) + 0x13b;

    fn new() -> Self {
        Self(0x6c62_272e_07bb_0142_62b8_2175_6295_c58d)
    }

    fn add(&mut self, part: &[u8]) {
        // 0xFF is no byte of UTF-8, so it ends every part.
        for byte in part.iter().chain(&[0xff]) {
            self.0 = (self.0 ^ u128::from(*byte)).wrapping_mul(Self::PRIME);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::{analyse, same_statement};

    /// Sentences whose words differ in what may or may not differ in one statement.
    fn sentences(count: usize) -> Vec<String> {
        const WORDS: &[&str] = &[
            "port",
            "ports",
            "Port",
            "PORT",
            "plan",
            "plane",
            "planed",
            "planned",
            "blocks",
            "blocked",
            "blocking",
            "is",
            "are",
            "the",
            "a",
            "not",
            "never",
            "isn't",
            "it",
            "IT",
            "who",
            "WHO",
            "5",
            "5MB",
            "5mb",
            "no",
            "NO",
            "x!",
            "“a b”",
            "?",
            "uses",
            "use",
            "used",
            "glass",
            "glasses",
            "news",
            "new",
            "ς",
            "Σ",
            "ßs",
            "ẞ",
            "数据",
            "不",
            "a.b",
            "a.B",
            "İs",
            "i̇s",
            "strings",
            "string",
            "Kelvin",
            "\u{212a}elvin",
        ];
        let mut state = 1_u64;
        let mut next = |below: usize| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            usize::try_from(state >> 33).unwrap() % below
        };
        (0..count).map(|_| (0..=next(3)).map(|_| WORDS[next(WORDS.len())]).collect::<Vec<_>>().join(" ")).collect()
    }

    #[test]
    fn texts_that_are_the_same_statement_have_one_key() {
        let all: Vec<_> = sentences(2500).iter().map(|text| analyse(text)).collect();
        let keys: Vec<_> = all.iter().map(super::Analysis::statement_key).collect();
        let (mut same, mut alike) = (0, 0);
        for (i, a) in all.iter().enumerate() {
            for (j, b) in all.iter().enumerate().skip(i + 1) {
                if a != b && same_statement(a, b) {
                    same += 1;
                    assert_eq!(keys[i], keys[j], "{a:?} {b:?}");
                }
                alike += usize::from(keys[i] == keys[j] && !same_statement(a, b));
            }
        }
        assert!(same > 1000, "{same} pairs are too few to say anything");
        assert!(alike < all.len() * all.len() / 200, "{alike} pairs have one key and are not the same");
    }
}
