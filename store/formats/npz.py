"""Embeddings as NumPy archives: ``words`` and ``vectors``, checked before anything is unpacked.

An archive is a ZIP file of arrays, and both can promise far more than they hold. So their tables
of contents and the arrays' headers are read by themselves; no object is ever unpickled.
"""

from __future__ import annotations

import json
import math
import struct
import zlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import IO, Any, BinaryIO
from zipfile import ZIP_DEFLATED, ZIP_STORED, BadZipFile, ZipFile, ZipInfo

import numpy as np
from numpy.lib import format as npy
from numpy.typing import NDArray

from store.formats.refusal import Unreadable

MOST_UNPACKED_BYTES = 512 << 20
"""Largest content of an archive once it is unpacked."""

MOST_CONTENTS_BYTES = 1 << 16
"""Largest table of contents; ours has two entries."""

BLOCK_BYTES = 4 << 20

_END = struct.Struct("<4s4H2LH")
"""The record that ends a ZIP file: signature, disks, entries, size and place of the table, comment."""


def blocks(file: BinaryIO) -> Iterator[tuple[Sequence[str], NDArray[np.floating[Any]]]]:
    """Read the words, and then their vectors some at a time.

    Raises
    ------
    Unreadable
        If it is no such archive, is damaged, or would unpack to more than is kept.
    """
    with _told():
        _check_end(file)
        with ZipFile(file) as archive:
            words, vectors = _members(archive)
            with archive.open(words) as member:
                listed = _read_words(member, words.file_size)
            with archive.open(vectors) as member:
                yield from _read_vectors(member, vectors.file_size, listed)


@contextmanager
def _told() -> Iterator[None]:
    """Tell damage as a refusal; what the archive's own readers say of it is for programmers."""
    try:
        yield
    except (BadZipFile, zlib.error, EOFError, struct.error):
        raise Unreadable("this is not an npz archive, or it is damaged; write it with numpy.savez") from None


def _check_end(file: BinaryIO) -> None:
    """Refuse an archive whose table of contents is a bomb itself, before the table is read."""
    size = file.seek(0, 2)
    if size < _END.size:
        raise BadZipFile
    file.seek(-_END.size, 2)
    signature, _, _, _, entries, contents_bytes, _, comment = _END.unpack(file.read(_END.size))
    if signature != b"PK\x05\x06" or comment:
        raise BadZipFile
    if contents_bytes > MOST_CONTENTS_BYTES or entries > 100:
        raise Unreadable(f"the archive has {entries:,} parts; words and vectors are expected")
    file.seek(0)


def _members(archive: ZipFile) -> tuple[ZipInfo, ZipInfo]:
    """Find the two arrays, neither of which may be packed in a way that is not read here."""
    parts = archive.infolist()
    names = [part.filename for part in parts]
    if len(set(names)) < len(names):
        raise Unreadable("two parts of the archive have one name")
    found = {part.filename: part for part in parts}
    missing = [name for name in ("words", "vectors") if f"{name}.npy" not in found]
    if missing:
        raise Unreadable(f"the archive has no array {missing[0]!r}; write it with numpy.savez(…, words=…, vectors=…)")
    if any(part.flag_bits & 1 or part.compress_type not in {ZIP_STORED, ZIP_DEFLATED} for part in parts):
        raise Unreadable("the archive is encrypted, or packed otherwise than numpy.savez does")
    if (unpacked := sum(part.file_size for part in parts)) > MOST_UNPACKED_BYTES:
        raise Unreadable(f"the archive unpacks to {unpacked:,} bytes; at most {MOST_UNPACKED_BYTES:,}")
    return found["words.npy"], found["vectors.npy"]


def _header(member: IO[bytes], size: int, name: str) -> tuple[tuple[int, ...], bool, np.dtype[Any]]:
    """Read what an array says it is, and refuse one that does not hold as much."""
    try:
        version = npy.read_magic(member)
        reader = {(1, 0): npy.read_array_header_1_0, (2, 0): npy.read_array_header_2_0}[version]
        shape, fortran, dtype = reader(member)
    except (ValueError, KeyError, TypeError):
        raise Unreadable(f"{name} is not an array as numpy.savez writes it") from None
    if dtype.hasobject:
        raise Unreadable(f"{name} holds Python objects, which are not read: they can run code; use an array of text")
    if math.prod(shape) * dtype.itemsize != size - member.tell():
        raise Unreadable(f"{name} does not hold as much as its header says")
    return shape, fortran, dtype


def _read_words(member: IO[bytes], size: int) -> Sequence[str]:
    """Read the words: an array of texts, or one text that is a JSON list of them."""
    shape, _, dtype = _header(member, size, "words")
    if dtype.kind != "U" or len(shape) > 1:
        raise Unreadable(f"words is an array of {dtype} with {len(shape)} axes; one axis of text is due")
    array = np.frombuffer(member.read(), dtype).reshape(shape)
    if shape:
        words: list[str] = array.tolist()
        return words
    try:
        listed = json.loads(str(array))
    except (ValueError, RecursionError):
        raise Unreadable("words is one text; a list of words in JSON is due, or an array of text") from None
    if not isinstance(listed, list) or not all(isinstance(word, str) for word in listed):
        raise Unreadable("words is one text, and not a list of words in JSON")
    return listed


def _read_vectors(
    member: IO[bytes], size: int, words: Sequence[str]
) -> Iterator[tuple[Sequence[str], NDArray[np.floating[Any]]]]:
    shape, fortran, dtype = _header(member, size, "vectors")
    if dtype.kind != "f" or len(shape) != 2:
        raise Unreadable(f"vectors is an array of {dtype} with {len(shape)} axes; two axes of floats are due")
    if shape[0] != len(words):
        raise Unreadable(f"there are {len(words):,} words and {shape[0]:,} vectors")
    kept = np.dtype(np.float32 if dtype.itemsize <= 4 else np.float64)
    row_bytes = shape[1] * dtype.itemsize
    if not row_bytes:
        raise Unreadable("vectors of 0 numbers")
    if fortran:  # columns come first, so that no row is whole before the end
        whole = np.frombuffer(member.read(), dtype).reshape(shape, order="F")
        yield words, np.ascontiguousarray(whole, kept)
        return
    step = max(1, BLOCK_BYTES // row_bytes)
    for start in range(0, len(words), step):
        some = words[start : start + step]
        numbers = np.frombuffer(_exactly(member, len(some) * row_bytes), dtype).reshape(len(some), shape[1])
        yield some, numbers.astype(kept)


def _exactly(member: IO[bytes], wanted: int) -> bytes:
    """Read so many bytes; the unpacker gives fewer at a time."""
    read = member.read(wanted)
    if len(read) < wanted:
        raise EOFError
    return read
