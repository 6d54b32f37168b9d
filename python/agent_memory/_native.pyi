"""The compiled kernel.  ``agent_memory.kernel`` chooses between it and the reference; nothing else imports it."""

from collections.abc import Callable, Collection, Iterable, Mapping
from typing import Any, Literal, Self, TypeAlias, TypedDict, TypeVar, final, type_check_only

from agent_memory.kernel.reference.search.config import Config
from agent_memory.kernel.reference.search.packing import Row
from agent_memory.kernel.reference.search.visibility import Scope

__all__ = [
    "Columns",
    "Index",
    "Pairs",
    "Scores",
    "Vectors",
    "analyse",
    "analyse_many",
    "build_info",
    "canonical_json",
    "canonical_json_many",
    "classify_sentence",
    "core_terms",
    "digest",
    "digest_many",
    "infer_slots",
    "infer_slots_many",
    "nfc",
    "plain_record",
    "same_statement",
    "seal",
    "similar_pairs",
    "slot_values_clash",
    "split_sentences",
    "statements_oppose",
    "stem",
    "text_classes",
    "text_fold",
    "text_lower",
    "text_tokens",
    "trigram_overlap",
    "trigrams",
    "verify_signatures",
]

_Birth = TypeVar("_Birth", bound=dict[str, Any])
_Rest = TypeVar("_Rest")

@final
class Index:
    """Finds, scores and packs records (spec/recall.md).  Other threads run while it works, and may ask it meanwhile.

    A Config of the reference says how text is taken apart and ranked.  Everywhere here a value of the wrong type raises
    ArgumentTypeError, one out of range ArgumentError.
    """

    def __new__(cls, config: Config | None = None) -> Self: ...
    @property
    def config(self) -> Config:
        """The language and the constants of ranking."""

    def __len__(self) -> int:
        """How many records it holds; tombstones do not count."""

    def __contains__(self, record_id: object, /) -> bool: ...
    def update(self, payloads: Iterable[bytes], /) -> None:
        """Adds records, or replaces what is held of them, given the canonical bytes of their newest versions.

        Of a redacted record only its id and links are kept.  Many are read by several threads.  Raises RecordError for
        bytes that are no record; what stands before them may have been taken in.
        """

    def remove(self, record_ids: Iterable[str], /) -> None:
        """Forgets records and tombstones wholly, touches included.  An id that is not held is no error."""

    def set_touches(self, touches: Mapping[str, int], /) -> None:
        """Sets how often records were recalled, 0 to 2**64 - 1; others keep their counts."""

    def candidates(self, query: str, k: int) -> list[tuple[str, float]]:
        """At most ``k`` (id, raw score) pairs of records in any state but redacted, best first, then by id."""

    def recall(
        self,
        query: str,
        *,
        now: int,
        budget: int,
        k: int = 128,
        scope: Scope | None = None,
        include_archived: bool = False,
        include_history: bool = False,
        types: Iterable[str] | None = None,
        tags: Iterable[str] | None = None,
        min_score: float = 0.0,
        limit: int | None = None,
    ) -> list[Row]:
        """The whole read stage: what is relevant to a query, best first, as many whole records as fit.

        ``now`` is in milliseconds since 1970, ``budget`` in tokens of about four characters; ``k`` candidates are
        considered.  ``scope`` is (project, user_id, agent_id, session_id), None in it for any, None for everybody's.
        Records that are not of one of ``types``, lack one of ``tags`` or score less than ``min_score`` are not found.
        There are at most ``limit`` rows.
        """

    def snapshot(self, cursor: str, epoch: int) -> bytes:
        """All of it as bytes, with the change cursor and the erasure epoch of the store that it reflects."""

    @classmethod
    def restore(cls, data: bytes, config: Config | None = None) -> tuple[Self, str, int] | None:
        """Index, cursor and epoch of a snapshot; None for one that is damaged, of another version or configuration."""

@final
@type_check_only
class _BuildInfo(TypedDict):
    version: str
    boundary: int
    profile: str
    unicode: str
    nfc: str

_Scope: TypeAlias = tuple[str | None, str | None, str | None]
_About: TypeAlias = Collection[str] | None

@final
class Columns:
    """The newest versions of records, as columns (spec/kernel.md, Columns).

    Answers name records by id.  What is sorted is sorted by group first: by type, then by scope, an unset part before
    a set one.  A question *about* some ids is answered with what at least one of those takes part in, and costs what
    those touch.  Other threads run meanwhile; a question sees all of an update or nothing of it.  Ids that are not
    known are passed over.

    Every method raises ArgumentTypeError for an argument of another type, ArgumentError for a lone surrogate.
    """

    def __new__(cls) -> Self: ...
    def __len__(self) -> int: ...
    def __contains__(self, record_id: object, /) -> bool: ...
    def update(self, payloads: Iterable[bytes], /) -> None:
        """Take in the newest versions of records, as canonical bytes, in place of what is known of them.

        Raises RecordError, and takes in nothing, for bytes that are not a record's; ArgumentError when there are more
        than half a billion records.
        """

    def remove(self, record_ids: Iterable[str], /) -> None:
        """Forget records."""

    def scope_of(self, record_id: str, /) -> _Scope | None:
        """The consolidation scope a record is treated as having; None when it spans several, or is not known."""

    def affected(self, record_ids: Iterable[str], /) -> list[str]:
        """The ids given, and those of the records whose scope hangs on them, sorted."""

    def hanging(self) -> list[str]:
        """The sides of disputes whose other side is not in the same dispute, sorted."""

    def disputes(self) -> list[tuple[str, str]]:
        """The two sides of every other dispute, the lesser id first, sorted."""

    def copies(self, about: _About = None) -> list[list[str]]:
        """Active records of one group with equal bodies and slots and, for episodes, days: two or more, sorted by id.

        Records that all have a key are together only when it is the same.
        """

    def same_terms(self, about: _About = None, *, statement: bool = False) -> list[list[str]]:
        """Active records of one group with equal sequences of content terms: two or more, sorted by id.

        With ``statement``, only those that have equal slots and may be the same statement are together; and records
        that all have a key only when it is the same.
        """

    def pairs(
        self,
        kind: str,
        /,
        *,
        types: Collection[str] = (),
        threshold: float = 0.6,
        about: _About = None,
        once: bool = False,
    ) -> Pairs:
        """The pairs of ``kind`` (``similar``, ``related`` or ``opposed``) among active records of one group.

        Args:
            types: the types of records; none given means all.
            threshold: the similarity that ``similar`` pairs reach; 0 or less means every pair, above 1 none.
            once: a record is in one pair only; further pairs with it are counted instead.

        Raises ArgumentError for another kind, and for NaN.
        """

    def recurring(self, least: int, about: _About = None) -> list[tuple[_Scope, tuple[str, ...], list[str], list[str]]]:
        """What happened again and again: (scope, signature, active episodes, rules of consolidation), sorted.

        Those signatures that ``least`` episodes have, or one or more while a live rule stands for it.
        """

    def erased_evidence(self) -> list[str]:
        """What the redacted rules were drawn from, sorted."""

    def rules(self, about: _About = None) -> list[str]:
        """The live rules, sorted; about some ids: those, and rules whose evidence one of them is, or is where evidence
        leads to that was superseded."""

@final
class Pairs:
    """A walk over pairs of ids: group by group, the lesser id first, ascending.

    Pairs are found as they are asked for, some thousands at a time, and signals are looked for in between.  When
    records were taken in or forgotten since the columns were asked, asking for the next pair raises ArgumentError.
    """

    def __iter__(self) -> Self: ...
    def __next__(self) -> tuple[str, str]: ...
    @property
    def left_out(self) -> int:
        """How many pairs, at most, a bound kept out."""

    @property
    def waiting(self) -> int:
        """How many pairs were passed over so far, because a side was in a pair before."""

    @property
    def deferred(self) -> list[tuple[str, str]]:
        """The first of those, up to a hundred."""

    @property
    def done(self) -> int:
        """Of how many records the pairs have been looked for so far; it may be known at the end only."""

    @property
    def total(self) -> int:
        """Of how many records the pairs are."""

def build_info() -> _BuildInfo:
    """What this binary is: the version; the number of its contract with the package; ``release`` or ``debug``
    (``python`` for the reference); the Unicode version of its tables; the Unicode version of the NFC rule."""

def canonical_json(value: object, /) -> bytes:
    """The canonical bytes of a value (spec/kernel.md, Canonical JSON).

    Raises RecordValueError for a float, a lone surrogate, keys equal after NFC, or more than 256 nested containers, and
    RecordTypeError for a type that JSON does not have.
    """

def canonical_json_many(values: Iterable[object], /) -> list[bytes]:
    """The canonical bytes of each value."""

def digest(value: object, /) -> str:
    """The SHA-256 of the canonical bytes: 64 lower-case hexadecimal digits."""

def digest_many(values: Iterable[object], /) -> list[str]:
    """The digest of each value; other threads run while they are hashed."""

def nfc(text: str, /) -> str:
    """The text in NFC of Unicode 14.0; the very same object when it already is."""

def plain_record(data: bytes, record_id: str, /) -> str | None:
    """The wire time of birth, when ``data`` is the canonical spelling of a record that is no tombstone, has every field
    a record is written with, and whose birth content has the address ``record_id``; else None.

    Integers of more than 18 digits, names that need an escape, and text that is not normal as it is written, escapes
    included, are left to a closer look too.
    """

def seal(birth: _Birth, rest: _Rest, /) -> tuple[str, _Birth, _Rest]:
    """Checks both values as canonical_json does, and normalises every string and key in them.

    Returns the digest of the first, and both.  Whatever does not change is the very same object; a container in which
    something does is a new plain dict, list or tuple.
    """

def similar_pairs(
    texts: Iterable[str],
    threshold: float,
    /,
    *,
    groups: Iterable[int] | None = None,
    dirty: Iterable[bool] | None = None,
    limit: int | None = None,
    threads: int = 0,
    progress: Callable[[int, int], object] | None = None,
) -> bytes:
    """Every pair of texts whose trigram similarity reaches the threshold (spec/text.md section 6), as positions (i, j),
    i < j, in ascending order: two little-endian numbers of four bytes for each pair.

    Args:
        texts: the texts.
        threshold: the decimal it is written as, compared exactly.  0 or less means every pair, above 1 none; the
            similarity is 0 when either text is empty.
        groups: a number for each text, 0 to 2**32 - 1; texts of different groups make no pair.
        dirty: for each text whether it is dirty; a pair has at least one dirty side.  Where few are, the time grows
            with their number times that of all texts, else with the square of that.
        limit: at most so many pairs, the first ones; all are found all the same.
        threads: how many threads work, 0 for one on each processor.  Other Python threads run meanwhile.
        progress: called with how many pairs are decided and how many there are to decide: at once, about every tenth of
            a second, and at the end; from the calling thread.  What it raises ends the call; so does an interrupt.

    Memory: four bytes for each different trigram of each text, about as much again, and about 24 bytes for each pair.

    Raises ArgumentError for NaN, a number outside its range, a lone surrogate, or not as many groups or flags as texts;
    ArgumentTypeError for an argument of another type.
    """

def trigram_overlap(a: str, b: str, /) -> tuple[int, int]:
    """How many trigrams two texts share, and how many they have together (spec/text.md section 6).

    Raises ArgumentTypeError for anything but str, ArgumentError for a lone surrogate.
    """

def verify_signatures(
    publics: Iterable[bytes], messages: Iterable[bytes], signatures: Iterable[bytes], /
) -> list[bool]:
    """For each signature whether it holds: strict Ed25519, one by one (spec/kernel.md, Signature checks).

    A key that is not 32 bytes long, or a signature that is not 64, makes False.  Other threads run meanwhile.  Raises
    ArgumentError when there are not as many of each, ArgumentTypeError for anything but bytes.
    """

_Told: TypeAlias = tuple[tuple[str, ...], bool, str, tuple[tuple[str, str, bool], ...]]

@final
class Vectors:
    """A vector for each of many records, of one embedder (spec/recall.md section 8).

    Other threads run while it works.  Every method raises ArgumentTypeError for an argument of another type.  Text that
    is no record id has no vector.
    """

    def __new__(cls, identity: str, dimension: int, /) -> Self:
        """Holds none yet.  Raises ArgumentError for a dimension that is not from 1 to 65,536."""

    @property
    def identity(self) -> str:
        """The embedder whose vectors they are."""

    @property
    def dimension(self) -> int:
        """Numbers of a vector."""

    def __len__(self) -> int: ...
    def __contains__(self, record_id: object, /) -> bool: ...
    def ids(self) -> list[str]:
        """The ids that have a vector, sorted."""

    def set(self, record_ids: Iterable[str], vectors: bytes, /) -> None:
        """Add vectors or replace them, all or none: little-endian 32-bit floats, one vector after the other.

        One that is replaced keeps its place.  Raises ArgumentError for text that is no record id, a number that is not
        finite, or another number of bytes.
        """

    def place(self, record_ids: Iterable[str], places: Iterable[tuple[str, int, int] | None], /) -> None:
        """Say where in which session records stand, as (session, event time, time of birth); None for in none.

        Times are in milliseconds.  Records without a vector get no place.  Raises ArgumentError unless there is one
        place for each.
        """

    def remove(self, record_ids: Iterable[str], /) -> None:
        """Forget vectors.  Ids that have none are passed over."""

    def scores(self, query: bytes, /, *, around: tuple[float, float, float] | None = None) -> Scores:
        """The cosine of every vector with that of a query, from -1 to 1; 0 where one of the two is all zeros.

        With ``around``, what each neighbour in the session has above the mean is added: shares from 0 to 1 of the
        record before, of the one after, and of those two away.  Raises ArgumentError as :meth:`set`.
        """

    def best(self, query: bytes, k: int, /, among: Iterable[str] | None = None) -> list[tuple[str, float]]:
        """At most ``k`` (id, cosine) pairs, best first, then by id; only of ids ``among`` those given."""

    def to_bytes(self, cursor: str, note: bytes, /) -> bytes:
        """All of it, with the change cursor it reflects and what its owner wants to find beside it."""

    @classmethod
    def from_bytes(cls, data: bytes, /) -> tuple[Self, str, bytes] | None:
        """Vectors, cursor and note of a snapshot; None for one that is damaged or of another version."""

@final
class Scores:
    """What one query scores, for every vector that was held when it was asked."""

    def __len__(self) -> int: ...
    def best(self, k: int, /, among: Iterable[str] | None = None) -> list[tuple[str, float]]:
        """At most ``k`` (id, score) pairs, best first, then by id; only of ids ``among`` those given."""

    def of(self, record_ids: Iterable[str], /) -> list[float | None]:
        """The scores of some ids, None where there is none."""

def analyse(text: str, /) -> _Told:
    """What a text says (spec/text.md section 4): its terms; whether it is negated; the text itself in NFC when it has
    no terms, else the empty text; its items, each its text, its stem and whether it is fixed.

    This and the other functions of text raise ArgumentTypeError for anything but str, and ArgumentError for a lone
    surrogate.
    """

def analyse_many(texts: Iterable[str], /) -> list[_Told]:
    """The analysis of each text; other threads run while they are read."""

def classify_sentence(sentence: str, /) -> Literal["fact", "episode"] | None:
    """What kind of memory a sentence makes, None for noise and questions (spec/text.md section 8)."""

def core_terms(terms: tuple[str, ...], /) -> frozenset[str]:
    """The terms without those that say only that something is needed (spec/text.md section 4)."""

def infer_slots(text: str, /) -> dict[str, str]:
    """The one slot a text fills, subject terms and value terms, or nothing (spec/text.md section 7)."""

def infer_slots_many(texts: Iterable[str], /) -> list[dict[str, str]]:
    """The slot of each text; other threads run while they are read."""

def same_statement(a: _Told, b: _Told, /) -> bool:
    """Whether two analysed texts are the same statement (spec/text.md section 5)."""

def slot_values_clash(x: str, y: str, /) -> bool:
    """Whether two values of one slot contradict each other (spec/text.md section 7)."""

def split_sentences(text: str, /) -> list[str]:
    """The sentences of a text, trimmed, without bullets (spec/text.md section 8)."""

def statements_oppose(a: _Told, b: _Told, /) -> bool:
    """Whether one of two analysed texts denies what the other claims (spec/text.md section 5)."""

def stem(word: str, /) -> str:
    """The light stem of a folded word (spec/text.md section 4)."""

def text_classes(text: str, /) -> str:
    """The class letter of each character of the prepared text (spec/text.md section 3)."""

def text_fold(text: str, /) -> str:
    """NFC of the full case folding of Unicode 14.0 (spec/text.md section 2)."""

def text_lower(text: str, /) -> str:
    """The full lower case of Unicode 14.0, final sigma included (spec/text.md section 6)."""

def text_tokens(text: str, /) -> list[tuple[Literal["run", "word", "symbol", "mark"], str]]:
    """The tokens of a text, each its kind and its text (spec/text.md section 3)."""

def trigrams(text: str, /) -> frozenset[str]:
    """The trigrams of a text (spec/text.md section 6)."""
