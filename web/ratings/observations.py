"""Observations as rows of a page: the question and the answer, with matches of a searched text."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from assay.explain import Vocabulary

OWN = frozenset({"asks", "source", "target", "number", "model"})
"""Parts of a question that are not shown as its text."""

LONGEST = 1_500
"""Maximum number of characters of a question or an answer on a page; the CSV file has the whole text."""

LISTED = 12
"""Maximum number of entries that are shown of a list of numbers, such as a vector."""

Piece = tuple[str, bool]
"""A piece of a text, and whether it matches the searched text."""


@dataclass(frozen=True)
class Row:
    """An observation as a row; languages if known, and the picture's digest if the picture can be shown."""

    seq: int
    unit: str
    question: list[Piece]
    question_lang: str | None
    answer: list[Piece]
    answer_lang: str | None
    failure: str | None
    picture: str | None


def row_of(observation: Mapping[str, Any], looked_for: str, vocabulary: Vocabulary) -> Row:
    """Write an observation of the API as a row."""
    ask, failure = observation["ask"], observation["failure"]
    translated = ask.get("asks") == "translate"
    return Row(
        seq=observation["seq"],
        unit=observation["unit"],
        question=list(pieces(question_text(ask), looked_for)),
        question_lang=ask.get("source") if translated else "en",
        answer=list(pieces("" if observation["value"] is None else value_text(observation["value"]), looked_for)),
        answer_lang=ask.get("target") if translated else None,
        failure=None if failure is None else vocabulary.cause(str(failure)),
        picture=ask["image"] if observation["thumbnail"] else None,
    )


def question_text(ask: Mapping[str, Any]) -> str:
    """Return a question as one line; the word that fills a gap is in brackets."""
    if ask.get("asks") == "fill":
        return f"{ask['before']}[{ask['word']}]{ask['after']}"
    fields = {name: value for name, value in ask.items() if name not in OWN and value not in (None, "")}
    return value_text(next(iter(fields.values())) if len(fields) == 1 else fields)


def value_text(value: Any) -> str:
    """Return any JSON value as one line of text."""
    if isinstance(value, float):
        return f"{value:.4g}"
    if isinstance(value, Mapping):
        return ", ".join(
            f"{name.replace('_', ' ')} {value_text(field)}" for name, field in value.items() if field is not None
        )
    if isinstance(value, list | tuple):
        more = f" and {len(value) - LISTED:,} more" if len(value) > LISTED else ""
        return ", ".join(map(value_text, value[:LISTED])) + more
    text = str(value)
    return text if len(text) <= LONGEST else f"{text[:LONGEST]}…"


def pieces(text: str, looked_for: str) -> Iterator[Piece]:
    """Split a text into pieces that match `looked_for`, ignoring case, and the pieces between them."""
    if not looked_for:
        yield text, False
        return
    for index, piece in enumerate(re.split(f"({re.escape(looked_for)})", text, flags=re.IGNORECASE)):
        if piece:
            yield piece, index % 2 == 1
