//! Reading records and analysing what they say, on several threads where there are many.

use std::ops::Range;
use std::thread;

use crate::text::analyse;

use super::payload::{Draft, State, read};
use super::{Columns, Fault};

/// How many payloads are worth a thread of their own.
const PER_THREAD: usize = 128;
/// A record that was read, and what its body says where that has to be found out anew.
pub type Taken<'a> = (Draft<'a>, Option<Said>);

/// What a body says. Its terms are in the pool of the thread that read it.
pub struct Said {
    pub terms: Range<usize>,
    pub negated: bool,
    pub statement: u64,
    /// The body in NFC, where it has no terms and another form.
    pub normal: Option<Box<Box<str>>>,
}

/// Terms one after another: text that many threads found is handed to one, which would take long to free it piece by piece.
#[derive(Default)]
pub struct Pool {
    text: String,
    ends: Vec<usize>,
}

impl Pool {
    /// Analyses a body.
    pub fn read(&mut self, body: &str) -> Said {
        let analysis = analyse(body);
        let first = self.ends.len();
        for term in analysis.terms() {
            self.text.push_str(term);
            self.ends.push(self.text.len());
        }
        let terms = first..self.ends.len();
        let bare = analysis.bare();
        let normal = (terms.is_empty() && bare != body).then(|| Box::new(bare.into()));
        Said { terms, negated: analysis.negated(), statement: folded(analysis.statement_key()), normal }
    }

    pub fn terms(&self, which: Range<usize>) -> impl Iterator<Item = &str> {
        let start = |term: usize| term.checked_sub(1).map_or(0, |before| self.ends[before]);
        which.map(move |term| &self.text[start(term)..self.ends[term]])
    }
}

impl Columns {
    /// Reads a record, and analyses it when that has to be done.
    pub(super) fn take<'a>(&self, payload: &'a [u8], pool: &mut Pool) -> Result<Taken<'a>, Fault> {
        let draft = read(payload).map_err(|_| Fault::NoRecord)?;
        let said = (draft.state == State::Active && !self.says(&draft)).then(|| pool.read(&draft.body));
        Ok((draft, said))
    }

    /// Whether what a body says is known: an id has one body for good, unless that is erased.
    fn says(&self, draft: &Draft<'_>) -> bool {
        let row = self.names.find_id(draft.id).and_then(|row| self.rows.get(row as usize));
        row.and_then(|row| self.text(row.text)).is_some_and(|text| *text.body == draft.body)
    }
}

#[allow(clippy::cast_possible_truncation)]
fn folded(key: u128) -> u64 {
    (key >> 64) as u64 ^ key as u64
}

/// What is done for each item, on several threads where there are many: the results of each thread and its pool, in the order
/// of the items; or a failure.
pub fn in_parallel<T: Sync, R: Send>(
    items: &[T],
    work: impl Fn(&T, &mut Pool) -> Result<R, Fault> + Sync,
) -> Result<Vec<(Vec<R>, Pool)>, Fault> {
    let part = |items: &[T]| {
        let mut pool = Pool::default();
        let results = items.iter().map(|item| work(item, &mut pool)).collect::<Result<_, _>>()?;
        Ok((results, pool))
    };
    let most = items.len() / PER_THREAD;
    // To count the processors takes longer than to read a few records.
    let threads = if most < 2 { 1 } else { most.min(thread::available_parallelism().map_or(1, usize::from)) };
    if threads < 2 {
        return Ok(vec![part(items)?]);
    }
    let share = items.len().div_ceil(threads);
    thread::scope(|scope| {
        let part = &part;
        let running: Vec<_> = items.chunks(share).map(|some| scope.spawn(move || part(some))).collect();
        let joined = running.into_iter().map(|thread| match thread.join() {
            Ok(done) => done,
            Err(panic) => std::panic::resume_unwind(panic),
        });
        joined.collect()
    })
}
