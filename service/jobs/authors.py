"""The author of a job: a second service that writes sentences or draws images for the experiment.

An author is called only if the request names it. Its key stays with its saved target, so that a job holds at
most one secret.
"""

from __future__ import annotations

from typing import Any

from assay.errors import SpecificationError
from assay.methods import AnyMethod
from assay.model import Kind
from service.dependencies import Service
from service.http.authentication import Caller
from service.http.json import located
from service.targets.schemas import TargetDescription, TargetReference
from service.targets.target_resolution import ResolvedTarget, check_target, of_described, of_saved
from store.targets import targets


async def resolve_author(here: Service, caller: Caller, asked: TargetDescription | TargetReference) -> dict[str, Any]:
    """Look a saved author up, or take the description in the request; check that it can be reached.

    Returns
    -------
    dict
        Its descriptor as a job carries it, with the ``id`` of its saved target if it is one.

    Raises
    ------
    SpecificationError
        Pointing into ``author``.
    """
    with located("author"):
        ordered = await _ordered(here, caller, asked)
        if ordered.descriptor["kind"] != Kind.LANGUAGE_MODEL:
            kind = ordered.descriptor["kind"]
            raise SpecificationError(f"an author must be a language-model, not a {kind}", "kind")
        check_target(here, ordered)
    saved = {} if ordered.saved_id is None else {"id": ordered.saved_id}
    return {**saved, **ordered.descriptor}


def check_author(method: AnyMethod, author: dict[str, Any] | None) -> None:
    """Refuse an experiment that lacks its author, and an author that the experiment does not ask.

    Raises
    ------
    SpecificationError
        With the field ``"author"``.
    """
    if author is None:
        raise SpecificationError(
            "the experiment's material is generated; name the service that generates it, or send the material",
            "author",
        )
    if not method.needs_author:
        raise SpecificationError("this experiment has nothing made; leave the author out", "author")


async def _ordered(here: Service, caller: Caller, asked: TargetDescription | TargetReference) -> ResolvedTarget:
    if isinstance(asked, TargetReference):
        row = await here.database.read(targets.find, asked.id, caller.tenant)
        if row is None:
            raise SpecificationError(f"no target has the id {asked.id!r}; POST /v1/targets saves one", "id")
        return of_saved(here, row)
    if asked.secret is not None:
        raise SpecificationError(
            "an author's key must be stored with a saved target; POST /v1/targets, and name its id", "secret"
        )
    return of_described(asked)
