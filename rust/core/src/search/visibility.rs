//! What one recall may show, by the columns of the index (spec/recall.md section 6.1; SPEC section 14.2).

use std::cmp::Reverse;

use hashbrown::HashSet;

use super::NONE;
use super::index::Index;
use super::records::{Id, Row, State, Tombstone};

/// Project, user, agent and session; nothing stands for everybody's, or for any.
pub type Scope<'a> = [Option<&'a str>; 4];

/// A text that no record has.
const UNKNOWN: u32 = NONE - 1;

/// What a recall may show.
#[derive(Clone, Debug)]
pub struct Filter<'a> {
    pub scope: Option<Scope<'a>>,
    pub archived: bool,
    pub history: bool,
    /// A bit for each type, by its number.
    pub types: u8,
    pub tags: Vec<&'a str>,
}

/// The records a recall may show.
#[derive(Debug)]
pub struct Visibility<'a> {
    index: &'a Index,
    /// The scope asked for, as numbers of texts.
    scope: Option<[u32; 4]>,
    archived: bool,
    history: bool,
    types: u8,
    tags: Vec<u32>,
}

/// What is held of an id.
enum Found<'a> {
    Record(u32, &'a Row),
    Tombstone(&'a Tombstone),
}

impl<'a> Visibility<'a> {
    /// What may be shown of an index.
    #[must_use]
    pub fn new(index: &'a Index, filter: &Filter<'_>) -> Self {
        let number = |text: &str| index.texts.find(text).unwrap_or(UNKNOWN);
        Self {
            index,
            scope: filter.scope.map(|scope| scope.map(|member| member.map_or(NONE, number))),
            archived: filter.archived,
            history: filter.history,
            types: filter.types,
            tags: filter.tags.iter().copied().map(number).collect(),
        }
    }

    /// Whether a record may be shown for itself.
    #[must_use]
    pub fn found(&self, row: &Row) -> bool {
        self.state_allows(row.state)
            && self.types & (1 << row.kind as u8) != 0
            && self.tags.iter().all(|tag| row.tags.contains(tag))
            && self.is_visible(row, self.scope)
            && !self.is_hidden(row)
    }

    /// Whether a record may be shown with one that is shown: sessions do not keep the two apart.
    #[must_use]
    pub fn may_accompany(&self, row: &Row) -> bool {
        self.is_visible(row, self.scope.map(|[project, user, agent, _]| [project, user, agent, NONE]))
    }

    /// The other side of a record's dispute, when both say so.
    #[must_use]
    pub fn partner(&self, row: &Row) -> Option<u32> {
        let other = self.index.number(row.partner()?)?;
        (self.index.row(other).partner() == Some(row.id)).then_some(other)
    }

    /// What a record replaced, however far back, newest first, each with its successor.
    #[must_use]
    pub fn predecessors(&self, row: &Row) -> Vec<(u32, Id)> {
        let mut found = Vec::new();
        if !self.history {
            return found;
        }
        let mut seen: HashSet<Id> = HashSet::new();
        seen.insert(row.id);
        let mut waiting = vec![row.id];
        while let Some(successor) = waiting.pop() {
            let replaces = match self.find(successor) {
                Some(Found::Record(_, row)) => row.replaces(),
                Some(Found::Tombstone(tombstone)) => &tombstone.replaces,
                None => &[],
            };
            let retired = self.index.retired.get(&successor).map_or(&[][..], Vec::as_slice);
            for old in replaces.iter().chain(retired) {
                let Some(held) = self.find(*old) else { continue };
                if !seen.insert(*old) {
                    continue;
                }
                waiting.push(*old);
                if let Found::Record(number, row) = held
                    && !row.state.is_live()
                    && self.state_allows(row.state)
                    && self.may_accompany(row)
                {
                    found.push((number, successor));
                }
            }
        }
        let order = |number: u32| (self.index.row(number).created_at, self.index.row(number).id);
        found.sort_by_key(|(number, _)| Reverse(order(*number)));
        found
    }

    fn find(&self, id: Id) -> Option<Found<'a>> {
        match self.index.number(id) {
            Some(number) => Some(Found::Record(number, self.index.row(number))),
            None => self.index.tombstones.get(&id).map(Found::Tombstone),
        }
    }

    fn state_allows(&self, state: State) -> bool {
        match state {
            State::Superseded => self.history,
            State::Archived => self.archived,
            State::Active | State::Transitional => true,
        }
    }

    fn is_visible(&self, row: &Row, asked: Option<[u32; 4]>) -> bool {
        let Some(asked) = asked else { return true };
        match self.scope_of(row) {
            Some(scope) => meets(scope, asked),
            None => asked[..3] == [NONE; 3],
        }
    }

    /// Whose a record is; what consolidation made without saying whose belongs to whom its evidence belongs to.
    fn scope_of(&self, row: &Row) -> Option<[u32; 4]> {
        let own = self.index.scope_numbers(row.scope);
        if row.borrowed().is_empty() {
            return Some(own);
        }
        let mut found: Option<[u32; 4]> = None;
        let mut several = false;
        let mut erased = false;
        let mut seen: HashSet<Id> = HashSet::new();
        seen.insert(row.id);
        let mut waiting = vec![row];
        while let Some(row) = waiting.pop() {
            for id in row.borrowed() {
                let Some(held) = self.find(*id) else { continue };
                if !seen.insert(*id) {
                    continue;
                }
                match held {
                    Found::Tombstone(_) => erased = true,
                    Found::Record(_, row) if !row.borrowed().is_empty() => waiting.push(row),
                    Found::Record(_, row) => {
                        let scope = self.index.scope_numbers(row.scope);
                        match found {
                            None => found = Some(scope),
                            Some(known) if known[..3] != scope[..3] => several = true,
                            // Sessions apart: it is of none of them.
                            Some(known) if known != scope => found = Some([known[0], known[1], known[2], NONE]),
                            Some(_) => {}
                        }
                    }
                }
            }
        }
        match found {
            _ if several => None,
            None if erased => None,
            None => Some(own),
            found => found,
        }
    }

    /// Whether a value under the same key, in a narrower scope that may be shown, stands for this one.
    fn is_hidden(&self, row: &Row) -> bool {
        if row.key == NONE || !row.state.is_live() {
            return false;
        }
        let wide = self.index.scope_numbers(row.scope);
        self.index.holders.get(&row.key).is_some_and(|scopes| {
            scopes.keys().any(|scope| {
                let narrow = self.index.scope_numbers(*scope);
                hides(narrow, wide) && self.scope.is_none_or(|asked| meets(narrow, asked))
            })
        })
    }
}

/// Whether each member of a scope is unset, not asked about, or the one asked for.
fn meets(scope: [u32; 4], asked: [u32; 4]) -> bool {
    scope.iter().zip(asked).all(|(own, want)| *own == NONE || want == NONE || *own == want)
}

/// Whether a scope contains all members that are set in another, and more.
fn hides(narrow: [u32; 4], wide: [u32; 4]) -> bool {
    narrow[..3] != wide[..3] && wide[..3].iter().zip(narrow).all(|(wide, narrow)| *wide == NONE || *wide == narrow)
}
