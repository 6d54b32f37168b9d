//! Pairs of records, group by group in ascending order, found as they are asked for.

use std::collections::VecDeque;

use hashbrown::HashSet;

use crate::near_dup::{JoinError, Text as Compared, Threshold, similar_pairs};

use super::grid::Local;
use super::payload::{Id, Kind};
use super::rows::kind_and_scope;
use super::sweep::Sweep;
use super::words::count;
use super::{Columns, Fault};

/// Pairs put off that are named one by one; the rest is counted.
const LISTED: usize = 100;
/// How many pairs are found before they are given out.
const BUFFERED: usize = 4096;
/// How many partners are looked at before the caller is asked whether to go on.
const LOOKED_AT: usize = 1 << 22;
/// How many similar pairs are written out at a time.
const WRITTEN: usize = 1 << 20;

/// What makes two records a pair.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PairKind {
    /// Their trigrams are similar enough.
    Similar,
    /// They share a content term or the name of a slot.
    Related,
    /// One denies what the other claims, or they give a slot or key different values.
    Opposed,
}

impl PairKind {
    /// The kind of that name.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        Some(match name {
            "similar" => Self::Similar,
            "related" => Self::Related,
            "opposed" => Self::Opposed,
            _ => return None,
        })
    }
}

/// Which pairs are asked for.
#[derive(Clone, Copy, Debug)]
pub struct Asked<'a> {
    /// What makes a pair.
    pub kind: PairKind,
    /// Types of records; none means all.
    pub types: Option<&'a [Kind]>,
    /// What similar pairs reach.
    pub threshold: Threshold,
    /// Of a pair at least one side is one of these ids.
    pub about: Option<&'a [&'a str]>,
    /// Whether a record is in one pair only.
    pub once: bool,
}

/// A pair, and what was passed over before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Found {
    /// The lesser id.
    pub first: Id,
    /// The greater id.
    pub second: Id,
    /// How many pairs were passed over.
    pub waiting: u64,
    /// How many of those are listed.
    pub deferred: usize,
    /// Of how many records all pairs were found.
    pub done: usize,
}

/// A walk over pairs. Where columns change before it is over, it ends.
#[derive(Debug)]
pub struct Pairs {
    revision: u64,
    wanted: Option<HashSet<u32>>,
    source: Source,
    /// With `once`, for each row whether it is in a pair.
    engaged: Option<Vec<bool>>,
    waiting: u64,
    deferred: Vec<(Id, Id)>,
    left_out: u64,
    /// Of how many records the pairs have been looked for, and of how many they are.
    done: usize,
    total: usize,
    found: Vec<Found>,
}

#[derive(Debug)]
enum Source {
    /// All pairs, as ranks among the texts.
    Ready { members: Vec<u32>, pairs: Vec<(u32, u32)>, at: usize },
    /// Groups to walk over one after another.
    Groups { kind: PairKind, waiting: VecDeque<Vec<u32>>, sweep: Option<Box<Sweep>>, local: Local },
    /// Similar pairs, as ranks among the texts, written out part by part.
    Similar {
        members: Vec<u32>,
        pairs: Box<crate::near_dup::Pairs>,
        rows: VecDeque<(u32, Vec<u32>)>,
        next: Option<u32>,
    },
}

impl Columns {
    /// The pairs that are asked for. `go_on` is asked now and then while similar ones are looked for; nothing when it says no.
    pub fn pairs(&self, asked: Asked<'_>, mut go_on: impl FnMut() -> bool) -> Result<Option<Pairs>, Fault> {
        let rows = asked.about.map(|ids| self.rows_of(ids.iter().copied()));
        let own: Option<HashSet<u32>> = rows
            .as_ref()
            .map(|rows| rows.iter().filter_map(|row| self.text_of(*row)).map(|(_, text)| text.group).collect());
        let of_type = |group: u32| asked.types.is_none_or(|types| types.contains(&kind_and_scope(group).0));
        let touched = |group: u32| of_type(group) && own.as_ref().is_none_or(|own| own.contains(&group));
        let mut left_out = 0;
        let source = match asked.kind {
            PairKind::Opposed => self.opposed(&asked, of_type, touched),
            PairKind::Related => {
                let mut local = Local::new(2 * self.words.limit());
                let groups = self.groups(of_type);
                left_out = groups.iter().map(|(_, members)| self.left_out(members, &mut local)).sum();
                let waiting = groups.into_iter().filter(|(group, _)| touched(*group)).map(|(_, texts)| texts).collect();
                Source::Groups { kind: asked.kind, waiting, sweep: None, local }
            }
            PairKind::Similar => match asked.threshold {
                Threshold::Never => Source::Ready { members: Vec::new(), pairs: Vec::new(), at: 0 },
                Threshold::Every => self.every_group(asked.kind, touched),
                Threshold::Ratio { .. } => match self.similar(asked.threshold, rows.as_ref(), touched, &mut go_on)? {
                    Some(source) => source,
                    None => return Ok(None),
                },
            },
        };
        Ok(Some(Pairs {
            revision: self.revision,
            wanted: rows,
            source,
            engaged: asked.once.then(|| vec![false; self.rows.len()]),
            waiting: 0,
            deferred: Vec::new(),
            left_out,
            done: 0,
            total: Kind::ALL
                .into_iter()
                .filter(|kind| asked.types.is_none_or(|types| types.contains(kind)))
                .map(|kind| self.grouped[kind as usize])
                .sum(),
            found: Vec::new(),
        }))
    }

    fn every_group(&self, kind: PairKind, passes: impl Fn(u32) -> bool) -> Source {
        let waiting = self.groups(passes).into_iter().map(|(_, texts)| texts).collect();
        Source::Groups { kind, waiting, sweep: None, local: Local::new(self.words.limit()) }
    }

    fn opposed(&self, asked: &Asked<'_>, of_type: impl Fn(u32) -> bool, touched: impl Fn(u32) -> bool) -> Source {
        let gathered = asked.about.and_then(|ids| {
            let mut texts = self.texts_of(ids.iter().copied());
            texts.retain(|number| self.text(*number).is_some_and(|text| of_type(text.group)));
            self.opposed_to(&texts)
        });
        let Some(pairs) = gathered else { return self.every_group(asked.kind, touched) };
        let mut involved: Vec<u32> = pairs.iter().flat_map(|(a, b)| [*a, *b]).collect();
        involved.sort_unstable();
        involved.dedup();
        involved.sort_by_cached_key(|number| {
            let text = self.text(*number);
            text.map(|text| (self.group_order(text.group), self.id_of(text.row)))
        });
        let ranks: hashbrown::HashMap<u32, u32> =
            involved.iter().enumerate().map(|(rank, number)| (*number, count(rank))).collect();
        let mut pairs: Vec<(u32, u32)> = pairs.into_iter().map(|(a, b)| (ranks[&a], ranks[&b])).collect();
        pairs.sort_unstable();
        Source::Ready { members: involved, pairs, at: 0 }
    }

    fn similar(
        &self,
        threshold: Threshold,
        wanted: Option<&HashSet<u32>>,
        passes: impl Fn(u32) -> bool,
        go_on: &mut dyn FnMut() -> bool,
    ) -> Result<Option<Source>, Fault> {
        let mut members = Vec::new();
        for (_, texts) in self.groups(passes) {
            members.extend(self.sort_by_id(texts));
        }
        let compared: Vec<Compared<'_>> = members
            .iter()
            .filter_map(|number| self.text(*number))
            .map(|text| Compared {
                body: &text.body,
                group: text.group,
                dirty: wanted.is_none_or(|wanted| wanted.contains(&text.row)),
            })
            .collect();
        let mut progress = |_, _| {
            if go_on() { std::ops::ControlFlow::Continue(()) } else { std::ops::ControlFlow::Break(()) }
        };
        match similar_pairs(&compared, threshold, 0, &mut progress) {
            Ok(pairs) => {
                let next = Some(0);
                Ok(Some(Source::Similar { members, pairs: Box::new(pairs), rows: VecDeque::new(), next }))
            }
            Err(JoinError::Stopped) => Ok(None),
            Err(JoinError::TooMany) => Err(Fault::TooMany),
        }
    }
}

impl Source {
    /// The texts that ranks are of, at present.
    fn members(&self) -> &[u32] {
        match self {
            Self::Ready { members, .. } | Self::Similar { members, .. } => members,
            Self::Groups { sweep, .. } => sweep.as_ref().map_or(&[], |sweep| sweep.members()),
        }
    }

    /// The next rank that may come first in pairs, and in `later` those that come second; nothing at the end.
    fn step(&mut self, columns: &Columns, later: &mut Vec<u32>) -> Option<u32> {
        later.clear();
        match self {
            Self::Ready { pairs, at, .. } => {
                let (first, _) = *pairs.get(*at)?;
                let many = pairs[*at..].iter().take_while(|pair| pair.0 == first).count();
                later.extend(pairs[*at..*at + many].iter().map(|pair| pair.1));
                *at += many;
                Some(first)
            }
            Self::Groups { kind, waiting, sweep, local } => loop {
                if let Some(first) = sweep.as_mut().and_then(|sweep| sweep.step(columns, later)) {
                    return Some(first);
                }
                *sweep = Some(Box::new(Sweep::new(columns, *kind, waiting.pop_front()?, local)));
            },
            Self::Similar { pairs, rows, next, .. } => {
                if rows.is_empty() {
                    let from = next.take()?;
                    let mut written = 0;
                    // Goes on until told to stop: nothing can fail.
                    let _ = pairs.rows(
                        || true,
                        |first, seconds| {
                            if first < from {
                                return true;
                            }
                            if written > WRITTEN {
                                *next = Some(first);
                                return false;
                            }
                            written += seconds.len();
                            rows.push_back((first, seconds.to_vec()));
                            true
                        },
                    );
                }
                let (first, seconds) = rows.pop_front()?;
                *later = seconds;
                Some(first)
            }
        }
    }
}

impl Pairs {
    /// Finds more pairs, for [`Pairs::take`]: some, or none yet when that took long. False means that there are no more.
    ///
    /// Fails when the columns have changed since they were asked.
    pub fn find(&mut self, columns: &Columns) -> Result<bool, Fault> {
        if columns.revision != self.revision {
            return Err(Fault::Changed);
        }
        let mut later = Vec::new();
        let mut looked_at = 0;
        while self.found.len() < BUFFERED && looked_at < LOOKED_AT {
            let Some(first) = self.source.step(columns, &mut later) else {
                self.done = self.total;
                return Ok(false);
            };
            looked_at += 1 + later.len();
            self.add(columns, first, &mut later);
            self.done += usize::from(matches!(self.source, Source::Groups { .. }));
        }
        Ok(true)
    }

    /// The pairs that were found since the last call.
    pub fn take(&mut self) -> Vec<Found> {
        std::mem::take(&mut self.found)
    }

    /// How many pairs, at most, a bound kept out.
    #[must_use]
    pub fn left_out(&self) -> u64 {
        self.left_out
    }

    /// How many pairs were passed over so far, because a side was in a pair before.
    #[must_use]
    pub fn waiting(&self) -> u64 {
        self.waiting
    }

    /// Of how many records the pairs have been looked for so far; where they are found another way, that is known at the end.
    #[must_use]
    pub fn done(&self) -> usize {
        self.done
    }

    /// Of how many records the pairs are.
    #[must_use]
    pub fn total(&self) -> usize {
        self.total
    }

    /// The first of the pairs passed over.
    #[must_use]
    pub fn deferred(&self) -> &[(Id, Id)] {
        &self.deferred
    }

    fn add(&mut self, columns: &Columns, first: u32, later: &mut Vec<u32>) {
        let members = self.source.members();
        let row = |rank: u32| columns.text(members[rank as usize]).map_or(super::NONE, |text| text.row);
        if let Some(wanted) = &self.wanted
            && !wanted.contains(&row(first))
        {
            later.retain(|rank| wanted.contains(&row(*rank)));
        }
        let id = |rank: u32| columns.id_of(row(rank));
        let found = |second: u32, waiting: u64, deferred: usize| Found {
            first: id(first),
            second: id(second),
            waiting,
            deferred,
            done: self.done,
        };
        let Some(engaged) = &mut self.engaged else {
            later.sort_unstable();
            self.found.extend(later.iter().map(|second| found(*second, 0, 0)));
            return;
        };
        let is_engaged = |rank: u32| engaged.get(row(rank) as usize).copied().unwrap_or(true);
        let partner =
            if is_engaged(first) { None } else { later.iter().copied().filter(|rank| !is_engaged(*rank)).min() };
        if self.deferred.len() < LISTED {
            later.sort_unstable();
        }
        let mut put_off = |ranks: &mut dyn Iterator<Item = u32>| {
            for rank in ranks {
                self.waiting += 1;
                if self.deferred.len() < LISTED {
                    self.deferred.push((id(first), id(rank)));
                }
            }
            (self.waiting, self.deferred.len())
        };
        let Some(partner) = partner else {
            put_off(&mut later.iter().copied());
            return;
        };
        let (waiting, deferred) = put_off(&mut later.iter().copied().filter(|rank| *rank < partner));
        self.found.push(found(partner, waiting, deferred));
        put_off(&mut later.iter().copied().filter(|rank| *rank > partner));
        for rank in [first, partner] {
            if let Some(engaged) = engaged.get_mut(row(rank) as usize) {
                *engaged = true;
            }
        }
    }
}
