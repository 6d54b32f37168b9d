//! Records that share a content term or the name of a slot.

use super::Columns;
use super::grid::{Grid, Local};
use super::rows::Text;
use super::words::count;

/// Most records of one term or slot name that are related by it: those created last.
pub const BLOCK_LIMIT: usize = 256;

/// What is related within one group.
#[derive(Debug)]
pub struct Related {
    /// The labels of each member.
    labels: Grid<u32>,
    /// The members with each label that are related by it.
    blocks: Vec<Vec<u32>>,
}

impl Related {
    /// Of the members of a group, sorted by id.
    pub fn new(columns: &Columns, members: &[u32], local: &mut Local) -> Self {
        let texts = || members.iter().filter_map(|number| columns.text(*number));
        let mut labels = Grid::default();
        let mut blocks: Vec<Vec<u32>> = Vec::new();
        for (rank, text) in texts().enumerate() {
            let own = labels_of(text, local);
            for label in &own {
                if blocks.len() <= *label as usize {
                    blocks.resize_with(*label as usize + 1, Vec::new);
                }
                blocks[*label as usize].push(count(rank));
            }
            labels.push(&own);
        }
        local.clear();
        for block in &mut blocks {
            if block.len() > BLOCK_LIMIT {
                let born = |rank: &u32| columns.text(members[*rank as usize]).map(|text| text.born);
                block.sort_unstable_by_key(|rank| (born(rank), *rank));
                block.drain(..block.len() - BLOCK_LIMIT);
                block.sort_unstable();
            }
        }
        Self { labels, blocks }
    }

    /// The ranks after `first` of those related with it, through `found`; some more than once.
    pub fn later(&self, first: u32, mut found: impl FnMut(u32)) {
        for label in self.labels.get(first) {
            let block = &self.blocks[*label as usize];
            if let Ok(place) = block.binary_search(&first) {
                block[place + 1..].iter().for_each(|rank| found(*rank));
            }
        }
    }
}

impl Columns {
    /// How many pairs the limit keeps out of one group, at most.
    pub(super) fn left_out(&self, members: &[u32], local: &mut Local) -> u64 {
        let mut sizes: Vec<usize> = Vec::new();
        for text in members.iter().filter_map(|number| self.text(*number)) {
            for label in labels_of(text, local) {
                sizes.resize(sizes.len().max(label as usize + 1), 0);
                sizes[label as usize] += 1;
            }
        }
        local.clear();
        let over = sizes.into_iter().filter(|size| *size > BLOCK_LIMIT);
        over.map(|size| pairs_among(size) - pairs_among(BLOCK_LIMIT)).sum()
    }
}

/// The terms and the names of slots of a text, each once. A word may be both.
fn labels_of(text: &Text, local: &mut Local) -> Vec<u32> {
    let terms = text.terms().iter().map(|term| 2 * term);
    let names = text.slots.iter().map(|(name, _)| 2 * name + 1);
    let mut labels: Vec<u32> = terms.chain(names).map(|label| local.number(label)).collect();
    labels.sort_unstable();
    labels.dedup();
    labels
}

fn pairs_among(many: usize) -> u64 {
    let many = many as u64;
    many * many.saturating_sub(1) / 2
}
