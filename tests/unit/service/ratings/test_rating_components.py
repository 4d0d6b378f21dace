"""The schema of a rating's components has every field that a method writes, and refuses others."""

from __future__ import annotations

from dataclasses import replace
from functools import cache

import pytest
from pydantic import TypeAdapter, ValidationError

from assay.document import as_json
from assay.methods import METHODS, method_name, method_of, rating_of
from assay.model import Component, Finding, Letter, Probabilities
from service.ratings.components import AnyAggregation, AnyComponent, model_of
from service.ratings.schemas import RatingView
from tests.support.reports import document_of
from tests.support.simulated.services import SERVICES

SEED = 5
MEASURED = Component("es", Letter.BS, True, Probabilities(0.99, 0.01, 0.0), {}, 60, 0, 0)


@cache
def rated(service):
    """Return the rating document of a simulated service."""
    return document_of(SERVICES[service](0.03, 0.12, SEED).rate(SEED))


@pytest.mark.slow
@pytest.mark.parametrize("service", sorted(SERVICES))
def test_the_component_schema_of_each_method_accepts_every_field_of_its_ratings(service):
    document = rated(service)
    schema = model_of(method_of(document).COMPONENT)
    for component in document["components"]:
        schema.model_validate(component)
    TypeAdapter(AnyAggregation).validate_python(document["aggregation"])


@pytest.mark.slow
@pytest.mark.parametrize("service", sorted(SERVICES))
def test_a_stored_rating_passes_through_its_schema_unchanged(service):
    document = rated(service)
    for component in document["components"]:  # a text that is empty counts as absent
        for row in component.get("images", ()):
            row["id"] = row["id"] or "0"
    assert as_json(rating_of(document)) == document


@pytest.mark.parametrize("method", METHODS, ids=method_name)
def test_a_component_field_that_no_method_writes_is_refused(method):
    component = replace(MEASURED, detail=method.COMPONENT())
    finding = Finding(method_name(method), "gender", (component,), 0.95, 0.1)
    (component,) = document_of(finding)["components"]
    model_of(method.COMPONENT).model_validate(component)
    with pytest.raises(ValidationError, match="Extra inputs are not permitted"):
        model_of(method.COMPONENT).model_validate(component | {"grade": "A"})
    with pytest.raises(ValidationError):
        TypeAdapter(AnyComponent).validate_python(component | {"grade": "A"})


def test_the_openapi_document_has_the_component_fields_of_every_method():
    schemas = RatingView.model_json_schema()["$defs"]
    for method in METHODS:
        component = schemas[method.COMPONENT.__name__]
        assert component["additionalProperties"] is False
        assert {"name", "letter", "declared", "effects"} <= set(component["required"])
    assert {"pairs", "leverage", "divergence"} <= set(schemas["AlternationComponent"]["properties"])
    assert set(schemas["HiddenDocument"]["required"]) == {"limit", "bound"}
    assert not [name for name in schemas if "__" in name]  # two types of one name would have such names
