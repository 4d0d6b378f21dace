"""Parser of word2vec text files: a word and its vector per line, with an optional header ``words dims``."""

from __future__ import annotations

from collections.abc import Iterator
from typing import BinaryIO

import numpy as np
from numpy.typing import NDArray

from store.formats.csv_dialect import LONGEST_LINE_BYTES, decode_line, refuse_other_formats
from store.formats.refusal import Unreadable, shown

BLOCK_WORDS = 1_024


def blocks(file: BinaryIO) -> Iterator[tuple[list[str], NDArray[np.float64]]]:
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
