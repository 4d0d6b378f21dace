"""What services over HTTP share that answer with a class, a number or a vector.

A protocol is two pure steps: write the request for some questions (`_ask_for`), and cut the answer
into one piece of JSON for each question (`_read`). What a piece means is read here, so that one bad
piece loses one question.
"""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from typing import Any, ClassVar, TypeVar

from assay.model import Classify, Embed, Failure, Field, Kind, Record, Regress, Reply
from workers.egress import Response
from workers.targets.adapter import Prediction
from workers.targets.parsing.answer_parsing import Misread, classified, number_of, vector_of
from workers.targets.protocols.http.adapter import HttpAdapter
from workers.targets.settings import PredictorSettings

P = TypeVar("P", bound=PredictorSettings)

PREDICTED = frozenset({Kind.CLASSIFIER, Kind.REGRESSOR, Kind.EMBEDDER})
"""Kinds whose answers are read here."""


class HttpPredictor(HttpAdapter[P, Prediction]):
    """A classifier, regressor or embedder spoken to over HTTP (an `Adapter`)."""

    kinds: ClassVar[frozenset[Kind]] = PREDICTED
    takes_records: ClassVar[bool] = False
    takes_models: ClassVar[bool] = False

    def _refuse(self, ask: Prediction) -> Failure | None:
        return why_not(ask, texts=True, records=self.takes_records, models=self.takes_models)

    def _accept(self, said: Any, ask: Prediction, place: str) -> Reply:
        return accept_prediction(said, ask, self.settings.labels, place)


def accept_prediction(said: Any, ask: Prediction, labels: Sequence[str], place: str) -> Reply:
    """Read a piece of an answer as what the question asked for; a piece that is not that is a failure of its own."""
    try:
        match ask:
            case Embed():
                return Reply(vector_of(said))
            case Regress():
                return Reply(number_of(said))
            case Classify():
                return Reply(classified(said, labels))
    except Misread as wrong:
        return Reply(failure=Failure("wrong-shape", f"{place} {wrong}"))


def json_of(response: Response) -> Any:
    """Read a body as JSON that may hold NaN and infinity, which many services write.

    JSON has no such numbers; where they are read, they lose the question they answer and no other.

    Raises
    ------
    CallFailed
        As `Response.json`, for everything else that is not JSON.
    """
    try:
        return json.loads(response.body)
    except (ValueError, RecursionError):
        return response.json()


def given_in(ask: Prediction) -> str | Record:
    """Give what a question is about: a text, or a record."""
    return ask.text if isinstance(ask, Embed) else ask.given


def texts_in(asks: Sequence[Prediction]) -> list[str]:
    """Give the texts of questions that are about texts."""
    return [given for ask in asks if isinstance(given := given_in(ask), str)]


def rows_in(asks: Sequence[Prediction]) -> list[dict[str, Field]]:
    """Give the records of questions that are about records, each by the names of its cells."""
    return [dict(given) for ask in asks if not isinstance(given := given_in(ask), str)]


def model_of(asks: Sequence[Prediction], usual: str) -> str:
    """Name the model that the questions of one call are put to: their own, or the settings'."""
    first = asks[0]
    return (first.model if isinstance(first, Embed) else "") or usual


def why_not(ask: Prediction, *, texts: bool, records: bool, models: bool = False) -> Failure | None:
    """Say why a question cannot be sent: it is about what the protocol does not carry, or not JSON."""
    given = given_in(ask)
    if isinstance(ask, Embed) and ask.model and not models:
        return Failure("unsupported", "the question names a model, and this target's settings name the only one")
    if isinstance(given, str):
        return None if texts else Failure("unsupported", "the question is a text, and only records are sent")
    if not records:
        return Failure("unsupported", "the question is a record, and only texts are sent")
    for name, cell in given:
        if isinstance(cell, float) and not math.isfinite(cell):
            return Failure("unsupported", f"the cell {name!r} is not a finite number; leave it empty")
    return None
