"""Word embeddings from ``.npz`` or word2vec text files, read in blocks."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

from assay.document import JsonObject
from store.formats import npz
from store.formats.csv_dialect import LONGEST_LINE_BYTES, decode_line, refuse_other_formats
from store.formats.refusal import Unreadable, shown

MOST_WORDS = 500_000
MOST_DIMS = 16_384
LONGEST_WORD = 200
BLOCK_WORDS = 1_024

WORD2VEC = "text/plain"

Block = tuple[Sequence[str], NDArray[np.floating[Any]]]
"""A block of words and their vectors, shape (words, dims)."""


def read_embedding(file: BinaryIO, media_type: str) -> Iterator[Block]:
    """Read an embedding in blocks.

    Parameters
    ----------
    file : binary file
        Seekable; read from its start.
    media_type : str
        ``text/plain`` for word2vec; anything else is npz.

    Yields
    ------
    (sequence of str, ndarray of shape (words, dims))
        Distinct words with finite vectors of equal length; float32 if the file has at most that precision,
        else float64.

    Raises
    ------
    Unreadable
        If the file is invalid; the error names the line, or the number of the word.
    """
    file.seek(0)
    distinct: set[str] = set()
    for words, vectors in _word2vec_blocks(file) if media_type == WORD2VEC else npz.blocks(file):
        _check_words(words, distinct)
        _check_vectors(words, vectors)
        yield words, vectors


def inspect(file: BinaryIO, media_type: str) -> JsonObject:
    """Validate an embedding and summarise it.

    The result has ``words`` and ``dims``, ``zero_vectors`` (number of words whose vector is all zero) and ``sample``
    (the first ten words).

    Raises
    ------
    Unreadable
        If it is not an embedding, with the line or the word.
    """
    count = zeros = dims = 0
    sample: list[str] = []
    for words, vectors in read_embedding(file, media_type):
        count += len(words)
        dims = vectors.shape[1]
        zeros += int((~vectors.any(axis=1)).sum())
        sample.extend(words[: 10 - len(sample)])
    if not count:
        raise Unreadable("the embedding has no words")
    return {"words": count, "dims": dims, "zero_vectors": zeros, "sample": sample}


def _check_words(words: Sequence[str], distinct: set[str]) -> None:
    for number, word in enumerate(words, len(distinct) + 1):
        if not 0 < len(word) <= LONGEST_WORD or not word.strip() or "\0" in word or _is_broken(word):
            raise Unreadable(f"word {number:,} ({shown(word)}) is not a word of 1 to {LONGEST_WORD} characters")
        if word in distinct:
            raise Unreadable(f"word {number:,} ({shown(word)}) appears twice; keep one of its vectors")
        distinct.add(word)
    if len(distinct) > MOST_WORDS:
        raise Unreadable(f"more than {MOST_WORDS:,} words; leave rare ones out")


def _is_broken(word: str) -> bool:
    """Whether a word contains a lone surrogate, which is not valid text."""
    return not word.isascii() and any("\ud800" <= character <= "\udfff" for character in word)


def _check_vectors(words: Sequence[str], vectors: NDArray[np.floating[Any]]) -> None:
    if not 0 < vectors.shape[1] <= MOST_DIMS:
        raise Unreadable(f"vectors of {vectors.shape[1]:,} numbers; the length must be 1 to {MOST_DIMS:,}")
    finite = np.isfinite(vectors).all(axis=1)
    if not finite.all():
        word = words[int(np.argmin(finite))]
        raise Unreadable(f"the vector of {shown(word)} contains NaN or infinity; leave the word out")


# ---------------------------------------------------------------------------- word2vec
def _word2vec_blocks(file: BinaryIO) -> Iterator[tuple[list[str], NDArray[np.float64]]]:
    """Read words and vectors in blocks; raise `Unreadable` with the line number.

    A word may contain spaces: it is the text before the last `dims` numbers of its line.
    """
    refuse_other_formats(file)
    declared, dims = _header(file)
    words: list[str] = []
    rows: list[list[float]] = []
    count = 0
    for number, text in _lines(file, skipped=declared is not None):
        word, numbers = _entry(text, number, dims)
        dims = dims or len(numbers)
        words.append(word)
        rows.append(numbers)
        count += 1
        if len(words) == BLOCK_WORDS:
            yield words, np.array(rows)
            words, rows = [], []
    if words:
        yield words, np.array(rows)
    if declared is not None and declared != count:
        raise Unreadable(f"the first line declares {declared:,} words, but {count:,} follow")


def _header(file: BinaryIO) -> tuple[int | None, int]:
    """Read the header ``words dims``; if there is none, go back to the start and return ``(None, 0)``."""
    start = file.tell()
    parts = file.readline(64).split()
    if len(parts) == 2 and all(part.isdigit() and len(part) < 10 for part in parts):
        if int(parts[1]) == 0:
            raise Unreadable("the first line declares vectors of 0 numbers", line=1)
        return int(parts[0]), int(parts[1])
    file.seek(start)
    return None, 0


def _lines(file: BinaryIO, *, skipped: bool) -> Iterator[tuple[int, str]]:
    number = int(skipped)
    while raw := file.readline(LONGEST_LINE_BYTES + 1):
        number += 1
        if text := decode_line(raw, number).strip(" \t\r\n"):
            yield number, text


def _entry(text: str, number: int, dims: int) -> tuple[str, list[float]]:
    """Split a line into its word and its numbers; ``dims=0`` means that their number is unknown."""
    parts = text.replace("\t", " ").rsplit(" ", dims) if dims else text.replace("\t", " ").split()
    if len(parts) < 2 or (dims and len(parts) != dims + 1):
        needed = f"{dims:,} numbers" if dims else "numbers"
        raise Unreadable(f"a word and {needed} are needed, but the line has {len(parts):,} parts", line=number)
    word, *numbers = parts
    try:
        return word.strip(), [float(number_text) for number_text in numbers]
    except ValueError:
        raise Unreadable(f"the vector of {shown(word)} contains something that is not a number", line=number) from None
