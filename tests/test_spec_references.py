"""Every section of the specification that is referred to exists."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
SPEC = ROOT / "spec"
SOURCES = sorted(
    path for folder in ("python", "rust") for kind in ("py", "pyi", "rs") for path in (ROOT / folder).rglob(f"*.{kind}")
)
NUMBER = r"\d+(?:\.\d+)?"
NUMBERS = rf"{NUMBER}(?:(?:, | and | to ){NUMBER})*"

pytestmark = pytest.mark.skipif(not SPEC.exists(), reason="the specification is not beside the tests")


def headings(page: str) -> list[str]:
    return re.findall(r"^#+ (.*)$", (SPEC / page).read_text("utf-8"), flags=re.MULTILINE)


def numbered(page: str) -> set[str]:
    """Numbers of the headings of a page, and of its paragraphs that begin with one."""
    text = (SPEC / page).read_text("utf-8")
    return set(re.findall(rf"^(?:#+ )?({NUMBER})(?:\.? )", text, flags=re.MULTILINE))


RULES = numbered("SPEC.md") | numbered("pipeline.md")


def dangling(text: str, *, bare: str | None) -> Iterator[str]:
    """References in ``text`` that lead nowhere; ``bare`` is the page a reference without a page is to."""
    text = re.sub(r"\s*\n\s*(?://!|///|//|#)?\s*", " ", text)
    for page, numbers in re.findall(rf"(SPEC|spec/\w+\.md|RFC \d+)?,? ?[Ss]ections? ({NUMBERS})", text):
        file = page.removeprefix("spec/") or bare
        if file is None or file.startswith("RFC"):
            continue
        known = RULES if file in ("SPEC", "SPEC.md") else numbered(file)
        yield from (f"{file} {number}" for number in re.findall(NUMBER, numbers) if number not in known)
    for heading in re.findall(r"spec/kernel\.md, (\w[\w ]*)", text):  # the one page without numbers
        if heading not in headings("kernel.md"):
            yield f"kernel.md, {heading}"
    yield from re.findall(r"SPEC, \w+", text)


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: str(path.relative_to(ROOT)))
def test_a_reference_in_the_code_leads_somewhere(path: Path) -> None:
    bare = "text.md" if path.parent.name == "text" else None
    assert list(dangling(path.read_text("utf-8"), bare=bare)) == []


@pytest.mark.parametrize("page", ["SPEC.md", "pipeline.md"])
def test_a_reference_between_rules_leads_somewhere(page: str) -> None:
    text = (SPEC / page).read_text("utf-8")
    referred = re.findall(r"\((?:section )?(\d+\.\d+)\)|\b(?:by|in|outside|see) (\d+\.\d+)\b", text)
    assert {number for pair in referred for number in pair if number} <= RULES
    assert list(dangling(text, bare="SPEC.md")) == []


@pytest.mark.parametrize(
    "text",
    ["(SPEC section 99)", "(SPEC sections 2.1 and 2.99)", "(spec/text.md section 99)", "(spec/kernel.md, Nowhere)",
     "(SPEC, canonical JSON)"],
)  # fmt: skip
def test_a_reference_to_nowhere_is_found(text: str) -> None:
    assert len(list(dangling(text, bare=None))) == 1
