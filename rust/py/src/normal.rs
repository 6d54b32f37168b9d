//! `nfc`: text in the frozen normal form.

use agent_memory_core::error::Fault;
use agent_memory_core::sink::Checker;
use pyo3::prelude::*;
use pyo3::types::PyString;

use crate::error::{Stop, type_name};
use crate::walk::rebuild;

/// The text in NFC; the very same object when it already is.
#[pyfunction]
#[pyo3(signature = (text, /))]
pub fn nfc<'py>(text: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
    if !text.is_instance_of::<PyString>() {
        return Err(Stop::from(Fault::NotText(type_name(text))).into_exception(text.py()));
    }
    rebuild(text, &mut Checker::default())
}
