"""Nothing a memory was told is lost by consolidation, whatever sentences differ in by one thing alone.

The judge here is not the analyser under test.  Sentences are built from parts, so that it is known which say the same:
two do when all their parts are equal, and then they may differ in a full stop, an article or the plural.
"""

from __future__ import annotations

from dataclasses import dataclass

from hypothesis import given, settings
from hypothesis import strategies as st

from agent_memory import Memory, RecordState

_LIVE = (RecordState.ACTIVE, RecordState.TRANSITIONAL)

# Each list holds values of one kind, any two of which are different values in the same place of a sentence.
_KINDS: dict[str, tuple[str, ...]] = {
    "number": ("8443", "9443", "443", "-443", "8,443", "8443.5", "84430", "0", "1", "15", "1.5", "1,5"),
    "version": ("v1.2", "v1.3", "v12", "1.2", "1.2.0", "2.1", "v1.2-rc1", "v1.2.0"),
    "unit": ("5 GB", "5 MB", "5 Gb", "5 %", "$5", "€5", "5 ms", "5 s", "5 m", "5 M"),
    "person": ("Alice", "Alicia", "Bob", "Rob", "Ana", "Anna", "Chen", "Cheng"),
    "product": ("Postgres", "Postgres 14", "PostgREST", "MySQL", "C++", "C#", "C", ".NET", "Net", "node.js"),
    "place": ("us-east-1", "us-east-2", "eu-west-1", "us-west-1", "east", "west"),
    "polarity": ("supports", "does not support", "no longer supports", "never supports", "lacks", "has"),
    "modal": ("may", "must", "might", "can", "should", "will", "cannot", "must not", "need not"),
    "relation": ("before", "after", "with", "without", "from", "to", "by", "for", "in", "on"),
    "opposite": ("enabled", "disabled", "open", "closed", "fast", "slow", "up", "down", "public", "private"),
    "verb": ("blocks", "is blocked by", "starts", "is started by", "trusts", "is trusted by", "leads", "follows"),
    "tense": ("is", "was", "has been", "will be", "is being"),
    "comparison": ("more than", "less than", "at least", "at most", "exactly", ">", "<", ">=", "<="),
    "quantity": ("all", "some", "no", "most", "only", "few", "a few", "every"),
}

# What a sentence is built around; each place is filled from one kind.
_TEMPLATES: tuple[str, ...] = (
    "The gateway listens on {number}",
    "The port of the staging gateway is {number} since the migration",
    "Release {version} of the indexer ships on Monday",
    "Backups older than {unit} are pruned by the nightly job of the storage team",
    "{person} leads the platform team",
    "{person} reviews what {person} deploys on Fridays",
    "The staging database runs {product} in {place}",
    "The scheduler {polarity} TLS",
    "In the payments cluster the legacy scheduler {polarity} mutual TLS between workers and broker, as the team agreed",
    "As agreed in March everybody who is on call {polarity} the runbook that {person} wrote for the gateway in {place}",
    "The worker {modal} restart during a deploy",
    "Run the migration {relation} the deploy",
    "The feature flag for search is {opposite} in {place}",
    "{person} {verb} {person}",
    "The cache {verb} the queue in {place}",
    "The old dashboard {tense} slow on large projects",
    "A request takes {comparison} {number} ms in {place}",
    "{quantity} workers restart after a deploy of {product}",
    "Move the data from {product} to {product}",
    "{person} owes {person} {unit} for the tickets to the conference in {place}",
    "Ask {person} {relation} the release of {version}",
)


@dataclass(frozen=True)
class Sentence:
    """A template and what fills it."""

    template: str
    parts: tuple[str, ...]

    @property
    def text(self) -> str:
        pieces = self.template
        for part in self.parts:
            start, end = pieces.index("{"), pieces.index("}")
            pieces = pieces[:start] + part + pieces[end + 1 :]
        return pieces


@st.composite
def _families(draw: st.DrawFn) -> list[Sentence]:
    """Sentences of one template, most of which differ from another one in one place, or have two places swapped."""
    template = draw(st.sampled_from(_TEMPLATES))
    kinds = [piece.split("}")[0] for piece in template.split("{")[1:]]
    first = tuple(draw(st.sampled_from(_KINDS[kind])) for kind in kinds)
    found = {Sentence(template, first)}
    for _ in range(draw(st.integers(1, 8))):
        parts = list(draw(st.sampled_from(sorted(found, key=lambda sentence: sentence.text))).parts)
        place = draw(st.integers(0, len(kinds) - 1))
        twins = [other for other in range(len(kinds)) if kinds[other] == kinds[place] and other != place]
        if twins and draw(st.booleans()):
            parts[place], parts[twins[0]] = parts[twins[0]], parts[place]
        else:
            parts[place] = draw(st.sampled_from(_KINDS[kinds[place]]))
        found.add(Sentence(template, tuple(parts)))
    return sorted(found, key=lambda sentence: sentence.text)


def _held(memory: Memory) -> set[str]:
    return {record.body for state in _LIVE for record in memory.list(state=state)}


@settings(max_examples=max(60, settings().max_examples // 4))
@given(st.lists(_families(), min_size=1, max_size=3), st.integers(1, 3))
def test_sentences_that_differ_in_one_thing_all_stay(families: list[list[Sentence]], passes: int) -> None:
    texts = list(dict.fromkeys(sentence.text for family in families for sentence in family))
    with Memory(None, auto_consolidate=False) as memory:
        memory.remember_many(texts)
        for number in range(passes):
            report = memory.consolidate(full=bool(number))
            assert not report.by_pass("dedup.exact")
            assert not report.by_pass("dedup.near")
        assert _held(memory) == set(texts)


@settings(max_examples=max(60, settings().max_examples // 4))
@given(_families(), st.data())
def test_as_they_come_in_and_in_other_spellings_each_is_still_held(family: list[Sentence], data: st.DataObject) -> None:
    """Each sentence is said in several spellings, one by one, with passes in between: one of its spellings is held."""
    said: dict[str, set[str]] = {sentence.text: {sentence.text, sentence.text + "."} for sentence in family}
    spoken = [spelling for spellings in said.values() for spelling in sorted(spellings)]
    with Memory(None, auto_consolidate_every=2) as memory:
        for text in data.draw(st.permutations(spoken)):
            memory.remember(text)
        memory.consolidate()
        held = _held(memory)
        for text, spellings in said.items():
            assert held & spellings, f"nobody says any more: {text}"
        assert held <= set(spoken)


@given(st.lists(st.sampled_from([kind for values in _KINDS.values() for kind in values]), min_size=2, unique=True))
def test_bare_values_all_stay(values: list[str]) -> None:
    with Memory(None, auto_consolidate=False) as memory:
        memory.remember_many(values)
        memory.consolidate()
        assert _held(memory) == set(values)
