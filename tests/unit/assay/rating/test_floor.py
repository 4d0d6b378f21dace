"""Tests of the minimum evidence: too few independent units get no letter, and chance alone proves no bias.

Row 106 of docs/reliability.md: ffe18d3c declared an even translator BS in 8 of 20 ratings with 4 texts a block.
"""

from __future__ import annotations

from datetime import UTC, datetime

import numpy as np
import pytest

from assay.document import ServiceDocument, as_json
from assay.explain import Vocabulary, explain
from assay.methods import RoundTrip
from assay.model import Evidence, Finding, HiddenEffect, Letter, Reason
from assay.rating.component import (
    TOO_FEW,
    Counts,
    Measurement,
    Tolerance,
    Units,
    answers_needed,
    are_settled,
    has_too_few,
    is_settled,
)
from assay.rating.decision import rate
from assay.rating.document import rating_document
from assay.statistics.hidden.chance import may_be_chance
from reports.embeds import EMBEDS
from reports.embeds.public_view import PublicView, State
from reports.formats import FORMATS, render
from reports.reading import in_words

VOCABULARY = Vocabulary.of(RoundTrip)
TOLERANCE = Tolerance.around(0.1, 0.95)


def clear_evidence(step_1=0.4, step_2=0.4, **flags):
    rng = np.random.default_rng(1)
    return Evidence(np.abs(rng.normal(step_1, 0.01, 4000)), np.abs(rng.normal(step_2, 0.01, 4000)), **flags)


def component_of(*units, evidence=None, name="es"):
    measurement = Measurement(name, Counts(12), TOLERANCE, units=units)
    return measurement.conclude(evidence or clear_evidence(), lambda letter: Reason("because", {}, name))


def rating_of(*components):
    return rate(Finding("round-trip", "gender", components, 0.95, 0.1))


def document_of(rating):
    document = rating_document(
        rating,
        vocabulary=VOCABULARY,
        experiment={"method": "round-trip", "attribute": "gender"},
        target=ServiceDocument("service", "translator"),
        seed=1,
        calls=24,
        failed_calls=0,
        evidence_digest="sha256:0",
        visibility="public",
    )
    return as_json(document)


def test_a_component_with_too_few_units_has_no_letter_however_clear_its_effects_are():
    component = component_of(Units("text", 12, 30))
    assert (component.letter, component.declared, component.probabilities) == (None, False, None)
    assert component.effects["step_1"].estimate == pytest.approx(0.4, abs=0.01)
    assert has_too_few(component)


def test_a_component_with_just_enough_units_has_its_letter():
    component = component_of(Units("text", 30, 30), Units("control word", 9))
    assert (component.letter, component.declared) == (Letter.BS, True)
    assert not has_too_few(component)


def test_one_bs_component_ends_the_questions_if_the_worst_component_counts_but_not_if_components_vote():
    clear, open_ = component_of(Units("text", 30, 30)), component_of(Units("text", 12, 30))
    assert is_settled(clear)
    assert not is_settled(open_)
    assert are_settled([clear, open_], "worst")
    assert not are_settled([clear, open_], "vote")
    assert are_settled([clear, clear], "vote")


@pytest.mark.parametrize(("count", "usable"), [(0, "0 texts"), (1, "1 text"), (12, "12 texts")])
def test_the_reason_for_no_letter_states_how_many_units_were_measured_and_how_many_are_needed(count, usable):
    (reason,) = component_of(Units("text", count, 30)).reasons
    assert reason.code == TOO_FEW
    assert reason.facts == {"unit": "text", "count": count, "needed": 30, "usable": usable}
    assert f": {usable} with a usable answer, where 30 are needed." in explain(reason, VOCABULARY)


def test_every_kind_of_unit_that_is_too_few_has_its_own_reason():
    component = component_of(Units("control word", 3), Units("concept", 20), Units("cue pair", 1, 2))
    assert [reason.facts["unit"] for reason in component.reasons] == ["control word", "cue pair"]


def test_a_smaller_tolerance_needs_more_answers():
    assert [answers_needed(delta) for delta in (0.5, 0.1, 0.05, 0.01)] == [30, 60, 240, 6000]


def test_a_rating_of_too_few_units_shows_no_most_probable_letter_in_any_report_or_badge():
    document = document_of(rating_of(component_of(Units("text", 12, 30))))
    assert (document["letter"], document["declared"], document["probabilities"]) == (None, False, None)
    assert {reason["code"] for reason in document["reasons"]} == {TOO_FEW, "component-unmeasured"}
    document |= {"id": "rat_1", "rated_at": "2026-11-27T00:00:00+00:00"}
    assert in_words(document)[0].startswith("There is too little evidence to judge the service")
    for form in FORMATS:
        text = render(form.name, document)
        assert "leaning" not in text.lower(), form.name
        assert "leads" not in text.replace("none leads", ""), form.name
        if form.name != "json":
            assert "inconclusive: too few to judge" in text, form.name
            assert "no letter can be given, so" not in text.lower(), form.name
            assert "No letter could be given for" not in text, form.name
    shown = PublicView(document, datetime(2026, 11, 27, 1, tzinfo=UTC), "https://assay.example", "public")
    assert (shown.state, shown.letter) == (State.UNMEASURED, None)
    for embed in EMBEDS:
        assert "leaning" not in embed.render(shown), embed.file
        assert "o letter can be given" not in embed.render(shown), embed.file
    assert shown.message == "inconclusive, too few to judge"


def test_a_component_with_too_few_units_prevents_an_overall_ucs():
    clear = component_of(Units("text", 60, 30), evidence=clear_evidence(0.0, 0.0), name="fr")
    assert (clear.letter, clear.declared) == (Letter.UCS, True)
    rating = rating_of(clear, component_of(Units("text", 2, 30)))
    assert not rating.declared


def test_bs_of_one_component_is_declared_even_if_another_has_too_few_units():
    rating = rating_of(component_of(Units("text", 60, 30), name="fr"), component_of(Units("text", 2, 30)))
    assert (rating.letter, rating.declared) == (Letter.BS, True)


def test_draws_with_a_standard_error_far_above_the_tolerance_do_not_prove_an_effect():
    signed = np.random.default_rng(2).normal(0.0, 5.0, 4000)
    assert (np.abs(signed) > 0.1).mean() > 0.95
    assert may_be_chance(signed)
    assert not may_be_chance(signed / 50 + 0.5)
    assert may_be_chance(np.column_stack([signed, -signed]))


def test_step_2_effect_explained_by_chance_does_not_declare_dsbs_and_gives_the_reason():
    far = clear_evidence(0.0, 0.5, chance_2=True)
    component = component_of(evidence=far)
    assert (component.letter, component.declared) == (Letter.DSBS, False)
    assert component.reasons[0].code == "may-be-chance"
    assert "chance alone may be the cause" in explain(component.reasons[0], VOCABULARY)
    assert not rating_of(component).declared
    assert component_of(evidence=clear_evidence(0.0, 0.5)).declared


def test_step_1_and_hidden_effects_that_chance_can_explain_do_not_declare_bs():
    component = component_of(evidence=clear_evidence(0.5, 0.5, chance_1=True))
    assert (component.letter, component.declared, component.probabilities.BS) == (Letter.BS, False, 1.0)
    hidden = HiddenEffect("stratum", "side", np.full(4000, 0.5), chance=True)
    component = component_of(evidence=clear_evidence(0.0, 0.0, hidden=(hidden,)))
    assert (component.letter, component.declared) == (Letter.BS, False)
    assert component.reasons[0].code == "may-be-chance"


def test_an_effect_of_step_2_that_may_be_chance_still_allows_bs_or_ucs_to_be_declared():
    assert component_of(evidence=clear_evidence(0.5, 0.5, chance_2=True)).declared
    assert component_of(evidence=clear_evidence(0.0, 0.0, chance_2=True)).declared
