"""Terms, polarity and opposition, as spec/text.md says."""

from __future__ import annotations

import re
from pathlib import Path
from unicodedata import normalize

import pytest

from agent_memory.kernel.reference.text import words
from agent_memory.text import analyse, core_overlap, same_statement, statements_oppose, stem


def same(a: str, b: str) -> bool:
    verdict = same_statement(analyse(a), analyse(b))
    assert same_statement(analyse(b), analyse(a)) is verdict
    return verdict


def oppose(a: str, b: str) -> bool:
    verdict = statements_oppose(analyse(a), analyse(b))
    assert statements_oppose(analyse(b), analyse(a)) is verdict
    return verdict


@pytest.mark.parametrize(
    ("body", "terms"),
    [
        ("The staging database is Postgres.", "stag databas postgr"),
        ("My favorite editor is Vim.", "my favorit editor vim"),
        ("no restart needed; hot-reloads after edits", "restart need hot reload edit"),
        ("ports 8443, 1.5, -5, .5 and +4", "port 8443 1.5 -5 .5 +4"),
        ("c++ C# .net v1.2.3 C++20 node.js", "c++ c# .net v1.2.3 c++ 20 nod js"),
        ("UTC+4 or UTC-4", "utc +4 utc 4"),
        ("us-east-1 at 9:30 for 1,000 users", "us east 1 9:30 1,000 user"),
        ("$5 > €4, 10% 👍🏽", "$ 5 > € 4 10 % 👍 🏽"),
        ("Sandro’s cache", "sandro s cach"),
        ("数据库使用8443端口", "数据 据库 库使 使用 8443 端口"),
        ("不 东", "东"),
        ("हिन्दी", "हिन्दी"),
        ("using uses used see red classes glass", "using use used see red class glas"),
        ("plan a is late, option a. Plan A won; a plan", "plan a lat option a plan a won plan"),
        ("5MB 5 Mb 5 mb", "5MB 5 Mb 5 mb"),
        ("It is.", ""),
    ],
)
def test_content_terms_are_the_stems_in_order(body: str, terms: str) -> None:
    assert " ".join(analyse(body).terms) == terms


def test_the_frame_of_need_leaves_the_core_but_not_the_terms() -> None:
    analysis = analyse("A restart is required")
    assert analysis.terms == ("restart", "requir")
    assert analysis.core == {"restart"}


@pytest.mark.parametrize(
    "body",
    [
        "not so", "No restart.", "I never did", "none came", "neither one", "nor that", "without TLS", "cannot go",
        "can’t go", "It isn't", "IT ISN'T", "dont go", "it lacks TLS", "no longer on", "服务不使用缓存", "没有缓存",
        "动作しない", "動きません", "सर्वर नहीं चलता", "el servidor no usa", "nunca usa",
        "le serveur n’est pas prêt", "n'est-ce l'ami'",
        "o servidor não usa", "сервер не работает",
        "الخادم لا يعمل", "সার্ভার চলে না", "ভালো নয়",
        "سرور نہیں چلتا", "der Server ist nicht da",
        "ไม่มีแคช", "nobody knows", "NOT here",
    ],
)  # fmt: skip
def test_negators_of_the_largest_languages_are_heard(body: str) -> None:
    assert analyse(body).negated
    assert analyse(normalize("NFD", body)).negated


@pytest.mark.parametrize(
    "body",
    ["The note is short", "No. 5 is open", "the NE region and SEM budget", "rock 'n' roll", "未来很好", "非常好",
    "少ない", "無料です",
     "Sandro lives here", "a knot"],
)  # fmt: skip
def test_words_that_only_look_like_negators_are_not(body: str) -> None:
    assert not analyse(body).negated


@pytest.mark.parametrize(
    ("a", "b"),
    [
        (
            "The operator backend hot-reloads; no restart needed.",
            "The operator backend requires a restart after edits.",
        ),
        ("The backend requires a restart after edits.", "The backend does not require a restart after edits."),
        ("The staging deploy needs approval.", "The staging deploy needs no approval at all."),
        ("The linter is strict.", "The linter is not strict."),
        ("The box has TLS.", "The box lacks TLS."),
        ("The API supports XML.", "The API no longer supports XML."),
        ("服务使用缓存。", "服务不使用缓存。"),
        ("Сервер работает", "Сервер не работает"),
        ("La base est Postgres", "La base n'est pas Postgres"),
    ],
)
def test_a_claim_and_its_denial_oppose(a: str, b: str) -> None:
    assert oppose(a, b)
    assert not same(a, b)


@pytest.mark.parametrize(
    ("a", "b"),
    [
        ("Sandro likes coffee.", "Sandro likes tea."),
        ("The deploy target is us-east-1.", "The staging password never rotates."),
        ("not", "no"),
        ("", "not"),
    ],
)
def test_unrelated_or_equal_polarity_does_not_oppose(a: str, b: str) -> None:
    assert not oppose(a, b)


def test_the_line_of_opposition_is_exactly_one_half() -> None:
    a, b = analyse("alpha beta no"), analyse("alpha gamma")
    assert core_overlap(a, b) == 1 / 3
    assert not statements_oppose(a, b)
    assert core_overlap(analyse("alpha beta"), analyse("alpha")) == 0.5
    assert oppose("not alpha beta", "alpha")
    assert core_overlap(analyse(""), analyse("")) == 0.0


@pytest.mark.parametrize(
    "body",
    [
        "I can't wait to see the show", "The show is soon - can't wait!", "Can't wait.",
        "I cannot wait", "We really can’t wait", "she can not wait until noon",
        "I can't help but like it", "you couldn't help laughing", "No doubt it is up", "there is no doubt it is up",
        "No problem, it is up", "no worries", "It uses not only SQLite", "It uses nothing but SQLite", "Never mind",
        "it runs without fail", "no wonder it is up", "none other than Ann", "NO DOUBT IT IS UP",
    ],
)  # fmt: skip
def test_idioms_with_a_negator_deny_nothing(body: str) -> None:
    assert not analyse(body).negated
    assert analyse(f"{body}; it is not here").negated
    assert analyse(f"It never fails. {body}").negated


@pytest.mark.parametrize(
    "body",
    [
        "The job cannot wait", "The job cannot wait for the lock", "Cannot wait for the lock",
        "I can't help you", "I can't, wait", "not so only",
        "There is no problem with TLS", "The box has no problem", "there's no problem", "No. Problem", "can't go",
        "we don't wait", "it is not there", "none but other", "nothing",
    ],
)  # fmt: skip
def test_what_only_resembles_an_idiom_still_denies(body: str) -> None:
    assert analyse(body).negated


def test_joy_about_a_show_is_no_contradiction() -> None:
    assert not oppose("I can't wait to see the show", "I am super stoked to see the show")
    assert oppose("The job cannot wait", "The job can wait")
    assert not same("There is no doubt", "There is doubt")


@pytest.mark.parametrize("word", ["ing", "ed", "es", "s", "thing", "string", "bed", "see", "rate", "use", "é", "ées"])
def test_a_stem_keeps_three_letters(word: str) -> None:
    assert len(stem(word)) >= min(3, len(word))


def test_the_specification_lists_every_word() -> None:
    text = (Path(__file__).parent.parent / "spec" / "text.md").read_text(encoding="utf-8")
    listed = set(re.findall(r"`([^`\n]+)`", text))
    for name, entries in vars(words).items():
        if name.isupper() and name != "CONTRACTED" and isinstance(entries, frozenset | dict):
            assert set(entries) - listed == set(), name
    assert {" ".join(idiom) for idiom in words.IDIOMS} <= listed
    assert set(re.findall(r"[^\x00-\x7f]+", words.RUN_NEGATOR.pattern)) - listed == set()
