"""Answers of an HTTP interface that a job describes: streams of events, numbered lists, and scales."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Sequence
from typing import Any

from jmespath.exceptions import JMESPathError

from assay.model import Failure, Reply
from workers.egress import CallFailed, Response
from workers.targets.protocols.custom.expressions import MAX_STEPS, Expression, ExpressionTooLong
from workers.targets.protocols.http.adapter import refuse_error

MISFITS = (JMESPathError, ArithmeticError, AttributeError, LookupError, RecursionError, TypeError, ValueError)
"""Exceptions of jmespath for unexpected values: its own, and those of Python's operators."""

MOST_EVENTS = 20_000
"""Maximum number of events in a stream."""


def found(expression: Expression, body: object, origin: str, name: str = "output") -> Any:
    """Evaluate an expression on an answer; raise `CallFailed` ``wrong-shape`` if the expression does not fit."""
    try:
        return expression.search(body)
    except MISFITS:
        message = f"the {name} expression does not fit what {origin} answered"
    except ExpressionTooLong:
        message = f"the {name} expression takes more than {MAX_STEPS:,} steps on what {origin} answered"
    raise CallFailed("wrong-shape", message)


def events_of(response: Response) -> list[Any]:
    """Parse a stream of server-sent events into the JSON of their data, without the final ``[DONE]``.

    Raises
    ------
    CallFailed
        ``bad-json`` for other data, ``wrong-shape`` for an event with an error, ``too-large`` for too many.
    """
    origin, events, data = response.origin, [], list[str]()
    for line in [*response.text.splitlines(), ""]:
        if line.startswith("data:"):
            data.append(line[5:].removeprefix(" "))
        elif not line and data:
            text, data = "\n".join(data), []
            if text.strip() == "[DONE]":
                continue
            try:
                events.append(json.loads(text))
            except (ValueError, RecursionError):
                raise CallFailed("bad-json", f"{origin} sent an event that is not JSON") from None
            refuse_error(events[-1], response)
            if len(events) > MOST_EVENTS:
                raise CallFailed("too-large", f"{origin} sent more than {MOST_EVENTS:,} events")
    return events


def joined(pieces: Sequence[Any]) -> str | None:
    """Join the texts of a stream; return ``None`` if there are none."""
    texts = [piece for piece in pieces if isinstance(piece, str)]
    return "".join(texts) if texts else None


def in_place(answers: Sequence[Any], numbers: Any, count: int, origin: str) -> list[Any]:
    """Return the answers in the order of the questions, with a failure for each question without an answer."""
    numbered = isinstance(numbers, list) and all(type(number) is int and 0 <= number < count for number in numbers)
    if not numbered or len(set(numbers)) != len(numbers) or len(numbers) != len(answers):
        raise CallFailed("wrong-shape", f"{origin} did not number its answers 0, 1, 2 …, as the questions are")
    missing = Reply(failure=Failure("declined", f"{origin} gave no answer to this one of several questions"))
    by_number = dict(zip(numbers, answers, strict=True))
    return [by_number.get(number, missing) for number in range(count)]


def rescaled(answer: Any, scale: tuple[float, float]) -> Any:
    """Rescale the numbers of an answer to [0, 1], linearly; labels are unchanged."""
    low, high = scale
    match answer:
        case bool() | str() | None:
            return answer
        case int() | float():
            with contextlib.suppress(OverflowError):
                return (answer - low) / (high - low)
            return answer
        case list():
            return [rescaled(item, scale) for item in answer]
        case _:
            return {name: item if name == "label" else rescaled(item, scale) for name, item in answer.items()}
