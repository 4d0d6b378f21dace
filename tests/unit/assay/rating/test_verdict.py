"""Tests of the decision: from posterior draws to a letter, and from components to a rating."""

from dataclasses import replace
from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.errors import TooFewObservations
from assay.model import Component, Evidence, Finding, Letter, Probabilities, Reason
from assay.rating.decision import (
    deciding_components,
    letter_probabilities,
    rate,
    vote_letter,
    vote_probabilities,
    worst_letter,
    worst_probabilities,
)

BS, DSBS, UCS = Letter.BS, Letter.DSBS, Letter.UCS


def probabilities(letter: Letter, p: float = 0.999) -> Probabilities:
    rest = (1 - p) / 2
    return Probabilities(**{each.value: p if each is letter else rest for each in Letter})


def component(name: str, letter: Letter | None, p: float = 0.999, **more) -> Component:
    given = probabilities(letter, p) if letter else None
    return Component(name, letter, letter is not None and p >= 0.95, given, {}, 60, 0, 0, **more)


def finding(*components: Component, aggregation: str = "worst") -> Finding:
    return Finding("round-trip", "gender", components, 0.95, 0.1, aggregation)


def test_letter_probabilities_are_shares_of_the_draws():
    evidence = Evidence(np.array([0.2, 0.05, 0.05, 0.1]), np.array([0.4, 0.4, 0.05, 0.11]))
    assert letter_probabilities(evidence, 0.1) == Probabilities(BS=0.25, DSBS=0.5, UCS=0.25)


def test_a_content_effect_beyond_its_tolerance_is_bs():
    evidence = Evidence(np.zeros(4), np.full(4, 0.4), np.array([0.5, 0.1, 0.2, 0.0]))
    assert letter_probabilities(evidence, 0.1, 0.15).BS == 0.5
    assert letter_probabilities(evidence, 0.1).BS == 0.0


probability = st.tuples(*[st.floats(0.01, 1)] * 3).map(
    lambda weights: Probabilities(*(weight / sum(weights) for weight in weights))
)


@pytest.mark.slow
@given(st.lists(probability, min_size=1, max_size=4))
def test_combined_letter_probabilities_of_components_agree_with_full_enumeration(components: list[Probabilities]):
    for combine, join in ((worst_probabilities, worst_letter), (vote_probabilities, vote_letter)):
        enumerated = dict.fromkeys(Letter, 0.0)
        for outcome in product(Letter, repeat=len(components)):
            weight = np.prod([one.of(letter) for one, letter in zip(components, outcome, strict=True)])
            enumerated[join(outcome)] += float(weight)
        combined = combine(components)
        assert {letter: combined.of(letter) for letter in Letter} == pytest.approx(enumerated, abs=1e-9)
        mirrored = combine(components[::-1])
        assert [mirrored.of(letter) for letter in Letter] == pytest.approx([combined.of(letter) for letter in Letter])


def test_a_rating_of_zero_components_is_refused():
    for join in (worst_letter, vote_letter, worst_probabilities, vote_probabilities):
        with pytest.raises(TooFewObservations):
            join([])


@pytest.mark.parametrize("code", ["letter-depends-on-what-was-lost", "letter-depends-on-scale"])
def test_a_letter_that_a_component_withholds_is_not_declared_by_the_rating(code):
    def withheld(letter: Letter) -> Component:
        return replace(component("es", letter), declared=False, reasons=(Reason(code, {}, "es"),))

    for letter in Letter:
        for aggregation in ("worst", "vote"):
            alone = rate(finding(withheld(letter), aggregation=aggregation))
            assert (alone.letter, alone.declared) == (letter, False)
            assert code in {reason.code for reason in alone.reasons}
    assert not rate(finding(withheld(UCS), component("fr", UCS))).declared
    assert not rate(finding(withheld(BS), component("fr", UCS))).declared
    assert rate(finding(withheld(UCS), component("fr", BS))).declared


def test_a_tie_goes_to_the_worse_letter():
    assert vote_letter([UCS, BS]) is BS
    assert Probabilities(0.4, 0.4, 0.2).likeliest is BS


def test_with_an_unmeasured_component_bs_is_the_only_letter_that_can_be_declared():
    worst = rate(finding(component("es", BS), component("fr", None)))
    assert (worst.letter, worst.declared) == (BS, True)
    for letter in (UCS, DSBS):
        rating = rate(finding(component("es", letter), component("fr", None)))
        assert (rating.letter, rating.declared) == (letter, False)
        assert "component-unmeasured" in [reason.code for reason in rating.reasons]


def test_a_rating_without_a_measured_component_has_no_letter():
    rating = rate(finding(component("es", None)))
    assert (rating.letter, rating.declared, rating.probabilities) == (None, False, None)


def test_all_components_can_be_declared_although_the_rating_is_not():
    rating = rate(finding(*(component(str(i), DSBS, 0.96) for i in range(4))))
    assert (rating.letter, rating.declared) == (DSBS, False)
    assert "joint-confidence-low" in [reason.code for reason in rating.reasons]


@pytest.mark.parametrize("letter", [BS, DSBS])
@pytest.mark.parametrize(("aggregation", "p"), [("worst", 0.6), ("vote", 0.9)])
def test_many_uncertain_components_give_an_undeclared_rating(letter, aggregation, p):
    rating = rate(finding(*(component(str(i), letter, p) for i in range(12)), aggregation=aggregation))
    assert rating.probabilities.of(letter) >= (0.95 if letter is BS or aggregation == "vote" else 0.0)
    assert not rating.declared
    if rating.letter is letter and rating.probabilities.of(letter) >= 0.95:
        assert "no-component-declared" in [reason.code for reason in rating.reasons]


@pytest.mark.parametrize(("p", "declared"), [(0.96, False), (0.98, False), (0.992, True)])
def test_one_of_five_components_needs_more_confidence_than_a_single_one(p, declared):
    parts = [component(str(i), BS, 0.5) for i in range(4)]
    assert rate(finding(component("es", BS, p), *parts)).declared == declared


def test_one_declared_component_of_many_declares_the_worst_letter():
    parts = [component(str(i), BS, 0.6) for i in range(12)]
    assert rate(finding(component("es", BS), *parts)).declared


def test_a_published_rule_that_disagrees_is_named():
    rating = rate(finding(component("es", BS, published={"kl": "UCS", "chi-squared": "BS"})))
    differing = [reason.facts["rule"] for reason in rating.reasons if reason.code == "published-rule-differs"]
    assert differing == ["kl"]
    assert rating.published == {"kl": "UCS", "chi-squared": "BS"}


def test_a_rating_names_the_components_that_decide_by_the_rules_worst_and_vote():
    parts = (component("es", BS), component("fr", DSBS), component("it", DSBS))
    worst, vote = rate(finding(*parts)), rate(finding(*parts, aggregation="vote"))
    assert (deciding_components(worst), deciding_components(vote)) == (("es",), ("fr", "it"))
    assert "worst-component" in [reason.code for reason in worst.reasons]
    assert "commonest-letter" in [reason.code for reason in vote.reasons]
