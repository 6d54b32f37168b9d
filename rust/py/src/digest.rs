//! `digest`: the SHA-256 of canonical bytes.

use agent_memory_core::canonical::Writer;
use agent_memory_core::digest::hex_digest;
use pyo3::prelude::*;

use crate::canonical::with_writer;
use crate::walk::write;

/// How many canonical bytes are gathered before they are hashed together.
const GATHERED: usize = 1 << 20;

/// The digest of a value.
#[pyfunction]
#[pyo3(signature = (value, /))]
pub fn digest(value: &Bound<'_, PyAny>) -> PyResult<String> {
    with_writer(|writer| {
        write(value, writer)?;
        Ok(hex_digest(writer.bytes()))
    })
}

/// The digest of each value; the interpreter is free while they are hashed.
#[pyfunction]
#[pyo3(signature = (values, /))]
pub fn digest_many(values: &Bound<'_, PyAny>) -> PyResult<Vec<String>> {
    let py = values.py();
    let mut writer = Writer::new();
    let mut gathered = Gathered::default();
    for value in values.try_iter()? {
        writer.clear();
        write(&value?, &mut writer)?;
        gathered.bytes.extend_from_slice(writer.bytes());
        gathered.ends.push(gathered.bytes.len());
        if gathered.bytes.len() >= GATHERED {
            py.detach(|| gathered.hash());
        }
    }
    py.detach(|| gathered.hash());
    Ok(gathered.digests)
}

/// Canonical bytes one after another, and the digests of those before them.
#[derive(Default)]
struct Gathered {
    bytes: Vec<u8>,
    ends: Vec<usize>,
    digests: Vec<String>,
}

impl Gathered {
    fn hash(&mut self) {
        let mut from = 0;
        for end in self.ends.drain(..) {
            self.digests.push(hex_digest(&self.bytes[from..end]));
            from = end;
        }
        self.bytes.clear();
    }
}
