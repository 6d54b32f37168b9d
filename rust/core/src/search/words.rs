//! The words of folded text (spec/recall.md sections 3.1 and 3.2).

use super::classes::{token_class, token_class_of_byte};

/// A folded text whose words are asked for; its buffers are kept from text to text.
#[derive(Debug, Default)]
pub struct Scanner {
    /// The class of each character.
    classes: Vec<u8>,
    /// Where each character begins, and the end; empty for a text of ASCII, where both are the same.
    starts: Vec<usize>,
    piece: String,
}

/// Whether the class is that of something a word may be made of.
fn is_word(class: u8) -> bool {
    matches!(class, b'l' | b'm' | b'n')
}

fn is_letter_or_run(class: u8) -> bool {
    matches!(class, b'l' | b'm' | b'n' | b'u')
}

fn is_joiner(class: u8) -> bool {
    matches!(class, b'-' | b'_' | b'.' | b'/' | b'\'' | b'@' | b'&' | b'\\')
}

/// Han characters, which are looked up one by one.
fn is_han(c: char) -> bool {
    matches!(c, '\u{3005}'..='\u{3007}' | '\u{3021}'..='\u{3029}' | '\u{3400}'..='\u{4DBF}' | '\u{4E00}'..='\u{9FFF}'
        | '\u{F900}'..='\u{FAFF}' | '\u{20000}'..='\u{3FFFD}')
}

impl Scanner {
    /// Calls `found` with each word of folded text in order, marks and all, and with whether it may be stemmed.
    pub fn scan(&mut self, folded: &str, query: bool, mut found: impl FnMut(&str, bool)) {
        self.classes.clear();
        self.starts.clear();
        if folded.is_ascii() {
            self.classes.extend(folded.bytes().map(token_class_of_byte));
        } else {
            for (start, c) in folded.char_indices() {
                self.classes.push(token_class(c));
                self.starts.push(start);
            }
            self.starts.push(folded.len());
        }
        let mut piece = std::mem::take(&mut self.piece);
        let mut at = 0;
        while at < self.classes.len() {
            at = self.token(folded, at, query, &mut piece, &mut found);
        }
        self.piece = piece;
    }

    fn class(&self, at: usize) -> u8 {
        self.classes.get(at).copied().unwrap_or(b' ')
    }

    fn text<'a>(&self, folded: &'a str, from: usize, to: usize) -> &'a str {
        if self.starts.is_empty() { &folded[from..to] } else { &folded[self.starts[from]..self.starts[to]] }
    }

    /// The end of the stretch from `at` on whose classes pass.
    fn stretch(&self, at: usize, passes: impl Fn(u8) -> bool) -> usize {
        at + self.classes[at..].iter().take_while(|class| passes(**class)).count()
    }

    /// Reads the token at a place, if there is one; answers where to go on.
    fn token(
        &self,
        folded: &str,
        at: usize,
        query: bool,
        piece: &mut String,
        found: &mut impl FnMut(&str, bool),
    ) -> usize {
        let class = self.classes[at];
        if class == b'u' {
            let end = self.stretch(at, |class| matches!(class, b'u' | b'm'));
            self.run(folded, at, end, query, found);
            return end;
        }
        let before = if at == 0 { b' ' } else { self.classes[at - 1] };
        let next = self.class(at + 1);
        let closes = is_letter_or_run(before) || matches!(before, b')' | b']');
        let sign = matches!(class, b'-' | b'+') && next == b'n' && !closes;
        let dot = class == b'.' && next == b'l' && !closes && !is_joiner(before) && !matches!(before, b'+' | b'#');
        let start = at + usize::from(sign || dot);
        if !is_word(self.class(start)) {
            return at + 1;
        }
        let mut end = self.stretch(start, is_word);
        while is_joiner(self.class(end)) && is_word(self.class(end + 1)) {
            end = self.stretch(end + 1, is_word);
        }
        let (first, second) = (self.class(end), self.class(end + 1));
        let mark = if first == b'+' && second == b'+' {
            2
        } else {
            let ends = !is_letter_or_run(second) && !matches!(second, b'+' | b'#');
            usize::from(matches!(first, b'+' | b'#') && ends)
        };
        self.word(folded, (start, end), (sign, dot, mark), piece, found);
        end + mark
    }

    /// Pairs of neighbours, then single characters: all of them of a text, the Chinese ones and a lone one of a query.
    fn run(&self, folded: &str, start: usize, end: usize, query: bool, found: &mut impl FnMut(&str, bool)) {
        let after =
            |from: usize| from + 1 + self.classes[from + 1..end].iter().take_while(|class| **class == b'm').count();
        let mut one = start;
        let mut other = after(one);
        let alone = other == end;
        while other < end {
            let past = after(other);
            found(self.text(folded, one, past), false);
            (one, other) = (other, past);
        }
        one = start;
        while one < end {
            let past = after(one);
            let unit = self.text(folded, one, past);
            if !query || alone || unit.starts_with(is_han) {
                found(unit, false);
            }
            one = past;
        }
    }

    /// The words of a compound: its parts, the whole, and what a sign, dot or mark makes of it.
    fn word(
        &self,
        folded: &str,
        (start, end): (usize, usize),
        (sign, dot, mark): (bool, bool, usize),
        piece: &mut String,
        found: &mut impl FnMut(&str, bool),
    ) {
        let classes = &self.classes[start..end];
        let mut kept = end; // Where the parts that count end.
        let mut last = start;
        if let Some(place) = classes.iter().rposition(|class| is_joiner(*class)) {
            last = start + place + 1;
            if self.class(last - 1) == b'\'' {
                let tail = self.text(folded, last, end);
                if matches!(tail, "s" | "m" | "d" | "ll" | "re" | "ve") {
                    kept = last - 1;
                } else if tail == "t" && self.text(folded, last - 2, last - 1) == "n" {
                    // The part before goes too, with the joiner before that.
                    kept = self.classes[start..last - 1]
                        .iter()
                        .rposition(|class| is_joiner(*class))
                        .map_or(start, |place| start + place);
                }
                if kept == start {
                    return;
                }
                if kept < end {
                    let held = self.classes[start..kept].iter().rposition(|class| is_joiner(*class));
                    last = held.map_or(start, |place| start + place + 1);
                }
            }
        }
        let mut from = start;
        while from < kept {
            let to = self.stretch(from, is_word);
            found(self.text(folded, from, to), true);
            from = to + 1;
        }
        piece.clear();
        if last > start {
            let numbers = classes.iter().all(|class| *class == b'n' || is_joiner(*class));
            if numbers {
                piece.push_str(self.text(folded, start, end));
            } else {
                let mut from = start;
                while from < kept {
                    let to = self.stretch(from, is_word);
                    piece.push_str(self.text(folded, from, to));
                    from = to + 1;
                }
            }
            found(piece, !numbers);
        } else {
            piece.push_str(self.text(folded, start, kept));
        }
        if sign {
            piece.insert_str(0, self.text(folded, start - 1, start));
            found(piece, false);
        }
        if dot {
            piece.clear();
            piece.push('.');
            piece.push_str(self.text(folded, start, self.stretch(start, is_word)));
            found(piece, false);
        }
        if mark > 0 {
            piece.clear();
            piece.push_str(self.text(folded, last, kept));
            piece.push_str(self.text(folded, end, end + mark));
            found(piece, false);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::search::fold::fold;

    fn words(text: &str, query: bool) -> String {
        let mut all = Vec::new();
        Scanner::default().scan(&fold(text), query, |word, plain| {
            all.push(if plain { word.to_string() } else { format!("{word}°") });
        });
        all.join(" ")
    }

    #[test]
    fn compounds_give_parts_and_whole() {
        for (text, wanted) in [
            ("db-3.internal", "db 3 internal db3internal"),
            ("2024-05-01 3.5", "2024 05 01 2024-05-01° 3 5 3.5°"),
            ("C++ C# a+b F#x", "c c++° c c#° a b f x"),
            (".NET -5 x-5 (-5 )-5", "net .net° 5 -5° x 5 x5 5 -5° 5"),
            ("Anna's don't can't we're O'Neil", "anna we o neil oneil"),
            ("it's-a t", "it s a itsa t"),
            ("won't-don't n't 't", "won t wont t"),
        ] {
            assert_eq!(words(text, false), wanted, "{text}");
        }
    }

    #[test]
    fn runs_give_pairs_and_characters() {
        assert_eq!(words("東京の天気", false), "東京° 京の° の天° 天気° 東° 京° の° 天° 気°");
        assert_eq!(words("東京の天気", true), "東京° 京の° の天° 天気° 東° 京° 天° 気°");
        assert_eq!(words("の", true), "の°");
    }
}
