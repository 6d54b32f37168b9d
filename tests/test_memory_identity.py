"""Keys, signatures and the exported file, through the porcelain."""

from __future__ import annotations

import json
import os
import stat
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from fg_agent_id import KeyPair, SignatureError, address_from_signing_key

from agent_memory import AgentMemoryError, ArgumentError, Memory, MemoryFile, RecordError, StoreError


@pytest.fixture(scope="module")
def keys() -> KeyPair:
    return KeyPair.generate()


@pytest.fixture
def exported(tmp_path: Path, keys: KeyPair) -> Path:
    with Memory(tmp_path / "memory", identity=keys) as memory:
        memory.remember("The billing service owns invoices.")
        memory.remember("The ledger service owns balances.")
        memory.export(tmp_path / "brain.json")
    return tmp_path / "brain.json"


def test_a_keyfile_is_made_once_for_its_owner_alone(tmp_path: Path) -> None:
    keyfile = tmp_path / "keys" / "agent.key"
    first = Memory(None, identity=str(keyfile))
    assert stat.S_IMODE(keyfile.stat().st_mode) == 0o600
    assert Memory(None, identity=keyfile).agent == first.agent
    assert [path.name for path in keyfile.parent.iterdir()] == ["agent.key"]


def test_processes_that_start_at_once_share_one_new_key(tmp_path: Path) -> None:
    start = time.time() + 1.5
    code = (
        "import sys, time; from agent_memory.identity import open_identity;"
        "from agent_memory.signing import address_of;"
        f"import fg_agent_id; time.sleep(max(0, {start} - time.time()));"
        "print(address_of(open_identity(sys.argv[1])))"
    )
    children = [
        subprocess.Popen([sys.executable, "-c", code, str(tmp_path / "k")], stdout=subprocess.PIPE, text=True)
        for _ in range(6)
    ]
    addresses = {child.communicate()[0].strip() for child in children}
    assert len(addresses) == 1
    assert addresses != {""}


@pytest.mark.parametrize("content", [b"", b"short", b"x" * 65])
def test_a_bad_keyfile_is_refused_without_showing_it(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "k").write_bytes(content)
    with pytest.raises(StoreError, match="keyfile") as caught:
        Memory(None, identity=tmp_path / "k")
    assert "xxxx" not in str(caught.value)
    assert (tmp_path / "k").read_bytes() == content


def test_a_keyfile_in_an_impossible_place_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(StoreError, match="keyfile"):
        Memory(None, identity=tmp_path / "file" / "k")
    with pytest.raises(StoreError, match="keyfile"):
        Memory(None, identity=tmp_path)


def test_a_memory_signs_what_it_writes_and_every_version_of_it(tmp_path: Path, keys: KeyPair) -> None:
    memory = Memory(None, identity=keys, auto_consolidate=False)
    record_id = str(memory.remember("Signed on first run.").record_id)
    memory.remember("Signed on first run.", tags=["again"])
    versions = memory.history(record_id)
    assert len(versions) == 2
    for version in versions:
        assert version.signed_by == address_from_signing_key(keys.public.signing)
        version.verify()


def test_a_memory_never_claims_a_record_that_another_signed(tmp_path: Path, exported: Path) -> None:
    memory = Memory.load(exported, identity=KeyPair.generate(), auto_consolidate=False)
    record = memory.list()[0]
    memory.remember(record.body, tags=["mine"])  # reinforces it: a new version, not ours to sign
    newest = memory.get(record.id)
    assert newest.tags == ("mine",)
    assert (newest.signed_by, newest.signature) == (None, "")
    memory.history(record.id)[0].verify()


def test_an_export_verifies_and_loads_elsewhere(exported: Path, keys: KeyPair) -> None:
    loaded = Memory.load(exported, expected_agent=address_from_signing_key(keys.public.signing))
    assert loaded.status()["records"] == 2
    assert "invoices" in loaded.recall("who owns invoices?").as_prompt_block()


def test_any_spelling_of_the_json_loads(exported: Path) -> None:
    exported.write_text(json.dumps(json.loads(exported.read_text()), indent=3, ensure_ascii=True))
    assert Memory.load(exported).status()["records"] == 2


def _edit(change: Callable[[dict[str, Any]], Any]) -> Callable[[bytes], bytes]:
    def edited(data: bytes) -> bytes:
        file = json.loads(data)
        change(file)
        return json.dumps(file).encode()

    return edited


TAMPERINGS: dict[str, tuple[Callable[[bytes], bytes], type[Exception]]] = {
    "a changed body": (_edit(lambda f: f["records"][0].update(body="Quietly rewritten.")), RecordError),
    "a changed confidence": (_edit(lambda f: f["records"][0].update(confidence="0.1000")), SignatureError),
    "a changed time": (_edit(lambda f: f.update(created_at="2020-01-01T00:00:00.000Z")), SignatureError),
    "a record left out": (_edit(lambda f: f["records"].pop()), SignatureError),
    "a stripped file signature": (_edit(lambda f: f.update(signature="")), RecordError),
    "a missing file signature": (_edit(lambda f: f.pop("signature")), RecordError),
    "no agent": (_edit(lambda f: f.update(agent=None)), RecordError),
    "another agent": (_edit(lambda f: f.update(agent="amp:key:" + "1" * 44)), RecordError),
    "a stripped record signature": (_edit(lambda f: f["records"][0].update(signature="")), AgentMemoryError),
    "swapped record signatures": (
        _edit(lambda f: f["records"][0].update(signature=f["records"][1]["signature"])),
        SignatureError,
    ),
    "a signature with trailing bits": (
        _edit(lambda f: f.update(signature=f["signature"][:-3] + "B==")),
        SignatureError,
    ),
    "an unknown format": (_edit(lambda f: f.update(format="fg-agent-memory/9")), RecordError),
    "records that are no list": (_edit(lambda f: f.update(records={})), RecordError),
    "a record twice": (_edit(lambda f: f["records"].append(f["records"][0])), RecordError),
    "a torn file": (lambda data: data[: len(data) // 2], RecordError),
    "an empty file": (lambda _: b"", RecordError),
    "no JSON": (lambda data: b"\x00\xff" + data, RecordError),
    "a duplicate key": (lambda data: data.replace(b'{"agent":', b'{"agent":null,"agent":', 1), RecordError),
    "a float": (lambda data: data[:-1] + b',"x":1.5}', RecordError),
    "endless nesting": (lambda _: b"[" * 100_000, RecordError),
}


@pytest.mark.parametrize("name", TAMPERINGS)
def test_a_tampered_export_is_refused_and_nothing_is_made(tmp_path: Path, exported: Path, name: str) -> None:
    tamper, error = TAMPERINGS[name]
    exported.write_bytes(tamper(exported.read_bytes()))
    with pytest.raises(error) as caught:
        Memory.load(exported, path=tmp_path / "elsewhere")
    assert isinstance(caught.value, AgentMemoryError)
    assert not (tmp_path / "elsewhere").exists()


def test_a_forged_record_inside_a_correctly_signed_file_is_refused(exported: Path, keys: KeyPair) -> None:
    file = json.loads(exported.read_bytes())
    file["records"][0]["signature"] = file["records"][1]["signature"]
    forged = MemoryFile.model_validate(file).sign(keys)
    exported.write_text(json.dumps(forged.model_dump()))
    with pytest.raises(SignatureError, match=file["records"][0]["id"]):
        Memory.load(exported)


def test_the_file_of_another_agent_is_refused_when_one_is_expected(exported: Path) -> None:
    other = address_from_signing_key(KeyPair.generate().public.signing)
    with pytest.raises(RecordError, match="expected agent"):
        Memory.load(exported, expected_agent=other)


def test_an_unsigned_export_loads_only_when_asked_to(tmp_path: Path) -> None:
    with Memory(None) as memory:
        memory.remember("Unsigned but portable.")
        memory.export(tmp_path / "plain.json")
    with pytest.raises(RecordError, match="not signed"):
        Memory.load(tmp_path / "plain.json", path=tmp_path / "second")
    assert Memory.load(tmp_path / "plain.json", path=tmp_path / "second", verify=False).status()["records"] == 1


def test_a_failed_export_leaves_the_old_one(tmp_path: Path, exported: Path) -> None:
    before = exported.read_bytes()
    with Memory(None) as memory:
        memory.remember("x y z")
        with pytest.raises(StoreError, match="folder"):
            memory.export(tmp_path / "no" / "such" / "file.json")
        with pytest.raises(ArgumentError, match="NUL"):
            memory.export(f"{tmp_path}/x\0y")
        with pytest.raises(StoreError):
            memory.export(tmp_path)
        if os.geteuid() != 0:
            exported.parent.chmod(0o500)
            with pytest.raises(StoreError):
                memory.export(exported)
            exported.parent.chmod(0o700)
    assert exported.read_bytes() == before


def test_a_missing_file_is_a_store_error(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match="cannot be read"):
        Memory.load(tmp_path / "none.json")
    with pytest.raises(StoreError, match="cannot be read"):
        Memory.load(tmp_path)
