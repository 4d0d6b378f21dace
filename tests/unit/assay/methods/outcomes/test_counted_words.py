"""Each number in the sentences about recorded decisions is counted again, person by person."""

import re

import numpy as np
import pytest

from assay.experiment import run
from assay.explain import Vocabulary, explain
from assay.methods import Outcomes
from assay.rating.decision import rate
from reports.reading import in_words
from tests.support.reports import document_of
from tests.support.simulated.recorded_decisions import counted, never_asked

SIZES = {"none": (0.8, 0.5), "small": (0.75, 0.45), "large": (0.5, 0.5), "only as they came": (0.8, 0.25)}
"""Chance of a favourable decision of women who stay (men: .8), and share of women who stay (men: .5)."""


@pytest.fixture(scope="module", params=SIZES)
def rated(request):
    right, staying = SIZES[request.param]
    rng = np.random.default_rng(6)
    women = rng.random(9000) < 0.4
    stayed = rng.random(9000) < np.where(women, staying, 0.5)
    hired = rng.random(9000) < np.where(stayed, np.where(women, right, 0.8), 0.2)
    columns = {
        "sex": np.where(women, "woman", "man").tolist(),
        "hired": np.where(hired, "yes", "no").tolist(),
        "stayed": np.where(stayed, "yes", "no").tolist(),
    }
    method = Outcomes(by=("sex",), decision="hired", favourable="yes", truth="stayed", table=counted(columns))
    finding = run(method, never_asked, 0)
    return method, finding, columns


def share(columns, sex, **alike):
    """Return the share of a group that was hired, in per cent, of people with equal values in other columns."""
    inside = [
        hired == "yes"
        for one, hired, stayed in zip(columns["sex"], columns["hired"], columns["stayed"], strict=True)
        if one == sex and alike.get("stayed", stayed) == stayed
    ]
    return round(100 * sum(inside) / len(inside))


def test_counts_of_people_in_the_explanation_equal_counts_in_the_file(rated):
    _, finding, columns = rated
    paragraph = " ".join(in_words(document_of(finding)))
    told = re.findall(r"([\d,]+) of ([\d,]+) \((\d+) %\) in “(\w+)”", paragraph)
    assert {sex for *_, sex in told} == {"woman", "man"}
    for yes, total, percent, sex in told:
        assert int(percent) == share(columns, sex)
        members = [hired for one, hired in zip(columns["sex"], columns["hired"], strict=True) if one == sex]
        assert (int(yes.replace(",", "")), int(total.replace(",", ""))) == (members.count("yes"), len(members))
    rates = {sex: share(columns, sex) for sex in ("woman", "man")}
    flags = int(min(rates.values()) < 0.8 * max(rates.values()))
    assert f"flags {flags} of 2 groups" in paragraph


def test_percentages_in_reasons_equal_shares_in_the_file_unless_they_are_called_estimates(rated):
    method, finding, columns = rated
    texts = [explain(reason, Vocabulary.of(method)) for reason in rate(finding).reasons]
    told = 0
    for text in texts:
        alike = {"stayed": "yes" if "proved right" in text else "no"} if "proved" in text else {}
        for percent, sex in re.findall(r"(\d+) % of “(\w+)”", text):
            assert int(percent) == share(columns, sex, **alike), text
            told += 1
        assert not re.search(r"\d\.\d\d", text) or "estimated" in text
    letter = finding.components[0].letter
    assert told == (0 if letter == "UCS" else 2)


def test_the_stated_probability_that_an_unbiased_tool_is_flagged_by_chance_equals_a_simulated_one(rated):
    _, finding, columns = rated
    detail = finding.components[0].detail
    sizes = [columns["sex"].count(sex) for sex in ("man", "woman")]
    rng = np.random.default_rng(1)
    observed = rng.binomial(sizes, columns["hired"].count("yes") / 9000, (20_000, 2)) / sizes
    expected = (observed.min(axis=1) < 0.8 * observed.max(axis=1)).mean()
    assert detail.even_flagged == pytest.approx(expected, abs=0.01)
