//! `Index`: the recall index.

use std::borrow::Cow;
use std::sync::RwLock;

use agent_memory_core::search::{self, Asked, Config, Id, Kind, Language, Type, id_text, parse_id};
use pyo3::exceptions::{PyOverflowError, PyRuntimeError, PyTypeError, PyUnicodeEncodeError};
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyBool, PyBytes, PyFloat, PyInt, PyList, PyMapping, PyString, PyTuple, PyType};

use crate::error::{exception, type_name};

/// Finds, scores and packs records.
#[pyclass(frozen, name = "Index", module = "agent_memory._native")]
pub struct PyIndex {
    index: RwLock<search::Index>,
    config: Py<PyAny>,
}

#[pymethods]
impl PyIndex {
    #[new]
    #[pyo3(signature = (config=None))]
    fn new(py: Python<'_>, config: Option<&Bound<'_, PyAny>>) -> PyResult<Self> {
        let (config, constants) = configuration(py, config)?;
        Ok(Self { index: RwLock::new(search::Index::new(constants)), config })
    }

    #[getter]
    fn config(&self, py: Python<'_>) -> Py<PyAny> {
        self.config.clone_ref(py)
    }

    fn __len__(&self, py: Python<'_>) -> PyResult<usize> {
        self.ask(py, search::Index::len)
    }

    fn __contains__(&self, record_id: &Bound<'_, PyAny>) -> PyResult<bool> {
        let Ok(id) = text(record_id, "record_id") else { return Ok(false) };
        self.ask(record_id.py(), |index| index.contains(id))
    }

    #[pyo3(signature = (payloads, /))]
    fn update(&self, payloads: &Bound<'_, PyAny>) -> PyResult<()> {
        let py = payloads.py();
        let held: Vec<Bound<'_, PyBytes>> = items(payloads, "payloads", |payload| {
            payload.cast_into().map_err(|error| wrong_type(&error.into_inner(), "a payload", "bytes"))
        })?;
        let bytes: Vec<&[u8]> = held.iter().map(PyBytesMethods::as_bytes).collect();
        self.change(py, |index| index.update(&bytes))?.map_err(|fault| {
            let class = match fault {
                search::Fault::NoRecord => "RecordError",
                search::Fault::TooMany => "ArgumentError",
            };
            exception(py, class, &fault.to_string())
        })
    }

    #[pyo3(signature = (record_ids, /))]
    fn remove(&self, record_ids: &Bound<'_, PyAny>) -> PyResult<()> {
        // Text that is no id is held by no index.
        let ids = items(record_ids, "record_ids", |id| Ok(parse_id(text(&id, "a record id")?)))?;
        let ids: Vec<Id> = ids.into_iter().flatten().collect();
        self.change(record_ids.py(), |index| index.remove(&ids))
    }

    #[pyo3(signature = (touches, /))]
    fn set_touches(&self, touches: &Bound<'_, PyAny>) -> PyResult<()> {
        let py = touches.py();
        let Ok(mapping) = touches.cast::<PyMapping>() else {
            return Err(wrong_type(touches, "touches", "a mapping of ids to counts"));
        };
        let counts = items(&mapping.items()?.into_any(), "touches", |item| {
            let (id, count): (Bound<'_, PyAny>, Bound<'_, PyAny>) = item.extract()?;
            let Some(id) = parse_id(text(&id, "a record id")?) else {
                return Err(exception(
                    py,
                    "ArgumentError",
                    "touches are counted by record id: 'mem:' and 32 hex digits",
                ));
            };
            integer(&count, "a touch count")?;
            let count = count
                .extract::<u64>()
                .map_err(|_| exception(py, "ArgumentError", "a touch count must lie between 0 and 2**64 - 1"))?;
            Ok((id, count))
        })?;
        self.change(py, |index| index.set_touches(counts))
    }

    #[pyo3(signature = (query, k))]
    fn candidates(&self, query: &Bound<'_, PyAny>, k: &Bound<'_, PyAny>) -> PyResult<Vec<(String, f64)>> {
        let py = query.py();
        let (query, k) = (query_text(query)?, integer(k, "k")?);
        let found = self.ask(py, |index| index.candidates(&query, k))?;
        Ok(found.into_iter().map(|(id, raw)| (id_text(id), raw)).collect())
    }

    #[pyo3(
        signature = (
            query, *, now, budget, k=None, scope=None, include_archived=None, include_history=None, types=None,
            tags=None, min_score=None, limit=None
        ),
        text_signature = "($self, query, *, now, budget, k=128, scope=None, include_archived=False, \
                          include_history=False, types=None, tags=None, min_score=0.0, limit=None)"
    )]
    #[allow(clippy::too_many_arguments)]
    fn recall<'py>(
        &self,
        query: &Bound<'py, PyAny>,
        now: &Bound<'py, PyAny>,
        budget: &Bound<'py, PyAny>,
        k: Option<&Bound<'py, PyAny>>,
        scope: Option<&Bound<'py, PyAny>>,
        include_archived: Option<&Bound<'py, PyAny>>,
        include_history: Option<&Bound<'py, PyAny>>,
        types: Option<&Bound<'py, PyAny>>,
        tags: Option<&Bound<'py, PyAny>>,
        min_score: Option<&Bound<'py, PyAny>>,
        limit: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyList>> {
        let py = query.py();
        let query = query_text(query)?;
        let members = scope.map(scope_members).transpose()?;
        let lent = members.as_ref().map(|members| members.each_ref().map(Option::as_deref));
        let types = types.map(|types| items(types, "types", |name| owned(&name, "a type")));
        let types = types.transpose()?;
        let tags = tags.map(|tags| items(tags, "tags", |tag| owned(&tag, "a tag")));
        let tags = tags.transpose()?.unwrap_or_default();
        let asked = Asked {
            query: &query,
            now: integer(now, "now")?,
            budget: integer(budget, "budget")?,
            k: k.map_or(Ok(128), |k| integer(k, "k"))?,
            scope: lent,
            archived: include_archived.map_or(Ok(false), |flag| truth(flag, "include_archived"))?,
            history: include_history.map_or(Ok(false), |flag| truth(flag, "include_history"))?,
            types: types.map(|types| types.iter().filter_map(|name| Type::named(name)).collect()),
            tags: tags.iter().map(String::as_str).collect(),
            min_score: min_score.map_or(Ok(0.0), |score| number(score, "min_score"))?,
            limit: limit.map(|limit| integer(limit, "limit")).transpose()?,
        };
        let found = self.ask(py, |index| index.recall(&asked))?;
        rows(py, &found)
    }

    #[pyo3(signature = (cursor, epoch))]
    fn snapshot<'py>(&self, cursor: &Bound<'py, PyAny>, epoch: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyBytes>> {
        let py = cursor.py();
        let cursor = text(cursor, "cursor")?;
        integer(epoch, "epoch")?;
        let epoch = epoch
            .extract::<u64>()
            .map_err(|_| exception(py, "ArgumentError", "epoch is out of range: it must be from 0 to 2**64 - 1"))?;
        let bytes = self.ask(py, |index| index.snapshot(cursor, epoch))?;
        Ok(PyBytes::new(py, &bytes))
    }

    #[classmethod]
    #[pyo3(signature = (data, config=None))]
    fn restore<'py>(
        _class: &Bound<'py, PyType>,
        data: &Bound<'py, PyAny>,
        config: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Option<(Self, String, u64)>> {
        let py = data.py();
        let bytes = data.cast::<PyBytes>().map_err(|_| wrong_type(data, "data", "bytes"))?.as_bytes();
        let (config, constants) = configuration(py, config)?;
        let restored = py.detach(|| search::Index::restore(bytes, constants));
        Ok(restored.map(|(index, cursor, epoch)| (Self { index: RwLock::new(index), config }, cursor, epoch)))
    }
}

impl PyIndex {
    /// Whoever waits for the lock has let go of the interpreter.
    fn ask<T: Send>(&self, py: Python<'_>, question: impl FnOnce(&search::Index) -> T + Send) -> PyResult<T> {
        py.detach(|| self.index.read().ok().map(|index| question(&index))).ok_or_else(broken)
    }

    fn change<T: Send>(&self, py: Python<'_>, change: impl FnOnce(&mut search::Index) -> T + Send) -> PyResult<T> {
        py.detach(|| self.index.write().ok().map(|mut index| change(&mut index))).ok_or_else(broken)
    }
}

/// The configuration as Python has it, which has checked it, and as the core has it.
fn configuration(py: Python<'_>, config: Option<&Bound<'_, PyAny>>) -> PyResult<(Py<PyAny>, Config)> {
    static CLASS: PyOnceLock<Py<PyType>> = PyOnceLock::new();
    static DEFAULT: PyOnceLock<Py<PyAny>> = PyOnceLock::new();
    const MODULE: &str = "agent_memory.kernel.reference.search.config";
    let Some(config) = config else {
        let default = DEFAULT.get_or_try_init(py, || py.import(MODULE)?.getattr("DEFAULT").map(Bound::unbind))?;
        return Ok((default.clone_ref(py), Config::default()));
    };
    if !config.is_instance(CLASS.import(py, MODULE, "Config")?)? {
        return Err(wrong_type(config, "config", "a Config"));
    }
    let language: String = constant(config, "language")?;
    let constants = Language::named(&language).map(|language| {
        Ok::<_, PyErr>(Config {
            language,
            k1: constant(config, "k1")?,
            b: constant(config, "b")?,
            context: constant::<Vec<u64>>(config, "context")?.into_iter().map(share).collect(),
            overlap: share(constant(config, "overlap")?),
            context_length: constant(config, "context_length")?,
            context_share: constant(config, "context_share")?,
            context_floor: constant(config, "context_floor")?,
            author: constant(config, "author")?,
            own: constant(config, "own")?,
            question: constant(config, "question")?,
            when: constant(config, "when")?,
            date: constant(config, "date")?,
            date_days: constant(config, "date_days")?,
            query_terms: constant(config, "query_terms")?,
        })
    });
    match constants.transpose()?.filter(Config::is_valid) {
        Some(constants) => Ok((config.clone().unbind(), constants)),
        None => Err(exception(py, "ArgumentError", "config holds a constant that is out of range")),
    }
}

fn constant<T: for<'a, 'py> FromPyObject<'a, 'py>>(config: &Bound<'_, PyAny>, name: &str) -> PyResult<T> {
    config.getattr(name)?.extract::<T>().map_err(|_| {
        let message = format!("config.{name} is of the wrong type, or greater than 2**64 - 1");
        exception(config.py(), "ArgumentError", &message)
    })
}

/// Hundredths; the core refuses what is above a hundred.
fn share(hundredths: u64) -> u8 {
    u8::try_from(hundredths).unwrap_or(u8::MAX)
}

fn rows<'py>(py: Python<'py>, found: &[search::Row]) -> PyResult<Bound<'py, PyList>> {
    static CLASS: PyOnceLock<Py<PyType>> = PyOnceLock::new();
    static NEW: PyOnceLock<Py<PyAny>> = PyOnceLock::new();
    let class = CLASS.import(py, "agent_memory.kernel.reference.search.packing", "Row")?;
    // The class is a tuple with names, and is made as one: its own way is several times as slow.
    let new = NEW.get_or_try_init(py, || py.get_type::<PyTuple>().getattr("__new__").map(Bound::unbind))?.bind(py);
    let kinds = [Kind::Match, Kind::Partner, Kind::Predecessor].map(|kind| PyString::intern(py, kind.name()));
    let rows = found.iter().map(|row| {
        let float = |number: f64| PyFloat::new(py, number).into_any();
        let of = row.of.map_or_else(|| py.None().into_bound(py), |id| PyString::new(py, &id_text(id)).into_any());
        let [relevance, state, recency, salience, confidence, importance, standing] = row.factors.map(float);
        let fields = [
            PyString::new(py, &id_text(row.id)).into_any(),
            float(row.score),
            relevance,
            state,
            recency,
            salience,
            confidence,
            importance,
            standing,
            row.tokens.into_pyobject(py)?.into_any(),
            kinds[row.kind as usize].clone().into_any(),
            of,
            row.cut.into_pyobject(py)?.into_any(),
        ];
        new.call1((class, PyTuple::new(py, fields)?))
    });
    PyList::new(py, rows.collect::<PyResult<Vec<_>>>()?)
}

/// What `read` makes of each item of an argument.
fn items<'py, T>(
    values: &Bound<'py, PyAny>,
    argument: &str,
    read: impl Fn(Bound<'py, PyAny>) -> PyResult<T>,
) -> PyResult<Vec<T>> {
    let is_text = values.is_instance_of::<PyString>() || values.is_instance_of::<PyBytes>();
    match values.try_iter() {
        Ok(iterator) if !is_text => iterator.map(|item| read(item?)).collect(),
        Err(error) if !error.is_instance_of::<PyTypeError>(values.py()) => Err(error),
        _ => Err(wrong_type(values, argument, "a list or another iterable")),
    }
}

/// Project, user, agent and session asked for.
fn scope_members(scope: &Bound<'_, PyAny>) -> PyResult<[Option<String>; 4]> {
    let member = |member: Bound<'_, PyAny>| {
        if member.is_none() { Ok(None) } else { owned(&member, "a member of scope").map(Some) }
    };
    let members = items(scope, "scope", member)?;
    <[Option<String>; 4]>::try_from(members).map_err(|_| {
        exception(scope.py(), "ArgumentError", "scope has four members: project, user_id, agent_id, session_id")
    })
}

fn text<'a>(value: &'a Bound<'_, PyAny>, name: &str) -> PyResult<&'a str> {
    let Ok(string) = value.cast::<PyString>() else { return Err(wrong_type(value, name, "str")) };
    string.to_str().map_err(|error| {
        if !error.is_instance_of::<PyUnicodeEncodeError>(value.py()) {
            return error;
        }
        let message = format!("{name} holds a lone surrogate, which is not text: replace it first");
        exception(value.py(), "ArgumentError", &message)
    })
}

fn owned(value: &Bound<'_, PyAny>, name: &str) -> PyResult<String> {
    text(value, name).map(str::to_owned)
}

/// A query, whatever it holds: a lone surrogate becomes a character that is in no word.
fn query_text<'a>(value: &'a Bound<'_, PyAny>) -> PyResult<Cow<'a, str>> {
    let Ok(string) = value.cast::<PyString>() else { return Err(wrong_type(value, "query", "str")) };
    if let Ok(text) = string.to_str() {
        return Ok(Cow::Borrowed(text));
    }
    let encoded = string.call_method1("encode", ("utf-32-le", "surrogatepass"))?;
    let points = encoded.cast::<PyBytes>()?.as_bytes().chunks_exact(4);
    let character = |point: &[u8]| {
        let point = point.iter().rev().fold(0, |point, byte| (point << 8) | u32::from(*byte));
        char::from_u32(point).unwrap_or(char::REPLACEMENT_CHARACTER)
    };
    Ok(Cow::Owned(points.map(character).collect()))
}

/// An integer; one too great is the greatest there is.
fn integer(value: &Bound<'_, PyAny>, name: &str) -> PyResult<i64> {
    if !value.is_instance_of::<PyInt>() {
        return Err(wrong_type(value, name, "an integer"));
    }
    match value.extract::<i64>() {
        Err(error) if error.is_instance_of::<PyOverflowError>(value.py()) => {
            Ok(if value.gt(0)? { i64::MAX } else { i64::MIN })
        }
        extracted => extracted,
    }
}

fn number(value: &Bound<'_, PyAny>, name: &str) -> PyResult<f64> {
    if !value.is_instance_of::<PyFloat>() && !value.is_instance_of::<PyInt>() {
        return Err(wrong_type(value, name, "a number"));
    }
    match value.extract::<f64>() {
        Err(error) if error.is_instance_of::<PyOverflowError>(value.py()) => {
            Ok(if value.gt(0)? { f64::INFINITY } else { f64::NEG_INFINITY })
        }
        extracted => extracted,
    }
}

fn truth(value: &Bound<'_, PyAny>, name: &str) -> PyResult<bool> {
    value.cast::<PyBool>().map(PyBoolMethods::is_true).map_err(|_| wrong_type(value, name, "True or False"))
}

fn wrong_type(value: &Bound<'_, PyAny>, name: &str, wanted: &str) -> PyErr {
    let message = format!("{name} is of type '{}': it must be {wanted}", type_name(value));
    exception(value.py(), "ArgumentTypeError", &message)
}

fn broken() -> PyErr {
    PyRuntimeError::new_err("this index broke while it changed: read the records into a new one")
}
