//! Whose a record is: the scope it names, or that of its evidence.

use hashbrown::HashSet;

use super::members::Scope;
use super::words::NONE;
use super::{Columns, parse_id};

impl Columns {
    /// The consolidation scope a record is treated as having; none when it spans several, or is not known.
    #[must_use]
    pub fn scope_of(&self, id: &str) -> Option<Scope> {
        self.row(id).and_then(|row| self.scope_of_row(row)).map(|scope| self.scope(scope))
    }

    /// The ids given, and those of the records whose scope hangs on them, sorted.
    #[must_use]
    pub fn affected<'a>(&self, ids: impl IntoIterator<Item = &'a str>) -> Vec<String> {
        let mut reached: Vec<String> = Vec::new();
        let mut numbers: Vec<u32> = Vec::new();
        for id in ids {
            reached.push(id.to_owned());
            numbers.extend(self.names.find(id));
        }
        reached.extend(self.borrowers(&numbers).into_iter().map(|row| self.names.text(row)));
        reached.sort_unstable();
        reached.dedup();
        reached
    }

    /// The rows whose scope hangs on what is named, however far, beyond what is named.
    pub(super) fn borrowers(&self, names: &[u32]) -> Vec<u32> {
        let mut seen: HashSet<u32> = names.iter().copied().collect();
        let mut waiting = names.to_vec();
        let mut found = Vec::new();
        while let Some(name) = waiting.pop() {
            for row in self.dependents.get(name) {
                if self.rows[*row as usize].borrows && seen.insert(*row) {
                    found.push(*row);
                    waiting.push(*row);
                }
            }
        }
        found
    }

    /// Its own scope, or that of its evidence, however far: what is erased says nothing, what differs makes none.
    pub(super) fn scope_of_row(&self, row: u32) -> Option<u32> {
        let own = &self.rows[row as usize];
        if !own.borrows {
            return Some(own.scope);
        }
        let mut found = NONE;
        let mut erased = false;
        let mut seen: HashSet<u32> = HashSet::from_iter([row]);
        let mut waiting = vec![row];
        while let Some(next) = waiting.pop() {
            for name in &self.rows[next as usize].evidence {
                let Some(item) = self.rows.get(*name as usize).filter(|item| item.known) else { continue };
                if item.redacted {
                    erased |= *name != row;
                } else if item.borrows {
                    if seen.insert(*name) {
                        waiting.push(*name);
                    }
                } else if found == NONE {
                    found = item.scope;
                } else if found != item.scope {
                    return None;
                }
            }
        }
        match found {
            NONE if erased => None,
            NONE => Some(own.scope),
            scope => Some(scope),
        }
    }

    /// The parts of a scope.
    pub(super) fn scope(&self, scope: u32) -> Scope {
        let mut parts = [const { None }; 3];
        for (part, word) in parts.iter_mut().zip(self.scopes.get(scope).unwrap_or_default()) {
            *part = (*word != NONE).then(|| self.words.text(*word).to_owned());
        }
        parts
    }

    /// Whether an id is among those of known records, as a number.
    pub(super) fn rows_of<'a>(&self, ids: impl IntoIterator<Item = &'a str>) -> HashSet<u32> {
        ids.into_iter().filter_map(|id| self.names.find_id(parse_id(id)?)).collect()
    }
}
