"""Adapter for any HTTP interface that a job describes."""

import asyncio
import contextlib
import json
import math
import re
from collections.abc import Callable, Container, Mapping, Sequence
from typing import Any, ClassVar
from urllib.parse import quote, urlencode

from assay.document import JsonObject
from assay.model import Ask, Choose, Failure, Kind, Look, Regress, Reply, Score, Translate, Write
from workers.egress import CallFailed, Egress, Response
from workers.targets.adapter import Prediction, Target, Worded
from workers.targets.auth.schemes import Plain, Scheme
from workers.targets.parsing.answer_parsing import EVENTS_AS_TEXT, Misread, ModelFault, number_of, only_member, reply_of
from workers.targets.parsing.comparison import NO_PAIR, comparison_of, documents_of
from workers.targets.parsing.echoed_tokens import LEAST_OF_TOKEN, NotEchoed, total_of
from workers.targets.parsing.written_numbers import FORMS, numbers_by_form, plain_number
from workers.targets.protocols.custom.expressions import EVALUATION_ERRORS, MAX_STEPS, Expression, ExpressionTooLong
from workers.targets.protocols.custom.settings import CustomSettings
from workers.targets.protocols.custom.templates import fill, fill_text, placeholders, remove_text
from workers.targets.protocols.http.adapter import HttpAdapter, Request, as_list, post_form, post_json, refuse_error
from workers.targets.protocols.http.images import accept_look, in_base64, picture_of, refuse_labels
from workers.targets.protocols.http.language_model import Decide, ModelOutput, accept_worded, prompt_of, refusal_of_kind
from workers.targets.protocols.http.predictor import (
    PREDICTED,
    accept_prediction,
    content_of,
    json_of,
    refusal_of_question,
    rows_in,
    texts_in,
)
from workers.targets.protocols.http.translator import accept_text, name_with_code, texts_of, three_letters

MOST_EVENTS = 20_000
"""Maximum number of events in a stream."""

_DIGITS = re.compile(r"[\d\s.,+-]*")
_EVENT_LINE, _LINE_END = re.compile(r"(?:data|event|id|retry)?:"), re.compile(r"\r\n|\r|\n")


def evaluate(expression: Expression, body: object, origin: str, name: str = "output") -> Any:
    """Evaluate an expression on a response body; raise `CallFailed` ``wrong-shape`` if it does not fit the body."""
    try:
        return expression.search(body)
    except EVALUATION_ERRORS:
        message = f"the {name} expression does not fit what {origin} answered"
    except ExpressionTooLong:
        message = f"the {name} expression takes more than {MAX_STEPS:,} steps on what {origin} answered"
    raise CallFailed("wrong-shape", message)


def events_of(response: Response) -> list[Any]:
    """Parse a stream of server-sent events into the JSON of their data, without the final ``[DONE]``.

    Raise `Misread` ``bad-json`` for other data, ``wrong-shape`` for an event with an error, ``too-large`` for too many.
    """
    events, data_lines = [], list[str]()
    for line in [*_LINE_END.split(response.text), ""]:  # an empty line ends an event
        if line.startswith("data:"):
            data_lines.append(line.removeprefix("data:").removeprefix(" "))
        elif not line and data_lines:
            text, data_lines = "\n".join(data_lines), []
            if text.strip() == "[DONE]":
                continue
            try:
                events.append(json.loads(text))
            except (ValueError, RecursionError):
                raise Misread("sent an event that is not JSON", "bad-json") from None
            refuse_error(events[-1], response)
            if len(events) > MOST_EVENTS:
                raise Misread(f"sent more than {MOST_EVENTS:,} events", "too-large")
    return events


def refuse_events(response: Response) -> None:
    """Raise `Misread` for a stream of server-sent events, which is no answer where the body is read as text."""
    lines = [line for line in _LINE_END.split(response.text) if line.strip()]
    has_data = any(line.startswith("data:") for line in lines)
    is_event_stream = response.headers.get("Content-Type", "").startswith("text/event-stream")
    if has_data and (is_event_stream or all(map(_EVENT_LINE.match, lines))):
        raise Misread(f'{EVENTS_AS_TEXT}, and settings.response is not "events"')


def in_question_order(answers: Sequence[Any], indices: Any, count: int, origin: str) -> list[Any]:
    """Return `count` answers in order of their questions' `indices`; a failure for a question without an answer."""
    are_indices = isinstance(indices, list) and all(type(index) is int and 0 <= index < count for index in indices)
    if not are_indices or len(set(indices)) != len(indices) or len(indices) != len(answers):
        raise Misread("did not number its answers 0, 1, 2 …, as the questions are")
    missing_reply = Misread("gave no answer to this one of several questions", "declined").reply(origin)
    answer_of_index = dict(zip(indices, answers, strict=True))
    return [answer_of_index.get(index, missing_reply) for index in range(count)]


def rescale(answer: Any, scale: tuple[float, float]) -> Any:
    """Rescale an answer's numbers, even if written as texts, so that the ends of `scale` become 0 and 1."""
    low, high = scale
    match answer:
        case bool() | None:
            return answer
        case str():
            return answer if (number := plain_number(answer)) is None else rescale(number, scale)
        case int() | float():
            with contextlib.suppress(OverflowError):  # an integer too large for a float is refused later
                return (answer - low) / (high - low)
            return answer
        case list():
            return [rescale(member, scale) for member in answer]
        case _:
            label_members = {"label", "labels"}
            return {name: value if name in label_members else rescale(value, scale) for name, value in answer.items()}


CODE_STYLES: Mapping[str, Callable[[str], str]] = {"639-1": str, "639-3": three_letters, "name": name_with_code}
"""Functions that convert a language code to each style."""


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
        self._placeholders = placeholders(settings.body)
        self.sends_system = "system" in self._placeholders
        self._output = Expression(settings.output)

    def _auth(self) -> Plain | Scheme:
        return self.settings.scheme

    def code(self, language: str) -> str:
        """Return the code of a language in the declared style."""
        return self.settings.language_codes.get(language) or CODE_STYLES[self.settings.language_style](language)

    def _url(self, path: str) -> str:
        base_url = self.target.base_url
        return f"{base_url.rstrip('/')}{path}" if path[:1] == "/" else f"{base_url}{path}"

    def _refusal(self, ask: Ask) -> Failure | None:
        """Return a failure for a question that the templates of the settings cannot express, else ``None``."""
        if isinstance(ask, Look):
            if "question" in self._placeholders and not ask.question.strip():
                return Failure("unsupported", "there is no question about the image, and settings.body sends one")
            return refuse_labels(ask) if "labels" in self._placeholders else None
        if isinstance(ask, Prediction):
            records = self.settings.about_records
            if self.settings.compares and documents_of(content_of(ask)) is None:
                return Failure("unsupported", NO_PAIR)
            return refusal_of_question(ask, texts=not records, records=records)
        question_types = (Score,) if self.settings.answer == "log-probability" else (Choose, Write)
        return None if isinstance(ask, Translate) else refusal_of_kind(ask, question_types)

    def _build_request(self, asks: Sequence[Ask]) -> Request:
        """Fill the templates of the settings with the questions of a call."""
        settings, values = self.settings, self._values(asks)
        headers = {name: fill_text(value, values) for name, value in settings.headers.items()}
        query = {name: fill_text(value, values) for name, value in settings.query.items()}
        template = settings.body
        if self.sends_system and values.get("system") is None:
            template = remove_text(template, "{system}")
        body = fill(template, values, batch_values=_values_of_questions(values) if settings.repeats_item else ())
        url_values = {name: quote(str(values[name]), safe="", errors="replace") for name in placeholders(settings.path)}
        path = fill_text(settings.path, url_values)
        if query:
            path += f"?{urlencode(query, errors='replace')}"
        if body is None:
            return Request(settings.method, path, headers)
        request = post_form(path, body, headers) if settings.encoding == "form" else post_json(path, body, headers)
        return Request(settings.method, path, request.headers, request.content)

    def _values(self, asks: Sequence[Ask]) -> JsonObject:
        """Return the values of the placeholders in a call, whose questions are all of one kind."""
        if isinstance(ask := asks[0], Look):
            image = picture_of(ask, self._egress)
            image_values = {"image_b64": in_base64(image), "media_type": image.media_type}
            return {**image_values, "labels": list(ask.labels), "question": ask.question}
        translations = [ask for ask in asks if isinstance(ask, Translate)]
        if translations:
            first_question = translations[0]
            language_codes = {"source": self.code(first_question.source), "target": self.code(first_question.target)}
            return {**language_codes, "text": first_question.text, "texts": [ask.text for ask in translations]}
        instruction = "" if self._has_system_message(asks[0]) else self.settings.choice_instruction
        if prompts := [prompt_of(ask, instruction) for ask in asks if isinstance(ask, Worded)]:
            return {"text": prompts[0], "texts": prompts, **self._model_parameters(asks[0])}
        predictions = [ask for ask in asks if isinstance(ask, Prediction)]
        texts, rows = texts_in(predictions), rows_in(predictions)
        if self.settings.compares:
            return {**rows[0], "rows": rows}  # the columns are the placeholders {first} and {second}
        return {"text": texts[0], "texts": texts} if texts else {"row": rows[0], "rows": rows}

    def _model_parameters(self, ask: Ask) -> JsonObject:
        """Return the values of the placeholders of a model's parameters; ``None`` leaves a parameter out."""
        settings = self.settings
        if not isinstance(ask, Write):
            system = (settings.choice_instruction or None) if self._has_system_message(ask) else None
            return {"max_tokens": settings.choice_tokens, "temperature": 0.0, "seed": 0, "stop": None, "system": system}
        return {
            "system": None,
            "max_tokens": settings.writing_tokens,
            "temperature": settings.writing_temperature,
            "seed": ask.number,
            "stop": list(settings.writing_stop) or None,
        }

    def _has_system_message(self, ask: Ask) -> bool:
        """Return whether the instruction of a question is sent as a separate system message."""
        return isinstance(ask, Decide) and self.sends_system

    async def _send(self, request: Request, more_headers: Mapping[str, str] | None = None) -> Response:
        """Send a request; if the answer comes later, poll until it is complete or the time of a call is over."""
        response, poll = await super()._send(request, more_headers), self.settings.poll
        if poll is None:
            return response
        origin, limit_s = response.origin, self.target.limits.timeout_s
        answer_id = evaluate(Expression(poll.id), json_of(response), origin, "poll.id")
        if not isinstance(answer_id, str | int):
            raise CallFailed("wrong-shape", f"{origin} returned no id to poll for the result; check settings.poll.id")
        poll_request = Request("GET", fill_text(poll.path, {"id": quote(str(answer_id), safe="")}), request.headers)
        try:
            async with asyncio.timeout(limit_s):
                status_path = Expression(poll.status)
                while (status := evaluate(status_path, json_of(response), origin, "poll.status")) not in poll.done:
                    if status in poll.failed:
                        raise CallFailed("declined", f"{origin} gave no answer: {str(status)[:60]}{response.quote()}")
                    await asyncio.sleep(poll.interval_s)
                    response = await self._poll_once(poll_request, response)
        except TimeoutError:
            raise CallFailed("timeout", f"{origin} did not answer within {limit_s:g} s") from None
        return response

    async def _poll_once(self, poll_request: Request, response: Response) -> Response:
        """Fetch the state of an answer; after a retriable failure, return `response`, the earlier state."""
        try:
            return await super()._send(poll_request)
        except CallFailed as failed:
            if not failed.retriable:
                raise
            return response

    def _parse_response(self, response: Response, asks: Sequence[Ask]) -> Sequence[Any]:
        """Extract an answer to each question, as the settings declare; a failure for each if the text is unfinished."""
        origin, settings = response.origin, self.settings
        if settings.response == "text":
            refuse_events(response)
            return [response.text.strip()]
        bodies = events_of(response) if settings.response == "events" else [json_of(response)]
        why_ended = Expression(settings.ended) if settings.ended else None
        # a batch of one question may have its reason in a list
        end_reasons = [only_member(evaluate(why_ended, body, origin, "ended")) for body in bodies if why_ended]
        if settings.ended and (reply := self._unfinished_failure(end_reasons, asks, origin)):
            return [reply] * len(asks)
        outputs = [evaluate(self._output, body, origin) for body in bodies]
        texts = [output for output in outputs if isinstance(output, str)]
        # of a stream, the joined texts of its events; ``None`` if there are none
        answer = outputs[0] if settings.response == "json" else "".join(texts) if texts else None
        is_cut = isinstance(asks[0], Choose) and any(reason in settings.ended_cut for reason in end_reasons)
        if answer is None and not is_cut:
            message = f"the output expression {settings.output!r} finds nothing in the answer of {origin}"
            raise CallFailed("wrong-shape", f"{message} (HTTP {response.status}); `assay probe` shows the answer")
        answers = as_list(answer) if settings.batch == "array" else [answer]
        if self.target.kind is Kind.TRANSLATOR:  # with indices, their number is checked below
            answers = texts_of(answers, len(answers) if settings.index else len(asks))
        if is_cut:
            # the beginning of a cut answer may have the letter; an answer that was cut before any text has none
            answers = [ModelOutput(text or "", end_reason="length") for text in answers]
        if not settings.index:
            return answers
        indices = evaluate(Expression(settings.index), bodies[0], origin, "index")
        return in_question_order(answers, indices, len(asks), origin)

    def _unfinished_failure(self, end_reasons: Sequence[Any], asks: Sequence[Ask], origin: str) -> Reply | None:
        """Return a failure if a model declined to answer, or a text that is no choice of options was cut."""
        if self.settings.response == "events" and all(reason is None for reason in end_reasons):
            raise Misread("ended its stream before its text", "truncated")
        if any(reason in self.settings.ended_declined for reason in end_reasons):  # the model refuses
            return ModelFault("chose not to answer", "declined").reply(origin)
        if not isinstance(asks[0], Choose) and any(reason in self.settings.ended_cut for reason in end_reasons):
            return ModelFault("stopped at its token limit", "cut-short").reply(origin)  # a choice may have its letter
        return None

    def _validate_answer(self, answer: Any, ask: Ask, origin: str) -> Reply:
        """Parse an answer by the type of its question."""
        if isinstance(ask, Translate):
            return accept_text(answer, ask, origin)
        if isinstance(ask, Score):
            return reply_of(lambda: _parse_log_probability(answer), origin)
        if isinstance(ask, Worded):
            return accept_worded(answer if isinstance(answer, ModelOutput) else ModelOutput(answer), ask, origin)
        if isinstance(ask, Look):
            return accept_look(answer, ask, origin)
        if isinstance(ask, Prediction):
            return self._parse_prediction(answer, ask, origin)
        raise AssertionError(ask.asks)  # pragma: no cover - refused before

    def _parse_prediction(self, answer: object, ask: Prediction, origin: str) -> Reply:
        """Parse a prediction: which document is better, or a class or number, converted from text and rescaled."""
        if self.settings.compares:
            documents = documents_of(content_of(ask)) or {}
            return comparison_of(answer, documents, self.settings.comparison, self.settings.labels, origin)
        is_number = self.settings.number == "probability" or isinstance(ask, Regress)
        if is_number and isinstance(text := only_member(answer), str):
            number_reply = reply_of(lambda: self._number_in_text(text), origin, text)
            if number_reply.failure is not None:
                return number_reply
            answer = number_reply.value
        if self.settings.scale is not None and not isinstance(answer, str):  # a label
            answer = rescale(answer, self.settings.scale)
        if self.settings.number == "probability" and isinstance(answer, int | float | list):
            # scores of one number are the probability of the second label
            answer = {"scores": answer if isinstance(answer, list) else [answer]}
        return accept_prediction(answer, ask, self.settings.labels, origin)

    def _number_in_text(self, text: str) -> float:
        """Parse a number in a text; for a probability, also "0,5" and, on a scale that goes beyond 1, "87.5 %"."""
        form = self.settings.number if self.settings.number in FORMS else None
        if self.settings.number == "probability" and plain_number(text) is None:
            form = next(iter(numbers_by_form(text)), None)
            if form and max(self.settings.scale or (1,)) <= 1 and not _DIGITS.fullmatch(text):
                raise Misread("returned a probability with a unit; a percentage needs settings.scale = [0, 100]")
        return number_of(text, form)


def _values_of_questions(values: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return the values of placeholders such as ``{text}`` for each question of a call, from those of the call."""
    if "texts" in values:
        return [{"text": text, "index": index} for index, text in enumerate(values["texts"])]
    return [{"row": row, **row, "index": index} for index, row in enumerate(values["rows"])]  # columns are names too


def _parse_log_probability(answer: object) -> JsonObject:
    """Parse a log-probability: one number, also as text, or the list of the tokens' numbers."""
    if isinstance(answer, str):
        with contextlib.suppress(ValueError):
            answer = float(answer)  # also "-12.345", whose point never separates thousands
    log_probabilities = answer if isinstance(answer, list) else [number_of(answer)]
    if log_probabilities in ([0], []):
        raise NotEchoed("gave no log-probability, or 0, for a whole text")
    return total_of(log_probabilities, LEAST_OF_TOKEN if isinstance(answer, list) else -math.inf)
