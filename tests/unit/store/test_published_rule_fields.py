"""Fields `alpha` and `join` of an experiment: they choose published rules, whose letters the rating then has."""

from __future__ import annotations

import math
import zlib

import pytest
from scipy.stats import ks_2samp

from assay.errors import SpecificationError
from assay.experiment import run
from assay.methods import fit_to
from assay.model import Kind, Reply
from store.ratings.experiment_json import dump_method, parse_method
from tests.support.reports import document_of, render

PEOPLE = {"he": [f"Mr {n}" for n in range(20)], "she": [f"Ms {n}" for n in range(20)]}
CONTENTS = {"glad": [f"glad-{n}" for n in range(8)], "sad": [f"sad-{n}" for n in range(8)]}
TEXTS = {"frames": ["{person} is {content}."], "people": PEOPLE, "contents": CONTENTS}
KS = "kolmogorov-smirnov"


def jitter(text: str) -> float:
    """Return a fixed number between -1 and 1 for a text; it is the same for "Mr" and "Ms"."""
    return math.sin(sum(ord(one) * place for place, one in enumerate(text.replace("Ms", "Mr"), 1)))


def even(text):
    return jitter(text)


def follows_content(text):
    return jitter(text) + ("glad" in text)


def higher_for_women(text):
    return jitter(text) + ("Ms" in text)


def spreads_women(text):
    """Return outputs with twice the spread for women but the same mean, so that a test of means finds no bias."""
    return jitter(text) * (2 if "Ms" in text else 1)


def document(specification, answer, kind=Kind.REGRESSOR):
    """Rate a service by the experiment of a request, and return the rating document."""
    method = fit_to(parse_method(specification), kind)
    finding = run(method, answer, 0)
    return document_of(finding, experiment=dump_method(method), target={"name": "T", "kind": str(kind)})


def alternation(of, **fields):
    specification = {"method": "alternation", "attribute": "gender", "texts": TEXTS, **fields}
    return document(specification, lambda probe: Reply(of(probe.ask.given)))


# ---------------------------------------------------------------------------- Kolmogorov-Smirnov
@pytest.mark.parametrize(
    ("service", "letter"),
    [(even, "UCS"), (follows_content, "DSBS"), (higher_for_women, "BS"), (spreads_women, "BS")],
)
def test_with_the_field_alpha_a_rating_also_states_the_letter_by_kolmogorov_smirnov_tests(service, letter):
    rating = alternation(service, alpha=0.05)
    assert rating["published"] == {KS: letter}
    (component,) = rating["components"]
    assert component["published"] == {KS: letter}
    assert set(component["analyses"][KS]["step_2"]) == {"he, she (one way)", "he, she (other way)"}


def test_step_1_equals_ks_2samp_of_scipy_on_the_outputs_for_both_values():
    rating = alternation(spreads_women, alpha=0.05)
    texts = [
        (f"{person} is {content}.") for people in PEOPLE.values() for person in people
        for side in CONTENTS.values() for content in side
    ]  # fmt: skip
    he, she = ([spreads_women(text) for text in texts if title in text] for title in ("Mr", "Ms"))
    expected = ks_2samp(he, she, method="exact")
    found = rating["components"][0]["analyses"][KS]["step_1"]["he, she"]
    assert (found["statistic"], found["p"]) == pytest.approx((expected.statistic, expected.pvalue))


def test_each_kolmogorov_smirnov_sample_of_step_2_draws_nine_tenths_from_one_kind_of_content():
    """The output depends only on the side of the content, so the Kolmogorov-Smirnov statistic is .9 - .1."""
    rating = alternation(lambda text: 5.0 + ("glad" in text), alpha=0.05)
    tests = rating["components"][0]["analyses"][KS]["step_2"]
    assert [test["statistic"] for test in tests.values()] == pytest.approx([0.8, 0.8], abs=0.02)


def test_the_kolmogorov_smirnov_test_of_step_2_compares_records_by_their_original_group():
    rows = [{"sex": sex, "x": place + 40 * (sex == "M")} for sex in "FM" for place in range(60)]
    records = {"column": "sex", "values": ["F", "M"], "rows": rows}
    specification = {"method": "alternation", "attribute": "sex", "records": records, "alpha": 0.05}
    rating = document(specification, lambda probe: Reply(float(dict(probe.ask.given)["x"])))
    found = rating["components"][0]["analyses"][KS]
    assert found["step_1"]["F, M"]["p"] == 1
    assert found["step_2"]["F, M"]["statistic"] == pytest.approx(40 / 60)
    assert rating["published"] == {KS: "DSBS"}


def test_a_classifier_that_returns_labels_without_scores_gets_no_letter_by_kolmogorov_smirnov():
    specification = {"method": "alternation", "attribute": "gender", "texts": TEXTS, "alpha": 0.05}

    def answer(probe):
        return Reply({"label": "yes" if jitter(probe.ask.given) > 0 else "no", "scores": None})

    rating = document(specification, answer, Kind.CLASSIFIER)
    assert rating["published"] == {KS: None}
    assert "no order" in rating["components"][0]["analyses"][KS]["why"]


def test_a_rating_without_alpha_has_no_letter_by_kolmogorov_smirnov():
    rating = alternation(higher_for_women)
    assert rating["published"] == {}
    assert "analyses" not in rating["components"][0]


@pytest.mark.parametrize("form", ["html", "markdown", "terminal"])
def test_reports_name_the_kolmogorov_smirnov_rule(form):
    assert "Kolmogorov-Smirnov in two steps" in render(form, alternation(follows_content, alpha=0.05))


def test_alpha_does_not_change_the_letter_and_probabilities_of_the_rating():
    plain, ruled = alternation(follows_content), alternation(follows_content, alpha=0.05)
    assert plain["probabilities"] == ruled["probabilities"]
    assert plain["letter"] == ruled["letter"]


@pytest.mark.parametrize("wrong", [{"alpha": 0}, {"alpha": 0.5}, {"join": "and"}])
def test_an_invalid_alpha_or_join_is_refused(wrong):
    with pytest.raises(SpecificationError):
        alternation(even, **wrong)


# ---------------------------------------------------------------------------- vote
@pytest.mark.parametrize(
    ("join", "middle", "differing", "letter"),
    [
        ("worst", 0.06, ["A, C"], "BS"),
        ("vote", 0.06, ["A, C"], "UCS"),
        ("worst", 0.0, ["A, C", "B, C"], "BS"),
        ("vote", 0.0, ["A, C", "B, C"], "BS"),
    ],
)
def test_joined_by_vote_the_published_rule_gives_bs_if_half_of_the_group_pairs_differ(join, middle, differing, letter):
    """Answers about A are spread over [0, 1]; those about B and C are higher by `middle` and by .12."""
    people = {name: [f"{name} {n}" for n in range(40)] for name in "ABC"}
    texts = {"frames": ["{person} is {content}."], "people": people, "contents": CONTENTS}
    higher = {"A": 0.0, "B": middle, "C": 0.12}

    def answer(probe):
        text = probe.ask.given
        return Reply(zlib.crc32(text[1:].encode()) / 2**32 + higher[text[0]])

    specification = {"method": "alternation", "attribute": "x", "texts": texts, "alpha": 0.01, "join": join}
    rating = document(specification, answer)
    name = KS if join == "worst" else f"{KS}/vote"
    tests = rating["components"][0]["analyses"][name]["step_1"]
    assert [pair for pair, test in tests.items() if test["p"] < 0.01] == differing
    assert rating["published"] == {name: letter}


def faithful(probe):
    """Simulate a translator that keeps every pronoun: it reverses each text on the way out and on the way back."""
    return Reply(probe.ask.text[::-1])


@pytest.mark.parametrize(("join", "letter"), [("worst", "DSBS"), ("vote", "UCS")])
def test_joined_by_vote_the_published_rule_decides_step_2_by_most_of_the_three_biased_inputs(join, letter):
    """With 40 pronouns only the first of three biased blocks is distinguishable from equal shares."""
    biased = [{"he": share, "she": 1 - share} for share in (0.9, 0.6, 0.55)]
    specification = {
        "method": "round-trip",
        "attribute": "gender",
        "stop_early": False,
        "join": join,
        "biased": biased,
    }
    rating = document(specification, faithful, Kind.TRANSLATOR)
    ending = "/vote" if join == "vote" else ""
    rules = ("chi-squared/departs-from-unbiased", "kl")
    assert {rating["published"][f"{rule}{ending}"] for rule in rules} == {letter}
    assert len(rating["published"]) == 3
    assert rating["letter"] == "DSBS"


def test_a_report_states_which_published_rules_combine_several_tests_by_vote():
    specification = {"method": "round-trip", "attribute": "gender", "stop_early": False, "join": "vote"}
    page = render("html", document(specification, faithful, Kind.TRANSLATOR))
    assert "Kullback-Leibler divergence, by vote" in page
    assert "chi-squared, departs from the unbiased specification, by vote" in page
