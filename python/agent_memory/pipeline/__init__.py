"""The pipeline: what happens to a memory between being said and being recalled (SPEC sections 11 to 14).

``ingest`` takes text in, ``consolidate`` tidies, ``decay`` archives, ``recall`` answers.  Functions over the ports,
each usable without the porcelain; what they did they say in a ``report``.
"""

from __future__ import annotations

from .consolidate import (
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
    consolidate,
    default_operators,
    resolve,
)
from .decay import decay
from .extractors import HeuristicExtractor, VerbatimExtractor
from .ingest import admit, ingest
from .recall import RetrievedBlock, RetrievedRecord, TouchCounts, approx_tokens, retrieve
from .report import Action, ConsolidationReport, DecayReport, IngestReport, Rejection
from .salience import DecayConfig, SalienceScores, salience

__all__ = [
    "CORRECTION_KIND",
    "Action",
    "Candidates",
    "ConsolidationConfig",
    "ConsolidationOperators",
    "ConsolidationReport",
    "ContradictionOperator",
    "DecayConfig",
    "DecayReport",
    "HeuristicContradictionOperator",
    "HeuristicExtractor",
    "HeuristicResolutionOperator",
    "IngestReport",
    "NearDupOperator",
    "Rejection",
    "ResolutionOperator",
    "RetrievedBlock",
    "RetrievedRecord",
    "SalienceScores",
    "TouchCounts",
    "TrigramNearDupOperator",
    "VerbatimExtractor",
    "admit",
    "approx_tokens",
    "consolidate",
    "decay",
    "default_operators",
    "ingest",
    "resolve",
    "retrieve",
    "salience",
]
