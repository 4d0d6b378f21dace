"""A visit: one request to a page, with its caller, the API with the caller's rights, and the sent form."""

from __future__ import annotations

import asyncio
import gzip
import hmac
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property, partial
from secrets import token_urlsafe
from typing import Any
from urllib.parse import urlencode

from fastapi import Request
from starlette.datastructures import FormData
from starlette.responses import HTMLResponse, RedirectResponse, Response
from starlette.types import Receive, Scope, Send

from service.dependencies import service_of
from service.http.authentication import DEFAULT_CALLER, UNKNOWN_CALLER, Caller
from service.http.problems import Problem
from store.security import sessions
from web.frame.api import Api
from web.frame.policy import headers_of
from web.frame.rendering import render

COOKIE = "__Host-assay"
TOKEN_FIELD = "form_token"  # noqa: S105  the name of a field
MOST_FIELDS = 5_000

GZIP = b"\x1f\x8b"
WORTH_COMPRESSING = 2_000
"""Pages of at most this many bytes are not compressed."""


@dataclass(frozen=True)
class Visit:
    """One request to a page.

    Attributes
    ----------
    request : Request
    caller : Caller
        Authenticated caller; `UNKNOWN_CALLER` on public pages.
    session : str
        Token of the session; empty without one.
    public : bool
        Whether the page is for everyone.
    """

    request: Request
    caller: Caller
    session: str
    public: bool

    @cached_property
    def api(self) -> Api:
        """The API, as the caller may use it."""
        return Api(self.request, self.caller)

    @cached_property
    def form_token(self) -> str:
        """Token in every form against cross-site request forgery (CSRF): other sites do not know it.

        It begins with a random part, so that the length of compressed pages does not reveal it (BREACH).
        """
        return self._form_token(token_urlsafe(16))

    def _form_token(self, random: str) -> str:
        return f"{random}.{service_of(self.request).vault.mark(f'form {self.caller.tenant} {self.session} {random}')}"

    @property
    def keyless(self) -> bool:
        """Whether the agency requires no keys and therefore no sign-in."""
        return not service_of(self.request).settings.keys_required

    def path(self, name: str) -> str:
        """Return a part of the path, such as an id."""
        return str(self.request.path_params[name])

    def query(self, name: str, default: str = "") -> str:
        """Return a parameter of the address."""
        return self.request.query_params.get(name, default)

    def older(self, cursor: str | None) -> str:
        """Return the address of the next page of a list, with the filters of this one; empty without a cursor."""
        if not cursor:
            return ""
        kept = {name: value for name, value in self.request.query_params.items() if value}
        return f"{self.request.url.path}?{urlencode({**kept, 'cursor': cursor})}"

    @property
    def partial(self) -> bool:
        """Whether a script asks for a part of the page only."""
        return "hx-request" in self.request.headers

    async def form(self) -> FormData:
        """Return the fields of the form that was sent."""
        return await self.request.form(max_fields=MOST_FIELDS)

    async def check_form(self) -> None:
        """Raise ``foreign-origin`` if the form was not sent from a page of this visit.

        Browsers name the sending site in `Sec-Fetch-Site` or `Origin`; the token protects those that do not.
        """
        headers = self.request.headers
        origin, site = headers.get("origin"), headers.get("sec-fetch-site", "same-origin")
        same = origin is None or origin.partition("://")[2] == headers.get("host")
        sent = str((await self.form()).get(TOKEN_FIELD, "")) or headers.get("x-form-token", "")
        own = hmac.compare_digest(sent.encode(), self._form_token(sent.partition(".")[0]).encode())
        if site not in {"same-origin", "none"} or not same or not own:
            raise Problem("foreign-origin", "this form is too old, or was not sent from this page: open the page again")

    def page(self, template: str, status: int = 200, **values: Any) -> Response:
        """Return a template as a page; it is rendered while it is sent."""
        packed = "gzip" in self.request.headers.get("accept-encoding", "")
        return RenderedPage(partial(render, template, {"visit": self, **values}), packed, status, self.public)

    def redirect(self, path: str, **query: Any) -> Response:
        """Send the browser to another page (303)."""
        given = {name: value for name, value in query.items() if value not in (None, "")}
        return RedirectResponse(f"{path}?{urlencode(given, doseq=True)}" if given else path, 303)


class RenderedPage(HTMLResponse):
    """A page that is rendered and compressed in a thread, because a large page would delay other requests."""

    def __init__(self, written: Callable[[], str], packed: bool, status: int, public: bool) -> None:
        super().__init__(b"", status, headers_of(public=public) | {"Vary": "Accept-Encoding"})
        self._written, self._packed = written, packed

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Render and send the page."""
        self.body = await asyncio.to_thread(self._content)
        if self.body.startswith(GZIP):
            self.headers["Content-Encoding"] = "gzip"
        self.headers["Content-Length"] = str(len(self.body))
        await super().__call__(scope, receive, send)

    def _content(self) -> bytes:
        # replies of services can contain lone surrogates, which UTF-8 cannot encode
        content = self._written().encode("utf-8", "backslashreplace")
        return gzip.compress(content, 5) if self._packed and len(content) > WORTH_COMPRESSING else content


async def visit_of(request: Request, *, public: bool) -> Visit | Response:
    """Return the visit of a request, or a redirect to the sign-in page."""
    here = service_of(request)
    if public:
        return Visit(request, UNKNOWN_CALLER, "", public=True)
    if not here.settings.keys_required:
        return Visit(request, DEFAULT_CALLER, "", public=False)
    token = request.cookies.get(COOKIE, "")
    found = await here.database.read(sessions.find, token, request.app.state.sign_in_rules) if token else None
    if found is None:
        asked = request.url.path + (f"?{request.url.query}" if request.url.query else "")
        return RedirectResponse(f"/sign-in?{urlencode({'next': asked})}", 303)
    return Visit(request, Caller(found.tenant, frozenset(found.scopes), found.key_id), token, public=False)


def fields(form: FormData) -> Mapping[str, str]:
    """Return the text fields of a form, without its token; if several have the same name, the last counts."""
    return {name: value for name, value in form.multi_items() if isinstance(value, str) and name != TOKEN_FIELD}
