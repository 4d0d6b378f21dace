"""Effects that chance alone can explain.

Row 106 of docs/reliability.md: a preference that word lists shared by chance was declared BS.
"""

import numpy as np
import pytest

from assay.statistics.hidden.chance import may_be_chance
from assay.statistics.hidden.varying import shared_preference

RNG = np.random.default_rng(4)


@pytest.mark.parametrize("errors", [1.0, 1.5, 2.0, 2.5])
def test_a_preference_common_to_two_word_lists_with_large_errors_may_be_chance(errors):
    """Its draws are 0 where the lists disagree, and are never negative."""
    lists = errors + RNG.standard_normal((2, 20_000))
    assert may_be_chance(shared_preference(lists))


def test_a_preference_common_to_two_word_lists_with_small_errors_is_not_chance():
    assert not may_be_chance(shared_preference(6 + RNG.standard_normal((2, 20_000))))


@pytest.mark.parametrize(("errors", "chance"), [(2.8, True), (3.4, False), (-2.8, True), (-3.4, False)])
def test_a_signed_effect_beyond_three_standard_errors_is_not_called_chance(errors, chance):
    draws = errors + RNG.standard_normal(200_000)
    assert may_be_chance(draws) == may_be_chance(draws[:, None]) == chance
