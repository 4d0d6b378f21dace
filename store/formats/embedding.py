"""Word embeddings from ``.npz`` or word2vec text files, read in blocks.

An ``.npz`` archive is a ZIP file of the arrays ``words`` and ``vectors``, and both can declare wrong sizes. Therefore
the table of contents and the headers of the arrays are checked before anything is unpacked. No object is unpickled.
"""

import json
import math
import struct
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import IO, Any, BinaryIO
from zipfile import ZIP_DEFLATED, ZIP_STORED, BadZipFile, ZipFile, ZipInfo

import numpy as np
from numpy.lib import format as npy
from numpy.typing import NDArray

from assay.document import JsonObject
from assay.errors import SpecificationError
from store.formats.csv_rows import LONGEST_LINE_BYTES, decode_line, refuse_other_formats
from store.formats.refusal import Unreadable, shown

MOST_UNPACKED_BYTES = 512 << 20
"""Maximum size of an unpacked archive in bytes."""

MOST_CONTENTS_BYTES, MOST_ENTRIES = 1 << 16, 100
"""Maximum size of a ZIP file's table of contents in bytes and in entries; a valid table has two entries."""

BLOCK_BYTES = 4 << 20

_END_RECORD = struct.Struct("<4s4H2LH")
"""Last record of a ZIP file: signature, disks, entries, size and offset of the table, comment."""


Block = tuple[Sequence[str], NDArray[np.floating[Any]]]
"""A block of words and their vectors, shape (words, dims)."""


def blocks(file: BinaryIO) -> Iterator[Block]:
    """Yield the words and vectors of an ``.npz`` archive in blocks.

    Raise `Unreadable` if the file is not an npz archive, is damaged or would unpack to more than `MOST_UNPACKED_BYTES`.
    """
    with _translate_zip_errors():
        _check_end_record(file)
        with ZipFile(file) as archive:
            words_part, vectors_part = _find_arrays(archive)
            with archive.open(words_part) as member:
                words = _read_words(member, words_part.file_size)
            with archive.open(vectors_part) as member:
                yield from _read_vectors(member, vectors_part.file_size, words)


@contextmanager
def _translate_zip_errors() -> Iterator[None]:
    """Raise `Unreadable` for errors of the readers of ZIP archives and of arrays."""
    try:
        yield
    except (SpecificationError, MemoryError):  # already with its message, or a limit of the process
        raise
    except Exception:  # noqa: BLE001  damage raises a dozen types, from `zlib.error` to `SystemError`
        raise Unreadable("this is not an npz archive, or it is damaged; write it with numpy.savez") from None


def _check_end_record(file: BinaryIO) -> None:
    """Raise `Unreadable` before a too large table of contents of a ZIP file is read; `BadZipFile` if it has none."""
    size = file.seek(0, 2)  # 2: from the end
    if size < _END_RECORD.size:
        raise BadZipFile
    file.seek(-_END_RECORD.size, 2)
    signature, _, _, _, entries, contents_bytes, _, comment = _END_RECORD.unpack(file.read(_END_RECORD.size))
    if signature != b"PK\x05\x06" or comment:
        raise BadZipFile
    if contents_bytes > MOST_CONTENTS_BYTES or entries > MOST_ENTRIES:
        raise Unreadable(f"the archive has {entries:,} parts; words and vectors are expected")
    file.seek(0)


def _find_arrays(archive: ZipFile) -> tuple[ZipInfo, ZipInfo]:
    """Find the parts with the words and the vectors; raise `Unreadable` for an unsupported or too large archive."""
    parts = archive.infolist()
    names = [part.filename for part in parts]
    if len(set(names)) < len(names):
        raise Unreadable("two parts of the archive have the same name")
    by_name = {part.filename: part for part in parts}
    missing = [name for name in ("words", "vectors") if f"{name}.npy" not in by_name]
    if missing:
        raise Unreadable(f"the archive has no array {missing[0]!r}; write it with numpy.savez(…, words=…, vectors=…)")
    if any(part.flag_bits & 1 or part.compress_type not in {ZIP_STORED, ZIP_DEFLATED} for part in parts):
        raise Unreadable("the archive is encrypted or compressed in an unsupported way; write it with numpy.savez")
    if (unpacked_bytes := sum(part.file_size for part in parts)) > MOST_UNPACKED_BYTES:
        raise Unreadable(f"the archive unpacks to {unpacked_bytes:,} bytes; at most {MOST_UNPACKED_BYTES:,}")
    return by_name["words.npy"], by_name["vectors.npy"]


def _npy_header(member: IO[bytes], size: int, name: str) -> tuple[tuple[int, ...], bool, np.dtype[Any]]:
    """Read an array's shape, whether it is column-major, and type; raise `Unreadable` if they do not fit its `size`."""
    try:
        reader = {(1, 0): npy.read_array_header_1_0, (2, 0): npy.read_array_header_2_0}[npy.read_magic(member)]
        shape, fortran, dtype = reader(member)
    except (ValueError, KeyError, TypeError):
        raise Unreadable(f"{name} is not an array in the format of numpy.savez") from None
    if dtype.hasobject:
        raise Unreadable(f"{name} contains Python objects, which could run code; use an array of text")
    announced_bytes, array_bytes = math.prod(shape) * dtype.itemsize, size - member.tell()
    if announced_bytes != array_bytes:
        problem = f"{name} holds {array_bytes:,} bytes, but its header announces {announced_bytes:,}"
        raise Unreadable(f"{problem}; the file is damaged: write it again with numpy.savez")
    return shape, fortran, dtype


def _read_words(member: IO[bytes], size: int) -> Sequence[str]:
    """Read the words: an array of texts, or a single text that is a JSON list."""
    shape, _, dtype = _npy_header(member, size, "words")
    if dtype.kind != "U" or len(shape) > 1:
        problem = f"words is an array of {dtype} with {len(shape)} axes"
        raise Unreadable(f"{problem}; an array of text with one axis is needed")
    array = np.frombuffer(member.read(), dtype).reshape(shape)
    if shape:  # one axis: an array of words
        words: list[str] = array.tolist()
        return words
    try:
        word_list = json.loads(str(array))
    except (ValueError, RecursionError):
        message = "words is one text that is not JSON; an array of text or a JSON list of words is needed"
        raise Unreadable(message) from None
    if not isinstance(word_list, list) or not all(isinstance(word, str) for word in word_list):
        raise Unreadable("words is one text that is not a JSON list of words")
    return word_list


def _read_vectors(member: IO[bytes], size: int, words: Sequence[str]) -> Iterator[Block]:
    """Yield words and vectors in blocks of about `BLOCK_BYTES`; in one block if the array is in column-major order."""
    shape, fortran, dtype = _npy_header(member, size, "vectors")
    if dtype.kind != "f" or len(shape) != 2:
        problem = f"vectors is an array of {dtype} with {len(shape)} axes"
        raise Unreadable(f"{problem}; an array of floats with two axes is needed")
    vector_count, dims = shape
    if vector_count != len(words):
        raise Unreadable(f"there are {len(words):,} words and {vector_count:,} vectors")
    precision = np.dtype(np.float32 if dtype.itemsize <= 4 else np.float64)
    row_bytes = dims * dtype.itemsize
    if not row_bytes:
        raise Unreadable("the vectors have 0 numbers each; at least 1 is needed")
    if fortran:  # in column-major order, no row is complete before the end of the file
        yield words, np.ascontiguousarray(np.frombuffer(member.read(), dtype).reshape(shape, order="F"), precision)
        return
    words_per_block = max(1, BLOCK_BYTES // row_bytes)
    for start in range(0, len(words), words_per_block):
        batch = words[start : start + words_per_block]
        content = member.read(len(batch) * row_bytes)
        if len(content) < len(batch) * row_bytes:
            raise EOFError  # reported by `_translate_zip_errors`
        yield batch, np.frombuffer(content, dtype).reshape(len(batch), dims).astype(precision)


MOST_WORDS = 500_000
MOST_DIMS = 16_384
LONGEST_WORD = 200
BLOCK_WORDS = 1_024

WORD2VEC = "text/plain"


def read_embedding(file: BinaryIO, media_type: str) -> Iterator[Block]:
    """Read an embedding in blocks from the start of a file: word2vec for ``text/plain``, npz for any other type.

    Yield distinct words, and their finite vectors of equal length, in an array of shape (words, dims): float32 if the
    file has at most that precision, else float64. Raise `Unreadable` if the file is invalid; the error names the line,
    or the number of the word.
    """
    file.seek(0)
    earlier_words: set[str] = set()
    for words, vectors in _word2vec_blocks(file) if media_type == WORD2VEC else blocks(file):
        _check_words(words, earlier_words)
        _check_vectors(words, vectors)
        yield words, vectors


def inspect(file: BinaryIO, media_type: str) -> JsonObject:
    """Validate an embedding and summarise it.

    The result has ``words`` and ``dims``, ``zero_vectors`` (number of words whose vector is all zero) and ``sample``
    (the first ten words).

    Raise `Unreadable` if it is not an embedding, with the line or the word.
    """
    word_count = zero_vectors = dims = 0
    sample: list[str] = []
    for words, vectors in read_embedding(file, media_type):
        word_count += len(words)
        dims = vectors.shape[1]
        zero_vectors += int((~vectors.any(axis=1)).sum())
        sample.extend(words[: 10 - len(sample)])
    if not word_count:
        raise Unreadable("the embedding has no words")
    return {"words": word_count, "dims": dims, "zero_vectors": zero_vectors, "sample": sample}


def _check_words(words: Sequence[str], earlier_words: set[str]) -> None:
    """Raise `Unreadable` for an invalid or repeated word; add the words to `earlier_words`."""
    for number, word in enumerate(words, len(earlier_words) + 1):
        has_surrogate = not word.isascii() and any("\ud800" <= character <= "\udfff" for character in word)
        is_storable = "\0" not in word and not has_surrogate
        if not 0 < len(word) <= LONGEST_WORD or not word.strip() or not is_storable:
            raise Unreadable(f"word {number:,} ({shown(word)}) is not a word of 1 to {LONGEST_WORD} characters")
        if word in earlier_words:
            raise Unreadable(f"word {number:,} ({shown(word)}) appears twice; keep one of its vectors")
        earlier_words.add(word)
    if len(earlier_words) > MOST_WORDS:
        raise Unreadable(f"more than {MOST_WORDS:,} words; leave rare ones out")


def _check_vectors(words: Sequence[str], vectors: NDArray[np.floating[Any]]) -> None:
    """Raise `Unreadable` for vectors of an invalid length or with a number that is not finite."""
    if not 0 < vectors.shape[1] <= MOST_DIMS:
        raise Unreadable(f"vectors of {vectors.shape[1]:,} numbers; the length must be 1 to {MOST_DIMS:,}")
    is_finite = np.isfinite(vectors).all(axis=1)
    if not is_finite.all():
        word = words[int(np.argmin(is_finite))]
        raise Unreadable(f"the vector of {shown(word)} contains NaN or infinity; leave the word out")


def _word2vec_blocks(file: BinaryIO) -> Iterator[tuple[list[str], NDArray[np.float64]]]:
    """Read words and vectors in blocks; raise `Unreadable` with the line number.

    A word may contain spaces: it is the text before the last `dims` numbers of its line.
    """
    refuse_other_formats(file)
    declared_count, dims = _read_header(file)
    words: list[str] = []
    vectors: list[list[float]] = []
    word_count = 0
    for line_number, text in _numbered_lines(file, has_header=declared_count is not None):
        word, numbers = _parse_line(text, line_number, dims)
        dims = dims or len(numbers)
        words.append(word)
        vectors.append(numbers)
        word_count += 1
        if len(words) == BLOCK_WORDS:
            yield words, np.array(vectors)
            words, vectors = [], []
    if words:
        yield words, np.array(vectors)
    if declared_count is not None and declared_count != word_count:
        raise Unreadable(f"the first line declares {declared_count:,} words, but {word_count:,} follow")


def _read_header(file: BinaryIO) -> tuple[int | None, int]:
    """Read the first line if it has the numbers (of words, of dimensions); else go back and return ``(None, 0)``."""
    start = file.tell()
    numbers = file.readline(64).split()  # a header is shorter than 64 bytes
    if len(numbers) == 2 and all(number.isdigit() and len(number) < 10 for number in numbers):
        count, dims = map(int, numbers)
        if dims == 0:
            raise Unreadable("the first line declares vectors of 0 numbers", line=1)
        return count, dims
    file.seek(start)
    return None, 0


def _numbered_lines(file: BinaryIO, *, has_header: bool) -> Iterator[tuple[int, str]]:
    """Yield the lines after the header, if any, that are not blank, each with its number in the file, from 1."""
    line_number = int(has_header)  # the header was read already
    while line := file.readline(LONGEST_LINE_BYTES + 1):
        line_number += 1
        if text := decode_line(line, line_number).strip(" \t\r\n"):
            yield line_number, text


def _parse_line(text: str, line_number: int, dims: int) -> tuple[str, list[float]]:
    """Split a line at blanks and tabs into its word and its numbers; ``dims=0``: the length is not known yet."""
    # split from the right, because a word may contain blanks; ``dims=0`` splits at every blank
    parts = " ".join(filter(None, text.replace("\t", " ").split(" "))).rsplit(" ", dims or -1)
    if len(parts) < 2 or (dims and len(parts) != dims + 1):
        needed = f"{dims:,} numbers" if dims else "numbers"
        raise Unreadable(f"a word and {needed} are needed, but the line has {len(parts):,} parts", line=line_number)
    word, *number_texts = parts
    try:
        return word.strip(), [float(number_text) for number_text in number_texts]
    except ValueError:
        message = f"the vector of {shown(word)} contains something that is not a number"
        raise Unreadable(message, line=line_number) from None
