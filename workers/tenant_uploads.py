"""What a tenant has sent, at a worker: embeddings, copied out of the database once, and images.

A folder holds one embedding under the digest of its content, so that what is there is right for
ever; it appears whole or not at all. Vectors are mapped and not loaded: only those that are asked
for are read.
"""

from __future__ import annotations

import json
import shutil
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

from assay.errors import AssayError
from store.core.database import Database
from store.corpora import images, uploads
from store.corpora.uploads import StoredUpload
from store.formats.embedding import read_embedding
from store.formats.image import ImageFacts, read_image

KEPT = 16
"""Embeddings that stay in the folder; the one that was not used for longest goes first."""

_WORDS, _VECTORS = "words.json", "vectors.npy"


class UploadGone(AssayError):
    """A job names an upload that its tenant does not have, or no longer."""

    code = "upload-gone"

    def __init__(self, named: str) -> None:
        super().__init__(f"there is no uploaded embedding {named!r}; it was removed, or is another tenant's")
        self.named = named


class ImageGone(AssayError):
    """A question is about an image that its tenant may not see, or no longer."""

    code = "image-gone"

    def __init__(self, digest: str) -> None:
        super().__init__(f"there is no image {digest[:100]!r}; it is another tenant's, or its corpus is shared no more")
        self.digest = digest


@dataclass(frozen=True)
class Embedding:
    """Words and their vectors.

    Attributes
    ----------
    places : mapping of str to int
        Row of each word.
    vectors : ndarray, shape (words, dims)
        float32 or float64, read from disk where they are used.
    """

    places: Mapping[str, int] = field(repr=False)
    vectors: NDArray[np.floating[Any]] = field(repr=False)


@dataclass(frozen=True, slots=True)
class Image:
    """An image as its file holds it, and its media type."""

    content: bytes = field(repr=False)
    media_type: str


@dataclass(frozen=True)
class Library:
    """The uploads and images that one tenant's jobs may use.

    Parameters
    ----------
    database : Database
        Where they are kept.
    folder : Path
        Where copies of embeddings are kept; made if it is not there.
    tenant : str
        Whose uploads and images may be read, and whose are kept.
    """

    database: Database
    folder: Path
    tenant: str

    def embedding(self, named: str) -> Embedding:
        """Open an embedding by its upload's id or digest.

        Raises
        ------
        UploadGone
            If the tenant has none.
        """
        with self.database.read() as c:
            upload = uploads.find(c, named, self.tenant, "embedding")
        if upload is None:
            raise UploadGone(named)
        place = self.folder / upload.digest.removeprefix("sha256:")
        if not place.is_dir():
            self._fetch(upload, place)
        place.touch()  # what was used last is kept longest
        return _open(place)

    def image(self, digest: str) -> Image:
        """Read a kept image: the tenant's own, or one of a shared corpus.

        Raises
        ------
        ImageGone
            If the tenant may see none.
        """
        with self.database.read() as c:
            kept = images.find(c, digest, self.tenant)
        if kept is None:
            raise ImageGone(digest)
        return Image(kept.content, kept.media_type)

    def keep_image(self, content: bytes) -> ImageFacts:
        """Keep an image as the tenant's own, unless it is there already.

        Raises
        ------
        ImageRefused
            If it is no image, or not one that is kept.
        """
        facts = read_image(content)
        with self.database.write() as c:
            images.keep(c, self.tenant, content, facts)
        return facts

    def _fetch(self, upload: StoredUpload, place: Path) -> None:
        self.folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=self.folder, prefix=".making-") as making:
            with tempfile.TemporaryFile(dir=making) as file:
                with self.database.read() as c:
                    whole = uploads.copy_to(c, upload.id, file)
                if not whole:
                    raise UploadGone(upload.id)
                made = Path(making) / "made"
                made.mkdir()
                _write(file, upload, made)
            try:
                made.rename(place)
            except OSError:
                if not place.is_dir():  # else another worker was faster, and has made the same
                    raise
        self._tidy(place)

    def _tidy(self, newest: Path) -> None:
        """Remove what was not used for longest; a worker that reads it has it open."""
        there = [each for each in self.folder.iterdir() if not each.name.startswith(".") and each != newest]
        for each in sorted(there, key=_used_at)[: max(0, len(there) + 1 - KEPT)]:
            shutil.rmtree(each, ignore_errors=True)


def _write(file: BinaryIO, upload: StoredUpload, place: Path) -> None:
    """Write words and vectors in the form they are opened in."""
    shape = int(upload.summary["words"]), int(upload.summary["dims"])
    words: list[str] = []
    vectors: Any = None
    for some, numbers in read_embedding(file, upload.media_type):
        if vectors is None:
            vectors = np.lib.format.open_memmap(place / _VECTORS, "w+", numbers.dtype, shape)
        vectors[len(words) : len(words) + len(some)] = numbers
        words.extend(some)
    vectors.flush()
    (place / _WORDS).write_text(json.dumps(words), encoding="ascii")


def _open(place: Path) -> Embedding:
    words = json.loads((place / _WORDS).read_text(encoding="ascii"))
    vectors = np.load(place / _VECTORS, mmap_mode="r", allow_pickle=False)
    return Embedding({word: row for row, word in enumerate(words)}, vectors)


def _used_at(place: Path) -> float:
    try:
        return place.stat().st_mtime
    except FileNotFoundError:  # another worker has removed it
        return 0.0
