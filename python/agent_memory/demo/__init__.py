"""The demo: a small notebook of an operations team, and the story the memory makes of it.

:func:`story` plays it step by step in a folder of its own and checks every claim it makes; the command line prints it.
"""

from __future__ import annotations

from .story import BrokenPromise, Step, notebook, story

__all__ = ["BrokenPromise", "Step", "notebook", "story"]
