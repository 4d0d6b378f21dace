"""Interfaces of services that draw pictures and of image classifiers, in the form of `demo.interfaces.predictors`."""

import base64
import binascii
import math
import re
from collections.abc import Sequence
from typing import Any

from assay.document import Json, JsonObject
from demo.images.viewers import SIDE, NoPicture, Painter, ViewedPicture, Viewer, draw, labels_in, see
from demo.interfaces.language_models import chat_completion, options_in
from demo.interfaces.libretranslate import BadRequest, require, unsupported
from demo.predictors.prediction import Predictor

MOST_PICTURES = 10
MOST_SIDE = 1024
"""Maximum width and height, in pixels."""

_SIZE = re.compile(r"([1-9]\d{1,3})x([1-9]\d{1,3})", re.ASCII)
_DATA_URL = re.compile(r"data:image/[\w.+-]+;base64,(.*)", re.ASCII | re.DOTALL)


def images(predictor: Predictor, body: Json) -> JsonObject:
    """Answer ``POST /v1/images/generations``; a seed, if sent, selects one of the prompt's pictures."""
    if not isinstance(predictor, Painter):
        raise unsupported(predictor, "openai-images")
    prompt, count, seed = require(body, "prompt"), body.get("n") or 1, body.get("seed")
    if not isinstance(prompt, str) or not prompt.strip():
        raise BadRequest("'prompt' must be a text")
    if type(count) is not int or not 1 <= count <= MOST_PICTURES or not (seed is None or type(seed) is int):
        raise BadRequest(f"'n' must be 1 to {MOST_PICTURES}, 'seed' a whole number")
    side = _read_side(body.get("size") or f"{SIDE}x{SIDE}")
    numbers = [predictor.next_number(prompt) if seed is None else seed + offset for offset in range(count)]
    return {"created": 0, "data": [_painted_image(predictor, prompt, number, side) for number in numbers]}


def _read_side(size: object) -> int:
    match = _SIZE.fullmatch(size) if isinstance(size, str) and size != "auto" else None
    if size != "auto" and (match is None or match[1] != match[2] or int(match[1]) > MOST_SIDE):
        raise BadRequest(f"'size' must be auto or a square of at most {MOST_SIDE}x{MOST_SIDE}")
    return int(match[1]) if match else SIDE


def _painted_image(painter: Painter, prompt: str, number: int, side: int) -> JsonObject:
    if painter.gives == "address":
        return {"url": f"https://pictures.invalid/{abs(number)}.png"}
    content = b"no picture" if painter.gives == "text" else draw(prompt, number, side)
    return {"b64_json": base64.b64encode(content).decode()}


def inference(viewer: Viewer, body: Json) -> list[JsonObject]:
    """Classify an image if there are labels, answer a question if there is one, or return a caption."""
    inputs, parameters = require(body, "inputs"), body.get("parameters") or {}
    if not isinstance(parameters, dict):
        raise BadRequest("'parameters' must be an object")
    if isinstance(inputs, dict):
        return _answers_to(viewer, _read_picture(require(inputs, "image")), require(inputs, "question"), parameters)
    picture = _read_picture(inputs)
    if "candidate_labels" not in parameters:
        return [{"generated_text": viewer.caption(picture)}]
    labels = _read_labels(parameters["candidate_labels"])
    label_scores = zip(labels, viewer.probabilities(picture, labels), strict=True)
    return [{"label": label, "score": score} for label, score in _rank_labels(label_scores)]


def _answers_to(viewer: Viewer, picture: ViewedPicture, question: object, parameters: Json) -> list[JsonObject]:
    top_k = parameters.get("top_k", 5)
    if not isinstance(question, str) or not question.strip() or type(top_k) is not int or top_k < 1:
        raise BadRequest("'question' must be a text, and 'top_k' a whole number from 1")
    labels = labels_in(question)
    label_scores = zip(labels, viewer.answers(picture, labels, question), strict=True)
    return [{"answer": label, "score": score} for label, score in _rank_labels(label_scores)][:top_k]


def chat(viewer: Viewer, body: Json) -> JsonObject:
    """Answer ``POST /v1/chat/completions`` about the picture of the last message: a letter, a word or a caption."""
    messages, name = require(body, "messages"), require(body, "model")
    message = messages[-1] if isinstance(messages, list) and messages else {}
    content = message.get("content") if isinstance(message, dict) else None
    content_parts = [part for part in content if isinstance(part, dict)] if isinstance(content, list) else []
    texts = [str(part.get("text")) for part in content_parts if part.get("type") == "text"]
    image_parts = [part.get("image_url") for part in content_parts if part.get("type") == "image_url"]
    if len(image_parts) != 1 or not isinstance(image_parts[0], dict):
        raise BadRequest("the last message must contain one image_url and a question about it")
    match = _DATA_URL.fullmatch(str(image_parts[0].get("url")))
    if match is None:
        raise BadRequest("the image must be a data: URL in base64")
    picture, question = _read_picture(match[1]), "\n".join(texts)
    options = options_in(question)
    if not options:
        return chat_completion(str(name), viewer.caption(picture), None)
    scores = zip("ABCDEFGHIJKLMNOPQRSTUVWXYZ", viewer.answers(picture, options, question), strict=False)
    tokens = [{"token": letter, "logprob": math.log(score), "bytes": None} for letter, score in _rank_labels(scores)]
    with_logprobs = body.get("logprobs")
    logprobs = {**tokens[0], "top_logprobs": tokens[: int(body.get("top_logprobs") or 0)]} if with_logprobs else None
    return chat_completion(str(name), str(tokens[0]["token"]), logprobs)


def look(predictor: Predictor, body: Json) -> JsonObject:
    """Answer ``POST /look`` with ``image_b64`` and ``labels``: their probabilities."""
    if not isinstance(predictor, Viewer):
        raise unsupported(predictor, "custom")
    labels = _read_labels(require(body, "labels"))
    label_scores = zip(labels, predictor.probabilities(_read_picture(require(body, "image_b64")), labels), strict=True)
    return {"probabilities": dict(label_scores)}


def _read_picture(encoded: object) -> ViewedPicture:
    if not isinstance(encoded, str) or not encoded:
        raise BadRequest("an image must be a text in base64")
    try:
        return see(base64.b64decode(encoded, validate=True))
    except binascii.Error:
        raise BadRequest("the image is not in base64") from None
    except NoPicture as error:
        raise BadRequest(str(error)) from None


def _read_labels(labels: object) -> list[str]:
    if not isinstance(labels, list) or len(labels) < 2 or not all(isinstance(label, str) and label for label in labels):
        raise BadRequest("two or more labels are needed, each a text")
    return list(dict.fromkeys(labels))


def _rank_labels(label_scores: Any) -> Sequence[tuple[str, float]]:
    return sorted(label_scores, key=lambda pair: -pair[1])
