//! Walks the tokens of one text once and collects terms, items and polarity (spec/text.md section 4).

use std::borrow::Cow;

use super::analysis::{Analysis, Span};
use super::article::{begins_sentence, is_article};
use super::chunks::{Chunk, Chunks};
use super::idioms::denies_nothing;
use super::letters::is_content;
use super::lexicon::{
    ARTICLE, BEFORE_PARTICIPLE, CASED_UNIT, CASED_WORD, Lists, NEGATOR_ENGLISH, NEGATOR_OTHER, NOT_INFLECTION,
    STOP_WORD, lookup, paired,
};
use super::prepare::{fold, lower, lower_into};
use super::runs;
use super::scan::{Kind, Scan, Token, scan};
use super::stem::stem;
use super::words::{CONTRACTED, FORMS, UNMARKED};
use crate::normal::nfc;
use crate::unicode::{self, is_all_upper, is_capital, is_lower_letter, is_space};

/// The analysis of a text; equal for any two spellings that differ in Unicode normal form only.
#[must_use]
pub fn analyse(body: &str) -> Analysis {
    let scanned = scan(body);
    let mut reader = Reader {
        out: Analysis::with_capacity(scanned.letters.text().len() + 16, scanned.tokens.len() + 2),
        shouting: shouting(&scanned),
        after_auxiliary: false,
        ended: None,
        chunks: Chunks::default(),
        scan: &scanned,
    };
    reader.read();
    let mut analysis = reader.out;
    if !analysis.has_terms() {
        analysis.bare = nfc(body).into_owned();
    }
    analysis
}

/// Whether a text has no lower-case letter at all and two words of capitals or more: its case says nothing.
fn shouting(scan: &Scan<'_>) -> bool {
    let words = |token: &&Token| {
        token.kind == Kind::Word
            && token.end - token.start > 1
            && scan.classes(**token).iter().all(|&class| class == b'a')
            && scan.text(**token).contains(is_capital)
    };
    !scan.letters.text().contains(is_lower_letter) && scan.tokens.iter().filter(words).nth(1).is_some()
}

struct Reader<'a> {
    scan: &'a Scan<'a>,
    out: Analysis,
    shouting: bool,
    after_auxiliary: bool,
    /// The token before which the end of a sentence has been told.
    ended: Option<usize>,
    chunks: Chunks,
}

/// What ends a sentence; a question mark is a token.
fn is_end(c: char) -> bool {
    matches!(c, '.' | '!' | '…' | '。' | '｡' | '।' | '॥' | '۔')
}

/// A word on its way to become an item.
#[derive(Clone, Copy)]
struct Reading<'w> {
    index: usize,
    token: Token,
    /// As it stands in the text.
    written: &'w str,
    /// In lower case; the verb of a contraction.
    word: &'w str,
    lists: Lists,
    /// Whether `word` is the verb of a contraction and not what stands in the text.
    contracted: bool,
}

impl<'a> Reader<'a> {
    fn read(&mut self) {
        let scan = self.scan;
        let mut quotes = scan.quotes.iter().peekable();
        let mut lowered = String::new();
        let mut skip = false;
        for (index, &token) in scan.tokens.iter().enumerate() {
            while let Some((_, quote)) = quotes.next_if(|(place, _)| *place < token.start) {
                self.fixed(quote.mark());
            }
            if std::mem::take(&mut skip) {
                continue;
            }
            let written = scan.text(token);
            match token.kind {
                Kind::Word => {
                    lowered.clear();
                    lower_into(written, &mut lowered);
                    let lists = lookup(&lowered);
                    skip = self.word(Reading { index, token, written, word: &lowered, lists, contracted: false });
                }
                Kind::Run => self.run(written),
                Kind::Symbol => {
                    let text = self.out.push_text(written);
                    self.content(text, text, true);
                }
                Kind::Mark => self.fixed(written),
            }
        }
        for (_, quote) in quotes {
            self.fixed(quote.mark());
        }
    }

    // -- what a token adds ----------------------------------------------------------------------------------------

    fn fixed(&mut self, text: &str) {
        let span = self.out.push_text(text);
        self.out.push_item(span, span, true);
    }

    /// Adds the negator at `index`; the token at `following` is the first after it.
    fn negator(&mut self, text: &str, index: usize, following: usize) {
        self.out.negated = self.out.negated || !denies_nothing(self.scan, index, following);
        self.fixed(text);
        self.end_before(following);
    }

    /// Adds the end of a sentence that stands before the token at `index`, once.
    fn end_before(&mut self, index: usize) {
        let (Some(before), Some(token)) = (self.scan.previous(index), self.scan.tokens.get(index)) else { return };
        if self.ended != Some(index) && self.scan.letters.slice(before.end, token.start).contains(is_end) {
            self.ended = Some(index);
            self.fixed(".");
        }
    }

    fn content(&mut self, text: Span, term: Span, fixed: bool) {
        self.out.push_term(term);
        self.out.push_item(text, term, fixed);
        self.after_auxiliary = false;
    }

    fn run(&mut self, written: &str) {
        let run = fold(written);
        let span = self.out.push_text(&run);
        self.out.negated |= runs::terms(&run, |term| {
            let term = self.out.push_text(term);
            self.out.push_term(term);
        });
        self.out.push_item(span, span, true);
        self.after_auxiliary = false;
    }

    /// Adds a word; true when the next token belonged to it (the t of n't, the longer of no longer).
    fn word(&mut self, word: Reading<'_>) -> bool {
        let index = word.index;
        if let Some(base) = word.word.strip_suffix('n').filter(|_| self.t_follows(word.token)) {
            self.contraction(word, paired(CONTRACTED, base).unwrap_or(base));
            self.negator("not", index, index + 2);
            return true;
        }
        if let Some(verb) = word.word.ends_with('t').then(|| paired(UNMARKED, word.word)).flatten() {
            self.contraction(word, verb);
            self.negator("not", index, index + 1);
        } else if word.word == "no" && self.next_is(index, "longer") {
            self.end_before(index);
            self.negator("no longer", index, index + 2);
            return true;
        } else if self.negates(word) {
            let chunk = self.chunk(word.token);
            let text = if self.keeps_case(word, chunk) { word.written } else { word.word };
            self.end_before(index);
            self.negator(text, index, index + 1);
        } else {
            self.plain(word);
        }
        false
    }

    fn contraction(&mut self, word: Reading<'_>, verb: &str) {
        let verb = Reading { word: verb, lists: lookup(verb), contracted: true, ..word };
        self.plain(verb);
    }

    fn plain(&mut self, word: Reading<'_>) {
        let Reading { index, token, written, lists, .. } = word;
        let chunk = self.chunk(token);
        let text = if self.keeps_case(word, chunk) { written } else { word.word };
        if lists.any(ARTICLE) {
            let article = match word.word {
                "a" => !chunk.code && is_article(self.scan, index, self.shouting),
                _ if written.contains(is_capital) && !self.shouting => {
                    text == word.word && begins_sentence(self.scan, index)
                }
                _ => text == word.word,
            };
            if article {
                return;
            }
        }
        if lists.any(CASED_WORD) && is_all_upper(written) && !self.shouting {
            let text = self.out.push_text(written);
            let term = self.out.push_text(word.word);
            self.content(text, term, true);
        } else if word.word == "am" && self.after_number(index, token) {
            // The time of day.
            let text = self.out.push_text(text);
            let term = self.out.push_text(word.word);
            self.content(text, term, true);
        } else if lists.any(STOP_WORD) && !lists.any(ARTICLE) {
            self.stop_word(word, text);
        } else if let Some(unit) = self.unit(index, token) {
            let number = fold(self.scan.letters.slice(token.start, token.end - unit.chars().count()));
            let head = text.char_indices().rev().nth(unit.chars().count() - 1).map_or("", |(at, _)| &text[..at]);
            let text = self.out.write(|pool| pool.extend([head, unit]));
            let term = self.out.write(|pool| pool.extend([number.as_str(), unit]));
            self.content(text, term, true);
        } else if self.scan.classes(token).iter().all(|&class| class == b'a') {
            let fixed = chunk.code
                || lists.any(NOT_INFLECTION)
                || (self.after_auxiliary && (word.word.ends_with("ed") || word.word.ends_with("ing")))
                || written.contains(is_capital);
            self.folded(word.word, text, stem, fixed);
        } else {
            self.folded(word.word, text, |folded| folded, true);
        }
    }

    /// Adds content whose term is made of the folded word; it shares the letters of the text where it begins alike.
    fn folded(&mut self, word: &str, text: &str, term: impl Fn(&str) -> &str, fixed: bool) {
        let folded = if word.is_ascii() { Cow::Borrowed(word) } else { Cow::Owned(fold(word)) };
        let term = term(&folded);
        let span = self.out.push_text(text);
        let term = if text.starts_with(term) { Analysis::head(span, term.len()) } else { self.out.push_text(term) };
        self.content(span, term, fixed);
    }

    fn stop_word(&mut self, word: Reading<'_>, text: &str) {
        let form = if text == word.word { paired(FORMS, text).unwrap_or(text) } else { text };
        self.fixed(form);
        if word.lists.any(BEFORE_PARTICIPLE) {
            self.after_auxiliary = true;
        } else if !matches!(word.word, "just" | "now") {
            self.after_auxiliary = false;
        }
    }

    // -- how a word is read -----------------------------------------------------------------------------------------

    fn chunk(&mut self, token: Token) -> Chunk {
        self.chunks.at(&self.scan.letters, token.start)
    }

    /// Whether the case of a word is its meaning: in code, in a name like WHO, in a letter.
    fn keeps_case(&self, word: Reading<'_>, chunk: Chunk) -> bool {
        let free = if word.contracted {
            true
        } else if chunk.letter {
            word.index == 0 && matches!(word.word, "a" | "i")
        } else if chunk.code {
            word.index == 0 && chunk.initial
        } else {
            self.shouting || !chunk.capitals
        };
        !free
    }

    /// Whether `'t` follows and ends there.
    fn t_follows(&self, token: Token) -> bool {
        let letters = &self.scan.letters;
        letters.at(token.end) == b'\''
            && matches!(letters.char_at(token.end + 1), Some('t' | 'T'))
            && !is_content(letters.at(token.end + 2))
    }

    fn next_is(&self, index: usize, word: &str) -> bool {
        self.scan.tokens.get(index + 1).is_some_and(|&next| lower(self.scan.text(next)) == word)
    }

    fn negates(&self, word: Reading<'_>) -> bool {
        let letters = &self.scan.letters;
        let Token { start, end, .. } = word.token;
        match word.word {
            // "No. 5" is a number.
            "no" if letters.at(end) == b'.' => {
                let blank = matches!(letters.at(end + 1), b' ' | b'\n');
                letters.at(if blank { end + 2 } else { end + 1 }) != b'0'
            }
            // French "n'est", not the "n" of "rock 'n' roll".
            "n" => letters.between(end, end + 2) == b"'a" && letters.before(start) != b'\'',
            _ if word.lists.any(NEGATOR_ENGLISH) => true,
            _ if word.lists.any(NEGATOR_OTHER) => {
                let abbreviation = word.word.is_ascii() && !self.shouting && is_all_upper(word.written);
                !abbreviation
            }
            _ => false,
        }
    }

    /// The unit, as written, that ends this word directly after a number ("5MB", "5 MB").
    fn unit(&self, index: usize, token: Token) -> Option<&'a str> {
        const LONGEST: usize = 4;
        let scan: &'a Scan<'a> = self.scan;
        let classes = scan.classes(token);
        let letters = classes.iter().rev().take_while(|&&class| class == b'a').count();
        if letters == 0 || letters > LONGEST {
            return None;
        }
        let unit = scan.letters.slice(token.end - letters, token.end);
        let cased = if unit.is_ascii() {
            let mut folded = [0; LONGEST];
            folded[..letters].copy_from_slice(unit.as_bytes());
            folded.make_ascii_lowercase();
            std::str::from_utf8(&folded[..letters]).is_ok_and(|unit| lookup(unit).any(CASED_UNIT))
        } else {
            lookup(&unicode::fold(unit)).any(CASED_UNIT)
        };
        if !cased {
            return None;
        }
        let after_digit = match classes.len().checked_sub(letters + 1) {
            Some(before) => classes[before] == b'0',
            None => self.after_number(index, token),
        };
        after_digit.then_some(unit)
    }

    fn after_number(&self, index: usize, token: Token) -> bool {
        self.scan.previous(index).is_some_and(|before| {
            self.scan.classes(before).last() == Some(&b'0')
                && self.scan.letters.slice(before.end, token.start).chars().all(is_space)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn terms(body: &str) -> String {
        analyse(body).terms().collect::<Vec<_>>().join(" ")
    }

    fn items(body: &str) -> String {
        let analysis = analyse(body);
        analysis.items().map(|item| item.text.to_owned()).collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn terms_are_what_is_left_of_the_content() {
        assert_eq!(
            terms("The operator backend hot-reloads; no restart needed."),
            "operator backend hot reload restart need"
        );
        assert_eq!(terms("plan a failed, a few hosts"), "plan a fail a few host");
        assert_eq!(terms("服务不使用"), "服务 务使 使用");
        assert_eq!(terms("5MB of 10 mW"), "5MB 10 mW");
    }

    #[test]
    fn items_keep_what_may_be_meant() {
        assert_eq!(items("It isn't up at 9 am"), "it is not up at 9 am");
        assert_eq!(items("I CAN'T wait"), "i can not wait");
        assert_eq!(items("Ask WHO in src/Main"), "ask WHO in src / Main");
        assert_eq!(items("THE PORT IS 8443"), "port is 8443");
        assert_eq!(items("it is no longer \"a b\""), "it is no longer \" a b \"");
        assert_eq!(items("we were, they have"), "we was they has");
        assert_eq!(items("I do. Not now! Never. No"), "i does . not now . never . no");
        assert_eq!(items("It isn't. The The is up"), "it is not . the is up");
    }

    #[test]
    fn idioms_deny_nothing() {
        for (body, negated) in [
            ("no doubt it is up", false),
            ("there is no problem with it", true),
            ("We really can’t wait", false),
            ("The job cannot wait", true),
            ("No. 5 is open", false),
            ("the NE region", false),
            ("n'est pas", true),
            ("未来", false),
            ("没有缓存", true),
        ] {
            assert_eq!(analyse(body).negated(), negated, "{body}");
        }
    }

    #[test]
    fn a_text_without_terms_is_compared_as_it_is() {
        assert_eq!(analyse("e\u{301}").bare(), "");
        assert_eq!(analyse("It is\u{3000}!").bare(), "It is\u{3000}!");
        assert_eq!(analyse("café is"), analyse("cafe\u{301} is"));
    }
}
