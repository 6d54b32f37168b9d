"""Slots and sentences, as spec/text.md says."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent_memory.text import classify_sentence, infer_slots, slot_values_clash, split_sentences


@pytest.mark.parametrize(
    ("body", "slots"),
    [
        ("The staging database is Postgres.", {"stag databas": "postgr"}),
        ("The staging database is MySQL.", {"stag databas": "mysql"}),
        ("My favorite editor is Vim.", {"my favorit editor": "vim"}),
        ("The deploy target is us-east-1.", {"deploy target": "us east 1"}),
        ("The user's favorite color is Blue!", {"user s favorit color": "blu"}),
        ("The staging database is now Postgres 14.2, which is new.", {"stag databas": "postgr 14.2"}),
        ("The plan price is $5", {"plan pric": "$ 5"}),
        ("My time zone is UTC+4", {"my tim zon": "utc +4"}),
        ("Maria Foo's favorite editor is Zed", {"maria foo s favorit editor": "zed"}),
        ("The staging database is Postgres. It moved in March.", {"stag databas": "postgr"}),
        ("Sandro likes coffee.", {}),
        ("Sandro is tired.", {}),
        ("The staging database is not Postgres.", {}),
        ("The staging database isn't Postgres.", {}),
        ("Ship it!", {}),
        ("My favorite editor is fast.", {}),
        ("The cache TTL is one hour.", {}),
        ("The port is 8443.", {}),
        ("The weekly standup is at 9:30.", {}),
        ("The main office is in Boston.", {}),
        ("The staging database is hosted on AWS.", {}),
        ("The staging database is now running Postgres.", {}),
        ("The staging database was Postgres.", {}),
        ("If the staging database is Postgres, run it.", {}),
        ("The staging database is Postgres when TLS is on.", {}),
        ("Is the staging database Postgres?", {}),
        ("I think the lead engineer is Ann.", {}),
        ("The staging database is Postgres. The lead engineer is Ann.", {}),
        ("", {}),
    ],
)
def test_only_an_equative_sentence_fills_a_slot(body: str, slots: dict[str, str]) -> None:
    assert infer_slots(body) == slots


@pytest.mark.parametrize(
    ("x", "y"),
    [
        ("on", "off"), ("a", "b"), ("1", "2"), ("us-east-1", "eu-west-1"), ("Boston", "Austin"), ("-5", "5"),
        ("c++", "c#"), ("1.5", "15"),
        ("1", "1.5"), ("$5", "€5"), ("", "x"), ("!", "?"), ("new york", "york new"), ("a b c", "a c"),
        ("not on", "on"), ("東京", "京都"),
        ("postgr", "mysql"), ("utc +4", "utc 4"), ("5 MB", "5 GB"),
    ],
)  # fmt: skip
def test_different_slot_values_clash(x: str, y: str) -> None:
    assert slot_values_clash(x, y)
    assert slot_values_clash(y, x)


@pytest.mark.parametrize(
    ("x", "y"),
    [
        ("Postgres", "Postgres 14"),
        ("Postgres", "postgres."),
        ("Boston", "Boston, MA"),
        ("us-east-1", "us east 1"),
        ("", ""),
        ("!", "!"),
    ],
)
def test_equal_or_more_detailed_slot_values_do_not_clash(x: str, y: str) -> None:
    assert not slot_values_clash(x, y)
    assert not slot_values_clash(y, x)


@pytest.mark.parametrize(
    ("text", "sentences"),
    [
        ("Sandro lives in Austin. We deployed it. Ok.", ["Sandro lives in Austin.", "We deployed it.", "Ok."]),
        ("Dr. Smith uses e.g. Vim 9.1. It works!", ["Dr. Smith uses e.g. Vim 9.1.", "It works!"]),
        ("We met at 5 p.m. in Rome. J. Smith came.", ["We met at 5 p.m. in Rome.", "J. Smith came."]),
        ("ok. we deployed it. it failed", ["ok.", "we deployed it.", "it failed"]),
        ("データはPostgresです。担当はマリアです。", ["データはPostgresです。", "担当はマリアです。"]),
        ("- one is here\n- two. three\n\n1. four\nfive", ["one is here", "two.", "three", "four five"]),
        ("The backend\nuses SQLite.", ["The backend uses SQLite."]),
        ('He said "Go." Then left...', ['He said "Go."', "Then left..."]),
        ("See node.js v1.2.3 at a.b/c?d=1", ["See node.js v1.2.3 at a.b/c?d=1"]),
        ("  ", []),
        ("", []),
    ],
)
def test_sentences_are_split_at_their_ends_only(text: str, sentences: list[str]) -> None:
    assert split_sentences(text) == sentences


@given(st.text(max_size=120))
def test_splitting_loses_no_letter(text: str) -> None:
    def letters(part: str) -> str:
        return "".join(char for char in part if char.isalpha())

    assert letters("".join(split_sentences(text))) == letters(text)


@pytest.mark.parametrize(
    ("sentence", "kind"),
    [
        ("Sandro lives in Austin.", "fact"), ("We deployed the new build yesterday.", "episode"),
        ("The backend uses SQLite.", "fact"),
        ("The deploy failed on Tuesday.", "episode"), ("We ran the suite twice.", "episode"),
        ("The venv lives in backend.", "fact"),
        ("I went to Paris last week.", "episode"), ("Sandro likes baked beans.", "fact"),
        ("The server was restarted yesterday.", "episode"),
        ("The cache was slow.", "fact"), ("My favorite editor is Vim.", "fact"),
        ("Always review the diff before merging.", "fact"),
        ("データベースはPostgresです。", "fact"), ("Ok.", None), ("Hmm.", None), ("Wow?", None), ("", None),
        ("Is the port 8443?", None),
        ("Thanks a lot for the help!", None),
    ],
)  # fmt: skip
def test_sentences_become_facts_episodes_or_nothing(sentence: str, kind: str | None) -> None:
    assert classify_sentence(sentence) == kind
