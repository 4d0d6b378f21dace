"""Settings of the protocol `custom`: description of an HTTP interface, validated when a job is posted."""

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Annotated, Any, Literal

from annotated_types import Ge, Le, MaxLen, MinLen

from assay.document import JsonObject
from assay.errors import SpecificationError
from assay.model import COMPARED, FIRST, SECOND, Kind
from workers.egress import RETRIABLE_STATUSES
from workers.targets.auth import schemes
from workers.targets.parsing.written_numbers import FORMS, NumberForm
from workers.targets.protocols.custom.expressions import Expression
from workers.targets.protocols.custom.templates import check_placeholders, count_of, is_alone, placeholders, unrepeated
from workers.targets.protocols.http.language_model import LanguageModelSettings
from workers.targets.settings import PredictorSettings, TranslatorSettings

_SECRET_HEADERS = frozenset({"authorization", "proxy-authorization", "cookie", "x-api-key", "api-key"})

LANGUAGE_NAMES = ("source", "target")
"""Placeholders for translators only."""

IMAGE_NAMES = ("image_b64", "media_type", "labels", "question")
"""Placeholders for image classifiers only."""

DOCUMENT_NAMES = (FIRST, SECOND)
"""Placeholders for classifiers that compare two documents."""

MODEL_NAMES = ("max_tokens", "temperature", "seed", "stop", "system")
"""Placeholders for language models only; if a setting leaves a value out, the member of the object is left out."""

MOST_COPIES = 10
"""Maximum number of copies of the question in a call."""

MOST_CHARACTERS = 500_000
"""Maximum length of a call in characters, without its questions."""

Text = Annotated[str, MaxLen(4000)]
Reasons = Annotated[tuple[Annotated[str, MinLen(1), MaxLen(100)], ...], MaxLen(20)]


@dataclass(frozen=True, kw_only=True)
class Poll(schemes.Strict):
    """Polling for an answer that is not ready when the call returns. All requests share the deadline of one call."""

    id: Annotated[str, MinLen(1), MaxLen(500)] = "id"
    """JMESPath to the id in the first answer."""
    path: Annotated[str, MinLen(1), MaxLen(1000)]
    """Path of the answer, below the same base_url: ``/jobs/{id}``. Addresses in answers are not called."""
    status: Annotated[str, MinLen(1), MaxLen(500)] = "status"
    """JMESPath to the status in each answer."""
    done: Reasons = ("succeeded",)
    """Statuses of a complete answer, which `output` then reads."""
    failed: Reasons = ("failed", "canceled")
    """Statuses that mean that there will be no answer; all others mean that the answer is not ready."""
    interval_s: Annotated[float, Ge(0.05), Le(60)] = 1.0
    """Seconds between two requests."""

    def __post_init__(self) -> None:
        Expression(self.id, "poll.id")  # raises for an invalid expression
        Expression(self.status, "poll.status")
        if not re.fullmatch(r"/[\x21-\x7e]*", self.path) or any(mark in self.path for mark in "#\\"):
            raise SpecificationError("path must begin with a slash and hold visible ASCII characters", "poll.path")
        if "id" not in check_placeholders(self.path, ("id",), "poll.path"):
            raise SpecificationError("path must hold {id}", "poll.path")


@dataclass(frozen=True, kw_only=True)
class CustomSettings(TranslatorSettings, PredictorSettings, LanguageModelSettings):
    """A service's interface. The question replaces ``{text}``, ``{texts}``, ``{row}`` or ``{rows}``.

    A classifier that says which of two documents is better gets them as ``{first}`` and ``{second}``.
    ``{source}`` and ``{target}`` are a translator's languages. An image classifier's image, in base64, replaces
    ``{image_b64}``; ``{media_type}``, ``{question}`` and ``"{labels}"`` (a list) may stand beside it. Settings are
    public; a key belongs in the target's secret, and `auth` says where it is sent.
    """

    output: Annotated[str, MinLen(1), MaxLen(500)] = "@"
    """JMESPath to the answer, or with ``batch: array`` to the list of answers: a translator's text, a regressor's
    number, an embedder's vector; a classifier's label, its probabilities (by label, or in the order of labels), or
    both as {label: …, scores: …}; an image classifier's probabilities in the same forms, or its text; a language
    model's text or log-probability, as `answer` says."""
    answer: Literal["text", "log-probability"] = "text"
    """Language models: meaning of the answer. ``text``: the text that the model wrote to the prompt {text}.
    ``log-probability``: log-probability of {text} in nats, as one number or as a list with a number per token."""
    method: Literal["POST", "GET", "PUT"] = "POST"
    """HTTP method; GET sends no body."""
    path: Annotated[str, MaxLen(1000)] = ""
    """Path that is appended to base_url, beginning with a slash."""
    headers: Annotated[Mapping[str, Text], MaxLen(30)] = field(default_factory=dict)
    """Further headers; values may hold {source} and {target}."""
    query: Annotated[Mapping[str, Text], MaxLen(30)] = field(default_factory=dict)
    """Query parameters."""
    body: JsonObject | list[Any] | Literal["{text}", "{texts}", "{row}", "{rows}"] | None = None
    """Body of the request: JSON or, with ``encoding: form``, named fields. ``"{row}"`` is a record as an object."""
    encoding: Literal["json", "form"] = "json"
    """Encoding of the body."""
    response: Literal["json", "text", "events"] = "json"
    """``text``: the whole body is the answer, and `output` is ignored. ``events``: a stream of server-sent events;
    `output` is evaluated on the JSON of each event, and the texts are joined."""
    batch: Literal["none", "array"] = "none"
    """``array``: one call carries several texts, as ``"{texts}"``, or records, as ``"{rows}"``. For an object per
    question, write a list of one element with {text} or {row}, and possibly {index} (from 0): it is repeated."""
    index: Annotated[str, MaxLen(500)] = ""
    """With ``batch: array``: JMESPath to the numbers (from 0) of the questions that `output` answers, for services
    that answer in another order or leave out failures. Empty: `output` answers all questions in their order."""
    comparison: Literal["label", "scores", "document"] = "label"
    """Classifiers with {first} and {second}: meaning of the answer. ``label``: the label of the better document, or the
    labels' probabilities; of `labels`, the first is for {first}, the second for {second}, a third for a tie (first,
    second, tie). ``scores``: a number for each document, as a list or by label; the higher is better. ``document``:
    the better document itself. Any other answer counts as unreadable."""
    scale: tuple[float, float] | None = None
    """Classifiers and regressors: numbers that mean 0 and 1, such as [0, 100], or [1, 5] for stars. Null: unchanged."""
    number: Literal["label", "probability"] | NumberForm = "label"  # type: ignore[assignment]  # more values
    """Classifiers: what a single number means: the label or its index (``label``), or the probability of the second of
    two (``probability``). Regressors: form of numbers that come as text, with their units: ``decimal-point``
    ($1,234.5) or ``decimal-comma`` (1.234,5 €); ``label``: only plain numbers are read from text."""
    ended: Annotated[str, MaxLen(500)] = ""
    """Models: JMESPath to the reason why the text ended."""
    ended_cut: Reasons = ()
    """Reasons that mean that the limit of tokens was reached; the answer then counts as failed."""
    ended_declined: Reasons = ()
    """Reasons that mean that the model, or a filter, refused to answer."""
    poll: Poll | None = None
    """How the answer of a service that answers later is fetched."""
    batch_maximum: Annotated[int, Ge(1), Le(1000)] = 25
    """Most questions in one call, with ``batch: array``."""
    auth: schemes.CustomAuth = "none"  # type: ignore[assignment]  # more values than in the base class
    """How the secret authenticates calls; `auth_name` and `auth_value` belong to ``header``, ``query`` and ``body``."""
    auth_name: Annotated[str, MaxLen(100)] = "Authorization"
    """Name of the header, parameter or field that carries the secret."""
    auth_value: Annotated[str, MaxLen(500)] = "Bearer {secret}"
    """Value of the header, parameter or field; contains {secret}."""
    language_style: Literal["639-1", "639-3", "name"] = "639-1"
    """Two-letter codes, three-letter codes or, for models, names; ``language_codes`` takes precedence."""
    retriable_statuses: Annotated[tuple[Annotated[int, Ge(400), Le(599)], ...], MaxLen(50)] = tuple(
        sorted(RETRIABLE_STATUSES)
    )
    """HTTP statuses after which a retry may help."""

    def __post_init__(self) -> None:
        super().__post_init__()
        for name in ("output", "index", "ended"):
            if expression := getattr(self, name):
                Expression(expression, name)  # raises for an invalid one
        self._check_placeholders()
        if "labels" in placeholders(self.body) and (self.encoding == "form" or not is_alone(self.body, "labels")):
            raise SpecificationError("{labels} is a list: it must be a text of its own, in a JSON body", "body")
        self._check_headers()
        self._check_auth()

    @property
    def scheme(self) -> schemes.Plain | schemes.Scheme:
        """Authentication scheme of the calls, from `auth` and the settings that belong to it."""
        match self.auth:
            case "header" | "query" | "body" as place:
                return schemes.Placed(type=place, name=self.auth_name, value=self.auth_value)
            case scheme:
                return scheme

    def check_secret(self, secret: str | None) -> None:
        """Raise a `SpecificationError` for a secret that would not be sent, or if the secret is missing."""
        schemes.check_auth(self.scheme, secret)

    def check_kind(self, kind: Kind) -> None:
        """Raise a `SpecificationError` for placeholders and settings that do not fit this kind of service."""
        super().check_kind(kind)
        called_kind = kind if self.decision is None else Kind.LANGUAGE_MODEL  # a language model decides
        used_names = placeholders([self.path, dict(self.query), dict(self.headers), self.body])
        misplaced_names = used_names & (set(LANGUAGE_NAMES) if called_kind is not Kind.TRANSLATOR else set())
        misplaced_names |= used_names & (set(DOCUMENT_NAMES) if called_kind is not Kind.CLASSIFIER else set())
        misplaced_names |= used_names & (set(MODEL_NAMES) if called_kind is not Kind.LANGUAGE_MODEL else set())
        if called_kind in {Kind.TRANSLATOR, Kind.EMBEDDER, Kind.LANGUAGE_MODEL}:
            misplaced_names |= used_names & {"row", "rows"}
        if called_kind is Kind.IMAGE_CLASSIFIER:
            misplaced_names |= used_names & {"text", "texts", "row", "rows"}
        else:
            misplaced_names |= used_names & set(IMAGE_NAMES)
        if misplaced_names:
            raise SpecificationError(
                f"{{{min(misplaced_names)}}} cannot be filled in for a {called_kind}", "settings.body"
            )
        if self.scale is not None and called_kind not in {Kind.CLASSIFIER, Kind.REGRESSOR}:
            raise SpecificationError(f"a {called_kind} returns no numbers to scale", "settings.scale")
        if self.number in FORMS and kind is not Kind.REGRESSOR:
            message = f'{self.number} is for regressors; a classifier\'s numbers are read with "probability"'
            raise SpecificationError(message, "settings.number")
        if self.number == "probability" and (called_kind is not Kind.CLASSIFIER or len(self.labels) != 2):
            raise SpecificationError("a number is a probability only with two labels: name them", "settings.labels")
        if called_kind is Kind.IMAGE_CLASSIFIER and self.batch == "array":
            raise SpecificationError("a call carries one image: set batch to none", "settings.batch")
        if called_kind is Kind.IMAGE_CLASSIFIER and "image_b64" not in used_names:
            raise SpecificationError("{image_b64} is missing, so that no image would be sent", "settings.body")

    @property
    def repeats_item(self) -> bool:
        """Whether a list of one element in the body is repeated for each question of a call."""
        return self.batch == "array" and bool(placeholders(self.body) & {"text", "row", *DOCUMENT_NAMES})

    @property
    def compares(self) -> bool:
        """Whether the service gets two documents, to choose the better one."""
        return bool(placeholders([self.path, dict(self.query), self.body]) & {*DOCUMENT_NAMES})

    @property
    def about_records(self) -> bool:
        """Whether questions are sent as records (rows of a table), and not as texts."""
        return self.compares or bool(placeholders(self.body) & {"row", "rows"})

    def _check_placeholders(self) -> None:
        """Validate the path, the placeholders of each part, the call's size and the body; the question must be sent."""
        # a batch is sent as lists of questions, unless a part of the body is repeated for each question
        text_name, row_name = ("texts", "rows") if self.batch == "array" and not self.repeats_item else ("text", "row")
        if self.path and (not self.path.startswith("/") or not schemes.VISIBLE.fullmatch(self.path)):
            raise SpecificationError("path must begin with a slash and hold visible ASCII characters", "path")
        if any(mark in self.path for mark in "?# \\"):
            raise SpecificationError("path must not hold ?, #, spaces or backslashes; parameters go in query", "path")
        # an address holds single texts: neither records nor the questions of a batch, which are lists or objects
        address_names = LANGUAGE_NAMES if self.batch == "array" else ("text", *DOCUMENT_NAMES, *LANGUAGE_NAMES)
        used_names = check_placeholders(self.path, address_names, "path")
        used_names |= check_placeholders(dict(self.query), address_names, "query")
        check_placeholders(dict(self.headers), LANGUAGE_NAMES, "headers")  # headers never hold the question
        if self.body is not None:
            index_names = ("index",) if self.repeats_item else ()
            names = (text_name, row_name, *DOCUMENT_NAMES, *index_names, *LANGUAGE_NAMES, *MODEL_NAMES, *IMAGE_NAMES)
            used_names |= check_placeholders(self.body, names, "body")
        if used_names & {*DOCUMENT_NAMES}:  # the question is two documents
            self._check_comparison(used_names, other_questions={text_name, row_name})
        elif not used_names & {text_name, row_name, "image_b64"}:
            message = f"{{{text_name}}} or {{{row_name}}} is missing, so that the question would not be sent"
            raise SpecificationError(message, "body")
        self._check_call_size({text_name, row_name, "image_b64", *DOCUMENT_NAMES})
        self._check_body(text_name, row_name)

    def _check_comparison(self, used_names: set[str], other_questions: set[str]) -> None:
        """Validate that both documents are sent, without placeholders of `other_questions`, and the count of labels."""
        if not used_names >= {*DOCUMENT_NAMES} or used_names & other_questions:
            raise SpecificationError("two documents to compare are sent as {first} and {second}, both, alone", "body")
        if len(self.labels) > len(COMPARED):
            limit = f"give at most three labels, not {len(self.labels)}"
            raise SpecificationError(f"{limit}: for the first document, the second and a tie, in this order", "labels")
        if self.number != "label" or self.scale is not None:
            raise SpecificationError("scores are compared as they are: leave number and scale out", "scale")

    def _check_call_size(self, question_names: set[str]) -> None:
        """Refuse settings that make calls too large: large calls would burden the worker and the service."""
        if count_of([self.path, dict(self.query), self.body], question_names) > MOST_COPIES:
            raise SpecificationError(f"the question occurs more than {MOST_COPIES} times in a call", "body")
        size = len(json.dumps(self.body)) * (self.batch_maximum if self.repeats_item else 1)
        if size > MOST_CHARACTERS:
            note = f"a call would have {size:,} characters without its questions; at most {MOST_CHARACTERS:,} are sent"
            raise SpecificationError(f"{note}: shorten body, or lower batch_maximum", "body")

    def _check_body(self, text_name: str, row_name: str) -> None:
        """Validate that the body fits the method, the encoding and the batch, and holds one form of question."""
        used_names = placeholders(self.body)
        if self.body is not None and self.method == "GET":
            raise SpecificationError("body must be left out with method GET; use query", "body")
        if self.repeats_item and unrepeated(self.body) & {text_name, row_name, *DOCUMENT_NAMES}:
            raise SpecificationError("with batch array, the question must be in a list of one element", "body")
        if {text_name, row_name} <= used_names:
            message = f"a question is a text or a record: use {{{text_name}}} or {{{row_name}}}, not both"
            raise SpecificationError(message, "body")
        if row_name in used_names and not is_alone(self.body, row_name):
            message = f"{{{row_name}}} must be a whole string, without other characters: its value is not text"
            raise SpecificationError(message, "body")
        if self.encoding == "form" and not _is_flat(self.body):
            raise SpecificationError("a form's body must be an object of strings", "body")
        if self.batch == "array" and (self.encoding == "form" or self.response != "json"):
            message = "a form, a text or a stream carries one question a call: set batch to none, or use json"
            raise SpecificationError(message, "batch")
        if self.index and self.batch != "array":
            raise SpecificationError("index needs batch array", "index")
        if self.scale is not None and self.scale[0] == self.scale[1]:
            raise SpecificationError("scale needs two different numbers: the lowest and the highest", "scale")

    def _check_headers(self) -> None:
        """Raise `SpecificationError` for a header with a key, or one that cannot be sent."""
        for name, value in self.headers.items():
            where = f"headers.{name}"
            if name.lower() in _SECRET_HEADERS:
                advice = "put it into the target's secret, with auth"
                raise SpecificationError(f"{name} contains a key, but settings are public: {advice}", where)
            schemes.check_header_name(name, where)
            if not schemes.VISIBLE.fullmatch(value):
                raise SpecificationError(f"{where} may hold visible ASCII characters only", where)

    def _check_auth(self) -> None:
        """Validate the name and the value of the header, parameter or field that carries the secret."""
        used_names = check_placeholders(self.auth_value, ("secret",), "auth_value")
        if not self.auth_name or "secret" not in used_names:
            raise SpecificationError("auth needs an auth_name, and an auth_value that holds {secret}", "auth_value")
        if self.auth == "header":
            schemes.check_header_name(self.auth_name, "auth_name")
        if not schemes.VISIBLE.fullmatch(self.auth_value):
            raise SpecificationError("auth_value may hold visible ASCII characters only", "auth_value")
        if schemes.scheme_name(self.scheme) == "body" and not isinstance(self.body, dict):
            raise SpecificationError("auth can be put in a body only if that is an object", "auth")


def _is_flat(body: object) -> bool:
    return body is None or (isinstance(body, dict) and all(isinstance(value, str) for value in body.values()))
