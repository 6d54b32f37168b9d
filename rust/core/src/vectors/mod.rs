//! `Vectors`: where texts point, by record id, for one embedder; exact cosines, and their smoothing over sessions.
//!
//! Every score is reproducible to the bit: products of two 32-bit floats are exact in 64 bits, and sums are taken in one
//! order, in eight lanes, which is also what lets a compiler use vector instructions (spec/recall.md section 8).

mod scores;
mod sessions;
mod snapshot;

use hashbrown::HashMap;

pub use crate::columns::Id;
pub use scores::{Around, Scores};
use sessions::{Place, Sessions};

/// Greatest number of dimensions.
pub const MAX_DIMENSION: usize = 65_536;

/// Bytes of a number.
const NUMBER: usize = 4;

/// Sums that are kept apart until the end.
const LANES: usize = 8;

/// Why vectors were refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Fault {
    /// No vectors have so few or so many dimensions.
    #[error("dimension must be from 1 to {MAX_DIMENSION}")]
    Dimension,
    /// The bytes are not those of so many vectors.
    #[error("{bytes} bytes are not {count} vectors of {dimension} 32-bit floats: give 4 bytes a number")]
    Length {
        /// How many bytes there are.
        bytes: usize,
        /// How many vectors there should be.
        count: usize,
        /// Dimensions of each.
        dimension: usize,
    },
    /// A vector, by its position, points nowhere.
    #[error("vectors[{0}] holds a number that is not finite")]
    NotFinite(usize),
}

/// Vectors of one embedder, by record id.
pub struct Vectors {
    identity: String,
    dimension: usize,
    ids: Vec<Id>,
    numbers: Vec<f32>,
    /// Length of each vector.
    norms: Vec<f64>,
    slots: HashMap<Id, usize>,
    sessions: Sessions,
}

impl Vectors {
    /// None yet, of an embedder that is told by `identity`.
    pub fn new(identity: String, dimension: usize) -> Result<Self, Fault> {
        if !(1..=MAX_DIMENSION).contains(&dimension) {
            return Err(Fault::Dimension);
        }
        Ok(Self {
            identity,
            dimension,
            ids: Vec::new(),
            numbers: Vec::new(),
            norms: Vec::new(),
            slots: HashMap::new(),
            sessions: Sessions::default(),
        })
    }

    /// Whose vectors they are.
    #[must_use]
    pub fn identity(&self) -> &str {
        &self.identity
    }

    /// Numbers of a vector.
    #[must_use]
    pub fn dimension(&self) -> usize {
        self.dimension
    }

    /// How many vectors are held.
    #[must_use]
    pub fn len(&self) -> usize {
        self.ids.len()
    }

    /// Whether none is held.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.ids.is_empty()
    }

    /// Whether a record has a vector.
    #[must_use]
    pub fn contains(&self, id: &Id) -> bool {
        self.slots.contains_key(id)
    }

    /// The ids, ascending.
    #[must_use]
    pub fn ids(&self) -> Vec<Id> {
        let mut ids = self.ids.clone();
        ids.sort_unstable();
        ids
    }

    /// Adds vectors or replaces them, all or none. One that is replaced keeps its place in its session.
    pub fn set(&mut self, ids: &[Id], bytes: &[u8]) -> Result<(), Fault> {
        let numbers = self.read(bytes, ids.len())?;
        for (id, vector) in ids.iter().zip(numbers.chunks_exact(self.dimension)) {
            let norm = dot(vector, vector).sqrt();
            if let Some(&slot) = self.slots.get(id) {
                let start = slot * self.dimension;
                self.numbers[start..start + self.dimension].copy_from_slice(vector);
                self.norms[slot] = norm;
            } else {
                self.slots.insert(*id, self.ids.len());
                self.ids.push(*id);
                self.numbers.extend_from_slice(vector);
                self.norms.push(norm);
                self.sessions.grow();
            }
        }
        Ok(())
    }

    /// Says where in which session a record stands; None in none. A record without a vector has no place.
    pub fn place(&mut self, id: &Id, place: Option<(&str, i64, i64)>) {
        if let Some(&slot) = self.slots.get(id) {
            self.sessions.leave(slot);
            if let Some((session, event_at, created_at)) = place {
                self.sessions.join(slot, session, Place { event_at, created_at, id: *id });
            }
        }
    }

    /// Forgets vectors; nothing of them stays in memory that is in use.
    pub fn remove(&mut self, ids: &[Id]) {
        for id in ids {
            let Some(slot) = self.slots.remove(id) else { continue };
            self.sessions.drop_slot(slot);
            self.ids.swap_remove(slot);
            self.norms.swap_remove(slot);
            let last = self.ids.len();
            self.numbers.copy_within(last * self.dimension.., slot * self.dimension);
            self.numbers[last * self.dimension..].fill(0.0);
            self.numbers.truncate(last * self.dimension);
            if let Some(moved) = self.ids.get(slot) {
                self.slots.insert(*moved, slot);
            }
        }
    }

    /// The cosine of every vector with `query`, smoothed over sessions when `around` is given.
    pub fn scores(&self, query: &[u8], around: Option<Around>) -> Result<Scores, Fault> {
        let query = self.read(query, 1)?;
        let length = dot(&query, &query).sqrt();
        let vectors = self.numbers.chunks_exact(self.dimension);
        let own: Vec<f64> =
            vectors.zip(&self.norms).map(|(vector, norm)| cosine(&query, vector, length * norm)).collect();
        let scores = match around {
            Some(around) => around.smoothed(&own, &self.sessions),
            None => own,
        };
        Ok(Scores::new(self.ids.clone(), scores))
    }

    fn read(&self, bytes: &[u8], count: usize) -> Result<Vec<f32>, Fault> {
        let dimension = self.dimension;
        if count.checked_mul(dimension * NUMBER) != Some(bytes.len()) {
            return Err(Fault::Length { bytes: bytes.len(), count, dimension });
        }
        let numbers: Vec<f32> = bytes.as_chunks::<NUMBER>().0.iter().map(|bytes| f32::from_le_bytes(*bytes)).collect();
        match numbers.iter().position(|number| !number.is_finite()) {
            Some(at) => Err(Fault::NotFinite(at / dimension)),
            None => Ok(numbers),
        }
    }
}

/// The sum of products, in eight lanes that are added in pairs.
fn dot(a: &[f32], b: &[f32]) -> f64 {
    let mut lanes = [0.0_f64; LANES];
    let ((a, rest_a), (b, rest_b)) = (a.as_chunks::<LANES>(), b.as_chunks::<LANES>());
    for (a, b) in a.iter().zip(b) {
        for lane in 0..LANES {
            lanes[lane] += f64::from(a[lane]) * f64::from(b[lane]);
        }
    }
    for (lane, (a, b)) in lanes.iter_mut().zip(rest_a.iter().zip(rest_b)) {
        *lane += f64::from(*a) * f64::from(*b);
    }
    let pair = |lane: usize| lanes[lane] + lanes[lane + 1];
    (pair(0) + pair(2)) + (pair(4) + pair(6))
}

/// From -1 to 1; 0 when one of the two vectors is all zeros.
fn cosine(a: &[f32], b: &[f32], lengths: f64) -> f64 {
    if lengths > 0.0 { (dot(a, b) / lengths).clamp(-1.0, 1.0) } else { 0.0 }
}

#[cfg(test)]
mod tests;
