//! `Vectors`: where texts point, and `Scores`: what one query makes of them.

use std::sync::RwLock;

use agent_memory_core::columns::{id_text, parse_id};
use agent_memory_core::vectors::{self, Around, Fault, Id};
use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyBytes, PyInt, PyTuple, PyType};

use crate::error::exception;
use crate::near_dup::{items, text, wrong_type};

/// A vector for each of many records.
#[pyclass(frozen, name = "Vectors", module = "agent_memory._native")]
pub struct PyVectors(RwLock<vectors::Vectors>);

#[pymethods]
impl PyVectors {
    #[new]
    #[pyo3(signature = (identity, dimension, /))]
    fn new(identity: &Bound<'_, PyAny>, dimension: &Bound<'_, PyAny>) -> PyResult<Self> {
        let py = identity.py();
        let identity = text(identity, || "identity".into())?.to_owned();
        let made = vectors::Vectors::new(identity, count(dimension, "dimension")?);
        made.map(|made| Self(RwLock::new(made))).map_err(|fault| refused(py, fault))
    }

    #[getter]
    fn identity(&self, py: Python<'_>) -> PyResult<String> {
        self.ask(py, |vectors| vectors.identity().to_owned())
    }

    #[getter]
    fn dimension(&self, py: Python<'_>) -> PyResult<usize> {
        self.ask(py, vectors::Vectors::dimension)
    }

    fn __len__(&self, py: Python<'_>) -> PyResult<usize> {
        self.ask(py, vectors::Vectors::len)
    }

    fn __contains__(&self, record_id: &Bound<'_, PyAny>) -> PyResult<bool> {
        let id = text(record_id, String::new).ok().and_then(parse_id);
        self.ask(record_id.py(), |vectors| id.is_some_and(|id| vectors.contains(&id)))
    }

    fn ids(&self, py: Python<'_>) -> PyResult<Vec<String>> {
        Ok(self.ask(py, vectors::Vectors::ids)?.into_iter().map(id_text).collect())
    }

    #[pyo3(signature = (record_ids, vectors, /))]
    fn set(&self, record_ids: &Bound<'_, PyAny>, vectors: &Bound<'_, PyAny>) -> PyResult<()> {
        let py = record_ids.py();
        let ids = items(record_ids, "record_ids", |id, name| {
            parse_id(text(&id, name)?).ok_or_else(|| {
                let message = format!("{} is no record id: give 'mem:' and 32 lower-case hex digits", name());
                exception(py, "ArgumentError", &message)
            })
        })?;
        let bytes = bytes(vectors, "vectors")?;
        self.change(py, |held| held.set(&ids, bytes))?.map_err(|fault| refused(py, fault))
    }

    #[pyo3(signature = (record_ids, places, /))]
    fn place(&self, record_ids: &Bound<'_, PyAny>, places: &Bound<'_, PyAny>) -> PyResult<()> {
        let py = record_ids.py();
        let ids = known(record_ids, "record_ids")?;
        let places: Vec<Option<(String, i64, i64)>> = items(places, "places", |place, name| {
            place.extract().map_err(|_| wrong_type(&place, &name(), "a (session, event time, time of birth) or None"))
        })?;
        if ids.len() != places.len() {
            let message = format!("{} record ids and {} places: give one for each", ids.len(), places.len());
            return Err(exception(py, "ArgumentError", &message));
        }
        self.change(py, |vectors| {
            for (id, place) in ids.iter().zip(&places) {
                let place = place.as_ref().map(|(session, event_at, created_at)| (&**session, *event_at, *created_at));
                if let Some(id) = id {
                    vectors.place(id, place);
                }
            }
        })
    }

    #[pyo3(signature = (record_ids, /))]
    fn remove(&self, record_ids: &Bound<'_, PyAny>) -> PyResult<()> {
        let ids: Vec<Id> = known(record_ids, "record_ids")?.into_iter().flatten().collect();
        self.change(record_ids.py(), |vectors| vectors.remove(&ids))
    }

    #[pyo3(signature = (query, /, *, around=None))]
    fn scores(&self, query: &Bound<'_, PyAny>, around: Option<&Bound<'_, PyAny>>) -> PyResult<PyScores> {
        let py = query.py();
        let query = bytes(query, "query")?;
        let around = around.map(shares).transpose()?;
        let found = self.ask(py, |vectors| vectors.scores(query, around))?;
        found.map(PyScores).map_err(|fault| refused(py, fault))
    }

    #[pyo3(signature = (query, k, /, among=None))]
    fn best(
        &self,
        query: &Bound<'_, PyAny>,
        k: &Bound<'_, PyAny>,
        among: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Vec<(String, f64)>> {
        self.scores(query, None)?.best(k, among)
    }

    #[pyo3(signature = (cursor, note, /))]
    fn to_bytes<'py>(&self, cursor: &Bound<'py, PyAny>, note: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyBytes>> {
        let py = cursor.py();
        let (cursor, note) = (text(cursor, || "cursor".into())?, bytes(note, "note")?);
        let written = self.ask(py, |vectors| vectors.to_bytes(cursor, note))?;
        Ok(PyBytes::new(py, &written))
    }

    #[classmethod]
    #[pyo3(signature = (data, /))]
    fn from_bytes<'py>(
        class: &Bound<'py, PyType>,
        data: &Bound<'py, PyAny>,
    ) -> PyResult<Option<(Self, String, Bound<'py, PyBytes>)>> {
        let py = class.py();
        let data = bytes(data, "data")?;
        let read = py.detach(|| vectors::Vectors::from_bytes(data));
        Ok(read.map(|(held, cursor, note)| (Self(RwLock::new(held)), cursor, PyBytes::new(py, &note))))
    }
}

impl PyVectors {
    fn ask<T: Send>(&self, py: Python<'_>, question: impl FnOnce(&vectors::Vectors) -> T + Send) -> PyResult<T> {
        py.detach(|| self.0.read().ok().map(|vectors| question(&vectors))).ok_or_else(broken)
    }

    fn change<T: Send>(&self, py: Python<'_>, change: impl FnOnce(&mut vectors::Vectors) -> T + Send) -> PyResult<T> {
        py.detach(|| self.0.write().ok().map(|mut vectors| change(&mut vectors))).ok_or_else(broken)
    }
}

/// What one query scores.
#[pyclass(frozen, name = "Scores", module = "agent_memory._native")]
pub struct PyScores(vectors::Scores);

#[pymethods]
impl PyScores {
    fn __len__(&self) -> usize {
        self.0.len()
    }

    #[pyo3(signature = (k, /, among=None))]
    fn best(&self, k: &Bound<'_, PyAny>, among: Option<&Bound<'_, PyAny>>) -> PyResult<Vec<(String, f64)>> {
        let k_most = count(k, "k")?;
        let among = among.map(|among| known(among, "among")).transpose()?;
        let among = among.map(|ids| ids.into_iter().flatten().collect());
        let found = k.py().detach(|| self.0.best(k_most, among.as_ref()));
        Ok(found.into_iter().map(|(id, score)| (id_text(id), score)).collect())
    }

    #[pyo3(signature = (record_ids, /))]
    fn of(&self, record_ids: &Bound<'_, PyAny>) -> PyResult<Vec<Option<f64>>> {
        let ids = known(record_ids, "record_ids")?;
        let wanted: Vec<Id> = ids.iter().flatten().copied().collect();
        let mut found = record_ids.py().detach(|| self.0.of(&wanted)).into_iter();
        Ok(ids.iter().map(|id| id.and_then(|_| found.next().flatten())).collect())
    }
}

/// Ids that a caller gave; None for text that is none.
fn known(record_ids: &Bound<'_, PyAny>, argument: &str) -> PyResult<Vec<Option<Id>>> {
    items(record_ids, argument, |id, name| Ok(parse_id(text(&id, name)?)))
}

fn bytes<'a>(value: &'a Bound<'_, PyAny>, name: &str) -> PyResult<&'a [u8]> {
    value.cast::<PyBytes>().map(PyBytesMethods::as_bytes).map_err(|_| wrong_type(value, name, "bytes"))
}

/// A whole number; one below 0 counts as 0.
fn count(value: &Bound<'_, PyAny>, name: &str) -> PyResult<usize> {
    if !value.is_instance_of::<PyInt>() || value.is_instance_of::<PyBool>() {
        return Err(wrong_type(value, name, "an integer"));
    }
    if value.lt(0)? {
        return Ok(0);
    }
    Ok(value.extract().unwrap_or(usize::MAX))
}

fn shares(around: &Bound<'_, PyAny>) -> PyResult<Around> {
    let (previous, next, two_away): (f64, f64, f64) = around
        .cast::<PyTuple>()
        .ok()
        .and_then(|around| around.extract().ok())
        .ok_or_else(|| wrong_type(around, "around", "a tuple of three numbers"))?;
    if [previous, next, two_away].iter().any(|share| !(0.0..=1.0).contains(share)) {
        return Err(exception(around.py(), "ArgumentError", "around must be three numbers from 0 to 1"));
    }
    Ok(Around { previous, next, two_away })
}

fn refused(py: Python<'_>, fault: Fault) -> PyErr {
    exception(py, "ArgumentError", &fault.to_string())
}

fn broken() -> PyErr {
    PyRuntimeError::new_err("these vectors broke while they changed: embed the records again")
}
