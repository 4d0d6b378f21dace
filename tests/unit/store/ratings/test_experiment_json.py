"""Tests of stored experiments that hold fields which were removed since."""

from __future__ import annotations

import pytest

from assay.errors import SpecificationError
from assay.methods import RoundTrip, StimulusSampling
from store.ratings.experiment_json import RETIRED, dump_method, parse_method


@pytest.mark.parametrize("method", [RoundTrip("gender"), StimulusSampling("gender")], ids=lambda one: one.method)
def test_removed_fields_of_a_stored_experiment_are_ignored_if_they_have_todays_value(method):
    stored = dump_method(method) | RETIRED[method.method]
    assert parse_method(stored) == method


@pytest.mark.parametrize(
    ("method", "field", "value"),
    [("round-trip", "versions_apart", False), ("stimulus-sampling", "of_two", "last")],
)
def test_a_stored_experiment_with_another_value_of_a_removed_field_is_refused_naming_the_field(method, field, value):
    with pytest.raises(SpecificationError, match=field):
        parse_method({"method": method, "attribute": "gender", field: value})
