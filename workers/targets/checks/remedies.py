"""Causes and remedies of failed test questions, each in one sentence, for people who set up a target."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

from assay.model import Ask, Failure, Kind, Translate
from workers.egress import Exchange, Quoter
from workers.targets.adapter import Target
from workers.targets.checks.answer_places import answer_paths, json_in, last_name, settings_that_read, values_in
from workers.targets.checks.translator import numbers_in
from workers.targets.parsing.answer_parsing import UNDECLARED
from workers.targets.parsing.written_numbers import FORMS

RECORDS = frozenset({Kind.CLASSIFIER, Kind.REGRESSOR})
"""Kinds of services that may take records instead of texts."""

MISUNDERSTOOD = frozenset({200, 400, 422})
"""HTTP statuses with which services answer a request in a form that they do not accept."""

ACCEPTED, BAD_REQUEST = 202, 400
"""HTTP statuses: the answer comes later (202), and the request was not understood (400)."""

LONGEST_SAID = 100
"""Maximum number of characters of a quoted message of the service."""

BLOCKING = frozenset({403, 407, 502, 503, 504, 511})
"""Statuses with which a proxy or firewall answers in place of a service, with a web page."""

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
    def custom(self) -> bool:
        return self.target.protocol == "custom"

    @property
    def status(self) -> int:
        received = self.exchange.received if self.exchange else None
        return received.status if received else 0

    @property
    def place(self) -> str:
        return urlsplit(self.exchange.url if self.exchange else self.target.base_url).netloc or self.target.protocol

    @property
    def path(self) -> str:
        return urlsplit(self.exchange.url).path or "/" if self.exchange else "/"

    @property
    def body(self) -> bytes:
        received = self.exchange.received if self.exchange else None
        return received.body if received else b""

    @property
    def said(self) -> str:
        """The service's own message, cleaned, to be appended to a sentence; empty if there is none."""
        message = Quoter(self.target.secret).quote(self.body)
        return message if len(message) <= LONGEST_SAID else f'{message[: LONGEST_SAID - 2]}…"'

    @property
    def page(self) -> str:
        """Text that quotes the title of a web page; a space for a page without a title, empty for any other body."""
        title = _TITLE.search(self.body)
        bare = " " if b"<html" in self.body[:500].lower() else ""
        return f' with the title "{self.clean(title[1].decode("utf-8", "replace"))}"' if title else bare

    def header(self, name: str) -> str:
        received = self.exchange.received if self.exchange else None
        value = dict(received.headers if received else ()).get(name.encode(), b"")
        return self.clean(value.decode("latin-1"))

    def clean(self, text: str) -> str:
        """Return a text of the service without the key, cut to `LONGEST_SAID` characters, to be shown to people."""
        return Quoter(self.target.secret).clean(text)[:LONGEST_SAID]

    def setting(self, name: str, otherwise: str) -> str:
        """Return `name`, a setting of the protocol `custom`; for other protocols, the text `otherwise`."""
        return f"settings.{name}" if self.custom else otherwise


def remedy_for(failure: Failure, exchange: Exchange | None, target: Target, ask: Ask) -> Remedy:
    """Return the cause and the remedy of a failure.

    Parameters
    ----------
    exchange : Exchange, optional
        The last request with its response, if one was sent.
    ask : Ask
        The question.
    """
    case = _Case(failure, exchange, target, ask)
    remedy = _remedy(case)
    misunderstood = target.kind in RECORDS and case.status in MISUNDERSTOOD and not target.settings.get("samples")
    if misunderstood and "settings.output" not in remedy.remedy:
        return Remedy(remedy.cause, f"{remedy.remedy} If it takes records, give some in settings.samples.")
    return remedy


def doubt_about(answer: object, exchange: Exchange | None, target: Target, ask: Ask) -> Remedy:
    """Return a suspected fault of an answer that could be parsed, and its remedy; both empty if there is none."""
    case = _Case(Failure("doubt", ""), exchange, target, ask)
    if case.status == ACCEPTED and not target.settings.get("poll"):
        return _polling_remedy(case)
    if not isinstance(ask, Translate):
        return Remedy("", "")
    if not str(answer).strip():
        return Remedy(
            "The translation is empty.", f"Correct {case.setting('body and settings.output', 'the languages')}."
        )
    if str(answer).strip() == ask.text:
        return Remedy("The translation is the sentence itself.", f"Send the languages {ask.source} and {ask.target}.")
    if not numbers_in(answer):
        where = case.setting("body and settings.output", "the protocol and its settings")
        return Remedy("The answer lacks the number of the sentence: it may be no translation.", f"Check {where}.")
    return Remedy("", "")


def _remedy(case: _Case) -> Remedy:
    failure, auth = case.failure, case.target.settings.get("auth")
    scheme = auth if isinstance(auth, Mapping) else dict[str, Any]()
    if case.exchange and case.exchange.url == scheme.get("token_url"):
        return Remedy(
            f"No token came from {case.place}{case.path}{f' (HTTP {case.status})' * bool(case.status)}{case.said}",
            "Correct settings.auth, or the client's secret (ASSAY_TARGET_SECRET).",
        )
    if failure.code == "auth" and scheme.get("type") == "aws-sigv4":
        return Remedy(
            f"{case.place} refused the signature or the key (HTTP {case.status}){case.said}",
            "Check both parts of the key (ASSAY_TARGET_SECRET), and service and region in settings.auth.",
        )
    if case.status == (BAD_REQUEST if b"HTTPS" in case.body else 0) and failure.code in {"truncated", "http-400"}:
        return Remedy(
            f"{case.place} does not answer this request{case.said or ': it closes the connection.'}",
            "Write https:// in base_url if the service speaks TLS; else look into the service's own log.",
        )
    if case.status in BLOCKING and (page := case.page):
        return Remedy(
            f"A web page{page.rstrip()} came in place of an answer (HTTP {case.status}), perhaps from a proxy.",
            "Open the address in a browser; correct base_url, or ask the network's operator.",
        )
    find = BY_CODE.get(failure.code)
    if find is not None:
        return find(case)
    if failure.code.startswith("http-5"):
        return Remedy(
            f"{case.place} failed by itself (HTTP {case.status}){case.said}",
            "Look into the service's own log; send the request above by hand to see it fail without Assay.",
        )
    if failure.code.startswith("http-"):
        return _rejected_request(case)
    notes = " ".join(_notes(case))
    return Remedy(failure.message, notes or "Compare the request above with the service's documentation.")


def _notes(case: _Case) -> Iterator[str]:
    if "limit of tokens" in case.failure.message:
        yield "Let the model finish: null leaves the limit out, and a model that thinks first needs some thousands."
    elif case.failure.code in {"declined", "cut-short", "no-choice"}:
        yield "The service answers, but not with what was asked for: another model or other settings may."
    elif case.failure.code == "unsupported":
        yield f"See `assay protocols {case.target.protocol}` for what this protocol can send, or choose another one."


def _unreachable(case: _Case) -> Remedy:
    if "resolve" in case.failure.message or "no address" in case.failure.message:
        return Remedy(case.failure.message, "Correct the host name in base_url; this machine does not know it.")
    return Remedy(
        f"Nothing listens at {case.place}.", "Start the service, or correct the host and the port in base_url."
    )


def _refused_address(case: _Case) -> Remedy:
    return Remedy(case.failure.message, "Allow its network with --egress-allow (on a server: ASSAY_EGRESS_ALLOW).")


def _tls(case: _Case) -> Remedy:
    if "certificate" in case.failure.message:
        return Remedy(
            case.failure.message,
            "Set SSL_CERT_FILE to its issuer's certificate (PEM); on your own machine http:// will do.",
        )
    return Remedy(case.failure.message, "Write http:// in base_url, or the port on which the service speaks TLS.")


def _compressed_answer(case: _Case) -> Remedy:
    return Remedy(
        f"{case.place} sent a compressed answer, although the request permits none (Accept-Encoding: identity).",
        "Turn compression off in the service, or in the proxy before it.",
    )


def _timeout(case: _Case) -> Remedy:
    limit = case.target.limits.timeout_s
    if case.status and case.target.settings.get("poll"):
        return Remedy(
            f"{case.place} had no status of settings.poll.done within {limit:g} s; its last answer is above.",
            f"If that is complete, add its status to settings.poll.done; else raise limits.timeout_s (now {limit:g}).",
        )
    return Remedy(
        f"{case.place} did not answer within {limit:g} s.",
        f"Raise limits.timeout_s (now {limit:g}, at most 600), or see whether its model still loads.",
    )


def _redirect(case: _Case) -> Remedy:
    to = case.header("location")
    return Remedy(
        f"{case.place} redirects (HTTP {case.status}){f' to {to}' if to else ''}, and redirects are not followed.",
        f"Write the address it leads to in base_url{' and settings.path' if case.custom else ''}.",
    )


def _auth(case: _Case) -> Remedy:
    where = case.setting("auth, .auth_name and .auth_value", "the protocol's notes")
    if not case.target.secret:
        how = ' and set settings.auth = "header", or where it goes' if case.custom else ""
        return Remedy(
            f"{case.place} wants a key (HTTP {case.status}), and none was sent{case.said}",
            f"Give the key (ASSAY_TARGET_SECRET){how}.",
        )
    if case.status == 403:
        return Remedy(
            f"{case.place} forbids this to the key or to this network (HTTP 403){case.said}",
            "Give the key the right to this model and path at the service, or ask its operator.",
        )
    return Remedy(
        f"{case.place} refused the key (HTTP {case.status}){case.said}",
        f"Check the key (ASSAY_TARGET_SECRET), and how it is sent: {where}.",
    )


def _quota(case: _Case) -> Remedy:
    return Remedy(
        f"The account at {case.place} is used up (HTTP {case.status}){case.said}",
        "Add credit at the service, or use another key; waiting does not help.",
    )


def _not_found(case: _Case) -> Remedy:
    if case.said and _MISSING_THING.search(case.said):
        return Remedy(
            f"{case.place} answers at {case.path}, but does not have what was asked for (HTTP 404){case.said}",
            "Correct the name in [target.settings] (model, languages) to one that the service lists.",
        )
    where = "base_url and settings.path" if case.custom else "base_url, without the protocol's own path"
    return Remedy(
        f"{case.place} has nothing at {case.path} (HTTP 404){case.said}",
        f"Correct {where}: the address above is not the documented one.",
    )


def _method(case: _Case) -> Remedy:
    used = case.exchange.method if case.exchange else "this method"
    allowed = case.header("allow")
    fits = next((method for method in ("POST", "GET", "PUT") if method in re.split(r"[,\s]+", allowed)), None)
    allowed_methods = f"; it takes {allowed}" if allowed else ""
    if case.custom:
        change = f'settings.method = "{fits}"' if fits else "another settings.method (POST, GET or PUT)"
    else:
        change = "another base_url: this path is of something else"
    return Remedy(f"{case.place} does not take {used} at {case.path} (HTTP 405){allowed_methods}", f"Set {change}.")


def _rejected_request(case: _Case) -> Remedy:
    where = case.setting("body, settings.query and settings.encoding", "[target.settings] and the languages")
    streamed = not case.custom and "stream" in case.said.lower()
    return Remedy(
        f"{case.place} did not accept the request (HTTP {case.status}){case.said}",
        _STREAMED if streamed else f"Correct {where} by the service's documentation.",
    )


def _too_often(case: _Case) -> Remedy:
    wait = case.header("retry-after")
    when = f"; it asks to wait {f'{wait} s' if wait.isdecimal() else f'until {wait}'}" if wait else ""
    return Remedy(
        f"{case.place} was called too often (HTTP 429){when}{case.said}",
        "Lower limits.requests_per_second and limits.concurrency; a rating waits and asks again.",
    )


def _garbage(case: _Case) -> Remedy:
    if not case.body:
        return Remedy(
            case.failure.message, "Correct the port in base_url: another protocol than HTTP/1.1 is spoken there."
        )
    if not case.page:
        return Remedy(
            f"{case.place}{case.path} answered XML instead of JSON, from which Assay cannot take a part.",
            'Ask for JSON in settings.headers = {Accept = "application/json"}, or use --command or --python.',
        )
    return Remedy(
        f"{case.place}{case.path} answered a web page{case.page.rstrip()} instead of JSON.",
        f"Write the address of the API in {case.setting('path', 'base_url')}, not that of its website.",
    )


def _settings(case: _Case) -> str:
    settings = settings_that_read(case.body, case.target.kind)
    return ", ".join(f"settings.{name} = {json.dumps(value)}" for name, value in settings.items())


def _not_json(case: _Case) -> Remedy:
    began = case.clean(case.body[:40].decode("utf-8", "replace"))
    content = f'begins with "{began}"' if began else "is empty"
    remedy = f"Set {_settings(case)} if the answer stands there." if case.custom else _PROTOCOL
    if began.startswith(("data:", "event:")) and not case.custom:
        remedy = _STREAMED
    if not began:
        remedy = f"Correct {case.setting('path, settings.method and settings.body', 'base_url')}."
    return Remedy(f"The answer of {case.place} is not JSON: it {content}.", remedy)


_STREAMED = (
    'The server streams its answers: describe it with the protocol custom and settings.response = "events", as '
    "docs/targets.md shows under A server that only streams."
)
_PROTOCOL = (
    'Check the protocol (`assay protocols`); any other interface can be described as "custom", which `assay init` does.'
)


def _wrong_shape(case: _Case) -> Remedy:
    paths = list(answer_paths(case.body, case.target.kind))
    if settings := _NAMED_SETTING.findall(case.failure.message):
        return Remedy(
            f"{case.failure.message}.", f"Set {' or '.join(dict.fromkeys(settings))}, as the service means it."
        )
    if _TOP_LABEL in case.failure.message:
        return Remedy(f"{case.failure.message}.", _SCORE_ALL.get(case.target.protocol, _SCORE_ALL[""]))
    if UNDECLARED in case.failure.message:
        return Remedy(f"{case.failure.message}.", "Declare in settings.labels every label that the service gives.")
    if not case.custom:
        return Remedy(case.failure.message, _PROTOCOL)
    output = str(case.target.settings.get("output", "@"))
    if case.status == ACCEPTED and not case.target.settings.get("poll"):
        return _polling_remedy(case)
    if re.match(rb'\s*\{\s*"errors?"\s*:\s*[{"\[][^\]]', case.body):
        return Remedy(
            f"{case.place} answered an error with the status 200{case.said}",
            "Correct what the message names; settings.output is not the cause.",
        )
    if "labels" in (reading := _settings(case)):
        return Remedy("The answer is one number, and no class.", f"Set {reading}; or rate it as a regressor.")
    if paths:
        number = settings_that_read(case.body, case.target.kind).get("number") if "labels" not in reading else None
        form = f", and settings.number = {json.dumps(number)}" if number in FORMS else ""
        return Remedy(
            f"settings.output = {json.dumps(output)} does not lead to the answer in what {case.place} sent.",
            f"Set settings.output to {' or '.join(json.dumps(path) for path in paths)}{form}.",
        )
    if _NO_NUMBER in case.failure.message:
        return Remedy(
            f"{case.failure.message}.", "Let the service send a number, or rate it as a classifier of a few labels."
        )
    return Remedy(
        f"settings.output = {json.dumps(output)} finds no answer, and the body has no {_WANTED[case.target.kind]}.",
        "Correct settings.body and settings.path, until the service answers as its documentation shows.",
    )


_NAMED_SETTING = re.compile(r'settings\.\w+ = "[\w-]+"')
_NO_NUMBER = "it is a number in no form that is read"
_TOP_LABEL = "gave the top label alone"
_SCORE_ALL: Mapping[str, str] = {
    "hf-inference": "Raise settings.top_k to the number of labels; of two labels in settings.labels one score will do.",
    "custom": "Let settings.output name the label without its score; of two labels in settings.labels one will do.",
    "kserve": "Name the output with all probabilities, or that with the label alone, in settings.outputs.",
    "mlflow": "Name the column with the label, or log the model with predict_proba; see settings.output_column.",
    "": "Make the service score every label; with two labels in settings.labels one score will do.",
}
"""Remedies for answers with the score of the top label only, by protocol."""

_WANTED: Mapping[Kind, str] = {
    Kind.TRANSLATOR: "text",
    Kind.CLASSIFIER: "label or probabilities",
    Kind.REGRESSOR: "number",
    Kind.EMBEDDER: "list of numbers",
    Kind.LANGUAGE_MODEL: "text",
    Kind.IMAGE_CLASSIFIER: "label or probabilities",
}

BY_CODE: Mapping[str, Callable[[_Case], Remedy]] = {
    "connect": _unreachable,
    "refused-address": _refused_address,
    "tls": _tls,
    "encoded-body": _compressed_answer,
    "timeout": _timeout,
    "redirect": _redirect,
    "auth": _auth,
    "quota": _quota,
    "http-404": _not_found,
    "http-405": _method,
    "http-429": _too_often,
    "garbage": _garbage,
    "bad-json": _not_json,
    "wrong-shape": _wrong_shape,
}
"""Remedies by the code of a failure."""


def _polling_remedy(case: _Case) -> Remedy:
    texts = [path for path, value in values_in(json_in(case.body)) if isinstance(value, str)]
    number, status = (
        next((path for path in texts if last_name(path).lower() in names), names[0])
        for names in (("id", "job_id", "task_id", "jobid"), ("status", "state"))
    )
    return Remedy(
        f"{case.place} accepted the question (HTTP 202) and will answer later.",
        f'Set settings.poll = {{id = "{number}", status = "{status}", path = "{case.path}/{{id}}", done = ["…"]}}, and '
        "settings.output to the place in the last answer.",
    )
