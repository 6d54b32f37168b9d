//! What is kept of a record.

use super::payload::{Kind, State};
use super::words::{NONE, count};

/// What is kept of any record, and of an id that was only named so far.
#[derive(Debug)]
#[allow(clippy::struct_excessive_bools)] // Each is a fact of its own.
pub struct Row {
    /// Whether there is a record of that id.
    pub known: bool,
    pub kind: Kind,
    pub state: State,
    pub redacted: bool,
    pub made: bool,
    pub borrows: bool,
    /// The scope it names itself.
    pub scope: u32,
    /// The scope it is treated as having, where anything asks for that; else none.
    pub treated: u32,
    pub superseded_by: u32,
    /// The rows of the sides of its dispute, the lesser id first.
    pub sides: Option<[u32; 2]>,
    /// What makes it one of those that recur, or stand for what does; else none.
    pub signature: u32,
    /// The list of rules it is in.
    pub standing: Option<u64>,
    /// What it says, while it is active.
    pub text: u32,
    /// The numbers of what it names as evidence, each once, sorted.
    pub evidence: Box<[u32]>,
}

impl Default for Row {
    fn default() -> Self {
        Self {
            known: false,
            kind: Kind::Fact,
            state: State::Archived,
            redacted: false,
            made: false,
            borrows: false,
            scope: NONE,
            treated: NONE,
            superseded_by: NONE,
            sides: None,
            signature: NONE,
            standing: None,
            text: NONE,
            evidence: Box::default(),
        }
    }
}

impl Row {
    pub fn is_live_rule(&self) -> bool {
        self.known && self.kind == Kind::Rule && self.state.is_live()
    }

    pub fn is_erased_rule(&self) -> bool {
        self.known && self.kind == Kind::Rule && self.redacted
    }

    /// Whether it may stand for what recurs.
    pub fn is_drawn(&self) -> bool {
        self.known && self.kind == Kind::Rule && self.made && !self.redacted
    }

    /// Whether anything asks which records have it as evidence.
    pub fn hangs(&self) -> bool {
        self.borrows || self.is_live_rule()
    }
}

/// What an active record says. What is not active says nothing: its text is not kept.
#[derive(Debug, Default)]
pub struct Text {
    pub row: u32,
    /// Whom it is compared with: the records of one type and scope. None while its scope is not known.
    pub group: u32,
    pub negated: bool,
    pub body: Box<str>,
    pub born: u64,
    pub day: u32,
    /// The content terms in order, then the core terms, sorted: see [`Text::terms`] and [`Text::core`].
    pub words: Box<[u32]>,
    /// How many of them are content terms.
    pub split: u32,
    /// Names and values, sorted by the text of the name.
    pub slots: Box<[(u32, u32)]>,
    pub key: u32,
    pub object: u32,
    /// Equal for statements that are the same.
    pub statement: u64,
    /// The body in NFC, where it has no terms and another form.
    pub normal: Option<Box<Box<str>>>,
}

impl Text {
    /// Sets the content terms and the core terms.
    pub fn set_words(&mut self, mut terms: Vec<u32>, is_frame: impl Fn(u32) -> bool) {
        let many = terms.len();
        self.split = count(many);
        terms.extend_from_within(..);
        let (_, core) = terms.split_at_mut(many);
        core.sort_unstable();
        let mut kept = many;
        for place in many..terms.len() {
            let word = terms[place];
            let again = kept > many && terms[kept - 1] == word;
            if !again && !is_frame(word) {
                terms[kept] = word;
                kept += 1;
            }
        }
        terms.truncate(kept);
        self.words = terms.into();
    }

    /// The content terms in order.
    pub fn terms(&self) -> &[u32] {
        &self.words[..self.split as usize]
    }

    /// The core terms, sorted.
    pub fn core(&self) -> &[u32] {
        &self.words[self.split as usize..]
    }

    /// What it is compared by where it has no terms, else empty.
    pub fn bare(&self) -> &str {
        if self.split == 0 { self.normal.as_deref().unwrap_or(&self.body) } else { "" }
    }
}

/// The group of a type in a scope.
pub fn group_of(scope: u32, kind: Kind) -> u32 {
    (scope << 2) | kind as u32
}

/// The type and scope of a group.
pub fn kind_and_scope(group: u32) -> (Kind, u32) {
    (Kind::ALL[(group & 3) as usize], group >> 2)
}

/// Two numbers as one.
pub fn pair(first: u32, second: u32) -> u64 {
    (u64::from(first) << 32) | u64::from(second)
}
