//! The one walk over Python values: it tells a sink of the core what it meets, and rebuilds what normalising changes.

use std::borrow::Cow;

use agent_memory_core::error::{Fault, Step};
use agent_memory_core::normal::nfc;
use agent_memory_core::sink::{Sink, check_distinct};
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyDict, PyFloat, PyInt, PyList, PyString, PyTuple};

use crate::error::{Stop, type_name};

/// Tells the sink about the value.
pub fn write(value: &Bound<'_, PyAny>, sink: &mut impl Sink) -> PyResult<()> {
    walk::<false>(value, sink).map(drop).map_err(|stop| stop.into_exception(value.py()))
}

/// Tells the sink about the value, and gives it normalised: whatever does not change is the very same object.
pub fn rebuild<'py>(value: &Bound<'py, PyAny>, sink: &mut impl Sink) -> PyResult<Bound<'py, PyAny>> {
    match walk::<true>(value, sink) {
        Ok(changed) => Ok(changed.unwrap_or_else(|| value.clone())),
        Err(stop) => Err(stop.into_exception(value.py())),
    }
}

/// A value in place of the one walked over, when `REBUILD` asks for it and something in it changes.
type Changed<'py> = Option<Bound<'py, PyAny>>;

/// Walks at any depth; the sink's limit on depth bounds the recursion, to less than 256 KiB of stack. Subclasses count as
/// what they derive from.
fn walk<'py, const REBUILD: bool>(value: &Bound<'py, PyAny>, sink: &mut impl Sink) -> Result<Changed<'py>, Stop> {
    // First what records are made of, by exact type and so without asking for a type's flags.
    if let Ok(string) = value.cast_exact() {
        return walk_string::<REBUILD>(string, sink);
    }
    if value.is_none() {
        sink.null();
        return Ok(None);
    }
    if let Ok(object) = value.cast_exact() {
        return walk_object::<REBUILD>(object, sink);
    }
    if let Ok(list) = value.cast_exact() {
        return walk_list::<REBUILD>(list, sink);
    }
    if let Ok(boolean) = value.cast_exact::<PyBool>() {
        sink.boolean(boolean.is_true());
        return Ok(None);
    }
    if let Ok(integer) = value.cast() {
        return walk_integer(integer, sink);
    }
    if let Ok(tuple) = value.cast() {
        return walk_tuple::<REBUILD>(tuple, sink);
    }
    if let Ok(string) = value.cast() {
        return walk_string::<REBUILD>(string, sink);
    }
    if let Ok(object) = value.cast() {
        return walk_object::<REBUILD>(object, sink);
    }
    if let Ok(list) = value.cast() {
        return walk_list::<REBUILD>(list, sink);
    }
    if value.is_instance_of::<PyFloat>() {
        return Err(Fault::Float.into());
    }
    Err(Fault::Type(type_name(value)).into())
}

fn walk_string<'py, const REBUILD: bool>(
    string: &Bound<'py, PyString>,
    sink: &mut impl Sink,
) -> Result<Changed<'py>, Stop> {
    match sink.string(text(string, || Fault::Surrogate)?) {
        Cow::Owned(normal) if REBUILD => Ok(Some(PyString::new(string.py(), &normal).into_any())),
        _ => Ok(None),
    }
}

fn walk_integer<'py>(integer: &Bound<'py, PyInt>, sink: &mut impl Sink) -> Result<Changed<'py>, Stop> {
    if let Ok(small) = integer.extract::<i64>() {
        sink.integer(small);
        return Ok(None);
    }
    // Hexadecimal has no limit on length in any interpreter, and int's own method cannot be overridden by a subclass.
    let py = integer.py();
    let format = py.get_type::<PyInt>().getattr(intern!(py, "__format__"))?;
    let hex = format.call1((integer, intern!(py, "x")))?;
    let hex: &str = hex.extract()?;
    let limbs: Vec<u32> = hex.trim_start_matches('-').as_bytes().rchunks(8).map(limb).collect();
    sink.big_integer(hex.starts_with('-'), &limbs);
    Ok(None)
}

/// Up to eight hexadecimal digits.
fn limb(digits: &[u8]) -> u32 {
    digits.iter().fold(0, |sum, &digit| sum << 4 | char::from(digit).to_digit(16).unwrap_or(0))
}

fn walk_list<'py, const REBUILD: bool>(list: &Bound<'py, PyList>, sink: &mut impl Sink) -> Result<Changed<'py>, Stop> {
    let changes = walk_items::<REBUILD>(list.iter(), sink)?;
    if changes.is_empty() {
        return Ok(None);
    }
    let copy = PyList::new(list.py(), list)?;
    for (index, item) in changes {
        copy.set_item(index, item)?;
    }
    Ok(Some(copy.into_any()))
}

fn walk_tuple<'py, const REBUILD: bool>(
    tuple: &Bound<'py, PyTuple>,
    sink: &mut impl Sink,
) -> Result<Changed<'py>, Stop> {
    let changes = walk_items::<REBUILD>(tuple.iter(), sink)?;
    if changes.is_empty() {
        return Ok(None);
    }
    let mut items: Vec<_> = tuple.iter().collect();
    for (index, item) in changes {
        items[index] = item;
    }
    Ok(Some(PyTuple::new(tuple.py(), items)?.into_any()))
}

/// The items that change, with their places.
fn walk_items<'py, const REBUILD: bool>(
    items: impl Iterator<Item = Bound<'py, PyAny>>,
    sink: &mut impl Sink,
) -> Result<Vec<(usize, Bound<'py, PyAny>)>, Stop> {
    sink.begin_array()?;
    let mut changes = Vec::new();
    for (index, item) in items.enumerate() {
        if let Some(item) = walk::<REBUILD>(&item, sink).map_err(|stop| stop.within(Step::Item(index)))? {
            changes.push((index, item));
        }
    }
    sink.end_array()?;
    Ok(changes)
}

fn walk_object<'py, const REBUILD: bool>(
    object: &Bound<'py, PyDict>,
    sink: &mut impl Sink,
) -> Result<Changed<'py>, Stop> {
    sink.begin_object()?;
    let py = object.py();
    let mut copy: Option<Bound<'py, PyDict>> = None;
    // A dict keeps plain strings apart by itself; keys that change or are more than strings have to be compared.
    let mut compare = false;
    for (index, (name, value)) in object.iter().enumerate() {
        let name = key(&name)?;
        let plain = name.is_exact_instance_of::<PyString>();
        let name = text(name, || Fault::KeySurrogate)?;
        let normal = sink.key(name)?;
        let new = walk::<REBUILD>(&value, sink).map_err(|stop| stop.within(Step::Key(normal.clone().into_owned())))?;
        if REBUILD {
            let renamed = matches!(normal, Cow::Owned(_));
            compare |= renamed || !plain;
            if copy.is_none() && (renamed || new.is_some()) {
                copy = Some(first_members(object, index)?);
            }
            if let Some(copy) = &copy {
                copy.set_item(PyString::new(py, &normal), new.unwrap_or(value))?;
            }
        }
    }
    if compare {
        let mut keys = object
            .iter()
            .map(|(name, _)| Ok(nfc(text(key(&name)?, || Fault::KeySurrogate)?).into_owned()))
            .collect::<Result<Vec<_>, Stop>>()?;
        check_distinct(&mut keys)?;
    }
    sink.end_object()?;
    Ok(copy.map(Bound::into_any))
}

/// A plain dict of the first members, with plain strings for keys.
fn first_members<'py>(object: &Bound<'py, PyDict>, count: usize) -> Result<Bound<'py, PyDict>, Stop> {
    let copy = PyDict::new(object.py());
    for (name, value) in object.iter().take(count) {
        copy.set_item(PyString::new(object.py(), text(key(&name)?, || Fault::KeySurrogate)?), value)?;
    }
    Ok(copy)
}

fn key<'a, 'py>(key: &'a Bound<'py, PyAny>) -> Result<&'a Bound<'py, PyString>, Stop> {
    key.cast().map_err(|_| Fault::KeyType(type_name(key)).into())
}

/// The text of a string; one with a lone surrogate has none.
pub fn text<'a>(string: &'a Bound<'_, PyString>, fault: fn() -> Fault) -> Result<&'a str, Stop> {
    string.to_str().map_err(|error| {
        let surrogate = error.is_instance_of::<pyo3::exceptions::PyUnicodeEncodeError>(string.py());
        if surrogate { fault().into() } else { error.into() }
    })
}
