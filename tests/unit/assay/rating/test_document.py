"""The rating document: a method adds its own fields and cannot replace a field of the agency."""

from __future__ import annotations

from dataclasses import fields
from typing import Any

import pytest

from assay.model import Component, Finding, Letter, Probabilities
from tests.support.reports import document_of

BIASED = Probabilities(BS=0.99, DSBS=0.01, UCS=0.0)
COMMON = [field.name for field in fields(Component) if field.name != "detail"]


def finding_with(detail: dict[str, Any], aggregation: dict[str, Any] | None = None) -> Finding:
    """Return what an installed method could return: one biased component with a detail of its own."""
    component = Component("es", Letter.BS, True, BIASED, {}, 60, 0, 0, detail=detail)
    return Finding("round-trip", "gender", (component,), 0.95, 0.1, detail=aggregation or {})


@pytest.mark.parametrize("name", COMMON)
def test_the_detail_of_a_method_cannot_replace_a_common_field_of_its_component(name):
    with pytest.raises(ValueError, match=f"the detail of 'es' has '{name}', which every rating has"):
        document_of(finding_with({name: "UCS"}))


@pytest.mark.parametrize("name", ["rule", "deciding"])
def test_the_detail_of_a_finding_cannot_replace_the_rule_of_aggregation(name):
    with pytest.raises(ValueError, match=f"the detail of 'round-trip' has '{name}'"):
        document_of(finding_with({}, {name: []}))


def test_the_own_fields_of_a_method_stand_beside_the_letter_that_was_measured():
    document = document_of(finding_with({"spellings": ["colour"]}, {"vote": "BS"}))
    (component,) = document["components"]
    assert (component["letter"], component["declared"], component["spellings"]) == ("BS", True, ["colour"])
    assert document["aggregation"] == {"rule": "worst", "deciding": ["es"], "vote": "BS"}
