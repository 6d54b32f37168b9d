//! The constants of ranking, each with a value that switches it off (spec/recall.md section 5.4).

use std::fmt::Write as _;

use sha2::{Digest, Sha256};

use super::stems::Language;

/// Version of the analyser and of what a record contributes; it grows with every change of either.
pub const ANALYSER: u32 = 1;

/// How many places away a record may be lent to.
pub const MOST_CONTEXT: usize = 16;

/// How an index takes text apart and ranks.
#[derive(Clone, Debug, PartialEq)]
pub struct Config {
    /// Whose stems and stop words words in Latin script get.
    pub language: Language,
    /// Of BM25, 0 to 10: how much the number of occurrences counts.
    pub k1: f64,
    /// Of BM25, 0 to 1: how much the length of a record counts.
    pub b: f64,
    /// Hundredths of its impact that a record lends to those 1, 2, … places away; at most 16.
    pub context: Vec<u8>,
    /// Hundredths of the lesser of own and lent impact that are added to the greater.
    pub overlap: u8,
    /// Distinct terms above which a record is lent less; 0 is off.
    pub context_length: u64,
    /// A term in more than one record in so many lends nothing; 0 is off.
    pub context_share: u64,
    /// Records that may have a term before `context_share` counts.
    pub context_floor: u64,
    /// What a named author's records are multiplied by.
    pub author: f64,
    /// What the user's are, when the query is of the first person.
    pub own: f64,
    /// What questions are.
    pub question: f64,
    /// What records that tell a time are, when the query asks for one.
    pub when: f64,
    /// What records of the time that the query names are.
    pub date: f64,
    /// Days after a month or day that count to it.
    pub date_days: u64,
    /// How many terms of a query are looked up, 1 to 1024.
    pub query_terms: usize,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            language: Language::ENGLISH,
            k1: 0.9,
            b: 0.75,
            context: vec![60, 48, 36, 24, 12],
            overlap: 40,
            context_length: 40,
            context_share: 8,
            context_floor: 8,
            author: 1.2,
            own: 2.0,
            question: 0.9,
            when: 1.2,
            date: 1.5,
            date_days: 14,
            query_terms: 1024,
        }
    }
}

impl Config {
    /// Whether every constant lies in its range.
    #[must_use]
    pub fn is_valid(&self) -> bool {
        let shares = self.context.iter().chain([&self.overlap]);
        let factors = [self.author, self.own, self.question, self.when, self.date];
        shares.into_iter().all(|share| *share <= 100)
            && self.context.len() <= MOST_CONTEXT
            && (0.0..=10.0).contains(&self.k1)
            && (0.0..=1.0).contains(&self.b)
            && factors.iter().all(|factor| *factor > 0.0 && *factor <= 100.0)
            && (1..=1024).contains(&self.query_terms)
    }

    /// 32 bytes that differ when the analyser, what a record contributes or a constant does.
    #[must_use]
    pub fn fingerprint(&self) -> [u8; 32] {
        let mut text = format!(
            "analyser={ANALYSER}\nlanguage={}\nk1={:.6}\nb={:.6}\ncontext=",
            self.language.name(),
            self.k1,
            self.b
        );
        for (place, share) in self.context.iter().enumerate() {
            let _ = write!(text, "{}{share}", if place > 0 { "," } else { "" }); // Writing to a string cannot fail.
        }
        let counts = [
            ("overlap", u64::from(self.overlap)),
            ("context_length", self.context_length),
            ("context_share", self.context_share),
            ("context_floor", self.context_floor),
        ];
        for (name, count) in counts {
            let _ = write!(text, "\n{name}={count}");
        }
        let factors = [
            ("author", self.author),
            ("own", self.own),
            ("question", self.question),
            ("when", self.when),
            ("date", self.date),
        ];
        for (name, factor) in factors {
            let _ = write!(text, "\n{name}={factor:.6}");
        }
        let _ = write!(text, "\ndate_days={}\nquery_terms={}", self.date_days, self.query_terms);
        Sha256::digest(text.as_bytes()).into()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn constants_out_of_range_are_refused() {
        assert!(Config::default().is_valid());
        for config in [
            Config { k1: f64::NAN, ..Config::default() },
            Config { b: 1.5, ..Config::default() },
            Config { context: vec![101], ..Config::default() },
            Config { context: vec![1; 17], ..Config::default() },
            Config { author: 0.0, ..Config::default() },
            Config { query_terms: 0, ..Config::default() },
        ] {
            assert!(!config.is_valid(), "{config:?}");
        }
    }

    #[test]
    fn every_constant_shows_in_the_fingerprint() {
        let one = Config { date_days: 15, ..Config::default() };
        assert_ne!(one.fingerprint(), Config::default().fingerprint());
        assert_eq!(one.fingerprint(), one.clone().fingerprint());
    }
}
