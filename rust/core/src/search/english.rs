//! The English words that ranking treats in a way of their own (spec/recall.md sections 3.3 and 5.3).
//!
//! The lists stand in `kernel/reference/search/english.py` too; a test compares the two.

/// Never stop words: who asks with them asks about the user.
pub const FIRST_PERSON: &[&str] = &["i", "me", "my", "mine", "myself", "we", "us", "our", "ours", "ourselves"];

/// Words that give no term; sorted.
#[rustfmt::skip]
pub const STOP_WORDS: &[&str] = &[
    "a", "about", "am", "an", "and", "are", "as", "at", "be", "been", "but", "by", "can", "could", "did", "do",
    "does", "doing", "for", "from", "had", "has", "have", "having", "he", "her", "hers", "him", "his", "how", "if",
    "in", "into", "is", "it", "its", "itself", "just", "no", "nor", "not", "of", "off", "on", "or", "out", "she",
    "so", "some", "such", "than", "that", "the", "their", "theirs", "them", "then", "there", "these", "they", "this",
    "those", "to", "too", "up", "very", "was", "were", "what", "when", "where", "which", "who", "whom", "whose",
    "why", "will", "with", "would", "you", "your", "yours",
];

/// A record with one of these tells a time; sorted.
#[rustfmt::skip]
pub const TIME_WORDS: &[&str] = &[
    "ago", "apr", "april", "aug", "august", "dec", "december", "evening", "feb", "february", "friday", "jan",
    "january", "jul", "july", "jun", "june", "last", "mar", "march", "may", "monday", "month", "morning", "next",
    "night", "nov", "november", "oct", "october", "recently", "saturday", "sep", "sept", "september", "sunday",
    "thursday", "today", "tomorrow", "tonight", "tuesday", "wednesday", "week", "weekend", "year", "yesterday",
];

/// The names of the months and their numbers.
#[rustfmt::skip]
pub const MONTHS: &[(&str, u8)] = &[
    ("january", 1), ("jan", 1), ("february", 2), ("feb", 2), ("march", 3), ("mar", 3), ("april", 4), ("apr", 4),
    ("may", 5), ("june", 6), ("jun", 6), ("july", 7), ("jul", 7), ("august", 8), ("aug", 8), ("september", 9),
    ("sep", 9), ("sept", 9), ("october", 10), ("oct", 10), ("november", 11), ("nov", 11), ("december", 12),
    ("dec", 12),
];

/// Words and names too: a month only beside a number or after one of [`BEFORE_MONTH`].
pub const AMBIGUOUS_MONTHS: &[&str] = &["dec", "jan", "mar", "march", "may", "sep"];

/// Words that make a month of what follows.
pub const BEFORE_MONTH: &[&str] = &["by", "during", "in", "of", "since"];
