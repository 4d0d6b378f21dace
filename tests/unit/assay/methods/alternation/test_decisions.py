"""Letters of models that make the catalog's decisions (such as hiring), and the texts that they decide about."""

import hashlib
import re

import numpy as np
import pytest

from assay.catalog import attribute, attributes
from assay.catalog.decisions import decision, decisions, mentioned
from assay.catalog.profiles import names, people
from assay.errors import SpecificationError, UnknownName
from assay.methods.alternation.method import Alternation
from assay.methods.shared.profiles import TextProfiles, text_cases
from assay.model import Failure, Kind, Letter, Reply

SEEDS = 8
"""Ratings of each service; `make calibrate` makes 20 and more of such services (docs/calibration.md)."""
GENDER = attribute("gender")
HER_NAMES = re.compile(rf"\b(?:{'|'.join(names(GENDER)['she'])})\b")
FAVOURABLE = decision("hiring").contents["favourable"]


def chance(text, seed):
    """Return a number in [0, 1) that depends on a text and a seed."""
    return int(hashlib.sha256(f"{seed}|{text}".encode()).hexdigest()[:12], 16) / 16**12


def is_woman(text):
    return "woman" in text or HER_NAMES.search(text) is not None


def of_either(text):
    return text.replace("woman", "man")


def is_strong(text):
    return any(fact in text for fact in FAVOURABLE)


def yes(probability):
    return Reply({"label": None, "scores": {"yes": float(probability), "no": 1 - float(probability)}})


REFUSED = Reply(failure=Failure("declined", "I'm sorry, I can't."))


def even(text, seed):
    return yes(chance(of_either(text), seed) < 0.6)


def explicitly_biased(text, seed):
    return yes(chance(text, seed) < (0.45 if is_woman(text) else 0.70))


def follows_facts(text, _):
    return yes(is_strong(text))


def always_first(_text, _seed):
    return yes(0.5)


def refuses_women(text, seed):
    return REFUSED if is_woman(text) else yes(chance(text, seed) < 0.6)


def prefers_a_position(text, seed):
    return yes(0.5 if chance(of_either(text), seed) < 0.5 else is_strong(text))


def biased_by_name(text, _):
    return yes(0.45 if HER_NAMES.search(text) else 0.70)


def rated(model, seed, mention="explicit"):
    texts = TextProfiles(decision="hiring", mention=mention)
    experiment = Alternation("gender", texts=texts).for_kind(Kind.CLASSIFIER).design(np.random.default_rng(seed))
    try:
        probes = next(experiment)
        while True:
            probes = experiment.send([model(probe.ask.given, seed) for probe in probes])
    except StopIteration as end:
        (component,) = end.value.components
        return component


@pytest.mark.slow
@pytest.mark.parametrize(
    ("model", "letter", "code"),
    [
        (even, Letter.UCS, "even-handed"),
        (explicitly_biased, Letter.BS, "responds-to-attribute"),
        (follows_facts, Letter.DSBS, "follows-tied-content"),
        (refuses_women, Letter.BS, "refuses-one-group"),
        (prefers_a_position, Letter.DSBS, "follows-tied-content"),
    ],
)
def test_a_language_model_that_decides_with_a_known_bias_gets_its_letter_with_every_seed(model, letter, code):
    for seed in range(SEEDS):
        component = rated(model, seed)
        assert (component.letter, component.declared) == (letter, True), seed
        assert component.reasons[0].code == code


@pytest.mark.slow
@pytest.mark.parametrize("share", [0.15, 0.5, 1.0])
@pytest.mark.parametrize("code", ["no-choice", "wrong-shape", "cut-short"])
def test_unreadable_answers_about_one_group_withhold_the_letter_and_never_prove_bias(code, share):
    def unread_for_women(text, seed):
        if is_woman(text) and chance("unread" + text, seed) < share:
            return Reply(failure=Failure(code, "Yes, although she is not a man"))
        return even(text, seed)

    for seed in range(3):
        component = rated(unread_for_women, seed)
        assert not component.declared, seed
        if share == 0.15:
            assert component.reasons[0].code == "letter-depends-on-what-was-lost"
            facts = component.reasons[0].facts
            assert facts["share"] > 0.1
            assert facts["other_share"] == 0


@pytest.mark.slow
def test_a_model_that_always_chooses_the_first_option_gets_no_letter():
    for seed in range(SEEDS):
        component = rated(always_first, seed)
        assert component.letter is None
        assert not component.declared


@pytest.mark.slow
def test_a_model_biased_by_first_names_is_bs_for_names_but_not_for_explicit_mentions():
    for seed in range(SEEDS):
        by_name, in_words = rated(biased_by_name, seed, "name"), rated(biased_by_name, seed)
        assert (by_name.letter, by_name.declared) == (Letter.BS, True)
        assert in_words.letter is not Letter.BS


def test_a_simulated_shift_of_decisions_by_a_quarter_is_estimated_within_0_05():
    (pair,) = rated(explicitly_biased, 3).detail.pairs
    assert pair.shift == pytest.approx(-0.25, abs=0.05)


# ------------------------------------------------------------------------------- cases
def test_the_twelve_shipped_decisions_have_sentences_facts_for_and_against_and_labels_or_a_range():
    assert len(decisions()) == 12
    for name in decisions():
        shipped = decision(name)
        assert bool(shipped.labels) != (shipped.range is not None)
        assert "{text}" in shipped.prompt
        assert len(shipped.frames) >= 4
        assert min(len(facts) for facts in shipped.contents.values()) >= 10
        assert not set(shipped.contents["favourable"]) & set(shipped.contents["unfavourable"])


@pytest.mark.parametrize("name", decisions())
def test_every_shipped_decision_has_at_least_160_test_cases_for_every_attribute(name):
    for about in filter(lambda about: people(attribute(about)), attributes()):
        profiles = TextProfiles(decision=name).filled_in(about)
        cases = text_cases(profiles, np.random.default_rng(1))
        assert len(cases) >= 160
        for case in cases[:20]:
            assert len({*case.versions}) == len(profiles.people)
            assert not re.search(r"[{}]|\ba [aei]", " ".join(case.versions)), case.versions


def test_people_mentioned_by_name_have_the_catalogs_first_names():
    assert "Mary" in mentioned(GENDER, "name")["she"]
    assert mentioned(GENDER, "explicit")["she"][0] == "a 21-year-old woman"


def test_an_attribute_without_first_names_cannot_be_mentioned_by_name():
    with pytest.raises(SpecificationError) as refused:
        TextProfiles(decision="loan", mention="name").filled_in("religion")
    assert refused.value.field == "texts.mention"


def test_an_unknown_shipped_decision_is_refused_with_its_field():
    with pytest.raises(UnknownName) as refused:
        TextProfiles(decision="hunting").filled_in("gender")
    assert refused.value.field == "texts.decision"
