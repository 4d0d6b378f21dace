"""Word embeddings from ``.npz`` or word2vec text files, read in blocks."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

from store.formats import npz, word2vec
from store.formats.refusal import Unreadable, shown

MOST_WORDS = 500_000
MOST_DIMS = 16_384
LONGEST_WORD = 200

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
    for words, vectors in word2vec.blocks(file) if media_type == WORD2VEC else npz.blocks(file):
        _check_words(words, distinct)
        _check_vectors(words, vectors)
        yield words, vectors


def inspect(file: BinaryIO, media_type: str) -> dict[str, Any]:
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
