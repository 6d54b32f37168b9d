//! The pairs of one group, record by record.

use super::Columns;
use super::clashes::Clashes;
use super::denials::Denials;
use super::grid::Local;
use super::pairs::PairKind;
use super::related::Related;
use super::words::count;

/// What makes two records of the group a pair.
#[derive(Debug)]
enum Partners {
    Opposed(Box<(Denials, Clashes)>),
    Related(Related),
    /// Any two.
    Every,
}

/// A walk over the records of one group, sorted by id, and for each the later ones it makes a pair with.
#[derive(Debug)]
pub struct Sweep {
    members: Vec<u32>,
    next: u32,
    partners: Partners,
    /// For each member the last one, counted from 1, that was compared with it, and that was found to make a pair with it.
    seen: Vec<u32>,
    taken: Vec<u32>,
}

impl Sweep {
    /// Of the texts of a group, in any order.
    pub fn new(columns: &Columns, kind: PairKind, texts: Vec<u32>, local: &mut Local) -> Self {
        let members = columns.sort_by_id(texts);
        let partners = match kind {
            PairKind::Opposed => {
                Partners::Opposed(Box::new((Denials::new(columns, &members, local), Clashes::new(columns, &members))))
            }
            PairKind::Related => Partners::Related(Related::new(columns, &members, local)),
            PairKind::Similar => Partners::Every,
        };
        let marks = if matches!(partners, Partners::Every) { Vec::new() } else { vec![0; members.len()] };
        Self { seen: marks.clone(), taken: marks, members, next: 0, partners }
    }

    /// The texts walked over, sorted by id.
    pub fn members(&self) -> &[u32] {
        &self.members
    }

    /// The next member, and in `later` the later ones it makes a pair with, in no order; nothing at the end.
    pub fn step(&mut self, columns: &Columns, later: &mut Vec<u32>) -> Option<u32> {
        let Self { members, next, partners, seen, taken } = self;
        later.clear();
        let first = *next;
        let number = *members.get(first as usize)?;
        *next += 1;
        let Some(text) = columns.text(number) else { return Some(first) };
        let mark = first + 1;
        let mut take = |rank: u32| {
            if std::mem::replace(&mut taken[rank as usize], mark) != mark {
                later.push(rank);
            }
        };
        match partners {
            Partners::Opposed(opposed) => {
                let is_new = |rank: u32| std::mem::replace(&mut seen[rank as usize], mark) != mark;
                opposed.0.later(text.negated, first, is_new, &mut take);
                opposed.1.later(text, first, take);
            }
            Partners::Related(related) => related.later(first, take),
            Partners::Every => later.extend(mark..count(members.len())),
        }
        Some(first)
    }
}
