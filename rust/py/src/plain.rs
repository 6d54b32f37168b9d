//! `plain_record`: whether bytes need no closer look.

use agent_memory_core::plain;
use pyo3::prelude::*;

/// The wire time of birth of a plain record; None for anything else.
#[pyfunction]
#[pyo3(signature = (data, record_id, /))]
pub fn plain_record<'a>(data: &'a [u8], record_id: &str) -> Option<&'a str> {
    plain::plain_record(data, record_id)
}
