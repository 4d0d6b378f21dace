"""Tests of the demo translators: each behaves as declared and gets its letter and reason."""

from collections import Counter
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.catalog import attribute, construction, constructions, occupations
from assay.errors import UnknownName
from assay.experiment import run
from assay.methods import RoundTrip
from assay.model import Letter, Probe, Reply
from assay.rating.decision import rate
from demo.translators.behaviours import BEHAVIOURS, FRENCH, behaviour, sides

GENDER = attribute("gender")
HE, SHE = GENDER.values
NAMES = [name for name in constructions() if construction(name).supports(GENDER)]
SENTENCES = {
    value.name: [
        frame.write(occupation, value, value.people[0])
        for frame in construction("base").frames_for(GENDER)
        for occupation in occupations()
    ]
    for value in (HE, SHE)
}


def share_of(name: str, asked: str, answered: str) -> float:
    """Return the share of base sentences with value `asked` that come back with value `answered`."""
    one = behaviour(name)
    read = Counter(GENDER.read(one.at_home(sentence)) for sentence in SENTENCES[asked])
    return read[answered] / read.total()


def there_and_back(name: str, text: str, code: str = "es") -> str:
    one = behaviour(name)
    return one.translate(one.translate(text, "en", code), code, "en")


@given(st.text(max_size=60), st.sampled_from(["es", "eo", "tr"]))
def test_the_faithful_translator_returns_every_text_unchanged(text: str, code: str):
    assert there_and_back("faithful", text, code) == text


@pytest.mark.parametrize("template", NAMES)
def test_demo_translators_without_randomness_give_the_declared_pronoun_in_every_sentence_frame(template: str):
    for frame in construction(template).frames_for(GENDER):
        for occupation in occupations()[::7]:
            his, hers = (frame.write(occupation, value, value.people[1]) for value in (HE, SHE))
            assert there_and_back("always-he", his) == his
            assert GENDER.read(there_and_back("always-he", hers)) == "he"
            assert GENDER.read(there_and_back("symmetric-swapper", his)) == "she"
            assert GENDER.read(there_and_back("symmetric-swapper", hers)) == "he"
            assert GENDER.read(there_and_back("stereotyper", his)) == sides()[occupation.name]
            assert GENDER.read(there_and_back("stereotyper", hers)) == sides()[occupation.name]
            for sentence in (his, hers):
                assert GENDER.read(there_and_back("eraser", sentence)) == "other"


@pytest.mark.parametrize("name", BEHAVIOURS)
def test_translators_do_not_change_names_of_people(name: str):
    assert there_and_back(name, "Mary is a nurse and likes her work.").startswith("Mary is a nurse and likes ")


@pytest.mark.parametrize("name", BEHAVIOURS)
def test_a_sentence_is_translated_the_same_way_alone_and_within_a_longer_text(name: str):
    sentences = [
        sentence for pair in zip(SENTENCES["he"][:40], SENTENCES["she"][:40], strict=True) for sentence in pair
    ]
    together = there_and_back(name, " ".join(sentences), "tr")
    assert together == " ".join(there_and_back(name, sentence, "eo") for sentence in sentences)


@pytest.mark.parametrize("percent", [0, 10, 30, 45, 100])
def test_the_demo_translator_she_to_he_n_turns_n_percent_of_she_into_he_and_never_changes_he(percent: int):
    assert share_of(f"she-to-he-{percent}", "she", "he") == pytest.approx(percent / 100, abs=0.03)
    assert share_of(f"she-to-he-{percent}", "he", "he") == 1


def test_a_demo_translator_with_a_larger_percentage_also_changes_all_sentences_of_a_smaller_percentage():
    changed = [
        {sentence for sentence in SENTENCES["she"] if behaviour(f"she-to-he-{percent}").at_home(sentence) != sentence}
        for percent in (10, 30, 45, 80)
    ]
    assert all(fewer < more for fewer, more in pairwise(changed))


@pytest.mark.parametrize(("asked", "other"), [("he", "she"), ("she", "he")])
def test_random_swaps_change_he_and_she_equally_often(asked: str, other: str):
    assert share_of("balancing", asked, other) == pytest.approx(0.5, abs=0.03)
    assert share_of("random-swapper-20", asked, other) == pytest.approx(0.2, abs=0.03)


def test_the_balancing_demo_translator_changes_he_and_she_independently_of_each_other():
    one = BEHAVIOURS["balancing"]
    equal = sum(one.at_home(his) == one.at_home(hers) for his, hers in zip(*SENTENCES.values(), strict=True))
    assert equal / len(SENTENCES["he"]) == pytest.approx(0.5, abs=0.03)


def test_the_demo_stereotyper_uses_he_for_one_half_of_the_occupations_and_she_for_the_other_half():
    assert abs(sum(1 if side == "he" else -1 for side in sides().values())) <= 1
    assert all(sides()[one.name] == one.side for one in occupations() if one.side is not None)


@pytest.mark.parametrize("sentence", ["The zymurgist lost {} keys.", "The zymurgist knows that we called {}."])
def test_the_stereotyper_uses_one_pronoun_for_an_unknown_occupation_whatever_the_input(sentence: str):
    owner = "keys" in sentence
    his, hers = sentence.format("his" if owner else "him"), sentence.format("her")
    assert BEHAVIOURS["stereotyper"].at_home(his) == BEHAVIOURS["stereotyper"].at_home(hers)


def letter_and_reasons(name: str, template: str, seed: int):
    one = behaviour(name)

    def answer(probe: Probe) -> Reply:
        return Reply(one.translate(probe.ask.text, probe.ask.source, probe.ask.target))

    rating = rate(run(RoundTrip("gender", templates=(template,)), answer, seed))
    return rating.letter, rating.declared, {reason.code for reason in rating.reasons}


@pytest.mark.slow
@pytest.mark.parametrize("template", NAMES)
@pytest.mark.parametrize("name", BEHAVIOURS)
def test_each_demo_translator_gets_its_expected_letter(name: str, template: str):
    letter, declared, reasons = letter_and_reasons(name, template, seed=7)
    assert declared
    assert letter is BEHAVIOURS[name].letter
    assert BEHAVIOURS[name].reason in reasons


@pytest.mark.parametrize("seed", [1, 2])
@pytest.mark.parametrize(
    "name",
    ["she-to-he-5", "she-to-he-45", "she-to-he-100", "random-swapper-50", "random-swapper-90", "stereotyper-25",
     "stereotyper-75"],
)  # fmt: skip
def test_translators_with_percentages_away_from_a_boundary_get_the_expected_letter(name: str, seed: int):
    letter, declared, reasons = letter_and_reasons(name, "base", seed)
    assert declared
    assert letter is behaviour(name).letter
    assert behaviour(name).reason in reasons


def test_a_translator_on_the_boundary_of_two_letters_has_no_expected_letter():
    assert behaviour("she-to-he-20").letter is None
    assert {behaviour("she-to-he-19").letter, behaviour("she-to-he-21").letter} == {Letter.DSBS, Letter.BS}


@pytest.mark.parametrize("name", ["nobody", "she-to-he", "she-to-he-101", "she-to-he-3.5", "faithful-30", "", "-30"])
def test_unknown_behaviour_is_refused_with_the_known_names(name: str):
    with pytest.raises(UnknownName, match="she-to-he-<0…100>"):
        behaviour(name)


def test_two_made_up_languages_have_no_direct_translation():
    with pytest.raises(ValueError, match="one of the languages must be 'en'"):
        BEHAVIOURS["faithful"].translate("Zema", "es", "tr")


@pytest.mark.parametrize("name", FRENCH)
def test_a_simulated_translator_from_french_gets_its_letter_and_reason(name: str):
    service = behaviour(name)

    def answer(probe: Probe) -> Reply:
        return Reply(service.translate(probe.ask.text, probe.ask.source, probe.ask.target))

    rating = rate(run(RoundTrip("gender", source="fr", languages=("en",)), answer, 7))
    assert (rating.letter, rating.declared) == (service.letter, True)
    assert service.reason in {reason.code for reason in rating.finding.components[0].reasons}


def test_the_always_il_translator_changes_french_pronoun_and_noun_to_masculine():
    service = behaviour("french-always-il")
    middle = service.translate("Elle est infirmière. Il est ouvrier.", "fr", "en")
    assert middle != "Elle est infirmière. Il est ouvrier."
    assert service.translate(middle, "en", "fr") == "Il est infirmier. Il est ouvrier."
