"""Base class of the adapters for protocols over HTTP.

A protocol implements two pure functions: build the request for some questions (`_build_request`), and parse one
answer for each of them from the response (`_parse_response`). The base class of a kind of service validates the
answers (`_validate_answer`).
"""

import asyncio
import json
from abc import ABC, abstractmethod
from collections.abc import Container, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, ClassVar, Generic, TypeVar, cast
from urllib.parse import urlencode

from assay.document import Json, JsonObject
from assay.model import Ask, Draw, Failure, Look, Regress, Reply
from workers.egress import RETRIABLE_STATUSES, CallFailed, Egress, Quoter, Response, spellings
from workers.targets.adapter import QUESTIONS, Adapter, Target, questions_for
from workers.targets.auth.credentials import Credentials, OutgoingRequest
from workers.targets.auth.schemes import Plain, Scheme
from workers.targets.parsing.answer_parsing import Misread, only_member, quoted, summary_of
from workers.targets.parsing.written_numbers import keeps_units
from workers.targets.settings import CalledSettings
from workers.tenant_uploads import ImageGone

S = TypeVar("S", bound=CalledSettings)
A = TypeVar("A", bound=Ask)

SHORTEST_KEY = 8
"""Minimum length of a secret that is searched for in answers; a shorter secret may be part of a common word."""


@dataclass(frozen=True, slots=True)
class Request:
    """HTTP request; `path` (with its query) follows the base URL. Its `repr` leaves out parts that may hold the key."""

    method: str
    path: str = field(repr=False)
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)
    content: bytes = field(default=b"", repr=False)


def post_json(path: str, body: object, headers: Mapping[str, str] | None = None) -> Request:
    """Build a request with a JSON body in pure ASCII, so that no server can mistake its encoding."""
    content = json.dumps(body, allow_nan=False).encode("ascii")
    return Request("POST", path, {"Content-Type": "application/json; charset=utf-8", **(headers or {})}, content)


def without_nulls(fields: Json) -> JsonObject:
    """Return the fields that are not ``None``, in their order."""
    return {name: value for name, value in fields.items() if value is not None}


def post_form(path: str, fields: Mapping[str, str], headers: Mapping[str, str] | None = None) -> Request:
    """Build a request with a form body in UTF-8."""
    content = urlencode(fields, encoding="utf-8", errors="replace").encode("ascii")
    return Request("POST", path, {"Content-Type": "application/x-www-form-urlencoded", **(headers or {})}, content)


def dig(value: Any, *path: str | int) -> Any:
    """Return the value at a path in JSON, or raise `Misread` with the path but not the value."""
    for depth, step in enumerate(path):
        try:
            value = value[step]
        except (LookupError, TypeError):
            where = ".".join(str(step) for step in path[: depth + 1])
            raise Misread(f"answered JSON without {where!r}; is it this protocol?") from None
    return value


def as_list(value: object) -> list[Any]:
    """Return a value that must be a list, or raise `Misread`."""
    if not isinstance(value, list):
        raise Misread(f"returned {type(value).__name__}; expected a list")
    return value


def dig_each(entries: object, *path: str | int) -> list[Any]:
    """Return the value at a path in each element of a list; raise `Misread` as `dig` and `as_list` do."""
    return [dig(entry, *path) for entry in as_list(entries)]


def sort_by_index(answer: object, expected: int, answers: str, questions: str) -> list[Any]:
    """Sort a list of objects by their member ``index``, which must number them from 0 to `expected` - 1.

    `answers` and `questions` are nouns in the plural, for messages. Raise `Misread` for other numbers.
    """
    entries = as_list(answer)
    if len(entries) != expected:
        raise Misread(f"gave {len(entries)} {answers} for {expected} {questions}", "wrong-count")
    by_index = {}
    for entry in entries:
        index = dig(entry, "index")
        if type(index) is not int or index in by_index or not 0 <= index < expected:
            fault = f"gave its {answers} a wrong index, {summary_of(index)}"
            raise Misread(f"{fault}; expected each of 0 to {expected - 1} once")
        by_index[index] = entry
    return [by_index[index] for index in range(expected)]


def refuse_error(body: object, response: Response) -> None:
    """Raise `Misread` for a JSON object with a member ``error``, which came with status 200."""
    if isinstance(body, dict) and "error" in body:
        raise Misread(f"answered 200, but with an error{response.quote()}")


@contextmanager
def failing_whole_call(origin: str) -> Iterator[None]:
    """Turn a `Misread` that is raised in the block into the failure of all questions of a call."""
    try:
        yield
    except Misread as misread:
        raise CallFailed(misread.code, misread.message(origin)) from None


class HttpAdapter(Adapter, ABC, Generic[S, A]):
    """Base class of the adapters for protocols over HTTP; `settings` must be validated already."""

    room: ClassVar[int] = 0
    """Maximum size of a response in bytes, if it is larger than the operator's cap."""
    retriable: Container[int] = RETRIABLE_STATUSES
    sends_system: bool = False
    """Whether the instruction of a choice is sent as a system message, apart from the question."""

    def __init__(self, target: Target, settings: S, egress: Egress) -> None:
        self.settings, self.target = settings, target
        self.batch_limit: int = getattr(settings, "batch_maximum", 1)
        self._question_types = cast("tuple[type[A], ...]", QUESTIONS[target.kind])
        self._credentials, self._egress = None, egress
        self._settled_units: dict[str, str] = {}  # units of all answers, such as time: days; shared by copies
        if (secret := target.secret) is not None:
            self._credentials = Credentials(self._auth(), secret, target.base_url, egress, target.limits.timeout_s)
            self._egress = self._credentials.egress

    async def answer(self, asks: Sequence[Ask], *, idempotency_key: str | None = None) -> Sequence[Reply]:
        """Send questions with one group key in one call; see `Adapter.answer`."""
        if not asks:
            return []
        questions = questions_for(self._question_types, asks)
        if len({self.group_key(ask) for ask in questions}) > 1:
            raise ValueError("questions of several pairs of languages, or of several forms, cannot share a call")
        refusals = enumerate(map(self._refusal, questions))
        refused_replies = {index: Reply(failure=failure) for index, failure in refusals if failure is not None}
        valid_asks = [ask for index, ask in enumerate(questions) if index not in refused_replies]
        if not valid_asks:
            return list(refused_replies.values())
        try:
            request = await self._request_for(valid_asks)
        except ImageGone as gone:
            failed_reply = Reply(failure=Failure(gone.code, str(gone)))
            return [refused_replies.get(index, failed_reply) for index in range(len(questions))]
        response = await self._send(request, {"Idempotency-Key": idempotency_key} if idempotency_key else {})
        answers, origin = await self._answers_in(response, valid_asks), response.origin
        if len(answers) != len(valid_asks):
            raise CallFailed("wrong-count", f"{origin} gave {len(answers)} answers for {len(valid_asks)} questions")
        remaining_answers = iter(answers)  # to the questions that were sent, in order
        replies = [
            refused_replies.get(index) or self._reply_without_keys(next(remaining_answers), ask, origin)
            for index, ask in enumerate(questions)
        ]
        _check_lengths(replies, origin)
        return replies

    async def _request_for(self, asks: Sequence[A]) -> Request:
        """Build the request; in a thread if an image must be read from the database."""
        is_about_image = isinstance(asks[0], Look)
        return await asyncio.to_thread(self._build_request, asks) if is_about_image else self._build_request(asks)

    async def _answers_in(self, response: Response, asks: Sequence[A]) -> Sequence[Any]:
        """Parse the answers; in a thread if an image must be decoded and stored."""
        with failing_whole_call(response.origin):
            if isinstance(asks[0], Draw):
                return await asyncio.to_thread(self._parse_response, response, asks)
            return self._parse_response(response, asks)

    @abstractmethod
    def _build_request(self, asks: Sequence[A]) -> Request:
        """Build the request for some questions."""

    @abstractmethod
    def _parse_response(self, response: Response, asks: Sequence[A]) -> Sequence[Any]:
        """Parse one answer (or one `Reply`) for each question, in their order; a `Misread` fails the whole call."""

    @abstractmethod
    def _validate_answer(self, answer: Any, ask: A, origin: str) -> Reply:
        """Validate an answer and return it as a reply."""

    def _refusal(self, ask: A) -> Failure | None:  # noqa: ARG002 - used by subclasses
        """Return a failure for a question that must not be sent, else ``None``."""
        return None

    def _reply_without_keys(self, answer: object, ask: A, origin: str) -> Reply:
        """Validate an answer; mask the secret in a failure's message; refuse an answer that contains the secret."""
        reply = answer if isinstance(answer, Reply) else self._validate_answer(answer, ask, origin)
        number_text = only_member(answer) if reply.ok and isinstance(ask, Regress) else None
        if isinstance(number_text, str) and not keeps_units(number_text, self._settled_units):
            advice = "send one unit, or JSON numbers"
            fault = f"returned {quoted(number_text)} in another unit than its first answers; {advice}"
            reply = Misread(fault).reply(origin)
        if self._credentials is None:
            return reply
        if reply.failure is not None:  # messages quote what came
            message = Quoter(*self._credentials.sent_secrets).masked(reply.failure.message)
            reply = Reply(failure=Failure(reply.failure.code, message))
        reply_text = _text_in(reply.value)
        # answers are published as evidence, so they must not contain the secret
        if any(spelling in reply_text for spelling in _searched_spellings(self._credentials.sent_secrets)):
            message = f"{origin} returned the key it was sent; is it an echo service?"
            return Reply(failure=Failure("wrong-shape", message))
        return reply

    def usual_auth(self) -> Plain | Scheme:
        """Return the protocol's own authentication scheme, used unless the setting ``auth`` names another."""
        return "bearer"

    def _auth(self) -> Plain | Scheme:
        # a plug-in's settings may have no such field
        return getattr(self.settings, "auth", None) or self.usual_auth()

    def _url(self, path: str) -> str:
        return endpoint(self.target.base_url, path)

    async def _send(self, request: Request, more_headers: Mapping[str, str] | None = None) -> Response:
        """Send a request with its authentication, and once more with a new access token if its token is refused."""
        unsigned_request = OutgoingRequest(
            request.method, self._url(request.path), {**request.headers, **(more_headers or {})}, request.content
        )
        if self._credentials is None:
            return await self._call(unsigned_request)
        signed_request = await self._credentials.authenticate(unsigned_request)
        try:
            return await self._call(signed_request)
        except CallFailed as failed:
            if not self._credentials.renew(signed_request, failed):
                raise
        return await self._call(await self._credentials.authenticate(unsigned_request))

    async def _call(self, request: OutgoingRequest) -> Response:
        """Send an authenticated request through the guarded client, which refuses forbidden addresses."""
        return await self._egress.send(
            request.method,
            request.url,
            headers=request.headers,
            content=request.content,
            timeout_s=self.target.limits.timeout_s,
            retriable=self.retriable,
            room=self.room,  # maximum bytes of the answer, if above the usual cap
            secrets=() if self._credentials is None else self._credentials.sent_secrets,
        )


def _text_in(value: object) -> str:
    """Return the words of an answer as one text: a text, the labels of a class, or the words about an image."""
    if isinstance(value, dict):
        return " ".join([str(value.get("label")), str(value.get("text")), *(value.get("scores") or ())])
    return value if isinstance(value, str) else ""


def _check_lengths(replies: Sequence[Reply], origin: str) -> None:
    """Raise `CallFailed` if the vectors of one call have different lengths."""
    lengths = {len(reply.value) for reply in replies if isinstance(reply.value, list)}
    if len(lengths) > 1:
        sizes = " and ".join(f"{length:,}" for length in sorted(lengths)[:2])
        raise CallFailed("wrong-shape", f"{origin} gave vectors of {sizes} numbers in one answer")


@lru_cache(maxsize=64)
def _searched_spellings(secrets: Sequence[str]) -> frozenset[str]:
    return frozenset(spelling for secret in secrets for spelling in spellings(secret) if len(spelling) >= SHORTEST_KEY)


def endpoint(base_url: str, path: str) -> str:
    """Join a base URL and a path; if the URL ends with the first steps of the path, these are not repeated."""
    base, (path_alone, question_mark, query) = base_url.rstrip("/"), path.partition("?")
    path_steps = path_alone.strip("/").split("/")
    for shared_count in range(len(path_steps), 0, -1):
        overlap = "/" + "/".join(path_steps[:shared_count])
        # "//" would mean that the overlap is the host
        if path_steps[0] and base.endswith(overlap) and "//" not in base[-len(overlap) - 1 :]:
            base = base[: -len(overlap)]
            break
    return f"{base}{path_alone}{question_mark}{query}"
