"""A visit: one request to a page, with its caller, the API with the caller's rights, and the sent form."""

import asyncio
import hmac
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from secrets import token_urlsafe
from typing import Any
from urllib.parse import urlencode

from fastapi import Request
from starlette.responses import HTMLResponse, RedirectResponse, Response
from starlette.types import Receive, Scope, Send

from assay.document import Json
from service.container import service_of
from service.http.authentication import DEFAULT_CALLER, UNKNOWN_CALLER, Caller
from service.http.problems import Problem, base_url, scope_missing
from service.http.rate_limit import SIGN_INS, VISITS, address_of
from store.security import sessions
from web.frame.api import Api, Refused
from web.frame.compression import compressed_content
from web.frame.form import Form, read_form
from web.frame.rendering import render

COOKIE = "__Host-assay"
TOKEN_FIELD = "form_token"  # noqa: S105  the name of a field

LISTED = 50
"""Number of rows on a page of a list."""

LONGEST_QUERY = 1_000
"""Maximum length in characters of a query to which a person returns after signing in."""

NO_FORM = Form([])


@dataclass(frozen=True)
class Visit:
    """One request to a page: the caller, the session, the parameters of the address, and the form."""

    request: Request
    caller: Caller
    """Authenticated caller; `UNKNOWN_CALLER` on public pages."""
    session: str
    """Token of the session; empty without one."""
    public: bool
    """Whether the page is the same for everyone, and may be cached."""
    refused: Refused | None = None
    """The API's refusal of a form, if this page shows that form again."""

    @cached_property
    def api(self) -> Api:
        """Client for the API with the caller's rights."""
        return Api(self.request, self.caller)

    @cached_property
    def form_token(self) -> str:
        """Token in every form against cross-site request forgery (CSRF): other sites do not know it.

        It begins with a random part, so that the length of compressed pages does not reveal it (BREACH).
        """
        return self._form_token(token_urlsafe(16))

    def _form_token(self, random_part: str) -> str:
        form_mark = service_of(self.request).vault.mark(f"form {self.caller.tenant} {self.session} {random_part}")
        return f"{random_part}.{form_mark}"

    @property
    def keyless(self) -> bool:
        """Whether the agency requires no keys and therefore no sign-in."""
        return not service_of(self.request).settings.keys_required

    @property
    def anonymous(self) -> bool:
        """Whether the agency requires a sign-in and this page was opened without a session."""
        return not self.session and not self.keyless

    @property
    def base_url(self) -> str:
        """Public address of the agency, without a closing slash; never a host that only the request names."""
        return base_url(self.request)

    @property
    def url_path(self) -> str:
        """Path of this page."""
        return str(self.request.scope["path"])

    def path(self, name: str) -> str:
        """Return a parameter of the page's path, such as an id."""
        return str(self.request.path_params[name])

    def query(self, name: str, default: str = "") -> str:
        """Return a query parameter of the address; `default` if the address does not have it."""
        return self.request.query_params.get(name, default)

    def older(self, listing: Json) -> tuple[str, int | None]:
        """Return the address of a list's next page and the list's length, if known; ("", ``None``) on the last page."""
        if not (cursor := listing.get("next_cursor")):
            return "", None
        items = self.request.query_params.multi_items()
        query = [(name, text) for name, text in items if name not in {"cursor", "start"}]  # the place of this page
        return with_query(self.url_path, [*query, ("cursor", cursor)]), listing.get("total")

    async def listing(
        self, path: str, filters: Sequence[str] = (), *, limit: int = LISTED, **query: Any
    ) -> dict[str, Any]:
        """Read one page of a list from the API, and return it as values for the template.

        `filters` name the parameters of the page's address that filter the list; the template gets them as `chosen`,
        and `filtered` says whether any is set. `similar` has names that resemble those of a search without matches.
        """
        texts = {name: self.query(name).strip() for name in filters}
        page = await self.api.get(path, **texts, **query, cursor=self.query("cursor"), limit=limit)
        return {
            "items": page["items"],
            "older": self.older(page),
            "chosen": texts,
            "filtered": any(texts.values()),
            "similar": page.get("similar", ()),
        }

    @property
    def partial(self) -> bool:
        """Whether a script requests only a part of the page (HTMX)."""
        return "hx-request" in self.request.headers

    @property
    def form(self) -> Form:
        """The form that was sent and read by `accept_form`; an empty form for a GET request."""
        form: Form = getattr(self.request.state, "form", NO_FORM)
        return form

    @cached_property
    def typed(self) -> "Fields":
        """Fields of the form, without its token; if several have the same name, the last counts."""
        return Fields((name, value) for name, value in self.form.fields if name != TOKEN_FIELD)

    async def accept_form(self, scope: str | None, *, with_file: bool) -> None:
        """Read the form: check the caller's scope and rate limit before, and the form's token afterwards.

        Raise `Problem` ``scope-missing``, ``rate-limited``, or ``foreign-origin`` if the form was not sent from a page
        of this visit; and the problems of `read_form`.
        """
        if scope is not None and not self.caller.may(scope):
            raise scope_missing(scope)
        if self.public:  # the form that signs in
            await self.admit_sign_in()
        else:
            limiter = service_of(self.request).rate_limiter
            await limiter.admit("POST", self.request.scope["route"].path, self.caller.tenant)
        self.request.state.form = form = await read_form(self.request, with_file=with_file)
        # a form without fields has its token in a header
        token = form.get(TOKEN_FIELD) or self.request.headers.get("x-form-token", "")
        if not hmac.compare_digest(token.encode(), self._form_token(random_part=token.partition(".")[0]).encode()):
            raise _foreign_origin()

    async def admit_sign_in(self) -> None:
        """Count an attempt to sign in; raise ``rate-limited`` after too many from one address."""
        await service_of(self.request).rate_limiter.take(address_of(self.request), work=SIGN_INS)

    def page(self, template: str, status: int | None = None, **values: Any) -> Response:
        """Return a page that is rendered while it is sent; the template gets `values`, the form and its refusal."""
        refused = self.refused
        context = {"visit": self, "typed": self.typed, "refused": refused, "problem": refused and refused.problem}
        render_page = partial(render, template, {**context, **values})
        encodings = self.request.headers.get("accept-encoding", "")
        return RenderedPage(render_page, encodings, status or (refused.status if refused else 200), public=self.public)

    def redirect(self, path: str, **query: Any) -> Response:
        """Send the browser to another page (303)."""
        return RedirectResponse(with_query(path, query.items()), 303)


class RenderedPage(HTMLResponse):
    """A page that is rendered and compressed in a thread, because a large page would delay other requests."""

    def __init__(self, render_page: Callable[[], str], encodings: str, status: int, public: bool) -> None:
        super().__init__(b"", status, headers_of(public=public) | {"Vary": "Accept-Encoding"})
        self._render_page, self._encodings = render_page, encodings

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Render and send the page."""
        self.body, coding = await asyncio.to_thread(self._content)
        if coding:
            self.headers["Content-Encoding"] = coding
        self.headers["Content-Length"] = str(len(self.body))
        await super().__call__(scope, receive, send)

    def _content(self) -> tuple[bytes, str]:
        # replies of services can contain lone surrogates, which UTF-8 cannot encode
        return compressed_content(self._render_page().encode("utf-8", "backslashreplace"), self._encodings)


def check_origin(request: Request) -> None:
    """Raise ``foreign-origin`` if a page of another site sent this request.

    Browsers name the sending site in `Sec-Fetch-Site` or `Origin`; the form's token protects those that do not.
    """
    headers = request.headers
    origin, site = headers.get("origin"), headers.get("sec-fetch-site", "same-origin")
    # the host of this request, and that of the public address, which may differ behind a proxy
    own_origins = {headers.get("host"), base_url(request).partition("://")[2]}
    # the site is "none" if a person opened the address without a page
    if site not in {"same-origin", "none"} or (origin is not None and origin.partition("://")[2] not in own_origins):
        raise _foreign_origin()


def _foreign_origin() -> Problem:
    return Problem("foreign-origin", "this form is too old, or was not sent from this page: open the page again")


async def visit_of(request: Request, *, public: bool, open_to_visitors: bool = False) -> Visit | Response:
    """Return the visit of a request; without a session, a page that is not `open_to_visitors` redirects to the sign-in.

    Raise `Problem` ``rate-limited`` after too many requests from one address for public pages, or without a session.
    """
    service = service_of(request)
    if public:
        await _admit_visitor(request)
        return Visit(request, UNKNOWN_CALLER, session="", public=True)
    if not service.settings.keys_required:
        return Visit(request, DEFAULT_CALLER, session="", public=False)
    token = request.cookies.get(COOKIE, "")
    session = await service.database.read(sessions.find, token, request.app.state.sign_in_rules) if token else None
    if session is None:
        await _admit_visitor(request)
        if open_to_visitors:
            return Visit(request, UNKNOWN_CALLER, session="", public=False)
        query = request.scope["query_string"].decode("latin-1")
        address = request.scope["path"] + (f"?{query}" if 0 < len(query) <= LONGEST_QUERY else "")
        return RedirectResponse(f"/sign-in?{urlencode({'next': address})}", 303)
    caller = Caller(session.tenant, frozenset(session.scopes), session.key_id)
    return Visit(request, caller, session=token, public=False)


async def _admit_visitor(request: Request) -> None:
    await service_of(request).rate_limiter.take(address_of(request), work=VISITS)


def at_most(count: int, values: Sequence[str], noun: str) -> Sequence[str]:
    """Return the values of a repeated field; raise ``invalid-request`` if there are more than `count`."""
    if len(values) > count:
        raise Problem("invalid-request", f"{len(values):,} {noun} were sent; at most {count} are allowed")
    return values


def whole_number(text: str) -> int | None:
    """Parse a text of 1 to 15 digits as an integer; return ``None`` for any other text."""
    return int(text) if text.isdecimal() and len(text) <= 15 else None


def with_query(path: str, query: Iterable[tuple[str, Any]]) -> str:
    """Return `path` with the parameters of `query` that are not empty."""
    parameters = [(name, value) for name, value in query if value not in (None, "")]
    return f"{path}?{urlencode(parameters, doseq=True)}" if parameters else path


def is_own_page(address: str) -> bool:
    """Return whether an address is a page of this site, to which a form may return."""
    return address.startswith("/") and not address.startswith(("//", "/\\"))


class Fields(dict[str, str]):
    """Fields of a form by their names; reading a field that was not sent raises ``invalid-request``."""

    def __missing__(self, name: str) -> str:
        """Raise ``invalid-request``, which names the missing field."""
        raise Problem("invalid-request", f"the field {name!r} of the form is missing")


POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; font-src 'self'; connect-src 'self'; "
    "form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)
"""``Content-Security-Policy`` of every page."""


def headers_of(*, public: bool) -> dict[str, str]:
    """Return the headers of a page; a tenant's pages are not cached."""
    return {
        "Content-Security-Policy": POLICY,
        "Cross-Origin-Opener-Policy": "same-origin",
        "Referrer-Policy": "same-origin",  # with no-referrer browsers send forms of the page itself with "Origin: null"
        "Cache-Control": "public, max-age=60" if public else "no-store",
    }
