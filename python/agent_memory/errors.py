"""Every failure a caller can cause, as one tree (SPEC section 10).

    AgentMemoryError
    ├── ArgumentError (ValueError)          an argument outside its range: empty text, zero dimensions
    │   └── ArgumentTypeError (TypeError)   an argument of the wrong type
    ├── RecordError                         a record, file or payload that is not what the format says
    │   ├── RecordValueError (ValueError)   a value outside its range: a naive time, a float in a payload
    │   ├── RecordTypeError (TypeError)     a value of the wrong type; the message names the field
    │   └── SignatureMismatch               a signature that does not verify (fg_agent_id.SignatureError)
    ├── LifecycleError                      a transition outside the legality table
    ├── ProposalError                       a proposal that cannot be applied as it stands
    └── StoreError                          a store that cannot be read or written

Classes also derive from the builtin a caller would catch anyway.  A message says what was wrong, with what, and
what to do; it never quotes the text of a memory, because errors end up in logs.

``SignatureMismatch`` derives from a class of ``fg_agent_id``, which costs 65 ms to import; it is therefore built
on first use by :func:`signature_mismatch`, and reachable as an attribute of this module.
"""

from __future__ import annotations

from functools import cache
from typing import Any

__all__ = [
    "AgentMemoryError",
    "ArgumentError",
    "ArgumentTypeError",
    "LifecycleError",
    "ProposalError",
    "RecordError",
    "RecordTypeError",
    "RecordValueError",
    "StoreError",
    "signature_mismatch",
]


class AgentMemoryError(Exception):
    """Base of every error this package raises on purpose."""


class ArgumentError(AgentMemoryError, ValueError):
    """An argument outside its range."""


class ArgumentTypeError(ArgumentError, TypeError):
    """An argument of the wrong type."""


class RecordError(AgentMemoryError):
    """A record, memory file or payload that breaks the format."""


class RecordValueError(RecordError, ValueError):
    """A value that no record may hold: a naive time, a float, a lone surrogate, keys equal after NFC."""


class RecordTypeError(RecordError, TypeError):
    """A value of the wrong type in a record; the message names the field."""


class LifecycleError(AgentMemoryError):
    """A change of state that the legality table does not allow, or one without its reason or its evidence."""


class ProposalError(AgentMemoryError):
    """A proposal that names records the store does not hold, or asks for what no operator may do."""


class StoreError(AgentMemoryError):
    """A store that cannot be read or written; nothing was half-written."""


@cache
def signature_mismatch() -> type[RecordError]:
    """The class raised when a signature does not verify: a RecordError and a ``fg_agent_id.SignatureError``."""
    from fg_agent_id import SignatureError

    class SignatureMismatch(RecordError, SignatureError):  # type: ignore[misc,unused-ignore]
        """A signature that does not match its payload, its signer or the strict Ed25519 rules."""

    SignatureMismatch.__module__ = __name__
    SignatureMismatch.__qualname__ = "SignatureMismatch"
    return SignatureMismatch


def __getattr__(name: str) -> Any:
    if name == "SignatureMismatch":
        return signature_mismatch()
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
