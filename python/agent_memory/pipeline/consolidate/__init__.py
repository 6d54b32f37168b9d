"""Consolidation: what a memory does while nobody asks it anything (SPEC section 12).

One file a pass, in the order they run: ``heal``, ``exact``, ``near``, ``contradiction``, ``resolution``, ``promotion``,
``flags``.  ``engine`` runs them, ``operators`` is who proposes, the kernel's columns find what they are shown,
``validation`` is what is accepted from them, ``merging`` what a merge becomes, ``workspace`` what the passes share.
"""

from __future__ import annotations

from agent_memory.text import trigram_similarity

from .engine import consolidate, read_columns, run_passes
from .operators import (
    CORRECTION_KIND,
    Candidates,
    ConsolidationConfig,
    ConsolidationOperators,
    ContradictionOperator,
    HeuristicContradictionOperator,
    HeuristicResolutionOperator,
    NearDupOperator,
    ResolutionOperator,
    TrigramNearDupOperator,
    default_operators,
)
from .resolution import resolve

__all__ = [
    "CORRECTION_KIND",
    "Candidates",
    "ConsolidationConfig",
    "ConsolidationOperators",
    "ContradictionOperator",
    "HeuristicContradictionOperator",
    "HeuristicResolutionOperator",
    "NearDupOperator",
    "ResolutionOperator",
    "TrigramNearDupOperator",
    "consolidate",
    "default_operators",
    "read_columns",
    "resolve",
    "run_passes",
    "trigram_similarity",
]
