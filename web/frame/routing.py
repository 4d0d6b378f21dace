"""Routes of pages: each function maps a visit to a response; every error becomes a page."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any
from urllib.parse import quote

from fastapi import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import Match, Route
from starlette.types import Scope

from assay.document import Json
from service.http.authentication import UNKNOWN_CALLER
from service.http.problems import Problem, kind_named
from web.frame.api import Refused
from web.frame.drafts import SECRETS, read_draft, store_draft
from web.frame.form import Form
from web.frame.rendering import render
from web.frame.visit import TOKEN_FIELD, RenderedPage, Visit, check_origin, visit_of, with_query

Page = Callable[[Visit], Awaitable[Response]]

PATHS: dict[Page, str] = {}
"""Path of each page that is opened by GET."""


@dataclass(frozen=True)
class Pages:
    """Pages of one area of the site."""

    public: bool = False
    """Whether everyone may see the pages. The session is not read, so that they can be cached."""
    open_to_visitors: bool = False
    """Whether people without a session may also see the pages, which then show public data only."""
    negotiated: bool = False
    """Whether the API answers programs at the same addresses. Then these pages come before the API's routes, for
    requests that accept HTML only.
    """
    routes: list[Route] = field(default_factory=list)

    def get(self, path: str) -> Callable[[Page], Page]:
        """Return a decorator that adds a function as the page at `path`."""
        return partial(self._add_route, path=path, method="GET")

    def post(
        self, path: str, scope: str | None, *, with_file: bool = False, form_page: Page | None = None
    ) -> Callable[[Page], Page]:
        """Return a decorator that adds a function as the handler of a form, which must contain `Visit.form_token`.

        The form of a caller without the `scope` is not read (``None``: everyone may send it). `with_file` allows a file
        as the form's last field. If the API refuses the form, the browser is redirected to `form_page`, where
        `Visit.refused` is the refusal and `Visit.form` has the fields; without `form_page`, an error page is shown.
        """
        return partial(self._add_route, path=path, method="POST", scope=scope, with_file=with_file, form_page=form_page)

    def act(
        self,
        path: str,
        scope: str,
        method: str,
        resource: str,
        then: str,
        *,
        fields: Sequence[str] = (),
        body: Json | None = None,
        headers: Mapping[str, str] | None = None,
        form_page: Page | None = None,
    ) -> None:
        """Add the handler of a form that sends a request to the API, and redirects to the page `then`.

        `resource` and `then` can have the parameters of `path`, such as ``/v1/keys/{key_id}``. The request sends the
        form's `fields`; without `fields`, it sends `body`. `scope` and `form_page` are as in `post`.
        """

        async def send(visit: Visit) -> Response:
            parameters, texts = visit.request.path_params, visit.typed
            content = {name: texts[name].strip() for name in fields if name in texts} if fields else body
            await visit.api.ask(method, resource.format(**parameters), body=content, headers=headers)
            return visit.redirect(then.format(**parameters))

        self._add_route(send, path, "POST", scope, form_page=form_page)

    def file(self, path: str, resource: str) -> None:
        """Add a page that forwards a file of the API; `resource` can have the parameters of `path`."""

        async def send(visit: Visit) -> Response:
            return visit.api.forward(resource.format(**visit.request.path_params))

        self._add_route(send, path, "GET")

    def _add_route(
        self,
        page: Page,
        path: str,
        method: str,
        scope: str | None = None,
        *,
        with_file: bool = False,
        form_page: Page | None = None,
    ) -> Page:
        """Add the route of a page, and return the page; refusals and problems are answered with an error page."""
        # browsers put empty fields of a form into its address; parameters from an account provider stay unchanged
        drops_empty_fields = method == "GET" and not path.startswith("/sign-in")

        async def answer(request: Request) -> Response:
            """Answer the request by the page; refusals and problems become an error page."""
            request.scope["route"] = route  # its path names the rate limit of a form
            if drops_empty_fields and not all(value for _, value in request.query_params.multi_items()):
                return _without_empty_fields(request)
            visit: Visit | None = None
            try:
                if method == "POST":
                    check_origin(request)
                visit_or_redirect = await visit_of(request, public=self.public, open_to_visitors=self.open_to_visitors)
                if isinstance(visit_or_redirect, Response):
                    return visit_or_redirect
                visit = visit_or_redirect
                if method == "POST":
                    await visit.accept_form(scope, with_file=with_file)
                elif not self.public and visit.query(REFUSED):
                    visit = await _restore_refused_form(visit)
                return await _call_page(page, visit, form_page)
            except (Refused, Problem) as refusal:
                return problem_page(request, visit, refusal)

        route_class = BrowserRoute if self.negotiated else Route
        route = route_class(path, answer, methods=[method], name=page.__name__, include_in_schema=False)
        self.routes.append(route)
        if method == "GET":
            PATHS[page] = path
        return page


def _without_empty_fields(request: Request) -> Response:
    """Redirect to the same address without its empty query parameters."""
    return RedirectResponse(with_query(quote(request.scope["path"], safe="/"), request.query_params.multi_items()), 303)


REFUSED = "refused"
"""Query parameter with the id of the draft that has the fields of a refused form and the refusal."""


async def _call_page(page: Page, visit: Visit, form_page: Page | None) -> Response:
    """Call a page's handler; if the API refuses a form, redirect to `form_page`, with a draft of the form.

    If a script requests a part of a page, or the API is busy (429, 503), return `form_page` without a redirect.
    """
    try:
        return await page(visit)
    except Refused as refusal:
        if form_page is None:
            raise
        if visit.partial or refusal.status in {429, 503}:  # a busy agency stores nothing more
            return await form_page(replace(visit, refused=refusal))
        fields = [(name, text) for name, text in visit.form.fields if name not in {*SECRETS, TOKEN_FIELD}]
        content = {"fields": fields, "status": refusal.status, "problem": refusal.problem}
        path = PATHS[form_page].format(**{name: quote(part) for name, part in visit.request.path_params.items()})
        return visit.redirect(path, **{**visit.request.query_params, REFUSED: await store_draft(visit, content)})


async def _restore_refused_form(visit: Visit) -> Visit:
    """Return a visit with the refused form and its refusal, from the draft in its address (no draft: unchanged)."""
    content = await read_draft(visit, visit.query(REFUSED))
    if content is None or "fields" not in content:
        return visit
    visit.request.state.form = Form([(name, value) for name, value in content["fields"]])
    return replace(visit, refused=Refused(content["status"], content["problem"]))


class BrowserRoute(Route):
    """A route for requests that accept HTML."""

    def matches(self, scope: Scope) -> tuple[Match, Scope]:
        """Match requests that accept HTML."""
        accept = dict(scope.get("headers", ())).get(b"accept", b"")
        return super().matches(scope) if b"text/html" in accept else (Match.NONE, {})


class NotFoundPage(BrowserRoute):
    """The not-found page, for browsers only: programs get the API's problem document."""

    def __init__(self) -> None:
        super().__init__("/{path:path}", self._not_found, methods=["GET"], include_in_schema=False)

    def matches(self, scope: Scope) -> tuple[Match, Scope]:
        """Match requests outside the API."""
        return (Match.NONE, {}) if scope["path"].startswith("/v1/") else super().matches(scope)

    async def _not_found(self, request: Request) -> Response:
        problem = Problem("not-found", f"nothing is served at {request.scope['path'][:200]}")
        try:
            await visit_of(request, public=True)  # counts the visitor
        except Problem as limit_problem:
            problem = limit_problem
        return problem_page(request, visit=None, refusal=problem)


def problem_page(request: Request, visit: Visit | None, refusal: Refused | Problem) -> Response:
    """Render the problem of a refused request; without a session, redirect to the sign-in page."""
    headers: Mapping[str, str] = refusal.headers or {}
    if isinstance(refusal, Refused):
        code, detail, status, errors = refusal.code, refusal.problem.get("detail"), refusal.status, refusal.errors
    else:
        code, detail, status = refusal.kind.code, refusal.detail, refusal.status_code
        errors = [dict(error) for error in refusal.errors]
    if status == 401 and visit is not None:
        return RedirectResponse("/sign-in", 303)
    # headers of the API's answer have lower-case names, those of a `Problem` have others
    wait = headers.get("retry-after") or headers.get("Retry-After")
    context: dict[str, Any] = {
        "kind": kind_named(code),
        "detail": detail,
        "errors": errors,
        "status": status,
        "wait_s": int(wait) if wait and wait.isdecimal() else None,
        "request_id": request.scope.get("assay.request_id"),
        "visit": visit or Visit(request, UNKNOWN_CALLER, session="", public=True),
    }
    page = RenderedPage(partial(render, "frame/problem.html", context), encodings="", status=status, public=False)
    if context["wait_s"]:
        page.headers["Retry-After"] = str(context["wait_s"])
    return page
