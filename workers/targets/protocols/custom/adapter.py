"""Adapter for any HTTP interface that a job describes."""

from __future__ import annotations

import contextlib
from collections.abc import Container, Sequence
from typing import Any, ClassVar
from urllib.parse import quote, urlencode

from jmespath.exceptions import JMESPathError

from assay.model import Ask, Choose, Failure, Kind, Reply, Score, Translate, Write
from workers.egress import CallFailed, Egress, Response
from workers.targets.adapter import Prediction, Target, Worded
from workers.targets.auth.schemes import Plain, Scheme
from workers.targets.protocols.custom.expressions import MAX_STEPS, Expression, ExpressionTooLong
from workers.targets.protocols.custom.language import accept_declared
from workers.targets.protocols.custom.settings import CustomSettings
from workers.targets.protocols.custom.templates import fill, fill_text, placeholders
from workers.targets.protocols.http.adapter import HttpAdapter, Request, listed, post_form, post_json
from workers.targets.protocols.http.language_model import prompt_of, why_unasked
from workers.targets.protocols.http.predictor import PREDICTED, accept_prediction, json_of, rows_in, texts_in, why_not
from workers.targets.protocols.http.translator import accept_text, texts_of, three_letters

MISFITS = (JMESPathError, ArithmeticError, AttributeError, LookupError, RecursionError, TypeError, ValueError)
"""Exceptions of jmespath for unexpected values: its own, and those of Python's operators."""


class Custom(HttpAdapter[CustomSettings, Ask]):
    """Adapter for the HTTP interface that the settings describe."""

    protocol: ClassVar[str] = "custom"
    summary: ClassVar[str] = "Any HTTP interface, declared in the settings"
    kinds: ClassVar[frozenset[Kind]] = PREDICTED | {Kind.TRANSLATOR, Kind.LANGUAGE_MODEL, Kind.IMAGE_CLASSIFIER}
    settings_type: ClassVar[type] = CustomSettings
    notes: ClassVar[tuple[str, ...]] = (
        "settings are public; the key belongs in the target's secret",
        "everything is checked when the job is posted; one probing call then shows what really comes back",
    )

    def __init__(self, target: Target, settings: CustomSettings, egress: Egress) -> None:
        super().__init__(target, settings, egress)
        self.batch_limit = settings.batch_maximum if settings.batch == "array" else 1
        self.retriable: Container[int] = frozenset(settings.retriable_statuses)
        self._output = Expression(settings.output)
        self._numeric = target.kind is Kind.REGRESSOR or (
            target.kind is Kind.LANGUAGE_MODEL and settings.answer == "log-probability"
        )

    def _auth(self) -> Plain | Scheme:
        return self.settings.scheme

    def code(self, language: str) -> str:
        """Return the code of a language in the declared style."""
        settings = self.settings
        styled = three_letters(language) if settings.language_style == "639-3" else language
        return settings.language_codes.get(language) or styled

    def _url(self, path: str) -> str:
        return f"{self.target.base_url.rstrip('/') if path[:1] == '/' else self.target.base_url}{path}"

    def _refuse(self, ask: Ask) -> Failure | None:
        if isinstance(ask, Prediction):
            records = self.settings.about_records
            return why_not(ask, texts=not records, records=records)
        answers = (Score,) if self.settings.answer == "log-probability" else (Choose, Write)
        return None if isinstance(ask, Translate) else why_unasked(ask, answers)

    def _ask_for(self, asks: Sequence[Ask]) -> Request:
        settings, values = self.settings, self._values(asks)
        headers = {name: fill_text(value, values) for name, value in settings.headers.items()}
        query = {name: fill_text(value, values) for name, value in settings.query.items()}
        body = fill(settings.body, values)
        in_path = {name: quote(str(values[name]), safe="", errors="replace") for name in placeholders(settings.path)}
        path = fill_text(settings.path, in_path)
        if query:
            path += f"?{urlencode(query, errors='replace')}"
        if body is None:
            return Request(settings.method, path, headers)
        request = post_form(path, body, headers) if settings.encoding == "form" else post_json(path, body, headers)
        return Request(settings.method, path, request.headers, request.content)

    def _values(self, asks: Sequence[Ask]) -> dict[str, Any]:
        """Return the values of the placeholders in a call."""
        translations = [ask for ask in asks if isinstance(ask, Translate)]
        if translations:
            first = translations[0]
            words = {"source": self.code(first.source), "target": self.code(first.target)}
            return {**words, "text": first.text, "texts": [ask.text for ask in translations]}
        instruction = self.settings.choice_instruction
        if prompts := [prompt_of(ask, instruction) for ask in asks if isinstance(ask, Worded)]:
            return {"text": prompts[0], "texts": prompts}
        predictions = [ask for ask in asks if isinstance(ask, Prediction)]
        texts, rows = texts_in(predictions), rows_in(predictions)
        return {"text": texts[0], "texts": texts} if texts else {"row": rows[0], "rows": rows}

    def _read(self, response: Response, asks: Sequence[Ask]) -> Sequence[Any]:
        place = response.place
        translating = self.target.kind is Kind.TRANSLATOR
        if self.settings.response == "text":
            said: Any = [response.text.strip() if translating else bare(response.text.strip(), self._numeric)]
            return texts_of(said, len(asks), place=place) if translating else said
        body = json_of(response)
        try:
            said = self._output.search(body)
        except MISFITS:
            raise CallFailed("wrong-shape", f"the output expression does not fit what {place} answered") from None
        except ExpressionTooLong:
            raise CallFailed(
                "wrong-shape", f"the output expression takes more than {MAX_STEPS:,} steps on what {place} answered"
            ) from None
        if said is None:
            raise CallFailed("wrong-shape", f"the output expression finds nothing in what {place} answered")
        answers = said if self.settings.batch == "array" else [said]
        return texts_of(answers, len(asks), place=place) if translating else listed(answers, place=place)

    def _accept(self, said: Any, ask: Ask, place: str) -> Reply:
        if isinstance(ask, Translate):
            return accept_text(said, ask, place)
        if isinstance(ask, Worded):
            return accept_declared(said, ask, place)
        if isinstance(ask, Prediction):
            return accept_prediction(said, ask, self.settings.labels, place)
        raise AssertionError(ask.asks)  # pragma: no cover - refused before


def bare(text: str, numeric: bool) -> Any:
    """Return a plain-text answer, as a number if one is expected and can be parsed."""
    if numeric:
        with contextlib.suppress(ValueError):
            return float(text)
    return text
