"""Trigrams and their exact similarity, as spec/text.md says."""

from __future__ import annotations

import re
from unicodedata import normalize

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from agent_memory.text import reaches, trigram_overlap, trigram_similarity, trigrams

_WORDS = ["The", "a", "port", "A", "is", "are", "was", "not", "no longer", "isn't", "blocks", "restarts", "restarted"]
_WORDS += ["Bob", "8443", "-5", "$5", "may", "to", "from", "v1.2", "us", "US", "few", "am"]
TEXTS = st.one_of(
    st.text(max_size=80),
    st.text(alphabet="aAbeE sn't.,-+5$?!#'_/:*ßİé\u0301不没ない数据ไ\u200d\u0938\u094d👍🏽", max_size=40),
    st.lists(st.sampled_from(_WORDS), max_size=9).map(" ".join),
)


def naive_similarity(a: str, b: str) -> float:
    """The definition, letter by letter, without sets."""

    def grams(text: str) -> list[str]:
        text = re.sub(r"\s+", " ", normalize("NFC", text).lower()).strip()
        found: list[str] = []
        for i in range(max(1, len(text) - 2)):
            gram = text[i : i + 3]
            if gram and gram not in found:
                found.append(gram)
        return found

    left, right = grams(a), grams(b)
    both = [gram for gram in left if gram in right]
    return len(both) / (len(left) + len(right) - len(both)) if both else 0.0


@given(TEXTS, TEXTS)
@example("ab", "AB ")
@example("a\x1cb", "a b")
@example("ΟΔΟΣ", "οδος")
@example("İx", "i\u0307x")
def test_similarity_is_the_naive_jaccard(a: str, b: str) -> None:
    assert trigram_similarity(a, b) == trigram_similarity(b, a) == naive_similarity(a, b)
    shared, total = trigram_overlap(a, b)
    assert 0 <= shared <= total
    assert total == len(trigrams(a) | trigrams(b))


@pytest.mark.parametrize(
    ("a", "b", "expected"),
    [
        ("same text", "Same  text ", 1.0), ("aaaa", "zzzz", 0.0), ("", "anything", 0.0), ("", "", 0.0), (" ",
        " ", 0.0), ("a", "a", 1.0),
        ("ab", "abc", 0.0), ("abc", "abcd", 0.5), ("abcd", "abcde", 2 / 3), ("aaa", "aaaa", 1.0), ("abcabc",
        "abc", 1 / 3), ("a,b", "a b", 0.0),
        ("e\u0301bc", "ébc", 1.0), ("数据库服务", "数据库端口", 0.2),
    ],
)  # fmt: skip
def test_similarity_of_known_pairs(a: str, b: str, expected: float) -> None:
    assert trigram_similarity(a, b) == expected


def test_a_threshold_is_reached_exactly_and_never_above_one() -> None:
    assert reaches(3, 5, 0.6)
    assert reaches(1, 10, 0.1)
    assert reaches(7, 10, 0.7)
    assert not reaches(599_999_999, 1_000_000_000, 0.6)
    assert reaches(5, 5, 1.0)
    assert not reaches(5, 5, 1.01)
    assert not reaches(5, 5, float("inf"))
    assert not reaches(5, 5, float("nan"))
    assert not reaches(0, 0, 0.0)


def test_copies_pass_the_similarity_of_the_default_operator() -> None:
    assert trigram_similarity("Sandro prefers small focused files.", "Sandro prefers small, focused files!") >= 0.6


@given(st.text(alphabet=st.characters(max_codepoint=127), max_size=60), st.text(alphabet="ab c", max_size=12))
def test_ascii_similarity_equals_the_peer(a: str, b: str) -> None:
    peer = pytest.importorskip("fg_agent_memory.pipeline.consolidate")
    for left, right in ((a, b), (a, a + b), (b, b[::-1])):
        assert trigram_similarity(left, right) == peer.trigram_similarity(left, right)
