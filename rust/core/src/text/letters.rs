//! A prepared text with the class letter of each character (spec/text.md section 3).

use std::borrow::Cow;

use super::prepare::prepare;
use crate::unicode;

/// A prepared text and its classes. Places are counted in characters.
pub struct Letters<'a> {
    text: Cow<'a, str>,
    classes: Vec<u8>,
    /// The byte of each place and of the end; empty when the text is ASCII and they are the same.
    bytes: Vec<usize>,
}

impl<'a> Letters<'a> {
    /// Prepares a text and gives every character its class.
    #[must_use]
    pub fn of(body: &'a str) -> Self {
        let text = prepare(body);
        if text.is_ascii() {
            let classes = text.bytes().map(|byte| unicode::class(char::from(byte))).collect();
            return Self { text, classes, bytes: Vec::new() };
        }
        let mut classes = Vec::with_capacity(text.len());
        let mut bytes = Vec::with_capacity(text.len() + 1);
        for (at, c) in text.char_indices() {
            classes.push(unicode::class(c));
            bytes.push(at);
        }
        bytes.push(text.len());
        Self { text, classes, bytes }
    }

    /// The prepared text.
    #[must_use]
    pub fn text(&self) -> &str {
        &self.text
    }

    /// The classes of all places.
    #[must_use]
    pub fn classes(&self) -> &[u8] {
        &self.classes
    }

    /// The classes from `start` to `end`, as far as there are any.
    #[must_use]
    pub fn between(&self, start: usize, end: usize) -> &[u8] {
        let end = end.min(self.classes.len());
        &self.classes[start.min(end)..end]
    }

    /// The text from `start` to `end`, as far as there is any.
    #[must_use]
    pub fn slice(&self, start: usize, end: usize) -> &str {
        let end = end.min(self.classes.len());
        &self.text[self.byte(start.min(end))..self.byte(end)]
    }

    /// The class at a place; 0 after the end.
    #[must_use]
    pub fn at(&self, place: usize) -> u8 {
        at(&self.classes, place)
    }

    /// The class before a place; 0 at the start.
    #[must_use]
    pub fn before(&self, place: usize) -> u8 {
        before(&self.classes, place)
    }

    /// The character at a place, if there is one.
    #[must_use]
    pub fn char_at(&self, place: usize) -> Option<char> {
        self.slice(place, place + 1).chars().next()
    }

    /// Whether the text has only ASCII characters.
    #[must_use]
    pub fn is_ascii(&self) -> bool {
        self.bytes.is_empty()
    }

    /// Reads two stars as bold type, which says nothing.
    pub fn embolden(&mut self, place: usize) {
        self.classes[place..place + 2].fill(b'x');
    }

    fn byte(&self, place: usize) -> usize {
        self.bytes.get(place).copied().unwrap_or(place)
    }
}

/// The class at a place; 0 after the end.
pub fn at(classes: &[u8], place: usize) -> u8 {
    classes.get(place).copied().unwrap_or(0)
}

/// The class before a place; 0 at the start.
pub fn before(classes: &[u8], place: usize) -> u8 {
    place.checked_sub(1).map_or(0, |place| at(classes, place))
}

/// The end of the stretch of classes that holds, from `place` on.
pub fn run(classes: &[u8], place: usize, holds: impl Fn(u8) -> bool) -> usize {
    classes[place..].iter().position(|&class| !holds(class)).map_or(classes.len(), |length| place + length)
}

/// `a` or `0`: a letter or a digit.
pub fn is_wordy(class: u8) -> bool {
    matches!(class, b'a' | b'0')
}

/// `a`, `0` or `u`: what a word, a number or a run is made of.
pub fn is_content(class: u8) -> bool {
    matches!(class, b'a' | b'0' | b'u')
}

/// `a+(['-]a+)*`: one ordinary word.
pub fn is_plain_word(classes: &[u8]) -> bool {
    joined(classes, b'a', |class| matches!(class, b'\'' | b'-'))
}

/// Whether classes are one or more of `part`, single joints between.
pub fn joined(classes: &[u8], part: u8, joint: impl Fn(u8) -> bool) -> bool {
    let mut last = 0;
    for &class in classes {
        if class != part && !(joint(class) && last == part) {
            return false;
        }
        last = class;
    }
    last == part
}
