"""Normalisation: NFC of Unicode 14.0, whatever the tables of the interpreter and of the binary."""

from __future__ import annotations

import re
import unicodedata
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent_memory import _native as native
from agent_memory.errors import RecordTypeError, RecordValueError
from agent_memory.kernel import reference
from agent_memory.kernel.reference.unicode14 import COVERED, INERT, NFC_VERSION

RUST_TABLE = Path(__file__).parent.parent / "rust" / "core" / "src" / "unicode14.rs"
KERNELS = pytest.mark.parametrize("kernel", [native, reference], ids=["native", "reference"])
INERT_CHARACTERS = [chr(point) for first, last in INERT for point in range(first, last + 1)]
MARKS = [
    "\u0301",
    "\u0308",
    "\u0323",
    "\u0338",
    "\u0345",
    "\u05b0",
    "\u09be",
    "\u1161",
    "\u11a8",
    "\u3099",
    "\U000105d2",
]


def test_both_tables_are_the_same() -> None:
    ranges = re.findall(r"\(0x([0-9A-F]+), 0x([0-9A-F]+)\)", RUST_TABLE.read_text("utf-8"))
    assert tuple((int(first, 16), int(last, 16)) for first, last in ranges) == INERT
    assert native.build_info()["nfc"] == reference.build_info()["nfc"] == NFC_VERSION


@pytest.mark.parametrize("version", [unicodedata.unidata_version, native.build_info()["unicode"]])
def test_the_table_covers_the_tables_in_use(version: str) -> None:
    parts = tuple(int(part) for part in version.split("."))
    assert tuple(int(part) for part in NFC_VERSION.split(".")) <= parts <= COVERED


@pytest.mark.parametrize("plane", range(17))
def test_ids_agree_on_every_code_point(plane: int) -> None:
    """Every scalar value alone, before and after marks of several kinds; U+0000 keeps the pieces apart."""
    if plane in range(4, 14):
        scalars = [chr((plane << 16) + low) for low in (0, 1, 0xFFFD, 0xFFFE, 0xFFFF)]  # Nothing is assigned there.
    else:
        scalars = [chr((plane << 16) + low) for low in range(0x10000) if plane or low not in range(0xD800, 0xE000)]
    for mark in MARKS:
        text = "\0".join([f"{c}{mark}\0e{mark}{c}\u0301\0{mark}{c}{mark}" for c in scalars])
        normal = reference.nfc(text)
        assert native.nfc(text) == normal
        if unicodedata.unidata_version == NFC_VERSION:
            assert unicodedata.normalize("NFC", text) == normal


@given(st.text(st.one_of(st.characters(exclude_categories=["Cs"]), st.sampled_from(MARKS + INERT_CHARACTERS))))
def test_both_kernels_normalise_alike_and_once_is_enough(text: str) -> None:
    normal = reference.nfc(text)
    assert native.nfc(text) == normal
    assert native.nfc(normal) is normal
    assert reference.nfc(normal) is normal
    if unicodedata.unidata_version == NFC_VERSION:
        assert unicodedata.normalize("NFC", text) == normal


@given(st.lists(st.sampled_from(["\u0301", "\u0323", "\u0345", "\u05b0", "\u1acf", "\u0338"]), max_size=200))
def test_long_runs_of_marks_are_put_in_order(marks: list[str]) -> None:
    text = "e" + "".join(marks) + "e"
    assert native.nfc(text) == reference.nfc(text)


@KERNELS
def test_marks_newer_than_the_rule_stay_where_they_are(kernel: Any) -> None:
    assert kernel.nfc("e\u1acf\u0301") == "e\u1acf\u0301"
    assert kernel.nfc("e\u0301\u1acfe\u0301") == "é\u1acfé"
    assert kernel.nfc("\U000105d2\u0307") == "\U000105d2\u0307"
    assert kernel.nfc("\U000105c9") == "\U000105c9"


@KERNELS
def test_text_that_is_normal_is_the_very_same_object(kernel: Any) -> None:
    for text in ("", "plain", "é", "naïve – “quoted”", "漢字かな", "Привет", "한국어", "🎉", "q\u0301"):
        assert kernel.nfc(text) is text
    assert kernel.nfc("e\u0301") == "é"
    assert kernel.nfc("\u1100\u1161\u11a8") == "각"


@KERNELS
def test_only_text_can_be_normalised(kernel: Any) -> None:
    with pytest.raises(RecordTypeError, match="is of type 'bytes': only text can be normalised"):
        kernel.nfc(b"text")
    with pytest.raises(RecordValueError, match="lone surrogate"):
        kernel.nfc("a\ud800")
