"""Tests of letters with effects hidden behind a mean, and of letters that lost replies could change."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest

from assay.model import Evidence, HiddenEffect, Letter, Probabilities, Reason
from assay.rating.component import Counts, Lost, Measurement, Tolerance
from assay.rating.decision import letter_probabilities, vote_probabilities, worst_probabilities
from assay.rating.losses import lost_of_no_group, lost_replies

DELTA = 0.1
NONE = np.zeros(1000)


def of(*shares_beyond: float, kind: str = "stratum", bound: bool = False) -> tuple[HiddenEffect, ...]:
    """Return hidden effects; each is beyond the limit in the given share of the draws, and in different draws."""
    effects, start = [], 0
    for place, share in enumerate(shares_beyond):
        draws = np.zeros(1000)
        draws[(start + np.arange(round(share * 1000))) % 1000] = 1.0
        start += round(share * 1000)
        effects.append(HiddenEffect(kind, f"stratum {place}", draws, bound=bound))
    return tuple(effects)


def test_without_hidden_effects_probabilities_are_those_of_the_two_steps():
    evidence = Evidence(np.repeat([0.0, 1.0], [900, 100]), np.repeat([0.0, 1.0], [300, 700]))
    assert letter_probabilities(evidence, DELTA) == Probabilities(0.1, 0.6, pytest.approx(0.3))


def test_the_probability_of_bs_is_that_of_the_hidden_effect_most_likely_to_exceed_its_limit():
    found = letter_probabilities(Evidence(NONE, NONE, hidden=of(0.3, 0.2, 0.1)), DELTA)
    assert found == Probabilities(0.3, 0.0, pytest.approx(0.4), pytest.approx(0.3))
    assert found.likeliest is Letter.BS


def test_bs_is_not_declared_for_many_hidden_effects_that_are_each_unlikely():
    measured = Measurement("it", Counts(100), Tolerance(DELTA, 0.95))
    evidence = Evidence(NONE, NONE, hidden=of(*[0.2] * 5))
    component = measured.conclude(evidence, lambda _: Reason("x"))
    assert (component.letter, component.declared) == (Letter.BS, False)


def test_an_effect_known_only_as_an_upper_bound_prevents_ucs_but_never_gives_bs():
    found = letter_probabilities(Evidence(NONE, NONE, hidden=of(1.0, bound=True)), DELTA)
    assert found == Probabilities(0.0, 0.0, 0.0, 1.0)


def test_a_step_1_effect_known_only_as_an_upper_bound_prevents_ucs_but_never_gives_bs():
    evidence = Evidence(NONE + 1, NONE, bound=True)
    assert letter_probabilities(evidence, DELTA) == Probabilities(0.0, 0.0, 0.0, 1.0)
    assert letter_probabilities(evidence, DELTA).likeliest is Letter.BS
    assert letter_probabilities(Evidence(NONE, NONE, bound=True), DELTA).UCS == 1.0
    assert letter_probabilities(Evidence(NONE + 1, NONE), DELTA).BS == 1.0


def test_a_measured_content_effect_gives_dsbs_but_a_mere_upper_bound_only_prevents_ucs():
    assert letter_probabilities(Evidence(NONE, NONE, hidden=of(0.7, kind="content")), DELTA).as_json() == pytest.approx(
        {"BS": 0.0, "DSBS": 0.7, "UCS": 0.3}
    )
    bound = of(0.6, kind="content", bound=True)
    assert letter_probabilities(Evidence(NONE, NONE, hidden=bound), DELTA) == Probabilities(
        0.0, 0.0, pytest.approx(0.4), 0.6
    )
    assert letter_probabilities(Evidence(NONE, NONE + 1, hidden=bound), DELTA).DSBS == 1.0
    assert letter_probabilities(Evidence(NONE + 1, NONE, hidden=of(1.0, kind="content")), DELTA).BS == 1.0


def test_a_content_effect_that_the_average_hides_gives_dsbs_with_its_own_reason_code():
    measured = Measurement("it", Counts(100), Tolerance(DELTA, 0.95))
    component = measured.conclude(Evidence(NONE, NONE, hidden=of(1.0, kind="content")), lambda _: Reason("x"))
    assert (component.letter, component.declared) == (Letter.DSBS, True)
    assert [one.code for one in component.reasons] == ["follows-a-part-of-the-content"]
    lost = measured.conclude(
        Evidence(NONE, NONE, hidden=of(1.0, kind="content")), lambda _: Reason("x"), lost=Lost(0.0, 0.95)
    )
    assert lost.reasons[0].code == "letter-depends-on-what-was-lost"


def test_a_hidden_effect_with_its_own_limit_is_judged_by_that_limit_instead_of_the_tolerance_of_step_1():
    effect = HiddenEffect("individual", "typical text", np.full(1000, 0.2), limit=0.25)
    assert letter_probabilities(Evidence(NONE, NONE, hidden=(effect,)), DELTA).UCS == 1.0


def test_the_reason_for_bs_names_the_biased_stratum():
    measured = Measurement("it", Counts(100), Tolerance(DELTA, 0.95))
    component = measured.conclude(Evidence(NONE, NONE, hidden=of(1.0)), lambda _: Reason("x"))
    assert (component.letter, component.declared) == (Letter.BS, True)
    assert [(one.code, one.facts["name"]) for one in component.reasons] == [("biased-within-a-stratum", "stratum 0")]


@pytest.mark.parametrize(
    ("step_1", "bound", "codes"),
    [
        (NONE, False, ["treats-alike-on-average-only"]),
        (NONE + 1, True, ["treats-alike-on-average-only"]),  # only an upper bound: the mean shows nothing
        (NONE + 1, False, ["introduces-bias"]),
    ],
)
def test_the_reason_that_groups_are_alike_on_average_only_is_given_if_step_1_shows_no_effect(step_1, bound, codes):
    evidence = Evidence(step_1, NONE, hidden=of(1.0, kind="individual"), bound=bound)
    component = Measurement("it", Counts(100), Tolerance(DELTA, 0.95)).conclude(
        evidence, lambda _: Reason("introduces-bias")
    )
    assert (component.letter, component.declared) == (Letter.BS, True)
    assert [reason.code for reason in component.reasons] == codes


def test_probabilities_of_several_components_still_sum_to_one():
    one = Probabilities(0.3, 0.1, 0.4, 0.2)
    worst = worst_probabilities([one, one])
    assert pytest.approx(1 - 0.7**2) == worst.BS
    assert pytest.approx(0.16) == worst.UCS
    assert pytest.approx(0.5**2 - 0.16) == worst.DSBS
    assert worst.BS + worst.DSBS + worst.UCS + worst.unlocated == pytest.approx(1)
    vote = vote_probabilities([one, one, one])
    assert pytest.approx(1) == vote.BS + vote.DSBS + vote.UCS


def test_letter_probabilities_are_read_back_from_json_unchanged():
    for one in (Probabilities(0.3, 0.1, 0.4, 0.2), Probabilities(0.5, 0.25, 0.25)):
        assert Probabilities.from_json(one.as_json()) == one
    assert "unlocated" not in Probabilities(0.5, 0.25, 0.25).as_json()


@pytest.mark.parametrize(
    ("step_1", "step_2", "lost", "declared"),
    [
        (0.0, 0.0, (0.05, 0.05), True),
        (0.0, 0.0, (0.11, 0.0), False),
        (0.0, 0.0, (0.0, 0.11), False),
        (0.0, 0.3, (0.05, 0.15), True),
        (0.0, 0.3, (0.05, 0.25), False),
        (0.3, 0.0, (0.15, 0.0), True),
        (0.3, 0.0, (0.25, 0.0), False),
    ],
)
def test_a_letter_that_lost_replies_could_change_is_not_declared(step_1, step_2, lost, declared):
    measured = Measurement("it", Counts(90, failed=10), Tolerance(DELTA, 0.95))
    evidence = Evidence(np.full(1000, step_1), np.full(1000, step_2))
    component = measured.conclude(evidence, lambda _: Reason("x"), lost=Lost(*lost, {"lost": 10}))
    assert component.declared == declared
    assert (component.reasons[0].code == "letter-depends-on-what-was-lost") == (not declared)


def test_hidden_effects_can_have_a_lower_required_confidence_than_the_two_steps():
    evidence = Evidence(NONE, NONE, hidden=of(0.03))
    assert not Tolerance(DELTA, 0.99).declares(evidence, Letter.UCS)
    assert Tolerance(DELTA, 0.99, hidden_confidence=0.95).declares(evidence, Letter.UCS)
    assert not Tolerance(DELTA, 0.99, hidden_confidence=0.98).declares(evidence, Letter.UCS)


def test_the_number_of_lost_replies_includes_replies_that_belong_to_no_group():
    """Neutral pictures, and texts about several groups, belong to no group."""
    by_group = {"man": Counter(usable=90, refused=10), "woman": Counter(usable=98, failed=2)}
    lost = lost_replies(by_group, 0.05, 0.1, 0.1, of_no_group=lost_of_no_group(by_group, 15))
    assert lost.facts == {"lost": 15, "most": "man", "share": 0.1, "least": "woman", "other_share": 0.02}


def test_two_groups_with_equally_many_lost_replies_are_both_named_in_the_reason():
    lost = lost_replies({name: Counter(usable=90, refused=10) for name in ("man", "woman")}, 0.05, 0.1, 0.1)
    assert (lost.facts["most"], lost.facts["least"]) == ("man", "woman")
