//! Chunks: what stands between white space and dashes, and whether it is code or a name (spec/text.md section 3.2).

use super::letters::{Letters, is_plain_word};
use crate::unicode::is_capital;

/// What is known of the chunk around a place.
#[derive(Clone, Copy, Debug, Default)]
#[allow(clippy::struct_excessive_bools)] // four independent answers to four questions
pub struct Chunk {
    /// Where it ends.
    end: usize,
    /// It holds more than letters, inner hyphens and apostrophes.
    pub code: bool,
    /// It is one letter.
    pub letter: bool,
    /// It holds a capital after its first character.
    pub capitals: bool,
    /// Its only capital is its first character, and a letter, digit or point follows.
    pub initial: bool,
}

/// The chunks of one text, asked for in order.
#[derive(Default)]
pub struct Chunks {
    last: Chunk,
}

impl Chunks {
    /// The chunk that holds `place`; places never go down.
    pub fn at(&mut self, letters: &Letters<'_>, place: usize) -> Chunk {
        if place >= self.last.end {
            let classes = letters.classes();
            if !classes.get(place).is_some_and(|&class| belongs(class)) {
                return Chunk::default();
            }
            let (before, after) = classes.split_at(place);
            let start = place - before.iter().rev().take_while(|&&class| belongs(class)).count();
            let end = place + after.iter().take_while(|&&class| belongs(class)).count();
            self.last = read(letters, start, end);
        }
        self.last
    }
}

fn belongs(class: u8) -> bool {
    !matches!(class, b' ' | b'\n' | b'x' | b'u')
}

/// Quotation marks, brackets and punctuation at the ends are no part of a chunk.
fn around(class: u8) -> bool {
    matches!(class, b'\'' | b'"' | b'.' | b',' | b':' | b';' | b'!' | b'?' | b'(' | b')' | b'b')
}

fn read(letters: &Letters<'_>, start: usize, end: usize) -> Chunk {
    let whole = letters.between(start, end);
    let first = start + whole.iter().take_while(|&&class| around(class)).count();
    let last = (end - whole.iter().rev().take_while(|&&class| around(class)).count()).max(first);
    let core = letters.between(first, last);
    let mut text = letters.slice(first, last).chars();
    let capital = text.next().is_some_and(is_capital);
    let capitals = text.any(is_capital);
    Chunk {
        end,
        code: !is_plain_word(core),
        letter: core == b"a",
        capitals,
        initial: capital && !capitals && matches!(core.get(1), Some(b'a' | b'0' | b'.')),
    }
}
