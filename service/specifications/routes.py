"""``/v1/specifications``: named word lists, in versions that never change."""

from operator import attrgetter
from typing import Annotated

from fastapi import APIRouter, Path, Query, Response

from assay.errors import SpecificationError
from service.container import ServiceDependency
from service.http.authentication import Reader, Writer
from service.http.conditional import entity_tag
from service.http.idempotency import Repeat, answer_once
from service.http.json import Answer, StrictRoute, json_response, tagged, write_json
from service.http.openapi.responses import TAGGED, created, leads_to
from service.http.problems import Problem
from service.http.rows import Lists, lists_of
from service.specifications.schemas import (
    SpecificationLine,
    SpecificationQuery,
    SpecificationRequest,
    SpecificationView,
    as_specification,
)
from store.core.database import Connection
from store.corpora import specifications
from store.corpora.specifications import StoredSpecification

router = APIRouter(prefix="/v1/specifications", tags=["specifications"], route_class=StrictRoute)

SPECIFICATION_LINKS = leads_to(
    "specification_name", "getSpecification", "addSpecificationVersion", "removeSpecification", pointer="/name"
)

Version = Annotated[str, Path(description="Number of the version, from 1.")]


@router.post("", **created(SpecificationView, "Stored as version 1.", SPECIFICATION_LINKS))
async def create_specification(
    body: SpecificationRequest, service: ServiceDependency, caller: Writer, repeat: Repeat
) -> Response:
    """Store your own specification, for use in jobs as `experiment.specification`."""
    specification = as_specification(body)

    def add(c: Connection) -> Answer:
        row = specifications.add(c, caller.tenant, specification)
        return Answer(201, write_json(SpecificationView.of(row)), _location_headers(row))

    return await answer_once(service, repeat, add)


@router.get(
    "", **lists_of(SpecificationLine, "One page of specifications: your own, newest first, then the shipped ones.")
)
async def list_specifications(lists: Lists, caller: Reader, query: Annotated[SpecificationQuery, Query()]) -> Response:
    """List the newest version of every specification: your own, newest first, then the shipped ones."""
    read, key = specifications.page, attrgetter("created_at", "name")
    return await lists.page(query, "specifications", SpecificationLine.of, read, caller.tenant, key=key)


@router.get("/{specification_name}", response_model=SpecificationView, responses=TAGGED)
async def get_specification(specification_name: str, service: ServiceDependency, caller: Reader) -> Response:
    """Read the newest version of a specification."""
    row = await service.database.read(specifications.find, caller.tenant, specification_name)
    return _tagged_view(row, specification_name)


@router.get("/{specification_name}/versions/{version}", response_model=SpecificationView, responses=TAGGED)
async def get_specification_version(
    specification_name: str, version: Version, service: ServiceDependency, caller: Reader
) -> Response:
    """Read one version of a specification, which never changes."""
    reference = f"{specification_name}@{version}"
    return _tagged_view(await service.database.read(specifications.find_named, caller.tenant, reference), reference)


@router.post(
    "/{specification_name}/versions", **created(SpecificationView, "Stored as the newest version.", may_exist=True)
)
async def add_specification_version(
    specification_name: str, body: SpecificationRequest, service: ServiceDependency, caller: Writer
) -> Response:
    """Add a version to your specification. If the newest version is equal, none is added, and the answer is 200."""
    if body.name != specification_name:
        raise SpecificationError(f"the address names {specification_name[:80]!r}, the body {body.name!r}", "name")
    addition = await service.database.write(specifications.add_version, caller.tenant, as_specification(body))
    if addition is None:
        raise _unknown_specification(specification_name)
    row, is_new = addition
    return json_response(SpecificationView.of(row), status=201 if is_new else 200, headers=_location_headers(row))


@router.delete("/{specification_name}", status_code=204, response_description="Removed.")
async def remove_specification(specification_name: str, service: ServiceDependency, caller: Writer) -> Response:
    """Remove your specification with all its versions. Jobs and ratings have their own copy of the words."""
    if not await service.database.write(specifications.remove, caller.tenant, specification_name):
        raise _unknown_specification(specification_name)
    return Response(status_code=204)


def _tagged_view(row: StoredSpecification | None, name: str) -> Response:
    if row is None:
        raise Problem("not-found", f"no specification is called {name[:80]!r}")
    return tagged(SpecificationView.of(row), _etag(row))


def _unknown_specification(name: str) -> Problem:
    return Problem("not-found", f"you have no specification called {name[:80]!r}; shipped ones cannot be changed")


def _location_headers(row: StoredSpecification) -> dict[str, str]:
    return {"Location": f"{router.prefix}/{row.name}/versions/{row.version}", "ETag": _etag(row)}


def _etag(row: StoredSpecification) -> str:
    """Return the entity tag of a version; it depends on `latest`, which is part of the answer."""
    return entity_tag(row.digest.removeprefix("sha256:")[:16], row.version, row.latest)
