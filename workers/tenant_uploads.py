"""Uploads of a tenant on a worker: embeddings, copied from the database once, and images.

A folder named by the digest of its content holds one embedding; it is created atomically. Vectors are memory-mapped,
so that only the requested vectors are read.
"""

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

MAX_EMBEDDINGS = 16
"""Maximum number of embeddings on disk; the least recently used one is deleted first."""

_WORDS, _VECTORS = "words.json", "vectors.npy"


class UploadGone(AssayError):
    """The tenant of a job has no embedding with this id or digest."""

    code = "upload-gone"

    def __init__(self, upload: str) -> None:
        super().__init__(f"there is no uploaded embedding {upload!r}; it was removed, or is another tenant's")
        self.upload = upload


class ImageGone(AssayError):
    """The tenant of a job may not see the image of a question."""

    code = "image-gone"

    def __init__(self, digest: str) -> None:
        super().__init__(f"there is no image {digest[:100]!r}; it is another tenant's, or its corpus is shared no more")
        self.digest = digest


@dataclass(frozen=True)
class Embedding:
    """Row number of each word (`row_of_word`), and memory-mapped vectors of shape (words, dims), float32 or float64."""

    row_of_word: Mapping[str, int] = field(repr=False)
    vectors: NDArray[np.floating[Any]] = field(repr=False)


@dataclass(frozen=True, slots=True)
class Image:
    """Content of an image file, and its media type."""

    content: bytes = field(repr=False)
    media_type: str


@dataclass(frozen=True)
class Library:
    """Uploads and images of one tenant; `folder`, created if missing, holds copies of embeddings."""

    database: Database
    folder: Path
    tenant: str

    def embedding(self, upload_id: str) -> Embedding:
        """Open an embedding by the id or digest of its upload, or raise `UploadGone`."""
        with self.database.read() as connection:
            upload = uploads.find(connection, upload_id, self.tenant, "embedding")
        if upload is None:
            raise UploadGone(upload_id)
        folder = self.folder / upload.digest.removeprefix("sha256:")
        if not folder.is_dir():
            self._fetch_copy(upload, folder)
        folder.touch()  # marks it as the most recently used
        return _open_copy(folder)

    def image(self, digest: str) -> Image:
        """Read an image of the tenant or of a shared corpus, or raise `ImageGone`."""
        with self.database.read() as connection:
            stored_image = images.find(connection, digest, self.tenant)
        if stored_image is None:
            raise ImageGone(digest)
        return Image(stored_image.content, stored_image.media_type)

    def keep_image(self, content: bytes) -> ImageFacts:
        """Store an image of the tenant unless it is stored already; raise `ImageRefused` for an invalid one."""
        facts = read_image(content)
        with self.database.write() as connection:
            images.keep(connection, self.tenant, content, facts)
        return facts

    def _fetch_copy(self, upload: StoredUpload, folder: Path) -> None:
        """Copy an upload to a temporary folder, and rename this when complete, so that no other worker reads a part."""
        self.folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=self.folder, prefix=".making-") as temporary_folder:
            with tempfile.TemporaryFile(dir=temporary_folder) as file:
                with self.database.read() as connection:
                    complete = uploads.copy_to(connection, upload.id, file)
                if not complete:
                    raise UploadGone(upload.id)
                new_copy = Path(temporary_folder) / "made"
                new_copy.mkdir()
                _write_copy(file, upload, new_copy)
            try:
                new_copy.rename(folder)
            except OSError:
                if not folder.is_dir():  # if it is a directory, another worker created the same copy first
                    raise
        self._delete_old_copies(folder)

    def _delete_old_copies(self, newest: Path) -> None:
        """Delete the least recently used copies; a worker that uses a copy keeps its files open."""
        older_copies = [copy for copy in self.folder.iterdir() if not copy.name.startswith(".") and copy != newest]
        excess_count = max(0, len(older_copies) + 1 - MAX_EMBEDDINGS)  # `newest` counts as well
        for copy in sorted(older_copies, key=_used_at)[:excess_count]:
            shutil.rmtree(copy, ignore_errors=True)


def _write_copy(file: BinaryIO, upload: StoredUpload, folder: Path) -> None:
    """Parse an embedding in pieces, and write its words as JSON and its vectors as one memory-mapped array."""
    shape = int(upload.summary["words"]), int(upload.summary["dims"])
    words: list[str] = []
    vectors: Any = None
    for new_words, new_vectors in read_embedding(file, upload.media_type):
        if vectors is None:
            vectors = np.lib.format.open_memmap(folder / _VECTORS, "w+", new_vectors.dtype, shape)
        vectors[len(words) : len(words) + len(new_words)] = new_vectors
        words.extend(new_words)
    vectors.flush()
    (folder / _WORDS).write_text(json.dumps(words), encoding="ascii")


def _open_copy(folder: Path) -> Embedding:
    words = json.loads((folder / _WORDS).read_text(encoding="ascii"))
    vectors = np.load(folder / _VECTORS, mmap_mode="r", allow_pickle=False)
    return Embedding({word: row for row, word in enumerate(words)}, vectors)


def _used_at(folder: Path) -> float:
    try:
        return folder.stat().st_mtime
    except FileNotFoundError:  # another worker has removed it
        return 0.0
