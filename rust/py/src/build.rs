//! What this binary is.

use agent_memory_core::{BOUNDARY, VERSION, normal, unicode14};
use pyo3::prelude::*;
use pyo3::types::PyDict;

/// The version, the boundary number, the build profile, and the Unicode versions of the tables and of the NFC rule.
#[pyfunction]
pub fn build_info(py: Python<'_>) -> PyResult<Bound<'_, PyDict>> {
    let info = PyDict::new(py);
    info.set_item("version", VERSION)?;
    info.set_item("boundary", BOUNDARY)?;
    info.set_item("profile", if cfg!(debug_assertions) { "debug" } else { "release" })?;
    info.set_item("unicode", normal::tables_version())?;
    info.set_item("nfc", unicode14::NFC_VERSION)?;
    Ok(info)
}
