"""Tests of components: letters follow from the posterior draws, and unmeasured components have a reason."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from assay.document import Absent, ComponentDocument, as_json
from assay.errors import TooFewObservations, ZeroVariance
from assay.explain import Vocabulary, explain
from assay.methods import METHODS
from assay.model import Evidence, HiddenEffect, Interval, Letter, Reason
from assay.rating.component import Counts, Measurement, Tolerance, probes_to_settle, result_or_why, shrinking

TOLERANCE = Tolerance(delta=0.1, confidence=0.95, others={"0.05": 0.05, "0.2": 0.2})
COUNTS = Counts(usable=180, unusable=15, failed=5)


def about(step_1, step_2, spread=0.01, seed=1):
    rng = np.random.default_rng(seed)
    return Evidence(np.abs(rng.normal(step_1, spread, 4000)), np.abs(rng.normal(step_2, spread, 4000)))


def concluded(evidence, counts=COUNTS, **made):
    measurement = Measurement("words", counts, TOLERANCE, **made)
    return measurement.conclude(evidence, lambda letter: Reason("because", {"letter": letter.value}, "words"))


def settling(evidence, tolerance, asked):
    return probes_to_settle(shrinking(evidence), tolerance, asked)


@pytest.mark.parametrize(
    ("step_1", "step_2", "letter"),
    [(0.3, 0.3, Letter.BS), (0.3, 0.0, Letter.BS), (0.02, 0.3, Letter.DSBS), (0.02, 0.03, Letter.UCS)],
)
def test_clear_effects_have_a_declared_letter_with_its_reason(step_1, step_2, letter):
    component = concluded(about(step_1, step_2))
    assert (component.letter, component.declared) == (letter, True)
    assert [one.code for one in component.reasons] == ["because"]
    assert component.reasons[0].facts == {"letter": letter.value}
    assert "settle" not in as_json(component.detail)


def test_a_component_states_its_effects_with_intervals_and_the_counts_of_its_answers():
    component = concluded(about(0.02, 0.3))
    assert component.effects["step_2"].estimate == pytest.approx(0.3, abs=0.001)
    assert component.effects["step_2"].low == pytest.approx(0.28, abs=0.005)
    assert (component.usable, component.unusable, component.failed) == (180, 15, 5)


def test_a_signed_effect_keeps_its_sign():
    rng = np.random.default_rng(2)
    component = concluded(Evidence(np.abs(rng.normal(0, 0.01, 4000)), rng.normal(-0.05, 0.02, 4000)))
    assert component.effects["step_2"].high < 0
    assert component.effects["step_1"].low == 0.0


def test_a_component_reports_letter_probabilities_also_for_half_and_double_the_tolerance():
    component = concluded(about(0.02, 0.15))
    assert as_json(component.detail)["tolerances"] == {"step_1": 0.1, "step_2": 0.1}
    assert as_json(component.detail)["sensitivity"]["0.05"]["DSBS"] > 0.99
    assert as_json(component.detail)["sensitivity"]["0.2"]["UCS"] > 0.99


def test_a_component_contains_the_fields_of_its_method_and_the_letters_of_published_rules():
    component = concluded(about(0.02, 0.3), detail=ComponentDocument(unasked=1), published={"rule": "BS"})
    assert as_json(component.detail)["unasked"] == 1
    assert component.published == {"rule": "BS"}


def test_an_undeclared_letter_states_how_many_probes_would_settle_it():
    component = concluded(about(0.02, 0.115, spread=0.015))
    assert (component.letter, component.declared) == (Letter.DSBS, False)
    assert [one.code for one in component.reasons] == ["not-enough-evidence", "because"]
    facts = component.reasons[0].facts
    assert facts["leaning"] == "DSBS"
    assert facts["more_probes"] == as_json(component.detail)["settle"]["more_probes"] == 200 * 3
    assert facts["probability"] == pytest.approx(component.probabilities.DSBS)


def test_a_leading_bs_that_no_single_effect_shows_states_the_probability_that_any_effect_exceeds_its_limit():
    rng = np.random.default_rng(3)
    hidden = tuple(HiddenEffect("stratum", f"name {n}", np.abs(rng.normal(0.06, 0.02, 4000))) for n in range(40))
    component = concluded(replace(about(0.02, 0.02), hidden=hidden))
    assert (component.letter, component.declared) == (Letter.BS, False)
    assert component.probabilities.unlocated > component.probabilities.BS
    facts = component.reasons[0].facts
    assert facts["unlocated"] == pytest.approx(component.probabilities.unlocated)
    sentence = explain(component.reasons[0], Vocabulary.of(METHODS[0]))
    assert "whichever it is" in sentence
    assert f"{facts['unlocated']:.0%}".replace("%", " %") in sentence


def test_a_method_can_supply_its_own_draws_for_estimating_how_many_probes_settle_a_letter():
    seen = []

    def with_more(times):
        seen.append(times)
        return about(0.02, 0.3) if times >= 8 else about(0.02, 0.1)

    counts = Counts(usable=90, failed=10, probes_each=2)
    measurement = Measurement("words", counts, TOLERANCE)
    component = measurement.conclude(about(0.02, 0.1), lambda letter: Reason("because"), evidence_at=with_more)
    assert seen == [2, 4, 8]
    assert as_json(component.detail)["settle"] == {"more_probes": 200 * 7}


def test_the_estimate_of_probes_that_settle_a_letter_uses_the_confidence_for_stopping_early():
    evidence = about(0.02, 0.12, spread=0.02)
    sure = Tolerance(0.1, 0.8, stop_confidence=0.999)
    component = Measurement("words", COUNTS, sure).conclude(evidence, lambda letter: Reason("because"))
    assert component.declared
    assert not sure.stops(component.probabilities)
    assert settling(evidence, sure, 100) > settling(evidence, Tolerance(0.1, 0.8), 100)


def test_a_content_effect_beyond_its_own_tolerance_gives_bs():
    steps, content = about(0.02, 0.3), about(0.2, 0.2).step_1
    evidence = Evidence(steps.step_1, steps.step_2, content)

    def letter(**further):
        tolerance = Tolerance(0.1, 0.95, {"0.10": 0.1}, further)
        component = Measurement("es", COUNTS, tolerance).conclude(evidence, lambda letter: Reason("because"))
        assert as_json(component.detail)["tolerances"] == {"step_1": 0.1, "step_2": 0.1, **further}
        assert as_json(component.detail)["sensitivity"]["0.10"][component.letter] == 1
        return component.letter

    assert letter(content=0.15) is Letter.BS
    assert letter(content=0.25) is Letter.DSBS
    assert letter(content=None) is Letter.DSBS


def test_reasons_that_are_added_for_every_method_have_the_facts_of_the_component():
    measurement = Measurement("es", Counts(10, unasked=3), TOLERANCE, facts={"language": "Spanish"})
    reasons = (Reason("main"), Reason("beside"))
    component = measurement.conclude(about(0.02, 0.1), lambda letter: reasons)
    assert [one.code for one in component.reasons] == ["not-enough-evidence", "main", "beside", "budget-exhausted"]
    assert [one.facts.get("language") for one in component.reasons] == ["Spanish", None, None, "Spanish"]


def test_a_used_up_budget_is_given_as_a_reason_only_once():
    measurement = Measurement("es", Counts(0, unasked=3), TOLERANCE)
    component = measurement.give_up(*measurement.cut_short(), Reason("no-usable-observations"))
    assert [one.code for one in component.reasons] == ["budget-exhausted", "no-usable-observations"]


def test_results_are_reported_for_the_tolerance_its_half_and_its_double():
    assert Tolerance.around(0.1, 0.95).others == {"0.05": 0.05, "0.1": 0.1, "0.2": 0.2}
    assert Tolerance.around(0.3, 0.95, largest=0.5).others == {"0.15": 0.15, "0.3": 0.3, "0.5": 0.5}


def test_the_estimated_number_of_probes_that_settle_a_letter_is_a_multiple_of_the_probes_asked():
    evidence = about(0.02, 0.115, spread=0.015)
    assert settling(evidence, TOLERANCE, 1000) == 3000
    assert settling(about(0.02, 0.3), TOLERANCE, 1000) == 1000


def test_no_number_of_probes_is_estimated_to_settle_a_letter_for_an_effect_at_the_tolerance():
    assert settling(about(0.02, 0.1, spread=0.02), TOLERANCE, 1000) is None


def test_a_higher_confidence_needs_more_probes():
    evidence = about(0.02, 0.12, spread=0.02)
    loose, tight = (settling(evidence, Tolerance(0.1, sure), 100) for sure in (0.9, 0.999))
    assert loose < tight


def test_an_unmeasured_component_has_reasons_but_no_letter():
    measurement = Measurement("words", COUNTS, TOLERANCE, ComponentDocument(unasked=3), {"rule": "BS"})
    component = measurement.give_up(Reason("coverage-low", {}, "words"))
    assert (component.letter, component.declared, component.probabilities) == (None, False, None)
    assert component.effects == {"step_1": None, "step_2": None}
    assert component.published == {"rule": None}
    assert component.detail == ComponentDocument(unasked=3)


def test_an_unmeasured_component_can_still_show_effects():
    seen = {"step_1": Interval(0.2, 0.1, 0.3), "step_2": Interval(0.3, 0.2, 0.4)}
    component = Measurement("words", COUNTS, TOLERANCE).give_up(Reason("no", {}, "words"), measured_effects=seen)
    assert component.letter is None
    assert component.effects == seen
    assert as_json(component.detail)["tolerances"] == {"step_1": TOLERANCE.delta, "step_2": TOLERANCE.delta}


def test_too_few_observations_for_a_computation_become_a_reason_with_the_error_message():
    component = Measurement("words", COUNTS, TOLERANCE).impossible(TooFewObservations("2 concepts are too few"))
    assert component.reasons[0].code == "evidence-insufficient"
    assert component.reasons[0].facts == {"why": "2 concepts are too few", "error": "too-few-observations"}


@pytest.mark.parametrize("how", ["conclude", "give up"])
def test_a_used_up_budget_is_the_last_of_the_reasons_of_a_component(how):
    counts = Counts(usable=10, unasked=7)
    if how == "conclude":
        component = concluded(about(0.02, 0.3), counts)
    else:
        component = Measurement("words", counts, TOLERANCE).give_up(Reason("no", {}, "words"))
    assert component.reasons[-1] == Reason("budget-exhausted", {"unasked": 7}, "words")


def test_a_failed_additional_analysis_does_not_fail_the_rating():
    def impossible():
        raise ZeroVariance("all the same")

    assert result_or_why(Absent, lambda: Absent(why="no")) == Absent(why="no")
    assert result_or_why(Absent, impossible) == Absent(why="all the same", error="zero-variance")


def test_a_programming_error_in_an_additional_analysis_is_raised_and_not_turned_into_a_reason():
    with pytest.raises(ZeroDivisionError):
        result_or_why(Absent, lambda: Absent(why=str(1 / 0)))
