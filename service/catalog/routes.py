"""``/v1/methods``, ``/v1/attributes``, ``/v1/protocols``: the catalog, with JSON Schemas."""

import asyncio
import inspect
from collections.abc import Sequence
from functools import cache

from fastapi import APIRouter
from pydantic import TypeAdapter

from assay.catalog import attribute, attributes
from assay.catalog.languages import COMMON, languages
from assay.errors import SpecificationError
from assay.methods import AnyMethod, every_method, method_name
from reports.coverage import coverage
from service.catalog.schemas import (
    AttributeList,
    AttributeView,
    MethodList,
    MethodSummary,
    MethodView,
    ProtocolList,
    ProtocolView,
)
from service.catalog.service import with_descriptions
from service.container import ServiceDependency
from service.http.json import StrictRoute
from service.http.problems import Problem
from service.targets.validator import TargetValidator
from store.ratings.experiment_json import dump_method, method_schema, parse_method

router = APIRouter(prefix="/v1", tags=["catalog"], route_class=StrictRoute)


@router.get("/methods")
async def list_methods() -> MethodList:
    """List the methods that measure bias."""
    return MethodList(items=[_method_summary(method) for method in every_method()])


@router.get("/methods/{name}")
def get_method(name: str) -> MethodView:
    """Read a method's fields, as the JSON Schema of a request's `experiment`, and its defaults.

    Each field has a title, a description, and a group for forms (`x-group`).
    """
    methods = {method_name(method): method for method in every_method()}
    if (method := methods.get(name)) is None:
        raise Problem("not-found", f"no method is called {name[:80]!r}; known: {', '.join(methods)}")
    example = parse_method({"method": name, "attribute": "gender"})  # every method accepts this attribute
    return MethodView(
        **_method_summary(method).model_dump(),
        description=inspect.getdoc(method) or "",
        schema=with_descriptions(method_schema(name), method),
        attributes=list(_accepted_attributes(name)),
        languages=_accepted_languages(name),
        example=dump_method(example),
        expected_probes=example.expected_probes(),
    )


@router.get("/attributes")
async def list_attributes() -> AttributeList:
    """List the attributes for which bias can be measured, with what each method can ask about them."""
    return await asyncio.to_thread(_attribute_list)


def _attribute_list() -> AttributeList:
    items = [
        AttributeView.from_row(attribute(name), name=name, values=attribute(name).value_names, methods=coverage(name))
        for name in attributes()
    ]
    return AttributeList(items=items)


@router.get("/protocols")
async def list_protocols(service: ServiceDependency) -> ProtocolList:
    """List the protocols of targets, with the schemas of their `settings`."""
    return await asyncio.to_thread(_protocols, service.target_validator)  # type: ignore[arg-type]  # hashed by identity


@cache
def _protocols(validator: TargetValidator) -> ProtocolList:
    """Return the protocols; cached, because building the schemas of all settings takes two seconds."""
    return ProtocolList(
        items=[
            ProtocolView.from_row(
                protocol,
                kinds=sorted(protocol.kinds),
                settings_schema=TypeAdapter(protocol.settings_type).json_schema(),
            )
            for protocol in validator.protocols()
        ]
    )


def _method_summary(method: type[AnyMethod]) -> MethodSummary:
    name = method_name(method)
    return MethodSummary(name=name, summary=method.summary, kinds=sorted(method.kinds), href=f"/v1/methods/{name}")


@cache
def _accepted_attributes(method: str) -> Sequence[str]:
    """Return the attributes of the catalog that a method accepts without words from the caller."""
    return tuple(name for name in attributes() if _is_accepted(method=method, attribute=name))


@cache
def _accepted_languages(method: str) -> dict[str, str] | None:
    """Return the languages that a method accepts, common ones first; ``None`` if it has no field for languages."""
    if "languages" not in method_schema(method)["properties"]:
        return None
    any_attribute = next(iter(_accepted_attributes(method)), "")  # a method takes the same languages for all attributes
    language_names = languages()
    sorted_codes = sorted(language_names, key=language_names.__getitem__)  # by the names of the languages
    return {
        code: language_names[code]
        for code in dict.fromkeys((*COMMON, *sorted_codes))
        if _is_accepted(method=method, attribute=any_attribute, languages=[code])
    }


def _is_accepted(**experiment: object) -> bool:
    try:
        parse_method(experiment)
    except SpecificationError:
        return False
    return True
