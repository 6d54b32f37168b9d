"""agent-memory: an AI agent's memory as a file it owns.

    from agent_memory import Memory

    with Memory("./memory") as memory:
        memory.remember("The staging database is Postgres 16.")
        print(memory.recall("which database does staging use?").as_prompt_block())

The names below are the public interface.  Importing the package stays light: SQLite, ``fg_agent_id`` and the command
line's libraries are imported when they are first used.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from . import kernel
from .errors import (
    AgentMemoryError,
    ArgumentError,
    ArgumentTypeError,
    LifecycleError,
    ProposalError,
    RecordError,
    RecordTypeError,
    RecordValueError,
    StoreError,
)
from .extension import Extension, Outcome, Scope, Standing
from .lifecycle import (
    LEGAL_TRANSITIONS,
    archive,
    assert_transition,
    begin_transition,
    is_legal,
    refresh_rule_flag,
    reopen,
    resolve_transition,
    supersede,
)
from .loading import LoadReport
from .memory import Memory, RememberResult
from .memory_file import MemoryFile
from .pipeline import (
    Action,
    ConsolidationConfig,
    ConsolidationOperators,
    ConsolidationReport,
    DecayConfig,
    DecayReport,
    HeuristicContradictionOperator,
    HeuristicExtractor,
    HeuristicResolutionOperator,
    IngestReport,
    Rejection,
    SalienceScores,
    TrigramNearDupOperator,
    VerbatimExtractor,
    consolidate,
    decay,
    default_operators,
    ingest,
    resolve,
)
from .pipeline.recall import RetrievedBlock, RetrievedRecord, TouchCounts, retrieve
from .ports import Embedder, Operator, RecordStore, SearchIndex
from .proposals import Proposal, ProposalKind, apply_proposal, apply_proposals
from .recall_result import RecallResult
from .records import (
    MemoryRecord,
    Provenance,
    RecordState,
    RecordType,
    Transition,
    confidence_from_wire,
    confidence_to_wire,
)
from .search.vectors import HashEmbedder, InMemorySearchIndex
from .signing import (
    CONTEXT_MEMORY_FILE,
    CONTEXT_RECORD,
    DOMAIN,
    FORMAT_VERSION,
    domain_tag,
    sign_payload,
    signing_input,
    verify_by_address,
    verify_payload,
)
from .standing import SlashReport
from .stores.files import FileRecordStore
from .stores.memory import InMemoryRecordStore

if TYPE_CHECKING:
    from .errors import SignatureMismatch
    from .search.fts import SQLiteSearchIndex
    from .stores.sqlite import SQLiteRecordStore

__version__: str = kernel.build_info()["version"]

__all__ = [
    "CONTEXT_MEMORY_FILE",
    "CONTEXT_RECORD",
    "DOMAIN",
    "FORMAT_VERSION",
    "LEGAL_TRANSITIONS",
    "Action",
    "AgentMemoryError",
    "ArgumentError",
    "ArgumentTypeError",
    "ConsolidationConfig",
    "ConsolidationOperators",
    "ConsolidationReport",
    "DecayConfig",
    "DecayReport",
    "Embedder",
    "Extension",
    "FileRecordStore",
    "HashEmbedder",
    "HeuristicContradictionOperator",
    "HeuristicExtractor",
    "HeuristicResolutionOperator",
    "InMemoryRecordStore",
    "InMemorySearchIndex",
    "IngestReport",
    "LifecycleError",
    "LoadReport",
    "Memory",
    "MemoryFile",
    "MemoryRecord",
    "Operator",
    "Outcome",
    "Proposal",
    "ProposalError",
    "ProposalKind",
    "Provenance",
    "RecallResult",
    "RecordError",
    "RecordState",
    "RecordStore",
    "RecordType",
    "RecordTypeError",
    "RecordValueError",
    "Rejection",
    "RememberResult",
    "RetrievedBlock",
    "RetrievedRecord",
    "SQLiteRecordStore",
    "SQLiteSearchIndex",
    "SalienceScores",
    "Scope",
    "SearchIndex",
    "SignatureMismatch",
    "SlashReport",
    "Standing",
    "StoreError",
    "TouchCounts",
    "Transition",
    "TrigramNearDupOperator",
    "VerbatimExtractor",
    "__version__",
    "apply_proposal",
    "apply_proposals",
    "archive",
    "assert_transition",
    "begin_transition",
    "confidence_from_wire",
    "confidence_to_wire",
    "consolidate",
    "decay",
    "default_operators",
    "domain_tag",
    "ingest",
    "is_legal",
    "refresh_rule_flag",
    "reopen",
    "resolve",
    "resolve_transition",
    "retrieve",
    "sign_payload",
    "signing_input",
    "supersede",
    "verify_by_address",
    "verify_payload",
]


def __getattr__(name: str) -> Any:
    """Names whose modules import something heavy (SQLite, fg_agent_id), resolved on first use."""
    if name == "SQLiteRecordStore":
        from .stores.sqlite import SQLiteRecordStore

        return SQLiteRecordStore
    if name == "SQLiteSearchIndex":
        from .search.fts import SQLiteSearchIndex

        return SQLiteSearchIndex
    if name == "SignatureMismatch":
        from .errors import signature_mismatch

        return signature_mismatch()
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
