"""Tests of the sentences that explain the composition of a chain of services."""

from __future__ import annotations

from dataclasses import replace
from itertools import product

import numpy as np
import pytest

from assay.composition.chain import TABLES, combine, compose_chain
from assay.composition.prediction.measured_service import TransitionEvidence
from assay.composition.prediction.predicted import predict_chain
from assay.composition.wording import (
    BECAUSE,
    explain_chain,
    explain_difference,
    explain_prediction,
    explain_probabilities,
)
from assay.model import Letter, Probabilities

BS, DSBS, UCS = Letter.BS, Letter.DSBS, Letter.UCS
SERVICE = TransitionEvidence(
    ("he", "she"), ("he", "she", "other"), ((400, 0, 0), (0, 400, 0)), ((0.5, 0.5),), ((0.1, 0.9), (0.9, 0.1))
)


def rng() -> np.random.Generator:
    return np.random.default_rng(3)


def test_the_explanation_of_a_chain_names_the_deciding_row_and_column_of_the_table():
    result, row = explain_chain(compose_chain([BS, UCS]))
    assert result.startswith("The letter UCS (unbiased, compensating) is inferred by the published table")
    assert row == "Row BS, column UCS gives UCS, because the second service makes up for the bias of the first."


def test_every_cell_of_the_composition_table_has_a_reason():
    assert set(BECAUSE) == set(TABLES["published"])


def test_if_no_letter_can_be_inferred_the_explanation_says_that_the_chain_must_be_measured():
    result, *_ = explain_chain(compose_chain([BS, BS]))
    assert "no letter can be inferred: it must be measured. Possible: BS, DSBS or UCS." in result


def test_if_bracketings_of_a_chain_give_different_letters_the_explanation_shows_these_bracketings():
    result, one, other = explain_chain(compose_chain([BS, UCS, DSBS]))
    assert "contradicts itself" in result
    assert "BS or DSBS" in result
    assert one.startswith("Read as (BS * UCS) * DSBS: row BS, column UCS gives UCS")
    assert other.startswith("Read as BS * (UCS * DSBS): row UCS, column DSBS gives DSBS")


def test_a_difference_between_the_letters_of_two_composition_tables_is_explained_only_if_it_exists():
    same = [compose_chain([DSBS, UCS], table) for table in TABLES]
    differ = [compose_chain([UCS, DSBS], table) for table in TABLES]
    assert explain_difference(*same) is None
    assert "by the published one DSBS is inferred, by the revised one UCS" in explain_difference(*differ)


@pytest.mark.parametrize("table", sorted(TABLES))
def test_every_explanation_of_a_chain_says_that_the_letter_is_inferred(table):
    for length in (2, 3, 4):
        for chain in product(Letter, repeat=length):
            assert "inferred" in explain_chain(compose_chain(chain, table))[0], chain


def test_a_chain_of_one_service_is_explained_by_the_letter_of_that_service():
    assert explain_chain(compose_chain([DSBS])) == ("A chain of one service is what that service is: DSBS.",)


def test_the_explanation_states_the_probability_that_the_composition_table_has_no_answer():
    known, left = explain_probabilities(combine([Probabilities(0.7, 0.2, 0.1), Probabilities(0.1, 0.6, 0.3)]))
    assert known.endswith("from the probabilities of the parts: BS with 45 %, DSBS with 18 % and UCS with 30 %.")
    assert left.startswith("For 7 % the table has no answer")


def test_the_explanation_says_that_a_chain_of_two_certainly_biased_services_must_be_measured():
    (left,) = explain_probabilities(combine([Probabilities(1.0, 0.0, 0.0)] * 2))
    assert "must be measured" in left


def test_the_explanation_states_the_probability_that_bracketings_of_a_chain_contradict_each_other():
    chain = [Probabilities(1.0, 0.0, 0.0), Probabilities(0.0, 0.0, 1.0), Probabilities(0.0, 1.0, 0.0)]
    assert explain_probabilities(combine(chain))[-1] == "In >99 % of all cases it even contradicts itself."


def test_the_explanation_of_a_prediction_says_that_the_letter_is_inferred():
    said = explain_prediction(predict_chain((SERVICE, SERVICE), rng()))
    assert said[0].startswith("The letter DSBS (data-sensitive) is inferred with >99 %")
    assert "the composite itself was not called" in said[0]
    assert len(said) == 2


def test_the_explanation_of_a_predicted_chain_names_the_service_that_can_lose_the_attribute_value():
    losing = replace(SERVICE, counts=((300, 0, 100), (0, 400, 0)))
    said = explain_prediction(predict_chain((losing, SERVICE), rng()))
    assert any("can lose the value (service 1: 12 %)" in sentence for sentence in said)
    erasing = replace(SERVICE, counts=((0, 0, 400), (0, 0, 400)))
    assert (
        "with <1 % if all is allowed for that was not measured"
        in explain_prediction(predict_chain((erasing, SERVICE), rng()))[0]
    )


def test_the_explanation_of_a_predicted_chain_states_the_share_of_common_sentences_and_different_settings():
    contents = {f"{place}": {"he": {"he": 1}, "she": {"she": 1}} for place in range(400)}
    shared = replace(SERVICE, contents=contents)
    said = explain_prediction(predict_chain((shared, replace(shared, content_delta=0.2)), rng(), 2_000))
    assert "100 % of them could be followed" in said[1]
    assert "different settings (content delta)" in said[2]
