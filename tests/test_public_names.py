"""The public names: what a program may import, pinned."""

from __future__ import annotations

import subprocess
import sys

import pytest

import agent_memory

COMPATIBLE = """
AgentMemoryError CONTEXT_MEMORY_FILE CONTEXT_RECORD ConsolidationConfig ConsolidationOperators ConsolidationReport
DOMAIN
DecayConfig DecayReport Embedder FORMAT_VERSION FileRecordStore HashEmbedder HeuristicContradictionOperator
HeuristicExtractor HeuristicResolutionOperator InMemoryRecordStore InMemorySearchIndex IngestReport LEGAL_TRANSITIONS
LifecycleError Memory MemoryFile MemoryRecord Operator Proposal ProposalError ProposalKind Provenance RecallResult
RecordError RecordState RecordStore RecordType RememberResult RetrievedBlock RetrievedRecord SQLiteRecordStore
SQLiteSearchIndex SearchIndex StoreError TouchCounts Transition TrigramNearDupOperator VerbatimExtractor __version__
apply_proposal apply_proposals archive assert_transition begin_transition confidence_from_wire confidence_to_wire
consolidate decay default_operators domain_tag ingest is_legal refresh_rule_flag resolve resolve_transition retrieve
sign_payload signing_input supersede verify_by_address verify_payload SalienceScores
""".split()
OURS = """
Action ArgumentError ArgumentTypeError Extension LoadReport Outcome RecordTypeError RecordValueError Rejection Scope
SignatureMismatch SlashReport Standing reopen
""".split()


def test_the_public_names_are_exactly_these() -> None:
    assert sorted(agent_memory.__all__) == sorted([*COMPATIBLE, *OURS])


@pytest.mark.parametrize("name", sorted([*COMPATIBLE, *OURS]))
def test_every_public_name_resolves(name: str) -> None:
    assert getattr(agent_memory, name) is not None


def test_an_unknown_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="no attribute 'Ghost'"):
        _ = agent_memory.Ghost


def test_importing_the_package_imports_nothing_heavy() -> None:
    heavy = ["fg_agent_id", "sqlite3", "click", "rich", "mcp", "cryptography"]
    code = f"import agent_memory, sys; print([name for name in {heavy!r} if name in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_every_error_is_an_agent_memory_error_and_a_builtin_where_one_is_expected() -> None:
    from fg_agent_id import SignatureError

    for name in ("ArgumentError", "LifecycleError", "ProposalError", "RecordError", "StoreError", "SignatureMismatch"):
        assert issubclass(getattr(agent_memory, name), agent_memory.AgentMemoryError)
    assert issubclass(agent_memory.ArgumentError, ValueError)
    assert issubclass(agent_memory.ArgumentTypeError, TypeError)
    assert issubclass(agent_memory.RecordValueError, ValueError)
    assert issubclass(agent_memory.RecordTypeError, TypeError)
    assert issubclass(agent_memory.SignatureMismatch, SignatureError)
