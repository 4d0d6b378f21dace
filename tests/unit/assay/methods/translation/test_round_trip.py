"""Tests of round trip on services of known behaviour: letters, reasons and reproducibility."""

import hashlib
import re
from collections.abc import Callable

import pytest

from assay.document import as_json
from assay.errors import BadDistribution, OutOfBounds, SpecificationError, UnknownName
from assay.experiment import Session, generator, replay, run
from assay.methods import RoundTrip
from assay.model import Failure, Letter, Observation, Probe, Reply
from assay.rating.decision import rate
from tests.support.reports import document_of

THERE, BACK = str.maketrans("aeiou", "eioua"), str.maketrans("eioua", "aeiou")
PRONOUN = re.compile(r"\b(He|She)\b")
SHE_FOR = {"He": "She", "She": "He"}

Service = Callable[[Probe], Reply]


def service(answer: Callable[[str, str], str]) -> Service:
    """Return a translator through an invented language that writes ``answer(pronoun, sentence)`` on the way back."""

    def translate(probe: Probe) -> Reply:
        if probe.ask.target != "en":
            return Reply(probe.ask.text.translate(THERE))
        sentences = probe.ask.text.translate(BACK).split(". ")
        return Reply(". ".join(PRONOUN.sub(lambda found: answer(found[0], s), s) for s in sentences))  # noqa: B023

    return translate


def chance(sentence: str, seed: int) -> float:
    """Return a fixed number in [0, 1) for a sentence and a seed."""
    digest = hashlib.blake2b(f"{seed}{sentence.rstrip('.')}".encode(), digest_size=4).digest()
    return int.from_bytes(digest) / 2**32


def content(sentence: str) -> str:
    return PRONOUN.sub("", sentence)


def faithful(seed: int) -> Service:
    return service(lambda pronoun, sentence: pronoun)


def always_he(seed: int) -> Service:
    return service(lambda pronoun, sentence: "He")


def eraser(seed: int) -> Service:
    return service(lambda pronoun, sentence: "It")


def symmetric_swapper(seed: int) -> Service:
    return service(lambda pronoun, sentence: SHE_FOR[pronoun])


def balancing(seed: int) -> Service:
    return service(lambda pronoun, sentence: "He" if chance(sentence, seed) < 0.5 else "She")


def stereotyper(seed: int, share: float = 1.0) -> Service:
    def answer(pronoun: str, sentence: str) -> str:
        if chance(sentence, seed) >= share:
            return pronoun
        return "He" if chance(content(sentence), seed + 1) < 0.5 else "She"

    return service(answer)


def she_to_he(share: float) -> Callable[[int], Service]:
    def make(seed: int) -> Service:
        return service(lambda pronoun, sentence: "He" if pronoun == "He" or chance(sentence, seed) < share else "She")

    return make


def random_swapper(seed: int) -> Service:
    return service(lambda pronoun, sentence: SHE_FOR[pronoun] if chance(sentence, seed) < 0.2 else pronoun)


KNOWN = {
    "faithful": (faithful, Letter.DSBS, "follows-biased-input"),
    "symmetric swapper": (symmetric_swapper, Letter.DSBS, "follows-biased-input"),
    "random swapper 20 %": (random_swapper, Letter.DSBS, "follows-biased-input"),
    "she to he 10 %": (she_to_he(0.10), Letter.DSBS, "follows-biased-input"),
    "she to he 45 %": (she_to_he(0.45), Letter.BS, "introduces-bias"),
    "she to he 35 %": (she_to_he(0.35), Letter.BS, "introduces-bias"),
    "always he": (always_he, Letter.BS, "collapses-to-value"),
    "eraser": (eraser, Letter.BS, "attribute-erased"),
    "stereotyper": (stereotyper, Letter.BS, "answers-by-occupation"),
    "balancing": (balancing, Letter.UCS, "compensates"),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", KNOWN)
def test_the_declared_letter_and_its_reason_are_right_for_nearly_all_of_30_seeds(name: str):
    """A method that is right for 90 % of all seeds is right for all 30 with a probability of 4 % only."""
    make, letter, reason = KNOWN[name]
    right = wrong = reasons = 0
    for seed in range(30):
        rating = rate(run(RoundTrip("gender"), make(seed), seed))
        right += rating.declared and rating.letter is letter
        wrong += rating.declared and rating.letter is not letter
        reasons += reason in [each.code for each in rating.reasons]
    # UCS is the hardest letter to declare: 1 of 100 seeds is wrong, and that seed is among these 30
    allowed = 1 if name == "balancing" else 0
    assert wrong <= allowed
    assert min(right, reasons) >= 30 - allowed


@pytest.mark.slow
def test_an_effect_equal_to_the_tolerance_mostly_gets_no_declared_letter_but_an_estimate_of_probes_needed():
    """If 20 % of She become He, the total variation is exactly the tolerance of .1: no letter is right."""
    ratings = [rate(run(RoundTrip("gender", max_texts_per_block=40), she_to_he(0.2)(seed), seed)) for seed in range(30)]
    undecided = [rating for rating in ratings if not rating.declared]
    assert len(undecided) >= 15
    first = undecided[0]
    reason = next(each for each in first.reasons if each.code == "not-enough-evidence")
    assert reason.facts["leaning"] == first.letter
    assert as_json(first.finding.components[0].detail)["settle"].keys() == {"more_probes"}


def test_the_fixed_design_of_the_paper_asks_sixty_texts_per_language():
    asked = []
    run(RoundTrip("gender", stop_early=False), lambda probe: (asked.append(probe), faithful(0)(probe))[1], 3)
    assert len(asked) == 120
    assert len({probe.ask for probe in asked}) == 120


def test_swapping_he_and_she_everywhere_keeps_the_letter():
    def mirrored(probe: Probe) -> Reply:
        return service(lambda pronoun, sentence: "She")(probe)

    he, she = (rate(run(RoundTrip("gender"), each, 5)) for each in (always_he(0), mirrored))
    assert he.letter is she.letter is Letter.BS
    assert he.finding.components[0].effects["step_1"].estimate == pytest.approx(
        she.finding.components[0].effects["step_1"].estimate, abs=0.02
    )


@pytest.mark.parametrize("kept", [0, 1, 60, 61, 119, 120])
def test_a_run_interrupted_anywhere_resumes_to_the_identical_finding(kept: int):
    method, answer = RoundTrip("gender"), she_to_he(0.35)(1)
    whole: list[Observation] = []
    complete = drive(Session(method.design(generator(9))), answer, whole)
    ledger = {each.probe.unit: each for each in whole[:kept]}
    again: list[Observation] = []
    resumed = Session(method.design(generator(9)), lambda units: {u: ledger[u] for u in units if u in ledger})
    drive(resumed, answer, again)
    assert resumed.finding == complete.finding
    assert resumed.evidence.head() == complete.evidence.head()
    assert len(again) == len(whole) - kept


def test_a_replay_needs_no_service_and_gives_the_identical_finding():
    method, record = RoundTrip("gender", languages=("es", "fr")), []
    original = drive(Session(method.design(generator(4))), stereotyper(2), record)
    replayed = replay(method, 4, reversed(record))
    assert replayed.finding == original.finding
    assert replayed.evidence.head() == original.evidence.head()


def drive(session: Session, answer: Service, record: list[Observation]) -> Session:
    while session.finding is None:
        record += session.unrecorded
        for probe in session.missing:
            record += session.accept(probe, answer(probe))
        session.advance()
    return session


@pytest.mark.parametrize(
    ("answer", "why"),
    [
        (lambda probe: Reply(probe.ask.text), "untranslated"),
        (lambda probe: Reply("#foo @bar #baz."), "error-marks"),
        (lambda probe: Reply("  "), "empty"),
        (lambda probe: Reply("Only one sentence came back from " + probe.ask.target), "sentence-count"),
    ],
)
def test_unusable_output_gives_no_letter_and_states_the_reason(answer: Service, why: str):
    rating = rate(run(RoundTrip("gender"), answer, 0))
    assert (rating.letter, rating.declared, rating.probabilities) == (None, False, None)
    component = rating.finding.components[0]
    assert component.unusable == 60
    assert as_json(component.detail)["unusable_why"] == {why: 60}
    assert [each.code for each in component.reasons] == ["target-output-unusable"]
    assert set(component.published.values()) == {None}


def test_failed_calls_are_counted_and_too_many_of_them_prevent_a_letter():
    def failing(share: float) -> Service:
        def answer(probe: Probe) -> Reply:
            if probe.ask.target == "en" and chance(probe.unit, 0) < share:
                return Reply(failure=Failure("http-500", "the target answered 500"))
            return faithful(0)(probe)

        return answer

    some, many = (rate(run(RoundTrip("gender"), failing(share), 0)) for share in (0.05, 0.4))
    assert some.letter is Letter.DSBS
    assert 0 < some.finding.components[0].failed < 12
    assert many.letter is None
    assert many.finding.components[0].reasons[0].code == "target-calls-failed"


def test_questions_that_the_call_budget_did_not_allow_are_no_evidence_of_bias():
    def answer(probe: Probe) -> Reply:
        if probe.unit.startswith("fr/"):
            return Reply(failure=Failure("budget-exhausted", "max_calls were used up"))
        return faithful(0)(probe)

    rating = rate(run(RoundTrip("gender", languages=("es", "fr")), answer, 0))
    spanish, french = rating.finding.components
    assert spanish.letter is Letter.DSBS
    assert french.letter is None
    assert [each.code for each in french.reasons] == ["budget-exhausted", "no-usable-observations"]
    assert not rating.declared
    assert "component-unmeasured" in [each.code for each in rating.reasons]


def test_one_biased_of_three_languages_makes_the_rating_bs_by_the_worst_language_and_dsbs_by_vote():
    def answer(probe: Probe) -> Reply:
        he = "tr" in (probe.ask.source, probe.ask.target)
        return (always_he(0) if he else faithful(0))(probe)

    languages = ("es", "tr", "fr")
    worst = rate(run(RoundTrip("gender", languages=languages), answer, 0))
    vote = rate(run(RoundTrip("gender", languages=languages, aggregation="vote"), answer, 0))
    assert (worst.letter, worst.declared) == (Letter.BS, True)
    assert next(each for each in worst.reasons if each.code == "worst-component").facts["components"] == ["tr"]
    assert (vote.letter, vote.declared) == (Letter.DSBS, True)
    adjusted = as_json(worst.finding.detail)["adjusted"]
    assert adjusted["tr"]["holm"] >= adjusted["tr"]["p"]


@pytest.mark.slow
def test_eight_languages_with_clear_results_give_a_declared_letter():
    languages = ("ar", "fr", "hi", "it", "pt", "ru", "es", "tr")
    rating = rate(run(RoundTrip("gender", languages=languages), faithful(0), 0))
    assert (rating.letter, rating.declared) == (Letter.DSBS, True)
    assert len(rating.finding.components) == 8


@pytest.mark.parametrize("attribute", ["race", "religion", "place-of-worship"])
def test_attributes_other_than_gender_are_rated_with_their_own_words(attribute: str):
    rating = rate(run(RoundTrip(attribute), faithful(0), 0))
    assert (rating.letter, rating.declared) == (Letter.DSBS, True)


@pytest.mark.parametrize(
    ("wrong", "field", "kind"),
    [
        ({"attribute": "sex"}, "attribute", UnknownName),
        ({"languages": ("es", "klingon")}, "languages.1", UnknownName),
        ({"languages": ("en",)}, "languages.0", SpecificationError),
        ({"languages": ()}, "languages", SpecificationError),
        ({"languages": ("es", "es")}, "languages.1", SpecificationError),
        ({"templates": ("sonnet",)}, "templates.0", UnknownName),
        ({"attribute": "race", "templates": ("possessive",)}, "templates.0", SpecificationError),
        ({"texts_per_block": 0}, "texts_per_block", OutOfBounds),
        ({"texts_per_block": 400}, "max_texts_per_block", OutOfBounds),
        ({"max_texts_per_block": 9_999}, "max_texts_per_block", OutOfBounds),
        ({"delta": 0.0}, "delta", OutOfBounds),
        ({"confidence": float("nan")}, "confidence", OutOfBounds),
        ({"unbiased": ({"he": 0.5, "she": 0.6},)}, "unbiased.0", BadDistribution),
        ({"unbiased": ({"he": -0.5, "she": 1.5},)}, "unbiased.0", BadDistribution),
        ({"biased": ({"he": 0.5, "she": 0.5},)}, "biased.0", BadDistribution),
        ({"biased": ({"him": 1.0},)}, "biased.0", BadDistribution),
    ],
)
def test_an_invalid_request_for_a_round_trip_is_refused_with_its_field(wrong: dict, field: str, kind: type):
    with pytest.raises(kind) as refused:
        RoundTrip(**{"attribute": "gender", **wrong})
    assert refused.value.field == field


@pytest.mark.slow
def test_a_finding_has_no_nan_or_infinity():
    from assay.canonical import canonical_json

    for make in (faithful, eraser, balancing):
        canonical_json(document_of(run(RoundTrip("gender"), make(0), 0)))  # refuses NaN and infinity
