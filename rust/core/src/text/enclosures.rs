//! Quotation marks, round brackets and bold type: which of them say something (spec/text.md section 3.1).

use super::letters::{Letters, is_content, is_plain_word, is_wordy, joined, run};

/// What encloses in a text, each list in the order of the text.
#[derive(Debug, Default)]
pub struct Enclosures {
    /// The quotation marks that are items, with their places.
    pub quotes: Vec<(usize, Quote)>,
    /// Loose quotation marks and brackets of code.
    pub marks: Vec<(usize, &'static str)>,
    /// Where the `**` of each pair stand.
    pub bold: Vec<usize>,
}

/// A kind of quotation mark.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Quote {
    /// `"` and what is read like it.
    Double,
    /// `'` and what is read like it.
    Single,
    /// A backtick.
    Back,
}

impl Quote {
    /// The mark it stands for.
    #[must_use]
    pub fn mark(self) -> &'static str {
        match self {
            Self::Double => "\"",
            Self::Single => "'",
            Self::Back => "`",
        }
    }

    /// The kind of a character, and whether its shape says which side it is of.
    fn of(c: char) -> Option<(Self, bool)> {
        match c {
            '"' => Some((Self::Double, false)),
            '\'' => Some((Self::Single, false)),
            '`' => Some((Self::Back, false)),
            '“' | '”' | '„' | '‟' | '«' | '»' => Some((Self::Double, true)),
            '‘' | '‚' | '‛' | '‹' | '›' => Some((Self::Single, true)),
            _ => None,
        }
    }
}

/// One pass over the enclosing characters; nothing is enclosed across lines.
#[must_use]
pub fn enclosures(letters: &Letters<'_>) -> Enclosures {
    let mut pass = Pass { letters, found: Enclosures::default(), opened: [None; 3], brackets: Vec::new(), bold: None };
    let classes = letters.classes();
    let mut place = 0;
    while let Some(&class) = classes.get(place) {
        let start = place;
        place += 1;
        match class {
            b'\n' => pass.end_line(),
            b'*' => {
                place = run(classes, start, |class| class == b'*');
                if place - start == 2 {
                    pass.stars(start);
                }
            }
            b'(' => pass.open_bracket(start),
            b')' => pass.close_bracket(start),
            b'"' => pass.quotation_mark(start, Quote::Double, false),
            b'\'' => pass.quotation_mark(start, Quote::Single, false),
            b'x' => {
                if let Some((kind, directed)) = letters.char_at(start).and_then(Quote::of) {
                    pass.quotation_mark(start, kind, directed);
                }
            }
            _ => {}
        }
    }
    pass.end_line();
    pass.found.quotes.sort_unstable_by_key(|&(place, _)| place);
    pass.found.marks.sort_unstable_by_key(|&(place, _)| place);
    pass.found
}

struct Pass<'a, 'b> {
    letters: &'a Letters<'b>,
    found: Enclosures,
    /// The place of the open quotation mark of each kind.
    opened: [Option<usize>; 3],
    /// Whether each open round bracket is code.
    brackets: Vec<bool>,
    bold: Option<usize>,
}

impl Pass<'_, '_> {
    /// The class before and after; the ends of the text count as newline.
    fn beside(&self, start: usize, end: usize) -> (u8, u8) {
        let or_newline = |class| if class == 0 { b'\n' } else { class };
        (or_newline(self.letters.before(start)), or_newline(self.letters.at(end)))
    }

    fn stars(&mut self, start: usize) {
        let (before, after) = self.beside(start, start + 2);
        let closes = !is_blank(before)
            && (is_blank(after)
                || matches!(after, b'.' | b',' | b':' | b';' | b'!' | b'?' | b')' | b'\'' | b'"' | b'x'));
        match self.bold {
            Some(first) if closes => {
                self.found.bold.extend([first, start]);
                self.bold = None;
            }
            _ if (is_blank(before) || matches!(before, b'(' | b'\'' | b'"' | b'x'))
                && (is_content(after) || matches!(after, b'\'' | b'"' | b'x')) =>
            {
                self.bold = Some(start);
            }
            _ => {}
        }
    }

    fn open_bracket(&mut self, start: usize) {
        let (before, after) = self.beside(start, start + 1);
        let code = is_wordy(before) || after == b')';
        self.brackets.push(code);
        if code {
            self.found.marks.push((start, "("));
        }
    }

    fn close_bracket(&mut self, start: usize) {
        let (_, after) = self.beside(start, start + 1);
        if self.brackets.pop() == Some(true) || is_wordy(after) {
            self.found.marks.push((start, ")"));
        }
    }

    fn quotation_mark(&mut self, place: usize, kind: Quote, directed: bool) {
        let (before, after) = self.beside(place, place + 1);
        if kind == Quote::Single && before == b'a' && after == b'a' {
            return; // an apostrophe
        }
        let open = &mut self.opened[kind as usize];
        if let Some(first) = open.filter(|_| directed || (!is_blank(before) && !is_wordy(after))) {
            *open = None;
            if counts(self.letters.between(first + 1, place), kind) {
                self.found.quotes.extend([(first, kind), (place, kind)]);
            }
            return;
        }
        let opens = !is_wordy(before) && (directed || !is_blank(after));
        let loose = if opens { open.replace(place) } else { Some(place) };
        if let Some(loose) = loose {
            self.leave(loose, kind);
        }
    }

    fn leave(&mut self, place: usize, kind: Quote) {
        if kind != Quote::Back {
            self.found.marks.push((place, kind.mark()));
        }
    }

    fn end_line(&mut self) {
        for kind in [Quote::Double, Quote::Single, Quote::Back] {
            if let Some(place) = self.opened[kind as usize].take() {
                self.leave(place, kind);
            }
        }
        self.brackets.clear();
        self.bold = None;
    }
}

fn is_blank(class: u8) -> bool {
    matches!(class, b' ' | b'\n')
}

/// Whether quotation marks around this say something: not around one ordinary word or number.
fn counts(inside: &[u8], kind: Quote) -> bool {
    let trimmed = |class: &u8| matches!(class, b' ' | b'.' | b',' | b':' | b';' | b'!' | b'?' | b'x' | b'\'' | b'"');
    let first = inside.iter().take_while(|class| trimmed(class)).count();
    let last = (inside.len() - inside.iter().rev().take_while(|class| trimmed(class)).count()).max(first);
    let core = &inside[first..last];
    if kind == Quote::Back {
        return core.is_empty() || core.contains(&b' ');
    }
    let number = match core {
        [b'-' | b'+', rest @ ..] => rest,
        whole => whole,
    };
    !is_plain_word(core)
        && !joined(number, b'0', |class| matches!(class, b'.' | b',' | b':'))
        && (core.is_empty() || core.iter().any(|&class| class != b'u'))
}
