//! `verify_signatures`: strict Ed25519, many at a time.

use agent_memory_core::signature::{Claim, verify_many};
use pyo3::prelude::*;
use pyo3::types::PyBytes;

use crate::error::{exception, type_name};

/// For each signature whether it holds; the interpreter is free while they are checked.
#[pyfunction]
#[pyo3(signature = (publics, messages, signatures, /))]
pub fn verify_signatures(
    publics: &Bound<'_, PyAny>,
    messages: &Bound<'_, PyAny>,
    signatures: &Bound<'_, PyAny>,
) -> PyResult<Vec<bool>> {
    let py = publics.py();
    let all = [all_bytes(publics, "publics")?, all_bytes(messages, "messages")?, all_bytes(signatures, "signatures")?];
    let [publics, messages, signatures] = &all;
    if publics.len() != messages.len() || publics.len() != signatures.len() {
        let message = format!(
            "{} publics, {} messages and {} signatures: give as many of each",
            publics.len(),
            messages.len(),
            signatures.len()
        );
        return Err(exception(py, "ArgumentError", &message));
    }
    let claims: Vec<Claim<'_>> = publics
        .iter()
        .zip(messages)
        .zip(signatures)
        .map(|((public, message), signature)| Claim {
            public: public.as_bytes(),
            message: message.as_bytes(),
            signature: signature.as_bytes(),
        })
        .collect();
    Ok(py.detach(|| verify_many(&claims)))
}

fn all_bytes<'py>(values: &Bound<'py, PyAny>, argument: &str) -> PyResult<Vec<Bound<'py, PyBytes>>> {
    let mut all = Vec::new();
    for (index, value) in values.try_iter()?.enumerate() {
        match value?.cast_into() {
            Ok(bytes) => all.push(bytes),
            Err(error) => {
                let found = type_name(&error.into_inner());
                let message = format!("{argument}[{index}] is of type '{found}': it must be bytes");
                return Err(exception(values.py(), "ArgumentTypeError", &message));
            }
        }
    }
    Ok(all)
}
