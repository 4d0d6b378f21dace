"""What protocols over HTTP share: one call out, one reading of what came back.

A protocol is two pure steps: write the request for some questions (`_ask_for`), and read one answer
for each out of the response (`_read`). Everything between them is here; what makes an answer
acceptable (`_accept`) belongs to the kind: `http_translator`, `http_predictor`.
"""

from __future__ import annotations

import asyncio
import json
from abc import ABC, abstractmethod
from collections.abc import Container, Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, Generic, TypeVar, cast
from urllib.parse import quote, quote_plus, urlencode

from assay.model import Ask, Draw, Failure, Kind, Look, Reply
from workers.egress import RETRIABLE_STATUSES, CallFailed, Egress, Response
from workers.targets.adapter import QUESTIONS, Target, group_of, questions_for
from workers.targets.settings import TargetSettings
from workers.tenant_uploads import ImageGone

S = TypeVar("S", bound=TargetSettings)
A = TypeVar("A", bound=Ask)

SHORTEST_KEY = 8
"""Characters a secret needs to be looked for in answers; a shorter one stands in innocent words."""


@dataclass(frozen=True, slots=True)
class Request:
    """One request to a target; `path` (with its query) follows the base URL.

    Its parts may hold the target's key, so none of them is shown.
    """

    method: str
    path: str = field(repr=False)
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)
    content: bytes = field(default=b"", repr=False)


def post_json(path: str, value: Any, headers: Mapping[str, str] | None = None) -> Request:
    """Write a JSON request. It is pure ASCII, so that no server can mistake its encoding."""
    content = json.dumps(value, allow_nan=False).encode("ascii")
    return Request("POST", path, {"Content-Type": "application/json; charset=utf-8", **(headers or {})}, content)


def post_form(path: str, fields: Mapping[str, str], headers: Mapping[str, str] | None = None) -> Request:
    """Write a form request in UTF-8."""
    content = urlencode(fields, encoding="utf-8", errors="replace").encode("ascii")
    return Request("POST", path, {"Content-Type": "application/x-www-form-urlencoded", **(headers or {})}, content)


def dig(value: Any, *path: str | int, place: str) -> Any:
    """Follow a path of names and places into JSON.

    Raises
    ------
    CallFailed
        ``wrong-shape``, naming the path and not the value.
    """
    for depth, step in enumerate(path):
        try:
            value = value[step]
        except (LookupError, TypeError):
            where = ".".join(str(each) for each in path[: depth + 1])
            raise CallFailed("wrong-shape", f"{place} answered JSON without {where!r}; is it this protocol?") from None
    return value


def listed(value: Any, *, place: str) -> list[Any]:
    """Make sure that a part of an answer is a list."""
    if not isinstance(value, list):
        raise CallFailed("wrong-shape", f"{place} answered {type(value).__name__} where a list is due")
    return value


class HttpAdapter(ABC, Generic[S, A]):
    """A service spoken to over HTTP (an `Adapter`).

    Parameters
    ----------
    target : Target
        Where it is, and of which kind.
    settings : TargetSettings
        The protocol's settings, already checked.
    egress : Egress
        The way out.
    """

    protocol: ClassVar[str]
    summary: ClassVar[str]
    kinds: ClassVar[frozenset[Kind]]
    settings_type: ClassVar[type]
    notes: ClassVar[tuple[str, ...]] = ()
    needs_url: ClassVar[bool] = True
    needs_secret: ClassVar[bool] = False
    reproducible: ClassVar[bool] = True
    room: ClassVar[int] = 0
    """Bytes that an answer may need, where that is more than the operator's cap on answers."""
    retriable: Container[int] = RETRIABLE_STATUSES

    def __init__(self, target: Target, settings: S, egress: Egress) -> None:
        self.settings, self.target = settings, target
        self.batch_limit: int = getattr(settings, "batch_maximum", 1)
        self._egress = egress
        self._questions = cast("tuple[type[A], ...]", QUESTIONS[target.kind])
        self._keys = _spellings(target.secret)

    def group_key(self, ask: Ask) -> Hashable:
        """Say which questions may share a call."""
        return group_of(ask)

    async def answer(self, asks: Sequence[Ask], *, idempotency_key: str | None = None) -> Sequence[Reply]:
        """Put questions of one form in one call; see `Adapter.answer`."""
        if not asks:
            return []
        mine = questions_for(self._questions, asks)
        if len({self.group_key(ask) for ask in mine}) > 1:
            raise ValueError("questions of several pairs of languages, or of several forms, cannot share a call")
        refused = {place: Reply(failure=why) for place, ask in enumerate(mine) if (why := self._refuse(ask))}
        asked = [ask for place, ask in enumerate(mine) if place not in refused]
        if not asked:
            return list(refused.values())
        try:
            request = await self._written(asked)
        except ImageGone as gone:
            return [refused.get(place, Reply(failure=Failure(gone.code, str(gone)))) for place in range(len(mine))]
        response = await self._send(request, {"Idempotency-Key": idempotency_key} if idempotency_key else {})
        answers = await self._understood(response, asked)
        if len(answers) != len(asked):
            raise CallFailed("wrong-count", f"{response.place} gave {len(answers)} answers for {len(asked)} questions")
        said = iter(answers)
        replies = [
            refused[place] if place in refused else self._reply(next(said), ask, response.place)
            for place, ask in enumerate(mine)
        ]
        _check_lengths(replies, response.place)
        return replies

    async def languages(self) -> frozenset[tuple[str, str]] | None:
        """Say nothing: most protocols have no way to ask."""
        return None

    async def _written(self, asks: Sequence[A]) -> Request:
        """Write the request; beside the event loop where an image has to be fetched from the database."""
        return await asyncio.to_thread(self._ask_for, asks) if isinstance(asks[0], Look) else self._ask_for(asks)

    async def _understood(self, response: Response, asks: Sequence[A]) -> Sequence[Any]:
        """Read the answers; beside the event loop where an image has to be decoded and kept."""
        if isinstance(asks[0], Draw):
            return await asyncio.to_thread(self._read, response, asks)
        return self._read(response, asks)

    @abstractmethod
    def _ask_for(self, asks: Sequence[A]) -> Request:
        """Write the request for some questions."""

    @abstractmethod
    def _read(self, response: Response, asks: Sequence[A]) -> Sequence[Any]:
        """Read one answer (or one `Reply`) for each question, in their order."""

    @abstractmethod
    def _accept(self, said: Any, ask: A, place: str) -> Reply:
        """Make a reply of an answer, unless it is nothing that could be kept and shown."""

    def _refuse(self, ask: A) -> Failure | None:  # noqa: ARG002 - what a protocol may look at
        """Say why a question must not even be asked, if so."""
        return None

    def _reply(self, said: Any, ask: A, place: str) -> Reply:
        reply = said if isinstance(said, Reply) else self._accept(said, ask, place)
        words = _words_in(reply.value)
        if any(spelled in words for spelled in self._keys):  # answers are evidence, and evidence is shown
            return Reply(failure=Failure("wrong-shape", f"{place} answered with the key it was sent; is it an echo?"))
        return reply

    def _bearer(self) -> dict[str, str]:
        """Write the header of a bearer token, if there is one."""
        return {"Authorization": f"Bearer {self.target.secret}"} if self.target.secret else {}

    def _url(self, path: str) -> str:
        return endpoint(self.target.base_url, path)

    async def _send(self, request: Request, extra: Mapping[str, str] | None = None) -> Response:
        return await self._egress.send(
            request.method,
            self._url(request.path),
            headers={**request.headers, **(extra or {})},
            content=request.content,
            timeout_s=self.target.limits.timeout_s,
            retriable=self.retriable,
            room=self.room,
        )


def _words_in(value: Any) -> str:
    """Gather what a service could have put words into: a text, the labels of a class, an answer about an image."""
    if isinstance(value, dict):
        return " ".join([str(value.get("label")), str(value.get("text")), *(value.get("scores") or ())])
    return value if isinstance(value, str) else ""


def _check_lengths(replies: Sequence[Reply], place: str) -> None:
    """Make sure that the vectors of one call are equally long: which of them is right cannot be told."""
    lengths = {len(reply.value) for reply in replies if isinstance(reply.value, list)}
    if len(lengths) > 1:
        some = " and ".join(f"{length:,}" for length in sorted(lengths)[:2])
        raise CallFailed("wrong-shape", f"{place} gave vectors of {some} numbers in one answer")


def _spellings(secret: str | None) -> frozenset[str]:
    """Spell a key in every way in which a request carries it, and an echo returns it."""
    if secret is None or len(secret) < SHORTEST_KEY:
        return frozenset()
    return frozenset({secret, quote(secret), quote(secret, safe=""), quote_plus(secret), json.dumps(secret)[1:-1]})


def endpoint(base_url: str, path: str) -> str:
    """Join a base URL and a path, also if the base already ends with the path or its beginning.

    People paste ``…/translate`` or ``…/v1`` where ``…`` was meant; both lead to the same place.
    """
    base, (bare, mark, query) = base_url.rstrip("/"), path.partition("?")
    steps = bare.strip("/").split("/")
    for shared in range(len(steps), 0, -1):
        overlap = "/" + "/".join(steps[:shared])
        if steps[0] and base.endswith(overlap) and "//" not in base[-len(overlap) - 1 :]:
            base = base[: -len(overlap)]
            break
    return f"{base}{bare}{mark}{query}"
