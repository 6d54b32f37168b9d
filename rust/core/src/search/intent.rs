//! What a query asks besides its terms: whose words, about when (spec/recall.md section 5.3).

use super::analyser::{Analyser, MOST_QUERY_CHARACTERS, is_first_person};
use super::config::Config;
use super::days::{DAY, day_number, year_of};
use super::english::{AMBIGUOUS_MONTHS, BEFORE_MONTH, MONTHS};
use super::fold::beginning;
use super::index::Index;
use super::records::{QUESTION, TIMELY, USER};
use super::speakers::Speakers;

/// A month, or a day of it, of one year or of any.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Span {
    pub month: i64,
    pub year: Option<i64>,
    pub day: Option<i64>,
}

impl Span {
    /// Whether a moment in milliseconds since 1970 lies in it, or up to `days_after` days behind it. Without a year that of
    /// the moment counts, and the one before, so that January can follow December.
    #[must_use]
    pub fn holds(self, moment: i64, days_after: u64) -> bool {
        let day = moment.div_euclid(DAY);
        let Some(year) = self.year else {
            let year = year_of(day);
            return self.holds_in(year, day, days_after) || self.holds_in(year - 1, day, days_after);
        };
        self.holds_in(year, day, days_after)
    }

    fn holds_in(self, year: i64, moment: i64, days_after: u64) -> bool {
        let mut first = day_number(year, self.month, 1);
        let mut past = day_number(year + self.month / 12, self.month % 12 + 1, 1);
        if let Some(day) = self.day.filter(|day| first + day <= past) {
            first += day - 1;
            past = first + 1;
        }
        first <= moment && moment < past.saturating_add(i64::try_from(days_after).unwrap_or(i64::MAX))
    }
}

/// What a query asks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Intent {
    /// The one known author it names.
    pub author: Option<u32>,
    /// It speaks in the first person.
    pub own: bool,
    /// It asks for a time.
    pub when: bool,
    /// The month or day it names.
    pub span: Option<Span>,
}

impl Intent {
    /// What a query asks, which the analyser read last.
    #[must_use]
    pub fn of(query: &str, analyser: &Analyser, speakers: &Speakers) -> Self {
        let mut words: Vec<&str> = analyser.words_read().collect();
        words.sort_unstable();
        words.dedup();
        let lowered = beginning(query, MOST_QUERY_CHARACTERS).to_ascii_lowercase();
        Self {
            author: speakers.named(words.iter().copied()),
            own: words.iter().any(|word| is_first_person(word)),
            when: asks_when(&lowered),
            span: span_of(&lowered),
        }
    }

    /// The raw score of a record: the sum of its impacts times what applies, in this order.
    #[allow(clippy::cast_precision_loss)]
    #[must_use]
    pub fn multiplied(&self, impact: u64, index: &Index, number: usize) -> f64 {
        let (config, traits) = (&index.config, index.traits[number]);
        let mut raw = impact as f64;
        if self.author.is_some_and(|author| author == index.rows[number].author) {
            raw *= config.author;
        }
        if self.own && traits & USER > 0 {
            raw *= config.own;
        }
        if traits & QUESTION > 0 {
            raw *= config.question;
        }
        if self.when && traits & TIMELY > 0 {
            raw *= config.when;
        }
        if self.span.is_some_and(|span| span.holds(index.rows[number].event_at, config.date_days)) {
            raw *= config.date;
        }
        raw
    }

    /// An upper bound of what [`Self::multiplied`] multiplies by, a little above it for the sake of rounding.
    #[must_use]
    pub fn most(&self, config: &Config) -> f64 {
        let applies = [
            (self.author.is_some(), config.author),
            (self.own, config.own),
            (true, config.question),
            (self.when, config.when),
            (self.span.is_some(), config.date),
        ];
        applies.iter().filter(|(applies, _)| *applies).fold(1.0 + 1e-9, |most, (_, factor)| most * factor.max(1.0))
    }
}

/// Whether a query in lower case begins as one that asks for a time.
fn asks_when(query: &str) -> bool {
    let text = query.trim_start_matches([' ', '\t', '\r', '\n']);
    let ends = |rest: &str| !rest.starts_with(|c: char| c.is_ascii_lowercase());
    if ["when", "how long"].iter().any(|start| text.strip_prefix(start).is_some_and(ends)) {
        return true;
    }
    let prepositions = ["in ", "on ", "at ", "since ", "until ", "by ", "from "];
    let text = prepositions.iter().find_map(|word| text.strip_prefix(word)).unwrap_or(text);
    let Some(text) = text.strip_prefix("what ").or_else(|| text.strip_prefix("which ")) else { return false };
    ["date", "year", "month", "week", "day", "time"].iter().any(|unit| text.strip_prefix(unit).is_some_and(ends))
}

/// The first month a query in lower case names, as `2023-05`, `2023-05-07` or by an English name.
fn span_of(query: &str) -> Option<Span> {
    iso(query.as_bytes()).or_else(|| named(query))
}

fn iso(text: &[u8]) -> Option<Span> {
    let digit = |at: usize| text.get(at).filter(|byte| byte.is_ascii_digit()).map(|byte| i64::from(byte - b'0'));
    let two = |at: usize| Some(digit(at)? * 10 + digit(at + 1)?);
    let hyphen = |at: usize| text.get(at) == Some(&b'-');
    let begins = |at: &usize| *at == 0 || digit(at - 1).is_none();
    for at in (0..text.len().saturating_sub(6)).filter(begins) {
        let (Some(century), Some(years), true) = (two(at), two(at + 2), hyphen(at + 4)) else { continue };
        let Some(month) = two(at + 5).filter(|month| (1..=12).contains(month)) else { continue };
        if !matches!(century, 19 | 20) {
            continue;
        }
        let year = Some(century * 100 + years);
        let day = two(at + 8).filter(|day| hyphen(at + 7) && *day <= 31 && digit(at + 10).is_none());
        if day.is_some() || digit(at + 7).is_none() {
            return Some(Span { month, year, day: day.filter(|day| *day > 0) });
        }
    }
    None
}

/// A number of at most nine digits.
fn number(word: &str) -> Option<i64> {
    if word.len() > 9 || !word.starts_with(|c: char| c.is_ascii_digit()) { None } else { word.parse().ok() }
}

fn named(query: &str) -> Option<Span> {
    let words = words_and_numbers(query);
    let around = |from: usize, to: usize| words[from.min(words.len())..to.min(words.len())].iter().copied();
    for (place, word) in words.iter().enumerate() {
        let Some((_, month)) = MONTHS.iter().find(|(name, _)| name == word) else { continue };
        let from = place.saturating_sub(2);
        let nearest = place.saturating_sub(1);
        if AMBIGUOUS_MONTHS.contains(word) {
            let beside = around(from, place).chain(around(place + 1, place + 3)).any(|word| number(word).is_some());
            if !beside && !around(nearest, place).any(|word| BEFORE_MONTH.contains(&word)) {
                continue;
            }
        }
        let mut numbers = around(from, place).chain(around(place + 1, place + 4)).filter_map(number);
        let mut days = around(nearest, place).chain(around(place + 1, place + 2)).filter_map(number);
        return Some(Span {
            month: i64::from(*month),
            year: numbers.find(|number| (1901..2100).contains(number)),
            day: days.find(|number| (1..32).contains(number)),
        });
    }
    None
}

/// The stretches of `a-z` and of `0-9`.
fn words_and_numbers(text: &str) -> Vec<&str> {
    let kind = |byte: u8| (byte.is_ascii_lowercase(), byte.is_ascii_digit());
    let mut words = Vec::new();
    let mut at = 0;
    for part in text.as_bytes().chunk_by(|a, b| kind(*a) == kind(*b)) {
        if kind(part[0]) != (false, false) {
            words.push(&text[at..at + part.len()]);
        }
        at += part.len();
    }
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    fn span(month: i64, year: i64, day: i64) -> Span {
        Span { month, year: (year > 0).then_some(year), day: (day > 0).then_some(day) }
    }

    #[test]
    fn months_are_named_in_many_ways() {
        for (query, found) in [
            ("on 2023-05-07?", Some(span(5, 2023, 7))),
            ("2023-05", Some(span(5, 2023, 0))),
            ("2023-05-00", Some(span(5, 2023, 0))),
            ("2023-05-32", Some(span(5, 2023, 0))),
            ("2023-053", None),
            ("12023-05", None),
            ("2023-13", None),
            ("7th of may 2023", Some(span(5, 2023, 0))),
            ("may 7th, 2023", Some(span(5, 2023, 7))),
            ("what may happen", None),
            ("in may", Some(span(5, 0, 0))),
            ("june 5", Some(span(6, 0, 5))),
            ("december", Some(span(12, 0, 0))),
            ("march 1234567890", None),
        ] {
            assert_eq!(span_of(query), found, "{query}");
        }
    }

    #[test]
    fn spans_hold_moments() {
        let at = |year, month, day| day_number(year, month, day) * DAY;
        let may = span(5, 2023, 0);
        assert!(may.holds(at(2023, 5, 31), 0) && !may.holds(at(2023, 6, 1), 0) && may.holds(at(2023, 6, 14), 14));
        assert!(span(2, 2023, 30).holds(at(2023, 2, 1), 0));
        assert!(span(12, 0, 0).holds(at(2024, 1, 5), 14));
    }

    #[test]
    fn some_queries_ask_for_a_time() {
        for query in ["when was it", " how long?", "in what year", "which day"] {
            assert!(asks_when(query), "{query}");
        }
        for query in ["whenever", "what times", "what a year", "at when", "how longer"] {
            assert!(!asks_when(query), "{query}");
        }
    }
}
