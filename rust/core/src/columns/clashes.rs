//! Records that give a slot both have, or the key both have, another value.

use std::hash::BuildHasher;

use hashbrown::{DefaultHashBuilder, HashMap};

use crate::text::lexicon::{NEGATOR, lookup};
use crate::text::{Kind as TokenKind, fold, scan, slot_values_clash};

use super::Columns;
use super::rows::Text;
use super::words::{NONE, count};

/// What a slot value is compared by: a keyed hash of each of its folded words, runs and symbols, odd for negators only.
pub type Gist = Box<[u64]>;

/// Whether two values contradict each other, by their gists: `text::slot_values_clash`, for values met again and again.
fn gists_clash(a: (&[u64], &str), b: (&[u64], &str)) -> bool {
    let (part, whole) = if a.0.len() <= b.0.len() { (a.0, b.0) } else { (b.0, a.0) };
    if part.is_empty() {
        return slot_values_clash(a.1, b.1);
    }
    if part.len() == whole.len() {
        return part != whole;
    }
    let Some(start) = whole.windows(part.len()).position(|stretch| stretch == part) else { return true };
    let mut added = whole[..start].iter().chain(&whole[start + part.len()..]);
    added.any(|word| word & 1 == 1)
}

/// The gist of a value.
pub fn gist(value: &str, hasher: &DefaultHashBuilder) -> Gist {
    let scanned = scan(value);
    let said = scanned.tokens.iter().filter(|token| token.kind != TokenKind::Mark);
    said.map(|token| {
        let word = fold(scanned.text(*token));
        let hash = hasher.hash_one(&word) & !1;
        hash | u64::from(lookup(&word).any(NEGATOR))
    })
    .collect()
}

impl Columns {
    /// The later or earlier texts a text clashes with, through `found`; some more than once.
    pub(super) fn clashes_of(&self, number: u32, text: &Text, mut found: impl FnMut(u32)) {
        for (name, value) in &text.slots {
            let own = self.value(*value);
            for other in self.index.with_slot(text.group, *name) {
                let Some(held) = self.text(*other).and_then(|other| other.slots.iter().find(|slot| slot.0 == *name))
                else {
                    continue;
                };
                if held.1 != *value && gists_clash(own, self.value(held.1)) {
                    found(*other);
                }
            }
        }
        if text.key == NONE {
            return;
        }
        for other in self.index.with_key(text.group, text.key) {
            if *other != number && self.text(*other).is_some_and(|other| self.under_one_key(text, other)) {
                found(*other);
            }
        }
    }

    /// A slot value and what it is compared by.
    fn value(&self, word: u32) -> (&[u64], &str) {
        (self.gists.get(&word).map_or(&[], |gist| gist), self.words.text(word))
    }

    /// Whether the values two records have under their key clash: the objects when both have one, else the bodies.
    fn under_one_key(&self, a: &Text, b: &Text) -> bool {
        if a.object != NONE && b.object != NONE {
            return a.object != b.object && slot_values_clash(self.words.text(a.object), self.words.text(b.object));
        }
        a.body != b.body && slot_values_clash(&a.body, &b.body)
    }
}

/// The clashes within one group.
#[derive(Debug, Default)]
pub struct Clashes {
    values: Values,
    /// By the name of a slot: who has it, with which value.
    slots: HashMap<u32, Vec<(u32, u32)>>,
    /// By key: who has it, with which object, or none, and body.
    keys: HashMap<u32, Vec<(u32, u32, u32)>>,
}

/// Different values, and what they are compared by.
#[derive(Debug, Default)]
struct Values {
    gists: Vec<u64>,
    /// Where the gist of each begins and ends.
    spans: Vec<(u32, u32)>,
    /// The texts of those without any word.
    wordless: HashMap<u32, String>,
}

impl Values {
    fn push(&mut self, gist: &[u64], text: &str) -> u32 {
        let value = count(self.spans.len());
        let start = count(self.gists.len());
        self.gists.extend_from_slice(gist);
        self.spans.push((start, count(self.gists.len())));
        if gist.is_empty() {
            self.wordless.insert(value, text.to_owned());
        }
        value
    }

    fn gist(&self, value: u32) -> &[u64] {
        let (start, end) = self.spans[value as usize];
        &self.gists[start as usize..end as usize]
    }

    fn clash(&self, a: u32, b: u32) -> bool {
        if a == b {
            return false;
        }
        let text = |value: u32| self.wordless.get(&value).map_or("word", String::as_str);
        let (left, right) = (self.gist(a), self.gist(b));
        if let ([left], [right]) = (left, right) {
            return left != right;
        }
        // A value without words clashes with any that has some, whatever these are.
        if left.is_empty() || right.is_empty() {
            return slot_values_clash(text(a), text(b));
        }
        gists_clash((left, ""), (right, ""))
    }
}

impl Clashes {
    /// Of the members of a group, sorted by id.
    pub fn new(columns: &Columns, members: &[u32]) -> Self {
        let mut found = Self::default();
        let mut words: HashMap<u32, u32> = HashMap::new();
        let mut bodies: HashMap<&str, u32> = HashMap::new();
        for (rank, number) in members.iter().enumerate() {
            let Some(text) = columns.text(*number) else { continue };
            let rank = count(rank);
            for (name, value) in &text.slots {
                let value = *words.entry(*value).or_insert_with(|| {
                    let (gist, text) = columns.value(*value);
                    found.values.push(gist, text)
                });
                found.slots.entry(*name).or_default().push((rank, value));
            }
            if text.key != NONE {
                // Few keys have two holders: only of those are the values looked at.
                found.keys.entry(text.key).or_default().push((rank, NONE, *number));
            }
        }
        found.slots.retain(|_, holders| holders.iter().any(|(_, value)| *value != holders[0].1));
        found.keys.retain(|_, holders| holders.len() > 1);
        let Self { values, keys, .. } = &mut found;
        for (rank, object, body) in keys.values_mut().flatten() {
            let Some(text) = columns.text(members[*rank as usize]) else { continue };
            if text.object != NONE {
                let said = columns.words.text(text.object);
                *object =
                    *words.entry(text.object).or_insert_with(|| values.push(&gist(said, &columns.value_hasher), said));
            }
            *body = *bodies
                .entry(&text.body)
                .or_insert_with(|| values.push(&gist(&text.body, &columns.value_hasher), &text.body));
        }
        found
    }

    /// The ranks after `first` of those that clash with it, through `found`; some more than once.
    pub fn later(&self, text: &Text, first: u32, mut found: impl FnMut(u32)) {
        for (name, _) in &text.slots {
            let Some(holders) = self.slots.get(name) else { continue };
            let from = holders.partition_point(|(rank, _)| *rank < first);
            let [(_, own), later @ ..] = &holders[from..] else { continue };
            later.iter().filter(|(_, value)| self.values.clash(*own, *value)).for_each(|(rank, _)| found(*rank));
        }
        let Some(holders) = self.keys.get(&text.key) else { return };
        let from = holders.partition_point(|(rank, _, _)| *rank < first);
        let [(_, own_object, own_body), later @ ..] = &holders[from..] else { return };
        for (rank, object, body) in later {
            let both = *own_object != NONE && *object != NONE;
            let (own, other) = if both { (own_object, object) } else { (own_body, body) };
            if self.values.clash(*own, *other) {
                found(*rank);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gists_clash_where_the_values_do() {
        let hasher = DefaultHashBuilder::default();
        let values = [
            "",
            "!",
            "?",
            "on",
            "On",
            "not on",
            "off",
            "Postgres",
            "postgres 14",
            "Postgres 14 or 15",
            "1",
            "1.5",
            "-5",
            "5",
            "us-east-1",
            "eu-west-1",
            "a b",
            "a b c",
            "b a",
            "c# on",
            "日本",
            "never a b c",
            "…",
            " ! ",
        ];
        let mut held = Values::default();
        let numbers = values.map(|value| held.push(&gist(value, &hasher), value));
        for (x, first) in values.iter().zip(numbers) {
            for (y, second) in values.iter().zip(numbers) {
                let gists = (gist(x, &hasher), gist(y, &hasher));
                assert_eq!(gists_clash((&gists.0, x), (&gists.1, y)), slot_values_clash(x, y), "{x} {y}");
                assert_eq!(held.clash(first, second), slot_values_clash(x, y), "{x} {y}");
            }
        }
    }
}
