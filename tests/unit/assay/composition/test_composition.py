"""Tests of the composition tables for chains: known answers, brute force over bracketings, invariants."""

from __future__ import annotations

import json
from itertools import product
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.composition.chain import TABLE_2, TABLES, compose, compose_chain
from assay.errors import SpecificationError, UnknownName
from assay.model import Letter

BS, DSBS, UCS = Letter.BS, Letter.DSBS, Letter.UCS
KNOWN = Path(__file__).resolve().parents[5] / "shared" / "known_answers" / "composition.json"
needs_known_answers = pytest.mark.skipif(not KNOWN.exists(), reason="the known answers are not on this machine")

chains = st.lists(st.sampled_from(Letter), min_size=1, max_size=6)
tables = st.sampled_from(sorted(TABLES))


def known() -> dict:
    return json.loads(KNOWN.read_text(encoding="utf-8"))


def letters(names) -> frozenset[Letter]:
    return frozenset(map(Letter, names))


def every_bracketing(chain, table):
    """Yield the possible letters of every bracketing (their number is a Catalan number)."""
    if len(chain) == 1:
        yield frozenset(chain)
        return
    for middle in range(1, len(chain)):
        for left, right in product(every_bracketing(chain[:middle], table), every_bracketing(chain[middle:], table)):
            yield frozenset().union(*(TABLES[table][a, b] for a, b in product(left, right)))


# ---------------------------------------------------------------------------- known answers
@needs_known_answers
def test_the_composition_table_equals_the_known_table_of_letters():
    table = known()["table_first_then_second"]
    assert {(a, b): compose(Letter(a), Letter(b)) for a in table for b in table[a]} == {
        (a, b): letters(possible) for a, row in table.items() for b, possible in row.items()
    }


@needs_known_answers
@pytest.mark.parametrize("kind", ["chains", "nonassociative"])
def test_composed_chains_of_two_and_three_services_equal_the_known_answers(kind):
    for one in known()[kind]:
        answer = compose_chain([Letter(name) for name in one["chain"]])
        folds = letters(one["left_fold"]) | letters(one["right_fold"])
        assert answer.contradiction == (not one["all_bracketings"]), one["chain"]
        assert answer.possible == (letters(one["all_bracketings"]) or folds), one["chain"]
        assert answer.bracketings[0].possible == letters(one["left_fold"]), one["chain"]
        assert letters(one["right_fold"]) in {each.possible for each in answer.bracketings}, one["chain"]


# ---------------------------------------------------------------------------- any chain
@given(chains, tables)
def test_composed_letters_equal_those_of_all_bracketings_computed_one_by_one(chain, table):
    answer = compose_chain(chain, table)
    one_by_one = set(every_bracketing(tuple(chain), table))
    assert {one.possible for one in answer.bracketings} == one_by_one
    common = frozenset(Letter).intersection(*one_by_one)
    assert answer.contradiction == (not common)
    assert answer.possible == (common or frozenset().union(*one_by_one))


@given(chains, tables)
def test_a_chain_that_ends_with_a_compensating_service_is_compensating(chain, table):
    assert compose_chain([*chain, UCS], table).letter is UCS


@given(chains)
def test_under_the_revised_composition_table_a_dsbs_service_does_not_change_the_letter_of_a_chain(chain):
    rest = [letter for letter in chain if letter is not DSBS] or [DSBS]
    assert compose_chain(chain, "revised").possible == compose_chain(rest, "revised").possible


@given(chains)
def test_under_the_revised_composition_table_no_bracketing_of_a_chain_contradicts_another(chain):
    assert compose_chain(chain, "revised").contradiction is False


@given(chains, tables)
def test_the_possible_letters_of_a_bracketed_chain_are_those_of_the_last_step_of_its_composition(chain, table):
    for one in compose_chain(chain, table).bracketings:
        assert len(one.steps) == len(chain) - 1
        for step in one.steps:
            assert step.possible == frozenset().union(*(entry.possible for entry in step.entries))
            assert all(entry.possible == compose(entry.first, entry.second, table) for entry in step.entries)
        if one.steps:
            assert one.possible == one.steps[-1].possible
        assert one.written.replace("(", "").replace(")", "").split(" * ") == [*chain]


def test_the_letter_of_a_chain_of_two_biased_services_cannot_be_inferred():
    answer = compose_chain([BS, BS])
    assert (answer.possible, answer.letter) == (frozenset(Letter), None)


def test_if_bracketings_of_a_chain_contradict_each_other_every_letter_of_any_of_them_is_possible():
    answer = compose_chain([BS, UCS, DSBS])
    assert answer.contradiction
    assert {one.written: one.possible for one in answer.bracketings} == {
        "(BS * UCS) * DSBS": frozenset({DSBS}),
        "BS * (UCS * DSBS)": frozenset({BS}),
    }
    assert answer.possible == frozenset({BS, DSBS})


def test_a_chain_of_forty_services_is_composed_quickly():
    assert BS in compose_chain([BS, UCS, DSBS, BS] * 10).possible


def test_the_published_and_the_revised_composition_table_differ_in_one_cell():
    assert [cell for cell in TABLE_2 if TABLES["published"][cell] != TABLES["revised"][cell]] == [(UCS, DSBS)]


def test_invalid_chains_are_refused():
    with pytest.raises(SpecificationError, match="at least one service"):
        compose_chain([])
    with pytest.raises(UnknownName, match="no composition table is called 'corrected'; known: published, revised"):
        compose_chain([BS], "corrected")
