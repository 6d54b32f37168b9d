//! The kernel of agent-memory: the parts that have to be quick or have to be exact, in plain Rust.
//!
//! It knows no Python and does no I/O. `rust/py` converts values at its border; the package `agent_memory.kernel.reference`
//! says the same in plain Python and is the executable specification both are tested against.

#![deny(unsafe_code)]

pub mod canonical;
pub mod columns;
pub mod decimal;
pub mod digest;
pub mod error;
pub mod escape;
pub mod json;
pub mod near_dup;
pub mod normal;
pub mod plain;
pub mod search;
pub mod signature;
pub mod sink;
pub mod text;
pub mod trigram;
pub mod unicode;
pub mod unicode14;
pub mod vectors;

/// The number of the contract between this binary and the Python package. It grows whenever a function
/// of the binary changes its meaning, so that a stale build is noticed on import.
pub const BOUNDARY: u32 = 2;

/// The version of the workspace.
pub const VERSION: &str = env!("CARGO_PKG_VERSION");
