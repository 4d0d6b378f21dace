"""Validation of image files: format, size and a complete decoding, with limits checked before decoding."""

import base64
import io
import struct
import tempfile
import zlib
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from hashlib import sha256
from typing import BinaryIO

from PIL import Image

from assay.document import JsonObject
from assay.errors import SpecificationError
from store.formats.limited import run_limited
from store.formats.refusal import Unreadable

MOST_BYTES = 10_000_000
"""Maximum size of an image file, in bytes."""

MOST_PIXELS = 40_000_000
"""Maximum number of pixels of an image; a small file can declare many more."""

MOST_PIXELS_IN_PROCESS = 4_000_000
"""Maximum number of pixels of an image that this process decodes (16 MB); a child process decodes larger ones."""

THUMBNAIL_PIXELS, THUMBNAIL_BYTES = 64, 3_000
"""Maximum width and height of a thumbnail in pixels, and maximum size of its file in bytes."""

MEDIA_TYPES: Mapping[str, str] = {
    "PNG": "image/png",
    "JPEG": "image/jpeg",
    "MPO": "image/jpeg",  # an MPO file of a camera is a JPEG with more pictures after it; the first one is shown
    "WEBP": "image/webp",
    "GIF": "image/gif",
}
"""Media types of the supported formats, by Pillow's names."""

_SIGNATURES: Mapping[bytes, str] = {b"\x89PNG\r\n": "PNG", b"\xff\xd8\xff": "JPEG", b"RIFF": "WEBP", b"GIF8": "GIF"}
_FORMATS = ("PNG", "JPEG", "WEBP", "GIF")
_ANIMATED_FORMATS = frozenset({"PNG", "WEBP", "GIF"})
_TOO_MANY_PIXELS = (Image.DecompressionBombError, Image.DecompressionBombWarning)
_UNREADABLE = (
    *(ArithmeticError, AttributeError, EOFError, LookupError, OSError, SyntaxError, TypeError, ValueError),
    *(struct.error, zlib.error),
)
"""Errors that Pillow raises for damaged files, documented and undocumented."""


class ImageRefused(SpecificationError):
    """A file is not an image, or is an image that is not accepted.

    `code` is ``not-an-image``, ``damaged-image``, ``image-too-large`` or ``moving-image``.
    """

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code = code


@dataclass(frozen=True, slots=True)
class ImageFacts:
    """Digest (``sha256:…`` of the file's bytes), media type (``image/png`` …) and size in pixels of an image.

    `thumbnail` is a ``data:`` address of the image within `THUMBNAIL_PIXELS` pixels, or ``None`` if it cannot be made.
    """

    digest: str
    media_type: str
    width: int
    height: int
    thumbnail: str | None = field(default=None, compare=False, repr=False)


def digest_of_image(content: bytes) -> str:
    """Return the SHA-256 digest of an image file."""
    return f"sha256:{sha256(content).hexdigest()}"


def read_image(content: bytes) -> ImageFacts:
    """Validate that a file is one complete picture, and return its facts; large images are decoded in a child process.

    The file must be a PNG, JPEG, WebP or GIF of at most `MOST_BYTES` and `MOST_PIXELS`. All pixels are decoded, so that
    a damaged image is found now and not when it is shown.

    Raise `ImageRefused` for any other file.
    """
    if len(content) <= MOST_BYTES:
        with _open_image(content) as image:
            width, height = image.size
        if MOST_PIXELS_IN_PROCESS < width * height <= MOST_PIXELS:
            return _read_in_child(content)
    return _read_in_this_process(content)  # which also refuses images that are too large


def read_whole_image(file: BinaryIO) -> JsonObject:
    """Validate an image in this process, and return its `ImageFacts` as a JSON object."""
    return asdict(_read_in_this_process(file.read()))


def _read_in_child(content: bytes) -> ImageFacts:
    """Validate an image in a child process with limits."""
    with tempfile.TemporaryFile(prefix="assay-image-") as file:
        file.write(content)
        try:
            return ImageFacts(**run_limited("image", file))
        except Unreadable as error:
            at_limit = error.code == Unreadable.code  # other refusals have a code of `ImageRefused`
            raise ImageRefused("image-too-large" if at_limit else error.code, str(error)) from None


def _read_in_this_process(content: bytes) -> ImageFacts:
    """Validate the size and decode all pixels of an image in this process."""
    if len(content) > MOST_BYTES:
        message = f"the image has {len(content):,} bytes; the maximum is {MOST_BYTES:,}, so scale it down"
        raise ImageRefused("image-too-large", message)
    with _open_image(content) as image:
        image_format, (width, height) = str(image.format), image.size
        if width * height > MOST_PIXELS:
            raise _too_many_pixels(f"{width:,} x {height:,}")
        if image_format in _ANIMATED_FORMATS and _is_animated(image):
            raise ImageRefused("moving-image", "the file contains several pictures (an animation); send one of them")
        _check_decodes(image, image_format)
        thumbnail = _thumbnail(image)
    return ImageFacts(digest_of_image(content), MEDIA_TYPES[image_format], width, height, thumbnail)


def _thumbnail(image: Image.Image) -> str | None:
    """Make a small image on white, without metadata; return ``None`` if it cannot be made (as for 16-bit greys)."""
    if image.mode[0] in "IF":  # pixels are integers or floats of 16 or 32 bits
        return None
    try:
        image.thumbnail((THUMBNAIL_PIXELS, THUMBNAIL_PIXELS))
        pixels = image.convert("RGBA")
    except _UNREADABLE:
        return None
    background = Image.new("RGB", pixels.size, "white")
    background.paste(pixels, mask=pixels)
    for quality in (70, 20, 0):  # until the file is small enough
        background.save(file := io.BytesIO(), "WEBP", quality=quality)
        if file.tell() <= THUMBNAIL_BYTES:
            return f"data:image/webp;base64,{base64.b64encode(file.getvalue()).decode('ascii')}"
    return None


def _open_image(content: bytes) -> Image.Image:
    """Open an image by its content; the file name and the declared type are ignored."""
    try:
        return Image.open(io.BytesIO(content), formats=_FORMATS)
    except _TOO_MANY_PIXELS:
        raise _too_many_pixels("far more") from None
    except _UNREADABLE:
        pass
    for signature, image_format in _SIGNATURES.items():
        if content.startswith(signature):
            raise _damaged_image(image_format)
    beginning = "it is empty" if not content else f"it begins with the bytes {content[:8].hex(' ')}"
    raise ImageRefused("not-an-image", f"this is not a PNG, JPEG, WebP or GIF image: {beginning}")


def _is_animated(image: Image.Image) -> bool:
    try:
        return bool(getattr(image, "is_animated", False))
    except _UNREADABLE:
        raise _damaged_image(str(image.format)) from None


def _check_decodes(image: Image.Image, image_format: str) -> None:
    """Decode all pixels; raise `ImageRefused` if that fails."""
    try:
        image.load()
    except _TOO_MANY_PIXELS:
        raise _too_many_pixels("far more") from None
    except _UNREADABLE:
        raise _damaged_image(image_format) from None


def _damaged_image(image_format: str) -> ImageRefused:
    message = f"the file starts as a {image_format} image but cannot be read completely; it is truncated or damaged"
    return ImageRefused("damaged-image", message)


def _too_many_pixels(size: str) -> ImageRefused:
    message = f"the image has {size} pixels; the maximum is {MOST_PIXELS:,}, so scale it down"
    return ImageRefused("image-too-large", message)
