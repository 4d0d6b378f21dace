"""Rating documents of every version are read into classes whose fields have defaults."""

from __future__ import annotations

import math
from dataclasses import dataclass, fields

import pytest

from assay.document import Absent, ComponentDocument, EffectDocument, RatingDocument, read_json, read_rating
from assay.methods import METHODS
from assay.model import Component, Letter

SIGNED = {"name", "letter", "declared", "probabilities", "effects", "usable", "unusable", "failed", "published"}


@dataclass(frozen=True)
class Pair:
    """A row of a list in a method's component."""

    from_: str | None = None
    p: float | Absent | None = None
    ends: tuple[float, float] | None = None


@dataclass(frozen=True)
class PairsComponent(ComponentDocument):
    """A component class of a method that adds a list of pairs."""

    pairs: tuple[Pair, ...] = ()


def test_a_field_that_an_old_rating_lacks_has_its_default():
    old = {"letter": "BS", "declared": True, "components": [{"name": "es", "letter": "BS"}], "calls": 240}
    rating = read_rating(old)
    assert (rating.letter, rating.calls, rating.hosts, rating.audit) == (Letter.BS, 240, (), None)
    (component,) = rating.components
    assert (component.hidden, component.settle, component.tolerances) == ((), None, {})


@pytest.mark.parametrize("wrong", [None, math.nan, math.inf, "text", True, [], {}, [[{}]]])
def test_a_value_that_is_not_a_number_is_read_as_absent_from_a_number_field(wrong):
    effects = {"step_1": {"estimate": wrong, "low": 0.1}}
    assert read_json(ComponentDocument, {"effects": effects}).effects == {"step_1": EffectDocument(None, 0.1)}
    assert read_json(RatingDocument, {"seed": wrong}).seed is None


@pytest.mark.parametrize("wrong", ["A+", 1, None, ["BS"]])
def test_a_value_that_is_not_a_letter_of_the_scale_is_read_as_absent(wrong):
    assert read_json(ComponentDocument, {"letter": wrong}).letter is None


def test_unreadable_entries_are_left_out_of_lists_and_objects():
    document = {"examples": [{"asked": "a"}, "b", None], "transitions": {"he": {"he": 3, "she": "many"}, "she": 1}}
    component = read_json(ComponentDocument, document)
    assert [example.asked for example in component.examples] == ["a"]
    assert component.transitions == {"he": {"he": 3}}


def test_the_component_class_of_a_method_reads_the_fields_that_the_method_added():
    rows = [{"from": "he", "p": 0.5, "ends": [1, 2]}, {"p": {"why": "too few"}, "ends": [1, 2, 3]}]
    rating = read_rating({"components": [{"name": "es", "pairs": rows}]}, PairsComponent)
    (component,) = rating.components
    assert isinstance(component, PairsComponent)
    assert component.pairs == (Pair("he", 0.5, (1, 2)), Pair(None, Absent("too few"), None))


def test_reading_a_rating_cleans_every_text_with_the_given_function_and_leaves_the_stored_object_unchanged():
    stored = {"name": "es\u202e", "transitions": {"he\u202e": {"she\u202e": 1}}}
    component = read_json(ComponentDocument, stored, lambda text: text.removesuffix("\u202e"))
    assert (component.name, component.transitions, component.json) == ("es", {"he": {"she": 1}}, stored)


@pytest.mark.parametrize("method", METHODS)
def test_component_classes_of_methods_keep_the_types_of_all_signed_fields(method):
    assert {field.name for field in fields(Component)} - {"detail", "reasons"} == SIGNED
    common = {field.name: field.type for field in fields(ComponentDocument) if field.name in {*SIGNED, "reasons"}}
    own = {field.name: field.type for field in fields(method.COMPONENT)}
    assert {name: own[name] for name in common} == common
    assert method.COMPONENT() is not None  # every field has a default


@pytest.mark.parametrize("number", [10**400, -(10**400), float("inf"), float("nan")])
def test_a_number_that_no_float_can_hold_is_read_as_absent(number):
    rating = read_rating({"seed": number, "delta": number, "components": [{"name": "es", "effect": {"low": number}}]})
    assert (rating.seed, rating.delta) == (None, None)
    assert read_json(EffectDocument, {"estimate": number, "low": 2**60}) == EffectDocument(low=2**60)
