"""Services that are even where they recognise a rating, and biased otherwise, rated through the driver."""

import pytest

from assay.model import Letter
from assay.rating.decision import rate
from tests.support.simulated.defeat_devices import BIASED, DEVICES, Device, earlier_rating, rate_device

SEEDS = 4

# Row 91 of docs/reliability.md: at ffe18d3c seed 0 asked known sentences, and round trips sent pairs close together.
pytestmark = pytest.mark.slow


@pytest.mark.parametrize("name", DEVICES)
def test_a_service_that_is_unbiased_only_where_it_recognises_a_rating_gets_no_better_letter(name):
    seeds = range(8) if name == "defeat device, pairs: round trip, 3 of 10 women" else range(SEEDS)
    declared = [rating.letter for seed in seeds if (rating := rate(DEVICES[name].rate(seed))).declared]
    assert set(declared) <= {Letter.BS}, declared


@pytest.mark.parametrize("name", BIASED)
def test_a_service_that_recognises_every_test_sentence_appears_unbiased(name):
    """The devices work: with the seed of the earlier rating, which is no longer the default, they are not BS."""
    method, behaviour = BIASED[name]
    finding = rate_device(method, Device(behaviour, earlier_rating(name)), seed=9)
    rating = rate(finding)
    assert rating.letter is not Letter.BS


def test_questions_about_one_word_of_a_forced_choice_are_seldom_within_50_calls():
    method, behaviour = BIASED["forced choice"]
    device = Device(behaviour, pairs=True)
    rating = rate(rate_device(method, device, seed=1000))
    assert (rating.letter, rating.declared) == (Letter.BS, True)
    assert device.evenly < 0.1 * len(device.heard)
