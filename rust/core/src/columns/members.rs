//! The active records, group by group.

use hashbrown::HashMap;

use super::Columns;
use super::payload::Kind;
use super::rows::kind_and_scope;
use super::words::{NONE, count};

/// Project, user and agent; what is not set comes before what is.
pub type Scope = [Option<String>; 3];

/// What groups are sorted by.
pub type GroupOrder<'a> = (Kind, [Option<&'a str>; 3]);

impl Columns {
    /// What a group is sorted by: its type, then its scope.
    pub(super) fn group_order(&self, group: u32) -> GroupOrder<'_> {
        let (kind, scope) = kind_and_scope(group);
        (kind, self.scope_order(scope))
    }

    /// What a scope is sorted by.
    pub(super) fn scope_order(&self, scope: u32) -> [Option<&str>; 3] {
        let mut parts = [None; 3];
        for (part, word) in parts.iter_mut().zip(self.scopes.get(scope).unwrap_or_default()) {
            *part = (*word != NONE).then(|| self.words.text(*word));
        }
        parts
    }

    /// The texts of the active records of each group that passes, sorted by group, in no order within one.
    pub(super) fn groups(&self, passes: impl Fn(u32) -> bool) -> Vec<(u32, Vec<u32>)> {
        let mut groups: HashMap<u32, Vec<u32>> = HashMap::new();
        for (number, text) in self.texts.iter().enumerate() {
            if let Some(text) = text
                && text.group != NONE
                && passes(text.group)
            {
                groups.entry(text.group).or_default().push(count(number));
            }
        }
        let mut groups: Vec<_> = groups.into_iter().collect();
        groups.sort_unstable_by_key(|(group, _)| self.group_order(*group));
        groups
    }

    /// Sorts texts by the ids of their records.
    pub(super) fn sort_by_id(&self, texts: Vec<u32>) -> Vec<u32> {
        let mut keyed: Vec<_> = texts
            .into_iter()
            .map(|number| (self.text(number).map(|text| self.id_of(text.row)).unwrap_or_default(), number))
            .collect();
        keyed.sort_unstable();
        keyed.into_iter().map(|(_, number)| number).collect()
    }
}
