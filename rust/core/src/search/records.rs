//! What the index keeps of a record, and of what is left of a redacted one (spec/recall.md sections 4.3 and 4.4).

use super::NONE;

/// The sixteen bytes a record id spells; they sort as the ids do.
pub type Id = [u8; 16];

/// When it happened, when it was made, and its id: what the records of a session are ordered by.
pub type Order = (i64, i64, Id);

/// What kind of thing a record is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Type {
    /// Something that is so.
    #[default]
    Fact,
    /// Something that happened.
    Episode,
    /// How something is done.
    Procedure,
    /// What was drawn from other records.
    Rule,
}

impl Type {
    /// All of them, in the order of their numbers.
    pub const ALL: [Self; 4] = [Self::Fact, Self::Episode, Self::Procedure, Self::Rule];

    /// The type of that name.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        Some(match name {
            "fact" => Self::Fact,
            "episode" => Self::Episode,
            "procedure" => Self::Procedure,
            "rule" => Self::Rule,
            _ => return None,
        })
    }
}

/// Where a record stands.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum State {
    /// It holds.
    #[default]
    Active,
    /// It is disputed.
    Transitional,
    /// Another took its place.
    Superseded,
    /// It was put away.
    Archived,
}

impl State {
    /// All of them, in the order of their numbers.
    pub const ALL: [Self; 4] = [Self::Active, Self::Transitional, Self::Superseded, Self::Archived];

    /// The state of that name.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        Some(match name {
            "active" => Self::Active,
            "transitional" => Self::Transitional,
            "superseded" => Self::Superseded,
            "archived" => Self::Archived,
            _ => return None,
        })
    }

    /// Whether it is active or disputed.
    #[must_use]
    pub fn is_live(self) -> bool {
        matches!(self, Self::Active | Self::Transitional)
    }
}

/// Traits of a record: its text ends as a question.
pub const QUESTION: u8 = 1;
/// Its text tells a time.
pub const TIMELY: u8 = 2;
/// Its author is the user.
pub const USER: u8 = 4;

/// How a record is tied to others; most have nothing of it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Links {
    /// Evidence that lends it a scope.
    pub borrowed: Vec<Id>,
    /// What it replaced, in the order it says so.
    pub replaces: Vec<Id>,
    /// What replaced it.
    pub superseded_by: Option<Id>,
    /// The other side of its dispute.
    pub partner: Option<Id>,
    /// Good and bad outcomes.
    pub standing: Option<(u64, u64)>,
}

impl Links {
    /// Kept only when there is something to keep.
    #[must_use]
    pub fn boxed(self) -> Option<Box<Self>> {
        (self != Self::default()).then(|| Box::new(self))
    }
}

/// A record. Times are milliseconds since 1970; texts are numbers of [`super::names::Texts`], [`NONE`] for none.
#[derive(Clone, Debug)]
pub struct Row {
    pub id: Id,
    /// Whether there is a record at this number.
    pub held: bool,
    pub kind: Type,
    pub state: State,
    /// Of [`QUESTION`], [`TIMELY`], [`USER`].
    pub traits: u8,
    /// Ten-thousandths.
    pub confidence: u16,
    /// Ten-thousandths.
    pub value: u64,
    pub created_at: i64,
    pub updated_at: i64,
    pub event_at: i64,
    pub tokens: u32,
    /// The number of its scope in [`super::names::Scopes`].
    pub scope: u32,
    pub key: u32,
    pub author: u32,
    pub tags: Box<[u32]>,
    /// The numbers of its distinct terms, ascending.
    pub terms: Box<[u32]>,
    /// How many terms it has, repeated ones as often as they occur.
    pub length: u64,
    pub links: Option<Box<Links>>,
}

impl Default for Row {
    fn default() -> Self {
        Self {
            id: [0; 16],
            held: false,
            kind: Type::Fact,
            state: State::Active,
            traits: 0,
            confidence: 0,
            value: 0,
            created_at: 0,
            updated_at: 0,
            event_at: 0,
            tokens: 0,
            scope: NONE,
            key: NONE,
            author: NONE,
            tags: Box::default(),
            terms: Box::default(),
            length: 0,
            links: None,
        }
    }
}

impl Row {
    /// Its place among the records of its session.
    #[must_use]
    pub fn order(&self) -> Order {
        (self.event_at, self.created_at, self.id)
    }

    /// Evidence that lends it a scope.
    #[must_use]
    pub fn borrowed(&self) -> &[Id] {
        self.links.as_ref().map_or(&[], |links| &links.borrowed)
    }

    /// What it replaced.
    #[must_use]
    pub fn replaces(&self) -> &[Id] {
        self.links.as_ref().map_or(&[], |links| &links.replaces)
    }

    /// What replaced it.
    #[must_use]
    pub fn superseded_by(&self) -> Option<Id> {
        self.links.as_ref().and_then(|links| links.superseded_by)
    }

    /// The other side of its dispute.
    #[must_use]
    pub fn partner(&self) -> Option<Id> {
        self.links.as_ref().and_then(|links| links.partner)
    }

    /// Good and bad outcomes.
    #[must_use]
    pub fn standing(&self) -> Option<(u64, u64)> {
        self.links.as_ref().and_then(|links| links.standing)
    }
}

/// What is left of a redacted record.
#[derive(Clone, Debug, Default)]
pub struct Tombstone {
    pub replaces: Vec<Id>,
    pub superseded_by: Option<Id>,
}

/// The bytes of an id; nothing for text that is none.
#[must_use]
pub fn parse_id(text: &str) -> Option<Id> {
    let digits = text.strip_prefix("mem:")?.as_bytes();
    if digits.len() != 32 {
        return None;
    }
    let mut id = [0; 16];
    for (byte, pair) in id.iter_mut().zip(digits.chunks_exact(2)) {
        *byte = (nibble(pair[0])? << 4) | nibble(pair[1])?;
    }
    Some(id)
}

fn nibble(digit: u8) -> Option<u8> {
    match digit {
        b'0'..=b'9' => Some(digit - b'0'),
        b'a'..=b'f' => Some(digit - b'a' + 10),
        _ => None,
    }
}

/// The text of an id.
#[must_use]
pub fn id_text(id: Id) -> String {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    let mut text = String::with_capacity(36);
    text.push_str("mem:");
    for byte in id {
        text.push(char::from(DIGITS[usize::from(byte >> 4)]));
        text.push(char::from(DIGITS[usize::from(byte & 15)]));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_ids_are_ids() {
        let id = "mem:000102030405060708090a0b0c0d0eff";
        assert_eq!(parse_id(id).map(id_text).as_deref(), Some(id));
        for text in ["", "mem:", "mem:00", &id[4..], &id.to_uppercase(), &format!("{id}0")] {
            assert_eq!(parse_id(text), None, "{text}");
        }
    }
}
