"""The search analyser: which terms a text gives (spec/recall.md sections 2 and 3)."""

from __future__ import annotations

import sys
import unicodedata

import pytest
from hypothesis import given

from agent_memory import ArgumentError
from agent_memory.kernel.reference.search import Config
from agent_memory.kernel.reference.search.analyser import MOST_QUERY_CHARACTERS, Analyser, fold
from agent_memory.kernel.reference.search.classes14 import class_of
from agent_memory.kernel.reference.search.stemming import LANGUAGES, Stemmer, strip_marks
from strategies import texts

ENGLISH = Analyser("english")


def terms(text: str) -> str:
    return " ".join(ENGLISH.terms(text))


def asked(query: str) -> str:
    return " ".join(ENGLISH.terms(query, query=True))


class TestCharacters:
    @pytest.mark.skipif(unicodedata.unidata_version != "14.0.0", reason="needs the tables of Unicode 14.0")
    def test_the_table_is_that_of_unicode_14(self) -> None:
        for code in range(sys.maxunicode + 1):
            category = unicodedata.category(chr(code))
            wanted = {"C": "s", "L": "l", "M": "m", "N": "n"}.get(category[0], "s")
            found = class_of(chr(code))
            if category == "Cn":
                assert found == "x"
            elif found == "u":
                assert category[0] == "L" or category == "Nl"
            else:
                assert found == wanted

    @pytest.mark.parametrize(
        ("text", "folded"),
        [
            ("STRASSE Straße", "strasse strasse"),
            ("ﬁne ＡＢＣ １２", "fine abc 12"),
            ("don’t", "don't"),
            ("−5 – 3", "-5 - 3"),
            ("soft\u00adhyphen zero\u200dwidth", "softhyphen zerowidth"),
            ("1,000 and 12,345,678 but 1,00", "1000 and 12345678 but 1,00"),
            ("3,000, then", "3000, then"),
            ("a\u0378b \U0001faf0\U0001fae8", "a b \U0001faf0 "),  # assigned in 14.0 or not
        ],
    )
    def test_folding(self, text: str, folded: str) -> None:
        assert fold(text) == folded

    def test_folding_ascii_is_no_other_rule(self) -> None:
        text = "".join(map(chr, range(128))) * 2
        assert fold(text + "é")[:-1] == fold(text)

    @pytest.mark.parametrize(
        ("word", "bare"),
        [("café", "cafe"), ("שָׁלוֹם", "שלום"), ("أَحْمَد", "احمد"), ("が", "が"), ("मेज़", "मेज़"), ("йод", "иод")],
    )
    def test_accents_go_and_letters_stay(self, word: str, bare: str) -> None:
        assert strip_marks(word) == unicodedata.normalize("NFC", bare)


class TestWords:
    @pytest.mark.parametrize(
        ("text", "wanted"),
        [
            ("db-3.internal", "db 3 internal db3intern"),
            ("user_id", "user id userid"),
            ("v1.2.3", "v1 2 3 v123"),
            ("1.2.3", "1 2 3 1.2.3"),
            ("ann.lee@example.com", "ann lee exampl com annleeexamplecom"),
            ("/etc/hosts", "etc host etchost"),
            ("ABC-123", "abc 123 abc123"),
            ("2024-05-01", "2024 05 01 2024-05-01"),
            ("R&D", "r d rd"),
            ("C++ C++17", "c c++ c c++ 17"),
            ("C# F#", "c c# f f#"),
            ("#4711 @alice", "4711 alic"),
            (".NET, asp.net", "net .net asp net aspnet"),
            ("-5 (-5) a-5 5-3", "5 -5 5 -5 5 a5 5 3 5-3"),
            ("+49-170", "49 170 49-170 +49-170"),
            ("Caroline's James' o'neill", "carolin jame o neill oneil"),
            ("don't can't won't isn't", ""),
            ("she'll they've we'd I'm", "we i"),
        ],
    )
    def test_compounds_give_parts_and_whole(self, text: str, wanted: str) -> None:
        assert terms("hello " + text).removeprefix("hello").strip() == wanted

    def test_runs_without_spaces_give_pairs_and_characters(self) -> None:
        assert terms("東京都") == "東京 京都 東 京 都"
        assert asked("東京の") == "東京 京の 東 京"
        assert asked("の") == "の"
        assert terms("iPhone買") == "iphon 買"
        assert asked("ที่นี่") == "ที่นี่"

    def test_stop_words_go_unless_there_is_nothing_else(self) -> None:
        assert asked("What is it that I have?") == "i"
        assert asked("What is it?") == "what is it"
        assert terms("It is what it is.") == "it is what it is"
        assert asked("") == asked(" ?! ") == ""

    def test_a_query_is_read_up_to_a_length(self) -> None:
        assert asked("x" * MOST_QUERY_CHARACTERS + " tail") == "x" * MOST_QUERY_CHARACTERS

    @given(texts)
    def test_any_text_has_terms_that_can_be_asked_for(self, text: str) -> None:
        """Every query is answered by its own text: it has no term that the text does not have."""
        assert set(ENGLISH.terms(text, query=True)) <= set(ENGLISH.terms(text))
        assert all(ENGLISH.terms(text))

    @given(texts)
    def test_normal_form_and_case_do_not_matter(self, text: str) -> None:
        assert ENGLISH.terms(unicodedata.normalize("NFD", text)) == ENGLISH.terms(unicodedata.normalize("NFC", text))


class TestStems:
    @pytest.mark.parametrize("language", LANGUAGES)
    def test_every_language_stems(self, language: str) -> None:
        assert Stemmer(language)("running")[0].startswith("run")

    def test_none_leaves_words_alone(self) -> None:
        assert Analyser("none").terms("The Cats running кошками cafés") == [
            "the",
            "cats",
            "running",
            "кошками",
            "cafes",
        ]

    def test_another_language_has_no_stop_words_of_english(self) -> None:
        assert Analyser("german").terms("die Häuser am See, on") == ["die", "haus", "am", "see", "on"]

    @pytest.mark.parametrize(
        ("one", "other"),
        [
            ("кошка", "кошками"),
            ("работа", "работает"),
            ("βιβλίο", "βιβλία"),
            ("الكتاب", "كتاب"),
            ("किताब", "किताबें"),
            ("თბილისი", "თბილისში"),
            ("Երևան", "Երևանում"),
            ("சென்னை", "சென்னையில்"),
        ],
    )
    def test_inflected_words_meet_in_every_script(self, one: str, other: str) -> None:
        assert set(ENGLISH.terms(one)) & set(ENGLISH.terms(other))

    def test_the_versions_of_snowball(self) -> None:
        """Stems in which the releases differ: those here are of 3.1."""
        assert ENGLISH.terms("international skis") == ["internat", "ski"]

    def test_an_unknown_language_is_refused(self) -> None:
        with pytest.raises(ArgumentError, match="klingon"):
            Config(language="klingon")

    def test_a_missing_stemmer_is_named(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setitem(sys.modules, "snowballstemmer", None)
        with pytest.raises(ArgumentError, match="snowballstemmer"):
            Analyser("english").terms("running")
        assert Analyser("none").terms("running") == ["running"]
