"""Lets tests written for ``fg_agent_memory`` run on ``agent_memory``: its module names over our public names.

Put first on the path by ``run.py``, so that it hides an installed ``fg_agent_memory``.  Every module of it holds the
same flat namespace, which is all that imports of the form ``from fg_agent_memory.x import y`` need.
"""

from __future__ import annotations

import importlib
import sys
import types

import agent_memory

_HOLDERS = (
    "extension",
    "lifecycle",
    "memory",
    "memory_file",
    "pipeline",
    "pipeline.consolidate",
    "pipeline.recall",
    "pipeline.salience",
    "ports",
    "proposals",
    "recall_result",
    "records",
    "search",
    "signing",
    "stores",
    "text",
)
_SUBMODULES = (
    "errors",
    "lifecycle",
    "memory",
    "pipeline",
    "pipeline.consolidate",
    "pipeline.decay",
    "ports",
    "records",
    "retrieval",
    "signing",
    "stores",
    "stores.file_store",
    "text",
)


def _public(module: types.ModuleType) -> dict[str, object]:
    return {name: getattr(module, name) for name in module.__all__}


_names: dict[str, object] = {}
for _holder in _HOLDERS:
    _names.update(_public(importlib.import_module(f"agent_memory.{_holder}")))
_names.update(_public(agent_memory))

for _name in _SUBMODULES:
    _module = types.ModuleType(f"{__name__}.{_name}")
    _module.__dict__.update(_names)
    sys.modules[_module.__name__] = _module
_server = types.ModuleType(f"{__name__}.mcp_server")
sys.modules[_server.__name__] = _server

globals().update(_names)
mcp_server = _server
