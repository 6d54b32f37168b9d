//! The binding: it converts, detaches and converts back. Every rule stands in `agent-memory-core`.

mod build;
mod canonical;
mod digest;
mod error;
mod normal;
mod seal;
mod search;
mod signature;
mod walk;

/// The kernel of agent-memory, compiled.
#[pyo3::pymodule]
mod _native {
    #[pymodule_export]
    use crate::build::build_info;
    #[pymodule_export]
    use crate::canonical::{canonical_json, canonical_json_many};
    #[pymodule_export]
    use crate::digest::{digest, digest_many};
    #[pymodule_export]
    use crate::normal::nfc;
    #[pymodule_export]
    use crate::seal::seal;
    #[pymodule_export]
    use crate::search::PyIndex;
    #[pymodule_export]
    use crate::signature::verify_signatures;
}
