"""Consolidation: what a memory does while nobody asks it anything (SPEC section 12).

One file a pass, in the order they run: ``heal``, ``exact``, ``near``, ``contradiction``, ``resolution``, ``promotion``,
``flags``.  ``engine`` runs them, ``operators`` is who proposes, ``candidates`` what they are shown, ``validation`` what
is accepted from them, ``merging`` what a merge becomes, ``workspace`` what the passes share.
"""

from __future__ import annotations

from agent_memory.text import trigram_similarity

from .engine import consolidate
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
    "resolve",
    "trigram_similarity",
]
