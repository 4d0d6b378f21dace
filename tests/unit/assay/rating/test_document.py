"""The rating document: a method adds its own fields and cannot replace a field of the agency."""

from __future__ import annotations

from dataclasses import dataclass, replace

import pytest

from assay.document import NO_AGGREGATION, AggregationDocument, ComponentDocument, HiddenDocument
from assay.model import Component, Detail, Finding, Letter, Probabilities
from tests.support.reports import document_of

BIASED = Probabilities(BS=0.99, DSBS=0.01, UCS=0.0)
MEASURED = Component("es", Letter.BS, True, BIASED, {}, 60, 0, 0)


@dataclass(frozen=True)
class SpellingComponent(ComponentDocument):
    """A component of an installed method."""

    spellings: tuple[str, ...] = ()
    letter: Letter | None = Letter.UCS
    published: dict[str, str] | None = None


def finding_with(detail: object, aggregation: Detail = NO_AGGREGATION) -> Finding:
    """Return the finding of a method of an installed package: one biased component with its own detail."""
    component = replace(MEASURED, detail=detail)
    return Finding("round-trip", "gender", (component,), 0.95, 0.1, detail=aggregation)


@pytest.mark.parametrize("name", ["letter", "declared", "probabilities", "effects", "usable", "published", "reasons"])
def test_fields_that_a_method_adds_to_a_component_cannot_overwrite_its_measured_letter_or_effects(name):
    measured = document_of(finding_with(Detail()))["components"][0]
    claimed = ComponentDocument(
        name="fr", letter=Letter.UCS, declared=False, probabilities={"UCS": 1.0}, usable=1, published={"rule": "UCS"}
    )
    (component,) = document_of(finding_with(claimed))["components"]
    assert component[name] == measured[name]
    assert component["name"] == "es"


def test_a_default_letter_in_the_component_class_of_a_method_does_not_overwrite_the_measured_letter():
    (component,) = document_of(finding_with(SpellingComponent()))["components"]
    assert (component["letter"], component["published"]) == ("BS", {})


def test_fields_that_a_method_adds_to_a_rating_cannot_overwrite_how_its_components_are_combined():
    document = document_of(finding_with(Detail(), AggregationDocument(rule="vote", deciding=("fr",))))
    assert document["aggregation"] == {"rule": "worst", "deciding": ["es"]}


def test_own_fields_of_a_method_are_added_next_to_the_measured_letter():
    document = document_of(finding_with(SpellingComponent(spellings=("colour",)), AggregationDocument(vote="BS")))
    (component,) = document["components"]
    assert (component["letter"], component["declared"], component["spellings"]) == ("BS", True, ["colour"])
    assert document["aggregation"] == {"rule": "worst", "deciding": ["es"], "vote": "BS"}


def test_a_method_that_adds_a_dict_instead_of_component_fields_raises_a_type_error():
    with pytest.raises(TypeError, match="the detail of 'es' is a dict; a method gives a ComponentDocument"):
        document_of(finding_with({"spellings": ["colour"]}))


def test_in_the_json_of_a_rating_a_computed_empty_list_is_present_and_a_list_not_computed_is_absent():
    hidden = ComponentDocument(hidden=())
    assert document_of(finding_with(hidden))["components"][0]["hidden"] == []
    assert "hidden" not in document_of(finding_with(ComponentDocument()))["components"][0]


def test_a_field_of_unknown_value_is_null_in_the_json_of_a_rating():
    hidden = ComponentDocument(hidden=(HiddenDocument("stratum", "frame"),))
    (row,) = document_of(finding_with(hidden))["components"][0]["hidden"]
    assert row == {"kind": "stratum", "name": "frame", "limit": None, "bound": False}
