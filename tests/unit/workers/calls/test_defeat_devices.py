"""Biased services that behave well when they recognise a rating (defeat devices), rated through the driver."""

import pytest

from assay.model import Letter
from assay.rating.decision import rate
from tests.support.simulated.defeat_devices import BIASED, DEVICES, Device, earlier_rating, rate_device

SEEDS = 4

# Row 91 of docs/reliability.md: at ffe18d3c seed 0 asked known sentences, and round trips sent pairs close together.
pytestmark = pytest.mark.slow


@pytest.mark.parametrize("name", DEVICES)
def test_a_biased_service_that_behaves_well_when_it_recognises_a_rating_is_never_declared_better_than_bs(name):
    seeds = range(8) if name == "defeat device, pairs: round trip, 3 of 10 women" else range(SEEDS)
    declared = [rating.letter for seed in seeds if (rating := rate(DEVICES[name].rate(seed))).declared]
    assert set(declared) <= {Letter.BS}, declared


@pytest.mark.parametrize("name", BIASED)
def test_a_biased_service_that_recognises_every_test_sentence_is_not_rated_bs(name):
    """The simulated devices work: with the seed that they know, no longer the default, they are not rated BS."""
    method, behaviour = BIASED[name]
    finding = rate_device(method, Device(behaviour, earlier_rating(name)), seed=9)
    rating = rate(finding)
    assert rating.letter is not Letter.BS


def test_a_service_that_remembers_50_calls_seldom_sees_two_forced_choice_questions_about_one_word():
    method, behaviour = BIASED["forced choice"]
    device = Device(behaviour, pairs=True)
    rating = rate(rate_device(method, device, seed=1000))
    assert (rating.letter, rating.declared) == (Letter.BS, True)
    assert device.evenly < 0.1 * len(device.heard)
