"""What a copy of a memory promises beside other runs and other writers: one moment, and nothing in anybody's way."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import pytest

from agent_memory import StoreError, migration
from agent_memory.migration import back_up, migrate
from agent_memory.stores import durable, open_store
from contracts import make
from test_migrate import KINDS, everything, fill, names


@pytest.fixture
def source(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    place = tmp_path / str(request.param)
    fill(place)
    return place


# ------------------------------------------------------------------ a run that is killed, and two at once


@pytest.mark.parametrize("act", [migrate, back_up])
@pytest.mark.parametrize("source", KINDS, indirect=True)
def test_what_a_killed_run_left_is_removed_by_the_next(source: Path, act: Any, tmp_path: Path) -> None:
    before = names(tmp_path)
    code = (
        "import os, sys\n"
        "from agent_memory import migration\n"
        "migration._carry_sidecars = lambda *_: os.kill(os.getpid(), 9)\n"
        "getattr(migration, sys.argv[1])(sys.argv[2], sys.argv[3])\n"
    )
    target = tmp_path / f"copied{source.suffix}"
    for _ in range(2):
        killed = subprocess.run([sys.executable, "-c", code, act.__name__, str(source), str(target)], check=False)
        assert killed.returncode == -9
        assert {name for name in names(tmp_path) - before if not name.startswith(source.name)} == {
            f".tmp-{target.name}"
        }
    act(source, target)
    assert everything(target) == everything(source)
    assert not [name for name in names(tmp_path) if name.startswith(".tmp-")]


@pytest.mark.parametrize("source", KINDS, indirect=True)
def test_two_runs_do_not_remove_what_the_other_builds(
    source: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    right = migration._carry_sidecars
    refusals: list[str] = []

    def meanwhile(*places: Path) -> None:
        for act in (migrate, back_up):
            code = f"from agent_memory.migration import {act.__name__} as act\nimport sys\nact(*sys.argv[1:])"
            run = [sys.executable, "-c", code, str(source), str(tmp_path / "copied.db")]
            refusals.append(subprocess.run(run, capture_output=True, text=True, check=False).stderr)
        right(*places)

    monkeypatch.setattr(migration, "_carry_sidecars", meanwhile)
    migrate(source, tmp_path / "copied.db")
    assert all("another run is copying" in refusal for refusal in refusals)
    assert len(refusals) == 2
    assert everything(tmp_path / "copied.db") == everything(source)
    assert not [name for name in names(tmp_path) if name.startswith(".tmp-")]


@pytest.mark.parametrize("source", ["memory"], indirect=True)
def test_what_is_no_unfinished_copy_is_not_removed(source: Path, tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / ".tmp-one").mkdir()
    (tmp_path / ".tmp-one" / "precious").write_bytes(b"mine")
    (tmp_path / ".tmp-two").write_bytes(b"mine")
    (tmp_path / ".tmp-three").symlink_to(tmp_path / "elsewhere")
    for name in ("one", "two", "three"):
        with pytest.raises(StoreError, match="in the way"):
            migrate(source, tmp_path / name)
    assert (tmp_path / ".tmp-one" / "precious").read_bytes() == b"mine"
    assert names(tmp_path) == {"memory", "elsewhere", ".tmp-one", ".tmp-two", ".tmp-three"}


# ------------------------------------------------------------------ one moment

_WRITER = (
    "import sys, time\n"
    "from agent_memory.stores import open_store\n"
    "store = open_store(sys.argv[1])\n"
    "left, right = store.list()\n"
    "print('ready', flush=True)\n"
    "for number in range(100_000):\n"
    "    with store.transaction():\n"
    "        for record in (left, right):\n"
    "            store.put(record.evolve({'state_reason': str(number)}))\n"
    "    time.sleep(0.005)\n"  # SQLite's lock knows no queue: without a pause the copy would wait for luck
)
"""Both records get the next version in one transaction, again and again."""


@contextmanager
def written_to(place: Path) -> Iterator[None]:
    """A memory to whose two records another process writes all the time, to both at once."""
    with closing(open_store(place)) as store:
        store.put_many([make("left"), make("right", minute=1)])
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parent)}
    run = [sys.executable, "-c", _WRITER, str(place)]
    with subprocess.Popen(run, stdout=subprocess.PIPE, text=True, env=environment) as writer:
        assert writer.stdout is not None
        assert writer.stdout.readline() == "ready\n"
        try:
            yield
        finally:
            writer.kill()


@pytest.mark.parametrize("act", [migrate, back_up])
@pytest.mark.parametrize("name", KINDS)
def test_a_copy_holds_no_half_of_what_another_process_writes(
    name: str, act: Callable[..., object], tmp_path: Path
) -> None:
    with written_to(tmp_path / name):
        for number in range(6):
            copy = tmp_path / f"kept-{number}{Path(name).suffix}"
            act(tmp_path / name, copy)
            assert len({len(versions) for versions in everything(copy).values()}) == 1


def test_there_is_no_writer_while_a_folder_is_backed_up(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Between the copies of one record and of the next somebody tries to write to both."""
    place = tmp_path / "memory"
    pair = [make("left"), make("right", minute=1)]
    with closing(open_store(place)) as store:
        store.put_many(pair)
    real: Any = durable.create
    waiting: list[threading.Thread] = []

    def slow(*arguments: Any) -> None:
        real(*arguments)
        waiting.append(_write_meanwhile(place, pair))

    monkeypatch.setattr(durable, "create", slow)  # what a version is copied with
    back_up(place, tmp_path / "kept")
    assert len(waiting) == 2
    for writer in waiting:
        writer.join(timeout=60)
    assert [len(versions) for versions in everything(tmp_path / "kept").values()] == [1, 1]
    assert [len(versions) for versions in everything(place).values()] == [3, 3]


@pytest.mark.parametrize("name", KINDS)
@pytest.mark.parametrize("target", ["copied", "copied.db"])
def test_there_is_no_writer_while_a_memory_is_migrated(
    name: str, target: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    place, pair = tmp_path / name, [make("left"), make("right", minute=1)]
    with closing(open_store(place)) as store:
        store.put_many(pair)
    real, waiting = migration._write, []

    def slow(*arguments: Any) -> None:
        waiting.append(_write_meanwhile(place, pair))
        real(*arguments)

    monkeypatch.setattr(migration, "_BATCH", 1)
    monkeypatch.setattr(migration, "_write", slow)
    migrate(place, tmp_path / target)
    assert len(waiting) == 2
    for writer in waiting:
        writer.join(timeout=60)
    assert [len(versions) for versions in everything(tmp_path / target).values()] == [1, 1]
    assert [len(versions) for versions in everything(place).values()] == [3, 3]


def _write_meanwhile(place: Path, pair: list[Any]) -> threading.Thread:
    """A writer of both records, who has had the time to write unless somebody keeps him out."""

    def write() -> None:
        with closing(open_store(place)) as store:
            store.put_many(pair)

    writer = threading.Thread(target=write, daemon=True)
    writer.start()
    writer.join(timeout=0.3)
    return writer
