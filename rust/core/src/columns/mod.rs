//! What consolidation knows of every record without building it, and what it asks of that (spec/kernel.md, Columns).
//!
//! The newest versions of records come in as canonical bytes; questions are answered by ids. Indexes are kept in step with what
//! comes in, so a question about a few records costs what those touch, not what there is. From the bottom up: `json` and
//! `payload` read, `words`, `names`, `rows` and `lists` hold, `index` finds, `taking` keeps all that in step, and the rest answers:
//! `scopes` whose a record is, `disputes`, `blocks` what says the same, `pairs` which two have to do with each other, `rules` what
//! recurs.
//!
//! Nothing of what a record said is kept once it is not active, or not there, any more.

mod blocks;
mod chains;
mod clashes;
mod denials;
mod direct;
mod disputes;
mod grid;
mod index;
mod lists;
mod members;
mod names;
mod pairs;
mod payload;
mod reading;
mod related;
mod rows;
mod rules;
mod scopes;
mod sweep;
mod taking;
mod texts;
mod words;

use hashbrown::{DefaultHashBuilder, HashMap, HashSet};

pub use members::Scope;
pub use pairs::{Asked, Found, PairKind, Pairs};
pub use payload::{Id, Kind, id_text, parse_id};
pub use rules::Recurring;

use index::Index;
use lists::Lists;
use names::Names;
use rows::{Row, Text};
use words::{NONE, Tuples, Words};

/// Why columns refused something.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Fault {
    /// Bytes that are no record's.
    #[error("columns hold records in canonical bytes, and these are not a record's")]
    NoRecord,
    /// More than the numbers of rows and words reach.
    #[error("columns hold half a billion records at most: divide the memory")]
    TooMany,
    /// Pairs were asked for after the records they are made of had changed.
    #[error("the columns were changed while their pairs were read: ask for the pairs again")]
    Changed,
}

/// The newest versions of records, as columns.
#[derive(Debug, Default)]
pub struct Columns {
    names: Names,
    rows: Vec<Row>,
    known: usize,
    /// Grows with every change.
    revision: u64,

    texts: Vec<Option<Text>>,
    /// Numbers of texts that nothing names any more.
    free: Vec<u32>,
    /// How many core terms each text has, 255 meaning that many or more; 0 for one that is gone or has no group.
    sizes: Vec<u8>,
    /// A bit for each of those terms.
    sketches: Vec<u64>,
    /// How many texts are gone and still on the lists of the index.
    gone: usize,
    index: Index,
    /// How many texts of each type have a group.
    grouped: [usize; 4],

    words: Words,
    /// The words that are no core terms.
    frames: Vec<u32>,
    /// Project, user and agent, as words.
    scopes: Tuples,
    /// Sorted sets of tags or slot names, as words.
    signatures: Tuples,

    /// Rows that hang on what is named as evidence.
    dependents: Lists<u32>,
    /// Rows that name another as what took their place.
    successors: Lists<u32>,
    /// Rules of consolidation by scope and signature.
    standing: Lists<u64>,
    disputed: HashSet<u32>,
    hanging: HashSet<u32>,
    live_rules: HashSet<u32>,
    erased_rules: HashSet<u32>,
    /// What slot values are compared by.
    gists: HashMap<u32, clashes::Gist>,
    value_hasher: DefaultHashBuilder,
}

impl Columns {
    /// Columns of no record.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// How many records are known.
    #[must_use]
    pub fn len(&self) -> usize {
        self.known
    }

    /// Whether no record is known.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.known == 0
    }

    /// Whether a record of that id is known.
    #[must_use]
    pub fn contains(&self, id: &str) -> bool {
        self.row(id).is_some()
    }

    /// The row of a known record.
    fn row(&self, id: &str) -> Option<u32> {
        let row = self.names.find_id(parse_id(id)?)?;
        self.rows[row as usize].known.then_some(row)
    }

    fn text(&self, number: u32) -> Option<&Text> {
        self.texts.get(number as usize).and_then(Option::as_ref)
    }

    /// The text of an active record that has a group.
    fn text_of(&self, row: u32) -> Option<(u32, &Text)> {
        let number = self.rows[row as usize].text;
        self.text(number).filter(|text| text.group != NONE).map(|text| (number, text))
    }

    /// The texts of the active records among some ids, in the order of their numbers.
    fn texts_of<'a>(&self, ids: impl IntoIterator<Item = &'a str>) -> Vec<u32> {
        let mut numbers: Vec<u32> =
            ids.into_iter().filter_map(|id| self.text_of(self.row(id)?)).map(|(number, _)| number).collect();
        numbers.sort_unstable();
        numbers.dedup();
        numbers
    }

    fn id_of(&self, row: u32) -> Id {
        self.names.id(row)
    }
}
