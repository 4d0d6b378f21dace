"""Built-in sample images: plain shapes, drawn in memory and never stored."""

from __future__ import annotations

import io
from collections.abc import Mapping
from functools import cache

from PIL import Image, ImageDraw

from store.formats.image import digest_of_image

SIDE = 224
"""Width and height in pixels, the input size of most classifiers."""

SHAPES = ("red circle", "green square", "blue triangle")
"""Contents of the images, in order; also the labels of questions without an experiment."""

QUESTION = "Which coloured shape is in the picture?"


@cache
def sample_images() -> Mapping[str, bytes]:
    """Return the PNG files by their digests, in the order of `SHAPES`."""
    images = [_drawn(*shape.split()) for shape in SHAPES]
    return {digest_of_image(content): content for content in images}


def _drawn(colour: str, shape: str) -> bytes:
    image = Image.new("RGB", (SIDE, SIDE), "white")
    pen, near, far = ImageDraw.Draw(image), SIDE // 5, SIDE - SIDE // 5
    match shape:
        case "circle":
            pen.ellipse((near, near, far, far), fill=colour)
        case "square":
            pen.rectangle((near, near, far, far), fill=colour)
        case _:
            pen.polygon(((SIDE // 2, near), (far, far), (near, far)), fill=colour)
    file = io.BytesIO()
    image.save(file, "PNG")
    return file.getvalue()
