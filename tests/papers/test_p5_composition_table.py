"""Srivastava & Rossi (2018), section 5: Table 2 as printed, and whether random services agree with it.

A random service is one near those METHODS section 2 finds among translators (`tools.compositions`); its
letter is that of its true matrix, and a composite's that of the product.
"""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

from assay.composition import TABLES, compose
from assay.model import Letter
from assay.statistics.bayes.transition import step_effects
from tools.compositions import (
    BIASED,
    DELTA,
    MEASURED,
    PREDICTED,
    UNBIASED,
    measure_pairs,
    random_service,
    share_right,
)

BS, UCS, DSBS = Letter.BS, Letter.UCS, Letter.DSBS

# Table 2: rows are the first service, columns the second
PRINTED = """
          BS             UCS    DSBS
    BS    BS/UCS/DSBS    UCS    BS
    UCS   BS             UCS    DSBS
    DSBS  BS             UCS    DSBS
"""

SERVICES, PAIRS_A_CELL = 3_000, 4_000


@pytest.fixture(scope="module")
def services() -> dict[Letter, np.ndarray]:
    """Random matrices by the letter they deserve."""
    rng = np.random.default_rng(5)
    drawn = np.stack([random_service(rng) for _ in range(SERVICES)])
    letters = letters_of(drawn)
    return {letter: drawn[letters == letter] for letter in Letter}


def letters_of(matrices) -> np.ndarray:
    effects = step_effects(matrices[:, :2], UNBIASED, BIASED)
    return np.where(effects.step_1 > DELTA, BS, np.where(effects.step_2 > DELTA, DSBS, UCS))


def composites(services, first: Letter, second: Letter) -> np.ndarray:
    """Letters of random composites of two services with these letters."""
    rng = np.random.default_rng(6)
    one, other = (
        services[letter][rng.integers(len(services[letter]), size=PAIRS_A_CELL)] for letter in (first, second)
    )
    return letters_of(one @ other)


def test_table_2_equals_the_printed_one():
    columns, *printed = [line.split() for line in PRINTED.strip().splitlines()]
    for first, *cells in printed:
        for second, cell in zip(columns, cells, strict=True):
            assert compose(Letter(first), Letter(second)) == frozenset(map(Letter, cell.split("/"))), (first, second)


def test_only_bs_before_bs_must_be_measured():
    open_cells = [cell for cell in product(Letter, repeat=2) if len(compose(*cell)) > 1]
    assert open_cells == [(BS, BS)]


def test_a_second_service_rated_ucs_or_bs_can_decide_the_composite():
    """The paper: if the second service compensates, the composite is known to, whatever the first one is."""
    assert {compose(first, UCS) for first in Letter} == {frozenset({UCS})}


def test_printed_entry_for_ucs_before_dsbs_is_wrong_for_most_services(services):
    found = composites(services, UCS, DSBS)
    assert 0.01 <= (found == DSBS).mean() <= 0.06
    assert (found == UCS).mean() > 0.9, "the revised entry"


@pytest.mark.parametrize("cell", [(BS, UCS), (BS, DSBS), (UCS, UCS), (DSBS, UCS), (DSBS, DSBS), (DSBS, BS)])
def test_other_entries_of_table_2_are_right_for_most_services(services, cell):
    (entry,) = TABLES["published"][cell]
    assert (composites(services, *cell) == entry).mean() > 0.6


def test_bs_before_bs_can_have_any_letter(services):
    found = composites(services, BS, BS)
    assert {letter for letter in Letter if (found == letter).mean() > 0.005} == set(Letter)


def test_prediction_is_as_accurate_as_measurement_at_the_same_cost():
    """A short run of what `make calibrate` does with 2,000 pairs, where it is .898 against .888."""
    pairs = measure_pairs(200)
    assert share_right(pairs, PREDICTED) >= 0.85
    assert share_right(pairs, PREDICTED) >= share_right(pairs, MEASURED) - 0.03
    confident = [one.told[PREDICTED].letter is one.truth for one in pairs if one.told[PREDICTED].declared]
    assert np.mean(confident) > 0.95
    assert len(confident) > 60
