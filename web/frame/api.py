"""Client for the API within this process, with the caller already authenticated.

Pages have no other source of data, so the API offers everything that they show.
"""

import asyncio
import json
from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Self
from urllib.parse import quote, urlencode

from fastapi import Request
from starlette.datastructures import Headers, MutableHeaders
from starlette.requests import ClientDisconnect
from starlette.responses import Response
from starlette.types import Message

from service.http.authentication import Caller
from service.http.problems import kind_named, not_found
from web.frame.form import SentFile

NO_HEADERS = Headers()


class Refused(Exception):
    """A request that the API refused: its status, problem document (RFC 9457), and headers, such as ``Retry-After``."""

    def __init__(self, status: int, problem: Mapping[str, Any], headers: Headers = NO_HEADERS) -> None:
        super().__init__(f"{status} {problem.get('code')}")
        problem_kind = kind_named(str(problem.get("code", "http-error")))
        # templates show every member, and a problem or one of its errors may lack some
        title = problem_kind.title if problem_kind else str(status)
        defaults = {"code": "http-error", "title": title, "detail": None}
        errors = [{"pointer": "", "parameter": "", "detail": "", **error} for error in problem.get("errors", ())]
        self.status, self.problem, self.headers = status, {**defaults, **problem, "errors": errors}, headers

    @classmethod
    def unreadable(cls, errors: Sequence[Mapping[str, str]]) -> Self:
        """Return the refusal of a form whose fields cannot be read, as the API would refuse them."""
        return cls(422, {"code": "invalid-request", "detail": errors[0]["detail"], "errors": errors})

    @property
    def code(self) -> str:
        """Code of the problem."""
        return str(self.problem["code"])

    @property
    def errors(self) -> list[dict[str, str]]:
        """The invalid fields: ``{"pointer" | "parameter": …, "detail": …}``."""
        return list(self.problem["errors"])


@dataclass(frozen=True)
class Answer:
    """Answer of the API: its status, headers and body."""

    status: int
    headers: Headers
    content: bytes

    @property
    def document(self) -> Any:
        """The body, parsed as JSON; ``None`` if it is empty."""
        return json.loads(self.content) if self.content else None


def segment(text: str) -> str:
    """Return a text from a form or an address, for use as one segment of a path of the API.

    Raise `Problem` ``not-found`` if it is empty or has a slash, with which the path would name another resource.
    """
    if not text or "/" in text:
        raise not_found("resource", text)
    return text


class Api:
    """Client for the API of the application that answers `request`, with the rights of `caller`."""

    def __init__(self, request: Request, caller: Caller) -> None:
        self._request, self.caller = request, caller

    async def get(self, path: str, **query: Any) -> Any:
        """Read a resource as JSON; empty parameters are left out. Raise `Refused` if the status is 400 or above."""
        return (await self.ask("GET", path, query=query)).document

    async def find(self, path: str) -> Any:
        """Read a resource as JSON; return ``None`` if there is none."""
        try:
            return await self.get(path)
        except Refused as error:
            if error.status != 404:
                raise
            return None

    async def items(self, path: str, **query: Any) -> list[Any]:
        """Read a list as `get` reads a resource; of a list in pages, only the first page."""
        return list((await self.get(path, **query))["items"])

    async def post(self, path: str, body: Any = None, **headers: str) -> Any:
        """Send a JSON body to a resource, and return its answer; raise `Refused` if the status is 400 or above."""
        return (await self.ask("POST", path, body=body, headers=headers)).document

    async def ask(
        self,
        method: str,
        path: str,
        *,
        query: Mapping[str, Any] | None = None,
        body: Any = None,
        file: SentFile | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> Answer:
        """Send a request with a JSON `body`, and return its answer.

        A `file` is sent in place of a body, with its ``Content-Type`` in `headers`; its pieces are passed on as they
        arrive, so that the API's own limits hold for it.

        Raise `Refused` for a status of 400 or above, `ClientDisconnect` if the caller leaves before the file arrived.
        """
        payload = b"" if body is None else json.dumps(body).encode()
        all_headers = {"content-type": "application/json", **(headers or {})} if payload else dict(headers or {})
        if file is None:  # the length of a file is not known before it has arrived
            all_headers["content-length"] = str(len(payload))
        chunks = None if file is None else file.chunks()
        start: dict[str, Any] = {}  # the first message of the response
        body_pieces: list[bytes] = []
        # the whole body or, after the chunks of a file, its empty end
        unsent_messages = [{"type": "http.request", "body": payload, "more_body": False}]

        async def receive() -> Message:
            """Return the request's next ASGI message: a chunk of its file, if it has one; then its body, or the end."""
            if chunks is not None and (message := await _next_message(chunks)) is not None:
                return message
            if unsent_messages:
                return unsent_messages.pop()
            await asyncio.Event().wait()  # for ever: this request is cancelled with the page's request
            raise AssertionError

        async def send(message: Message) -> None:
            if message["type"] == "http.response.start":
                start.update(message)
            else:
                body_pieces.append(message.get("body", b""))

        await self._request.app(self._scope(method, path, query or {}, all_headers), receive, send)
        if not start:  # the API answers nothing to a disconnected caller
            raise ClientDisconnect
        return accepted_answer(Answer(start["status"], Headers(raw=start["headers"]), b"".join(body_pieces)))

    def forward(self, path: str, **query: Any) -> Response:
        """Return a response that streams the API's own answer, such as a file or server-sent events."""
        names = ("accept", "if-none-match", "last-event-id", "range")
        headers = {name: value for name, value in self._request.headers.items() if name in names}
        return ForwardedResponse(self._request.app, self._scope("GET", path, query, headers))

    def _scope(self, method: str, path: str, query: Mapping[str, Any], headers: Mapping[str, str]) -> dict[str, Any]:
        """Return the ASGI scope of a request to the API, made within this process for the page's caller."""
        page_scope = self._request.scope
        nonempty = {name: value for name, value in query.items() if value not in (None, "", [], False)}
        texts = {name: "true" if value is True else value for name, value in nonempty.items()}
        request_headers = {
            "host": self._request.headers.get("host", "localhost"),
            "x-request-id": page_scope["assay.request_id"],
        }
        return {
            "type": "http",
            "asgi": page_scope["asgi"],
            "http_version": "1.1",
            "method": method,
            "scheme": page_scope["scheme"],
            "path": path,
            "raw_path": quote(path).encode(),
            "query_string": urlencode(texts, doseq=True).encode(),
            "root_path": "",
            "headers": [
                (name.lower().encode(), value.encode("latin-1", "replace"))
                for name, value in {**request_headers, **headers}.items()
            ],
            "client": page_scope.get("client"),
            "server": page_scope.get("server"),
            "state": page_scope.get("state", {}),
            "assay.caller": self.caller,
            "assay.has_cookie": "cookie" in self._request.headers,
        }


class ForwardedResponse(Response):
    """Response that forwards the answer to another request to the same application, piece by piece.

    A browser keeps no copy of an answer that is not public, because it could be shown after the session has ended.
    """

    def __init__(self, app: Any, scope: dict[str, Any]) -> None:
        super().__init__()
        self._app, self._inner_scope = app, scope

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        """Send the application's answer to the other request; `scope`, which describes the page's own, is ignored."""
        del scope

        async def send_uncached(message: Message) -> None:
            """Send a message of the answer, which no cache may store unless it is public."""
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                if "public" not in headers.get("Cache-Control", ""):
                    headers["Cache-Control"] = "no-store"
                headers.add_vary_header("Cookie")
            await send(message)

        await self._app(self._inner_scope, receive, send_uncached)


async def _next_message(chunks: AsyncIterator[bytes]) -> Message | None:
    """Return the next part of a file as an ASGI message; ``None`` at its end."""
    try:
        chunk = await anext(chunks, b"")
    except ClientDisconnect:
        return {"type": "http.disconnect"}
    return {"type": "http.request", "body": chunk, "more_body": True} if chunk else None


def accepted_answer(answer: Answer) -> Answer:
    """Return an answer; raise `Refused` if its status is 400 or above."""
    if answer.status < 400:
        return answer
    try:
        document = answer.document
    except ValueError:  # no JSON
        document = None
    problem = document if isinstance(document, dict) else {"status": answer.status, "code": "http-error"}
    raise Refused(answer.status, problem, answer.headers)
