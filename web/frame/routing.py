"""Routes of pages: each function maps a visit to a response; every error becomes a page."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field

from fastapi import Request
from starlette.responses import Response
from starlette.routing import Match, Route
from starlette.types import Scope

from service.http.problems import Problem
from web.frame.api import Refused
from web.frame.problem_page import problem_page
from web.frame.visit import Visit, check_origin, visit_of

Page = Callable[[Visit], Awaitable[Response]]


@dataclass(frozen=True)
class Pages:
    """Pages of one area of the site.

    Attributes
    ----------
    public : bool
        Whether everyone may see the pages. The session is not read, so that they can be cached.
    negotiated : bool
        Whether the API answers programs at the same addresses. Then these pages come before the API's routes, for
        requests that accept HTML only.
    """

    public: bool = False
    negotiated: bool = False
    routes: list[Route] = field(default_factory=list)

    def get(self, path: str) -> Callable[[Page], Page]:
        """Add a page."""
        return self._add(path, "GET")

    def post(self, path: str, scope: str | None, *, with_file: bool = False) -> Callable[[Page], Page]:
        """Add the handler of a form. The form must contain the visit's token (`form_token` in `frame/macros.html`).

        Parameters
        ----------
        path : str
        scope : str or None
            Scope that the caller needs, without which the form is not read; ``None`` if everyone may send it.
        with_file : bool
            Whether the form may have a file, as its last field.
        """
        return self._add(path, "POST", scope, with_file=with_file)

    def _add(
        self, path: str, method: str, scope: str | None = None, *, with_file: bool = False
    ) -> Callable[[Page], Page]:
        def add(page: Page) -> Page:
            async def answer(request: Request) -> Response:
                request.scope["route"] = route
                visit: Visit | None = None
                try:
                    if method == "POST":
                        check_origin(request)
                    visit_or_redirect = await visit_of(request, public=self.public)
                    if isinstance(visit_or_redirect, Response):
                        return visit_or_redirect
                    visit = visit_or_redirect
                    if method == "POST":
                        await visit.accept_form(scope, with_file=with_file)
                    return await page(visit)
                except (Refused, Problem) as refused:
                    return problem_page(request, visit, refused)

            kind = BrowserRoute if self.negotiated else Route
            route = kind(path, answer, methods=[method], name=page.__name__, include_in_schema=False)
            self.routes.append(route)
            return page

        return add


class BrowserRoute(Route):
    """A route for requests that accept HTML."""

    def matches(self, scope: Scope) -> tuple[Match, Scope]:
        """Match requests that accept HTML."""
        accept = dict(scope.get("headers", ())).get(b"accept", b"")
        return super().matches(scope) if b"text/html" in accept else (Match.NONE, {})


class Nowhere(BrowserRoute):
    """The not-found page, for browsers only: programs get the API's problem document."""

    def __init__(self) -> None:
        super().__init__("/{path:path}", self._answer, methods=["GET"], include_in_schema=False)

    def matches(self, scope: Scope) -> tuple[Match, Scope]:
        """Match requests outside the API."""
        return (Match.NONE, {}) if scope["path"].startswith("/v1/") else super().matches(scope)

    async def _answer(self, request: Request) -> Response:
        problem = Problem("not-found", f"nothing is served at {request.scope['path'][:200]}")
        try:
            await visit_of(request, public=True)  # counts the visitor
        except Problem as limited:
            problem = limited
        return problem_page(request, None, problem)
