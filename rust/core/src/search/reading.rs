//! Reading records, many at a time: what each contributes (spec/recall.md sections 4.1 to 4.3).

use std::borrow::Cow;
use std::ops::Range;
use std::thread;

use super::analyser::{Analyser, MOST_QUERY_CHARACTERS, wipe_text};
use super::authors::{begins_with, holds_a_year, is_question, leading_name};
use super::fold::{beginning, fold};
use super::names::count;
use super::payload::{self, Wire};
use super::stems::Language;
use crate::json::{Malformed, Read};

/// From this many records on, threads read them.
const MANY: usize = 2048;
/// Text that an analyser remembers before it is replaced.
const MOST_REMEMBERED: usize = 1 << 28;

/// A record that was read.
#[derive(Debug)]
pub struct Draft<'a> {
    pub wire: Wire<'a>,
    /// Folded; empty when that is not known.
    pub author: Cow<'a, str>,
    pub tokens: u32,
    pub question: bool,
    pub timely: bool,
    /// Places in [`Batch::terms`].
    pub terms: Range<usize>,
    pub length: u64,
}

/// Records that were read one after the other.
#[derive(Debug)]
pub struct Batch<'a> {
    pub drafts: Vec<Draft<'a>>,
    /// Numbers of distinct terms in the analyser, and how often they occur.
    pub terms: Vec<(u32, u32)>,
    pub analyser: Analyser,
}

/// Reads records, in order, in a batch or several.
pub fn read<'a>(payloads: &[&'a [u8]], language: Language) -> Read<Vec<Batch<'a>>> {
    let threads = if payloads.len() < MANY { 1 } else { thread::available_parallelism().map_or(1, usize::from) };
    if threads == 1 {
        return batches(payloads, language);
    }
    let share = payloads.len().div_ceil(threads.min(16));
    let read: Vec<Read<Vec<Batch<'a>>>> = thread::scope(|scope| {
        let running: Vec<_> = payloads.chunks(share).map(|part| scope.spawn(move || batches(part, language))).collect();
        running.into_iter().map(|thread| thread.join().unwrap_or(Err(Malformed))).collect()
    });
    let mut all = Vec::new();
    for batches in read {
        all.extend(batches?);
    }
    Ok(all)
}

fn batches<'a>(payloads: &[&'a [u8]], language: Language) -> Read<Vec<Batch<'a>>> {
    let mut all = vec![Batch::new(language, payloads.len())];
    let mut scratch = Vec::new();
    for payload in payloads {
        if all.last().is_none_or(|batch| batch.analyser.size() > MOST_REMEMBERED) {
            all.push(Batch::new(language, 0));
        }
        if let Some(batch) = all.last_mut() {
            batch.add(payload::read(payload)?, &mut scratch);
        }
    }
    Ok(all)
}

impl<'a> Batch<'a> {
    fn new(language: Language, room: usize) -> Self {
        Self { drafts: Vec::with_capacity(room), terms: Vec::new(), analyser: Analyser::new(language) }
    }

    fn add(&mut self, wire: Wire<'a>, scratch: &mut Vec<u32>) {
        let start = self.terms.len();
        if wire.redacted {
            let draft = Draft {
                wire,
                author: Cow::Borrowed(""),
                tokens: 0,
                question: false,
                timely: false,
                terms: start..start,
                length: 0,
            };
            return self.drafts.push(draft);
        }
        let body = &*wire.body;
        let said_by = wire.author.as_deref().or_else(|| leading_name(body)).unwrap_or("");
        let author = if said_by.is_empty() { String::new() } else { fold(said_by) };
        scratch.clear();
        let timely = self.read_text(&wire, body, scratch);
        for tag in &wire.tags {
            self.analyser.terms_of(tag, false, scratch);
        }
        self.tally(scratch, start);
        for text in [&wire.key, &wire.object].into_iter().flatten() {
            scratch.clear();
            self.analyser.terms_of(text, false, scratch);
            for term in &*scratch {
                if self.terms[start..].iter().all(|held| held.0 != *term) {
                    self.terms.push((*term, 1));
                }
            }
        }
        let characters = body.chars().count() / 4;
        let draft = Draft {
            tokens: u32::try_from(characters).unwrap_or(u32::MAX).max(1),
            question: is_question(body),
            timely,
            terms: start..self.terms.len(),
            length: self.terms[start..].iter().map(|term| u64::from(term.1)).sum(),
            author: Cow::Owned(author),
            wire,
        };
        self.drafts.push(draft);
    }

    /// Takes the body apart, with the author's name before it where that is not there; answers whether it tells a time.
    fn read_text(&mut self, wire: &Wire<'a>, body: &str, terms: &mut Vec<u32>) -> bool {
        let start = beginning(body, MOST_QUERY_CHARACTERS);
        let year = holds_a_year(body);
        let prefix = wire.author.as_deref().filter(|author| {
            let (folded, author) = (fold(body), fold(author));
            let there = begins_with(&folded, &author);
            wipe_text(folded);
            wipe_text(author);
            !there
        });
        if prefix.is_none() && start.len() == body.len() {
            self.analyser.read(body, false);
            self.analyser.terms_read(terms);
            return year || self.analyser.tells_time();
        }
        match prefix {
            Some(author) => {
                let text = format!("{author}: {body}");
                self.analyser.terms_of(&text, false, terms);
                wipe_text(text);
            }
            None => self.analyser.terms_of(body, false, terms),
        }
        year || {
            self.analyser.read(start, true);
            self.analyser.tells_time()
        }
    }

    /// Appends distinct terms and how often they occur.
    fn tally(&mut self, found: &mut [u32], start: usize) {
        found.sort_unstable();
        for same in found.chunk_by(|a, b| a == b) {
            self.terms.push((same[0], count(same.len())));
        }
        debug_assert!(self.terms.len() >= start);
    }
}
