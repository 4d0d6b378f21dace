"""Tests of leverage: detection of a single cluster that causes most of an alternation effect."""

import numpy as np
import pytest

from assay.document import as_json
from assay.methods.alternation.analysis import judge_answers
from assay.methods.alternation.influence import Leverage
from assay.methods.alternation.judged import JudgingTask, Rules
from assay.methods.shared.answers.of_profiles import Answers
from assay.methods.shared.profiles import Case, TextProfiles, text_cases
from assay.model import Letter, Reply
from assay.rating.component import Tolerance
from assay.statistics.intervals.alternation_effects import Profiles

PAIRS = 12
TEXTS = TextProfiles(
    frames=tuple(f"{{Person}} {verb} {{content}}." for verb in ("is", "was", "felt", "seemed", "got", "stayed")),
    people={side: tuple(f"{side}-{place}" for place in range(PAIRS)) for side in ("man", "woman")},
    contents={side: tuple(f"{side}{place}" for place in range(8)) for side in ("glad", "sad")},
)


def outputs(cases: tuple[Case, ...], seed: int = 0) -> np.ndarray:
    """Return the outputs of a service that reads only the content and ignores the person."""
    rng = np.random.default_rng(seed)
    of = {word: (word.startswith("glad") - 0.5) + 0.1 * rng.normal() for word in TEXTS.contents["glad"]}
    of |= {word: -0.5 + 0.1 * rng.normal() for word in TEXTS.contents["sad"]}
    return np.array([[of[case.clusters["content"]]] * 2 for case in cases])


@pytest.fixture
def cases() -> tuple[Case, ...]:
    return text_cases(TEXTS, np.random.default_rng(0))


def leverage(cases: tuple[Case, ...], table: np.ndarray) -> Leverage:
    clusters = {
        kind: np.unique([case.clusters[kind] for case in cases], return_inverse=True)[1] for kind in cases[0].clusters
    }
    return Leverage(Profiles(table, ("man", "woman"), clusters), cases, ("man", "woman"))


def about(cases: tuple[Case, ...], pair: int) -> np.ndarray:
    return np.array([case.clusters["person"] == f"man-{pair} / woman-{pair}" for case in cases])


@pytest.mark.parametrize(("value", "member"), [(0, "man-3"), (1, "woman-3")])
def test_an_effect_of_one_name_is_attributed_to_that_name_within_its_person_pair(cases, value: int, member: str):
    table = outputs(cases)
    table[about(cases, 3), value] += 0.4
    carrier = leverage(cases, table).carrier()
    assert (carrier.kind, carrier.name, carrier.member) == ("person", "man-3 / woman-3", member)
    assert carrier.share == pytest.approx(1)
    assert carrier.without == 0
    assert carrier.effect == pytest.approx((-1) ** (1 - value) * 0.4 / PAIRS / table.std())


def test_an_effect_that_all_clusters_share_is_not_attributed_to_a_single_cluster(cases):
    table = outputs(cases)
    table[:, 1] += 0.4
    assert leverage(cases, table).carrier() is None
    assert "carrier" not in as_json(leverage(cases, table).document())


def test_an_effect_of_zero_is_not_attributed_to_a_single_cluster(cases):
    assert leverage(cases, outputs(cases)).carrier() is None


def test_noise_is_never_attributed_to_a_single_cluster_in_a_hundred_simulations(cases):
    noisy = outputs(cases)
    for seed in range(100):
        noise = np.random.default_rng(seed).normal(scale=0.1, size=noisy.shape)
        assert leverage(cases, noisy + noise).carrier() is None


def test_with_fewer_than_ten_clusters_no_cluster_is_named_as_the_cause_of_an_effect(cases):
    table = outputs(cases)
    table[[case.clusters["frame"] == TEXTS.frames[0] for case in cases], 1] += 0.4
    assert leverage(cases, table).carrier() is None


def judged(cases: tuple[Case, ...], table: np.ndarray):
    answers = Answers(cases, ("man", "woman"), numbers=True)
    for place, row in enumerate(table):
        for value, number in enumerate(row):
            answers.take(place, value, Reply(float(number)))
    tolerance = Tolerance(0.1, 0.9)
    rules = Rules(tie=0.9, labels=(), folds=2, delta_individual=None, delta_loss=None, scale="linear")
    judged = JudgingTask(answers, Answers((), answers.values, numbers=True), {}, rules, letter_only=False)
    (one,) = judge_answers(judged, tolerance, np.random.default_rng(1))
    return one


def test_a_single_person_behind_a_small_effect_is_named_in_an_additional_reason(cases):
    table = outputs(cases)
    table[about(cases, 3), 1] += 0.1
    one = judged(cases, table)
    assert one.letter is Letter.DSBS
    assert [reason.code for reason in one.reasons] == ["follows-tied-content", "carried-by-one"]
    assert one.reasons[1].facts["carrier"] == "woman-3"
    assert as_json(one.detail)["leverage"]["carrier"]["member"] == "woman-3"


def test_the_reason_for_bs_names_the_single_person_behind_the_effect(cases):
    table = outputs(cases)
    table[about(cases, 3), 1] += 40
    one = judged(cases, table)
    assert one.letter is Letter.BS
    (main,) = [reason for reason in one.reasons if reason.code == "responds-to-attribute"]
    assert (main.facts["carrier"], main.facts["kind"]) == ("woman-3", "person")
    assert "carried-by-one" not in [reason.code for reason in one.reasons]
