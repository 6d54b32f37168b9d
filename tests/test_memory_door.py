"""What follows a write stays in step with it: through failures, other processes, rolled-back blocks and closing."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from agent_memory import (
    ArgumentError,
    ArgumentTypeError,
    InMemoryRecordStore,
    Memory,
    MemoryRecord,
    Operator,
    Provenance,
    RecordError,
    RecordState,
    SearchIndex,
    StoreError,
    VerbatimExtractor,
)
from agent_memory.search import SQLiteSearchIndex

SHARED = 245 if os.environ.get("AGENT_MEMORY_TEST_PROFILE") == "long" else 25
"""Texts that all processes of a test remember."""


@pytest.fixture(params=["memory", "memory.db"])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    return tmp_path / str(request.param)


# ---------------------------------------------------------------- two memories on one store


def test_each_of_two_memories_finds_what_the_other_wrote(place: Path) -> None:
    with Memory(place) as one, Memory(place) as two:
        first = one.remember("The retro board lives in Linear.").record_id
        assert two.recall("retro board").ids == (first,)
        second = two.remember("Lunch is at noon on Fridays.").record_id
        assert one.recall("lunch friday").ids == (second,)
        assert two.remember("The retro board lives in Linear.").record_id == first
        assert one.status()["records"] == 2


def test_what_another_process_wrote_is_found_without_reopening(place: Path) -> None:
    with Memory(place) as memory:
        code = (
            "import sys; from agent_memory import Memory\n"
            "with Memory(sys.argv[1]) as memory: print(memory.remember('Heron nests.').record_id)"
        )
        done = subprocess.run([sys.executable, "-c", code, str(place)], capture_output=True, text=True, check=True)
        assert memory.recall("heron").ids == (done.stdout.strip(),)
        assert memory.remember("Heron nests.").deduped


def test_a_text_that_another_memory_redacted_or_retired_is_remembered_anew(place: Path) -> None:
    with Memory(place, auto_consolidate=False) as one, Memory(place, auto_consolidate=False) as two:
        gone = str(one.remember("The code is 4711.").record_id)
        two.redact(gone, "secret")
        again = one.remember("The code is 4711.")
        assert not again.deduped
        assert one.recall("code").ids == (again.record_id,)
        a = str(one.remember("The deploy needs approval.").record_id)
        b = str(two.remember("The deploy needs no approval.").record_id)
        two.consolidate()
        two.resolve(a, b, "policy")
        assert not one.remember("The deploy needs approval.").deduped


def test_four_processes_remember_overlapping_texts_once_each(place: Path) -> None:
    code = (
        "import sys; from agent_memory import Memory\n"
        "with Memory(sys.argv[1], auto_consolidate=False) as memory:\n"
        f"    for i in range({SHARED}): memory.remember(f'Overlapping fact number {{i}} of everybody.')\n"
        "    for i in range(5): memory.remember(f'Own fact {i} of {sys.argv[2]}.')\n"
    )
    children = [
        subprocess.Popen([sys.executable, "-c", code, str(place), name], stderr=subprocess.PIPE, text=True)
        for name in "abcd"
    ]
    assert [(child.communicate()[1], child.returncode) for child in children] == [("", 0)] * 4
    with Memory(place) as memory:
        bodies = [record.body for record in memory.list(state=RecordState.ACTIVE)]
    assert len(bodies) == len(set(bodies)) == SHARED + 4 * 5


def test_the_survivor_of_two_equal_records_is_the_one_reinforced(place: Path, tmp_path: Path) -> None:
    with Memory(None) as other:
        other.remember("Grafana runs on port 3000.")
        other.export(tmp_path / "other.json")
    with Memory(place, auto_consolidate=False) as memory:
        memory.remember("Grafana runs on port 3000.")
        memory.load_file(tmp_path / "other.json", verify=False)
        memory.consolidate()
        (survivor,) = memory.list(state=RecordState.ACTIVE)
        assert memory.remember("Grafana runs on port 3000.").record_id == survivor.id


# ---------------------------------------------------------------- failures


class Generating(Operator):
    """Proposes the text, and then fails when the text says so."""

    def propose(self, text: str, provenance: Provenance) -> Any:
        yield from VerbatimExtractor().propose(text, provenance)
        if "bad" in text:
            raise RecordError("the model answered nonsense")


def test_an_entry_that_fails_half_way_leaves_no_trace_in_its_batch(place: Path) -> None:
    with Memory(place, extractor=Generating(), auto_consolidate_every=3) as memory:
        _, bad = memory.remember_many(["good one", "bad one"])
        assert isinstance(bad, RecordError)
        assert [record.body for record in memory.list()] == ["good one"]
        memory_again = Memory(place, auto_consolidate=False)
        assert not memory_again.remember("bad one").deduped
        assert memory.recall("bad").ids == memory_again.recall("bad").ids != ()
        memory_again.close()


class Failing(SearchIndex):
    """An index that fails as often as it is told, and then works."""

    def __init__(self) -> None:
        self.failures = 0
        self.inner = SQLiteSearchIndex()

    def index(self, record: MemoryRecord) -> None:
        if self.failures:
            self.failures -= 1
            raise RuntimeError("the embedder is down")
        self.inner.index(record)

    def candidates(self, query: str, k: int) -> tuple[tuple[str, float], ...]:
        return self.inner.candidates(query, k)


def test_what_an_index_could_not_take_in_is_offered_again() -> None:
    failing, sound = Failing(), SQLiteSearchIndex()
    memory = Memory(None, indexes=[failing, sound])
    failing.failures = 1
    record_id = memory.remember("Alpha beta.").record_id
    assert memory.remember("Alpha beta.").deduped
    assert memory.recall("alpha").ids == (record_id,)
    assert failing.candidates("alpha", 1)
    assert sound.candidates("alpha", 1)


def test_a_text_is_remembered_even_when_the_pass_it_sets_off_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    memory = Memory(None, auto_consolidate_every=1)
    monkeypatch.setattr("agent_memory.upkeep.run_passes", _refuse)
    result = memory.remember("Kept all the same.")
    assert (result.consolidation, result.consolidation_error) == (None, "the disk is full")
    assert memory.recall("kept").ids == (result.record_id,)


def _refuse(*args: object, **kwargs: object) -> None:
    raise StoreError("the disk is full")


class Full(InMemoryRecordStore):
    """A store that can be told to be full."""

    full = False

    def put_many(self, records: Any) -> None:
        if self.full:
            raise StoreError("the disk is full")
        super().put_many(records)


def test_a_write_that_fails_moves_no_counter() -> None:
    store = Full()
    memory = Memory(store=store, auto_consolidate_every=2)
    record_id = str(memory.remember("Here already.").record_id)
    store.full = True
    for _ in range(3):
        with pytest.raises(StoreError):
            memory.remember("Here already.", tags=["more"])
        with pytest.raises(StoreError):
            memory.remember_many(["new one", "new two"])
    store.full = False
    assert memory.decay().saliences[record_id] == pytest.approx(0.9, rel=0.01)
    assert memory.remember("Second.").consolidation is not None


def test_nothing_lands_after_closing(place: Path) -> None:
    memory = Memory(place, auto_consolidate=False)
    landed: list[str] = []
    refused: list[str] = []
    start = threading.Barrier(9)

    def work(number: int) -> None:
        start.wait()
        for i in range(20):
            text = f"Fact {i} of worker {number}."
            try:
                memory.remember(text)
            except StoreError:
                refused.append(text)
            else:
                landed.append(text)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    start.wait()
    memory.close()
    for thread in threads:
        thread.join()
    with Memory(place) as reopened:
        assert sorted(record.body for record in reopened.list()) == sorted(landed)
    assert refused


# ---------------------------------------------------------------- sidecars


def catalogues(place: Path) -> Iterator[Path]:
    return (path for path in place.parent.rglob("catalogue.db*") if path.is_file())


@pytest.mark.parametrize("rubbish", [b"", b"not a database at all", b"SQLite format 3\0" + b"x" * 5000])
def test_a_damaged_catalogue_is_made_anew(place: Path, rubbish: bytes) -> None:
    with Memory(place) as memory:
        record_id = memory.remember("Still to be found.").record_id
    for path in tuple(catalogues(place)):
        path.write_bytes(rubbish)
    with Memory(place) as memory:
        assert memory.recall("found").ids == (record_id,)
        assert memory.remember("Still to be found.").deduped


def test_the_catalogue_of_another_memory_is_not_trusted(tmp_path: Path, place: Path) -> None:
    with Memory(place) as memory:
        memory.remember("Mine.")
    with Memory(tmp_path / f"other{place.suffix}") as other:
        other.remember("Theirs is this.")
        other.remember("Theirs is that.")
    found = {path.parent.name: path for path in catalogues(place) if path.name == "catalogue.db"}
    mine = next(path for folder, path in found.items() if folder.startswith("memory"))
    theirs = next(path for folder, path in found.items() if folder.startswith("other"))
    mine.write_bytes(theirs.read_bytes())
    with Memory(place) as memory:
        assert memory.recall("theirs").ids == ()
        assert len(memory.recall("mine")) == 1
        assert not memory.remember("Theirs is this.").deduped


def test_a_foreign_index_in_the_memory_goes_with_a_redaction(tmp_path: Path) -> None:
    with Memory(tmp_path / "memory") as memory:
        record_id = str(memory.remember("zebra77 is the word.").record_id)
        foreign = SQLiteSearchIndex(tmp_path / "memory" / "index.sqlite")
        foreign.index(memory.get(record_id))
        foreign.close()
        memory.redact(record_id, "secret")
    for path in tmp_path.rglob("*"):
        if path.is_file():
            assert b"zebra77" not in path.read_bytes(), path


# ---------------------------------------------------------------- arguments


@pytest.mark.parametrize("items", ["hello", b"hello", {"text": "foo"}, 5, None])
def test_remember_many_takes_a_list_and_nothing_that_looks_like_one(items: Any) -> None:
    memory = Memory(None)
    with pytest.raises(ArgumentTypeError, match="items"):
        memory.remember_many(items)
    assert memory.status()["records"] == 0


@pytest.mark.parametrize("name", ["store", "extractor", "operators", "consolidation_config", "decay_config"])
def test_a_memory_names_the_argument_that_is_none_of_its_kind(name: str) -> None:
    with pytest.raises(ArgumentTypeError, match=name):
        Memory(None, **{name: 5})  # type: ignore[arg-type]


def test_a_memory_refuses_other_senseless_arguments() -> None:
    with pytest.raises(ArgumentTypeError, match=r"indexes\[0\]"):
        Memory(None, indexes=[5])  # type: ignore[list-item]
    for kind in ("consolidation", "redaction"):
        with pytest.raises(ArgumentError, match="source_kind"):
            Memory(None, source_kind=kind)
    with pytest.raises(ArgumentError, match="NUL"):
        Memory(None, identity="a\0b")
    with pytest.raises(StoreError):
        Memory("a" * 300)


def test_an_export_into_the_memory_itself_is_refused(place: Path) -> None:
    with Memory(place) as memory:
        memory.remember("Anything.")
        target = place / "salience.json" if place.is_dir() else place
        with pytest.raises(ArgumentError, match="inside"):
            memory.export(target)


def test_an_export_never_leaves_a_damaged_record_out_unasked(tmp_path: Path) -> None:
    with Memory(tmp_path / "memory", auto_consolidate=False) as memory:
        ids: Sequence[str] = [str(memory.remember(text).record_id) for text in ("Sound.", "Torn.")]
        torn = tmp_path / "memory" / "records" / ids[1].removeprefix("mem:") / "000001.json"
        torn.write_bytes(torn.read_bytes()[:50])
        assert memory.status()["damaged"] == 1
        with pytest.raises(StoreError, match="doctor"):
            memory.export(tmp_path / "brain.json")
        assert [record.id for record in memory.export(tmp_path / "brain.json", partial=True).records] == [ids[0]]


def test_a_memory_tells_git_what_can_be_rebuilt(tmp_path: Path) -> None:
    with Memory(tmp_path / "memory") as memory:
        memory.remember("Anything.")
        memory.recall("anything")
    subprocess.run(["git", "init", "-q", str(tmp_path / "memory")], check=True)
    status = ["git", "-C", str(tmp_path / "memory"), "status", "--short", "--untracked-files=all"]
    shown = subprocess.run(status, capture_output=True, text=True, check=True).stdout.split()
    kept = {name for name in shown if name != "??"}
    assert {name.split("/")[0] for name in kept} == {".gitignore", "records"}
    assert all(name.endswith("/000001.json") for name in kept - {".gitignore"})
