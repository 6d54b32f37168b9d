"""The number of the contract between this package and its kernel."""

from __future__ import annotations

from typing import Final

__all__ = ["BOUNDARY"]

#: It grows, here and in ``rust/core/src/lib.rs``, whenever a kernel function changes its meaning.
BOUNDARY: Final = 2
