//! What one term adds to the sums of records: its own impact, and what a session lends (spec/recall.md section 5.2).

use super::config::Config;
use super::postings::Posting;
use super::records::Row;
use super::sessions::Sessions;
use super::weights::impact;

/// A sum of impacts, of 32 bits where no sum can be greater, else of 64.
pub trait Sum: Copy + Default + Ord + Into<u64> {
    /// Adds to the sum.
    fn add(&mut self, impact: u32);
}

impl Sum for u32 {
    fn add(&mut self, impact: u32) {
        *self = self.wrapping_add(impact);
    }
}

impl Sum for u64 {
    fn add(&mut self, impact: u32) {
        *self = self.wrapping_add(u64::from(impact));
    }
}

/// Memory that queries use again and again.
#[derive(Debug, Default)]
pub struct Scratch {
    /// A sum for each record, all zero between queries.
    pub narrow: Vec<u32>,
    pub wide: Vec<u64>,
    pub lending: Lending,
}

/// What is known of one term while it is added, all empty or zero between terms.
#[derive(Debug, Default)]
pub struct Lending {
    /// Own and lent impacts of records whose numbers follow each other.
    own: Vec<u32>,
    lent: Vec<u32>,
    /// Own and lent impacts of scattered records, by number, and which of them there are.
    scattered: Vec<[u32; 2]>,
    met: Vec<u32>,
}

/// The postings of a term and what they count.
#[derive(Clone, Copy, Debug)]
pub struct Term<'a> {
    pub list: &'a [Posting],
    /// What each shape counts.
    pub weights: &'a [u32],
    pub rarity: u32,
}

impl Term<'_> {
    fn impact(&self, posting: Posting) -> u32 {
        impact(self.weights[posting.shape as usize], self.rarity)
    }

    /// Adds the impact of every record that has the term.
    pub fn add_own(&self, sums: &mut [impl Sum]) {
        for posting in self.list {
            sums[posting.record as usize].add(self.impact(*posting));
        }
    }
}

/// What is asked of the records around a posting.
#[derive(Clone, Copy, Debug)]
pub struct Around<'a> {
    pub rows: &'a [Row],
    pub sessions: &'a Sessions,
    pub config: &'a Config,
}

impl Around<'_> {
    /// What own and lent impact count together.
    fn together(&self, own: u32, lent: u32) -> u32 {
        own.max(lent) + own.min(lent) * u32::from(self.config.overlap) / 100
    }

    /// What is lent to a record that may be a long one.
    #[allow(clippy::cast_possible_truncation)] // It gets smaller.
    fn damped(&self, lent: u32, record: usize) -> u32 {
        let (most, distinct) = (self.config.context_length, self.rows[record].terms.len() as u64);
        if 0 < most && most < distinct {
            (u128::from(lent) * u128::from(most) / u128::from(distinct)) as u32
        } else {
            lent
        }
    }
}

impl Lending {
    /// Adds what a term is worth in each record, own and lent together.
    pub fn add(&mut self, term: Term<'_>, around: Around<'_>, sums: &mut [impl Sum]) {
        let reaches = around.sessions.reaches();
        let shares = &around.config.context;
        let list = term.list;
        let mut at = 0;
        while at < list.len() {
            let record = list[at].record as usize;
            let reach = reaches[record];
            let start = record - reach.before();
            let mut end = record + reach.after();
            let mut scattered = reach.is_near_scattered();
            let mut long = reach.is_near_long();
            let first = at;
            at += 1;
            // Postings that lend to the same records are taken together.
            while let Some(next) = list.get(at) {
                let place = next.record as usize;
                let reach = reaches[place];
                if place - reach.before() > end {
                    break;
                }
                end = end.max(place + reach.after());
                scattered |= reach.is_near_scattered();
                long |= reach.is_near_long();
                at += 1;
            }
            let group = &list[first..at];
            if group.len() == 1 && !scattered && !long {
                let impact = term.impact(group[0]);
                sums[record].add(impact);
                for (sum, share) in sums[record + 1..=end].iter_mut().zip(shares) {
                    sum.add(impact * u32::from(*share) / 100);
                }
                for (sum, share) in sums[start..record].iter_mut().rev().zip(shares) {
                    sum.add(impact * u32::from(*share) / 100);
                }
                continue;
            }
            self.add_group(term, group, around, start, sums, end, (scattered, long));
            if scattered {
                self.lend_far(term, group, around);
            }
        }
        self.add_scattered(around, sums);
    }

    /// Adds what postings lend to the records from `start` to `end`, those aside that are scattered.
    #[allow(clippy::too_many_arguments)]
    fn add_group(
        &mut self,
        term: Term<'_>,
        group: &[Posting],
        around: Around<'_>,
        start: usize,
        sums: &mut [impl Sum],
        end: usize,
        (scattered, long): (bool, bool),
    ) {
        let reaches = around.sessions.reaches();
        let shares = &around.config.context;
        let Self { own, lent, .. } = self;
        own.clear();
        own.resize(end + 1 - start, 0);
        lent.clear();
        lent.resize(end + 1 - start, 0);
        for posting in group {
            let impact = term.impact(*posting);
            let reach = reaches[posting.record as usize];
            let place = posting.record as usize - start;
            own[place] = impact;
            for (lent, share) in lent[place + 1..=place + reach.after()].iter_mut().zip(shares) {
                *lent = (*lent).max(impact * u32::from(*share) / 100);
            }
            for (lent, share) in lent[place - reach.before()..place].iter_mut().rev().zip(shares) {
                *lent = (*lent).max(impact * u32::from(*share) / 100);
            }
        }
        for (place, ((own, lent), sum)) in own.iter().zip(lent.iter()).zip(&mut sums[start..=end]).enumerate() {
            if scattered && reaches[start + place].is_scattered() {
                continue;
            }
            let lent = if long { around.damped(*lent, start + place) } else { *lent };
            sum.add(around.together(*own, lent));
        }
    }

    /// Notes what postings lend to scattered records, and what these have themselves.
    fn lend_far(&mut self, term: Term<'_>, group: &[Posting], around: Around<'_>) {
        let reaches = around.sessions.reaches();
        self.scattered.resize(reaches.len(), [0; 2]);
        for posting in group.iter().filter(|posting| reaches[posting.record as usize].is_near_scattered()) {
            let impact = term.impact(*posting);
            if reaches[posting.record as usize].is_scattered() {
                self.note(posting.record, 0, impact);
            }
            for after in [false, true] {
                for (neighbour, share) in around.sessions.walk(posting.record, after).zip(&around.config.context) {
                    if reaches[neighbour as usize].is_scattered() {
                        self.note(neighbour, 1, impact * u32::from(*share) / 100);
                    }
                }
            }
        }
    }

    fn note(&mut self, record: u32, kind: usize, impact: u32) {
        let held = &mut self.scattered[record as usize];
        if impact > 0 && *held == [0; 2] {
            self.met.push(record);
        }
        held[kind] = held[kind].max(impact);
    }

    fn add_scattered(&mut self, around: Around<'_>, sums: &mut [impl Sum]) {
        for record in self.met.drain(..) {
            let place = record as usize;
            let [own, lent] = std::mem::take(&mut self.scattered[place]);
            sums[place].add(around.together(own, around.damped(lent, place)));
        }
    }
}
