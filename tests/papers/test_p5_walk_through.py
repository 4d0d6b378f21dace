"""Srivastava & Rossi (2018): Figure 4's path, Table 1's layout, and the size of the paper's design."""

import re

import pytest

from assay.experiment import run
from assay.methods import RoundTrip
from assay.model import Letter, Probe, Reply
from assay.rating.decision import rate
from assay.statistics.hypothesis_tests.published import published_letter

THERE, BACK = str.maketrans("aeiou", "eioua"), str.maketrans("eioua", "aeiou")
PRONOUN = re.compile(r"\b(He|She)\b")
UNBIASED = {"U": [0.5, 0.5, 0.0]}
BIASED = {"B1": [0.1, 0.9, 0.0], "B2": [0.9, 0.1, 0.0]}

LANGUAGES = ("tr", "ru", "it", "es", "hi", "pt", "fr", "ar")
"""Table 1, in its order."""


def through(behaviour: dict[str, str]):
    """A translator that says "he" to everything, or tosses a coin, in the named middle languages."""

    def translate(probe: Probe) -> Reply:
        ask = probe.ask
        if ask.target != "en":
            return Reply(ask.text.translate(THERE))
        text, how = ask.text.translate(BACK), behaviour.get(ask.source, "faithful")
        if how == "he":
            text = PRONOUN.sub("He", text)
        if how == "coin":
            text = ". ".join(
                PRONOUN.sub("He" if sum(sentence.encode()) % 2 else "She", sentence) for sentence in text.split(". ")
            )
        return Reply(text)

    return translate


def test_figure_4_a_faithful_output_is_unbiased_in_step_1_and_biased_in_step_2():
    """O-U is like neither biased specification; O-B1 and O-B2 are not like the unbiased one: DSBS."""
    observed = {"U": [20, 20, 0], "B1": [4, 36, 0], "B2": [36, 4, 0]}
    verdict = published_letter(observed, UNBIASED, BIASED, reading="similar-to-biased")
    assert verdict.pvalues["U"]["B1"] < 0.05 > verdict.pvalues["U"]["B2"]
    assert not verdict.step_1_biased
    assert verdict.pvalues["B1"]["U"] < 0.05 > verdict.pvalues["B2"]["U"]
    assert verdict.step_2_biased
    assert verdict.letter is Letter.DSBS


def test_one_similar_block_is_enough_for_the_or_of_section_4_3():
    observed = {"U": [20, 20, 0], "B1": [18, 22, 0], "B2": [36, 4, 0]}
    assert published_letter(observed, UNBIASED, BIASED, reading="similar-to-biased").letter is Letter.UCS
    assert published_letter(observed, UNBIASED, BIASED, reading="departs-from-unbiased").letter is Letter.DSBS


def test_the_papers_design_is_sixty_texts_of_two_sentences_and_120_translations_a_language():
    asked: list[Probe] = []

    def answer(probe: Probe) -> Reply:
        asked.append(probe)
        return through({})(probe)

    run(RoundTrip("gender", languages=LANGUAGES, stop_early=False), answer, 0)
    assert len(asked) == 120 * 8
    texts = [probe.ask.text for probe in asked if probe.ask.target == "es"]
    assert len(texts) == 60
    assert all(len(PRONOUN.findall(text)) == 2 for text in texts)


@pytest.mark.parametrize("design", [{"stop_early": False}, {"stop_early": True}])
def test_table_1_a_letter_for_each_language_and_the_worst_of_them_overall(design: dict):
    """Google's column: biased through Turkish and Italian, DSBS elsewhere; overall BS, also without tr and hi."""
    rating = rate(run(RoundTrip("gender", languages=LANGUAGES, **design), through({"tr": "he", "it": "he"}), 1))
    column = {part.name: part.letter for part in rating.finding.components}
    assert list(column) == list(LANGUAGES)
    assert {name for name, letter in column.items() if letter is Letter.BS} == {"tr", "it"}
    assert set(column.values()) == {Letter.BS, Letter.DSBS}
    assert (rating.letter, rating.declared) == (Letter.BS, True)


def test_table_1_without_the_languages_that_cannot_keep_gender():
    """Yandex's column: BS only through Hindi, so the last row, which leaves Turkish and Hindi out, is DSBS."""
    service = through({"hi": "he"})
    everything = rate(run(RoundTrip("gender", languages=LANGUAGES), service, 2))
    kept = tuple(name for name in LANGUAGES if name not in ("tr", "hi"))
    without = rate(run(RoundTrip("gender", languages=kept), service, 2))
    assert (everything.letter, without.letter) == (Letter.BS, Letter.DSBS)
    assert everything.declared
    assert without.declared


def test_table_1_a_language_through_which_the_service_compensates_is_ucs():
    """Google through Hindi is UCS in Table 1: what came back was balanced whatever went in."""
    rating = rate(run(RoundTrip("gender", languages=("hi",)), through({"hi": "coin"}), 3))
    assert (rating.letter, rating.declared) == (Letter.UCS, True)
