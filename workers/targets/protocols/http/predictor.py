"""Base class of the HTTP adapters for classifiers, regressors and embedders.

A protocol splits its answer into one piece of JSON for each question (`_parse_response`). Each piece is parsed here, so
that an invalid piece loses only its own question.
"""

import json
import math
from collections.abc import Sequence
from typing import Any, ClassVar, TypeVar

from assay.model import Classify, Embed, Failure, Field, Kind, Record, Regress, Reply
from workers.egress import Response
from workers.targets.adapter import Prediction
from workers.targets.parsing.answer_parsing import number_of, parse_classes, reply_of, vector_of
from workers.targets.parsing.written_numbers import NumberForm
from workers.targets.protocols.http.adapter import HttpAdapter
from workers.targets.settings import PredictorSettings

P = TypeVar("P", bound=PredictorSettings)

PREDICTED = frozenset({Kind.CLASSIFIER, Kind.REGRESSOR, Kind.EMBEDDER})
"""Kinds of service that this module supports."""


class HttpPredictor(HttpAdapter[P, Prediction]):
    """Base class of the HTTP adapters for classifiers, regressors and embedders."""

    kinds: ClassVar[frozenset[Kind]] = PREDICTED
    takes_records: ClassVar[bool] = False
    takes_models: ClassVar[bool] = False

    def _refusal(self, ask: Prediction) -> Failure | None:
        return refusal_of_question(ask, texts=True, records=self.takes_records, models=self.takes_models)

    def _validate_answer(self, answer: Any, ask: Prediction, origin: str) -> Reply:
        return accept_prediction(answer, ask, self.settings.labels, origin, self.settings.number)


def accept_prediction(
    answer: object, ask: Prediction, labels: Sequence[str], origin: str, form: NumberForm | None = None
) -> Reply:
    """Parse the part of a response that answers a question into a reply; an invalid part becomes a failure."""
    match ask:
        case Embed():
            return reply_of(lambda: vector_of(answer), origin)
        case Regress():
            return reply_of(lambda: number_of(answer, form), origin, answer)
        case Classify():
            return reply_of(lambda: parse_classes(answer, labels), origin, answer)


def json_of(response: Response) -> Any:
    """Parse JSON that may hold NaN and infinity (they fail only their own question); raise as `Response.json` does."""
    try:
        return json.loads(response.body)
    except (ValueError, RecursionError):
        return response.json()


def content_of(ask: Prediction) -> str | Record:
    """Return the text or record that a question is about."""
    return ask.text if isinstance(ask, Embed) else ask.given


def texts_in(asks: Sequence[Prediction]) -> list[str]:
    """Return the texts of the questions that are about texts."""
    return [content for ask in asks if isinstance(content := content_of(ask), str)]


def rows_in(asks: Sequence[Prediction]) -> list[dict[str, Field]]:
    """Return the records of the questions that are about records, as mappings from column names to cells."""
    return [dict(content) for ask in asks if not isinstance(content := content_of(ask), str)]


def model_of(asks: Sequence[Prediction], default: str) -> str:
    """Return the model named by the questions of one call, or `default`, the model of the settings."""
    first_question = asks[0]
    return (first_question.model if isinstance(first_question, Embed) else "") or default


def refusal_of_question(ask: Prediction, *, texts: bool, records: bool, models: bool = False) -> Failure | None:
    """Return a failure for an unsupported text, record or model name, or a cell that is not finite, else ``None``."""
    content = content_of(ask)
    if isinstance(ask, Embed) and ask.model and not models:
        return Failure("unsupported", "the question names a model, but this target has one model, that of its settings")
    if isinstance(content, str):
        return None if texts else Failure("unsupported", "the question is a text, but this target takes records only")
    if not records:
        return Failure("unsupported", "the question is a record, but this target takes texts only")
    for name, cell in content:
        if isinstance(cell, float) and not math.isfinite(cell):
            return Failure("unsupported", f"the cell {name!r} is not a finite number; leave it empty")
    return None
