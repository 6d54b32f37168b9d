//! Scores, and what fits a budget (spec/recall.md sections 6.2 and 6.3; SPEC sections 14.1 and 14.3).

use std::cell::OnceCell;
use std::hint::black_box;

use hashbrown::HashSet;

use super::index::Index;
use super::records::{Id, Row as Record, State};
use super::visibility::Visibility;

const HALF_LIFE_DAYS: f64 = 30.0;
const SECONDS_A_DAY: f64 = 86_400.0;
const LEAST_RECENCY: f64 = 0.1;
const TOUCHES_FOR_HALF: u64 = 5;

/// Candidates sorted at a time.
const PART: usize = 64;

/// Score, id, number and relevance of a candidate.
type Ranked = (f64, Id, u32, f64);

/// Why a record is in an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// It was found.
    Match,
    /// It is the other side of a dispute.
    Partner,
    /// It was replaced by one that is there.
    Predecessor,
}

impl Kind {
    /// Its name.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Match => "match",
            Self::Partner => "partner",
            Self::Predecessor => "predecessor",
        }
    }
}

/// One record of an answer.
#[derive(Clone, Debug, PartialEq)]
pub struct Row {
    /// The record.
    pub id: Id,
    /// The product of the factors.
    pub score: f64,
    /// Relevance, state, recency, salience, confidence, importance, standing.
    pub factors: [f64; 7],
    /// What it costs.
    pub tokens: u32,
    /// Why it is here.
    pub kind: Kind,
    /// The side found, or the record that replaced it; nothing for a match.
    pub of: Option<Id>,
    /// How many of its predecessors were left out.
    pub cut: usize,
}

/// The relevance of candidates, which only disputes are looked up in.
struct Relevance<'a> {
    given: &'a [(u32, f64)],
    sorted: OnceCell<Vec<(u32, f64)>>,
}

impl Relevance<'_> {
    fn of(&self, number: u32) -> Option<f64> {
        let sorted = self.sorted.get_or_init(|| {
            let mut sorted = self.given.to_vec();
            sorted.sort_unstable_by_key(|(number, _)| *number);
            sorted
        });
        let place = sorted.binary_search_by_key(&number, |(number, _)| *number);
        place.ok().map(|place| sorted[place].1)
    }
}

/// Fills a budget of tokens and of rows, a record or a whole dispute at a time.
#[derive(Debug)]
pub struct Packing<'a> {
    index: &'a Index,
    visibility: &'a Visibility<'a>,
    now: i64,
    tokens_left: u64,
    rows_left: usize,
    min_score: f64,
    rows: Vec<Row>,
    packed: HashSet<Id>,
}

impl<'a> Packing<'a> {
    /// For a moment in milliseconds since 1970, tokens and rows there is room for, and what a record must reach to be taken
    /// for itself.
    #[must_use]
    pub fn new(
        visibility: &'a Visibility<'a>,
        index: &'a Index,
        now: i64,
        (budget, limit): (u64, usize),
        min_score: f64,
    ) -> Self {
        Self {
            index,
            visibility,
            now,
            tokens_left: budget,
            rows_left: limit,
            min_score,
            rows: Vec::new(),
            packed: HashSet::new(),
        }
    }

    /// The rows for candidates, given with their relevance.
    #[must_use]
    pub fn pack(mut self, relevance: &[(u32, f64)]) -> Vec<Row> {
        let relevance = Relevance { given: relevance, sorted: OnceCell::new() };
        let mut ranked: Vec<Ranked> = relevance
            .given
            .iter()
            .map(|(number, share)| {
                let record = self.index.row(*number);
                (score(&self.factors(record, *share)), record.id, *number, *share)
            })
            .filter(|(score, ..)| *score >= self.min_score)
            .collect();
        // Most often the budget ends long before the candidates do, so they are sorted a part at a time.
        let mut rest = &mut ranked[..];
        while !rest.is_empty() && self.tokens_left > 0 && self.rows_left > 0 {
            let part = PART.max(rest.len() / 8).min(rest.len());
            let order = |a: &Ranked, b: &Ranked| b.0.total_cmp(&a.0).then_with(|| a.1.cmp(&b.1));
            if part < rest.len() {
                rest.select_nth_unstable_by(part - 1, order);
            }
            let (first, later) = rest.split_at_mut(part);
            first.sort_unstable_by(order);
            for (_, id, number, share) in first {
                if !self.packed.contains(id) {
                    self.take(*number, *share, &relevance);
                }
            }
            rest = later;
        }
        self.rows
    }

    fn row(&self, record: &Record, relevance: f64, kind: Kind, of: Option<Id>) -> Row {
        let factors = self.factors(record, relevance);
        Row { id: record.id, score: score(&factors), factors, tokens: record.tokens, kind, of, cut: 0 }
    }

    #[allow(clippy::cast_precision_loss)]
    fn factors(&self, record: &Record, relevance: f64) -> [f64; 7] {
        let elapsed = i128::from(self.now) - i128::from(record.updated_at);
        let days = (elapsed as f64 / 1000.0 / SECONDS_A_DAY).max(0.0);
        let touches = self.index.touches.get(&record.id).copied().unwrap_or(0);
        let standing = record.standing().map_or(1.0, |(good, bad)| {
            0.5 + (u128::from(good) + 1) as f64 / (u128::from(good) + u128::from(bad) + 2) as f64
        });
        let state = match record.state {
            State::Active => 1.0,
            State::Transitional => 0.8,
            State::Superseded => 0.3,
            State::Archived => 0.1,
        };
        // The compiler would make another function of this, whose last bit may differ from that of the reference.
        let recency = black_box(0.5_f64).powf(days / HALF_LIFE_DAYS).max(LEAST_RECENCY);
        [
            relevance,
            state,
            recency,
            1.0 + touches as f64 / (touches.saturating_add(TOUCHES_FOR_HALF)) as f64,
            f64::from(record.confidence) / 10_000.0,
            if record.value == 10_000 { 1.0 } else { 1.0 + (record.value as f64 / 10_000.0).ln() },
            standing,
        ]
    }

    /// Packs a candidate with what must come with it, if all of that fits; then its history, while it fits.
    fn take(&mut self, number: u32, share: f64, relevance: &Relevance<'_>) {
        let record = self.index.row(number);
        if !self.fits(u64::from(record.tokens), 1) {
            return;
        }
        let id = record.id;
        let mut group = vec![(self.row(record, share, Kind::Match, None), number)];
        if let Some(partner) = self.visibility.partner(record) {
            let record = self.index.row(partner);
            if !self.visibility.may_accompany(record) {
                return;
            }
            let share = relevance.of(partner).unwrap_or(share);
            group.push((self.row(record, share, Kind::Partner, Some(id)), partner));
        }
        let tokens = group.iter().map(|(row, _)| u64::from(row.tokens)).sum();
        if !self.fits(tokens, group.len()) {
            return;
        }
        let first = self.rows.len();
        let numbers: Vec<u32> = group.iter().map(|(_, number)| *number).collect();
        for (row, _) in group {
            self.add(row);
        }
        for (place, number) in (first..).zip(numbers) {
            self.follow(place, number);
        }
    }

    /// Packs what the record at `place` replaced, newest first; says on it how many did not fit.
    fn follow(&mut self, place: usize, number: u32) {
        let current = self.index.row(number);
        if !current.state.is_live() {
            return;
        }
        let share = self.rows[place].factors[0];
        let mut trail = self.visibility.predecessors(current);
        trail.retain(|(old, _)| !self.packed.contains(&self.index.row(*old).id));
        for (done, (old, successor)) in trail.iter().enumerate() {
            let row = self.row(self.index.row(*old), share, Kind::Predecessor, Some(*successor));
            if !self.fits(u64::from(row.tokens), 1) {
                self.rows[place].cut = trail.len() - done;
                return;
            }
            self.add(row);
        }
    }

    fn fits(&self, tokens: u64, rows: usize) -> bool {
        tokens <= self.tokens_left && rows <= self.rows_left
    }

    fn add(&mut self, row: Row) {
        self.tokens_left -= u64::from(row.tokens);
        self.rows_left -= 1;
        self.packed.insert(row.id);
        self.rows.push(row);
    }
}

/// The product of factors, in their order.
fn score(factors: &[f64; 7]) -> f64 {
    factors.iter().fold(1.0, |score, factor| score * factor)
}
