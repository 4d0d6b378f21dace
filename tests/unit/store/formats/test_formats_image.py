"""Tests of image validation: accepted formats, limits and damaged files."""

import base64
import contextlib
import io
import struct
import zlib
from hashlib import sha256

import numpy as np
import pytest
from PIL import Image

from store.formats.image import MOST_BYTES, MOST_PIXELS, ImageFacts, ImageRefused, read_image

KINDS = {"PNG": "image/png", "JPEG": "image/jpeg", "WEBP": "image/webp", "GIF": "image/gif"}


def picture(width: int = 64, height: int = 48, seed: int = 1) -> Image.Image:
    pixels = np.random.Generator(np.random.PCG64(seed)).integers(0, 256, (height, width, 3), dtype=np.uint8)
    return Image.fromarray(pixels)


def encoded(kind: str, image: Image.Image | None = None, **options) -> bytes:
    file = io.BytesIO()
    (image or picture()).save(file, kind, **options)
    return file.getvalue()


def png_of(width: int, height: int) -> bytes:
    """Return a small PNG that declares a large size."""

    def chunk(name: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))

    head = struct.pack(">IIBBBBB", width, height, 8, 0, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + chunk(b"IDAT", zlib.compress(b"")) + chunk(b"IEND", b"")


def refusal(content: bytes) -> ImageRefused:
    with pytest.raises(ImageRefused) as caught:
        read_image(content)
    return caught.value


@pytest.mark.parametrize(("kind", "media_type"), KINDS.items())
def test_reading_an_image_gives_its_digest_media_type_width_and_height(kind, media_type):
    content = encoded(kind)
    assert read_image(content) == ImageFacts(f"sha256:{sha256(content).hexdigest()}", media_type, 64, 48)


@pytest.mark.parametrize("kind", KINDS)
def test_truncated_image_is_refused(kind):
    content = encoded(kind)
    for cut in range(12, len(content) - 64, max(1, len(content) // 50)):  # bytes after the last pixel do not matter
        assert refusal(content[:cut]).code in {"damaged-image", "not-an-image"}
    assert refusal(content[: len(content) // 2]).code == "damaged-image"


@pytest.mark.parametrize("kind", KINDS)
def test_randomly_damaged_image_is_either_read_or_refused(kind):
    content, rng = encoded(kind), np.random.Generator(np.random.PCG64(3))
    for _ in range(300):
        changed = bytearray(content)
        for place in rng.integers(0, min(len(changed), rng.choice([40, 400, len(changed)])), rng.integers(1, 6)):
            changed[place] = rng.integers(0, 256)
        with contextlib.suppress(ImageRefused):
            assert read_image(bytes(changed)).width > 0


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"a picture of a nurse",
        b"<svg xmlns='http://www.w3.org/2000/svg'/>",
        b"%PDF-1.7",
        b"BM" + b"\0" * 60,
        b"\0" * 99,
    ],
    ids=["nothing", "text", "svg", "pdf", "bmp", "zeros"],
)
def test_file_that_is_not_an_image_is_refused(content):
    assert refusal(content).code == "not-an-image"


def test_unsupported_image_format_is_refused_even_if_pillow_reads_it():
    assert refusal(encoded("TIFF")).code == "not-an-image"


@pytest.mark.parametrize(("width", "height"), [(8_000, 5_001), (50_000, 50_000), (2**31 - 1, 2**31 - 1)])
def test_image_with_too_many_pixels_is_refused_before_decoding(width, height):
    content = png_of(width, height)
    assert len(content) < 100
    refused = refusal(content)
    assert refused.code == "image-too-large"
    assert f"{MOST_PIXELS:,}" in str(refused)


def test_too_large_image_file_is_refused():
    assert refusal(encoded("PNG") + b"\0" * MOST_BYTES).code == "image-too-large"


@pytest.mark.parametrize("kind", ["GIF", "PNG", "WEBP"])
def test_animated_image_is_refused(kind):
    content = encoded(kind, picture(), save_all=True, append_images=[picture(seed=2), picture(seed=3)])
    assert refusal(content).code == "moving-image"


def test_png_with_a_decompression_bomb_in_its_text_is_refused():
    content = encoded("PNG", Image.new("L", (1, 1)))
    text = b"zTXt" + b"Comment\0\0" + zlib.compress(b"\0" * 100_000_000)
    packed = struct.pack(">I", len(text) - 4) + text + struct.pack(">I", zlib.crc32(text))
    assert refusal(content[:33] + packed + content[33:]).code in {"not-an-image", "damaged-image"}


def thumbnail(content: bytes) -> tuple[Image.Image, int]:
    """Return the thumbnail of an image file, and its size in bytes."""
    head, _, written = (read_image(content).thumbnail or "").partition(",")
    assert head == "data:image/webp;base64"
    small = base64.b64decode(written)
    return Image.open(io.BytesIO(small)), len(small)


@pytest.mark.parametrize("mode", ["1", "L", "LA", "P", "RGB", "RGBA", "CMYK"])
def test_thumbnail_of_every_kind_of_picture_has_at_most_64_pixels_and_3_kb(mode):
    content = encoded("JPEG" if mode == "CMYK" else "PNG", picture(400, 200).convert(mode))
    small, size = thumbnail(content)
    assert (small.size, size <= 3_000) == ((64, 32), True)


def test_picture_with_16_bits_per_pixel_is_accepted_without_a_thumbnail():
    assert read_image(encoded("PNG", picture().convert("L").convert("I;16"))).thumbnail is None


def test_thumbnail_shows_the_picture_on_a_white_background_and_has_no_metadata():
    image = Image.new("RGBA", (300, 300), (0, 0, 0, 0))
    image.paste((200, 30, 30, 255), (0, 0, 150, 300))
    exif = Image.Exif()
    exif[0x010E] = "taken at home"
    small, _ = thumbnail(encoded("PNG", image, exif=exif, icc_profile=b"a profile" * 99))
    left, right = small.convert("RGB").getpixel((16, 32)), small.convert("RGB").getpixel((48, 32))
    assert max(abs(a - b) for a, b in zip(left + right, (200, 30, 30, 255, 255, 255), strict=True)) < 12
    assert not {"exif", "icc_profile"} & small.info.keys()
