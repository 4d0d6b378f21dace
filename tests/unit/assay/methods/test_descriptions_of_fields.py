"""Every field of a method is described, in its class or a base class: forms, commands and the API show the texts."""

from __future__ import annotations

import inspect
from dataclasses import fields

import pytest

from assay.methods import METHODS, StereotypeScore
from assay.methods.shared.terms.sentence_generation import Writing
from service.catalog.service import descriptions_in


@pytest.mark.parametrize("kind", [*METHODS, Writing], ids=lambda kind: kind.__name__)
def test_every_field_of_a_method_has_a_description(kind):
    described = descriptions_in(inspect.getdoc(kind))
    assert {field.name for field in fields(kind)} - {"method"} <= described.keys()


def test_an_inherited_field_keeps_the_description_of_its_base_class():
    assert "first interim analysis" in descriptions_in(inspect.getdoc(StereotypeScore))["per_term"]
