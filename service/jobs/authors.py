"""The author of a job: a second service that writes or draws what the first is asked about.

Nobody is asked unless the request names them. The author's key stays with its saved target, so that a job holds
at most one secret of its own.
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
from service.targets.target_resolution import OrderedTarget, check_target, of_saved
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
            raise SpecificationError(f"an author writes or draws: it is a language-model, and not a {kind}", "kind")
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
            "the experiment has its material made; name the service that makes it, or give the material", "author"
        )
    if not method.needs_author:
        raise SpecificationError("this experiment has nothing made; leave the author out", "author")


async def _ordered(here: Service, caller: Caller, asked: TargetDescription | TargetReference) -> OrderedTarget:
    if isinstance(asked, TargetReference):
        row = await here.database.read(targets.find, asked.id, caller.tenant)
        if row is None:
            raise SpecificationError(f"no target has the id {asked.id!r}; POST /v1/targets saves one", "id")
        return of_saved(here, row)
    if asked.secret is not None:
        raise SpecificationError(
            "an author's key is kept with a saved target; POST /v1/targets, and name its id", "secret"
        )
    return OrderedTarget(asked.descriptor(), None)
