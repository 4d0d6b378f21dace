"""Tests of forced choice on embedding spaces and simulated observers with known effects: letters and reasons."""

from dataclasses import replace

import numpy as np
import pytest

from assay.catalog.choices import ChoiceWords
from assay.document import as_json
from assay.errors import OutOfBounds, SpecificationError, UnknownName
from assay.experiment import generator, run
from assay.methods import ForcedChoice, fit_to
from assay.methods.forced_choice.choice_trials import Questions, Trials
from assay.model import Classify, Embed, Failure, Kind, Letter, Reply
from assay.rating.decision import rate
from tests.support.simulated.choosers import choice_service, observer_service
from tests.support.simulated.recorded_decisions import never_asked

WORDS = ChoiceWords(
    "gender",
    "women",
    "men",
    (("she", "he"), ("woman", "man")),
    {f"job-{n}": n / 9 for n in range(10)},
    tuple(f"thing-{n}" for n in range(10)),
    name="tiny",
)


def space(of):
    """Return an embedder in which ``of(word)`` is the position of a word between the cues; 1/2 is the middle."""
    axis = {"she": 0.5, "he": -0.5, "woman": 0.5, "man": -0.5}
    others = [*WORDS.concepts, *WORDS.controls]

    def vector(text):
        made = np.zeros(1 + 2 + len(others))
        made[0] = axis[text] if text in axis else of(text) - 0.5
        own = 1 + list(axis).index(text) // 2 if text in axis else 3 + others.index(text)
        made[own] = np.sqrt(1 - made[0] ** 2)
        return made

    mixed, _ = np.linalg.qr(np.random.default_rng(5).normal(size=(23, 23)))
    return lambda probe: Reply((mixed @ vector(probe.ask.text)).tolist())


@pytest.mark.slow
@pytest.mark.parametrize("make", [choice_service, observer_service])
@pytest.mark.parametrize(
    ("step_1", "step_2", "letter"),
    [(0, 0, Letter.UCS), (0.025, 0, Letter.UCS), (0, 0.2, Letter.DSBS), (0.15, 0, Letter.BS), (0.2, 0.1, Letter.BS)],
)
def test_forced_choice_gives_a_simulated_effect_the_expected_letter(make, step_1, step_2, letter):
    for seed in (0, 1):
        rated = rate(make(step_1, step_2, seed).rate(seed))
        assert rated.letter is letter


def test_the_simulated_point_of_subjective_equality_of_a_word_is_recovered():
    one = run(ForcedChoice(words=WORDS), space(lambda word: 0.7 if word == "job-3" else 0.5), 0).components[0]
    points = {row["word"]: row["pse"]["estimate"] for row in as_json(one.detail)["words"]}
    assert points["job-3"] == pytest.approx(0.7)
    assert np.mean([points[word] for word in WORDS.controls]) == pytest.approx(0.5)


@pytest.mark.slow
def test_exchanging_the_cues_mirrors_every_point_of_subjective_equality():
    turned = ChoiceWords("gender", "men", "women", tuple(p[::-1] for p in WORDS.cues), WORDS.concepts, WORDS.controls)
    answer = space(lambda word: 0.5 + 0.03 * (len(word) % 5))
    there, back = (run(ForcedChoice(words=words), answer, 0).components[0].detail for words in (WORDS, turned))
    for row, other in zip(there.words, back.words, strict=True):
        assert other.pse.estimate == pytest.approx(1 - row.pse.estimate)


def test_all_models_named_in_a_request_are_asked_and_counted_as_replicates():
    asked = []

    def answer(probe):
        asked.append(probe.ask.model)
        return space(lambda word: 0.5)(probe)

    finding = run(ForcedChoice(words=WORDS, models=("small", "large")), answer, 0)
    assert set(asked) == {"small", "large"}
    assert as_json(finding.components[0].detail)["replicates"]["models"] == 2


@pytest.mark.slow
def test_the_length_of_vectors_matters_only_without_normalisation():
    answer = space(lambda word: 0.5 + 0.1 * (word == "job-1"))

    def longer(probe):
        return Reply([number * (9 if probe.ask.text.startswith("job") else 1) for number in answer(probe).value])

    units, long = (as_json(run(ForcedChoice(words=WORDS), each, 0).components[0].detail) for each in (answer, longer))
    assert long["spread"]["concepts"] == pytest.approx(units["spread"]["concepts"])
    raw = as_json(run(ForcedChoice(words=WORDS, normalise=False), longer, 0).components[0].detail)
    assert raw["spread"]["concepts"] == pytest.approx(9 * units["spread"]["concepts"])


def test_missing_words_are_named_and_too_many_missing_words_prevent_a_letter():
    def answer(probe):
        if probe.ask.text in {f"job-{n}" for n in range(5)}:
            return Reply(failure=Failure("missing-word", "no vector"))
        return space(lambda word: 0.5)(probe)

    one = run(ForcedChoice(words=WORDS), answer, 0).components[0]
    assert one.letter is None
    assert (one.reasons[0].code, one.reasons[0].facts["group"], one.reasons[0].facts["found"]) == (
        "coverage-low",
        "concepts",
        5,
    )
    assert one.reasons[0].facts["missing"] == [f"job-{n}" for n in range(5)]


@pytest.mark.parametrize(
    ("value", "why"),
    [([0.0] * 23, "zero-vector"), ([1.0, None], "no-vector"), ("0.1", "no-vector"), ([1.0] * 9, "wrong-length")],
)
def test_unusable_vectors_are_counted_by_reason(value, why):
    def answer(probe):
        return Reply(value) if probe.ask.text == "thing-1" else space(lambda word: 0.5)(probe)

    one = run(ForcedChoice(words=WORDS), answer, 0).components[0]
    assert as_json(one.detail)["missing"] == {"thing-1": why}
    assert one.unusable == 1


def test_cues_with_equal_vectors_give_no_letter():
    one = run(ForcedChoice(words=WORDS), lambda probe: Reply([1.0, 2.0, 3.0]), 0).components[0]
    assert one.letter is None
    assert one.reasons[0].facts["error"] == "no-transition"


@pytest.mark.parametrize("lost", ["concept", "control", "first"])
@pytest.mark.parametrize("code", ["declined", "timeout", "missing-word", "http-404", "zero-vector"])
def test_a_letter_that_lost_words_could_change_is_withheld_unless_the_model_does_not_know_them(lost, code):
    service = choice_service(0, 0, 1)
    lost_words = {f"{lost}-{n}" for n in range(5 if lost != "first" else 1)}

    def answer(probe):
        reply = service.answer(probe.ask)
        if probe.ask.text not in lost_words:
            return reply
        return Reply([0.0] * len(reply.value)) if code == "zero-vector" else Reply(failure=Failure(code, "lost"))

    one = run(service.method, answer, 1).components[0]
    is_unknown = code in {"missing-word", "http-404", "zero-vector"}
    assert (one.letter, one.declared) == (Letter.UCS, is_unknown)
    assert (one.reasons[0].code == "letter-depends-on-what-was-lost") is not is_unknown


def test_a_letter_that_the_lost_words_could_not_change_stays_declared():
    service = choice_service(0, 0.2, 1)
    lost = {"concept-0", "control-0"}
    one = run(
        service.method,
        lambda probe: Reply(failure=Failure("declined", "")) if probe.ask.text in lost else service.answer(probe.ask),
        1,
    ).components[0]
    assert (one.letter, one.declared) == (Letter.DSBS, True)


# ---------------------------------------------------------------------------- choices
@pytest.mark.parametrize("lost", [None, "concept", "control"])
def test_a_letter_that_lost_choices_could_change_is_withheld(lost):
    service = observer_service(0, 0, 5)
    asked = 0

    def answer(probe):
        nonlocal asked
        asked += 1
        is_lost = lost is not None and f"the {lost}-" in probe.ask.given and asked % 14 == 0
        return Reply({"label": "I would rather not say", "scores": None}) if is_lost else service.answer(probe.ask)

    one = run(service.method, answer, 5).components[0]
    assert (one.letter, one.declared) == (Letter.UCS, lost is None)
    assert (one.reasons[0].code == "letter-depends-on-what-was-lost") is (lost is not None)


LEVELS = np.linspace(0, 1, 11)


def trials(points, levels=LEVELS, shown=40):
    from scipy.special import ndtr

    return tuple(
        Trials(word, float(level), round(float(shown * ndtr((level - point) / 0.1))), shown)
        for word, point in points.items()
        for level in levels
    )


@pytest.mark.slow
def test_uploaded_choices_are_rated_without_calling_a_service():
    points = {
        **{f"job-{n}": 0.3 + 0.02 * n for n in range(20)},
        **{f"thing-{n}": 0.5 + 0.005 * (n % 3) for n in range(9)},
    }
    words = replace(WORDS, concepts={f"job-{n}": n / 19 for n in range(20)})
    method = ForcedChoice(words=words, trials=trials(points))
    assert method.expected_probes() == 0
    one = run(method, lambda probe: pytest.fail("asked"), 0).components[0]
    assert (one.letter, one.declared) == (Letter.DSBS, True)
    fitted = {row["word"]: row["pse"]["estimate"] for row in as_json(one.detail)["words"]}
    assert fitted["job-0"] == pytest.approx(0.3, abs=0.02)


MANY_WORDS = replace(WORDS, concepts={f"job-{n}": n / 19 for n in range(20)})


def steady_choices(point, levels):
    """Return the choices of an observer who takes the second cue exactly above `point`, about every word."""
    words = (*MANY_WORDS.concepts, *MANY_WORDS.controls)
    return tuple(Trials(word, level, 10 * (level > point), 10) for word in words for level in levels)


@pytest.mark.parametrize(
    ("point", "letter", "levels"),
    [
        (0.53, Letter.BS, (0.0, 0.5, 1.0)),
        (0.47, Letter.BS, (0.0, 0.5, 1.0)),
        (0.53, Letter.BS, (0.1, 0.3, 0.5, 0.7, 0.9)),
        (0.56, Letter.UCS, (0.0, 0.2, 0.4, 0.6, 0.8, 1.0)),
    ],
)
def test_a_letter_that_depends_on_where_between_two_levels_all_choices_change_is_withheld(point, letter, levels):
    (component,) = run(ForcedChoice(words=MANY_WORDS, trials=steady_choices(point, levels)), never_asked, 0).components
    assert (component.letter, component.declared) == (letter, False)
    assert component.reasons[0].code == "levels-too-far-apart"


@pytest.mark.parametrize(("point", "letter"), [(0.5, Letter.UCS), (0.7, Letter.BS), (0.3, Letter.BS)])
def test_steady_choices_give_a_letter_if_it_holds_wherever_between_the_levels_they_change(point, letter):
    choices = steady_choices(point, (0.0, 0.2, 0.4, 0.46, 0.53, 0.6, 0.8, 1.0))
    (component,) = run(ForcedChoice(words=MANY_WORDS, trials=choices), never_asked, 0).components
    assert (component.letter, component.declared) == (letter, True)


def test_a_word_whose_answers_are_all_the_same_gets_a_reason_instead_of_a_point_of_subjective_equality():
    alike = tuple(Trials("job-0", level, 5, 5) for level in (0.0, 0.5, 1.0))
    others = trials({f"job-{n}": 0.5 for n in range(1, 6)} | {f"thing-{n}": 0.5 for n in range(5)})
    one = run(ForcedChoice(words=WORDS, trials=alike + others), lambda probe: Reply(), 0).components[0]
    assert "no finite point" in as_json(one.detail)["without"]["job-0"]


def test_a_forced_choice_question_for_a_classifier_mixes_words_of_both_cues():
    method = fit_to(ForcedChoice(words=WORDS, questions=Questions(mixed=10)), Kind.CLASSIFIER)
    probe = next(method.design(generator(0)))[0]
    assert isinstance(probe.ask, Classify)
    assert sum(probe.ask.given.count(f"{cue} ") + probe.ask.given.count(f"{cue}.") for cue in ("she", "woman")) >= 1
    assert (method.questions.first_label, method.questions.second_label) == ("women", "men")


def test_answers_that_are_neither_label_are_unusable():
    method = fit_to(ForcedChoice(words=WORDS), Kind.CLASSIFIER)
    one = run(method, lambda probe: Reply({"label": "neither", "scores": None}), 0).components[0]
    assert one.letter is None
    assert one.unusable > 0


# ---------------------------------------------------------------------------- the request
def test_the_default_words_of_forced_choice_are_chosen_by_the_attribute():
    assert ForcedChoice("gender").words.name == "gender-occupations"
    assert ForcedChoice(specification="love-hate").attribute == "affection"
    assert ForcedChoice().attribute == "gender"


@pytest.mark.parametrize(
    ("fields", "error", "field"),
    [
        ({"attribute": "height"}, UnknownName, None),
        ({"attribute": "gender", "specification": "love-hate"}, SpecificationError, "attribute"),
        ({"templates": ("no slot",)}, SpecificationError, "templates.0"),
        ({"delta": 0}, OutOfBounds, "delta"),
        ({"half_samples": 1000}, OutOfBounds, "half_samples"),
    ],
)
def test_an_invalid_request_for_forced_choice_is_refused(fields, error, field):
    with pytest.raises(error) as refused:
        ForcedChoice(**fields)
    assert field is None or refused.value.field == field


def test_an_unknown_word_list_is_refused_only_when_the_method_is_prepared_for_a_service():
    method = ForcedChoice(specification="ours")
    assert method.words is None
    with pytest.raises(UnknownName, match="ours"):
        fit_to(method, Kind.EMBEDDER)


def test_forced_choice_with_questions_in_words_is_refused_for_an_embedder():
    with pytest.raises(SpecificationError, match="vectors"):
        fit_to(ForcedChoice(questions=Questions()), Kind.EMBEDDER)


def test_every_text_is_embedded_only_once():
    probes = next(ForcedChoice(words=WORDS, templates=("{word}", "the {word}")).design(generator(0)))
    texts = [probe.ask.text for probe in probes]
    assert len(texts) == len(set(texts)) == 4 + 2 * 20
    assert all(isinstance(probe.ask, Embed) for probe in probes)
