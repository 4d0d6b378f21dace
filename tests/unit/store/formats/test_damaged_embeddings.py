"""Embeddings: lines of word2vec files; (npz) damaged archives and arrays are refused as unreadable files."""

import io
import struct
import zipfile

import numpy as np
import pytest

from store.formats import NPZ, WORD2VEC, Unreadable, inspect
from store.formats.embedding import read_embedding


def saved(array) -> bytes:
    file = io.BytesIO()
    np.save(file, array)
    return file.getvalue()


def with_header(header: str, content: bytes = b"") -> bytes:
    """Return an array with a header written by hand."""
    padded = (header + " " * (-(11 + len(header)) % 64) + "\n").encode("latin1")
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(padded)) + padded + content


WORDS, VECTORS, NO_WORDS = saved(np.array(["a", "b"])), saved(np.ones((2, 3), "f4")), saved(np.array([], "<U1"))


def archive(words: bytes = WORDS, vectors: bytes = VECTORS) -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as writing:
        writing.writestr("words.npy", words)
        writing.writestr("vectors.npy", vectors)
    return file.getvalue()


def patched(position: int, replacement: bytes) -> bytes:
    """Return a sound archive with other bytes in the first entry of its table of contents."""
    content = archive()
    start = content.index(b"PK\x01\x02") + position
    return content[:start] + replacement + content[start + len(replacement) :]


DAMAGED = {
    "words without width": archive(with_header("{'descr': '<U0', 'fortran_order': False, 'shape': (), }")),
    "a negative length": archive(NO_WORDS, with_header("{'descr': '<f4', 'fortran_order': True, 'shape': (0, -3), }")),
    "a very large length": archive(
        NO_WORDS, with_header(f"{{'descr': '<f4', 'fortran_order': True, 'shape': (0, {10**23}), }}")
    ),
    "a header that ends too early": archive(with_header("{'descr': '<U1', ((( ")),
    "a deeply nested header": archive(with_header("(" * 9_000)),
    "a character beyond Unicode": archive(
        with_header("{'descr': '<U1', 'fortran_order': False, 'shape': (2,), }", struct.pack("<2I", 0x110000, 97))
    ),
    "a truth value as length": archive(
        with_header("{'descr': '<U1', 'fortran_order': False, 'shape': (True,), }", struct.pack("<I", 97)),
        saved(np.ones((1, 3), "f4")),
    ),
    "a later version of ZIP": patched(6, struct.pack("<H", 99)),
    "a name that is not UTF-8": patched(8, struct.pack("<H", 0x800) + b"\0" * 36 + b"\xff"),
}


@pytest.mark.parametrize("name", DAMAGED)
def test_a_damaged_embedding_is_refused_as_unreadable(name):
    with pytest.raises(Unreadable) as refused:
        inspect(io.BytesIO(DAMAGED[name]), "embedding", NPZ)
    assert len(str(refused.value).splitlines()) == 1


def test_the_archive_from_which_damaged_ones_are_made_is_read():
    assert inspect(io.BytesIO(archive()), "embedding", NPZ)["words"] == 2


@pytest.mark.parametrize("line", ["{} 1 2", "{}  1   2", "{}\t1\t 2 ", " {} 1 2\r"])
@pytest.mark.parametrize("word", ["he", "New\u00a0York", "\u6771\u3000\u4eac", "a\u2003b"])
def test_every_line_of_a_word2vec_file_is_split_at_blanks_and_tabs_only(line, word):
    lines = [line.format(word + end) for end in "xyz"]
    for header in ([], ["3 2"]):
        file = io.BytesIO("\n".join([*header, *lines]).encode())
        ((words, vectors),) = read_embedding(file, WORD2VEC)
        assert (words, vectors.tolist()) == ([word + end for end in "xyz"], [[1, 2]] * 3)
