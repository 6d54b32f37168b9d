//! The one mapper from refusals of the core to exceptions of the package.

use agent_memory_core::error::{Fault, Kind, Refusal, Step};
use pyo3::prelude::*;

/// Why a walk over Python values ended early.
pub enum Stop {
    /// A value was refused.
    Refused(Refusal),
    /// Python itself raised, such as for want of memory.
    Raised(PyErr),
}

impl Stop {
    /// The same seen from the container around it.
    pub fn within(self, step: Step) -> Self {
        match self {
            Self::Refused(refusal) => Self::Refused(refusal.within(step)),
            raised @ Self::Raised(_) => raised,
        }
    }

    /// The exception to raise.
    pub fn into_exception(self, py: Python<'_>) -> PyErr {
        match self {
            Self::Raised(error) => error,
            Self::Refused(refusal) => {
                let class = match refusal.kind() {
                    Kind::Value => "RecordValueError",
                    Kind::Type => "RecordTypeError",
                };
                exception(py, class, &refusal.to_string())
            }
        }
    }
}

impl From<Fault> for Stop {
    fn from(fault: Fault) -> Self {
        Self::Refused(fault.into())
    }
}

impl From<Refusal> for Stop {
    fn from(refusal: Refusal) -> Self {
        Self::Refused(refusal)
    }
}

impl From<PyErr> for Stop {
    fn from(error: PyErr) -> Self {
        Self::Raised(error)
    }
}

/// An exception of `agent_memory.errors`. The module is imported here, on the way to an error, and not with the binary.
pub fn exception(py: Python<'_>, class: &str, message: &str) -> PyErr {
    let made = py.import("agent_memory.errors").and_then(|errors| errors.call_method1(class, (message,)));
    match made {
        Ok(error) => PyErr::from_value(error),
        Err(error) => error,
    }
}

/// The name of a value's type, as messages give it.
pub fn type_name(value: &Bound<'_, PyAny>) -> String {
    value.get_type().name().map_or_else(|_| String::from("?"), |name| name.to_string_lossy().into_owned())
}
