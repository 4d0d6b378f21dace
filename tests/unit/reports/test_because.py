"""The sentence that says why a rating has its letter names the effect that decided it."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from assay.canonical import rating_digest
from assay.document import EffectDocument, HiddenDocument
from assay.model import Letter
from assay.rating.document import deciding_effect
from reports.because import because
from reports.figures import two_steps
from reports.reading import RatingView
from tests.support.reports import document_of, read
from tests.support.simulated.services import SERVICES

SEED = 11


def view_of(service: str, step_1: float, step_2: float) -> RatingView:
    return read(document_of(SERVICES[service](step_1, step_2, SEED).rate(SEED)))


def reason_of(view: RatingView) -> Any:
    reason = because(view.document, view.report)
    assert reason is not None
    return reason


@pytest.mark.parametrize("service", ["round-trip, translator", "one-hop, translator", "alternation, scores of records"])
@pytest.mark.parametrize(("step_1", "step_2", "letter"), [(0.0, 0.0, "UCS"), (0.0, 0.3, "DSBS"), (0.3, 0.3, "BS")])
def test_the_sentence_begins_with_the_declared_letter_and_names_an_effect_on_its_side_of_the_limit(
    service, step_1, step_2, letter
):
    view = view_of(service, step_1, step_2)
    assert (view.verdict.letter, view.verdict.declared) == (letter, True)
    reason = reason_of(view)
    assert reason.text.startswith(f"{letter} because ")
    assert (abs(reason.estimate) > reason.limit) is (letter != "UCS")
    assert reason.effect in reason.text


def test_a_hidden_effect_that_decides_is_named_and_drawn_in_the_first_step():
    view = view_of("round-trip, translator", 0.3, 0.3)
    (part,) = view.document.components
    hidden = HiddenDocument("stratum", "occupations mostly of men", EffectDocument(0.484, 0.46, 0.51, 0.95), 0.1)
    step_1 = EffectDocument(0.041, 0.0, 0.12, 0.95)
    part = replace(part, hidden=(hidden,), effects={**part.effects, "step_1": step_1, "content": None})
    view = replace(view, document=replace(view.document, components=(part,)))
    assert reason_of(view).effect == "within “occupations mostly of men” alone"
    figure = two_steps(view.verdict, view.components[0], "k", "wide")
    assert figure is not None
    assert "occupations mostly of men" in figure.svg
    assert "undecided" not in figure.svg
    assert "0.484" in figure.svg


def test_a_bound_is_no_evidence_for_a_letter():
    view = view_of("round-trip, translator", 0.3, 0.3)
    (part,) = view.document.components
    bound = HiddenDocument("stratum", "a rare place", EffectDocument(0.9, 0.8, 0.99, 0.95), 0.1, bound=True)
    decided = deciding_effect(replace(part, hidden=(bound,)), Letter.BS)
    assert decided is not None
    assert decided.name == "step_1"


def test_the_case_of_a_biased_round_trip_is_a_text_that_came_back_changed():
    reason = reason_of(view_of("round-trip, translator", 0.3, 0.3))
    sent, returned = reason.case
    assert sent != returned
    assert sent in reason.text


def test_ratings_without_a_round_trip_have_no_case():
    assert reason_of(view_of("alternation, scores of records", 0.3, 0.3)).case is None


def test_a_random_translator_is_not_praised_by_its_letter():
    assert "no praise" in reason_of(view_of("round-trip, translator", 0.0, 0.0)).text


def test_an_undeclared_rating_says_which_effect_keeps_it_open():
    view = view_of("alternation, scores of records", 0.03, 0.12)
    assert not view.verdict.declared
    assert reason_of(view).text.startswith(
        "No letter is declared: what keeps it open is the effect on content typical of a group"
    )


def test_a_rating_without_a_measurement_has_no_sentence():
    view = view_of("one-hop, translator", 0.0, 0.0)
    (part,) = view.document.components
    unmeasured = replace(view.document, letter=None, components=(replace(part, letter=None),))
    assert because(unmeasured, view.report) is None


def test_a_digest_of_a_shown_rating_leaves_out_why_it_has_its_letter():
    document = {"letter": "BS", "id": "rat_1"}
    assert rating_digest(document | {"because": {"text": "BS because …"}}) == rating_digest(document)
