"""The search indexes: full text in SQLite, vectors, and the fusion of words and vectors (SPEC section 8).

Each implements :class:`agent_memory.ports.SearchIndex`.  An index holds copies of text and never decides: state and
scope are read from the store.  The classes load when they are first asked for, so that importing this package does not
import ``sqlite3``.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from .dense import DenseIndex
    from .fts import SQLiteSearchIndex
    from .hybrid import HybridIndex
    from .static import StaticEmbedder
    from .vectors import HashEmbedder, InMemorySearchIndex

__all__ = [
    "DenseIndex",
    "HashEmbedder",
    "HybridIndex",
    "InMemorySearchIndex",
    "SQLiteSearchIndex",
    "StaticEmbedder",
]

_HOMES: Final = {
    "DenseIndex": "agent_memory.search.dense",
    "HashEmbedder": "agent_memory.search.vectors",
    "HybridIndex": "agent_memory.search.hybrid",
    "InMemorySearchIndex": "agent_memory.search.vectors",
    "SQLiteSearchIndex": "agent_memory.search.fts",
    "StaticEmbedder": "agent_memory.search.static",
}


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        return getattr(import_module(_HOMES[name]), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted([*globals(), *_HOMES])
