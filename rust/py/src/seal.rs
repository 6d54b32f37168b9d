//! `seal`: the one call made for each record that is built.

use agent_memory_core::digest::hex_digest;
use agent_memory_core::error::Fault;
use agent_memory_core::sink::Checker;
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::canonical::with_writer;
use crate::error::{Stop, type_name};
use crate::walk::rebuild;

/// Checks both values, normalises every string and key in them, and gives the digest of the first with both.
#[pyfunction]
#[pyo3(signature = (birth, rest, /))]
pub fn seal<'py>(
    birth: &Bound<'py, PyAny>,
    rest: &Bound<'py, PyAny>,
) -> PyResult<(String, Bound<'py, PyAny>, Bound<'py, PyAny>)> {
    let py = birth.py();
    if !birth.is_instance_of::<PyDict>() {
        return Err(Stop::from(Fault::Birth(type_name(birth))).into_exception(py));
    }
    let (digest, birth) = with_writer(|writer| {
        let birth = rebuild(birth, writer)?;
        Ok::<_, PyErr>((hex_digest(writer.bytes()), birth))
    })?;
    Ok((digest, birth, rebuild(rest, &mut Checker::default())?))
}
