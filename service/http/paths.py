"""Rows that the path of a request names, read with the rights of the caller."""

from __future__ import annotations

from collections.abc import Callable
from inspect import Parameter, Signature
from typing import Any

from fastapi import Depends, Request

from service.http.authentication import Caller
from service.http.parts import parts_of
from service.http.problems import existing


def in_path(noun: str, find: Callable[..., Any], caller_type: Any, parameter: str = "") -> Any:
    """Return a FastAPI dependency: the row in the path, or ``not-found``.

    Parameters
    ----------
    noun : str
        The resource in the problem's words.
    find : callable
        Reads a row by connection, id and tenant; ``None`` if there is none that the tenant may see.
    caller_type
        The caller with the scope that the route needs, such as `Reader`.
    parameter : str
        Name of the path's parameter; by default that of the noun, such as ``target_id``.
    """
    name = parameter or f"{noun}_id"

    async def row_in_path(request: Request, caller: Caller, **ids: str) -> Any:
        return existing(await parts_of(request).database.read(find, ids[name], caller.tenant), noun, ids[name])

    annotations = {"request": Request, "caller": caller_type, name: str}
    parameters = [Parameter(key, Parameter.KEYWORD_ONLY, annotation=kind) for key, kind in annotations.items()]
    row_in_path.__signature__ = Signature(parameters)  # type: ignore[attr-defined]  # FastAPI reads it
    return Depends(row_in_path)
