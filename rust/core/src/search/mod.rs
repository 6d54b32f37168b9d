//! The recall index (spec/recall.md): finds, scores and packs records in one call.
//!
//! It holds copies of what records say, never the truth, and does no I/O. Sums are of whole numbers, so that no order of
//! evaluation changes an answer; the plain-Python reference answers alike, bit for bit. What it forgets it overwrites.

mod analyser;
mod authors;
mod classes;
mod config;
mod days;
mod english;
mod fold;
mod index;
mod intent;
mod lending;
mod names;
mod packing;
mod payload;
mod postings;
mod ranking;
mod reading;
mod records;
mod restore;
mod sessions;
mod snapshot;
mod speakers;
mod stems;
mod visibility;
mod weights;
mod words;

pub use crate::json::Malformed;
pub use analyser::Analyser;
pub use classes::CLASSES;
pub use config::Config;
pub use index::{Fault, Index};
pub use packing::{Kind, Row};
pub use ranking::Asked;
pub use records::{Id, Type, id_text, parse_id};
pub use stems::Language;
pub use visibility::Scope;

/// No number.
const NONE: u32 = u32::MAX;
