//! The binding: it converts, detaches and converts back. Every rule stands in `agent-memory-core`.

mod build;
mod canonical;
mod columns;
mod digest;
mod error;
mod near_dup;
mod normal;
mod plain;
mod seal;
mod search;
mod signature;
mod text;
mod vectors;
mod walk;

/// The kernel of agent-memory, compiled.
#[pyo3::pymodule]
mod _native {
    #[pymodule_export]
    use crate::build::build_info;
    #[pymodule_export]
    use crate::canonical::{canonical_json, canonical_json_many};
    #[pymodule_export]
    use crate::columns::{PyColumns, PyPairs};
    #[pymodule_export]
    use crate::digest::{digest, digest_many};
    #[pymodule_export]
    use crate::near_dup::{similar_pairs, trigram_overlap};
    #[pymodule_export]
    use crate::normal::nfc;
    #[pymodule_export]
    use crate::plain::plain_record;
    #[pymodule_export]
    use crate::seal::seal;
    #[pymodule_export]
    use crate::search::PyIndex;
    #[pymodule_export]
    use crate::signature::verify_signatures;
    #[pymodule_export]
    use crate::text::{
        analyse, analyse_many, classify_sentence, core_terms, infer_slots, infer_slots_many, same_statement,
        slot_values_clash, split_sentences, statements_oppose, stem, text_classes, text_fold, text_lower, text_tokens,
        trigrams,
    };
    #[pymodule_export]
    use crate::vectors::{PyScores, PyVectors};
}
