"""Images: what a file is, checked by decoding all of it, within limits that are known before the pixels are."""

from __future__ import annotations

import io
import struct
import zlib
from collections.abc import Mapping
from dataclasses import dataclass
from hashlib import sha256
from threading import BoundedSemaphore

from PIL import Image

from assay.errors import SpecificationError

MOST_BYTES = 10_000_000
"""Of a file."""

MOST_PIXELS = 40_000_000
"""Of an image: few bytes can ask for many."""

MEDIA_TYPES: Mapping[str, str] = {
    "PNG": "image/png",
    "JPEG": "image/jpeg",
    "MPO": "image/jpeg",  # a JPEG with further pictures behind it, as cameras write; the first is what is seen
    "WEBP": "image/webp",
    "GIF": "image/gif",
}
"""What can be read, by Pillow's names."""

_BEGINNINGS: Mapping[bytes, str] = {b"\x89PNG\r\n": "PNG", b"\xff\xd8\xff": "JPEG", b"RIFF": "WEBP", b"GIF8": "GIF"}
_FORMATS = ("PNG", "JPEG", "WEBP", "GIF")
_MOVING = frozenset({"PNG", "WEBP", "GIF"})
_TOO_MANY_PIXELS = (Image.DecompressionBombError, Image.DecompressionBombWarning)
_UNREADABLE = (
    *(ArithmeticError, AttributeError, EOFError, LookupError, OSError, SyntaxError, TypeError, ValueError),
    *(struct.error, zlib.error),
)
"""What Pillow raises at files that are not what they begin as, its documented errors and its slips."""

_DECODING = BoundedSemaphore(2)
"""The largest image takes some 160 MB while it is decoded, so that not many are at a time."""


class ImageRefused(SpecificationError):
    """A file is no image, or none that is kept.

    Parameters
    ----------
    code : str
        ``not-an-image``, ``damaged-image``, ``image-too-large`` or ``moving-image``.
    message : str
        What was seen and what would do.
    """

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code = code


@dataclass(frozen=True, slots=True)
class ImageFacts:
    """What an image is known by.

    Attributes
    ----------
    digest : str
        ``sha256:`` and the hexadecimal digest of the file's bytes.
    media_type : str
        ``image/png``, ``image/jpeg``, ``image/webp`` or ``image/gif``.
    width, height : int
        Pixels.
    """

    digest: str
    media_type: str
    width: int
    height: int


def digest_of_image(content: bytes) -> str:
    """Name an image by what its file holds."""
    return f"sha256:{sha256(content).hexdigest()}"


def read_image(content: bytes) -> ImageFacts:
    """Make sure that a file is one whole picture, and say what it is.

    The pixels are decoded, so that whoever is shown the image later is shown all of it.

    Parameters
    ----------
    content : bytes
        A PNG, JPEG, WebP or GIF of at most `MOST_BYTES` and `MOST_PIXELS`.

    Raises
    ------
    ImageRefused
        If it is anything else.
    """
    if len(content) > MOST_BYTES:
        raise ImageRefused(
            "image-too-large", f"the image has {len(content):,} bytes; at most {MOST_BYTES:,} are taken, so scale it"
        )
    with _opened(content) as image:
        kind, (width, height) = str(image.format), image.size
        if width * height > MOST_PIXELS:
            raise _too_many_pixels(f"{width:,} x {height:,}")
        if kind in _MOVING and _moves(image):
            raise ImageRefused("moving-image", "the file holds several pictures, one after the other; send one of them")
        with _DECODING:
            _decode(image, kind)
    return ImageFacts(digest_of_image(content), MEDIA_TYPES[kind], width, height)


def _opened(content: bytes) -> Image.Image:
    """Read an image's head, whatever its name or the sender say that it is."""
    try:
        return Image.open(io.BytesIO(content), formats=_FORMATS)
    except _TOO_MANY_PIXELS:
        raise _too_many_pixels("far more") from None
    except _UNREADABLE:
        pass
    kind = next((name for begins, name in _BEGINNINGS.items() if content.startswith(begins)), None)
    if kind is not None:
        raise _damaged(kind)
    begins = "it is empty" if not content else f"it begins with the bytes {content[:8].hex(' ')}"
    raise ImageRefused("not-an-image", f"this is no PNG, JPEG, WebP or GIF image: {begins}")


def _moves(image: Image.Image) -> bool:
    try:
        return bool(getattr(image, "is_animated", False))
    except _UNREADABLE:
        raise _damaged(str(image.format)) from None


def _decode(image: Image.Image, kind: str) -> None:
    try:
        image.load()
    except _TOO_MANY_PIXELS:
        raise _too_many_pixels("far more") from None
    except _UNREADABLE:
        raise _damaged(kind) from None


def _damaged(kind: str) -> ImageRefused:
    return ImageRefused(
        "damaged-image", f"the file begins as a {kind} image and cannot be read to its end; it was cut or changed"
    )


def _too_many_pixels(size: str) -> ImageRefused:
    return ImageRefused(
        "image-too-large", f"the image has {size} pixels; at most {MOST_PIXELS:,} are taken, so scale it"
    )
