//! The one error of the core: a value was refused, at a place, for a reason.

use std::fmt;

/// What is wrong with a value.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Fault {
    /// A float: its decimal form differs between languages.
    #[error("is a float: canonical JSON holds no floats; use an integer or a decimal string")]
    Float,
    /// A type that JSON does not have; carries the name of the type.
    #[error("is of type '{0}': canonical JSON holds None, bool, int, str, list, tuple and dict; convert it first")]
    Type(String),
    /// A key that is not a string; carries the name of its type.
    #[error("is of type '{0}': keys must be strings")]
    KeyType(String),
    /// Text with a lone surrogate.
    #[error("holds a lone surrogate, which is not text: replace it first")]
    Surrogate,
    /// A key with a lone surrogate.
    #[error("holds a lone surrogate, which is not text: replace it first")]
    KeySurrogate,
    /// Two keys of one object that are the same after normalisation.
    #[error("has keys that are equal after NFC normalisation: keep one of them")]
    EqualKeys,
    /// A container inside more containers than are allowed.
    #[error("is nested deeper than {max} containers: flatten it", max = crate::sink::MAX_DEPTH)]
    TooDeep,
    /// Birth content that is no object; carries the name of the type.
    #[error("is of type '{0}': the birth content must be a dict")]
    Birth(String),
    /// Something else where text was asked for; carries the name of the type.
    #[error("is of type '{0}': only text can be normalised")]
    NotText(String),
    /// Writer events that do not nest, such as a member without an object: a mistake in the program.
    #[error("was written out of order: every value needs its container, every member its key")]
    OutOfOrder,
}

/// One step of a path from the outermost value to an inner one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Step {
    /// A member of an object.
    Key(String),
    /// An item of an array.
    Item(usize),
}

/// Whether the value or its type is to blame; the binding chooses the exception by it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A value outside its range.
    Value,
    /// A value of the wrong type.
    Type,
}

/// A refused value. It is built without a path where the fault is found; each container on the way out adds its step,
/// so that a value without fault pays nothing for the path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refusal {
    fault: Fault,
    /// Innermost step first.
    steps: Vec<Step>,
}

/// Paths are cut after this many characters.
const PATH_LIMIT: usize = 120;

impl Refusal {
    /// The fault, with its place still to be told.
    #[must_use]
    pub fn new(fault: Fault) -> Self {
        Self { fault, steps: Vec::new() }
    }

    /// The same refusal seen from the container around it.
    #[must_use]
    pub fn within(mut self, step: Step) -> Self {
        self.steps.push(step);
        self
    }

    /// What is wrong.
    #[must_use]
    pub fn fault(&self) -> &Fault {
        &self.fault
    }

    /// Which kind of exception tells it.
    #[must_use]
    pub fn kind(&self) -> Kind {
        match self.fault {
            Fault::Type(_) | Fault::KeyType(_) | Fault::Birth(_) | Fault::NotText(_) => Kind::Type,
            _ => Kind::Value,
        }
    }

    fn path(&self) -> String {
        let mut path = String::from("$");
        for step in self.steps.iter().rev() {
            match step {
                Step::Key(key) if is_plain_name(key) => {
                    path.push('.');
                    path.push_str(key);
                }
                Step::Key(key) => {
                    let mut quoted = Vec::new();
                    crate::escape::push_text(&mut quoted, key);
                    path.push('[');
                    path.push_str(&String::from_utf8_lossy(&quoted));
                    path.push(']');
                }
                Step::Item(index) => {
                    path.push('[');
                    path.push_str(&index.to_string());
                    path.push(']');
                }
            }
        }
        if let Some((cut, _)) = path.char_indices().nth(PATH_LIMIT) {
            path.truncate(cut);
            path.push('…');
        }
        path
    }
}

impl From<Fault> for Refusal {
    fn from(fault: Fault) -> Self {
        Self::new(fault)
    }
}

impl fmt::Display for Refusal {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let of = match self.fault {
            Fault::KeyType(_) | Fault::KeySurrogate => "a key of ",
            _ => "",
        };
        write!(out, "{of}{} {}", self.path(), self.fault)
    }
}

impl std::error::Error for Refusal {}

/// Letters, digits and underscores, as in `$.extra.items`.
fn is_plain_name(key: &str) -> bool {
    !key.is_empty()
        && !key.starts_with(|c: char| c.is_ascii_digit())
        && key.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_message_says_where_and_what_to_do() {
        let refusal = Refusal::new(Fault::Float)
            .within(Step::Item(3))
            .within(Step::Key("two words".into()))
            .within(Step::Key("extra".into()));
        assert_eq!(
            refusal.to_string(),
            "$.extra[\"two words\"][3] is a float: canonical JSON holds no floats; use an integer or a decimal string"
        );
        assert_eq!(refusal.kind(), Kind::Value);
        let refusal = Refusal::new(Fault::KeyType("int".into()));
        assert_eq!(refusal.to_string(), "a key of $ is of type 'int': keys must be strings");
        assert_eq!(refusal.kind(), Kind::Type);
    }

    #[test]
    fn a_long_path_is_cut() {
        let refusal = Refusal::new(Fault::Surrogate).within(Step::Key("ä".repeat(500)));
        let message = refusal.to_string();
        let path = message.split(" holds").next().unwrap();
        assert_eq!(path.chars().count(), PATH_LIMIT + 1);
        assert!(path.ends_with('…'));
    }
}
