"""Base class of the HTTP adapters for image classifiers, and parsing of their answers."""

import base64
from collections.abc import Mapping, Sequence
from typing import Any, TypeVar

from assay.catalog.answer_text import label_key
from assay.document import JsonObject
from assay.model import Failure, Look, Reply
from workers.egress import CallFailed, Egress
from workers.targets.checks.samples import sample_images
from workers.targets.parsing.answer_parsing import (
    LONGEST_LABEL,
    MOST_LABELS,
    Misread,
    finite_number,
    parse_classes,
    reply_of,
    summary_of,
    unwrap,
)
from workers.targets.protocols.http.adapter import HttpAdapter
from workers.targets.settings import CalledSettings
from workers.tenant_uploads import Image

S = TypeVar("S", bound=CalledSettings)

LONGEST_TEXT = 10_000
"""Maximum length of an answer or caption in characters; answers are stored, so their size is limited."""

UNKNOWN_LABEL = "unknown-label"
"""Failure code of an answer that scores labels other than those of the question, or not all of them."""


class HttpLooker(HttpAdapter[S, Look]):
    """Base class of the HTTP adapters for image classifiers, with one image per call."""

    def _validate_answer(self, answer: Any, ask: Look, origin: str) -> Reply:
        return accept_look(answer, ask, origin)


def picture_of(ask: Look, egress: Egress) -> Image:
    """Return a question's image; raise `ImageGone` if the tenant may not see it, `CallFailed` if it cannot be read."""
    sample_image = sample_images().get(ask.image)
    if sample_image is not None:
        return Image(sample_image, "image/png")
    if egress.library is None:
        raise CallFailed("unsupported", "this process cannot read images")
    return egress.library.image(ask.image)


def in_base64(image: Image) -> str:
    """Return an image's file in base64, on one line."""
    return base64.b64encode(image.content).decode("ascii")


def accept_look(answer: object, ask: Look, origin: str) -> Reply:
    """Parse an answer about an image into a reply; an invalid answer becomes a failure."""
    return reply_of(lambda: parse_look(answer, ask.labels), origin)


def parse_look(answer: object, labels: Sequence[str]) -> JsonObject:
    """Parse an answer into ``{"scores": {label: probability} or None, "text": str or None}``.

    A text is an answer or a caption. Probabilities may be written as ``[{"label": …, "score": …}, …]``, by
    label, as ``{"labels": […], "scores": […]}``, or as a row in the order of `labels`. A single label counts as a text;
    a label with a confidence or score counts only if that is above one half.

    Raise `Misread` if the probabilities are not those of exactly these labels (`UNKNOWN_LABEL`), if the form is unknown
    or a probability is outside [0, 1].
    """
    answer = unwrap(answer)
    if not isinstance(answer, list | dict):
        return {"scores": None, "text": parse_words(answer)}
    if isinstance(answer, list) and all(isinstance(score, int | float) for score in answer):
        if len(answer) != len(labels):
            message = f"gave {len(answer)} probabilities, and was asked about {len(labels)} labels"
            raise Misread(message, UNKNOWN_LABEL)
        answer = dict(zip(labels, answer, strict=True))
    match answer:
        case {"label": label, "confidence": confidence} | {"label": label, "score": confidence} if len(answer) == 2:
            answer = {"label": label if 0.5 < finite_number(confidence, "confidence") <= 1 else None}
    classification = parse_classes(answer)
    if classification["scores"] is None:
        return {"scores": None, "text": parse_words(classification["label"])}
    return {"scores": scores_of(classification["scores"], labels), "text": classification["label"]}


def scores_of(scores: Mapping[str, float], labels: Sequence[str]) -> dict[str, float]:
    """Return the probabilities by label, in the order and spelling of `labels`, or raise `Misread`."""
    by_key = {label_key(label): label for label in labels}
    # case and blanks are ignored unless two labels differ in them alone
    if len(by_key) == len(labels) and len({label_key(name) for name in scores}) == len(scores):
        scores = {by_key.get(label_key(name), name): score for name, score in scores.items()}
    unknown_labels, missing_labels = sorted(scores.keys() - set(labels)), sorted(set(labels) - scores.keys())
    if unknown_labels:
        raise Misread(f"scored the label {unknown_labels[0][:60]!r}, which it was not asked about", UNKNOWN_LABEL)
    if missing_labels:
        count = f"{len(missing_labels)} of {len(labels)} labels"
        raise Misread(f"gave no probability to {count}: {missing_labels[0][:60]!r} …", UNKNOWN_LABEL)
    return {label: scores[label] for label in labels}


def parse_words(answer: object) -> str:
    """Return a text without outer whitespace; raise `Misread` for anything but 1 to `LONGEST_TEXT` characters."""
    if not isinstance(answer, str):
        raise Misread(f"returned {summary_of(answer)}; expected a text")
    text = answer.strip()
    if not 0 < len(text) <= LONGEST_TEXT:
        raise Misread(f"gave a text of {len(text):,} characters; 1 to {LONGEST_TEXT:,} are allowed")
    return text


def refuse_labels(ask: Look) -> Failure | None:
    """Return a failure for a question with fewer than two labels, or too many or too long ones, else ``None``."""
    if len(ask.labels) < 2:
        return Failure("unsupported", "the question names fewer than two labels, and this service needs them")
    if len(ask.labels) > MOST_LABELS or max(map(len, ask.labels)) > LONGEST_LABEL:
        limit = f"{MOST_LABELS:,} labels of {LONGEST_LABEL} characters"
        return Failure("unsupported", f"the question names more than {limit}")
    return None
