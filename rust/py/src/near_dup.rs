//! `similar_pairs`, `trigram_overlap`: texts whose trigrams are alike.

use std::ops::ControlFlow;
use std::time::{Duration, Instant};

use agent_memory_core::near_dup::{self, JoinError, Pairs, Text, Threshold};
use agent_memory_core::trigram::overlap;
use pyo3::exceptions::{PyOverflowError, PyTypeError, PyUnicodeEncodeError};
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyBoolMethods, PyBytes, PyFloat, PyInt, PyString};

use crate::error::{exception, type_name};

/// Bytes of a pair.
const PAIR: usize = 8;

/// From this many bytes of text on, the interpreter is freed while two texts are compared.
const LONG: usize = 4096;

/// How often signals are looked for while pairs are written.
const INTERVAL: Duration = Duration::from_millis(50);

/// How many trigrams two texts share, and how many they have together.
#[pyfunction]
#[pyo3(signature = (a, b, /))]
pub fn trigram_overlap(a: &Bound<'_, PyAny>, b: &Bound<'_, PyAny>) -> PyResult<(u64, u64)> {
    let (left, right) = (text(a, || "a".into())?, text(b, || "b".into())?);
    let long = left.len() + right.len() >= LONG;
    Ok(if long { a.py().detach(|| overlap(left, right)) } else { overlap(left, right) })
}

/// Every pair of texts whose similarity reaches the threshold; the interpreter is free while they are compared.
#[pyfunction]
#[pyo3(signature = (texts, threshold, /, *, groups=None, dirty=None, limit=None, threads=0, progress=None))]
pub fn similar_pairs<'py>(
    texts: &Bound<'py, PyAny>,
    threshold: &Bound<'py, PyAny>,
    groups: Option<&Bound<'py, PyAny>>,
    dirty: Option<&Bound<'py, PyAny>>,
    limit: Option<&Bound<'py, PyAny>>,
    #[pyo3(from_py_with = thread_count)] threads: usize,
    progress: Option<&Bound<'py, PyAny>>,
) -> PyResult<Bound<'py, PyBytes>> {
    let py = texts.py();
    let strings = items(texts, "texts", |item, _| Ok(item))?;
    let mut texts = Vec::with_capacity(strings.len());
    for (index, string) in strings.iter().enumerate() {
        texts.push(Text { body: text(string, || format!("texts[{index}]"))?, group: 0, dirty: true });
    }
    let threshold = ratio(threshold)?;
    let groups =
        groups.map(|groups| items(groups, "groups", |group, name| number(&group, name, u32::MAX))).transpose()?;
    let dirty = dirty.map(|dirty| items(dirty, "dirty", |value, name| flag(&value, name))).transpose()?;
    each(py, &mut texts, groups, "groups", |text, group| text.group = group)?;
    each(py, &mut texts, dirty, "dirty", |text, dirty| text.dirty = dirty)?;
    let limit = limit.map_or(Ok(u64::MAX), |limit| number(limit, || "limit".into(), u64::MAX))?;
    if let Some(progress) = progress.filter(|progress| !progress.is_callable()) {
        let message = format!("progress is of type '{}': it must be callable", type_name(progress));
        return Err(exception(py, "ArgumentTypeError", &message));
    }
    let pairs = join(py, &texts, threshold, threads, progress)?;
    let room = usize::try_from(limit.min(pairs.count())).ok().and_then(|count| count.checked_mul(PAIR));
    let room = room.ok_or_else(|| PyOverflowError::new_err("more pairs than a bytes object can hold: set a limit"))?;
    PyBytes::new_with(py, room, |bytes| write(py, &pairs, bytes))
}

fn thread_count(threads: &Bound<'_, PyAny>) -> PyResult<usize> {
    number(threads, || "threads".into(), u32::MAX).map(|threads| threads as usize)
}

/// Compares, and calls back in between.
fn join(
    py: Python<'_>,
    texts: &[Text<'_>],
    threshold: Threshold,
    threads: usize,
    progress: Option<&Bound<'_, PyAny>>,
) -> PyResult<Pairs> {
    let progress = progress.map(|progress| progress.clone().unbind());
    let mut raised = None;
    let joined = py.detach(|| {
        near_dup::similar_pairs(texts, threshold, threads, &mut |done, total| {
            let told = Python::attach(|py| {
                py.check_signals()?;
                progress.as_ref().map_or(Ok(()), |progress| progress.bind(py).call1((done, total)).map(drop))
            });
            match told {
                Ok(()) => ControlFlow::Continue(()),
                Err(error) => {
                    raised = Some(error);
                    ControlFlow::Break(())
                }
            }
        })
    });
    joined.map_err(|error| raised.unwrap_or_else(|| refused(py, error)))
}

/// Writes the pairs as far as there is room, unless a signal says otherwise.
#[expect(
    clippy::redundant_closure_for_method_calls,
    reason = "the method itself is not general enough in its lifetime"
)]
fn write(py: Python<'_>, pairs: &Pairs, room: &mut [u8]) -> PyResult<()> {
    let mut raised = None;
    let mut looked = Instant::now();
    let written = py.detach(|| {
        pairs.write(room, || {
            if looked.elapsed() >= INTERVAL {
                raised = Python::attach(|py| py.check_signals()).err();
                looked = Instant::now();
            }
            raised.is_none()
        })
    });
    written.map_err(|error| raised.unwrap_or_else(|| refused(py, error)))
}

fn refused(py: Python<'_>, error: JoinError) -> PyErr {
    exception(py, "ArgumentError", &error.to_string())
}

/// What `read` makes of each item of an argument, which it is given with a way to name the item.
pub fn items<'py, T>(
    values: &Bound<'py, PyAny>,
    argument: &str,
    read: impl Fn(Bound<'py, PyAny>, &dyn Fn() -> String) -> PyResult<T>,
) -> PyResult<Vec<T>> {
    let py = values.py();
    let iterator = if values.is_instance_of::<PyString>() { None } else { Some(values.try_iter()) };
    let iterator = match iterator {
        Some(Ok(iterator)) => iterator,
        Some(Err(error)) if !error.is_instance_of::<PyTypeError>(py) => return Err(error),
        _ => {
            let found = type_name(values);
            let message = format!("{argument} is of type '{found}': it must be a list or another iterable");
            return Err(exception(py, "ArgumentTypeError", &message));
        }
    };
    iterator.enumerate().map(|(index, item)| read(item?, &|| format!("{argument}[{index}]"))).collect()
}

/// Gives each text its own of what came with it, if anything did.
fn each<'a, T>(
    py: Python<'_>,
    texts: &mut [Text<'a>],
    given: Option<Vec<T>>,
    argument: &str,
    give: impl Fn(&mut Text<'a>, T),
) -> PyResult<()> {
    let Some(given) = given else { return Ok(()) };
    if given.len() != texts.len() {
        let (count, found) = (texts.len(), given.len());
        let message = format!("{count} texts and {found} {argument}: give one for each text, or none at all");
        return Err(exception(py, "ArgumentError", &message));
    }
    for (text, item) in texts.iter_mut().zip(given) {
        give(text, item);
    }
    Ok(())
}

pub fn text<'a>(value: &'a Bound<'_, PyAny>, name: impl Fn() -> String) -> PyResult<&'a str> {
    let Ok(string) = value.cast::<PyString>() else { return Err(wrong_type(value, &name(), "str")) };
    string.to_str().map_err(|error| {
        if !error.is_instance_of::<PyUnicodeEncodeError>(value.py()) {
            return error;
        }
        let message = format!("{} holds a lone surrogate, which is not text: replace it first", name());
        exception(value.py(), "ArgumentError", &message)
    })
}

pub fn ratio(value: &Bound<'_, PyAny>) -> PyResult<Threshold> {
    let is_integer = value.is_instance_of::<PyInt>() && !value.is_instance_of::<PyBool>();
    if !is_integer && !value.is_instance_of::<PyFloat>() {
        return Err(wrong_type(value, "threshold", "a number"));
    }
    let number = match value.extract::<f64>() {
        Ok(number) => number,
        // An integer that no float can hold.
        Err(error) if error.is_instance_of::<PyOverflowError>(value.py()) => {
            if value.gt(0)? {
                f64::INFINITY
            } else {
                f64::NEG_INFINITY
            }
        }
        Err(error) => return Err(error),
    };
    Threshold::new(number)
        .ok_or_else(|| exception(value.py(), "ArgumentError", "threshold is NaN: give a number; above 1 means never"))
}

/// An integer from 0 to `largest`.
fn number<T>(value: &Bound<'_, PyAny>, name: impl Fn() -> String, largest: T) -> PyResult<T>
where
    T: std::fmt::Display + for<'a, 'py> FromPyObject<'a, 'py>,
{
    if !value.is_instance_of::<PyInt>() {
        return Err(wrong_type(value, &name(), "an integer"));
    }
    value.extract().map_err(|_| {
        let message = format!("{} is out of range: it must be from 0 to {largest}", name());
        exception(value.py(), "ArgumentError", &message)
    })
}

fn flag(value: &Bound<'_, PyAny>, name: &dyn Fn() -> String) -> PyResult<bool> {
    value.cast::<PyBool>().map(PyBoolMethods::is_true).map_err(|_| wrong_type(value, &name(), "True or False"))
}

pub fn wrong_type(value: &Bound<'_, PyAny>, name: &str, wanted: &str) -> PyErr {
    let message = format!("{name} is of type '{}': it must be {wanted}", type_name(value));
    exception(value.py(), "ArgumentTypeError", &message)
}
