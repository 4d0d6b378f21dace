"""Any translator with an HTTP interface, declared in the job."""

from __future__ import annotations

import re
from collections.abc import Container, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Annotated, Any, ClassVar, Literal
from urllib.parse import quote, urlencode

import jmespath
from annotated_types import Ge, Le, MaxLen, MinLen
from jmespath.exceptions import JMESPathError

from assay.errors import SpecificationError
from assay.model import Ask, Reply
from workers.egress import RETRIABLE_STATUSES, CallFailed, Egress, Response
from workers.targets.adapter import Target
from workers.targets.http_translator import HttpTranslator, Request, post_form, post_json, texts_of
from workers.targets.settings import TranslatorSettings
from workers.targets.templates import check_placeholders, fill, fill_text
from workers.targets.tongue_codes import three_letters

_TOKEN = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+", re.ASCII)  # RFC 9110, section 5.6.2
_VISIBLE = re.compile(r"[\x20-\x7e]*", re.ASCII)
_OURS = frozenset(
    {"host", "content-length", "transfer-encoding", "connection", "accept-encoding", "te", "upgrade", "expect"}
    | {"trailer", "keep-alive", "proxy-connection"}
)
_SECRET_HEADERS = frozenset({"authorization", "proxy-authorization", "cookie", "x-api-key", "api-key"})

MISFITS = (JMESPathError, ArithmeticError, AttributeError, LookupError, RecursionError, TypeError, ValueError)
"""What jmespath raises at values it did not expect: its own errors, and those of Python's operators."""

Text = Annotated[str, MaxLen(4000)]


@dataclass(frozen=True, kw_only=True)
class CustomSettings(TranslatorSettings):
    """A translator's interface. ``{text}``, ``{texts}``, ``{source}`` and ``{target}`` are filled in.

    Settings are public; a key belongs in the target's secret and is placed by `auth`.
    """

    output: Annotated[str, MinLen(1), MaxLen(500)] = "@"
    """JMESPath to the translated text, or with ``batch: array`` to the list of them."""
    method: Literal["POST", "GET", "PUT"] = "POST"
    """GET sends no body."""
    path: Annotated[str, MaxLen(1000)] = ""
    """What follows base_url, beginning with a slash."""
    headers: Annotated[Mapping[str, Text], MaxLen(30)] = field(default_factory=dict)
    """Further headers; may hold {source} and {target}."""
    query: Annotated[Mapping[str, Text], MaxLen(30)] = field(default_factory=dict)
    """Query parameters."""
    body: dict[str, Any] | list[Any] | None = None
    """What is sent, as JSON or, with ``encoding: form``, as named fields."""
    encoding: Literal["json", "form"] = "json"
    """How the body is written."""
    response: Literal["json", "text"] = "json"
    """``text``: the whole body is the translation, and `output` is not looked at."""
    batch: Literal["none", "array"] = "none"
    """``array``: one call carries several texts, as ``"{texts}"``."""
    batch_maximum: Annotated[int, Ge(1), Le(1000)] = 25
    """Most texts in one call, with ``batch: array``."""
    auth: Literal["none", "header", "query", "body"] = "none"
    """Where the secret goes."""
    auth_name: Annotated[str, MaxLen(100)] = "Authorization"
    """Name of the header, parameter or field that carries it."""
    auth_value: Annotated[str, MaxLen(500)] = "Bearer {secret}"
    """How it is written there."""
    language_style: Literal["639-1", "639-3"] = "639-1"
    """Two-letter or three-letter codes; ``language_codes`` goes before it."""
    retriable_statuses: Annotated[tuple[Annotated[int, Ge(400), Le(599)], ...], MaxLen(50)] = tuple(
        sorted(RETRIABLE_STATUSES)
    )
    """Statuses after which asking again may help."""

    def __post_init__(self) -> None:
        super().__post_init__()
        self._check_output()
        self._check_places()
        self._check_headers()
        self._check_auth()

    def check_secret(self, secret: str | None) -> None:
        """Refuse a secret that would not be sent, and the lack of one that is to be sent."""
        if (self.auth == "none") != (secret is None):
            wrong = "auth is none, so the secret would not be sent" if secret else f"auth is {self.auth}"
            raise SpecificationError(f"{wrong}: give both auth and a secret, or neither", "auth")

    def _check_output(self) -> None:
        try:
            jmespath.compile(self.output)
        except (JMESPathError, RecursionError) as wrong:
            raise SpecificationError(f"output is not a JMESPath expression: {_first_line(wrong)}", "output") from None

    def _check_places(self) -> None:
        """Make sure that the text goes somewhere, once, and that nothing is left unfilled."""
        text = "texts" if self.batch == "array" else "text"
        if self.path and (not self.path.startswith("/") or not _VISIBLE.fullmatch(self.path)):
            raise SpecificationError("path must begin with a slash and hold visible ASCII characters", "path")
        if any(mark in self.path for mark in "?# \\"):
            raise SpecificationError("path must not hold ?, #, spaces or backslashes; parameters go in query", "path")
        words = ("source", "target")
        one = words if self.batch == "array" else ("text", *words)
        used = check_placeholders(self.path, one, "path") | check_placeholders(dict(self.query), one, "query")
        check_placeholders(dict(self.headers), words, "headers")
        if self.body is not None:
            if self.method == "GET":
                raise SpecificationError("body must be left out with method GET; use query", "body")
            used |= check_placeholders(self.body, (text, *words), "body")
        if text not in used:
            raise SpecificationError(f"nowhere is {{{text}}} to be found, so the text would not be sent", "body")
        if self.encoding == "form" and not _flat(self.body):
            raise SpecificationError("a form's body must be an object of strings", "body")
        if self.batch == "array" and self.encoding == "form":
            raise SpecificationError("a form carries one text a call: set batch to none, or encoding to json", "batch")

    def _check_headers(self) -> None:
        for name, value in self.headers.items():
            where = f"headers.{name}"
            if name.lower() in _SECRET_HEADERS:
                raise SpecificationError(
                    f"{name} carries a key, and settings are public: give it as the target's secret, with auth", where
                )
            _check_header_name(name, where)
            if not _VISIBLE.fullmatch(value):
                raise SpecificationError(f"{where} may hold visible ASCII characters only", where)

    def _check_auth(self) -> None:
        check_placeholders(self.auth_value, ("secret",), "auth_value")
        if self.auth == "none":
            return
        if not self.auth_name or "secret" not in check_placeholders(self.auth_value, ("secret",), "auth_value"):
            raise SpecificationError("auth needs an auth_name, and an auth_value that holds {secret}", "auth_value")
        if self.auth == "header":
            _check_header_name(self.auth_name, "auth_name")
        if not _VISIBLE.fullmatch(self.auth_value):
            raise SpecificationError("auth_value may hold visible ASCII characters only", "auth_value")
        if self.auth == "body" and not isinstance(self.body, dict):
            raise SpecificationError("auth can be put in a body only if that is an object", "auth")


class Custom(HttpTranslator[CustomSettings]):
    """Speaks whatever the job declares."""

    protocol: ClassVar[str] = "custom"
    summary: ClassVar[str] = "Any HTTP interface, declared in the settings"
    settings_type: ClassVar[type] = CustomSettings
    notes: ClassVar[tuple[str, ...]] = (
        "settings are public; the key belongs in the target's secret",
        "everything is checked when the job is posted; one probing call then shows what really comes back",
    )

    def __init__(self, target: Target, settings: CustomSettings, egress: Egress) -> None:
        super().__init__(target, settings, egress)
        self.batch_limit = settings.batch_maximum if settings.batch == "array" else 1
        self.retriable: Container[int] = frozenset(settings.retriable_statuses)
        self._output = jmespath.compile(settings.output)

    def code(self, language: str) -> str:
        """Spell a language in the declared style."""
        settings = self.settings
        styled = three_letters(language) if settings.language_style == "639-3" else language
        return settings.language_codes.get(language) or styled

    def _url(self, path: str) -> str:
        return f"{self.target.base_url.rstrip('/') if path[:1] == '/' else self.target.base_url}{path}"

    def _ask_for(self, texts: Sequence[str], source: str, target: str) -> Request:
        settings = self.settings
        values = {"source": self.code(source), "target": self.code(target)}
        values_of_text: dict[str, Any] = {**values, "text": texts[0], "texts": list(texts)}
        headers, query, body = self._with_auth(
            {name: fill_text(value, values) for name, value in settings.headers.items()},
            {name: fill_text(value, values_of_text) for name, value in settings.query.items()},
            fill(settings.body, values_of_text),
        )
        in_path = {name: quote(str(value), safe="", errors="replace") for name, value in values_of_text.items()}
        path = fill_text(settings.path, in_path)
        if query:
            path += f"?{urlencode(query, errors='replace')}"
        if body is None:
            return Request(settings.method, path, headers)
        request = post_form(path, body, headers) if settings.encoding == "form" else post_json(path, body, headers)
        return Request(settings.method, path, request.headers, request.content)

    def _with_auth(
        self, headers: dict[str, str], query: dict[str, str], body: Any
    ) -> tuple[dict[str, str], dict[str, str], Any]:
        """Put the secret where it is wanted."""
        if self.settings.auth == "none" or not self.target.secret:
            return headers, query, body
        entry = {self.settings.auth_name: fill_text(self.settings.auth_value, {"secret": self.target.secret})}
        match self.settings.auth:
            case "header":
                return {**headers, **entry}, query, body
            case "query":
                return headers, {**query, **entry}, body
            case _:
                return headers, query, {**body, **entry}

    def _read(self, response: Response, asks: Sequence[Ask]) -> Sequence[str | Reply]:
        place = response.place
        if self.settings.response == "text":
            return texts_of([response.text.strip()], len(asks), place=place)
        body = response.json()
        try:
            said = self._output.search(body)
        except MISFITS:
            raise CallFailed("wrong-shape", f"the output expression does not fit what {place} answered") from None
        if said is None:
            raise CallFailed("wrong-shape", f"the output expression finds nothing in what {place} answered")
        return texts_of(said if self.settings.batch == "array" else [said], len(asks), place=place)


def _check_header_name(name: str, where: str) -> None:
    if not _TOKEN.fullmatch(name) or name.lower() in _OURS:
        raise SpecificationError(f"{name!r} is not a header that can be set", where)


def _flat(body: Any) -> bool:
    return body is None or (isinstance(body, dict) and all(isinstance(value, str) for value in body.values()))


def _first_line(wrong: Exception) -> str:
    return (str(wrong).splitlines() or ["it cannot be read"])[0][:200]
