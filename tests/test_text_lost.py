"""Nothing is lost: properties of every text, and one difference put into a generated one."""

from __future__ import annotations

import re
import time
from unicodedata import normalize

import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st

from agent_memory.text import analyse, infer_slots, same_statement, split_sentences, statements_oppose, trigrams

_WORDS = ["The", "a", "port", "A", "is", "are", "was", "not", "no longer", "isn't", "blocks", "restarts", "restarted"]
_WORDS += ["Bob", "8443", "-5", "$5", "may", "to", "from", "v1.2", "us", "US", "few", "am"]
TEXTS = st.one_of(
    st.text(max_size=80),
    st.text(alphabet="aAbeE sn't.,-+5$?!#'_/:*ßİé\u0301不没ない数据ไ\u200d\u0938\u094d👍🏽", max_size=40),
    st.lists(st.sampled_from(_WORDS), max_size=9).map(" ".join),
)


def same(a: str, b: str) -> bool:
    verdict = same_statement(analyse(a), analyse(b))
    assert same_statement(analyse(b), analyse(a)) is verdict
    return verdict


def oppose(a: str, b: str) -> bool:
    verdict = statements_oppose(analyse(a), analyse(b))
    assert statements_oppose(analyse(b), analyse(a)) is verdict
    return verdict


@given(TEXTS)
@example("")
@example("A")
def test_every_text_is_the_same_as_itself_in_any_normal_form(body: str) -> None:
    for form in ("NFC", "NFD"):
        assert analyse(normalize(form, body)) == analyse(body)
    assert same(body, body)
    assert not oppose(body, body)


@given(TEXTS, TEXTS)
def test_sameness_implies_equal_terms_polarity_and_numbers(a: str, b: str) -> None:
    if same(a, b):
        assert analyse(a).terms == analyse(b).terms
        assert analyse(a).negated == analyse(b).negated
        assert re.findall(r"[0-9]+", a) == re.findall(r"[0-9]+", b)
    assert not (same(a, b) and oppose(a, b))


_LETTERS = "abcdeghkqrsxyzABCDEGHKQRSXYZ"
PLAIN = st.text(alphabet="bcdghkqrxyz", min_size=3, max_size=7)
TOKENS = st.one_of(PLAIN, st.text(alphabet=_LETTERS + "0123456789", min_size=1, max_size=7))
# Around the token; what would be sentence punctuation, an apostrophe or bold type there is left out below.
GLUED = [
    "*",
    "′",
    "″",
    "_",
    "#",
    "@",
    "&",
    "/",
    "\\",
    "-",
    "=",
    "+",
    "$",
    "%",
    "~",
    "^",
    "|",
    "[",
    "]",
    "{",
    "}",
    "†",
    "·",
    "'",
    '"',
]
INSIDE = [*GLUED, ".", ":", ",", ";", "!", "?", "(", "::", "..", "--", "**"]


def frame(token: str) -> str:
    return f"Maria keeps {token} beside kelp"


@given(TOKENS, st.sampled_from(GLUED), st.booleans())
def test_a_symbol_glued_to_an_end_of_a_token_is_never_lost(token: str, symbol: str, before: bool) -> None:
    glued = symbol + token if before else token + symbol
    assert not same(frame(token), frame(glued))
    for other in GLUED:
        if other != symbol:
            assert not same(frame(other + token if before else token + other), frame(glued)), other


@given(TOKENS, TOKENS, st.sampled_from(INSIDE), st.sampled_from(INSIDE))
@example("0", "bbb", "-", "*")
def test_a_symbol_glued_inside_a_token_is_never_lost(head: str, tail: str, symbol: str, other: str) -> None:
    joins = "-'" if (head[-1] + tail[0]).isalpha() else ""  # between two letters these are as good as a space
    glued = head + symbol + tail
    assert not same(frame(head + tail), frame(glued))
    assert symbol in joins or not same(frame(f"{head} {tail}"), frame(glued))
    assert symbol == other or (symbol in joins and other in joins) or not same(frame(head + other + tail), frame(glued))


@given(TOKENS)
def test_a_bang_after_what_may_be_code_is_never_lost(token: str) -> None:
    code = any(char.isdigit() for char in token) or any(char.isupper() for char in token[1:])
    assert same(f"Maria keeps {token}!", f"Maria keeps {token}") is not code
    assert not same(frame(f"{token}!"), frame(token))


@given(TOKENS, st.integers(0, 6))
def test_the_case_of_one_letter_inside_a_sentence_is_never_lost(token: str, place: int) -> None:
    place %= len(token)
    changed = token[:place] + token[place].swapcase() + token[place + 1 :]
    assume(changed != token)
    ordinary = token.isalpha() and len(token) > 1 and place == 0 and token[1:].islower()
    assert same(frame(token), frame(changed)) is ordinary
    assert not same(frame("-" + token), frame("-" + changed))


@given(st.lists(TOKENS, min_size=2, max_size=5), st.data(), st.sampled_from(['""', "''", "``", "“”", "«»"]))
def test_a_quote_pair_around_more_than_one_word_is_never_lost(
    tokens: list[str], data: st.DataObject, pair: str
) -> None:
    first = data.draw(st.integers(0, len(tokens) - 2))
    last = data.draw(st.integers(first + 1, len(tokens) - 1))
    quoted = [*tokens]
    quoted[first] = pair[0] + quoted[first]
    quoted[last] += pair[1]
    assert not same(frame(" ".join(tokens)), frame(" ".join(quoted)))


@given(
    PLAIN,
    st.sampled_from(["{}.", "{},", "{};", "{}:", "({})", "**{}**", "“{}”", "'{}'", '"{}"', "`{}`", "{}…", "— {}"]),
)
def test_plain_punctuation_around_an_ordinary_word_says_nothing(word: str, around: str) -> None:
    assert same(frame(word), frame(around.format(word)))


@given(TEXTS, st.integers(0, 9), st.integers(0, 9), TEXTS)
def test_one_other_digit_is_another_statement(before: str, one: int, other: int, after: str) -> None:
    assume(one != other)
    assert not same(f"{before}{one}{after}", f"{before}{other}{after}")


@pytest.mark.parametrize(
    "piece",
    [
        "a",
        "A. ",
        "- 5 ",
        "x - 5 ",
        " ",
        "\n- ",
        "not ",
        "不",
        "数",
        "?",
        "''",
        "5'",
        "*",
        " *",
        "e\u0301",
        ". ",
        "the a ",
        "_a",
        "(",
        "x(",
        "** ",
        "**a** ",
        "!",
        "a!",
        "' ",
        '"a ',
        "#",
        "_",
        ".",
        "′",
        "can't wait ",
        "a-",
    ],
)
def test_a_large_text_takes_linear_time(piece: str) -> None:
    body = piece * (100_000 // len(piece))
    started = time.process_time()
    same_statement(analyse(body), analyse(body))
    infer_slots(body)
    split_sentences(body)
    trigrams(body)
    assert time.process_time() - started < 10


@given(TEXTS)
def test_apostrophes_are_one_character(body: str) -> None:
    assert len({analyse(body.replace("'", mark)).items for mark in "'’ʼ＇"}) == 1


@given(
    PLAIN,
    PLAIN,
    PLAIN,
    st.sampled_from(["not", "never", "no longer", "nothing", "nicht", "не"]),
    st.sampled_from(".!…"),
)
def test_the_end_of_a_sentence_beside_a_negator_is_never_lost(a: str, b: str, c: str, negator: str, end: str) -> None:
    first, second = f"{a} {b}{end} {negator.capitalize()} {c}", f"{a} {b} {negator}{end} {c.capitalize()}"
    assert not same(first, second)
    assert not same(first, f"{a} {b} {negator} {c}")
    assert not same(second, f"{a} {b} {negator} {c}")
    assert same(f"{first}.", first)


@given(PLAIN, PLAIN, st.sampled_from(["An", "The"]))
def test_a_capital_article_inside_a_sentence_is_never_lost(a: str, b: str, name: str) -> None:
    assert not same(f"{a} {name} {b}", f"{a} {b}")
    assert not same(f"{a} {name} {b}", f"{a} {name.lower()} {b}")
    assert same(f"{a}. {name} {b}", f"{a} {b}")
