//! What a walk over a value tells, and the one that only checks.

use std::borrow::Cow;

use crate::error::{Fault, Refusal};
use crate::normal::nfc;

/// How many containers may lie inside one another.
pub const MAX_DEPTH: usize = 256;

/// What a walk over a value tells. Strings and keys are answered with their normal form, borrowed when they have it.
pub trait Sink {
    /// `null`
    fn null(&mut self);
    /// `true` or `false`
    fn boolean(&mut self, value: bool);
    /// A number that fits.
    fn integer(&mut self, value: i64);
    /// A number of any size, from its sign and its limbs of 32 bits, lowest first.
    fn big_integer(&mut self, negative: bool, limbs: &[u32]);
    /// A string.
    fn string<'a>(&mut self, text: &'a str) -> Cow<'a, str>;
    /// `[`
    fn begin_array(&mut self) -> Result<(), Refusal>;
    /// `]`
    fn end_array(&mut self) -> Result<(), Refusal>;
    /// `{`
    fn begin_object(&mut self) -> Result<(), Refusal>;
    /// The key of the member whose value comes next.
    fn key<'a>(&mut self, key: &'a str) -> Result<Cow<'a, str>, Refusal>;
    /// `}`
    fn end_object(&mut self) -> Result<(), Refusal>;
}

/// Checks and normalises without writing. It does not compare keys: see [`check_distinct`].
#[derive(Debug, Default)]
pub struct Checker {
    depth: usize,
}

impl Checker {
    fn begin(&mut self) -> Result<(), Refusal> {
        check_depth(self.depth)?;
        self.depth += 1;
        Ok(())
    }

    fn end(&mut self) -> Result<(), Refusal> {
        self.depth = self.depth.checked_sub(1).ok_or(Fault::OutOfOrder)?;
        Ok(())
    }
}

impl Sink for Checker {
    fn null(&mut self) {}

    fn boolean(&mut self, _value: bool) {}

    fn integer(&mut self, _value: i64) {}

    fn big_integer(&mut self, _negative: bool, _limbs: &[u32]) {}

    fn string<'a>(&mut self, text: &'a str) -> Cow<'a, str> {
        nfc(text)
    }

    fn begin_array(&mut self) -> Result<(), Refusal> {
        self.begin()
    }

    fn end_array(&mut self) -> Result<(), Refusal> {
        self.end()
    }

    fn begin_object(&mut self) -> Result<(), Refusal> {
        self.begin()
    }

    fn key<'a>(&mut self, key: &'a str) -> Result<Cow<'a, str>, Refusal> {
        Ok(nfc(key))
    }

    fn end_object(&mut self) -> Result<(), Refusal> {
        self.end()
    }
}

/// Refuses a container that lies inside `around` others when that is too many.
pub fn check_depth(around: usize) -> Result<(), Refusal> {
    if around < MAX_DEPTH { Ok(()) } else { Err(Fault::TooDeep.into()) }
}

/// Refuses keys, already normalised, of which two are equal.
pub fn check_distinct(keys: &mut [impl Ord]) -> Result<(), Refusal> {
    keys.sort_unstable();
    if keys.windows(2).any(|pair| pair[0] == pair[1]) { Err(Fault::EqualKeys.into()) } else { Ok(()) }
}
