"""The LibreTranslate protocol, as far as a translator needs it: translation orders and their answers.

The other protocols (`demo.interfaces.predictors`) also use its functions to read JSON and to refuse requests.
"""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import parse_qs

from starlette.requests import Request
from starlette.responses import JSONResponse

from assay.catalog import languages
from assay.document import Json, JsonObject
from demo.predictors.prediction import Predictor

FORM = "application/x-www-form-urlencoded"
MOST_BYTES = 4 * 1024 * 1024
"""Largest body that is read."""


class BadRequest(Exception):
    """A request that cannot be answered; `status` is the HTTP status of the refusal."""

    def __init__(self, message: str, status: int = 400) -> None:
        super().__init__(message)
        self.status = status


@dataclass(frozen=True, slots=True)
class Order:
    """A translation order: texts and languages."""

    texts: tuple[str, ...]
    """One text, or several if an array was sent."""
    source: str
    """Language code of the texts, one of `languages`."""
    target: str
    """Language code of the translation, one of `languages`; it or `source` is ``"en"``."""
    as_array: bool
    """Whether the answer must be an array."""

    def response(self, texts: Sequence[str]) -> JSONResponse:
        """Answer with the translations, in the form of the request: an array or one text."""
        return JSONResponse({"translatedText": list(texts) if self.as_array else "".join(texts)})


def error_response(message: str, status: int) -> JSONResponse:
    """Answer with an error as LibreTranslate writes it."""
    return JSONResponse({"error": message}, status)


def language_list() -> list[JsonObject]:
    """Return the list of languages (``GET /languages``): English, and the made-up language of each other code."""
    made_up = [code for code in languages() if code != "en"]
    english = {"code": "en", "name": "English", "targets": made_up}
    return [english, *({"code": code, "name": f"{languages()[code]} (made up)", "targets": ["en"]} for code in made_up)]


async def read_order(request: Request) -> Order:
    """Read a translation order from JSON or a form; raise `BadRequest` if it is invalid.

    ``format`` and ``api_key`` are accepted and change nothing. A form with several ``q`` counts as an array.
    """
    body = await _read_body(request)
    fields = _read_form(body) if request.headers.get("content-type", "").startswith(FORM) else _read_json_object(body)
    q, source, target = (require(fields, name) for name in ("q", "source", "target"))
    texts = tuple(q) if isinstance(q, list) else (q,)
    if not all(isinstance(text, str) for text in (*texts, source, target)):
        raise BadRequest("'q' must be a text or an array of texts, 'source' and 'target' must be codes")
    for code in (source, target):
        if code not in languages():
            raise BadRequest(f"{code!r} is not supported; see /languages")
    if (source == "en") == (target == "en"):
        raise BadRequest(f"no translation from {source!r} to {target!r}: one of the two must be 'en'")
    return Order(texts, source, target, isinstance(q, list))


async def read_json(request: Request) -> JsonObject:
    """Read a JSON object; raise `BadRequest` if the body is not one, or too large."""
    return _read_json_object(await _read_body(request))


async def _read_body(request: Request) -> str:
    """Read the body as text; raise `BadRequest` if it has more than `MOST_BYTES`."""
    body = bytearray()
    async for chunk in request.stream():
        body += chunk
        if len(body) > MOST_BYTES:
            raise BadRequest(f"the body has more than {MOST_BYTES} bytes", 413)
    try:
        return body.decode()
    except UnicodeDecodeError:
        raise BadRequest("the body is not UTF-8") from None


def _read_form(body: str) -> JsonObject:
    try:
        fields = parse_qs(body, keep_blank_values=True, errors="strict")
    except UnicodeDecodeError:
        raise BadRequest("the form is not UTF-8") from None
    return {name: values if len(values) > 1 else values[0] for name, values in fields.items()}


def _read_json_object(body: str) -> JsonObject:
    try:
        fields = json.loads(body)
        # raises for an escaped lone surrogate, which an answer in UTF-8 cannot contain
        json.dumps(fields, ensure_ascii=False).encode()
    except (ValueError, RecursionError):
        raise BadRequest("the body is not JSON in UTF-8") from None
    if not isinstance(fields, dict):
        raise BadRequest("the body must be a JSON object")
    return fields


def require(fields: Json, name: str) -> Any:
    """Return a field of a request; raise `BadRequest` if it is missing."""
    if name not in fields:
        raise BadRequest(f"{name!r} is missing")
    return fields[name]


def model_name(body: Json) -> str:
    """Return the name of the model in a request; raise `BadRequest` if there is none."""
    name = require(body, "model")
    if not isinstance(name, str) or not name:
        raise BadRequest("'model' must be a name")
    return name


def unsupported(predictor: Predictor, protocol: str) -> BadRequest:
    """Make the error for a service that does not speak a protocol."""
    return BadRequest(f"{predictor.name} does not speak {protocol} but {' and '.join(predictor.protocols)}", 404)
