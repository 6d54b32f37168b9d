//! The tokens of a text (spec/text.md section 3).

use super::chunks::Chunks;
use super::enclosures::{Quote, enclosures};
use super::letters::Letters;
use super::tokens::{Found, find};
use crate::unicode::is_lower_letter;

/// What a token is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Characters of a script without spaces.
    Run,
    /// A word or number.
    Word,
    /// A symbol that counts as content.
    Symbol,
    /// Punctuation that says something.
    Mark,
}

/// One token of a text; its places are counted in characters.
#[derive(Clone, Copy, Debug)]
pub struct Token {
    /// What it is.
    pub kind: Kind,
    /// Where it begins.
    pub start: usize,
    /// Where it ends.
    pub end: usize,
    /// The mark it stands for, where that is not the text it covers.
    stands_for: Option<&'static str>,
}

/// A prepared text, its class letters, its tokens, and the quotation marks that say something, with their places.
pub struct Scan<'a> {
    /// The prepared text.
    pub letters: Letters<'a>,
    /// Its tokens in order.
    pub tokens: Vec<Token>,
    /// The quotation marks that are items.
    pub quotes: Vec<(usize, Quote)>,
}

impl Scan<'_> {
    /// The text of a token.
    #[must_use]
    pub fn text(&self, token: Token) -> &str {
        token.stands_for.unwrap_or_else(|| self.letters.slice(token.start, token.end))
    }

    /// The classes a token covers.
    #[must_use]
    pub fn classes(&self, token: Token) -> &[u8] {
        self.letters.between(token.start, token.end)
    }

    /// The token before the one at `index`.
    #[must_use]
    pub fn previous(&self, index: usize) -> Option<Token> {
        self.tokens.get(index.checked_sub(1)?).copied()
    }
}

/// The tokens of a text.
#[must_use]
pub fn scan(body: &str) -> Scan<'_> {
    let mut letters = Letters::of(body);
    let mut quotes = Vec::new();
    let mut marks = Vec::new();
    if encloses(&letters) {
        let enclosed = enclosures(&letters);
        for place in enclosed.bold {
            letters.embolden(place);
        }
        quotes = enclosed.quotes;
        marks = enclosed.marks;
    }
    let mut tokens = tokens(&letters);
    if !marks.is_empty() {
        let expression = std::mem::replace(
            &mut tokens,
            marks
                .into_iter()
                .map(|(start, mark)| Token { kind: Kind::Mark, start, end: start + 1, stands_for: Some(mark) })
                .collect(),
        );
        tokens.extend(expression);
        tokens.sort_by_key(|token| token.start);
    }
    Scan { letters, tokens, quotes }
}

/// Whether anything in the text may enclose; most texts have nothing that does.
fn encloses(letters: &Letters<'_>) -> bool {
    !letters.is_ascii() || letters.text().bytes().any(|byte| matches!(byte, b'"' | b'\'' | b'`' | b'(' | b')' | b'*'))
}

/// What the expression finds, without bullets, rules and the ends of sentences.
fn tokens(letters: &Letters<'_>) -> Vec<Token> {
    let classes = letters.classes();
    let mut found = Vec::with_capacity(classes.len() / 4 + 1);
    let mut chunks = Chunks::default();
    let mut last = None; // where the last token ended
    let mut start = 0;
    while start < classes.len() {
        let Some((kind, end)) = find(classes, start) else {
            start += 1;
            continue;
        };
        let dash = end - start == 1 && classes[start] == b'-';
        let says = if kind == Found::Stars || dash {
            let first = last.is_none_or(|last| letters.between(last, start).contains(&b'\n'));
            !(first && matches!(letters.at(end), 0 | b' ' | b'\n'))
        } else if kind == Found::Bang {
            let chunk = chunks.at(letters, start);
            chunk.code || chunk.capitals || goes_on(letters, end)
        } else {
            true
        };
        if says {
            last = Some(end);
            let kind = match kind {
                Found::Run => Kind::Run,
                Found::Word => Kind::Word,
                Found::Symbol => Kind::Symbol,
                Found::Query | Found::Stars | Found::Bang | Found::Mark => Kind::Mark,
            };
            let stands_for = (classes[start] == b'?').then_some("?");
            found.push(Token { kind, start, end, stands_for });
        }
        start = end;
    }
    found
}

/// Whether a word in lower case follows, so that no sentence ends here.
fn goes_on(letters: &Letters<'_>, place: usize) -> bool {
    letters.slice(place, usize::MAX).chars().find(|&c| c != ' ').is_some_and(is_lower_letter)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tokens(text: &str) -> String {
        let scanned = scan(text);
        let shown = |&token: &Token| match token.kind {
            Kind::Mark => format!("<{}>", scanned.text(token)),
            _ => scanned.text(token).to_owned(),
        };
        scanned.tokens.iter().map(shown).collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn the_tokens_of_the_specification_are_found() {
        for (text, expected) in [
            ("hot-reloads", "hot reloads"),
            ("us-east-1", "us east <-> 1"),
            ("-5", "-5"),
            ("x - 5", "x <-> 5"),
            ("- 5", "5"),
            ("3-5", "3 <-> 5"),
            ("A* *.log", "A <*> <*> .log"),
            ("A- 5′", "A <-> 5 <′>"),
            ("files!", "files"),
            ("hunter2! foo()", "hunter2 <!> foo <(> <)>"),
            ("UTC+4 UTC-4", "UTC +4 UTC <-> 4"),
            ("C++20 c# .net node.js", "C++ 20 c# .net node <.> js"),
            ("$5 >= 10%", "$ 5 > = 10 %"),
            ("**The** “port” of f(x)", "The port of f <(> x <)>"),
            ("5' 6\" don't", "5 <'> 6 <\"> don t"),
            ("数据ab", "数据 ab"),
        ] {
            assert_eq!(tokens(text), expected, "{text}");
        }
    }

    #[test]
    fn quotation_marks_around_more_than_a_word_are_items() {
        let places = |text| scan(text).quotes.iter().map(|&(place, _)| place).collect::<Vec<_>>();
        assert_eq!(places("code is \"a b\""), [8, 12]);
        assert_eq!(places("code is “a-b”, 'x' or `x`"), []);
        assert_eq!(places("run `a b` «»"), [4, 8, 10, 11]);
    }
}
