"""The author of a job: a second service that writes sentences or draws images for the experiment.

An author is called only if the request names it. Its key stays with its saved target, so that a job holds at
most one secret.
"""

from __future__ import annotations

from typing import Any

from assay.errors import SpecificationError
from assay.methods import AnyMethod
from service.dependencies import Service
from service.http.authentication import Caller
from service.http.json import located
from service.targets.schemas import TargetDescription, TargetReference
from service.targets.target_resolution import check_language_model, check_target, find_target


async def resolve_author(
    service: Service, caller: Caller, request: TargetDescription | TargetReference
) -> dict[str, Any]:
    """Return the descriptor of a job's author, with its ``id`` if it is a saved target."""
    with located("author"):
        if isinstance(request, TargetDescription) and request.secret is not None:
            raise SpecificationError(
                "an author's key must be stored with a saved target; POST /v1/targets, and name its id", "secret"
            )
        author = await find_target(service, caller, request)
        check_language_model(author)
        await check_target(service, author)
    return {**({} if author.saved_id is None else {"id": author.saved_id}), **author.descriptor}


def check_author(method: AnyMethod, author: dict[str, Any] | None) -> None:
    """Refuse an experiment without the author that it needs, and an author that it does not need."""
    if author is None:
        raise SpecificationError(
            "the experiment's material is generated; name the service that generates it, or send the material", "author"
        )
    if not method.needs_author:
        raise SpecificationError("this experiment needs no author; leave the author out", "author")
