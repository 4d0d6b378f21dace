"""Tests of the sentences that explain reasons and letters."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from assay.errors import UnknownName
from assay.explain import LETTERS, Vocabulary, chance, headline, letter_words, level, listed, share
from assay.explain import explain as explain_with
from assay.explain.sentence import signed
from assay.explain.words import MESSAGES
from assay.methods import METHODS
from assay.model import Letter, Reason

PAGE = Path(__file__).resolve().parents[4] / "docs" / "how-to-read-a-rating.md"

FACTS: dict[str, Any] = {
    "language": "Spanish",
    "step_1": 0.31,
    "step_2": 0.4,
    "kept": 118,
    "sent": 120,
    "shifted": 37,
    "erased": 12,
    "collapsed": 119,
    "favoured": 31,
    "cases": 40,
    "from": "she",
    "to": "he",
    "occupations": "she",
    "filled": 118,
    "share": 0.62,
    "value": "he",
    "content": 0.42,
    "leaning": "DSBS",
    "probability": 0.9496,
    "confidence": 0.95,
    "more_probes": 1240,
    "unusable": 31,
    "total": 60,
    "why": {"sentence-count": 30, "untranslated": 1},
    "failed": 40,
    "max_calls": 10_000,
    "unasked": 3,
    "components": ["es", "tr"],
    "letter": "BS",
    "count": 8,
    "rule": "kl",
    "published": "DSBS",
    "protocol": "google-web",
    "shift": -249.14,
    "effect": -1.0976,
    "kind": "person",
    "carrier": "Tia",
    "without": 0.0,
    "whole": 12,
    "group": "neutral",
    "found": 61,
    "words": 226,
    "least": 0.6,
    "missing": [f"word{place}" for place in range(165)],
    "side": "women",
    "mean": 0.654,
    "most_first": "dietitian",
    "first": "women",
    "most_second": "mason",
    "second": "men",
    "low": -0.011,
    "high": 0.052,
}


EVERY: dict[str, Vocabulary] = {code: Vocabulary.of(method) for method in METHODS for code in method.REASONS}
EVERY |= dict.fromkeys(MESSAGES, Vocabulary.of(METHODS[0]))
"""Every reason code with the vocabulary of a method that uses it."""


def explain(reason: Reason) -> str:
    return explain_with(reason, EVERY[reason.code])


def _reads_well(sentence: str) -> bool:
    clean = not any(sign in sentence for sign in "[]{}") and "None" not in sentence and "nan" not in sentence
    spaced = "  " not in sentence and " ." not in sentence and " ," not in sentence and ".." not in sentence
    return clean and spaced and sentence[0].isupper() and sentence.endswith(".")


@pytest.mark.parametrize("code", EVERY)
def test_the_sentence_that_explains_a_reason_code_is_well_formed_whichever_fact_is_missing(code):
    assert _reads_well(explain(Reason(code, FACTS, "es")))
    assert _reads_well(explain(Reason(code)))
    for fact in FACTS:
        for nothing in (None, float("nan"), "", [], {}):
            assert _reads_well(explain(Reason(code, {**FACTS, fact: nothing}, "es"))), (code, fact, nothing)
        assert _reads_well(explain(Reason(code, {key: FACTS[key] for key in FACTS if key != fact})))
        assert _reads_well(explain(Reason(code, {fact: FACTS[fact]})))


@pytest.mark.parametrize(
    ("code", "sentence"),
    [
        (
            "introduces-bias",
            (
                "Through Spanish, the service introduces bias: 37 of 120 sentences with “she” came back as “he”. "
                "Estimated effect on balanced input: 0.31."
            ),
        ),
        (
            "not-enough-evidence",
            (
                "Through Spanish, the evidence is not enough to declare a letter: DSBS leads with 94 %, "
                "and 95 % is required. What follows speaks for DSBS and is not certain."
            ),
        ),
        (
            "target-output-unusable",
            (
                "Through Spanish, too much of the output could not be read: 31 of 60 texts (62 %); "
                "most often, the number of sentences changed."
            ),
        ),
        (
            "responds-to-attribute",
            (
                "Through Spanish, the output changes when nothing but the attribute changes: from “she” to “he” "
                "by -249 on average (-1.10 standard deviations). Most of it goes with one person, “Tia”."
            ),
        ),
        (
            "coverage-low",
            (
                "Through Spanish, too few words of the list “neutral” could be used: 61 of 226, where 60 % are "
                "required; missing: word0, word1, word2, word3, word4, word5, word6, word7 and 157 more."
            ),
        ),
        (
            "choices-follow-words",
            (
                "Through Spanish, neutral control words take no side, but concepts do, from “dietitian” (nearest to "
                "women) to “mason” (nearest to men); they take sides by an estimated 0.40 beyond what neutral words do."
            ),
        ),
        (
            "no-nearer",
            (
                "Through Spanish, words for a group are about as near to the stereotypes of others as to those of "
                "their own group; the difference in cosine distance is an estimated 0.40 (-0.01 to 0.05)."
            ),
        ),
        ("worst-component", "The rating is the letter of its worst parts, es and tr: BS."),
    ],
)
def test_the_sentence_that_explains_a_reason_code_contains_all_facts_of_the_reason(code, sentence):
    assert explain(Reason(code, FACTS, "es")) == sentence


def test_a_method_cannot_reword_the_explanation_of_a_reason_that_all_methods_share():
    words = Vocabulary({"no-usable-observations": "All is well."})
    assert explain_with(Reason("no-usable-observations"), words) == explain(Reason("no-usable-observations"))


def test_an_explanation_names_both_the_language_and_the_sentence_construction_of_a_component():
    assert explain(Reason("no-usable-observations", {"language": "Spanish"}, "es/possessive")).startswith(
        "Through Spanish (possessive), "
    )


def test_braces_in_facts_are_not_filled_in_as_placeholders():
    assert "{letter} [x|y]" in explain(Reason("worst-component", {"components": ["{letter} [x|y]"], "letter": "BS"}))


def test_an_unknown_reason_code_is_refused_with_the_known_codes():
    with pytest.raises(UnknownName) as refused:
        explain_with(Reason("no-such-code"), Vocabulary({"its-own": "A sentence."}))
    assert refused.value.known == (*MESSAGES, "its-own")


def test_every_reason_code_is_listed_on_its_documentation_page():
    page = PAGE.read_text(encoding="utf-8")
    assert [code for code in EVERY if f"`{code}`" not in page] == []


@pytest.mark.parametrize(
    ("letter", "declared", "line"),
    [
        ("BS", True, "BS — biased"),
        (Letter.DSBS, True, "DSBS — data-sensitive"),
        (Letter.UCS, True, "UCS — unbiased, compensating"),
        ("DSBS", False, "inconclusive (leaning DSBS)"),
        (None, False, "inconclusive: no letter can be given"),
        (None, True, "inconclusive: no letter can be given"),
    ],
)
def test_a_rating_has_a_headline_of_one_line(letter, declared, line):
    assert headline(letter, declared) == line


def test_an_undeclared_rating_is_described_as_inconclusive_instead_of_by_its_letter():
    for letter in Letter:
        assert letter_words(letter, declared=True) == LETTERS[letter]
        assert letter_words(letter, declared=False).title == "inconclusive"
    assert letter_words(None, declared=False).title == "inconclusive"


def test_a_method_can_replace_the_meaning_of_a_letter_and_keeps_the_common_advice():
    own = {"DSBS": "It lies within.", "inconclusive": "It is open."}
    assert letter_words(Letter.DSBS, declared=True, meanings=own) == replace(
        LETTERS[Letter.DSBS], meaning="It lies within."
    )
    assert letter_words(Letter.DSBS, declared=False, meanings=own).meaning == "It is open."
    assert letter_words(Letter.UCS, declared=True, meanings=own) == LETTERS[Letter.UCS]
    assert letter_words(None, declared=False, meanings=own) == letter_words(None, declared=False)


@pytest.mark.parametrize(
    ("part", "written"),
    [
        *((0, "0 %"), (0.001, "<1 %"), (0.005, "<1 %"), (0.012, "1 %"), (0.29, "29 %")),
        *((0.994, "99 %"), (0.995, ">99 %"), (0.996, ">99 %"), (1, "100 %")),
    ],
)
def test_a_share_is_written_as_0_or_100_percent_only_if_it_is_exact(part, written):
    assert share(part) == written


@pytest.mark.parametrize(
    ("probability", "written"),
    [(0, "<1 %"), (0.29, "29 %"), (0.58, "58 %"), (0.9496, "94 %"), (0.95, "95 %"), (0.996, ">99 %"), (1, ">99 %")],
)
def test_probability_is_rounded_down_and_never_written_as_certain(probability, written):
    assert chance(probability) == written


def test_a_confidence_level_is_written_in_full_and_its_square_or_cube_root_with_two_decimals():
    assert [level(0.95), level(0.999), level(0.9), level(0.99999)] == ["95 %", "99.9 %", "90 %", "99.999 %"]
    assert [level(0.95 ** (1 / parts)) for parts in (2, 3)] == ["97.47 %", "98.3 %"]


def test_an_explanation_names_the_label_it_is_about_unless_it_is_about_the_whole_output():
    of_label = explain(Reason("even-handed", {}, "positive"))
    of_whole = explain(Reason("even-handed", {}, "output"))
    assert of_label.startswith("For “positive”, changing nothing")
    assert of_whole.startswith("Changing nothing")
    assert "for the output;" in explain(Reason("component-unmeasured", {"components": ["output"]}))


@pytest.mark.parametrize(
    ("difference", "written"),
    [
        (-249.142, "-249"),
        (1142.17, "+1,142"),
        (0.3, "+0.300"),
        (0.00546, "+0.00546"),
        (0.0, "+0.00"),
        (2e12, "+2.00e+12"),
    ],
)
def test_difference_is_written_with_its_sign_and_three_digits(difference, written):
    assert signed(difference) == written


def test_an_effect_that_rounds_to_zero_is_written_without_a_sign():
    assert "is an estimated 0.00" in explain(Reason("no-nearer", {"step_2": -0.001}))


def test_a_long_list_of_names_is_shortened_and_the_other_names_are_counted():
    assert listed(["es"]) == "es"
    assert listed(["es", "fr", "tr"]) == "es, fr and tr"
    assert listed([str(place) for place in range(40)]) == "0, 1, 2, 3, 4, 5, 6, 7 and 32 more"
