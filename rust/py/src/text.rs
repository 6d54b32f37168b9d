//! Text for comparing: analyses, slots and sentences.

use agent_memory_core::text::{self, Analysis, Item, Kind, Letters, Tells};
use agent_memory_core::unicode;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyFrozenSet, PyList, PyString, PyTuple};

use crate::near_dup;

/// From this many bytes on the interpreter is freed while one text is read; below, that would cost more than the reading.
const LONG: usize = 4096;

/// The terms, the polarity, the bare text and the items of a text.
#[pyfunction]
#[pyo3(signature = (text, /))]
pub fn analyse<'py>(text: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyTuple>> {
    told(text.py(), &reading(text, text::analyse)?)
}

/// The analysis of each text; the interpreter is free while they are read.
#[pyfunction]
#[pyo3(signature = (texts, /))]
pub fn analyse_many<'py>(texts: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyList>> {
    let py = texts.py();
    let read = reading_many(texts, text::analyse)?;
    PyList::new(py, read.iter().map(|analysis| told(py, analysis)).collect::<PyResult<Vec<_>>>()?)
}

/// The terms, each once, without those that frame a claim.
#[pyfunction]
#[pyo3(signature = (terms, /))]
pub fn core_terms<'py>(terms: &Bound<'py, PyTuple>) -> PyResult<Bound<'py, PyFrozenSet>> {
    let strings = strings(terms)?;
    PyFrozenSet::new(terms.py(), core(&strings)?)
}

/// Whether two analyses are of the same statement.
#[pyfunction]
#[pyo3(signature = (a, b, /))]
pub fn same_statement(a: Told<'_>, b: Told<'_>) -> PyResult<bool> {
    let ((terms, negated, bare, items), (other_terms, other_negated, other_bare, other_items)) = (a, b);
    if negated != other_negated
        || items.len() != other_items.len()
        || !bare.as_any().eq(other_bare)?
        || !terms.eq(other_terms)?
    {
        return Ok(false);
    }
    for (left, right) in items.iter().zip(other_items.iter()) {
        let (left, right): (ToldItem<'_>, ToldItem<'_>) = (left.extract()?, right.extract()?);
        if !text::same_item(item(&left)?, item(&right)?) {
            return Ok(false);
        }
    }
    Ok(true)
}

/// Whether one of two analyses denies what the other claims.
#[pyfunction]
#[pyo3(signature = (a, b, /))]
#[allow(clippy::needless_pass_by_value)] // extracted arguments are owned
pub fn statements_oppose(a: Told<'_>, b: Told<'_>) -> PyResult<bool> {
    if a.1 == b.1 {
        return Ok(false);
    }
    let (left, right) = (strings(&a.0)?, strings(&b.0)?);
    Ok(text::cores_oppose(&core(&left)?, &core(&right)?))
}

/// The one slot a text fills.
#[pyfunction]
#[pyo3(signature = (text, /))]
pub fn infer_slots<'py>(text: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyDict>> {
    slots(text.py(), reading(text, text::infer_slot)?)
}

/// The slot of each text; the interpreter is free while they are read.
#[pyfunction]
#[pyo3(signature = (texts, /))]
pub fn infer_slots_many<'py>(texts: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyList>> {
    let py = texts.py();
    let read = reading_many(texts, text::infer_slot)?;
    PyList::new(py, read.into_iter().map(|slot| slots(py, slot)).collect::<PyResult<Vec<_>>>()?)
}

/// Whether two values of one slot contradict each other.
#[pyfunction]
#[pyo3(signature = (x, y, /))]
pub fn slot_values_clash(x: &Bound<'_, PyAny>, y: &Bound<'_, PyAny>) -> PyResult<bool> {
    Ok(text::slot_values_clash(plain(x, "x")?, plain(y, "y")?))
}

/// The sentences of a text.
#[pyfunction]
#[pyo3(signature = (text, /))]
pub fn split_sentences(text: &Bound<'_, PyAny>) -> PyResult<Vec<String>> {
    reading(text, text::split_sentences)
}

/// What kind of memory a sentence makes.
#[pyfunction]
#[pyo3(signature = (sentence, /))]
pub fn classify_sentence(sentence: &Bound<'_, PyAny>) -> PyResult<Option<&'static str>> {
    let sentence = plain(sentence, "sentence")?;
    Ok(text::classify_sentence(sentence).map(|tells| match tells {
        Tells::Fact => "fact",
        Tells::Episode => "episode",
    }))
}

/// The light stem of a folded word.
#[pyfunction]
#[pyo3(signature = (word, /))]
pub fn stem<'py>(word: &'py Bound<'py, PyAny>) -> PyResult<&'py str> {
    Ok(text::stem(plain(word, "word")?))
}

/// The set of trigrams of a text.
#[pyfunction]
#[pyo3(signature = (text, /))]
pub fn trigrams<'py>(text: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyFrozenSet>> {
    PyFrozenSet::new(text.py(), reading(text, text::trigrams)?)
}

/// The class letters of a prepared text.
#[pyfunction]
#[pyo3(signature = (text, /))]
pub fn text_classes(text: &Bound<'_, PyAny>) -> PyResult<String> {
    reading(text, |text| Letters::of(text).classes().iter().copied().map(char::from).collect())
}

/// The text folded, in NFC.
#[pyfunction]
#[pyo3(signature = (text, /))]
pub fn text_fold(text: &Bound<'_, PyAny>) -> PyResult<String> {
    reading(text, text::fold)
}

/// The text in lower case.
#[pyfunction]
#[pyo3(signature = (text, /))]
pub fn text_lower(text: &Bound<'_, PyAny>) -> PyResult<String> {
    reading(text, unicode::lower)
}

/// The tokens of a text.
#[pyfunction]
#[pyo3(signature = (text, /))]
pub fn text_tokens(text: &Bound<'_, PyAny>) -> PyResult<Vec<(&'static str, String)>> {
    reading(text, |text| {
        let scanned = text::scan(text);
        let token = |&token| (kind(token), scanned.text(token).to_owned());
        scanned.tokens.iter().map(token).collect()
    })
}

fn kind(token: text::Token) -> &'static str {
    match token.kind {
        Kind::Run => "run",
        Kind::Word => "word",
        Kind::Symbol => "symbol",
        Kind::Mark => "mark",
    }
}

/// An analysis as Python has it.
type Told<'py> = (Bound<'py, PyTuple>, bool, Bound<'py, PyString>, Bound<'py, PyTuple>);
type ToldItem<'py> = (Bound<'py, PyString>, Bound<'py, PyString>, bool);

fn told<'py>(py: Python<'py>, analysis: &Analysis) -> PyResult<Bound<'py, PyTuple>> {
    let terms = PyTuple::new(py, analysis.terms())?;
    let items: Vec<ToldItem<'py>> = analysis
        .items()
        .map(|Item { text, stem, fixed }| {
            let string = PyString::new(py, text);
            let stem = if stem == text { string.clone() } else { PyString::new(py, stem) };
            (string, stem, fixed)
        })
        .collect();
    (terms, analysis.negated(), analysis.bare(), PyTuple::new(py, items)?).into_pyobject(py)
}

fn item<'a>((text, stem, fixed): &'a ToldItem<'_>) -> PyResult<Item<'a>> {
    Ok(Item { text: text.to_str()?, stem: stem.to_str()?, fixed: *fixed })
}

fn strings<'py>(terms: &Bound<'py, PyTuple>) -> PyResult<Vec<Bound<'py, PyString>>> {
    terms.iter().map(|term| Ok(term.cast_into::<PyString>()?)).collect()
}

fn core<'a>(terms: &'a [Bound<'_, PyString>]) -> PyResult<Vec<&'a str>> {
    let texts = terms.iter().map(|term| term.to_str()).collect::<PyResult<Vec<_>>>()?;
    Ok(text::core_of(texts.into_iter()))
}

fn slots(py: Python<'_>, slot: Option<(String, String)>) -> PyResult<Bound<'_, PyDict>> {
    let slots = PyDict::new(py);
    if let Some((key, value)) = slot {
        slots.set_item(key, value)?;
    }
    Ok(slots)
}

/// What `read` says of a text.
fn reading<T: Send>(text: &Bound<'_, PyAny>, read: impl Fn(&str) -> T + Sync + Send) -> PyResult<T> {
    let given = plain(text, "text")?;
    Ok(if given.len() < LONG { read(given) } else { text.py().detach(|| read(given)) })
}

/// What `read` says of each text.
fn reading_many<T: Send>(texts: &Bound<'_, PyAny>, read: impl Fn(&str) -> T + Sync + Send) -> PyResult<Vec<T>> {
    let all = texts.try_iter()?.collect::<PyResult<Vec<_>>>()?;
    let given = all.iter().map(|text| plain(text, "text")).collect::<PyResult<Vec<_>>>()?;
    Ok(texts.py().detach(|| given.into_iter().map(read).collect()))
}

/// The text itself, which messages call `name`.
fn plain<'a>(value: &'a Bound<'_, PyAny>, name: &str) -> PyResult<&'a str> {
    near_dup::text(value, || name.to_owned())
}
