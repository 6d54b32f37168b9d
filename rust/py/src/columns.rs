//! `Columns`: what consolidation knows of every record, and `Pairs`: a walk over pairs of them.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, RwLock};
use std::vec::IntoIter;

use agent_memory_core::columns::{self, Asked, Fault, Found, Kind, PairKind, Scope, id_text};
use agent_memory_core::near_dup::Threshold;
use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;
use pyo3::sync::MutexExt;
use pyo3::types::{PyBytes, PyTuple};

use crate::error::exception;
use crate::near_dup::{items, ratio, text, wrong_type};

/// What a `Columns` and the walks over its pairs share. Whoever waits for the lock has let go of the interpreter: one that
/// holds it may need the interpreter to look for signals.
#[derive(Default)]
struct Shared {
    columns: RwLock<columns::Columns>,
    /// How often records were taken in or forgotten.
    changes: AtomicU64,
}

impl Shared {
    fn ask<T: Send>(&self, py: Python<'_>, question: impl FnOnce(&columns::Columns) -> T + Send) -> PyResult<T> {
        py.detach(|| self.columns.read().ok().map(|columns| question(&columns))).ok_or_else(broken)
    }

    fn change<T: Send>(&self, py: Python<'_>, change: impl FnOnce(&mut columns::Columns) -> T + Send) -> PyResult<T> {
        let changed = py.detach(|| {
            let mut columns = self.columns.write().ok()?;
            self.changes.fetch_add(1, Ordering::Relaxed);
            Some(change(&mut columns))
        });
        changed.ok_or_else(broken)
    }
}

/// The newest versions of records, as columns.
#[pyclass(frozen, name = "Columns", module = "agent_memory._native")]
#[derive(Default)]
pub struct PyColumns(Arc<Shared>);

#[pymethods]
impl PyColumns {
    #[new]
    fn new() -> Self {
        Self::default()
    }

    fn __len__(&self, py: Python<'_>) -> PyResult<usize> {
        self.0.ask(py, columns::Columns::len)
    }

    fn __contains__(&self, record_id: &Bound<'_, PyAny>) -> PyResult<bool> {
        let Ok(id) = text(record_id, String::new) else { return Ok(false) };
        self.0.ask(record_id.py(), |columns| columns.contains(id))
    }

    #[pyo3(signature = (payloads, /))]
    fn update(&self, payloads: &Bound<'_, PyAny>) -> PyResult<()> {
        let py = payloads.py();
        let held: Vec<Bound<'_, PyBytes>> = items(payloads, "payloads", |payload, name| {
            payload.cast_into().map_err(|error| wrong_type(&error.into_inner(), &name(), "bytes"))
        })?;
        let bytes: Vec<&[u8]> = held.iter().map(PyBytesMethods::as_bytes).collect();
        self.0.change(py, |columns| columns.update(&bytes))?.map_err(|fault| refused(py, fault))
    }

    #[pyo3(signature = (record_ids, /))]
    fn remove(&self, record_ids: &Bound<'_, PyAny>) -> PyResult<()> {
        let ids = Texts::of(record_ids, "record_ids")?;
        let ids = ids.lent("record_ids")?;
        self.0.change(record_ids.py(), |columns| columns.remove(ids))
    }

    #[pyo3(signature = (record_id, /))]
    fn scope_of<'py>(&self, record_id: &Bound<'py, PyAny>) -> PyResult<Option<Bound<'py, PyTuple>>> {
        let id = text(record_id, || "record_id".into())?;
        let scope = self.0.ask(record_id.py(), |columns| columns.scope_of(id))?;
        scope.map(|scope| scope_tuple(record_id.py(), scope)).transpose()
    }

    #[pyo3(signature = (record_ids, /))]
    fn affected(&self, record_ids: &Bound<'_, PyAny>) -> PyResult<Vec<String>> {
        let ids = Texts::of(record_ids, "record_ids")?;
        let ids = ids.lent("record_ids")?;
        self.0.ask(record_ids.py(), |columns| columns.affected(ids))
    }

    fn hanging(&self, py: Python<'_>) -> PyResult<Vec<String>> {
        self.0.ask(py, columns::Columns::hanging)
    }

    fn disputes(&self, py: Python<'_>) -> PyResult<Vec<(String, String)>> {
        self.0.ask(py, columns::Columns::disputes)
    }

    #[pyo3(signature = (about=None))]
    fn copies(&self, py: Python<'_>, about: Option<&Bound<'_, PyAny>>) -> PyResult<Vec<Vec<String>>> {
        self.about(py, about, columns::Columns::copies)
    }

    #[pyo3(signature = (about=None, *, statement=false))]
    fn same_terms(
        &self,
        py: Python<'_>,
        about: Option<&Bound<'_, PyAny>>,
        statement: bool,
    ) -> PyResult<Vec<Vec<String>>> {
        self.about(py, about, |columns, about| columns.same_terms(about, statement))
    }

    #[pyo3(
        signature = (kind, /, *, types=None, threshold=None, about=None, once=false),
        text_signature = "($self, kind, /, *, types=(), threshold=0.6, about=None, once=False)"
    )]
    fn pairs(
        &self,
        kind: &Bound<'_, PyAny>,
        types: Option<&Bound<'_, PyAny>>,
        threshold: Option<&Bound<'_, PyAny>>,
        about: Option<&Bound<'_, PyAny>>,
        once: bool,
    ) -> PyResult<PyPairs> {
        let py = kind.py();
        let Some(kind) = text(kind, || "kind".into()).ok().and_then(PairKind::named) else {
            return Err(exception(py, "ArgumentError", "pairs are of kind similar, related, opposed, not another"));
        };
        let types = types.map(|types| Texts::of(types, "types")).transpose()?;
        let types = types.as_ref().map(|types| types.lent("types")).transpose()?.filter(|types| !types.is_empty());
        let types: Option<Vec<Kind>> = types.map(|types| types.into_iter().filter_map(Kind::named).collect());
        let threshold = match threshold {
            Some(threshold) => ratio(threshold)?,
            None => Threshold::Ratio { over: 6, under: 10 },
        };
        let mut raised = None;
        #[allow(clippy::redundant_closure_for_method_calls)] // The method is not general enough in its lifetime.
        let go_on = || {
            raised = Python::attach(|py| py.check_signals()).err();
            raised.is_none()
        };
        let (pairs, changes) = self.about(py, about, |columns, about| {
            let asked = Asked { kind, types: types.as_deref(), threshold, about, once };
            (columns.pairs(asked, go_on), self.0.changes.load(Ordering::Relaxed))
        })?;
        match pairs {
            Err(fault) => Err(refused(py, fault)),
            Ok(None) => Err(raised.unwrap_or_else(broken)),
            Ok(Some(pairs)) => {
                let (left_out, total) = (pairs.left_out(), pairs.total());
                let walk = Walk { pairs, found: Vec::new().into_iter(), more: true, waiting: 0, deferred: 0, done: 0 };
                Ok(PyPairs { shared: Arc::clone(&self.0), changes, left_out, total, walk: Mutex::new(walk) })
            }
        }
    }

    #[pyo3(signature = (least, about=None))]
    fn recurring<'py>(
        &self,
        py: Python<'py>,
        least: i64,
        about: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Vec<Recurring<'py>>> {
        let found = self.about(py, about, |columns, about| columns.recurring(least, about))?;
        found
            .into_iter()
            .map(|found| {
                let signature = PyTuple::new(py, found.signature)?;
                Ok((scope_tuple(py, found.scope)?, signature, found.episodes, found.rules))
            })
            .collect()
    }

    fn erased_evidence(&self, py: Python<'_>) -> PyResult<Vec<String>> {
        self.0.ask(py, columns::Columns::erased_evidence)
    }

    #[pyo3(signature = (about=None))]
    fn rules(&self, py: Python<'_>, about: Option<&Bound<'_, PyAny>>) -> PyResult<Vec<String>> {
        self.about(py, about, columns::Columns::rules)
    }
}

impl PyColumns {
    fn about<T: Send>(
        &self,
        py: Python<'_>,
        about: Option<&Bound<'_, PyAny>>,
        question: impl FnOnce(&columns::Columns, Option<&[&str]>) -> T + Send,
    ) -> PyResult<T> {
        let ids = about.map(|about| Texts::of(about, "about")).transpose()?;
        let ids = ids.as_ref().map(|ids| ids.lent("about")).transpose()?;
        self.0.ask(py, |columns| question(columns, ids.as_deref()))
    }
}

/// Scope, signature, episodes, rules.
type Recurring<'py> = (Bound<'py, PyTuple>, Bound<'py, PyTuple>, Vec<String>, Vec<String>);

/// A walk over pairs of ids.
#[pyclass(frozen, name = "Pairs", module = "agent_memory._native")]
pub struct PyPairs {
    shared: Arc<Shared>,
    /// How often the columns had changed when they were asked.
    changes: u64,
    left_out: u64,
    total: usize,
    walk: Mutex<Walk>,
}

struct Walk {
    pairs: columns::Pairs,
    found: IntoIter<Found>,
    /// Whether there may be more than those found.
    more: bool,
    /// What was passed over before the pair given last.
    waiting: u64,
    deferred: usize,
    done: usize,
}

#[pymethods]
impl PyPairs {
    fn __iter__(slf: Py<Self>) -> Py<Self> {
        slf
    }

    fn __next__(&self, py: Python<'_>) -> PyResult<Option<(String, String)>> {
        let mut walk = self.walk.lock_py_attached(py).map_err(|_| broken())?;
        let walk = &mut *walk;
        if self.shared.changes.load(Ordering::Relaxed) != self.changes {
            return Err(refused(py, Fault::Changed));
        }
        loop {
            if let Some(found) = walk.found.next() {
                (walk.waiting, walk.deferred, walk.done) = (found.waiting, found.deferred, found.done);
                return Ok(Some((id_text(found.first), id_text(found.second))));
            }
            (walk.waiting, walk.deferred) = (walk.pairs.waiting(), walk.pairs.deferred().len());
            walk.done = walk.pairs.done();
            if !walk.more {
                return Ok(None);
            }
            py.check_signals()?;
            let pairs = &mut walk.pairs;
            walk.more = self.shared.ask(py, |columns| pairs.find(columns))?.map_err(|fault| refused(py, fault))?;
            walk.found = walk.pairs.take().into_iter();
        }
    }

    #[getter]
    fn left_out(&self) -> u64 {
        self.left_out
    }

    #[getter]
    fn waiting(&self, py: Python<'_>) -> PyResult<u64> {
        Ok(self.walk.lock_py_attached(py).map_err(|_| broken())?.waiting)
    }

    #[getter]
    fn done(&self, py: Python<'_>) -> PyResult<usize> {
        Ok(self.walk.lock_py_attached(py).map_err(|_| broken())?.done)
    }

    #[getter]
    fn total(&self) -> usize {
        self.total
    }

    #[getter]
    fn deferred(&self, py: Python<'_>) -> PyResult<Vec<(String, String)>> {
        let walk = self.walk.lock_py_attached(py).map_err(|_| broken())?;
        let listed = walk.pairs.deferred().iter().take(walk.deferred);
        Ok(listed.map(|(first, second)| (id_text(*first), id_text(*second))).collect())
    }
}

/// Texts that a caller gave.
struct Texts<'py>(Vec<Bound<'py, PyAny>>);

impl<'py> Texts<'py> {
    fn of(values: &Bound<'py, PyAny>, argument: &str) -> PyResult<Self> {
        items(values, argument, |value, _| Ok(value)).map(Self)
    }

    fn lent(&self, argument: &str) -> PyResult<Vec<&str>> {
        self.0.iter().enumerate().map(|(index, value)| text(value, || format!("{argument}[{index}]"))).collect()
    }
}

fn scope_tuple(py: Python<'_>, scope: Scope) -> PyResult<Bound<'_, PyTuple>> {
    PyTuple::new(py, scope)
}

fn refused(py: Python<'_>, fault: Fault) -> PyErr {
    let class = match fault {
        Fault::NoRecord => "RecordError",
        Fault::TooMany | Fault::Changed => "ArgumentError",
    };
    exception(py, class, &fault.to_string())
}

fn broken() -> PyErr {
    PyRuntimeError::new_err("these columns broke while they changed: read the records into new ones")
}
