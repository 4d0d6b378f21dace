"""Tests of effects (as of persons) that both sides of the content share: sums and products are recovered."""

import numpy as np
import pytest

from assay.statistics.intervals.both_sides import shared_products, shared_sums

PEOPLE, FRAMES, CONTENTS = 12, 5, 8


@pytest.fixture
def rng():
    return np.random.default_rng(11)


@pytest.fixture
def design():
    person, frame, content = (
        ids.ravel() for ids in np.meshgrid(*map(np.arange, (PEOPLE, FRAMES, CONTENTS)), indexing="ij")
    )
    return content % 2, {"person": person, "frame": frame, "content": content}


def centred(values, weight):
    return values - weight @ values / weight.sum()


def test_additive_effects_of_people_and_frames_common_to_both_kinds_of_content_are_recovered(design, rng):
    side, clusters = design
    of_person, of_frame = rng.normal(size=PEOPLE), rng.normal(size=FRAMES)
    added = of_person[clusters["person"]] + of_frame[clusters["frame"]]
    weight = np.ones(len(side))
    assert shared_sums(added + 3.0 * side, side, weight, clusters) == pytest.approx(centred(added, weight), abs=1e-9)


def test_multiplicative_effects_common_to_both_kinds_of_content_are_recovered_from_half_of_the_rows(design, rng):
    side, clusters = design
    of_person = rng.uniform(0.5, 2, PEOPLE) * (np.arange(PEOPLE) % 3 == 0)
    of_frame = rng.uniform(0.5, 2, FRAMES)
    kept = rng.random(len(side)) < 0.5
    side, clusters = side[kept], {kind: ids[kept] for kind, ids in clusters.items()}
    factor = of_person[clusters["person"]] * of_frame[clusters["frame"]]
    values, weight = factor * np.where(side, 0.2, 0.1), rng.uniform(1, 5, len(side))
    found = shared_products(values, side, weight, clusters)
    assert found == pytest.approx(factor * weight.sum() / (weight @ factor), abs=1e-9)


@pytest.mark.parametrize("fit", [shared_sums, shared_products])
def test_exchanging_the_two_kinds_of_content_does_not_change_their_common_effects(design, rng, fit):
    side, clusters = design
    values, weight = rng.uniform(0.1, 1, len(side)), rng.uniform(1, 2, len(side))
    assert fit(values, side, weight, clusters) == pytest.approx(fit(values, 1 - side, weight, clusters))


@pytest.mark.parametrize("fit", [shared_sums, shared_products])
def test_effects_of_single_contents_do_not_count_as_common_to_both_kinds_of_content(design, rng, fit):
    side, clusters = design
    values = rng.uniform(0.1, 1, CONTENTS)[clusters["content"]]
    found = fit(values, side, np.ones(len(side)), {"content": clusters["content"]})
    assert np.ptp(found) == pytest.approx(0.0)


def test_a_person_mentioned_with_one_kind_of_content_only_does_not_disturb_the_effects_of_others(design):
    side, clusters = design
    kept = (clusters["person"] != 3) | (side == 0)
    side, clusters = side[kept], {kind: ids[kept] for kind, ids in clusters.items()}
    factor = (1.0 + np.arange(PEOPLE))[clusters["person"]]
    found = shared_products(factor, side, np.ones(len(side)), {"person": clusters["person"]})
    assert np.corrcoef(found, factor)[0, 1] == pytest.approx(1.0)
    assert shared_sums(factor, side, np.ones(len(side)), {"person": clusters["person"]}) == pytest.approx(0.0)


@pytest.mark.parametrize("fit", [shared_sums, shared_products])
def test_outputs_of_zero_have_common_effects_of_zero(design, fit):
    side, clusters = design
    assert (fit(np.zeros(len(side)), side, np.ones(len(side)), clusters) == 0).all()


@pytest.mark.parametrize("fit", [shared_sums, shared_products])
def test_effects_common_to_both_kinds_of_content_do_not_depend_on_the_unit_of_the_weights(design, rng, fit):
    side, clusters = design
    values, weight = rng.uniform(0.1, 1, len(side)), rng.uniform(1, 2, len(side))
    found = fit(values, side, weight / (1000 * weight.sum()), clusters)
    assert found == pytest.approx(fit(values, side, weight, clusters))
    assert np.ptp(found) > 0.1
