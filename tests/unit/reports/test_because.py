"""The sentence that says why a rating has its letter names the effect that decided it."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any

import pytest

from assay.canonical import rating_digest
from assay.document import ContentDocument, EffectDocument, HiddenDocument, ReasonDocument, as_json
from assay.model import Letter
from assay.rating.document import DecidingEffect, deciding_effect
from reports import outline
from reports.because import because, phrase
from reports.figures import two_steps
from reports.formats import html
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
def test_the_effect_named_as_the_reason_exceeds_its_limit_unless_the_letter_is_ucs(service, step_1, step_2, letter):
    view = view_of(service, step_1, step_2)
    assert (view.verdict.letter, view.verdict.declared) == (letter, True)
    reason = reason_of(view)
    assert reason.text.startswith(f"{letter} because ")
    assert (abs(reason.estimate) > reason.limit) is (letter != "UCS")
    assert reason.effect in reason.text


def test_a_hidden_effect_that_decided_step_1_is_named_in_the_reason_and_drawn_in_the_figure():
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


def test_an_effect_known_only_as_an_upper_bound_is_never_the_deciding_effect():
    view = view_of("round-trip, translator", 0.3, 0.3)
    (part,) = view.document.components
    bound = HiddenDocument("stratum", "a rare place", EffectDocument(0.9, 0.8, 0.99, 0.95), 0.1, bound=True)
    decided = deciding_effect(replace(part, hidden=(bound,)), Letter.BS)
    assert decided is not None
    assert decided.name == "step_1"


def test_the_reason_of_a_biased_round_trip_quotes_a_text_that_came_back_changed():
    reason = reason_of(view_of("round-trip, translator", 0.3, 0.3))
    sent, returned = reason.case
    assert sent != returned
    assert sent in reason.text


def test_the_reason_quotes_a_text_for_round_trips_only():
    assert reason_of(view_of("alternation, scores of records", 0.3, 0.3)).case is None


def test_the_reason_of_ucs_for_a_translator_says_that_the_letter_is_no_praise():
    assert "no praise" in reason_of(view_of("round-trip, translator", 0.0, 0.0)).text


def test_the_reason_of_an_undeclared_rating_names_the_effect_that_is_still_uncertain():
    view = view_of("alternation, scores of records", 0.03, 0.12)
    assert not view.verdict.declared
    assert reason_of(view).text.startswith(
        "No letter is declared: what keeps it open is the effect on content typical of a group"
    )


def test_an_unmeasured_rating_has_no_sentence_about_a_deciding_effect():
    view = view_of("one-hop, translator", 0.0, 0.0)
    (part,) = view.document.components
    unmeasured = replace(view.document, letter=None, components=(replace(part, letter=None),))
    assert because(unmeasured, view.report) is None


def test_the_digest_of_a_rating_ignores_the_explanation_that_is_added_when_it_is_shown():
    document = {"letter": "BS", "id": "rat_1"}
    assert rating_digest(document | {"because": {"text": "BS because …"}}) == rating_digest(document)


def with_part(view: RatingView, **changed: Any) -> RatingView:
    """Change the only component of a rating."""
    (part,) = view.document.components
    return replace(view, document=replace(view.document, components=(replace(part, **changed),)))


def test_if_the_average_effect_of_a_step_decides_the_letter_no_larger_hidden_effect_is_named_instead():
    view = view_of("alternation, scores of records", 0.5, 0.5)
    (part,) = view.document.components
    larger = HiddenDocument("stratum", "hours: 40", EffectDocument(2.0, 1.99, 2.01, 0.95), 0.1)
    decided = deciding_effect(replace(part, hidden=(larger,)), Letter.BS)
    assert decided is not None
    assert decided.name == "step_1"


@pytest.mark.parametrize(
    ("name", "phrase"),
    [
        ("side: caring", "where the content is “caring”"),
        ("frame: {Person} feels {content}.", "in the sentence “{Person} feels {content}.”"),
        ("opponent: an equal document", "against “an equal document”"),
        ("weekly_hours: 40", "where “weekly hours” is “40”"),
        ("occupations mostly of men", "within “occupations mostly of men” alone"),
    ],
)
def test_a_part_of_the_input_that_decided_the_letter_is_named_in_plain_words(name, phrase):
    hidden = HiddenDocument("stratum", name, EffectDocument(0.9, 0.8, 0.99, 0.95), 0.1)
    step_1 = EffectDocument(0.0, 0.0, 0.01, 0.95)
    view = view_of("alternation, scores of records", 0.5, 0.5)
    (part,) = view.document.components
    reason = reason_of(with_part(view, hidden=(hidden,), effects={**part.effects, "step_1": step_1}))
    assert reason.effect == phrase
    # the counts of all input look even, so the sentence says that they are not what decided
    assert "The average over all input hides this: with “" in reason.text


def test_bias_that_depends_on_the_occupation_is_explained_by_counts_of_sentence_pairs():
    view = view_of("round-trip, translator", 0.3, 0.3)
    (part,) = view.document.components
    content, step_1 = EffectDocument(0.5, 0.46, 0.53, 0.95), EffectDocument(0.04, 0.0, 0.09, 0.95)
    changed = {**part.effects, "step_1": step_1, "content": content}
    tolerances = {**part.tolerances, "content": 0.15}
    view = with_part(view, hidden=(), effects=changed, tolerances=tolerances, content=ContentDocument(60, 58))
    text = reason_of(view).text
    assert "Of 60 pairs of sentences about one occupation" in text
    assert "58 came back with the same value" in text
    assert "sentences with “" not in text


def test_the_figure_of_the_two_steps_shows_a_long_effect_name_in_full():
    view = view_of("round-trip, translator", 0.3, 0.3)
    (part,) = view.document.components
    name = "words of all the stereotypes of both groups"
    hidden = HiddenDocument("stratum", name, EffectDocument(0.9, 0.8, 0.99, 0.95), 0.1)
    step_1 = EffectDocument(0.0, 0.0, 0.01, 0.95)
    view = with_part(view, hidden=(hidden,), effects={**part.effects, "step_1": step_1, "content": None})
    for width in ("narrow", "wide"):
        figure = two_steps(view.verdict, view.components[0], "k", width)
        assert figure is not None
        assert "…" not in figure.svg
        lines = re.findall(r"<text[^>]*>([^<]*)</text>", figure.svg)
        assert f"within “{name}” alone" in " ".join(lines)


def test_the_letter_by_a_papers_published_rule_is_not_listed_among_the_reasons_of_our_letter():
    view = view_of("round-trip, translator", 0.3, 0.3)
    rule = ReasonDocument(outline.RULE_DIFFERS, "The published rule “kl” would have given UCS.")
    view = replace(view, document=replace(view.document, reasons=(*view.document.reasons, rule)))
    assert outline.RULE_DIFFERS not in {reason.code for reason in outline.reasons(view)}
    assert outline.other_rules(view)[-1].code == outline.RULE_DIFFERS


def test_page_report_and_explanation_describe_the_component_that_decided_the_letter():
    """Earlier, the figure showed the component with the larger mean, although another component decided the letter."""
    view = view_of("round-trip, translator", 0.3, 0.3)
    (part,) = view.document.components
    hidden = HiddenDocument("stratum", "occupations mostly of men", EffectDocument(0.484, 0.46, 0.51, 0.95), 0.1)
    small, larger = EffectDocument(0.041, 0.0, 0.12, 0.95), EffectDocument(0.09, 0.02, 0.16, 0.95)
    even = {**part.effects, "content": None}
    decided = replace(part, name="fr", hidden=(hidden,), effects={**even, "step_1": small})
    other = replace(part, name="es", hidden=(), effects={**even, "step_1": larger})
    document = {**as_json(view.document), "components": [as_json(other), as_json(decided)]}
    view = read(document)
    assert reason_of(view).component == "fr"
    assert view.decider is not None
    assert view.decider.name == "fr"
    assert any("which decided the letter" in sentence for sentence in view.in_words)
    assert "within “occupations mostly of men” alone" in " ".join(
        re.findall(r"<text[^>]*>([^<]*)</text>", html.render(document))
    )


def test_the_reason_states_the_deciding_group_difference_before_the_effect_of_the_attribute_alone():
    """Earlier, the sentence stated 48 points of difference, and then only that nothing changed with the attribute."""
    view = view_of("alternation, scores of records", 0.0, 0.5)
    reason = reason_of(view)
    assert reason.effect == "on content typical of a group"
    number = re.search(r"content typical of a group: (\S+)", reason.text)
    assert number is not None
    assert f"the groups' averages differ by an estimated {number[1]}" in reason.text
    assert reason.text.index("the groups' averages differ") < reason.text.index("and nothing else changed")


@pytest.mark.parametrize(
    ("kind", "name", "words"),
    [
        ("individual", "typical frame", "in a typical sentence pattern"),
        ("content", "typical frame", "by content, in a typical sentence pattern"),
        ("content", "words about kitchens", "by content, in “words about kitchens”"),
        ("individual", "changed labels", "on a typical single case (changed labels)"),
    ],
)
def test_the_internal_name_of_a_hidden_effect_is_shown_in_plain_words(kind, name, words):
    view = view_of("round-trip, translator", 0.0, 0.3)
    effect = EffectDocument(0.9, 0.8, 0.99, 0.95)
    hidden = HiddenDocument(kind, name, effect, 0.1)
    assert phrase(DecidingEffect(name, 1, effect, 0.1, 1.0, hidden), view.report) == words


def test_the_effect_of_a_translator_is_explained_as_a_number_of_texts_unless_it_is_near_zero():
    explained = "how many of 100 texts would have to come back with another word for an even mix"
    assert explained in reason_of(view_of("round-trip, translator", 0.3, 0.3)).text
    assert explained not in reason_of(view_of("round-trip, translator", 0.0, 0.0)).text


def test_a_letter_without_a_measured_effect_is_explained_by_its_reasons():
    view = view_of("round-trip, translator", 0.3, 0.3)
    unmeasured = with_part(view, effects={}, hidden=())
    refused = ReasonDocument("refused-for-one-group", "Questions about “she” are refused.")
    unmeasured = replace(unmeasured, document=replace(unmeasured.document, reasons=(refused,)))
    assert outline.why(view) == reason_of(view).text
    assert outline.why(unmeasured) == refused.text
    assert refused.text in html.render({**as_json(unmeasured.document)}).split("</header>")[0]
