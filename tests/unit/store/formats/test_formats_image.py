"""Images that are read, and everything that is refused before it could do harm."""

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
    grains = np.random.Generator(np.random.PCG64(seed)).integers(0, 256, (height, width, 3), dtype=np.uint8)
    return Image.fromarray(grains)


def filed(kind: str, image: Image.Image | None = None, **how) -> bytes:
    file = io.BytesIO()
    (image or picture()).save(file, kind, **how)
    return file.getvalue()


def png_of(width: int, height: int) -> bytes:
    """A PNG that promises many pixels in few bytes."""

    def chunk(name: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))

    head = struct.pack(">IIBBBBB", width, height, 8, 0, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + chunk(b"IDAT", zlib.compress(b"")) + chunk(b"IEND", b"")


def refusal(content: bytes) -> ImageRefused:
    with pytest.raises(ImageRefused) as caught:
        read_image(content)
    return caught.value


@pytest.mark.parametrize(("kind", "media_type"), KINDS.items())
def test_an_image_is_known_by_its_bytes_its_kind_and_its_size(kind, media_type):
    content = filed(kind)
    assert read_image(content) == ImageFacts(f"sha256:{sha256(content).hexdigest()}", media_type, 64, 48)


@pytest.mark.parametrize("kind", KINDS)
def test_an_image_that_was_cut_anywhere_is_refused(kind):
    content = filed(kind)
    for cut in range(12, len(content) - 64, max(1, len(content) // 50)):  # what follows the last pixel is no loss
        assert refusal(content[:cut]).code in {"damaged-image", "not-an-image"}
    assert refusal(content[: len(content) // 2]).code == "damaged-image"


@pytest.mark.parametrize("kind", KINDS)
def test_whatever_is_changed_in_an_image_it_is_read_or_refused_and_nothing_else_happens(kind):
    content, rng = filed(kind), np.random.Generator(np.random.PCG64(3))
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
def test_what_is_no_image_of_the_four_kinds_is_refused(content):
    assert refusal(content).code == "not-an-image"


def test_a_kind_that_is_not_taken_is_refused_whatever_pillow_can_read():
    assert refusal(filed("TIFF")).code == "not-an-image"


@pytest.mark.parametrize(("width", "height"), [(8_000, 5_001), (50_000, 50_000), (2**31 - 1, 2**31 - 1)])
def test_an_image_of_too_many_pixels_is_refused_before_they_are_made(width, height):
    content = png_of(width, height)
    assert len(content) < 100
    refused = refusal(content)
    assert refused.code == "image-too-large"
    assert f"{MOST_PIXELS:,}" in str(refused)


def test_a_file_of_too_many_bytes_is_refused():
    assert refusal(filed("PNG") + b"\0" * MOST_BYTES).code == "image-too-large"


@pytest.mark.parametrize("kind", ["GIF", "PNG", "WEBP"])
def test_a_moving_image_is_refused_since_nobody_knows_which_picture_would_be_seen(kind):
    content = filed(kind, picture(), save_all=True, append_images=[picture(seed=2), picture(seed=3)])
    assert refusal(content).code == "moving-image"


def test_a_png_with_a_text_that_unpacks_to_much_is_refused_and_not_unpacked():
    content = filed("PNG", Image.new("L", (1, 1)))
    text = b"zTXt" + b"Comment\0\0" + zlib.compress(b"\0" * 100_000_000)
    packed = struct.pack(">I", len(text) - 4) + text + struct.pack(">I", zlib.crc32(text))
    assert refusal(content[:33] + packed + content[33:]).code in {"not-an-image", "damaged-image"}
