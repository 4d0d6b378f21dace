"""ASGI middleware of every request: request id, size limit, standard headers, metrics, unexpected errors."""

import hashlib
import re
import time
import traceback
from ipaddress import ip_address
from typing import Any
from urllib.parse import urlsplit

import structlog
from fastapi import Request
from starlette.datastructures import Headers, MutableHeaders
from starlette.requests import ClientDisconnect
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send
from structlog.contextvars import bound_contextvars

from service.http.conditional import caller_has
from service.http.metrics import Meter
from service.http.problem_mapping import allowed_methods
from service.http.problems import Problem, respond
from service.http.rate_limit import SAFE
from store.core.columns import new_id
from store.formats.image import MOST_BYTES

_REQUEST_ID = re.compile(r"[A-Za-z0-9._-]{8,64}")

UPLOADS = "/v1/uploads"  # the path of uploads

_CORPUS_FILES = re.compile(r"/v1/corpora/[^/]+/(images|import)")
"""Paths of pictures and tables of sentences. They are held in memory, so they have a smaller limit than an upload."""

_FORMS = re.compile(r"/uploads|/corpora/[^/]+/(images|import)")
"""Paths of the web pages whose forms send files."""

FORM_BYTES = 1 << 16
"""Maximum size in bytes of a form without its file: the other fields and the boundaries between the fields."""

MAX_QUERY_BYTES = 1 << 14
"""Maximum size in bytes of a query; parsing 64 kB of short parameters takes as long as ten requests."""

STANDARD_HEADERS = (("X-Content-Type-Options", "nosniff"), ("Referrer-Policy", "no-referrer"))
"""Headers of every response."""

log = structlog.get_logger(__name__)


class RequestMiddleware:
    """ASGI middleware of every request.

    It accepts or creates a request id, answers HEAD as GET without a body and OPTIONS with ``Allow``,
    limits the size of the body, adds the headers of every response (public ones get an entity tag), and counts
    requests. An unexpected error becomes a problem document; its details are in the log only.

    If `hosts` are given, requests that another web site may have caused are refused (`foreign_origin`). The framework's
    ``max_body_size`` is not used, because it answers in plain text.
    """

    def __init__(
        self,
        app: ASGIApp,
        meter: Meter,
        max_body_bytes: int,
        max_upload_bytes: int,
        hosts: frozenset[str] | None = None,
    ) -> None:
        self._app, self._meter, self._hosts = app, meter, hosts  # no hosts: requests from other sites pass
        self._max_body_bytes, self._max_upload_bytes = max_body_bytes, max_upload_bytes

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle one request."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        request_id = Headers(scope=scope).get("x-request-id", "")
        scope = {**scope, "assay.request_id": request_id if _REQUEST_ID.fullmatch(request_id) else new_id("req")}
        sender = _ResponseSender(scope, send)
        if sender.is_head:
            scope.update({"method": "GET", "assay.head": True})  # the key is for routes that must not start a stream
        began = time.perf_counter()
        try:
            with bound_contextvars(request=scope["assay.request_id"]):
                await self._respond(scope, receive, sender)
        except ClientDisconnect:
            log.info("caller disconnected", request=scope["assay.request_id"])
        except Exception as error:
            facts = {"request": scope["assay.request_id"], "error": type(error).__name__, "at": _frames(error)}
            log.error("request failed", **facts)  # noqa: TRY400  the exception's text may hold a secret
            if sender.status:  # the response has begun, and cannot become a problem
                raise
            await respond(Request(scope), Problem("internal-error"))(scope, receive, sender.send)
        route = getattr(scope.get("route"), "path_format", "unmatched")
        self._meter.count_request(sender.method, route, sender.status, time.perf_counter() - began)

    async def _respond(self, scope: Scope, receive: Receive, sender: "_ResponseSender") -> None:
        """Refuse a foreign origin or an excessive size, answer OPTIONS, or else pass the request to the application."""
        if self._hosts is not None and (problem := foreign_origin(scope, self._hosts)) is not None:
            await respond(Request(scope), problem)(scope, receive, sender.send)
            return
        limit = self._body_limit(scope["method"], scope["path"])
        length_text = Headers(scope=scope).get("content-length", "")
        # a length of more than 18 digits is above every limit, and is not converted
        if length_text.isdecimal() and (len(length_text) > 18 or int(length_text) > limit):
            response: Response = respond(Request(scope), too_large(limit))
        elif (query_bytes := len(scope["query_string"])) > MAX_QUERY_BYTES:
            detail = f"the query has {query_bytes:,} bytes; at most {MAX_QUERY_BYTES:,} are allowed"
            response = respond(Request(scope), Problem("invalid-request", detail))
        elif scope["method"] == "OPTIONS":
            response = _options_response(scope)
        else:
            await self._app(scope, _limit_body(receive, limit), sender.send)
            return
        await response(scope, receive, sender.send)

    def _body_limit(self, method: str, path: str) -> int:
        """Return the maximum size of a body in bytes: of an upload, a corpus file, a form (with a file), or JSON."""
        if method == "POST" and path == UPLOADS:
            return self._max_upload_bytes
        if method == "POST" and _CORPUS_FILES.fullmatch(path) is not None:
            return min(self._max_upload_bytes, MOST_BYTES)
        if path == "/sign-in":  # the sign-in form, which needs no session
            return FORM_BYTES
        if method == "POST" and _FORMS.fullmatch(path) is not None:
            limit = self._max_upload_bytes if path == "/uploads" else min(self._max_upload_bytes, MOST_BYTES)
            return limit + FORM_BYTES
        return self._max_body_bytes


class _ResponseSender:
    """Sends the parts of a response, and completes its headers; `status` is 0 until the response begins."""

    def __init__(self, scope: Scope, send: Send) -> None:
        self.status = 0
        self.method, self.is_head = scope["method"], scope["method"] == "HEAD"
        self._scope, self._send, self._ended = scope, send, False
        self._untagged_start: Message | None = None

    async def send(self, message: Message) -> None:
        """Send a part of the response; hold back a public response without an entity tag until its body is known."""
        if message["type"] == "http.response.start":
            self.status = message["status"]
            headers = MutableHeaders(scope=message)
            headers["X-Request-Id"] = self._scope["assay.request_id"]
            for name, value in STANDARD_HEADERS:
                headers.setdefault(name, value)
            headers.setdefault("Cache-Control", "no-cache")
            if "public" not in headers["Cache-Control"]:
                _vary_by_caller(headers)
            elif self.status == 200 and "ETag" not in headers:
                self._untagged_start = message
                return
        elif self._untagged_start is not None:
            start, self._untagged_start = self._untagged_start, None
            # a body that comes in several parts gets no tag, because its digest is not known yet
            await self._send(start if message.get("more_body") else self._tag_start(start, message))
        if message["type"] == "http.response.body" and self.is_head:  # one empty body replaces all parts of the body
            if self._ended:
                return
            message = {"type": "http.response.body", "body": b"", "more_body": False}
            self._ended = True
        await self._send(message)

    def _tag_start(self, start: Message, body: Message) -> Message:
        """Return a response's start with the body's digest as entity tag; if the caller has it, 304 and no body."""
        headers = MutableHeaders(scope=start)
        headers["ETag"] = f'"{hashlib.sha256(body["body"]).hexdigest()[:32]}"'
        if not caller_has(Request(self._scope), headers["ETag"]):
            return start
        for name in ("Content-Length", "Content-Type", "Content-Encoding"):
            del headers[name]
        self.status, body["body"] = 304, b""
        return {**start, "status": 304}


def _vary_by_caller(headers: MutableHeaders) -> None:
    """Add the headers that identify a caller to ``Vary``, so that no cache returns one caller's response to another."""
    varying = [name.strip() for name in headers.get("Vary", "").split(",") if name.strip()]
    headers["Vary"] = ", ".join([*varying, *(name for name in ("Authorization", "Cookie") if name not in varying)])


def too_large(limit: int) -> Problem:
    """Return the problem for a body above `limit` bytes."""
    return Problem("body-too-large", f"at most {limit} bytes are allowed", headers={"Connection": "close"})


def _limit_body(receive: Receive, limit: int) -> Receive:
    received_bytes = 0

    async def receive_bounded() -> Message:
        nonlocal received_bytes
        message = await receive()
        received_bytes += len(message.get("body", b""))
        if received_bytes > limit:
            raise too_large(limit)
        return message

    return receive_bounded


def _options_response(scope: Scope) -> Response:
    allow = allowed_methods(scope["app"], scope["path"])
    if not allow:
        return respond(Request(scope), Problem("not-found", f"nothing is served at {scope['path'][:200]}"))
    return Response(status_code=204, headers={"Allow": ", ".join(allow)})


def own_hosts(public_url: str | None) -> frozenset[str]:
    """Return the host names under which a service that needs no API keys answers, besides loopback addresses."""
    public_host = urlsplit(public_url or "").hostname
    return frozenset({"localhost"} | ({public_host} if public_host else set()))


def foreign_origin(scope: Scope, hosts: frozenset[str]) -> Problem | None:
    """Return a problem if another web site may have caused a request to a service without keys.

    A web page can make a browser send requests to this machine (with an `Origin`), or to the page's own host name after
    that name was made to resolve to this machine (DNS rebinding, with a foreign `Host`).
    """
    headers = Headers(scope=scope)
    host, origin = headers.get("host"), headers.get("origin")
    site = headers.get("sec-fetch-site", "none")  # sent by browsers only
    if host is not None and not _is_own_host(_hostname(f"//{host}"), hosts):
        reason = f"the host {host[:200]!r} does not belong to this machine"
        return Problem("foreign-origin", f"{reason}; set ASSAY_PUBLIC_URL to use it")
    if scope["method"] in SAFE:  # it changes nothing
        return None
    if site not in {"none", "same-origin"} or (origin is not None and not _is_same_origin(origin, host, hosts)):
        source = f"a page of {origin[:200]!r}" if origin else f"a page of another site ({site[:20]})"
        return Problem("foreign-origin", f"{source} sent this request; it needs a key and ASSAY_AUTH=keys")
    return None


def _is_own_host(name: str | None, hosts: frozenset[str]) -> bool:
    if name in hosts:
        return True
    try:
        return ip_address(name or "").is_loopback
    except ValueError:
        return False


def _is_same_origin(origin: str, host: str | None, hosts: frozenset[str]) -> bool:
    """Return whether an origin is the request's `host` or the public host, which can differ behind a proxy."""
    name = _hostname(origin)
    # another port of localhost can be another program
    return origin.partition("://")[2] == host or (name in hosts and name != "localhost")


def _hostname(address: str) -> str | None:
    try:
        return urlsplit(address).hostname
    except ValueError:
        return None


def _frames(error: BaseException) -> list[str]:
    """Return the innermost 12 stack frames as ``file:line name``; the exception's text may hold a secret."""
    frames: list[Any] = traceback.extract_tb(error.__traceback__)[-12:]
    return [f"{frame.filename.rpartition('/site-packages/')[2]}:{frame.lineno} {frame.name}" for frame in frames]
