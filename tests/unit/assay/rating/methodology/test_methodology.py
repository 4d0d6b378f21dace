"""Tests of the list of methodology versions."""

from dataclasses import replace

import pytest

from assay.errors import UnknownName
from assay.rating.methodology import Methodologies, shipped

(CURRENT,) = shipped().versions
OLD = replace(CURRENT, version="0.9.0", status="old")


def test_one_methodology_version_is_current_and_no_next_version_is_announced():
    assert shipped().current is CURRENT
    assert shipped().next is None


def test_a_methodology_version_can_be_selected_by_its_number_or_as_current():
    both = Methodologies((OLD, CURRENT))
    assert both.named("0.9.0") is OLD
    assert both.named("current") is both.named("1.3.0") is CURRENT


def test_an_unknown_methodology_version_is_refused_with_the_known_versions():
    with pytest.raises(UnknownName) as refused:
        shipped().named("9.9.9")
    assert refused.value.field == "version"
    assert refused.value.known == ("1.3.0", "current")


@pytest.mark.parametrize(
    "versions",
    [
        (),
        (OLD,),
        (CURRENT, replace(CURRENT, version="2.0.0")),
        (CURRENT, *(replace(CURRENT, version=each, status="next") for each in ("2.0.0", "3.0.0"))),
        (replace(OLD, version=CURRENT.version), CURRENT),
        (replace(CURRENT, version="current"),),
    ],
    ids=["empty", "none current", "two current", "two next", "one number twice", "a word for a number"],
)
def test_an_inconsistent_list_of_methodology_versions_is_refused(versions):
    with pytest.raises(ValueError, match="version"):
        Methodologies(versions)
