"""The contracts of the ports as tests, for people who write a store or a search index (SPEC section 8).

Subclass one in a test module and say how the thing under test is made; pytest finds the rest::

    from . import RecordStoreContract


    class TestMyStore(RecordStoreContract):
        def make_store(self, tmp_path):
            return MyStore(tmp_path / "records")

What a port demands is always tested.  A capability is tested when the store has it: ``redact`` when it is callable,
``transaction`` and ``changes`` when the class replaces the default.  Every failure says which promise broke.  Nothing
here imports pytest, and what cannot be tested is skipped in the way both pytest and unittest know.
"""

from __future__ import annotations

from .record_store import RecordStoreContract
from .search_index import SearchIndexContract

__all__ = ["RecordStoreContract", "SearchIndexContract"]
