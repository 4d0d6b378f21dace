"""Tests of association on embedding spaces with known distances: letters, reasons and intervals."""

from dataclasses import replace

import numpy as np
import pytest

from assay.catalog.choices import AssociationWords
from assay.document import as_json
from assay.errors import OutOfBounds, SpecificationError, UnknownName
from assay.experiment import generator, run
from assay.methods import Association, fit_to
from assay.methods.association.method import Distances, effects_of
from assay.model import Failure, Kind, Letter, Reply
from assay.rating.decision import rate
from assay.statistics.bayes.hierarchy import fit_hierarchy
from tests.support.simulated.embedders import association_service


@pytest.mark.slow
@pytest.mark.parametrize(
    ("step_1", "step_2", "letter"),
    [
        (0, 0, Letter.UCS),
        (0.025, 0, Letter.UCS),
        (0, 0.025, Letter.UCS),
        (0, 0.1, Letter.DSBS),
        (0.1, 0, Letter.BS),
        (0.2, 0.2, Letter.BS),
    ],
)
def test_the_association_method_gives_a_simulated_effect_the_expected_letter(step_1, step_2, letter):
    for seed in (0, 1, 2):
        assert rate(association_service(step_1, step_2, seed).rate(seed)).letter is letter


def test_the_association_method_recovers_the_simulated_effects_of_both_steps():
    one = association_service(0.03, 0.12, 1).rate(1).components[0]
    assert one.effects["step_1"].estimate == pytest.approx(0.03, abs=0.01)
    assert one.effects["step_2"].low < 0.12 < one.effects["step_2"].high


@pytest.mark.parametrize(("strata", "letter"), [(True, Letter.DSBS), (False, Letter.UCS)])
def test_reversed_stereotypes_count_as_a_difference_since_methodology_1_3_0(strata, letter):
    service = association_service(0, -0.12, 1)
    one = replace(service, method=replace(service.method, strata=strata)).rate(1).components[0]
    assert one.effects["step_2"].high < 0
    assert one.letter is letter
    assert one.reasons[0].code == ("nearer-to-others-stereotypes" if strata else "no-nearer")


def test_opposite_effects_on_human_and_neutral_control_words_give_bs_although_they_cancel_on_average():
    one = association_service(0, 0, 1, controls_apart=0.12).rate(1).components[0]
    assert one.effects["step_1"].high < 0.05, "even on the whole"
    assert one.declared
    assert one.letter is Letter.BS
    assert {why.facts["name"] for why in one.reasons} == {"human words", "neutral words"}


def test_the_residual_standard_deviation_can_be_shared_by_all_kinds_of_word_pairs():
    service = association_service(0, 0.1, 4)
    shared = replace(service, method=replace(service.method, residual="shared")).rate(4).components[0]
    assert len({round(row["sigma"], 9) for row in as_json(shared.detail)["connections"]}) == 1


def test_an_association_rating_contains_the_numbers_that_the_figures_of_its_report_need():
    detail = as_json(association_service(0, 0.1, 2).rate(2).components[0].detail)
    assert [row["connection"] for row in detail["connections"]] == ["associated", "different", "human", "neutral"]
    assert {"hpdi_89", "equal_tailed_89", "mean", "sd"} <= detail["connections"][0].keys()
    assert len(detail["protected"]) == 16
    assert set(detail["raw"]["one-0"]) == {"associated", "different", "human", "neutral"}
    assert 0.8 < detail["predictive"]["share_89"] < 0.98
    (test,) = detail["classical"]["weat"]
    assert test["p_one_sided"] < 0.05
    assert {"rnd", "ect", "ripa", "rnsb", "direct_bias"} == test["beside"].keys()
    assert detail["classical"]["null"]["p_ddof1"] == pytest.approx(0.0058, abs=1e-4)


@pytest.mark.slow
def test_exchanging_the_groups_changes_no_effect():
    service = association_service(0.02, 0.1, 3)
    words = service.method.words
    turned = Association(
        words=AssociationWords(
            words.attribute,
            dict(reversed(words.protected.items())),
            dict(reversed(words.attributes.items())),
            words.human,
            words.neutral,
        )
    )
    there = service.rate(3).components[0].effects
    back = run(turned, lambda probe: service.answer(probe.ask), 3).components[0].effects
    for step in ("step_1", "step_2"):
        assert back[step].estimate == pytest.approx(there[step].estimate, abs=0.003)


@pytest.mark.slow
def test_the_interval_contains_zero_for_three_equal_groups():
    """The largest of three differences is never 0 in a draw, so the highest-density interval excludes 0."""
    words = AssociationWords(
        "faith",
        {name: (f"{name}1", f"{name}2") for name in "abc"},
        {name: (f"like {name}",) for name in "abc"},
        human=tuple(f"human {place}" for place in range(15)),
        neutral=tuple(f"neutral {place}" for place in range(15)),
    )
    pairs = [
        (word, other, ("associated" if own == name else "different") if other.startswith("like") else other.split()[0])
        for own, listed in words.protected.items()
        for word in listed
        for name, others in [*words.attributes.items(), ("", words.human), ("", words.neutral)]
        for other in others
    ]
    word, other, connection = (np.array(column) for column in zip(*pairs, strict=True))
    rng, held = np.random.default_rng(21), 0
    for _ in range(60):
        rows = Distances(word, other, connection, rng.normal(1, 0.05, len(word)))
        posterior = fit_hierarchy(rows.distance, rows.connection, rows.protected, rng)
        _, stated = effects_of(words, posterior, rows, Association.delta)
        held += stated["step_1"].low == 0
    assert held >= 54


@pytest.mark.parametrize(
    ("fields", "letter"),
    [
        ({"common": 0.1, "own": 3}, Letter.BS),
        ({"names": ("one", "two", "three"), "crossed": 0.15, "own": 4}, Letter.DSBS),
        ({"names": ("one", "two", "three"), "own": 4}, Letter.UCS),
    ],
)
def test_groups_with_three_or_four_stereotype_words_each_get_the_expected_declared_letter(fields, letter):
    service = association_service(0, 0, 5, **fields)
    rating = rate(run(service.method, lambda probe: service.answer(probe.ask), 5))
    assert (rating.letter, rating.declared) == (letter, True)


def test_if_too_few_words_have_vectors_there_is_a_posterior_but_no_letter():
    service = association_service(0, 0.1, 2)

    def answer(probe):
        if probe.ask.text.startswith("neutral") and not probe.ask.text.endswith("0"):
            return Reply(failure=Failure("missing-word", "no vector"))
        return service.answer(probe.ask)

    one = run(service.method, answer, 2).components[0]
    assert one.letter is None
    assert one.reasons[0].code == "coverage-low"
    assert one.reasons[0].facts["group"] == "neutral"
    assert one.effects["step_2"].estimate == pytest.approx(0.1, abs=0.05)
    assert as_json(one.detail)["connections"]


@pytest.mark.parametrize("lost", ["of-one-0", "one-0", "human-0 human-1 human-2"])
@pytest.mark.parametrize(
    "code", ["declined", "http-451", "timeout", "wrong-shape", "no-vector", "missing-word", "http-404"]
)
def test_a_letter_that_lost_words_could_change_is_withheld_unless_the_model_does_not_know_them(lost, code):
    service = association_service(0, 0, 1)

    def answer(probe):
        if probe.ask.text not in lost.split():
            return service.answer(probe.ask)
        return Reply("no") if code == "no-vector" else Reply(failure=Failure(code, "lost"))

    one = run(service.method, answer, 1).components[0]
    assert (one.letter, one.declared) == (Letter.UCS, code in {"missing-word", "http-404"})
    assert (one.reasons[0].code == "letter-depends-on-what-was-lost") is (code not in {"missing-word", "http-404"})


def test_a_letter_that_the_lost_words_could_not_change_stays_declared():
    service = association_service(0, 0.2, 1)
    lost = {"human-0", "neutral-0"}
    one = run(
        service.method,
        lambda probe: Reply(failure=Failure("declined", "")) if probe.ask.text in lost else service.answer(probe.ask),
        1,
    ).components[0]
    assert (one.letter, one.declared) == (Letter.DSBS, True)


def test_a_group_without_vectors_gives_a_reason_and_no_letter():
    service = association_service(0, 0.1, 2)

    def answer(probe):
        return (
            Reply(failure=Failure("missing-word", "x"))
            if probe.ask.text.startswith("two-")
            else service.answer(probe.ask)
        )

    one = run(service.method, answer, 2).components[0]
    assert one.letter is None
    assert one.reasons


def test_equal_vectors_for_all_words_give_no_letter():
    one = run(Association("gender"), lambda probe: Reply([1.0, 1.0, 0.5]), 0).components[0]
    assert one.letter is None
    assert one.reasons[0].facts["error"] == "zero-variance"


def test_the_default_words_of_the_association_method_are_chosen_by_the_attribute():
    assert [Association(name).words.name for name in ("gender", "race", "religion")] == [
        "p2-gender",
        "p2-race",
        "p2-religion",
    ]
    assert Association(specification="weat-7").attribute == "gender"


@pytest.mark.parametrize(
    ("fields", "error", "field"),
    [
        ({"attribute": "height"}, UnknownName, None),
        ({"attribute": "race", "specification": "p2-gender"}, SpecificationError, "attribute"),
        ({"specification": "gender-occupations"}, UnknownName, "specification"),
        ({"draws": 10}, OutOfBounds, "draws"),
        ({"delta": 3}, OutOfBounds, "delta"),
    ],
)
def test_an_invalid_request_for_the_association_method_is_refused(fields, error, field):
    with pytest.raises(error) as refused:
        Association(**fields)
    assert field is None or refused.value.field == field


def test_association_accepts_only_embedders():
    from assay.methods import check_kind

    with pytest.raises(SpecificationError, match="embedder"):
        check_kind(Association("gender"), Kind.CLASSIFIER)
    assert fit_to(Association("gender"), Kind.EMBEDDER) == Association("gender")


def test_the_same_seed_and_replies_give_the_same_rating():
    first, again = (rate(association_service(0, 0.1, 6).rate(6)) for _ in range(2))
    assert first == again
    assert np.isfinite(first.finding.components[0].effects["step_1"].estimate)
    assert generator(0).random() == generator(0).random()
