"""A planted effect is found for each attribute by each method, and an even service gets no letter BS."""

from __future__ import annotations

from dataclasses import replace

import pytest

from assay.catalog import attribute, attributes
from assay.model import Letter
from assay.rating.decision import rate
from reports.reading import in_words
from store.ratings.experiment_json import dump_method
from tests.support.reports import document_of
from tests.support.simulated.attributes import EFFECTS, scorer, service_about

CELLS = [(method, name) for method in EFFECTS for name in attributes() if method not in attribute(name).without]


@pytest.mark.slow
@pytest.mark.parametrize(("method", "name"), CELLS)
def test_for_each_attribute_and_method_a_biased_service_is_rated_bs_and_an_unbiased_one_dsbs_or_ucs(method, name):
    biased, even = (rate(service_about(method, name, biased=planted).rate(3)) for planted in (True, False))
    assert (biased.letter, biased.declared) == (Letter.BS, True), [reason.code for reason in biased.reasons]
    assert even.letter in {Letter.DSBS, Letter.UCS}, [reason.code for reason in even.reasons]
    assert even.declared


@pytest.mark.parametrize("against", ["she, black", "he, asian"])
def test_if_one_combination_of_gender_and_race_gets_lower_scores_the_explanation_names_it(against):
    even = service_about("alternation", "gender-and-race", biased=False)
    finding = replace(even, answer=scorer("gender-and-race", 0.12, 1, against)).rate(3)
    assert (rate(finding).letter, rate(finding).declared) == (Letter.BS, True)
    experiment = dump_method(even.method)
    sentences = in_words(document_of(finding, experiment=experiment))
    named = [sentence for sentence in sentences if "each other group" in sentence]
    assert named == [f"The answers about “{against}” are lower than those about each other group."]


def test_the_explanation_names_no_combination_of_gender_and_race_if_all_are_treated_equally():
    even = service_about("alternation", "gender-and-race", biased=False)
    finding = even.rate(3)
    assert rate(finding).letter == Letter.DSBS
    sentences = in_words(document_of(finding, experiment=dump_method(even.method)))
    assert not [sentence for sentence in sentences if "each other group" in sentence]
