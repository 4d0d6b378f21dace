"""Interfaces of services that draw pictures and of image classifiers, in the form of `demo.interfaces.predictors`."""

from __future__ import annotations

import base64
import binascii
import math
import re
from collections.abc import Mapping, Sequence
from typing import Any

from demo.images.viewers import SIDE, NoPicture, Painter, Seen, Viewer, draw, labels_in, see
from demo.interfaces.language_models import chat_completion, options_in
from demo.interfaces.libretranslate import BadOrder, not_spoken, required
from demo.predictors.prediction import Predictor

MOST_PICTURES = 10
MOST_SIDE = 1024
"""Maximum width and height, in pixels."""

_SIZE = re.compile(r"([1-9]\d{1,3})x([1-9]\d{1,3})", re.ASCII)
_DATA_URL = re.compile(r"data:image/[\w.+-]+;base64,(.*)", re.ASCII | re.DOTALL)


# ---------------------------------------------------------------------------- openai-images
def images(one: Predictor, body: Mapping[str, Any]) -> dict[str, Any]:
    """Answer ``POST /v1/images/generations``; a seed, if sent, selects one of the prompt's pictures."""
    if not isinstance(one, Painter):
        raise not_spoken(one, "openai-images")
    prompt, count, seed = required(body, "prompt"), body.get("n") or 1, body.get("seed")
    if not isinstance(prompt, str) or not prompt.strip():
        raise BadOrder("'prompt' must be a text")
    if type(count) is not int or not 1 <= count <= MOST_PICTURES or not (seed is None or type(seed) is int):
        raise BadOrder(f"'n' must be 1 to {MOST_PICTURES}, 'seed' a whole number")
    side = _side(body.get("size") or f"{SIDE}x{SIDE}")
    numbers = [one.next_number(prompt) if seed is None else seed + place for place in range(count)]
    return {"created": 0, "data": [_given(one, prompt, number, side) for number in numbers]}


def _side(size: Any) -> int:
    found = _SIZE.fullmatch(size) if isinstance(size, str) and size != "auto" else None
    if size != "auto" and (found is None or found[1] != found[2] or int(found[1]) > MOST_SIDE):
        raise BadOrder(f"'size' must be auto or a square of at most {MOST_SIDE}x{MOST_SIDE}")
    return int(found[1]) if found else SIDE


def _given(one: Painter, prompt: str, number: int, side: int) -> dict[str, Any]:
    if one.gives == "address":
        return {"url": f"https://pictures.invalid/{abs(number)}.png"}
    content = b"no picture" if one.gives == "text" else draw(prompt, number, side)
    return {"b64_json": base64.b64encode(content).decode()}


# ---------------------------------------------------------------------------- hf-inference
def inference(one: Viewer, body: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Classify an image if there are labels, answer a question if there is one, or return a caption."""
    given, parameters = required(body, "inputs"), body.get("parameters") or {}
    if not isinstance(parameters, dict):
        raise BadOrder("'parameters' must be an object")
    if isinstance(given, dict):
        return _asked(one, _picture(required(given, "image")), required(given, "question"), parameters)
    picture = _picture(given)
    if "candidate_labels" not in parameters:
        return [{"generated_text": one.caption(picture)}]
    labels = _labels(parameters["candidate_labels"])
    scored = zip(labels, one.probabilities(picture, labels), strict=True)
    return [{"label": label, "score": score} for label, score in _ranked(scored)]


def _asked(one: Viewer, picture: Seen, question: Any, parameters: Mapping[str, Any]) -> list[dict[str, Any]]:
    top_k = parameters.get("top_k", 5)
    if not isinstance(question, str) or not question.strip() or type(top_k) is not int or top_k < 1:
        raise BadOrder("'question' must be a text, and 'top_k' a whole number from 1")
    labels = labels_in(question)
    scored = zip(labels, one.answers(picture, labels, question), strict=True)
    return [{"answer": label, "score": score} for label, score in _ranked(scored)][:top_k]


# ---------------------------------------------------------------------------- openai-chat
def chat(one: Viewer, body: Mapping[str, Any]) -> dict[str, Any]:
    """Answer ``POST /v1/chat/completions`` about the picture of the last message: a letter, a word or a caption."""
    messages, name = required(body, "messages"), required(body, "model")
    last = messages[-1] if isinstance(messages, list) and messages else {}
    content = last.get("content") if isinstance(last, dict) else None
    parts = [part for part in content if isinstance(part, dict)] if isinstance(content, list) else []
    texts = [str(part.get("text")) for part in parts if part.get("type") == "text"]
    shown = [part.get("image_url") for part in parts if part.get("type") == "image_url"]
    if len(shown) != 1 or not isinstance(shown[0], dict):
        raise BadOrder("the last message must hold one image_url, and what is asked about it")
    found = _DATA_URL.fullmatch(str(shown[0].get("url")))
    if found is None:
        raise BadOrder("the image must be a data: URL in base64")
    picture, question = _picture(found[1]), "\n".join(texts)
    options = options_in(question)
    if not options:
        return chat_completion(str(name), one.caption(picture), None)
    scored = zip("ABCDEFGHIJKLMNOPQRSTUVWXYZ", one.answers(picture, options, question), strict=False)
    tops = [{"token": letter, "logprob": math.log(score), "bytes": None} for letter, score in _ranked(scored)]
    wanted = body.get("logprobs")
    told = {**tops[0], "top_logprobs": tops[: int(body.get("top_logprobs") or 0)]} if wanted else None
    return chat_completion(str(name), str(tops[0]["token"]), told)


# ---------------------------------------------------------------------------- custom
def look(one: Predictor, body: Mapping[str, Any]) -> dict[str, Any]:
    """Answer ``POST /look`` with ``image_b64`` and ``labels``: their probabilities."""
    if not isinstance(one, Viewer):
        raise not_spoken(one, "custom")
    labels = _labels(required(body, "labels"))
    scored = zip(labels, one.probabilities(_picture(required(body, "image_b64")), labels), strict=True)
    return {"probabilities": dict(scored)}


# ---------------------------------------------------------------------------- table of interfaces
def _picture(given: Any) -> Seen:
    if not isinstance(given, str) or not given:
        raise BadOrder("an image must be a text in base64")
    try:
        return see(base64.b64decode(given, validate=True))
    except binascii.Error:
        raise BadOrder("the image is not in base64") from None
    except NoPicture as wrong:
        raise BadOrder(str(wrong)) from None


def _labels(given: Any) -> list[str]:
    if not isinstance(given, list) or len(given) < 2 or not all(isinstance(label, str) and label for label in given):
        raise BadOrder("two labels and more are needed, each a text")
    return list(dict.fromkeys(given))


def _ranked(scored: Any) -> Sequence[tuple[str, float]]:
    return sorted(scored, key=lambda each: -each[1])
