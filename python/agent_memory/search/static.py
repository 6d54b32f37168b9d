"""An embedder that needs no model run: a table of token vectors, averaged (spec/recall.md section 8).

Needs the extra ``agent-memory[semantic]``; its libraries are imported when an embedder is made.  Nothing is downloaded.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable, Sequence
from copy import copy
from dataclasses import dataclass, field
from hashlib import sha256
from importlib import import_module
from importlib.util import find_spec
from itertools import islice
from pathlib import Path
from typing import Any, Final, Self

from agent_memory.errors import ArgumentError
from agent_memory.ports import Embedder

__all__ = ["StaticEmbedder"]

_INSTALL: Final = "install it with: pip install 'agent-memory[semantic]'"
_LIBRARIES: Final = ("numpy", "safetensors", "tokenizers")
_IMAGINED: Final = 100
"""Imagined texts that count besides those of the memory."""
_LONG: Final = 20
"""Tokens of an imagined text."""
_UNRANKED: Final = 259
"""Control and byte tokens at the beginning of a vocabulary, which has no order before them."""
_ZIPF: Final = 2.7
_MOST_TOKENS: Final = 8_192
"""Tokens of one text that are read."""
_BATCH: Final = 1_024
_HEAD: Final = struct.Struct("<4sIIII")
_MAGIC: Final = b"AMS1"


class StaticEmbedder(Embedder):
    """Averages the vectors of a text's tokens, rare ones counting more.

    Without paths it takes those that the installed package ``wordllama`` brings along.

    Args:
        vectors: a safetensors file with one table: a row for each token of the vocabulary, in its order.
        tokenizer: a ``tokenizer.json`` as the package ``tokenizers`` reads it.

    Raises:
        ArgumentError: a library or file is missing, or a file is not what it should be; the message says what to do.

    It learns what is common in a memory's texts (:meth:`learn`): without that it knows the language at large only.
    """

    def __init__(self, vectors: Path | str | None = None, tokenizer: Path | str | None = None) -> None:
        if (vectors is None) != (tokenizer is None):
            raise ArgumentError("give both a file of vectors and a tokenizer, or neither to take those of wordllama")
        for name in _LIBRARIES:
            if find_spec(name) is None:
                raise ArgumentError(f"StaticEmbedder needs the package {name}: {_INSTALL}")
        table, words = _shipped() if vectors is None or tokenizer is None else (Path(vectors), Path(tokenizer))
        self._numpy: Any = import_module("numpy")
        self._tokenizer = _read_tokenizer(words)
        self._table = _read_table(table, self._numpy)
        self._base = sha256(_digest(table) + _digest(words)).hexdigest()[:16]
        self._known = _Known()
        self._weights = self._weighing(self._known)

    @property
    def dimensions(self) -> int:
        return int(self._table.shape[1])

    @property
    def identity(self) -> str:
        """Tells the two files, and what was learnt."""
        known = f"/{sha256(self.learnt).hexdigest()[:16]}" if self.learnt else ""
        return f"static/1/{self._base}/{self.dimensions}{known}"

    @property
    def learnt(self) -> bytes:
        """What was learnt of the texts of a memory: counts and their mean.  Empty for nothing."""
        return self._known.learnt

    def embed(self, text: str) -> tuple[float, ...]:
        return self.embed_many([text])[0]

    def embed_many(self, texts: Sequence[str]) -> tuple[tuple[float, ...], ...]:
        return tuple(map(tuple, self(list(texts)).tolist()))

    def __call__(self, texts: list[str]) -> Any:
        """The vectors as one array of numpy."""
        numpy = self._numpy
        made = numpy.zeros((len(texts), self.dimensions), dtype=numpy.float32)
        for at, tokens in enumerate(self._tokens(texts)):
            if len(tokens):
                vector = self._averaged(tokens, self._weights)
                if self._known.mean is not None:
                    vector = vector - self._known.mean
                made[at] = vector / (float(numpy.linalg.norm(vector.astype(numpy.float64))) or 1.0)
        return made

    # ------------------------------------------------------------------ learning

    def learn(self, texts: Iterable[str]) -> Self:
        """The same, knowing what is common in these texts."""
        numpy = self._numpy
        seen = []
        waiting = iter(texts)
        while batch := list(islice(waiting, _BATCH)):
            seen.extend(self._tokens(batch))
        found = numpy.zeros(len(self._table), dtype=numpy.uint32)
        for tokens in seen:
            found[numpy.unique(tokens)] += 1
        counts = {int(token): int(found[token]) for token in numpy.flatnonzero(found)}
        weights = self._weighing(_Known(len(seen), counts))
        total = numpy.zeros(self.dimensions, dtype=numpy.float64)
        for tokens in seen:
            if len(tokens):
                total += self._averaged(tokens, weights)
        mean = (total / max(1, len(seen))).astype("<f4")
        pairs = b"".join(struct.pack("<II", token, count) for token, count in counts.items())
        head = _HEAD.pack(_MAGIC, len(seen), len(self._table), self.dimensions, len(counts))
        return self._with(_Known(len(seen), counts, mean, head + mean.tobytes() + pairs))

    def knowing(self, learnt: bytes) -> Self | None:
        """The same, knowing what was learnt earlier; None for bytes that are not that."""
        size = 4 * self.dimensions
        if len(learnt) < _HEAD.size + size:
            return None
        magic, texts, rows, dimensions, count = _HEAD.unpack_from(learnt)
        if (magic, rows, dimensions) != (_MAGIC, len(self._table), self.dimensions):
            return None
        if len(learnt) != _HEAD.size + size + 8 * count:
            return None
        mean = self._numpy.frombuffer(learnt, dtype="<f4", count=dimensions, offset=_HEAD.size)
        counts = dict(struct.iter_unpack("<II", learnt[_HEAD.size + size :]))
        if not self._numpy.isfinite(mean).all() or any(row >= rows or found > texts for row, found in counts.items()):
            return None
        return self._with(_Known(texts, counts, mean, learnt))

    def _with(self, known: _Known) -> Self:
        made = copy(self)
        vars(made).update(_known=known, _weights=self._weighing(known))
        return made

    def _weighing(self, known: _Known) -> Any:
        """The weight of each token."""
        numpy = self._numpy
        ranks = numpy.maximum(numpy.arange(len(self._table), dtype=numpy.float64) - _UNRANKED + 1, 1.0)
        shares = 1.0 / (ranks + _ZIPF)
        held = _IMAGINED * (1.0 - (1.0 - shares / shares.sum()) ** _LONG)
        held[list(known.counts)] += list(known.counts.values())
        total = known.texts + _IMAGINED
        return numpy.log(1.0 + (total - held + 0.5) / (held + 0.5)).astype(numpy.float32)

    # ------------------------------------------------------------------ how

    def _tokens(self, texts: Sequence[str]) -> list[Any]:
        """The tokens of each text, as rows of the table."""
        numpy = self._numpy
        clean = [text.encode("utf-8", "replace").decode("utf-8") for text in texts]
        rows = len(self._table)
        found = [
            numpy.asarray(encoded.ids[:_MOST_TOKENS], dtype=numpy.int64)
            for encoded in self._tokenizer.encode_batch(clean, add_special_tokens=False)
        ]
        return [tokens[tokens < rows] for tokens in found]

    def _averaged(self, tokens: Any, weights: Any) -> Any:
        found = weights[tokens]
        return found @ self._table[tokens] / found.sum()


@dataclass(frozen=True, slots=True)
class _Known:
    """What is known of the texts of a memory: how many, how many hold each token, their mean; and that as bytes."""

    texts: int = 0
    counts: dict[int, int] = field(default_factory=dict)
    mean: Any = None
    learnt: bytes = b""


def _shipped() -> tuple[Path, Path]:
    """The files that the installed package wordllama brings along, which is not imported."""
    found = find_spec("wordllama")
    folders = [] if found is None else [Path(place) for place in found.submodule_search_locations or ()]
    for folder in folders:
        tables, words = sorted(folder.glob("weights/*.safetensors")), sorted(folder.glob("tokenizers/*.json"))
        if tables and words:
            return tables[0], words[0]
    raise ArgumentError(f"StaticEmbedder takes its vectors from the package wordllama: {_INSTALL}, or give both files")


def _read_tokenizer(path: Path) -> Any:
    try:
        tokenizer = import_module("tokenizers").Tokenizer.from_file(str(path))
        tokenizer.no_padding()
        tokenizer.no_truncation()
    except Exception as error:
        raise ArgumentError(f"{path} cannot be read as a tokenizer; give a tokenizer.json") from error
    return tokenizer


def _read_table(path: Path, numpy: Any) -> Any:
    try:
        tensors = list(import_module("safetensors.numpy").load_file(str(path)).values())
    except Exception as error:
        raise ArgumentError(f"{path} cannot be read as safetensors of 16 or 32 bit floats") from error
    if len(tensors) != 1 or tensors[0].ndim != 2 or not tensors[0].size or tensors[0].dtype.kind != "f":
        raise ArgumentError(f"{path} must hold one table of token vectors; choose another file")
    table = tensors[0].astype(numpy.float32)
    if not numpy.isfinite(table).all():
        raise ArgumentError(f"{path} holds numbers that are not finite; choose another file")
    return table


def _digest(path: Path) -> bytes:
    return sha256(path.read_bytes()).digest()
