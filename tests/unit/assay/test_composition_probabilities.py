"""Tests of the letter probabilities of a chain: known answers, brute force, chains of any length."""

from __future__ import annotations

import json
import math
from itertools import product
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.composition.chain import ALIKE, TABLES, combine, compose_chain
from assay.errors import BadDistribution, SpecificationError, UnknownName
from assay.model import Letter, Probabilities

BS, DSBS, UCS = Letter.BS, Letter.DSBS, Letter.UCS
KNOWN = Path(__file__).resolve().parents[4] / "shared" / "known_answers" / "composition.json"

tables = st.sampled_from(sorted(TABLES))


@st.composite
def some_probabilities(draw) -> Probabilities:
    parts = [draw(st.floats(0, 1)) + 1e-9 for _ in Letter]
    bs, dsbs, ucs = (part / sum(parts) for part in parts)
    return Probabilities(bs, dsbs, ucs)


def certain(letter: Letter) -> Probabilities:
    return Probabilities(**{one.value: float(one is letter) for one in Letter})


def answers(word, table) -> frozenset:
    return frozenset(one.possible for one in compose_chain(word, table).bracketings)


@pytest.mark.skipif(not KNOWN.exists(), reason="the known answers are not on this machine")
def test_the_letter_probabilities_of_two_services_equal_the_known_answers():
    known = json.loads(KNOWN.read_text(encoding="utf-8"))["probabilistic"]
    combined = combine([Probabilities(**known["A"]), Probabilities(**known["B"])])
    assert combined.must_be_measured == pytest.approx(known["mass"]["unknown(BS*BS)"])
    for letter in Letter:
        assert combined.of(letter) == pytest.approx(known["mass"][letter.value])


@given(st.lists(some_probabilities(), min_size=1, max_size=4), tables)
def test_the_letter_probabilities_of_a_chain_equal_brute_force(services, table):
    combined = combine(services, table)
    mass = dict.fromkeys([*Letter, None], 0.0)
    contradicted = 0.0
    for word in product(Letter, repeat=len(services)):
        weight = math.prod(one.of(letter) for one, letter in zip(services, word, strict=True))
        answer = compose_chain(word, table)
        mass[answer.letter] += weight
        contradicted += weight * answer.contradiction
    assert [combined.of(letter) for letter in Letter] == pytest.approx([mass[letter] for letter in Letter])
    assert combined.must_be_measured == pytest.approx(mass[None])
    assert combined.contradicted == pytest.approx(contradicted)


@given(st.lists(some_probabilities(), min_size=1, max_size=40), tables)
def test_the_probabilities_sum_to_one_for_chains_of_any_length(services, table):
    combined = combine(services, table)
    assert combined.BS + combined.DSBS + combined.UCS + combined.must_be_measured == pytest.approx(1)
    assert 0 <= combined.contradicted <= combined.must_be_measured + 1e-12


@given(st.lists(st.sampled_from(Letter), min_size=1, max_size=12), tables)
def test_a_chain_of_certain_letters_gets_the_answer_of_the_composition_table(word, table):
    answer, combined = compose_chain(word, table), combine([certain(letter) for letter in word], table)
    assert combined.must_be_measured == float(answer.letter is None)
    assert combined.contradicted == float(answer.contradiction)
    assert all(combined.of(letter) == float(letter is answer.letter) for letter in Letter)


@pytest.mark.slow
@pytest.mark.parametrize("table", sorted(TABLES))
def test_a_chain_of_letters_can_be_replaced_by_its_shortened_form_in_every_longer_chain(table):
    around = [word for length in range(4) for word in product(Letter, repeat=length)]
    for longer, shorter in ALIKE[table].items():
        for before, after in product(around, around):
            if len(before) + len(after) <= 4:
                assert answers((*before, *longer, *after), table) == answers((*before, *shorter, *after), table)


def test_two_services_that_are_probably_biased_must_most_probably_be_measured():
    assert combine([Probabilities(0.9, 0.1, 0.0)] * 2).must_be_measured == pytest.approx(0.81)


def test_letter_probabilities_of_a_chain_that_do_not_sum_to_one_are_refused():
    with pytest.raises(SpecificationError, match="at least one service"):
        combine([])
    with pytest.raises(BadDistribution, match="must sum to one"):
        combine([Probabilities(0.5, 0.2, 0.2)])
    with pytest.raises(BadDistribution, match="must sum to one"):
        combine([Probabilities(math.nan, 0.5, 0.5)])
    with pytest.raises(UnknownName):
        combine([Probabilities(1.0, 0.0, 0.0)], "printed")
