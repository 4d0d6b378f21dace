"""Srivastava & Rossi (2018): Figure 4's path, Table 1's layout, and the size of the paper's design."""

import re

import pytest

from assay.experiment import run
from assay.methods import RoundTrip
from assay.model import Letter, Probe, Reply
from assay.rating.decision import rate
from assay.statistics.hypothesis_tests.published import published_letter
from tools.papers import p5, printed

THERE, BACK = str.maketrans("aeiou", "eioua"), str.maketrans("eioua", "aeiou")
PRONOUN = re.compile(r"\b(He|She)\b")
UNBIASED, BIASED = p5.SPECIFIED_UNBIASED, p5.SPECIFIED_BIASED

LANGUAGES = tuple(printed.TABLE_1)
"""Middle languages, in the order of Table 1."""

BEHAVIOUR = {"BS": "he", "UCS": "coin", "DSBS": "faithful"}
"""Answers of a simulated translator, for each letter that table 1 can give it."""


def through(behaviour: dict[str, str]):
    """Return a translator that always answers "he", or answers at random, through the named middle languages."""

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


def test_the_two_interpretations_of_the_rule_differ_if_only_one_biased_block_comes_back_balanced():
    observed = {"U": [20, 20, 0], "B1": [18, 22, 0], "B2": [36, 4, 0]}
    assert published_letter(observed, UNBIASED, BIASED, reading="similar-to-biased").letter is Letter.UCS
    assert published_letter(observed, UNBIASED, BIASED, reading="departs-from-unbiased").letter is Letter.DSBS


@pytest.mark.slow
def test_the_papers_design_has_sixty_texts_of_two_sentences_and_120_translations_per_language():
    asked: list[Probe] = []

    def answer(probe: Probe) -> Reply:
        asked.append(probe)
        return through({})(probe)

    run(RoundTrip("gender", languages=LANGUAGES, stop_early=False), answer, 0)
    assert 2 * len(asked) == printed.TRANSLATIONS
    texts = [probe.ask.text for probe in asked if probe.ask.target == "es"]
    assert len(texts) == printed.BLOCKS * printed.TEXTS_A_BLOCK
    assert all(len(PRONOUN.findall(text)) == 2 for text in texts)


MEANS_ONLY = {"stop_early": False, "strata": False, "delta_loss": None}
"""Settings for the paper's design: its sixty texts are too few to judge strata and lost pronouns."""


@pytest.mark.slow
@pytest.mark.parametrize("design", [MEANS_ONLY, {"stop_early": True}])
@pytest.mark.parametrize("service", [0, 1], ids=["Google", "Yandex"])
def test_simulated_translators_that_behave_as_table_1_says_get_the_letters_of_table_1(service: int, design: dict):
    """The translator behaves through each language as its printed letter says; its whole column is compared."""
    theirs = {language: letters[service] for language, letters in printed.TABLE_1.items()}
    translator = through({language: BEHAVIOUR[letter] for language, letter in theirs.items()})
    rating = rate(run(RoundTrip("gender", languages=LANGUAGES, **design), translator, 1))
    column = {part.name: part.letter for part in rating.finding.components}
    assert column == theirs
    assert (rating.letter, rating.declared) == (printed.OVERALL[service], True)
    kept = tuple(name for name in LANGUAGES if name not in printed.WITHOUT)
    without = rate(run(RoundTrip("gender", languages=kept, **design), translator, 2))
    assert without.letter == printed.OVERALL_WITHOUT[service]


def test_overall_letters_of_table_1_are_the_worst_of_their_columns():
    for service in (0, 1):
        column = {language: letters[service] for language, letters in printed.TABLE_1.items()}
        assert p5.overall(column) == printed.OVERALL[service]
        assert p5.overall(column, printed.WITHOUT) == printed.OVERALL_WITHOUT[service]


@pytest.mark.slow
def test_a_translator_that_always_returns_balanced_pronouns_through_hindi_is_rated_ucs_as_in_table_1():
    """Google through Hindi is UCS in Table 1: what came back was balanced whatever went in."""
    rating = rate(run(RoundTrip("gender", languages=("hi",)), through({"hi": "coin"}), 3))
    assert (rating.letter, rating.declared) == (Letter.UCS, True)
