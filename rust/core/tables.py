"""Writes the tables of characters: ``python3.11 rust/core/tables.py`` (an interpreter with Unicode 14.0.0).

Text is read as Unicode 14.0 defines its characters, for ever (spec/text.md section 1), so these tables are made once
and change only when a rule does.  The compiled kernel gets everything it asks of a character; the reference asks the
interpreter and gets the list of what 14.0 does not know.  ``--check`` compares instead of writing.
"""

from __future__ import annotations

import os
import sys
import unicodedata
from pathlib import Path

ROOT = Path(__file__).parent.parent.parent
RUST = ROOT / "rust" / "core" / "src" / "unicode" / "tables.rs"
PYTHON = ROOT / "python" / "agent_memory" / "kernel" / "reference" / "text" / "unassigned.py"
POINTS = range(0x110000)
BLOCK = 128

# The bits of a character, in the order of `Bits` in rust/core/src/unicode/mod.rs.
FLAGS = (
    "UPPER_OR_TITLE", "LOWER_LETTER", "NUMBER", "DECIMAL", "DIGIT", "ALNUM", "SPACE", "LINE_END", "LOWERCASE",
    "UPPERCASE", "CASED", "IGNORABLE", "LOWERS", "FOLDS", "ASSIGNED",
)  # fmt: skip


def beside_sigma(char: str) -> str:
    """What a character is to the rule of the final sigma: cased, ignorable or neither, as ``str.lower`` shows."""
    if not ("A" + char + "Σ").lower().endswith("ς"):
        return ""
    return "CASED" if (char + "Σ").lower().endswith("ς") else "IGNORABLE"


def flags(char: str) -> int:
    kind = unicodedata.category(char)
    assert (kind == "Lt") == (kind in ("Lu", "Lt") and not char.isupper())
    holds = {
        "UPPER_OR_TITLE": kind in ("Lu", "Lt"),
        "LOWER_LETTER": kind == "Ll",
        "NUMBER": kind[0] == "N",
        "DECIMAL": char.isdecimal(),
        "DIGIT": char.isdigit(),
        "ALNUM": char.isalnum(),
        "SPACE": char.isspace(),
        "LINE_END": len((char + "x").splitlines()) == 2,
        "LOWERCASE": char.islower(),
        "UPPERCASE": char.isupper(),
        "CASED": beside_sigma(char) == "CASED",
        "IGNORABLE": beside_sigma(char) == "IGNORABLE",
        "LOWERS": char.lower() != char,
        "FOLDS": char.casefold() != char,
        "ASSIGNED": kind != "Cn",
    }
    return sum(holds[name] << bit for bit, name in enumerate(FLAGS))


def rows(items: list[str], indent: str = "    ", width: int = 120) -> str:
    lines, line = [], indent
    for item in items:
        if len(line) + len(item) + 1 > width:
            lines.append(line.rstrip())
            line = indent
        line += item + " "
    return "\n".join([*lines, line.rstrip()])


def ranges() -> list[tuple[int, int]]:
    """The code points that 14.0 does not assign, as inclusive ranges."""
    found: list[tuple[int, int]] = []
    for point in POINTS:
        if unicodedata.category(chr(point)) == "Cn":
            if found and found[-1][1] == point - 1:
                found[-1] = (found[-1][0], point)
            else:
                found.append((point, point))
    return found


def python_table() -> str:
    listed = rows([f"({first:#x}, {last:#x})," for first, last in ranges()])
    return (
        '"""The code points that Unicode 14.0 does not assign.  Made by ``rust/core/tables.py``; do not edit."""\n\n'
        "from __future__ import annotations\n\nfrom typing import Final\n\n"
        '__all__ = ["UNASSIGNED"]\n\n#: Inclusive ranges.\n# fmt: off\n'
        f"UNASSIGNED: Final[tuple[tuple[int, int], ...]] = (\n{listed}\n)\n# fmt: on\n"
    )


def rust_table() -> str:
    from agent_memory.kernel.reference.text.characters import class_of  # the rule of section 3 stands there

    records: dict[tuple[str, int], int] = {}
    pages: dict[tuple[int, ...], int] = {}
    stage = []
    for start in range(0, len(POINTS), BLOCK):
        page = tuple(
            records.setdefault((class_of(chr(p)), flags(chr(p))), len(records)) for p in range(start, start + BLOCK)
        )
        stage.append(pages.setdefault(page, len(pages)))
    assert len(records) <= 256
    assert len(pages) <= 65536
    lowered = [(chr(p), chr(p).lower()) for p in POINTS if chr(p).lower() != chr(p)]
    folded = [(chr(p), chr(p).casefold()) for p in POINTS if chr(p).casefold() != chr(p)]
    parts = [
        "//! What Unicode 14.0 says of each character. Made by `rust/core/tables.py`; do not edit.",
        "\nuse super::Record;",
        "\n/// How many characters share a page.",
        f"pub const PAGE: usize = {BLOCK};",
        "\n/// Every distinct record: the class letter and the bits.",
        "#[rustfmt::skip]",
        f"pub static RECORDS: [Record; {len(records)}] = [",
        rows([f"Record {{ class: b{rust_letter(letter)}, bits: {bits:#x} }}," for letter, bits in records]),
        "];",
        "\n/// The page of each block of code points.",
        "#[rustfmt::skip]",
        f"pub static STAGE: [u16; {len(stage)}] = [",
        rows([f"{page}," for page in stage]),
        "];",
        "\n/// The record of each character of each page.",
        "#[rustfmt::skip]",
        f"pub static PAGES: [u8; {len(pages) * BLOCK}] = [",
        rows([f"{record}," for page in pages for record in page]),
        "];",
        "\n/// Lower-case mappings to one character; U+0130 has two and is not here.",
        "#[rustfmt::skip]",
        *mapping("LOWER", [(c, small) for c, small in lowered if len(small) == 1]),
        "\n/// Full case foldings to one character.",
        "#[rustfmt::skip]",
        *mapping("FOLD", [(c, small) for c, small in folded if len(small) == 1]),
        "\n/// Full case foldings to more than one character.",
        "#[rustfmt::skip]",
        f"pub static FOLD_LONG: [(u32, &str); {sum(len(small) > 1 for _, small in folded)}] = [",
        rows([f'({ord(c):#x}, "{escaped(small)}"),' for c, small in folded if len(small) > 1]),
        "];",
    ]
    assert [c for c, small in lowered if len(small) > 1] == ["\u0130"]
    return "\n".join(parts) + "\n"


def mapping(name: str, pairs: list[tuple[str, str]]) -> list[str]:
    return [
        f"pub static {name}: [(u32, u32); {len(pairs)}] = [",
        rows([f"({ord(c):#x}, {ord(small):#x})," for c, small in pairs]),
        "];",
    ]


def rust_letter(letter: str) -> str:
    return {"'": r"'\''", "\\": r"'\\'", "\n": r"'\n'"}.get(letter, f"'{letter}'")


def escaped(text: str) -> str:
    return "".join(f"\\u{{{ord(char):x}}}" for char in text)


def main() -> None:
    if unicodedata.unidata_version != "14.0.0":
        raise SystemExit(f"this interpreter has Unicode {unicodedata.unidata_version}: run with one of 14.0.0 (3.11)")
    sys.path.insert(0, str(ROOT / "python"))
    os.environ["AGENT_MEMORY_KERNEL"] = "python"  # the compiled one is what these tables are for
    stale = []
    for path, made in ((PYTHON, python_table), (RUST, rust_table)):
        text = made()
        if path.exists() and path.read_text("utf-8") == text:
            continue
        stale.append(str(path.relative_to(ROOT)))
        if "--check" not in sys.argv:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, "utf-8")
    if stale and "--check" in sys.argv:
        raise SystemExit(f"not what this script makes: {', '.join(stale)}; run it without --check")
    sys.stdout.write("written: " + (", ".join(stale) or "nothing, all is as it should be") + "\n")


if __name__ == "__main__":
    main()
