//! `canonical_json`: the canonical bytes of values.

use std::cell::RefCell;

use agent_memory_core::canonical::Writer;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyList};

use crate::walk::write;

/// The canonical bytes of a value.
#[pyfunction]
#[pyo3(signature = (value, /))]
pub fn canonical_json<'py>(value: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyBytes>> {
    with_writer(|writer| {
        write(value, writer)?;
        Ok(PyBytes::new(value.py(), writer.bytes()))
    })
}

/// The canonical bytes of each value.
#[pyfunction]
#[pyo3(signature = (values, /))]
pub fn canonical_json_many<'py>(values: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyList>> {
    let all = PyList::empty(values.py());
    for value in values.try_iter()? {
        all.append(canonical_json(&value?)?)?;
    }
    Ok(all)
}

/// Lends the thread's writer, cleared: its buffers are kept from call to call.
pub fn with_writer<T>(work: impl FnOnce(&mut Writer) -> T) -> T {
    thread_local! {
        static WRITER: RefCell<Writer> = RefCell::new(Writer::new());
    }
    WRITER.with(|writer| match writer.try_borrow_mut() {
        Ok(mut writer) => {
            writer.clear(); // A panic may have left it half-written.
            let result = work(&mut writer);
            writer.clear();
            result
        }
        // A type with a will of its own called back while its name was asked for.
        Err(_) => work(&mut Writer::new()),
    })
}
