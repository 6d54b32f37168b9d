//! What recurs, and what was drawn from what.

use hashbrown::HashSet;

use super::payload::Kind;
use super::rows::pair;
use super::words::NONE;
use super::{Columns, Scope, id_text};

/// A signature that recurs in a scope: its episodes, and the rules that stand, or stood, for it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Recurring {
    /// Project, user and agent.
    pub scope: Scope,
    /// Tags, or names of slots, sorted.
    pub signature: Vec<String>,
    /// Ids of active episodes, sorted.
    pub episodes: Vec<String>,
    /// Ids of rules of consolidation that are not redacted, sorted.
    pub rules: Vec<String>,
}

impl Columns {
    /// What happened again and again: signatures that `least` active episodes have, or one or more while a live rule stands for
    /// it; sorted by scope and signature. About some ids: where one of them is among the episodes or rules, or is a rule drawn
    /// from one of the episodes, wherever it stands by now.
    #[must_use]
    pub fn recurring(&self, least: i64, about: Option<&[&str]>) -> Vec<Recurring> {
        let mut found = Vec::new();
        match about {
            None => {
                for (label, list) in self.index.episodes.iter() {
                    found.extend(self.recurs(label, list, least));
                }
            }
            Some(ids) => {
                let rows = ids.iter().filter_map(|id| self.row(id));
                let labels: HashSet<u64> =
                    rows.flat_map(|row| self.drawn_from(row)).filter_map(|row| self.signature_of(row)).collect();
                for label in labels {
                    found.extend(self.recurs(label, self.index.episodes.get(label), least));
                }
            }
        }
        found.sort_unstable_by(|(a, _, _), (b, _, _)| self.recurring_order(*a).cmp(&self.recurring_order(*b)));
        found
            .into_iter()
            .map(|(label, episodes, rules)| {
                let (scope, signature) = self.recurring_order(label);
                Recurring {
                    scope: scope.map(|part| part.map(str::to_owned)),
                    signature: signature.into_iter().map(str::to_owned).collect(),
                    episodes: self.sorted_ids(episodes),
                    rules: self.sorted_ids(rules),
                }
            })
            .collect()
    }

    /// What the redacted rules were drawn from, sorted.
    #[must_use]
    pub fn erased_evidence(&self) -> Vec<String> {
        let evidence = self.erased_rules.iter().flat_map(|row| self.rows[*row as usize].evidence.iter());
        let mut found: Vec<String> = evidence.map(|name| self.names.text(*name)).collect();
        found.sort_unstable();
        found.dedup();
        found
    }

    /// The live rules, sorted; about some ids: those, and rules whose evidence one of them is, or is where evidence leads to
    /// that was superseded.
    #[must_use]
    pub fn rules(&self, about: Option<&[&str]>) -> Vec<String> {
        let Some(ids) = about else { return self.sorted_ids(self.live_rules.iter().copied().collect()) };
        let mut reached: HashSet<u32> = ids.iter().filter_map(|id| self.names.find(id)).collect();
        let mut found: HashSet<u32> = reached.iter().copied().filter(|name| self.live_rules.contains(name)).collect();
        let mut waiting: Vec<u32> = reached.iter().copied().collect();
        while let Some(name) = waiting.pop() {
            found.extend(self.dependents.get(name).iter().filter(|row| self.live_rules.contains(*row)));
            waiting.extend(self.successors.get(name).iter().copied().filter(|row| reached.insert(*row)));
        }
        self.sorted_ids(found.into_iter().collect())
    }

    /// The row, and what it was drawn from when it is a rule of consolidation.
    fn drawn_from(&self, row: u32) -> impl Iterator<Item = u32> {
        let held = &self.rows[row as usize];
        let is_rule = held.kind == Kind::Rule && held.made;
        // Evidence that is no id has a number, and no row.
        let evidence = held.evidence.iter().copied().filter(move |name| is_rule && (*name as usize) < self.rows.len());
        std::iter::once(row).chain(evidence)
    }

    /// The scope and signature of a row that recurs or stands for what does, as one number.
    fn signature_of(&self, row: u32) -> Option<u64> {
        let held = &self.rows[row as usize];
        let episode = held.kind == Kind::Episode && held.text != NONE && held.signature != NONE && held.treated != NONE;
        if episode { Some(pair(held.treated, held.signature)) } else { held.standing }
    }

    /// The rows of active episodes and of rules under a label, if they are enough.
    fn recurs(&self, label: u64, list: &[u32], least: i64) -> Option<(u64, Vec<u32>, Vec<u32>)> {
        let episodes: Vec<u32> = list.iter().filter_map(|number| self.text(*number)).map(|text| text.row).collect();
        let rules = self.standing.get(label);
        let stands = || rules.iter().any(|rule| self.rows[*rule as usize].state.is_live());
        let enough = i64::try_from(episodes.len()).is_ok_and(|many| many >= least) || stands();
        (enough && !episodes.is_empty()).then(|| (label, episodes, rules.to_vec()))
    }

    #[allow(clippy::cast_possible_truncation)]
    fn recurring_order(&self, label: u64) -> ([Option<&str>; 3], Vec<&str>) {
        let words = self.signatures.get(label as u32).unwrap_or_default();
        (self.scope_order((label >> 32) as u32), words.iter().map(|word| self.words.text(*word)).collect())
    }

    fn sorted_ids(&self, rows: Vec<u32>) -> Vec<String> {
        let mut ids: Vec<_> = rows.into_iter().map(|row| self.id_of(row)).collect();
        ids.sort_unstable();
        ids.into_iter().map(id_text).collect()
    }
}
