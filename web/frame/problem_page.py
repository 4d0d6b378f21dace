"""The error page: the problem, its remedy, and the id of the request for the operator."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

from fastapi import Request
from starlette.responses import RedirectResponse, Response

from service.http.authentication import UNKNOWN_CALLER
from service.http.problems import Problem, kind_named
from web.frame.api import Refused
from web.frame.rendering import render
from web.frame.visit import RenderedPage, Visit


def problem_page(request: Request, visit: Visit | None, refused: Refused | Problem) -> Response:
    """Render the problem of a refused request; without a session, redirect to the sign-in page."""
    headers: Mapping[str, str] = refused.headers or {}
    if isinstance(refused, Refused):
        code, detail, status, errors = refused.code, refused.problem.get("detail"), refused.status, refused.errors
    else:
        code, detail, status = refused.kind.code, refused.detail, refused.status_code
        errors = [dict(error) for error in refused.errors]
    if status == 401 and visit is not None:
        return RedirectResponse("/sign-in", 303)
    wait = headers.get("retry-after") or headers.get("Retry-After")
    context: dict[str, Any] = {
        "kind": kind_named(code),
        "detail": detail,
        "errors": errors,
        "status": status,
        "wait_s": int(wait) if wait and wait.isdecimal() else None,
        "request_id": request.scope.get("assay.request_id"),
        "visit": visit or Visit(request, UNKNOWN_CALLER, "", public=True),
    }
    sent = {"Retry-After": str(context["wait_s"])} if context["wait_s"] else {}
    page = RenderedPage(partial(render, "frame/problem.html", context), packed=False, status=status, public=False)
    page.headers.update(sent)
    return page
