"""English texts that Debian packages: the King James Version (bible-kjv-text), and quotations (fortunes).

The Bible is one file: a head of 80 bytes; numbers of 32 bits (highest byte first), of which the third is the number of
windows, and the following are the start of each window and the end of the last; and the windows, each compressed
separately as by ``compress``. Quotations are plain text; a line with one percent sign separates two quotations.
"""

from __future__ import annotations

import re
import struct
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

from tests.support.real_systems.tables import DataAbsent

BIBLE = Path("/usr/lib/bible.data")
QUOTATIONS = Path("/usr/share/games/fortunes")
"""Paths at which Debian installs the texts."""

HOW_TO_INSTALL = "apt-get install bible-kjv-text fortunes"

HEAD = 80
MAGIC = b"EC02"
"""Length of the head of the file of the Bible in bytes, and the file's first bytes."""

LEAST_BITS, MOST_BITS, ANEW = 9, 16, 256

_WORD = re.compile(r"[a-z]+(?:'[a-z]+)?")
_END = re.compile(r"[.!?]+[\"”')\]]*(?=\s)|\n\s*\n|^%$", re.MULTILINE)
_VERSE = re.compile(r"^.*\d+:\d+\s*", re.MULTILINE)
_OVERSTRUCK = re.compile(r".\x08")


class Unpackable(ValueError):
    """A file does not have the expected format."""


def available(bible: Path = BIBLE, quotations: Path = QUOTATIONS) -> bool:
    """Return whether both texts are installed."""
    return bible.is_file() and quotations.is_dir()


def sentences(bible: Path = BIBLE, quotations: Path = QUOTATIONS) -> Iterator[tuple[str, ...]]:
    """Yield every sentence as a list of words in lower case.

    Raises
    ------
    DataAbsent
        If one of the two is not installed; the message names the packages to install.
    """
    if not available(bible, quotations):
        raise DataAbsent(f"no texts at {bible} and {quotations}; to install them: {HOW_TO_INSTALL}")
    yield from sentences_of(_VERSE.sub("", unpacked_bible(bible.read_bytes()).decode("latin-1")))
    for path in sorted(quotations.iterdir()):
        if path.is_file() and not path.is_symlink() and path.suffix == "":
            yield from sentences_of(_OVERSTRUCK.sub("", path.read_text(encoding="utf-8", errors="replace")))


def sentences_of(text: str) -> Iterator[tuple[str, ...]]:
    """Split a text into sentences of words, without punctuation and digits."""
    for sentence in _END.split(text.replace("’", "'")):
        if words := words_of(sentence):
            yield words


def words_of(sentence: str) -> tuple[str, ...]:
    """Return the words of a sentence in lower case."""
    return tuple(_WORD.findall(sentence.lower()))


def unpacked_bible(packed: bytes) -> bytes:
    """Decompress all windows of the file of the Bible.

    Raises
    ------
    Unpackable
        If the file has another format.
    """
    if packed[: len(MAGIC)] != MAGIC:
        raise Unpackable(f"the file begins with {packed[: len(MAGIC)]!r}, not with {MAGIC!r}")
    _, windows = struct.unpack_from(">2I", packed, HEAD + 4)
    starts = struct.unpack_from(f">{windows + 1}I", packed, HEAD + 12)
    return b"".join(decompressed(packed[start:end]) for start, end in pairwise(starts))


def decompressed(codes: bytes) -> bytes:
    """Undo ``compress``: Welch's variant of Lempel and Ziv, after the three bytes that a file begins with.

    Codes grow from 9 to 16 bits, lowest bit first. They come in groups of eight: when codes get longer or the table is
    cleared, the rest of a group is skipped.

    Raises
    ------
    Unpackable
        If a code is not in the table yet.

    References
    ----------
    .. [1] Welch (1984), "A technique for high-performance data compression", Computer 17(6).
    """
    table: list[bytes] = [bytes([each]) for each in range(256)] + [b""]
    out: list[bytes] = []
    bits, place, begun = LEAST_BITS, 0, 0
    previous = b""
    while place + bits <= 8 * len(codes):
        if len(table) >= 1 << bits and bits < MOST_BITS:
            place, begun, bits = *_next_eight(place, begun, bits), bits + 1
            continue
        code = int.from_bytes(codes[place >> 3 : (place >> 3) + 4], "little") >> (place & 7) & ((1 << bits) - 1)
        place += bits
        if code == ANEW:
            place, begun = _next_eight(place, begun, bits)
            del table[ANEW + 1 :]
            bits, previous = LEAST_BITS, b""
            continue
        if code < len(table):
            entry = table[code]
        elif code == len(table) and previous:
            entry = previous + previous[:1]
        else:
            raise Unpackable(f"the code {code} stands for nothing yet")
        out.append(entry)
        if previous and len(table) < 1 << MOST_BITS:
            table.append(previous + entry[:1])
        previous = entry
    return b"".join(out)


def _next_eight(place: int, begun: int, bits: int) -> tuple[int, int]:
    """Return the bit at which the next group of eight codes begins, twice: as the new `place` and the new `begun`."""
    whole = 8 * bits
    start = begun + -(-(place - begun) // whole) * whole
    return start, start
