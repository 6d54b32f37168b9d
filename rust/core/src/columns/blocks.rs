//! Which records say the same: blocks of two or more.

use hashbrown::HashSet;

use super::chains::Chains;
use super::index::Index;
use super::payload::Id;
use super::rows::Text;
use super::words::NONE;
use super::{Columns, id_text};

/// What the records of a block have in common.
#[derive(Clone, Copy, Debug)]
struct Sameness {
    chains: fn(&Index) -> &Chains,
    label: fn(&Index, &Text) -> u64,
    same: fn(&Text, &Text) -> bool,
    /// Whether records that all have a key are together only when it is the same.
    apart: bool,
}

const COPIES: Sameness = Sameness {
    chains: |index| &index.copies,
    label: Index::copy_label,
    same: |a, b| a.body == b.body && a.slots == b.slots && a.day == b.day,
    apart: true,
};
const TERMS: Sameness = Sameness {
    chains: |index| &index.terms,
    label: Index::terms_label,
    same: |a, b| a.terms() == b.terms() && a.bare() == b.bare(),
    apart: false,
};
const STATEMENTS: Sameness = Sameness {
    chains: |index| &index.statements,
    label: Index::statement_label,
    same: |a, b| a.statement == b.statement && a.slots == b.slots,
    apart: true,
};

impl Columns {
    /// Active records of one group with equal bodies and slots and, for episodes, days: two or more, sorted by id. Records that
    /// all have a key are together only when it is the same.
    ///
    /// About some ids: those with at least one of them.
    #[must_use]
    pub fn copies(&self, about: Option<&[&str]>) -> Vec<Vec<String>> {
        self.blocks(about, COPIES)
    }

    /// Active records of one group with equal sequences of content terms: two or more, sorted by id.
    ///
    /// With `statement`, only those that have equal slots and may be the same statement are together; and records that all have
    /// a key only when it is the same.
    #[must_use]
    pub fn same_terms(&self, about: Option<&[&str]>, statement: bool) -> Vec<Vec<String>> {
        self.blocks(about, if statement { STATEMENTS } else { TERMS })
    }

    fn blocks(&self, about: Option<&[&str]>, sameness: Sameness) -> Vec<Vec<String>> {
        let chains = (sameness.chains)(&self.index);
        let mut blocks = Vec::new();
        match about {
            None => chains.heads().for_each(|head| self.split(chains.chain(head), sameness, |_| true, &mut blocks)),
            Some(ids) => {
                let numbers = self.texts_of(ids.iter().copied());
                let labels: HashSet<u64> = numbers
                    .iter()
                    .filter_map(|number| self.text(*number))
                    .map(|text| (sameness.label)(&self.index, text))
                    .collect();
                let wanted = |number: u32| numbers.binary_search(&number).is_ok();
                for label in labels {
                    self.split(chains.get(label), sameness, wanted, &mut blocks);
                }
            }
        }
        blocks.sort_unstable_by_key(|(group, ids)| (self.group_order(*group), ids[0]));
        blocks.into_iter().map(|(_, ids)| ids.into_iter().map(id_text).collect()).collect()
    }

    /// The blocks under one label, with their groups: those of two or more with at least one that is wanted.
    fn split(
        &self,
        numbers: impl Iterator<Item = u32>,
        sameness: Sameness,
        wanted: impl Fn(u32) -> bool,
        blocks: &mut Vec<(u32, Vec<Id>)>,
    ) {
        let mut rest: Vec<(u32, &Text)> =
            numbers.filter_map(|number| self.text(number).map(|text| (number, text))).collect();
        // Only texts whose hashes are equal by chance make a second round.
        while let [(_, first), _, ..] = rest[..] {
            let is_same = |text: &Text| text.group == first.group && (sameness.same)(first, text);
            let (mut block, others): (Vec<_>, Vec<_>) = rest.into_iter().partition(|(_, text)| is_same(text));
            rest = others;
            let cut = sameness.apart && block.iter().all(|(_, text)| text.key != NONE);
            block.sort_unstable_by_key(|(_, text)| (if cut { text.key } else { NONE }, self.id_of(text.row)));
            for part in block.chunk_by(|(_, a), (_, b)| !cut || a.key == b.key) {
                if part.len() > 1 && part.iter().any(|(number, _)| wanted(*number)) {
                    blocks.push((first.group, part.iter().map(|(_, text)| self.id_of(text.row)).collect()));
                }
            }
        }
    }
}
