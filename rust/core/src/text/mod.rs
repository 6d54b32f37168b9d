//! Text for comparing: what a text says, reduced to what two texts can be compared by (spec/text.md).
//!
//! Consolidation, slots and corrections call it; recall has an analyser of its own. Pure functions over strings. The package
//! `agent_memory.kernel.reference.text` says the same in Python, room by room, and gives the same on every string.
//!
//! From the bottom up: `prepare` makes one spelling of many, `scan` gives every character a class and finds the tokens,
//! `reader` walks them once and fills an [`Analysis`], and the rest asks questions of it.

mod analysis;
mod article;
mod chunks;
mod classify;
mod enclosures;
mod grams;
mod idioms;
mod letters;
pub mod lexicon;
mod prepare;
mod reader;
mod runs;
mod same;
mod scan;
mod sentences;
mod slots;
mod stem;
mod tokens;
mod words;

pub use analysis::{Analysis, Item, core_of};
pub use classify::{Tells, classify_sentence};
pub use grams::trigrams;
pub use letters::Letters;
pub use prepare::{fold, lower, prepare};
pub use reader::analyse;
pub use same::{core_counts, cores_oppose, same_item, same_statement, statements_oppose};
pub use scan::{Kind, Scan, Token, scan};
pub use sentences::split_sentences;
pub use slots::{infer_slot, slot_values_clash};
pub use stem::stem;
