"""Tests of the two effects of alternation on services of known effect."""

from __future__ import annotations

import numpy as np
import pytest

from assay.errors import TooFewObservations, ZeroVariance
from assay.statistics.intervals.alternation_effects import (
    Profiles,
    group_draws,
    paired_draws,
    tied_draws,
    without_each,
)

PEOPLE, FRAMES, CONTENTS = 10, 6, 16
PERSON, FRAME, CONTENT = (ids.ravel() for ids in np.indices((PEOPLE, FRAMES, CONTENTS)))
CLUSTERS = {"person": PERSON, "frame": FRAME, "content": CONTENT}
SIDE = CONTENT % 2
TIE = 0.9


@pytest.fixture
def rng():
    return np.random.default_rng(83)


def profiles_of(outputs, values=("women", "men")) -> Profiles:
    return Profiles(np.asarray(outputs, dtype=float), values, CLUSTERS)


def service(rng, *, of_value=(0.0, 0.0), of_side=0.0, noise=0.3) -> Profiles:
    """Return outputs with a known effect of each value and of the side of the content."""
    base = rng.normal(size=PEOPLE)[PERSON] * 0.5 + of_side * SIDE
    columns = [base + effect + noise * rng.normal(size=len(base)) for effect in of_value]
    return profiles_of(np.stack(columns, axis=1), tuple("abcde"[: len(of_value)]))


# ---------------------------------------------------------------------------- step 1
def test_the_paired_effect_is_the_mean_shift_in_standard_deviations_of_all_outputs(rng):
    profiles = service(rng, of_value=(0.0, 0.4))
    drawn = paired_draws(profiles, rng)["a", "b"]
    shift = (profiles.outputs[:, 1] - profiles.outputs[:, 0]).mean() / profiles.outputs.std()
    assert drawn.mean() == pytest.approx(shift, abs=0.01)
    assert np.quantile(drawn, 0.025) < 0.4 / profiles.scale < np.quantile(drawn, 0.975)


def test_a_constant_shift_is_only_as_uncertain_as_the_standard_deviation_that_divides_it(rng):
    base = rng.normal(size=len(PERSON))
    profiles = profiles_of(np.stack([base, base + 1], axis=1))
    drawn = paired_draws(profiles, rng)["women", "men"]
    assert drawn.mean() == pytest.approx(1 / profiles.scale, rel=0.02)
    assert 0.002 < drawn.std() / drawn.mean() < 0.05


def test_draws_in_a_fixed_unit_have_the_standard_error_of_a_difference_that_only_one_group_causes(rng):
    outputs = np.stack([np.zeros(500), rng.binomial(4, 0.1, 500) / 4], axis=1)
    drawn = paired_draws(Profiles(outputs, ("women", "men"), {}, unit=1.0), rng)["women", "men"]
    assert drawn.mean() == pytest.approx(outputs[:, 1].mean(), rel=0.01)
    assert drawn.std() == pytest.approx(outputs[:, 1].std() / np.sqrt(500), rel=0.05)


def test_a_service_that_ignores_the_attribute_has_no_effect(rng):
    base = rng.normal(size=len(PERSON))
    drawn = paired_draws(profiles_of(np.stack([base, base], axis=1)), rng, 200)["women", "men"]
    assert np.abs(drawn).max() == 0


def test_every_pair_of_values_is_compared(rng):
    pairs = paired_draws(service(rng, of_value=(0.0, 0.1, 0.3, 0.6, 1.0)), rng, 200)
    assert len(pairs) == 10  # 20 ordered pairs; (a, b) and (b, a) count once
    assert pairs["a", "e"] == pytest.approx(pairs["a", "c"] + pairs["c", "e"], abs=0.2)


def test_swapping_the_two_attribute_values_changes_the_sign_of_the_effect(rng):
    profiles = service(rng, of_value=(0.0, 0.4))
    there = paired_draws(profiles, np.random.default_rng(3), 400)["a", "b"]
    back = paired_draws(profiles_of(profiles.outputs[:, ::-1]), np.random.default_rng(3), 400)["women", "men"]
    assert back == pytest.approx(-there)


def test_effects_do_not_depend_on_the_unit_and_offset_of_the_outputs(rng):
    profiles = service(rng, of_value=(0.0, 0.4))
    cents = profiles_of(100 * profiles.outputs + 7, profiles.values)
    once, again = (paired_draws(each, np.random.default_rng(3), 400)["a", "b"] for each in (profiles, cents))
    assert again == pytest.approx(once)


def test_an_effect_that_comes_from_one_name_is_uncertain(rng):
    outputs = np.stack([rng.normal(size=len(PERSON))] * 2, axis=1)
    outputs[PERSON == 4, 1] += 2.0
    drawn = paired_draws(profiles_of(outputs), rng)["women", "men"]
    assert np.quantile(drawn, 0.025) < 0 < np.quantile(drawn, 0.975)


def test_outputs_without_variance_are_refused(rng):
    with pytest.raises(ZeroVariance, match=r"all 1920 outputs are 0\.5"):
        paired_draws(profiles_of(np.full((len(PERSON), 2), 0.5)), rng)


# ---------------------------------------------------------------------------- step 2
def test_content_tied_to_the_attribute_shows_as_a_gap_between_groups(rng):
    profiles = service(rng, of_value=(0.0, 0.0), of_side=1.0, noise=0.01)
    drawn = np.abs(tied_draws(profiles, SIDE, TIE, rng)).max(axis=1)
    assert drawn.mean() == pytest.approx(0.8 * 1.0 / profiles.scale, rel=0.05)


def test_content_without_an_effect_leaves_only_a_gap_of_the_size_of_chance(rng):
    drawn = np.abs(tied_draws(service(rng, of_value=(0.0, 0.0), noise=0.05), SIDE, TIE, rng)).max(axis=1)
    by_chance = np.sqrt(2 * (0.9**2 + 0.1**2) * 2 / len(PERSON))
    assert np.quantile(drawn, 0.025) < by_chance / 2
    assert drawn.mean() < 1.5 * by_chance


def test_the_effect_of_the_attribute_itself_does_not_change_the_gap_caused_by_tied_content(rng):
    profiles = service(rng, of_value=(0.0, 0.3), of_side=-1.0, noise=0.01)
    drawn = np.abs(tied_draws(profiles, SIDE, TIE, rng)).max(axis=1)
    assert drawn.mean() == pytest.approx(0.8 / profiles.scale, rel=0.05)


def test_effects_of_people_and_frames_do_not_make_the_gap_caused_by_tied_content_less_certain(rng):
    outputs = rng.normal(size=PEOPLE)[PERSON] + rng.normal(size=FRAMES)[FRAME] + 0.01 * rng.normal(size=len(PERSON))
    drawn = tied_draws(profiles_of(np.stack([outputs, outputs], axis=1)), SIDE, TIE, rng)
    assert drawn.std() < 0.01


def test_exchanging_the_two_kinds_of_content_changes_the_sign_of_the_gap_between_groups(rng):
    profiles = service(rng, of_value=(0.0, 0.1), of_side=0.4)
    there = tied_draws(profiles, SIDE, TIE, np.random.default_rng(3), 400)
    back = tied_draws(profiles, 1 - SIDE, TIE, np.random.default_rng(3), 400)
    assert there.shape == (400, 1)
    assert there.mean() < 0  # content of the first side scores lower
    assert back == pytest.approx(-there)


def test_content_of_only_one_of_the_two_kinds_is_refused(rng):
    with pytest.raises(TooFewObservations, match="two sides"):
        tied_draws(service(rng), np.zeros(len(PERSON), dtype=int), TIE, rng)


def test_the_gap_of_recorded_groups_is_the_difference_of_their_means(rng):
    base = rng.normal(size=len(PERSON)) + 1.0 * (CONTENT % 2)
    profiles = profiles_of(np.stack([base, base], axis=1))
    drawn = np.abs(group_draws(profiles, CONTENT % 2, rng)).max(axis=1)
    own = np.abs(base[CONTENT % 2 == 1].mean() - base[CONTENT % 2 == 0].mean()) / profiles.scale
    assert drawn.mean() == pytest.approx(own, abs=0.02)


def test_the_gap_is_between_the_two_groups_furthest_apart(rng):
    groups = CONTENT % 3
    outputs = np.repeat((np.array([0.0, 2.0, 0.5])[groups] + 0.01 * rng.normal(size=len(PERSON)))[:, None], 3, axis=1)
    profiles = profiles_of(outputs, ("a", "b", "c"))
    assert np.abs(group_draws(profiles, groups, rng)).max(axis=1).mean() == pytest.approx(2 / profiles.scale, rel=0.02)


# ---------------------------------------------------------------------------- leverage
def test_leaving_out_a_cluster_equals_recomputing_without_it(rng):
    profiles = service(rng, of_value=(0.0, 0.4))
    left = without_each(profiles, "person", ("a", "b"))
    assert list(left) == list(range(PEOPLE))
    for person, effect in left.items():
        rest = profiles.outputs[person != PERSON]
        assert effect == pytest.approx((rest[:, 1] - rest[:, 0]).mean() / profiles.scale)


def test_leaving_out_the_name_that_causes_an_effect_removes_the_effect(rng):
    outputs = np.stack([rng.normal(size=len(PERSON))] * 2, axis=1)
    outputs[PERSON == 4, 1] += 2.0
    left = without_each(profiles_of(outputs), "person", ("women", "men"))
    assert left[4] == pytest.approx(0)
    assert min(effect for person, effect in left.items() if person != 4) > 0.1
