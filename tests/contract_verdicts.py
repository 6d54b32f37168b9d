"""Running a public contract against something, and what it says."""

from __future__ import annotations

import inspect
from pathlib import Path
from typing import TYPE_CHECKING
from unittest import SkipTest

if TYPE_CHECKING:
    from collections.abc import Callable


def verdicts(contract: type, make: Callable[[Path], object], tmp_path: Path) -> dict[str, str]:
    """Run a contract against what ``make`` builds: the test's name, and what it failed with or ``skipped``."""

    class Subject(contract):  # type: ignore[misc]
        def make_store(self, place: Path) -> object:
            return make(place)

        make_index = make_store

    outcome: dict[str, str] = {}
    for name, _ in inspect.getmembers(Subject, inspect.isfunction):
        if not name.startswith("test_"):
            continue
        place = tmp_path / name
        place.mkdir()
        try:
            getattr(Subject(), name)(place)
        except SkipTest:
            outcome[name] = "skipped"
        except Exception as error:
            outcome[name] = f"{type(error).__name__}: {error}"
    return outcome


def caught(contract: type, make: Callable[[Path], object], tmp_path: Path) -> set[str]:
    return {name for name, what in verdicts(contract, make, tmp_path).items() if what != "skipped"}
