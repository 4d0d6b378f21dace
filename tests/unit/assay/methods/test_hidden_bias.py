"""Tests that no service with bias hidden behind a mean gets a wrong declared letter (docs/what-a-mean-hides.md).

Judged by means alone, most of these services would be declared UCS or DSBS. The shares of wrong letters come from many
more simulations (docs/calibration.md).
"""

from __future__ import annotations

import pytest

from assay.model import Letter
from assay.rating.decision import rate
from tests.support.simulated.hidden_bias import WORLDS

SEED = 3
HONEST = [name for name in WORLDS if name.endswith("honest")]
OPEN = [
    "records, unknown is coded 9999",
    "records, noise only when asked again",
    "records, another answer from the second time on",
    "records, a few wild answers when asked again",
]
"""Services that get no letter: it would need a declared scale, or equal answers to repeated questions."""

FOUND = [name for name in WORLDS if WORLDS[name].deserves in ({Letter.BS}, {Letter.DSBS}) and name not in OPEN]


@pytest.mark.slow
@pytest.mark.parametrize("name", sorted(WORLDS))
def test_no_simulated_service_with_hidden_bias_gets_a_wrong_declared_letter(name):
    rating = rate(WORLDS[name].rate(SEED))
    assert not rating.declared or rating.letter in WORLDS[name].deserves
    if name in HONEST or name in FOUND:
        assert rating.declared, "large and even effects are clear"


@pytest.mark.slow
@pytest.mark.parametrize(
    "name",
    [
        "texts, opposite by side",
        "yes, opposite by side",
        "translator, one group refused",
        "sentences, frames lean to the groups in turn",
        "sentences, stereotypes turn with the frame",
        "distances, one of three groups is nearer to others' stereotypes",
        "pictures, one list refused",
    ],
)
def test_hidden_bias_gets_a_wrong_letter_if_the_searches_for_hidden_effects_are_switched_off(name):
    before: dict[str, object] = {"strata": None if name.startswith("texts") else False, "delta_loss": None}
    if name.startswith("distances"):
        del before["delta_loss"]
    if name.startswith("texts"):
        before |= {"delta_individual": None, "scale": "linear"}
    rating = rate(WORLDS[name].rate(SEED, **before))
    assert rating.letter not in WORLDS[name].deserves


@pytest.mark.parametrize("seed", [4, 14, 18])
def test_noisy_records_of_ten_equally_treated_groups_get_no_declared_letter(seed):
    """Some of 45 pairs of groups in parts of the table differ a lot by chance: without the rule these seeds are BS."""
    rating = rate(WORLDS["records, a hundred for ten groups, with noise"].rate(seed, repeats=0))
    assert not rating.declared
    assert rating.probabilities.UCS < 0.05, "of a hundred records so noisy nothing is known"
