"""Small images of ours to try a service with: plain shapes, drawn here and never kept."""

from __future__ import annotations

import io
from collections.abc import Mapping
from functools import cache

from PIL import Image, ImageDraw

from store.formats.image import digest_of_image

SIDE = 224
"""Pixels, which is what most classifiers scale images to."""

SHAPES = ("red circle", "green square", "blue triangle")
"""What is on them, in order; also the labels that are asked about where there is no experiment."""

QUESTION = "Which coloured shape is in the picture?"


@cache
def sample_images() -> Mapping[str, bytes]:
    """Draw them: PNG files by their digests, in the order of `SHAPES`."""
    drawn = [_drawn(*shape.split()) for shape in SHAPES]
    return {digest_of_image(content): content for content in drawn}


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
