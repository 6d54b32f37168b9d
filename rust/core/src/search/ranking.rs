//! Raw scores and the best of them (spec/recall.md sections 5 and 6).

use std::cmp::Ordering;

use super::analyser::{Analyser, MOST_QUERY_CHARACTERS, is_first_person};
use super::fold::beginning;
use super::index::Index;
use super::intent::Intent;
use super::lending::{Around, Lending, Scratch, Sum, Term};
use super::packing::{Packing, Row};
use super::records::{Id, Row as Record, Type};
use super::visibility::{Filter, Scope, Visibility};
use super::weights::rarity;

/// Records looked at together when the best are sought: a power of two, so that there are some thousand blocks.
const LEAST_BLOCK: usize = 16;
const MOST_BLOCK: usize = 256;
const BLOCKS: usize = 2048;

/// What a recall asks for.
#[derive(Clone, Debug)]
pub struct Asked<'a> {
    /// Text, of which 65,536 characters are read.
    pub query: &'a str,
    /// The moment recency is measured to, in milliseconds since 1970.
    pub now: i64,
    /// Tokens of about four characters.
    pub budget: i64,
    /// How many candidates are considered.
    pub k: i64,
    /// The scope asked for; nothing in it for any, nothing for everybody's.
    pub scope: Option<Scope<'a>>,
    /// Also archived records.
    pub archived: bool,
    /// Also superseded records.
    pub history: bool,
    /// Only records of one of these types are found; nothing for any.
    pub types: Option<Vec<Type>>,
    /// Only records with all of these tags are found.
    pub tags: Vec<&'a str>,
    /// Records of a lower score are not found.
    pub min_score: f64,
    /// How many rows there may be; nothing for any number.
    pub limit: Option<i64>,
}

/// A query that was taken apart.
struct Query {
    /// The terms that records have, and whether neighbours lend it.
    terms: Vec<(u32, bool)>,
    intent: Intent,
}

/// Whether a record may be among the best.
type Accept<'a> = &'a dyn Fn(&Record) -> bool;

impl Index {
    /// At most `k` ids and raw scores of records in any state, best first, then by id.
    #[must_use]
    pub fn candidates(&self, query: &str, k: i64) -> Vec<(Id, f64)> {
        let mut best = self.best(query, self.most(k), &|_| true);
        best.sort_unstable_by(|a, b| b.1.total_cmp(&a.1).then_with(|| self.row(a.0).id.cmp(&self.row(b.0).id)));
        best.into_iter().map(|(number, raw)| (self.row(number).id, raw)).collect()
    }

    /// The whole read stage: what is relevant to a query, best first, as many whole records as fit.
    #[must_use]
    pub fn recall(&self, asked: &Asked<'_>) -> Vec<Row> {
        let limit = asked.limit.map_or(usize::MAX, at_least_zero);
        let (budget, k) = (u64::try_from(asked.budget).unwrap_or(0), self.most(asked.k));
        if k == 0 || budget == 0 || limit == 0 {
            return Vec::new();
        }
        let types = asked.types.as_ref();
        let filter = Filter {
            scope: asked.scope,
            archived: asked.archived,
            history: asked.history,
            types: types.map_or(u8::MAX, |types| types.iter().fold(0, |bits, kind| bits | 1 << *kind as u8)),
            tags: asked.tags.clone(),
        };
        let visibility = Visibility::new(self, &filter);
        let mut best = self.best(asked.query, k, &|row| visibility.found(row));
        let greatest = best.iter().fold(0.0, |greatest: f64, (_, raw)| greatest.max(*raw));
        for (_, raw) in &mut best {
            *raw /= greatest;
        }
        Packing::new(&visibility, self, asked.now, (budget, limit), asked.min_score).pack(&best)
    }

    /// How many records `k` can mean.
    fn most(&self, k: i64) -> usize {
        at_least_zero(k).min(self.len())
    }

    /// The best records that are accepted, in no order.
    fn best(&self, query: &str, k: usize, accept: Accept<'_>) -> Vec<(u32, f64)> {
        if k == 0 {
            return Vec::new();
        }
        let query = self.take_apart(query);
        if query.terms.is_empty() {
            return Vec::new();
        }
        let pooled = self.scratch.try_lock().ok().and_then(|mut pool| pool.pop());
        let mut scratch = pooled.unwrap_or_default();
        let Scratch { narrow, wide, lending } = &mut scratch;
        let best = if u32::try_from(self.greatest_sum(&query)).is_ok() {
            self.best_of(&query, k, accept, narrow, lending)
        } else {
            self.best_of(&query, k, accept, wide, lending)
        };
        if let Ok(mut pool) = self.scratch.try_lock() {
            pool.push(scratch);
        }
        best
    }

    fn take_apart(&self, text: &str) -> Query {
        let mut analyser = Analyser::new(self.config.language);
        analyser.read(beginning(text, MOST_QUERY_CHARACTERS), true);
        let intent = Intent::of(text, &analyser, &self.speakers);
        let mut found = Vec::new();
        analyser.terms_read(&mut found);
        let mut met = vec![false; analyser.terms_met()];
        let mut terms = Vec::new();
        for local in found {
            if std::mem::replace(&mut met[local as usize], true) || terms.len() == self.config.query_terms {
                continue;
            }
            let name = analyser.term(local);
            let Some(term) = self.postings.names.find(name) else { continue };
            let holding = self.postings.list(term).len();
            let lends = !self.config.context.is_empty()
                && !self.sessions.is_empty()
                && !is_first_person(name)
                && !self.speakers.has_term(name)
                && !self.is_common(holding);
            terms.push((term, lends));
        }
        Query { terms, intent }
    }

    /// Whether a term is in so many records that it lends nothing.
    fn is_common(&self, holding: usize) -> bool {
        let (holding, share) = (holding as u64, self.config.context_share);
        share > 0 && holding > self.config.context_floor && holding.saturating_mul(share) > self.len() as u64
    }

    fn term(&self, number: u32) -> Term<'_> {
        let list = self.postings.list(number);
        Term { list, weights: self.weights.values(), rarity: rarity(self.len(), list.len()) }
    }

    /// A bound of what the sum of a record can be.
    fn greatest_sum(&self, query: &Query) -> u64 {
        let weight = self.weights.values().iter().copied().max().unwrap_or(0);
        let one = |(term, _): &(u32, bool)| {
            2 * (u64::from(weight) * u64::from(rarity(self.len(), self.postings.list(*term).len())) / 65_536 + 1)
        };
        query.terms.iter().map(one).sum()
    }

    fn best_of<S: Sum>(
        &self,
        query: &Query,
        k: usize,
        accept: Accept<'_>,
        sums: &mut Vec<S>,
        lending: &mut Lending,
    ) -> Vec<(u32, f64)> {
        // Between queries all are zero, so that a number used anew is, too.
        sums.resize(self.rows.len(), S::default());
        let around = Around { rows: &self.rows, sessions: &self.sessions, config: &self.config };
        for (term, lends) in &query.terms {
            if *lends {
                lending.add(self.term(*term), around, sums);
            } else {
                lending.add_own(self.term(*term), sums);
            }
        }
        self.choose(query, k, accept, sums)
    }

    /// The best of the sums, which are set to zero.
    fn choose<S: Sum>(&self, query: &Query, k: usize, accept: Accept<'_>, sums: &mut [S]) -> Vec<(u32, f64)> {
        let size = (sums.len() / BLOCKS).next_power_of_two().clamp(LEAST_BLOCK, MOST_BLOCK);
        let greatest: Vec<S> =
            sums.chunks(size).map(|block| block.iter().fold(S::default(), |a, b| a.max(*b))).collect();
        // So many records have sums as great as this. Most often the best are among them, and little else is looked at.
        let mut enough = S::default();
        if greatest.len() > k {
            let mut sorted = greatest.clone();
            enough = *sorted.select_nth_unstable_by(k - 1, |a, b| b.cmp(a)).1;
        }
        let most = query.intent.most(&self.config);
        let mut best = Best { index: self, k, most, floor: 1, chosen: Vec::new(), least: None };
        let mut look = |from: u64, below: u64| {
            for (block, greatest) in greatest.iter().enumerate() {
                let greatest: u64 = (*greatest).into();
                if greatest < from.max(best.floor) {
                    continue;
                }
                let start = block * size;
                for (place, sum) in sums[start..].iter().take(size).enumerate() {
                    let sum: u64 = (*sum).into();
                    if sum >= from.max(best.floor) && sum < below {
                        best.offer(start + place, query.intent.multiplied(sum, self, start + place), accept);
                    }
                }
            }
            best.cut();
        };
        let enough = enough.into().max(1);
        look(enough, u64::MAX);
        look(1, enough);
        let chosen = best.chosen;
        for (sums, greatest) in sums.chunks_mut(size).zip(&greatest) {
            if *greatest > S::default() {
                sums.fill(S::default());
            }
        }
        chosen
    }
}

/// The greatest raw scores so far.
struct Best<'a> {
    index: &'a Index,
    k: usize,
    /// What a sum is multiplied by at most.
    most: f64,
    /// A record of a lower sum is not among the best.
    floor: u64,
    /// Up to twice as many as are wanted.
    chosen: Vec<(u32, f64)>,
    /// What a record has to exceed once there are enough.
    least: Option<(f64, Id)>,
}

impl Best<'_> {
    #[allow(clippy::cast_possible_truncation)] // An index numbers records with 32 bits.
    fn offer(&mut self, number: usize, raw: f64, accept: Accept<'_>) {
        let rows = &self.index.rows;
        let exceeds = self.least.is_none_or(|(least, id)| match raw.total_cmp(&least) {
            Ordering::Greater => true,
            Ordering::Equal => rows[number].id < id,
            Ordering::Less => false,
        });
        if !exceeds || !accept(&rows[number]) {
            return;
        }
        self.chosen.push((number as u32, raw));
        if self.chosen.len() >= 2 * self.k.max(LEAST_BLOCK) {
            self.cut();
        }
    }

    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)] // Downwards is meant.
    fn cut(&mut self) {
        let (rows, k) = (&self.index.rows, self.k);
        if self.chosen.len() < k || k == 0 {
            return;
        }
        let order = |a: &(u32, f64), b: &(u32, f64)| {
            b.1.total_cmp(&a.1).then_with(|| rows[a.0 as usize].id.cmp(&rows[b.0 as usize].id))
        };
        self.chosen.select_nth_unstable_by(k - 1, order);
        self.chosen.truncate(k);
        let last = self.chosen[k - 1];
        self.least = Some((last.1, rows[last.0 as usize].id));
        // One less, for the sake of rounding.
        self.floor = ((last.1 / self.most) as u64).saturating_sub(1).max(1);
    }
}

fn at_least_zero(number: i64) -> usize {
    usize::try_from(number.max(0)).unwrap_or(usize::MAX)
}
