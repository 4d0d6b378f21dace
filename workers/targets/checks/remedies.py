"""Causes and remedies of failed test questions, each in one sentence, for people who set up a target."""

import json
import re
import tomllib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib.resources import files
from typing import Any
from urllib.parse import urlsplit

from assay.model import Ask, Failure, Kind, Translate
from workers.egress import Exchange, Quoter
from workers.egress.connection import ReceivedResponse
from workers.targets.adapter import Target
from workers.targets.checks.answer_places import answer_paths, json_in, last_name, settings_that_read, values_in
from workers.targets.checks.translator import numbers_in
from workers.targets.parsing.answer_parsing import EVENTS_AS_TEXT, UNDECLARED
from workers.targets.parsing.written_numbers import FORMS

RECORD_KINDS = frozenset({Kind.CLASSIFIER, Kind.REGRESSOR})
"""Kinds of services that may take records instead of texts."""

MISUNDERSTOOD = frozenset({200, 400, 422})
"""HTTP statuses with which services answer a request in a form that they do not accept."""

ACCEPTED, BAD_REQUEST = 202, 400
"""HTTP statuses: the answer comes later (202), and the request was not understood (400)."""

LONGEST_SAID = 100
"""Maximum number of characters of a quoted message of the service."""

BLOCKING = frozenset({403, 407, 502, 503, 504, 511})
"""Statuses with which a proxy or firewall answers in place of a service, with a web page."""

SENTENCES: Mapping[str, Mapping[str, str]] = tomllib.loads(
    files(__package__).joinpath("remedies.toml").read_text("utf-8")
)
"""Causes and remedies, by name."""

_TITLE = re.compile(rb"<title[^<>]{0,200}>([^<]{1,200})", re.IGNORECASE)  # bounded, so that it takes linear time
_MISSING_THING = re.compile(r"model|deployment|engine|language|voice|version", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Remedy:
    """Cause of a failure, and its remedy."""

    cause: str
    remedy: str


@dataclass(frozen=True, slots=True)
class _Case:
    """A failure with the known facts: exchange, target and question."""

    failure: Failure
    exchange: Exchange | None
    target: Target
    ask: Ask

    @property
    def is_custom(self) -> bool:
        return self.target.protocol == "custom"

    @property
    def response(self) -> ReceivedResponse | None:
        return self.exchange.received if self.exchange else None

    @property
    def status(self) -> int:
        return self.response.status if self.response else 0

    @property
    def host(self) -> str:
        return urlsplit(self.exchange.url if self.exchange else self.target.base_url).netloc or self.target.protocol

    @property
    def path(self) -> str:
        return urlsplit(self.exchange.url).path or "/" if self.exchange else "/"

    @property
    def body(self) -> bytes:
        return self.response.body if self.response else b""

    @property
    def service_text(self) -> str:
        """The service's own message, cleaned, to be appended to a sentence; empty if there is none."""
        message = Quoter(self.target.secret).quote(self.body)
        return message if len(message) <= LONGEST_SAID else f'{message[: LONGEST_SAID - 2]}…"'

    @property
    def page_note(self) -> str:
        """Text that quotes the title of a web page; a space for a page without a title, empty for any other body."""
        if title := _TITLE.search(self.body):
            return f' with the title "{self.clean(title[1].decode("utf-8", "replace"))}"'
        return " " if b"<html" in self.body[:500].lower() else ""

    def header(self, name: str) -> str:
        header_value = dict(self.response.headers if self.response else ()).get(name.encode(), b"")
        return self.clean(header_value.decode("latin-1"))

    def clean(self, text: str) -> str:
        """Return a text of the service without the key, cut to `LONGEST_SAID` characters, to be shown to people."""
        return Quoter(self.target.secret).clean(text)[:LONGEST_SAID]

    def remedy(self, name: str, **words: object) -> Remedy:
        """Return an entry of ``remedies.toml``, with the facts of the case and further `words` filled in."""
        entry = SENTENCES[name]
        facts = {
            "place": self.host,
            "path": self.path,
            "status": self.status,
            "said": self.service_text,
            "page": self.page_note.rstrip(),
            "message": self.failure.message,
            "protocol": self.target.protocol,
            "limit": self.target.limits.timeout_s,
        }
        remedy = entry.get("remedy_of_custom", entry["remedy"]) if self.is_custom else entry["remedy"]
        return Remedy(entry["cause"].format(**facts | words), remedy.format(**facts | words))


def remedy_for(failure: Failure, exchange: Exchange | None, target: Target, ask: Ask) -> Remedy:
    """Return the cause and the remedy of a failed question; `exchange` is the last request, if one was sent."""
    case = _Case(failure, exchange, target, ask)
    remedy = _remedy_of_case(case)
    lacks_samples = target.kind in RECORD_KINDS and case.status in MISUNDERSTOOD and not target.settings.get("samples")
    # a remedy that names the place of the answer implies that the request was understood
    if lacks_samples and "settings.output" not in remedy.remedy:
        return Remedy(remedy.cause, f"{remedy.remedy} If it takes records, give some in settings.samples.")
    return remedy


def doubt_about(answer: object, exchange: Exchange | None, target: Target, ask: Ask) -> Remedy:
    """Return a suspected fault of an answer that could be parsed, and its remedy; both empty if there is none."""
    case = _Case(Failure("doubt", ""), exchange, target, ask)  # a placeholder, because the answer is no failure
    if case.status == ACCEPTED and not target.settings.get("poll"):  # HTTP 202: the answer comes later
        return _polling_remedy(case)
    if not isinstance(ask, Translate):
        return Remedy("", "")
    if not str(answer).strip():
        return case.remedy("empty-translation")
    if str(answer).strip() == ask.text:
        return case.remedy("untranslated", source=ask.source, target=ask.target)
    return Remedy("", "") if numbers_in(answer) & numbers_in(ask.text) else case.remedy("no-numbers")


def _remedy_of_case(case: _Case) -> Remedy:
    """Choose the remedy: first by facts that tell more than the failure's code, then by the code."""
    failure, auth = case.failure, case.target.settings.get("auth")
    scheme = auth if isinstance(auth, Mapping) else dict[str, Any]()
    if case.exchange and case.exchange.url == scheme.get("token_url"):
        return case.remedy("no-token", http=f" (HTTP {case.status})" if case.status else "")
    if failure.code == "auth" and scheme.get("type") == "aws-sigv4":
        return case.remedy("signature")
    # a TLS server answers a plain request with a sentence about HTTPS, or closes the connection (status 0)
    tls_status = BAD_REQUEST if b"HTTPS" in case.body else 0
    if case.status == tls_status and failure.code in {"truncated", "http-400"}:
        return case.remedy("wants-https", answer=case.service_text or ": it closes the connection.")
    if case.status in BLOCKING and case.page_note:
        return case.remedy("page-of-proxy")
    find_remedy = BY_CODE.get(failure.code)
    if find_remedy is not None:
        return find_remedy(case)
    if failure.code.startswith("http-5"):
        return case.remedy("server-error")
    if failure.code.startswith("http-"):
        remedy_of_rejection = case.remedy("rejected")
        is_stream = not case.is_custom and "stream" in case.service_text.lower()
        return case.remedy("streamed", cause=remedy_of_rejection.cause) if is_stream else remedy_of_rejection
    if "limit of tokens" in failure.message:
        return case.remedy("no-end")
    if failure.code in {"declined", "cut-short", "no-choice"}:
        return case.remedy("not-as-asked")
    return case.remedy(failure.code if failure.code in SENTENCES else "other")


def _connection_remedy(case: _Case) -> Remedy:
    is_unknown_host = "resolve" in case.failure.message or "no address" in case.failure.message
    return case.remedy("unknown-host" if is_unknown_host else "unreachable")


def _auth_remedy(case: _Case) -> Remedy:
    if not case.target.secret:
        return case.remedy("no-key")
    return case.remedy("forbidden" if case.status == 403 else "refused-key")


def _method_remedy(case: _Case) -> Remedy:
    """Choose the remedy of a refused HTTP method: to use another method, if possible one that the service allows."""
    allowed_methods = case.header("allow")
    method = next((name for name in ("POST", "GET", "PUT") if name in re.split(r"[,\s]+", allowed_methods)), None)
    return case.remedy(
        "method",
        used=case.exchange.method if case.exchange else "this method",
        allowed=f"; it takes {allowed_methods}" if allowed_methods else "",
        change=f'settings.method = "{method}"' if method else "another settings.method (POST, GET or PUT)",
    )


def _redirect_remedy(case: _Case) -> Remedy:
    location = case.header("location")
    return case.remedy("redirect", to=f" to {location}" if location else "")


def _rate_remedy(case: _Case) -> Remedy:
    wait = case.header("retry-after")
    duration = f"{wait} s" if wait.isdecimal() else f"until {wait}"
    return case.remedy("too-often", when=f"; it asks to wait {duration}" if wait else "")


def _garbage_remedy(case: _Case) -> Remedy:
    if not case.body:
        return case.remedy("not-http")
    return case.remedy("page" if case.page_note else "xml")


def _suggested_settings(case: _Case) -> str:
    settings = settings_that_read(case.body, case.target.kind)
    return ", ".join(f"settings.{name} = {json.dumps(value)}" for name, value in settings.items())


def _not_json_remedy(case: _Case) -> Remedy:
    """Choose the remedy of an answer that is not JSON: empty, a stream, or another text."""
    beginning = case.clean(case.body[:40].decode("utf-8", "replace"))
    if not beginning:
        return case.remedy("empty-answer")
    not_json = case.remedy("not-json", began=beginning, settings=_suggested_settings(case))
    is_stream = not case.is_custom and beginning.startswith(("data:", "event:"))
    return case.remedy("streamed", cause=not_json.cause) if is_stream else not_json


def _wrong_shape_remedy(case: _Case) -> Remedy:
    """Choose the remedy of an answer without the wanted value: by phrases of the failure's message, or by the body."""
    message, named_settings = case.failure.message, _NAMED_SETTING.findall(case.failure.message)
    if named_settings:
        return case.remedy("named-setting", settings=" or ".join(dict.fromkeys(named_settings)))
    if _TOP_LABEL in message:
        remedy_name = f"top-label-of-{case.target.protocol}"
        return case.remedy(remedy_name if remedy_name in SENTENCES else "top-label")
    if UNDECLARED in message:
        return case.remedy("undeclared")
    if not case.is_custom:
        return case.remedy("wrong-protocol")
    if case.status == ACCEPTED and not case.target.settings.get("poll"):  # HTTP 202: the answer comes later
        return _polling_remedy(case)
    if re.match(rb'\s*\{\s*"errors?"\s*:\s*[{"\[][^\]]', case.body):  # an error that is not empty comes first
        return case.remedy("error-as-success")
    if "labels" in (suggestion := _suggested_settings(case)):
        return case.remedy("no-class", settings=suggestion)
    output = json.dumps(str(case.target.settings.get("output", "@")))
    if paths := list(answer_paths(case.body, case.target.kind)):
        number = settings_that_read(case.body, case.target.kind).get("number")
        form_advice = f", and settings.number = {json.dumps(number)}" if number in FORMS else ""
        return case.remedy("other-place", output=output, paths=" or ".join(map(json.dumps, paths)), form=form_advice)
    if _NO_NUMBER in message:
        return case.remedy("no-number")
    return case.remedy("no-answer", output=output, wanted=_WANTED[case.target.kind])


_NAMED_SETTING = re.compile(r'settings\.\w+ = "[\w-]+"')
_NO_NUMBER = "it is a number in no form that is read"
_TOP_LABEL = "gave the top label alone"

_WANTED: Mapping[Kind, str] = {
    Kind.TRANSLATOR: "text",
    Kind.CLASSIFIER: "label or probabilities",
    Kind.REGRESSOR: "number",
    Kind.EMBEDDER: "list of numbers",
    Kind.LANGUAGE_MODEL: "text",
    Kind.IMAGE_CLASSIFIER: "label or probabilities",
}

BY_CODE: Mapping[str, Callable[[_Case], Remedy]] = {
    "connect": _connection_remedy,
    "tls": lambda case: case.remedy("certificate" if "certificate" in case.failure.message else "tls"),
    "timeout": lambda case: case.remedy("not-done" if case.status and case.target.settings.get("poll") else "timeout"),
    "redirect": _redirect_remedy,
    "auth": _auth_remedy,
    "http-404": lambda case: case.remedy("unknown-name" if _MISSING_THING.search(case.service_text) else "not-found"),
    "http-405": _method_remedy,
    "http-429": _rate_remedy,
    "garbage": _garbage_remedy,
    "bad-json": _not_json_remedy,
    "wrong-shape": lambda case: (
        case.remedy("events-as-text", settings=_suggested_settings(case))
        if EVENTS_AS_TEXT in case.failure.message
        else _wrong_shape_remedy(case)
    ),
}
"""By failure code: a function that chooses the remedy from further facts, if the code alone does not decide."""


def _polling_remedy(case: _Case) -> Remedy:
    """Advise to poll, with the likely expressions for the id and the status in the answer."""
    texts = [path for path, value in values_in(json_in(case.body)) if isinstance(value, str)]
    id_path, status_path = (
        next((path for path in texts if last_name(path).lower() in names), names[0])  # or the usual name
        for names in (("id", "job_id", "task_id", "jobid"), ("status", "state"))
    )
    return case.remedy("accepted", number=id_path, state=status_path)
