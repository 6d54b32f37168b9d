//! The indexes over what active records say.

use std::hash::{BuildHasher, Hash};

use hashbrown::DefaultHashBuilder;

use super::chains::Chains;
use super::lists::Lists;
use super::payload::Kind;
use super::rows::{Text, kind_and_scope, pair};
use super::words::NONE;

/// Texts by what they have in common, within their groups. Texts that are gone stay on their lists, are passed over by those
/// who read them, and are cleared away when they are many: a number is not used again before that.
#[derive(Debug, Default)]
pub struct Index {
    /// By a hash of body, slots and day. Texts with one label need not be equal.
    pub copies: Chains,
    /// By a hash of the terms; so, too.
    pub terms: Chains,
    /// By a hash of statement and slots; so, too.
    pub statements: Chains,
    /// By polarity and core term.
    claims: Lists<u64>,
    denials: Lists<u64>,
    /// By the name of a slot.
    slots: Lists<u64>,
    /// By key.
    keys: Lists<u64>,
    /// Episodes by scope and signature.
    pub episodes: Lists<u64>,
    hasher: DefaultHashBuilder,
}

impl Index {
    /// Enters a text that has a group. `signature` is that of an episode.
    pub fn enter(&mut self, number: u32, text: &Text, signature: u32) {
        let group = text.group;
        self.copies.add(self.copy_label(text), number);
        self.terms.add(self.terms_label(text), number);
        self.statements.add(self.statement_label(text), number);
        let postings = if text.negated { &mut self.denials } else { &mut self.claims };
        for term in text.core() {
            postings.add(pair(group, *term), number);
        }
        for (name, _) in &text.slots {
            self.slots.add(pair(group, *name), number);
        }
        if text.key != NONE {
            self.keys.add(pair(group, text.key), number);
        }
        let (kind, scope) = kind_and_scope(group);
        if kind == Kind::Episode && signature != NONE {
            self.episodes.add(pair(scope, signature), number);
        }
    }

    /// Clears away what is gone.
    pub fn retain(&mut self, live: impl Fn(u32) -> bool) {
        let Self { copies, terms, statements, claims, denials, slots, keys, episodes, hasher: _ } = self;
        for chains in [copies, terms, statements] {
            chains.retain(&live);
        }
        for lists in [claims, denials, slots, keys, episodes] {
            lists.retain(&live);
        }
    }

    /// Texts of a polarity with a core term.
    pub fn with_term(&self, group: u32, term: u32, negated: bool) -> &[u32] {
        let postings = if negated { &self.denials } else { &self.claims };
        postings.get(pair(group, term))
    }

    /// Texts with a slot of that name.
    pub fn with_slot(&self, group: u32, name: u32) -> &[u32] {
        self.slots.get(pair(group, name))
    }

    /// Texts with a key.
    pub fn with_key(&self, group: u32, key: u32) -> &[u32] {
        self.keys.get(pair(group, key))
    }

    pub fn copy_label(&self, text: &Text) -> u64 {
        self.label((text.group, &text.body, &text.slots, text.day))
    }

    pub fn terms_label(&self, text: &Text) -> u64 {
        self.label((text.group, text.terms(), text.bare()))
    }

    pub fn statement_label(&self, text: &Text) -> u64 {
        self.label((text.group, text.statement, &text.slots))
    }

    fn label(&self, of: impl Hash) -> u64 {
        self.hasher.hash_one(of)
    }
}
