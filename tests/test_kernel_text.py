"""The compiled analyser of text against the reference: equal on every string, and as Unicode 14.0 for ever."""

from __future__ import annotations

import itertools
import os
import re
import subprocess
import sys
import unicodedata
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from agent_memory import _native as native
from agent_memory.errors import ArgumentError, ArgumentTypeError
from agent_memory.kernel import reference
from agent_memory.kernel.reference.text import analyse, same_statement, statement_key, words
from agent_memory.kernel.reference.text.characters import category, fold_case, is_digit, is_lower, is_upper, lower_text
from agent_memory.kernel.reference.text.unassigned import UNASSIGNED

ROOT = Path(__file__).parent.parent
KERNELS = pytest.mark.parametrize("kernel", [native, reference], ids=["native", "reference"])
OF_A_TEXT = [
    "text_classes", "text_lower", "text_fold", "text_tokens", "analyse", "infer_slots", "split_sentences",
    "classify_sentence", "trigrams", "stem",
]  # fmt: skip
FROZEN = unicodedata.unidata_version == "14.0.0"
LONG = os.environ.get("AGENT_MEMORY_TEST_PROFILE") == "long"


def assert_equal(text: str) -> None:
    for name in OF_A_TEXT:
        assert getattr(native, name)(text) == getattr(reference, name)(text), name


def scalars(plane: int) -> list[str]:
    """The characters of a plane; a few of the planes in which nothing is assigned."""
    if plane in range(4, 14):
        return [chr((plane << 16) + low) for low in (0, 1, 0x7FFF, 0xFFFD, 0xFFFE, 0xFFFF)]
    return [chr((plane << 16) + low) for low in range(0x10000) if plane or low not in range(0xD800, 0xE000)]


def varied(plane: int) -> list[str]:
    """The characters of a plane in which they differ; some of those whose characters are much alike."""
    return scalars(plane) if LONG or plane < 2 else scalars(plane)[::37]


# -- every character ---------------------------------------------------------------------------------------------------


def assert_lines_equal(names: list[str], context: str, characters: list[str]) -> None:
    """Puts every character into the context, each on a line of its own, and compares many lines at a time."""
    for start in range(0, len(characters), 1024):
        text = "\n".join([context.replace("{}", c) for c in characters[start : start + 1024]])
        for name in names:
            read = getattr(native, name)(text), getattr(reference, name)(text)
            assert read[0] == read[1], (name, context, hex(ord(characters[start])))


@pytest.mark.parametrize("plane", range(17))
def test_both_kernels_know_every_character_alike(plane: int) -> None:
    assert_lines_equal(["text_classes", "text_lower", "text_fold"], "{}", scalars(plane))
    assert_lines_equal(["text_lower"], "ΑΣ{}ΣΑ Σ{}Σ", varied(plane))


@pytest.mark.parametrize("plane", range(17))
@pytest.mark.parametrize("context", [" {} ", "a{}b", "0{}0 A{} x", "the {}'s -{}. 5{}!"])
def test_both_kernels_find_the_same_tokens_around_every_character(context: str, plane: int) -> None:
    assert_lines_equal(["text_tokens"], context, varied(plane))


@pytest.mark.parametrize("plane", range(17))
@pytest.mark.parametrize("context", ["{}", " {} ", "a{}b"])
def test_both_kernels_find_the_same_terms_in_every_character(context: str, plane: int) -> None:
    texts = [context.format(c) for c in varied(plane)]
    for text, told in zip(texts, native.analyse_many(texts), strict=True):
        assert told == reference.analyse(text), ascii(text)


@pytest.mark.skipif(not FROZEN, reason="this interpreter's own methods follow a newer Unicode")
@pytest.mark.parametrize("plane", range(17))
def test_case_and_white_space_are_those_of_python(plane: int) -> None:
    for c in varied(plane):
        assert (lower_text(c), fold_case(c), category(c)) == (c.lower(), c.casefold(), unicodedata.category(c))
        assert (is_lower(c), is_upper(c), is_digit(c)) == (c.islower(), c.isupper(), c.isdigit())
        sigma = f"Α{c}Σ Σ{c}Α Α{c}Σ{c} {c}Σ"
        assert native.text_lower(sigma) == lower_text(sigma) == sigma.lower()
        spaced = f"{c}a{c}{c}b{c}"
        whole = " ".join(unicodedata.normalize("NFC", spaced).lower().split())
        grams = {whole[i : i + 3] for i in range(max(1, len(whole) - 2))}
        assert native.trigrams(spaced) == grams, ascii(c)


@KERNELS
def test_case_is_full_and_final(kernel: Any) -> None:
    assert kernel.text_lower("ΟΔΟΣ ΣΑΣ Α.Σ Σ İX ẞ") == "οδος σας α.ς σ i\u0307x ß"
    assert kernel.text_fold("Maße ſ K ς Ꭰꭰ ŉ") == "masse s k σ ᎠᎠ \u02bcn"
    assert kernel.trigrams("a\x1c\x1d\x1e\x1fb") == {"a b"}
    assert kernel.trigrams("a\u200bb") == {"a\u200bb"}


@KERNELS
def test_what_unicode_14_does_not_know_is_a_symbol_without_case(kernel: Any) -> None:
    for c in ("\ua7da", "\u1c89", "\U00010d50", "\U00016ea0", "\U0001fae9", "\u0378"):
        assert kernel.text_classes(c) == "s"
        assert kernel.text_lower(c) == kernel.text_fold(c) == c
        assert kernel.text_tokens(f"a{c}b") == [("word", "a"), ("symbol", c), ("word", "b")]
        assert kernel.text_lower(f"ΑΣ{c}Α") == f"ας{c}α"


def test_the_list_of_what_unicode_14_does_not_know_is_in_order() -> None:
    assert all(first <= last for first, last in UNASSIGNED)
    assert all(one[1] + 1 < two[0] for one, two in itertools.pairwise(UNASSIGNED))
    assert {category(chr(point)) for first, last in UNASSIGNED for point in (first, last)} == {"Cn"}


@pytest.mark.skipif(not FROZEN, reason="the tables are made by an interpreter with Unicode 14.0.0")
def test_the_tables_are_what_the_script_makes() -> None:
    script = ROOT / "rust" / "core" / "tables.py"
    done = subprocess.run([sys.executable, str(script), "--check"], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


# -- the lists ---------------------------------------------------------------------------------------------------------

RUST_WORDS = (ROOT / "rust" / "core" / "src" / "text" / "words.rs").read_text("utf-8")
# What a list of the reference holds besides what its namesake in Rust adds.
INCLUDED = {
    "NO_NOUN_FOLLOWS": ["COPULAS", "AUXILIARIES", "MODALS", "PREPOSITIONS"],
    "BEFORE_PARTICIPLE": ["COPULAS"],
    "VALUE_PREPOSITIONS": ["PREPOSITIONS"],
    "NO_VERB_AFTER": ["PREPOSITIONS", "COPULAS", "AUXILIARIES", "NEGATORS_ENGLISH"],
}


def rust_list(name: str) -> list[str]:
    """The words of a list, or the strings of a table, in their order."""
    one = re.search(rf'const {name}: &str = "((?:[^"\\]|\\\n)*)";', RUST_WORDS)
    if one:
        return one[1].replace("\\\n", " ").split()
    many = re.search(rf"const {name}: &\[.*?\] = &\[(.*?)\];", RUST_WORDS, re.DOTALL)
    assert many, name
    return re.findall(r'"([^"]*)"', many[1])


def test_both_kernels_have_the_same_words() -> None:
    names = re.findall(r"const ([A-Z_]+): &str", RUST_WORDS)
    assert len(names) > 30
    for name in names:
        included = set().union(*(vars(words)[other] for other in INCLUDED.get(name, [])))
        assert set(rust_list(name)) | included == vars(words)[name], name
    for name in ("FORMS", "CONTRACTED", "UNMARKED"):
        found = rust_list(name)
        assert dict(zip(found[::2], found[1::2], strict=True)) == vars(words)[name]
    assert tuple(tuple(idiom.split()) for idiom in rust_list("IDIOMS")) == words.IDIOMS
    kept, negators = re.findall(r"\(\?P<\w+>([^)]*)\)", words.RUN_NEGATOR.pattern)
    assert rust_list("RUN_KEPT") == kept.split("|")
    assert rust_list("RUN_NEGATORS") == negators.split("|")
    together = set().union(*(set(rust_list(name)) for name in names))
    assert together >= words.STOP_WORDS | words.DENIED_AFTER


# -- every text --------------------------------------------------------------------------------------------------------

ALL_WORDS = sorted(
    {word for name, found in vars(words).items() if name.isupper() and isinstance(found, frozenset) for word in found}
    | set(words.UNMARKED)
)
CONTENT = """
port ports plan plane planned blocks blocked blocking restarts restarted staging failed uses Bob WHO getId Node.js C++
c# .net v1.2 V1.2 8443 -5 +5 $5 5% 5MB 5Mb MB 9 am pm 9:30 1,000 us-east-1 UTC+4 user_id __init__ foo() f(x) a/b ./x ..
... A a I i X x Postgres hunter2! Yahoo! isn't CAN'T can't won't shan't DON'T n'est 'n' I'll s' 5' 6" ** **bold** * -
-v --all (s) [x] {y} @ann #5 `ls` `a b` “a b” «a b» ‘a’ "a b" "" :) :-( ? ?! ! !! ; : , . … — – 不 没有 未来 数据库
ない 動作しない ไม่ดี सर्वर नहीं Σας ΟΔΟΣ İstanbul ßen Maße ǅ ² Ⅷ K ８ ＋ ？ 👍🏽 🏴 Dr. e.g. J. etc. a.m. U.S. No. Nr. "
there is no problem which who because but so and no longer doubt wait to help laughing
""".split()
GAPS = [
    *[" "] * 16, "", "", "\n", "\n\n", ", ", ". ", "! ", "? ", " - ", " — ", "; ", ": ", "-", "'", "\u00a0", "  ",
    " (", ") ", "… ", "। ", "\t", "\n- ", "\n2. ", "\u2028", "\x1c",
]  # fmt: skip
CHANGES = [("s ", " "), (" ", "s "), ("ed ", "s "), ("is", "are"), ("not", ""), ("the ", "a "), ("a", "A")]


@st.composite
def sentences(draw: st.DrawFn) -> str:
    """Sentences of words that mean something to a rule, in any case, with what may stand between them."""
    parts = []
    for _ in range(draw(st.integers(0, 14))):
        word = draw(st.sampled_from(CONTENT) | st.sampled_from(ALL_WORDS))
        cased = draw(st.sampled_from(["as is", "as is", "as is", "capital", "upper"]))
        parts.append(word.capitalize() if cased == "capital" else word.upper() if cased == "upper" else word)
        parts.append(draw(st.sampled_from(GAPS)))
    text = "".join(parts)
    return text.upper() if draw(st.integers(0, 9)) == 0 else text


TROUBLE = st.text(
    "aAbeE snt'.,-+5$?!#_/:;*(ßİıſé)\"`“”‘[]{}x\n\t@&=~%«»…\u0301不没ない数ไม่\u200d\u0938\u094d👍"
    "σΣς²Ⅷ\u1f88ǅK\u00a0\x1c。？\u3000٣１￥′·ʕჼ",
    max_size=40,
)
TEXTS = st.one_of(st.text(max_size=60), TROUBLE, sentences())


@given(st.text(max_size=80))
@example("ΑΣ\u0345")
@example("\U0001171eΣ")
def test_both_kernels_read_any_text_alike(text: str) -> None:
    assert_equal(text)


@given(TROUBLE)
def test_both_kernels_read_any_trouble_alike(text: str) -> None:
    assert_equal(text)


@settings(max_examples=settings().max_examples * 3)
@given(sentences())
@example("I CAN'T wait, we cannot wait to go")
@example("The staging database is Postgres, which ıs nice")
@example("The big port is X ſo, and y")
def test_both_kernels_read_any_sentence_alike(text: str) -> None:
    assert_equal(text)


@given(sentences(), st.data())
def test_both_kernels_compare_two_texts_alike(a: str, data: st.DataObject) -> None:
    """The second text is often the first with a word inflected, cased or left out, so that the verdict is in doubt."""
    old, new = data.draw(
        st.sampled_from(
            [("s ", " "), (" ", "s "), ("ed ", "s "), ("is", "are"), ("not", ""), ("the ", "a "), ("a", "A")]
        )
    )
    b = data.draw(st.sampled_from([a.replace(old, new, 1), a.lower(), a + ".", a.replace(old, new)]) | sentences())
    left, right = native.analyse(a), native.analyse(b)
    assert native.same_statement(left, right) == reference.same_statement(left, right)
    assert native.statements_oppose(left, right) == reference.statements_oppose(left, right)
    assert native.slot_values_clash(a, b) == reference.slot_values_clash(a, b)
    assert native.core_terms(left[0]) == reference.core_terms(left[0])
    one, other = analyse(a), analyse(b)
    if same_statement(one, other):
        assert statement_key(one) == statement_key(other)


@given(st.lists(TEXTS, max_size=5))
def test_many_are_as_each_alone(texts: list[str]) -> None:
    for kernel in (native, reference):
        assert kernel.analyse_many(iter(texts)) == [kernel.analyse(text) for text in texts]
        assert kernel.infer_slots_many(iter(texts)) == [kernel.infer_slots(text) for text in texts]


# -- what is no text ---------------------------------------------------------------------------------------------------


@KERNELS
@pytest.mark.parametrize("name", OF_A_TEXT)
def test_what_is_no_text_is_refused(kernel: Any, name: str) -> None:
    called = {"classify_sentence": "sentence", "stem": "word"}.get(name, "text")
    with pytest.raises(ArgumentTypeError) as refused:
        getattr(kernel, name)(b"a")
    assert str(refused.value) == f"{called} is of type 'bytes': it must be str"
    with pytest.raises(ArgumentError) as refused:
        getattr(kernel, name)("a\ud800")
    assert str(refused.value) == f"{called} holds a lone surrogate, which is not text: replace it first"


@KERNELS
def test_a_subclass_of_str_is_its_text(kernel: Any) -> None:
    class Loud(str):
        def lower(self) -> str:
            raise AssertionError

    for name in OF_A_TEXT:
        assert getattr(kernel, name)(Loud("The ports")) == getattr(kernel, name)("The ports")
