"""word2vec's text: a word and its numbers on each line, and perhaps a first line ``words dims``."""

from __future__ import annotations

from collections.abc import Iterator
from typing import BinaryIO

import numpy as np
from numpy.typing import NDArray

from store.formats.csv_rows import LONGEST_LINE_BYTES, decode_line, refuse_other_formats
from store.formats.refusal import Unreadable, shown

BLOCK_WORDS = 1_024


def blocks(file: BinaryIO) -> Iterator[tuple[list[str], NDArray[np.float64]]]:
    """Read the words and their vectors, some at a time.

    A word may hold blanks: it is what stands before the last `dims` numbers of its line.

    Raises
    ------
    Unreadable
        With the number of the line.
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
        raise Unreadable(f"the first line promises {declared:,} words, and {count:,} follow")


def _header(file: BinaryIO) -> tuple[int | None, int]:
    """Read the first line if it counts words and dims; otherwise go back before it."""
    start = file.tell()
    parts = file.readline(64).split()
    if len(parts) == 2 and all(part.isdigit() and len(part) < 10 for part in parts):
        if int(parts[1]) == 0:
            raise Unreadable("the first line promises vectors of 0 numbers", line=1)
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
    """Split a line into its word and its numbers; `dims` is 0 while their number is not known."""
    parts = text.replace("\t", " ").rsplit(" ", dims) if dims else text.replace("\t", " ").split()
    if len(parts) < 2 or (dims and len(parts) != dims + 1):
        due = f"{dims:,} numbers" if dims else "numbers"
        raise Unreadable(f"a word and {due} are due, and {len(parts):,} parts are there", line=number)
    word, *written = parts
    try:
        return word.strip(), [float(each) for each in written]
    except ValueError:
        raise Unreadable(f"the vector of {shown(word)} holds something that is no number", line=number) from None
