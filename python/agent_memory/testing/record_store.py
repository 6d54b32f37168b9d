"""What every record store promises, as tests; what some can do besides is in the modules it inherits from."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Final

from agent_memory.lifecycle import archive
from agent_memory.records import MemoryRecord, RecordState, RecordType

from .atomicity import AtomicityContract
from .checks import MALFORMED, UNKNOWN, demand, equal, make, refused, together, trouble, undisturbed

__all__ = ["RecordStoreContract"]

_MANY: Final = 600
"""Records at once: more than any limit of rows, parameters or entries that a store may pass by without a word."""


class RecordStoreContract(AtomicityContract):
    """Subclass it as ``Test…`` and define :meth:`make_store`; for a durable store :meth:`reopen` too."""

    # ------------------------------------------------------------------ what the port demands

    def test_a_new_store_is_empty(self, tmp_path: Path) -> None:
        store = self.make_store(tmp_path)
        equal(tuple(store.list()), (), "make_store() gives an empty store")
        equal(tuple(store), (), "iterating over an empty store gives nothing")
        equal(list(store.payloads()), [], "an empty store has no payloads")

    def test_what_was_put_comes_back(self, tmp_path: Path) -> None:
        store = self.make_store(tmp_path)
        record = make(tags=("b", "a"), slots={"sky": "clear"})
        store.put(record)
        equal(store.get(record.id), record, "get() answers what was put")
        equal(store.history(record.id), (record,), "history() answers a tuple of all versions")
        equal(store.list(), (record,), "list() answers a tuple of the newest versions")

    def test_what_was_put_comes_back_to_the_byte(self, tmp_path: Path) -> None:
        store = self.make_store(tmp_path)
        records = trouble()
        store.put_many(records)
        for record in records:
            wanted = record.canonical_bytes()
            equal(store.get(record.id).canonical_bytes(), wanted, "get() changes no byte of a record")
            kept = [version.canonical_bytes() for version in store.history(record.id)]
            equal(kept, [wanted], "history() changes no byte of a version")
        equal(
            sorted(store.payloads()),
            sorted(record.canonical_bytes() for record in records),
            "payloads() are the canonical bytes of the newest versions",
        )

    def test_a_put_appends_and_overwrites_nothing(self, tmp_path: Path) -> None:
        store = self.make_store(tmp_path)
        record = make()
        versions = [record, record.evolve({"tags": ("seen",)}), archive(record, reason="decay")]
        for position, version in enumerate(versions, 1):
            store.put(version)
            equal(store.get(record.id), version, "get() answers the version that was put last")
            equal(store.history(record.id), tuple(versions[:position]), "a put appends a version and keeps the others")
        equal(store.list(), (versions[-1],), "list() has the newest version of a record, once")

    def test_a_byte_identical_put_appends(self, tmp_path: Path) -> None:
        store = self.make_store(tmp_path)
        record = make()
        for _ in range(12):
            store.put(record)
        equal(store.history(record.id), (record,) * 12, "a put appends a version even when it is byte-identical")

    def test_more_than_nine_versions_stay_in_order(self, tmp_path: Path) -> None:
        store = self.make_store(tmp_path)
        record = make()
        versions = tuple(record.evolve({"state_reason": f"step {number}"}) for number in range(1, 13))
        for version in versions:
            store.put(version)
            equal(store.get(record.id), version, "get() answers the version that was put last, the tenth too")
        equal(store.history(record.id), versions, "history() goes by number, oldest first: the tenth follows the ninth")
        equal(store.list(), versions[-1:], "list() has the newest version of a record with many")
        equal(store.get_many([record.id]), {record.id: versions[-1]}, "get_many() has the newest of many versions")
        equal(list(store.payloads()), [versions[-1].canonical_bytes()], "payloads() has the newest of many versions")

    def test_many_records_are_all_there(self, tmp_path: Path) -> None:
        store = self.make_store(tmp_path)
        records = [make(f"number {number}", minute=number, tags=("all",)) for number in range(_MANY)]
        wanted = {record.id: record for record in records}
        store.put_many(records)
        listed = store.list()
        demand(
            len(listed) == _MANY and {record.id: record for record in listed} == wanted,
            f"of {_MANY} records in one put_many(), list() has every one, once; it has {len(listed)}",
        )
        demand(tuple(store) == listed, "iterating gives every one of many records")
        payloads = list(store.payloads())
        demand(
            payloads == [record.canonical_bytes() for record in listed],
            f"payloads() has every one of {_MANY} records; it has {len(payloads)}",
        )
        for name, filtered in (
            ("tag", store.list(tag="all")),
            ("state", store.list(state=RecordState.ACTIVE)),
            ("type", store.list(type=RecordType.FACT)),
        ):
            demand(filtered == listed, f"list({name}=…) has every one of {_MANY} that pass; it has {len(filtered)}")
        found = store.get_many(record.id for record in reversed(records))
        demand(found == wanted, f"get_many() of {_MANY} ids answers every one; it answers {len(found)}")

    def test_list_filters(self, tmp_path: Path) -> None:
        store = self.make_store(tmp_path)
        fact = make("A fact is here.", tags=("alpha", "both"))
        episode = make("A thing happened.", type=RecordType.EPISODE, tags=("beta", "both"), minute=1)
        retired = archive(episode, reason="decay")
        store.put_many([fact, episode, retired])
        equal(store.list(type=RecordType.FACT), (fact,), "list(type=…) has that type only")
        equal(store.list(state=RecordState.ACTIVE), (fact,), "list(state=…) goes by the newest version")
        equal(store.list(state=RecordState.ARCHIVED), (retired,), "list(state=…) goes by the newest version")
        equal(store.list(tag="alpha"), (fact,), "list(tag=…) has records with that tag only")
        equal(set(store.list(tag="both")), {fact, retired}, "list(tag=…) has every record with that tag")
        equal(store.list(tag="alph"), (), "a tag is compared whole")
        equal(store.list(state=RecordState.ACTIVE, tag="beta"), (), "list() answers what passes all given filters")
        equal(store.list(state=RecordState.ACTIVE, type=RecordType.FACT, tag="both"), (fact,), "all filters together")

    def test_filters_go_by_the_newest_version(self, tmp_path: Path) -> None:
        store = self.make_store(tmp_path)
        record = make(tags=("old", "kept"))
        newest = record.evolve({"tags": ("kept", "new")})
        store.put_many([record, newest])
        equal(store.list(tag="old"), (), "a tag that only an older version had does not match")
        equal(
            (store.list(tag="kept"), store.list(tag="new")), ((newest,), (newest,)), "tags of the newest version match"
        )

    def test_the_order_is_fixed(self, tmp_path: Path) -> None:
        store = self.make_store(tmp_path)
        records = [make(f"number {number}", minute=number * 7 % 11) for number in range(11)]
        store.put_many(records)
        first = [record.id for record in store.list()]
        store.put(archive(records[5], reason="decay"))
        listed = store.list()
        equal([record.id for record in listed], first, "list() keeps its order when a record gets a version")
        equal(tuple(store), listed, "iterating follows list()")
        wanted = [record.canonical_bytes() for record in listed]
        equal(list(store.payloads()), wanted, "payloads() follows list()")
        active = [record.id for record in store.list(state=RecordState.ACTIVE)]
        equal(active, [record_id for record_id in first if record_id != records[5].id], "a filter keeps the order")

    def test_an_unknown_id_is_refused(self, tmp_path: Path) -> None:
        store = self.make_store(tmp_path)
        store.put(make())
        refused(lambda: store.get(UNKNOWN), "get() of an unknown id is a StoreError")
        refused(lambda: store.history(UNKNOWN), "history() of an unknown id is a StoreError")
        equal(store.get_many([UNKNOWN]), {}, "get_many() leaves unknown ids out")

    def test_a_malformed_id_is_refused(self, tmp_path: Path) -> None:
        store = self.make_store(tmp_path)
        store.put(make())
        for bad in MALFORMED:
            refused(partial(store.get, bad), f"get({bad!r}) is a StoreError")
            refused(partial(store.history, bad), f"history({bad!r}) is a StoreError")
        equal(store.get_many(MALFORMED), {}, "get_many() leaves malformed ids out")

    def test_a_tombstone_is_final(self, tmp_path: Path) -> None:
        store = self.make_store(tmp_path)
        record = make()
        tombstone = MemoryRecord.tombstone(record, reason="asked for")
        store.put_many([record, tombstone])
        for late in (record, archive(record, reason="decay"), MemoryRecord.tombstone(record, reason="another")):
            refused(partial(store.put, late), "a put over a tombstone is a StoreError")
        equal(store.get(record.id), tombstone, "a refused put leaves the tombstone where it is")
        equal(len(store.history(record.id)), 2, "a refused put appends nothing")
        undisturbed(lambda: store.put(tombstone), "the same tombstone may be put again")
        equal(len(store.history(record.id)), 3, "the same tombstone put again appends")

    def test_many_threads_lose_no_version(self, tmp_path: Path) -> None:
        store = self.make_store(tmp_path)
        shared = make("shared")
        own = [make(f"of thread {number}", minute=number) for number in range(1, 9)]

        def write(record: MemoryRecord) -> None:
            for _ in range(5):
                store.put(shared)
                store.put(record)
                store.list()

        acts = [partial(write, record) for record in own]
        together(acts, "a store may be used by several threads at once")
        equal(len(store.history(shared.id)), 40, "no version is lost when threads put the same record")
        equal(len(store.list()), 9, "no record is lost when threads put at once")
        demand(all(store.history(record.id) == (record,) * 5 for record in own), "every thread's versions are there")

    # ------------------------------------------------------------------ capabilities that every store has

    def test_put_many_appends_in_order(self, tmp_path: Path) -> None:
        store = self.make_store(tmp_path)
        record, other = make(), make("other", minute=1)
        versions = (record, archive(record, reason="decay"))
        store.put_many(iter([versions[0], other, versions[1]]))
        equal(store.history(record.id), versions, "put_many() appends in the order given")
        equal(store.history(other.id), (other,), "put_many() takes several records")
        store.put_many([])
        equal(len(store.list()), 2, "put_many() of nothing changes nothing")

    def test_get_many_answers_what_is_there(self, tmp_path: Path) -> None:
        store = self.make_store(tmp_path)
        records = [make(f"number {number}", minute=number) for number in range(3)]
        store.put_many([*records, archive(records[0], reason="decay")])
        asked = [records[2].id, UNKNOWN, records[0].id, "no id", records[2].id]
        found = store.get_many(iter(asked))
        wanted = {records[2].id: records[2], records[0].id: store.get(records[0].id)}
        equal(found, wanted, "get_many() answers the newest versions of those ids that are there, and no others")
        equal(store.get_many([]), {}, "get_many() of nothing is empty")

    def test_closing_twice_is_allowed(self, tmp_path: Path) -> None:
        store = self.make_store(tmp_path)
        store.put(make())
        store.close()
        undisturbed(store.close, "close() may be called twice")
