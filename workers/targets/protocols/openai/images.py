"""Adapter for image generation behind OpenAI's API: an author of images for another service."""

import base64
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar, Literal, cast

from annotated_types import MaxLen, MinLen
from pydantic import Field

from assay.document import JsonObject
from assay.model import Ask, Draw, Failure, Kind, Reply
from store.formats.image import MOST_BYTES, ImageRefused
from workers.egress import CallFailed, Response
from workers.targets.parsing.answer_parsing import Misread, reply_of
from workers.targets.protocols.http.adapter import HttpAdapter, Request, as_list, dig, post_json
from workers.targets.settings import CalledSettings

SKETCH = Draw("A red circle on a white background")
"""Image requested in an examination without an experiment."""


@dataclass(frozen=True, kw_only=True)
class OpenAIImagesSettings(CalledSettings):
    """Settings of an image model behind OpenAI's interface."""

    model: Annotated[str, MinLen(1), MaxLen(200)]
    """Name of the image model."""
    size: Annotated[str, Field(pattern=r"^([1-9][0-9]{1,3}x[1-9][0-9]{1,3}|auto)$")] | None = "1024x1024"
    """Width and height in pixels, as the model offers them. Null leaves it out."""
    response_format: Literal["b64_json"] | None = "b64_json"
    """Requests the image itself. Null leaves it out, for models that refuse the field and send the image anyway."""
    quality: Annotated[str, MaxLen(20)] = ""
    """One of the qualities that the model offers; empty leaves it out."""
    send_seed: bool = False
    """Whether the number of an image is sent as its seed, for services that accept a seed; others refuse the field."""


class OpenAIImages(HttpAdapter[OpenAIImagesSettings, Ask]):
    """Adapter for ``/v1/images/generations``, with one image per call; it supports no other questions."""

    protocol: ClassVar[str] = "openai-images"
    summary: ClassVar[str] = "Images (OpenAI's interface): POST /v1/images/generations; an author, never rated itself"
    kinds: ClassVar[frozenset[Kind]] = frozenset({Kind.LANGUAGE_MODEL})
    settings_type: ClassVar[type] = OpenAIImagesSettings
    # twice the image's limit: base64 is a third longer, and some services repeat the prompt
    room: ClassVar[int] = 2 * MOST_BYTES
    notes: ClassVar[tuple[str, ...]] = (
        "an author: it draws what a service of kind image-classifier is shown; it cannot be rated itself",
        "an answer with an image's address instead of the image is refused, since nothing but the target is called",
        "an image takes long; limits.timeout_s of 120 and more are usual",
        "models that know no response_format need the setting null",
        "a 429 that says insufficient_quota ends the job; other 429s are waited for",
    )

    def _refusal(self, ask: Ask) -> Failure | None:
        return None if isinstance(ask, Draw) else Failure("unsupported", f"an image model draws; it cannot {ask.asks}")

    def _build_request(self, asks: Sequence[Ask]) -> Request:
        """Build the request for one image."""
        (ask,) = cast("Sequence[Draw]", asks)  # `_refusal` has refused other questions
        settings = self.settings
        body: JsonObject = {"model": settings.model, "prompt": ask.prompt, "n": 1}
        options = {"size": settings.size, "response_format": settings.response_format, "quality": settings.quality}
        body |= {name: option for name, option in options.items() if option}
        if settings.send_seed:
            body["seed"] = ask.number  # differs between images for one prompt
        return post_json("/v1/images/generations", body)

    def _parse_response(self, response: Response, asks: Sequence[Ask]) -> Sequence[Any]:  # noqa: ARG002 - one image a call
        """Store the image of the answer, and return its digest and size."""
        images = as_list(dig(response.json(), "data"))
        if len(images) != 1:
            raise Misread(f"gave {len(images)} images where one was asked for", "wrong-count")
        image = images[0] if isinstance(images[0], dict) else {}
        image_text = image.get("b64_json")
        if not (isinstance(image_text, str) and image_text) and not image.get("url"):
            raise Misread("answered JSON without 'data.0.b64_json'; is it this protocol?")
        # an address without an image fails this question only
        return [reply_of(lambda: self._stored_image(image_text), response.origin)]

    def _stored_image(self, image_text: object) -> JsonObject:
        """Store the image; return its digest, media type and size."""
        if not (isinstance(image_text, str) and image_text):
            message = "returned the address of an image, which is not called; expected the image"
            raise Misread(f"{message}. Ask for response_format b64_json", "image-elsewhere")
        if self._egress.library is None:
            raise CallFailed("unsupported", "this process cannot store images")
        try:
            content = base64.b64decode(image_text, validate=True)
        except ValueError:  # raised for invalid base64
            raise Misread("returned a text that is not an image in base64", "not-an-image") from None
        try:
            facts = self._egress.library.keep_image(content)
        except ImageRefused as refused:
            raise Misread(f"drew an image that cannot be stored: {refused}", refused.code) from None
        return {"image": facts.digest, "media_type": facts.media_type, "width": facts.width, "height": facts.height}

    def _validate_answer(self, answer: Any, ask: Ask, origin: str) -> Reply:  # noqa: ARG002 - signature of `HttpAdapter`
        raise AssertionError("a drawn image is a reply already")  # pragma: no cover
