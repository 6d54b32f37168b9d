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
    /// What postings of each shape count, and lend.
    gifts: Vec<Gift>,
    impacts: Vec<u32>,
    /// What is lent to records whose numbers follow each other, with [`WIDE`] places more on either side.
    lent: Vec<i32>,
    /// Own impacts of the same records.
    own: Vec<u32>,
    /// Own and lent impacts of scattered records, by number, and which of them there are.
    scattered: Vec<[u32; 2]>,
    met: Vec<u32>,
}

/// How many records on either side are lent to at once; a wider context is met record by record.
const WIDE: usize = 5;
/// The records of a stretch.
const STRETCH: usize = 2 * WIDE + 1;

/// What a posting counts, and what it lends to the records around its own, which is in the middle. An impact is below 2³⁰,
/// and signed numbers are compared quicker.
#[derive(Clone, Copy, Debug)]
struct Gift {
    own: u32,
    lent: [i32; STRETCH],
}

/// Lets through what is lent to as many records before and after as there are.
static MASKS: [[[i32; STRETCH]; WIDE + 1]; WIDE + 1] = {
    let mut masks = [[[0; STRETCH]; WIDE + 1]; WIDE + 1];
    let mut before = 0;
    while before <= WIDE {
        let mut after = 0;
        while after <= WIDE {
            let mut place = WIDE - before;
            while place <= WIDE + after {
                masks[before][after][place] = -1;
                place += 1;
            }
            after += 1;
        }
        before += 1;
    }
    masks
};

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

    /// Whether there are so many postings that what each shape counts is worked out first.
    fn is_long(&self) -> bool {
        self.list.len() > 4 * self.weights.len()
    }
}

/// What an impact counts and lends.
#[allow(clippy::cast_possible_wrap)]
fn gift(impact: u32, shares: &[u8]) -> Gift {
    let mut lent = [0; STRETCH];
    for (place, share) in shares.iter().enumerate().take(WIDE) {
        lent[WIDE + 1 + place] = (impact * u32::from(*share) / 100) as i32;
        lent[WIDE - 1 - place] = lent[WIDE + 1 + place];
    }
    Gift { own: impact, lent }
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

/// Adds the impact of every posting. On its own, what the loop needs fits into registers.
#[inline(never)]
fn add_each(list: &[Posting], impacts: &[u32], sums: &mut [impl Sum]) {
    for posting in list {
        sums[posting.record as usize].add(impacts[posting.shape as usize]);
    }
}

/// Adds what one posting lends, as far as the mask lets it through.
#[allow(clippy::cast_sign_loss)]
fn add_lent(sums: &mut [impl Sum], record: usize, start: usize, gift: &Gift, mask: &[i32; STRETCH]) {
    let stretch = record.checked_sub(WIDE).and_then(|from| sums.get_mut(from..from + STRETCH));
    if let Some(stretch) = stretch {
        for (sum, (lent, mask)) in stretch.iter_mut().zip(gift.lent.iter().zip(mask)) {
            sum.add((lent & mask) as u32);
        }
        return;
    }
    // At the first and the last numbers there are.
    let lent = gift.lent.iter().zip(mask).map(|(lent, mask)| (lent & mask) as u32).skip(WIDE + start - record);
    for (sum, lent) in sums[start..].iter_mut().zip(lent) {
        sum.add(lent);
    }
}

impl Lending {
    /// Adds the impact of every record that has a term.
    pub fn add_own(&mut self, term: Term<'_>, sums: &mut [impl Sum]) {
        if !term.is_long() {
            for posting in term.list {
                sums[posting.record as usize].add(term.impact(*posting));
            }
            return;
        }
        self.impacts.clear();
        self.impacts.extend(term.weights.iter().map(|weight| impact(*weight, term.rarity)));
        add_each(term.list, &self.impacts, sums);
    }

    /// Adds what a term is worth in each record, own and lent together.
    #[inline(never)]
    pub fn add(&mut self, term: Term<'_>, around: Around<'_>, sums: &mut [impl Sum]) {
        let reaches = around.sessions.reaches();
        let shares = &around.config.context;
        let list = term.list;
        self.gifts.clear();
        if term.is_long() {
            self.gifts.extend(term.weights.iter().map(|weight| gift(impact(*weight, term.rarity), shares)));
        }
        let narrow = shares.len() <= WIDE;
        let mut at = 0;
        while at < list.len() {
            let record = list[at].record as usize;
            let reach = reaches[record];
            if reach.is_alone() {
                sums[record].add(term.impact(list[at]));
                at += 1;
                continue;
            }
            let start = record - reach.before();
            let mut end = record + reach.after();
            let mut special = reach.is_special();
            let first = at;
            at += 1;
            // Postings that lend to the same records are taken together.
            while let Some(next) = list.get(at) {
                let place = next.record as usize;
                let reach = reaches[place];
                if place - reach.before() > end {
                    break;
                }
                end = place + reach.after();
                special |= reach.is_special();
                at += 1;
            }
            let group = &list[first..at];
            if special || !narrow {
                self.add_special(term, group, around, start, sums, end);
                self.lend_far(term, group, around);
            } else if let [posting] = group {
                let gift = self.gift_of(term, *posting, shares);
                let mask = &MASKS[reach.before()][reach.after()];
                sums[record].add(gift.own);
                add_lent(sums, record, start, &gift, mask);
            } else {
                self.add_group(term, group, around, start, &mut sums[start..=end]);
            }
        }
        self.add_scattered(around, sums);
    }

    fn gift_of(&self, term: Term<'_>, posting: Posting, shares: &[u8]) -> Gift {
        match self.gifts.get(posting.shape as usize) {
            Some(gift) => *gift,
            None => gift(term.impact(posting), shares),
        }
    }

    /// Adds what postings count and lend to the records from `start` on, none of them scattered or long.
    #[allow(clippy::cast_sign_loss)]
    fn add_group(
        &mut self,
        term: Term<'_>,
        group: &[Posting],
        around: Around<'_>,
        start: usize,
        sums: &mut [impl Sum],
    ) {
        let shares = &around.config.context;
        let mut lent = std::mem::take(&mut self.lent);
        lent.resize(sums.len() + 2 * WIDE, 0);
        // What lies before the first or after the last of a session falls into the places more.
        for posting in group {
            let place = posting.record as usize - start;
            let gift = self.gift_of(term, *posting, shares);
            for (lent, gift) in lent[place..place + STRETCH].iter_mut().zip(gift.lent) {
                *lent = (*lent).max(gift);
            }
        }
        let lent_there = &lent[WIDE..];
        for posting in group {
            let place = posting.record as usize - start;
            let own = self.gift_of(term, *posting, shares).own;
            // What is lent is added below.
            sums[place].add(around.together(own, lent_there[place] as u32) - lent_there[place] as u32);
        }
        for (sum, lent) in sums.iter_mut().zip(lent_there) {
            sum.add(*lent as u32);
        }
        lent.clear();
        self.lent = lent;
    }

    /// The same for records of which some are scattered or long, or for a wide context. The scattered are left out.
    #[inline(never)]
    #[allow(clippy::cast_possible_wrap, clippy::cast_sign_loss)]
    fn add_special(
        &mut self,
        term: Term<'_>,
        group: &[Posting],
        around: Around<'_>,
        start: usize,
        sums: &mut [impl Sum],
        end: usize,
    ) {
        let reaches = around.sessions.reaches();
        let shares = &around.config.context;
        let Self { own, lent, .. } = self;
        own.resize(end + 1 - start, 0);
        lent.resize(end + 1 - start, 0);
        for posting in group {
            let impact = term.impact(*posting);
            let reach = reaches[posting.record as usize];
            let place = posting.record as usize - start;
            own[place] = impact;
            for (lent, share) in lent[place + 1..=place + reach.after()].iter_mut().zip(shares) {
                *lent = (*lent).max((impact * u32::from(*share) / 100) as i32);
            }
            for (lent, share) in lent[place - reach.before()..place].iter_mut().rev().zip(shares) {
                *lent = (*lent).max((impact * u32::from(*share) / 100) as i32);
            }
        }
        for (record, (own, lent)) in (start..).zip(own.iter().zip(&*lent)) {
            if !reaches[record].is_scattered() {
                sums[record].add(around.together(*own, around.damped(*lent as u32, record)));
            }
        }
        own.clear();
        lent.clear();
    }

    /// Notes what postings lend to scattered records, and what these have themselves.
    #[inline(never)]
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
