"""What translators over HTTP share: one call out, one reading of what came back.

A protocol is two pure steps: write the request for some texts (`_ask_for`), and read the texts
out of the answer (`_read`). Everything between them is here.
"""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from collections.abc import Container, Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, Generic, TypeVar
from urllib.parse import quote, quote_plus, urlencode

from assay.model import Ask, Failure, Kind, Reply
from workers.egress import RETRIABLE_STATUSES, CallFailed, Egress, Response
from workers.targets.adapter import Target
from workers.targets.settings import TranslatorSettings

S = TypeVar("S", bound=TranslatorSettings)

LONGEST_FOR_NOTHING, LONGEST_PER_CHARACTER = 10_000, 10
"""Characters a translation may have, whatever the question and for each of its characters: no real one has so many.

Answers are kept until the experiment ends and may be asked back; a service that fills every one of
them up to the cap on responses would fill the memory.
"""

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


def texts_of(values: Any, expected: int, *, place: str) -> list[str]:
    """Make sure that an answer holds as many texts as were asked for.

    Raises
    ------
    CallFailed
        ``wrong-count`` or ``wrong-shape``.
    """
    texts = listed(values, place=place)
    if len(texts) != expected:
        raise CallFailed("wrong-count", f"{place} gave {len(texts)} translations for {expected} texts")
    for text in texts:
        if not isinstance(text, str):
            raise CallFailed("wrong-shape", f"{place} gave {type(text).__name__} where a translated text is due")
    return texts


class HttpTranslator(ABC, Generic[S]):
    """A translator spoken to over HTTP (an `Adapter`).

    Parameters
    ----------
    target : Target
        Where it is.
    settings : TranslatorSettings
        The protocol's settings, already checked.
    egress : Egress
        The way out.
    """

    protocol: ClassVar[str]
    summary: ClassVar[str]
    settings_type: ClassVar[type]
    notes: ClassVar[tuple[str, ...]] = ()
    kinds: ClassVar[frozenset[Kind]] = frozenset({Kind.TRANSLATOR})
    needs_url: ClassVar[bool] = True
    needs_secret: ClassVar[bool] = False
    reproducible: ClassVar[bool] = True
    retriable: Container[int] = RETRIABLE_STATUSES

    def __init__(self, target: Target, settings: S, egress: Egress) -> None:
        self.settings, self.target = settings, target
        self.batch_limit: int = getattr(settings, "batch_maximum", 1)
        self._egress = egress
        self._keys = _spellings(target.secret)

    def group_key(self, ask: Ask) -> Hashable:
        """Texts of one pair of languages may share a call."""
        return (ask.source, ask.target)

    async def answer(self, asks: Sequence[Ask], *, idempotency_key: str | None = None) -> Sequence[Reply]:
        """Translate texts of one pair of languages in one call; see `Adapter.answer`."""
        if not asks:
            return []
        if any((ask.source, ask.target) != (asks[0].source, asks[0].target) for ask in asks):
            raise ValueError("questions of several pairs of languages cannot share a call")
        refused = {place: Reply(failure=why) for place, ask in enumerate(asks) if (why := self._refuse(ask))}
        asked = [ask for place, ask in enumerate(asks) if place not in refused]
        if not asked:
            return list(refused.values())
        request = self._ask_for([ask.text for ask in asked], asked[0].source, asked[0].target)
        response = await self._send(request, {"Idempotency-Key": idempotency_key} if idempotency_key else {})
        said = iter(self._read(response, asked))
        return [
            refused[place] if place in refused else self._accept(next(said), ask, response.place)
            for place, ask in enumerate(asks)
        ]

    async def languages(self) -> frozenset[tuple[str, str]] | None:
        """Say nothing: most protocols have no way to ask."""
        return None

    def code(self, language: str) -> str:
        """Spell a language as the service does."""
        return self.settings.language_codes.get(language, language)

    @abstractmethod
    def _ask_for(self, texts: Sequence[str], source: str, target: str) -> Request:
        """Write the request for some texts."""

    @abstractmethod
    def _read(self, response: Response, asks: Sequence[Ask]) -> Sequence[str | Reply]:
        """Read one text (or one reply) for each question, in their order."""

    def _refuse(self, ask: Ask) -> Failure | None:  # noqa: ARG002 - what a protocol may look at
        """Say why a question must not even be asked, if so."""
        return None

    def _accept(self, said: str | Reply, ask: Ask, place: str) -> Reply:
        """Make a reply of an answer, unless it is nothing that could be kept and shown as a translation."""
        if isinstance(said, Reply):
            return said
        longest = LONGEST_FOR_NOTHING + LONGEST_PER_CHARACTER * len(ask.text)
        if len(said) > longest:
            why = f"{place} answered {len(ask.text):,} characters with {len(said):,}; at most {longest:,} are taken"
            return Reply(failure=Failure("too-large", why))
        if any(spelled in said for spelled in self._keys):  # answers are evidence, and evidence is shown
            return Reply(failure=Failure("wrong-shape", f"{place} answered with the key it was sent; is it an echo?"))
        return Reply(said)

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
        )


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
