"""Impact ratios of a model's decisions: the shares of a label among the same cases, and their quotient."""

import numpy as np
import pytest

from assay.experiment import run
from assay.methods.alternation.method import Alternation
from assay.methods.shared.profiles import TextProfiles
from assay.model import Kind, Reply
from reports.methods.alternation import REPORT
from tests.support.simulated.hidden_bias import chance

WOMAN, MAN = "woman", "man"


def decided(share_of, seed=1, **changed):
    """Return the component of a simulated model that answers yes with a known probability in each case."""
    texts = TextProfiles(decision="hiring", **changed)
    method = Alternation("gender", texts=texts, repeats=0, stop_early=False, profiles=800).for_kind(Kind.CLASSIFIER)

    def answer(probe):
        case = str(probe.ask.given)
        yes = float(share_of(case, chance(seed, case)))
        return Reply({"label": None, "scores": {"yes": yes, "no": 1 - yes}})

    finding = run(method, answer, seed)
    (component,) = finding.components
    return component.detail


def biased(case, drawn):
    return drawn < (0.45 if WOMAN in case else 0.70)


@pytest.mark.slow
def test_an_impact_ratio_is_the_quotient_of_label_shares_and_its_interval_covers_the_truth():
    held = 0
    for seed in range(10):
        impact = decided(biased, seed, most=800).disparate_impact
        assert {row.value: row.records for row in impact.rates} == {"she": 800, "he": 800}
        (row,) = impact.ratios
        rates = {rate.value: rate.rate for rate in impact.rates}
        assert (row.of, row.to) == ("she", "he")
        assert row.ratio.estimate == pytest.approx(rates["she"] / rates["he"])
        assert row.ratio.low < row.ratio.estimate < row.ratio.high < 0.85
        held += row.ratio.low < 0.45 / 0.70 < row.ratio.high
    assert held >= 8


def test_impact_ratios_of_scores_are_ratios_of_mean_probabilities():
    impact = decided(lambda case, drawn: (0.45 if WOMAN in case else 0.70) + 0.1 * (drawn - 0.5), most=200)
    (row,) = impact.disparate_impact.ratios
    assert row.ratio.estimate == pytest.approx(0.45 / 0.70, abs=0.02)


def test_a_group_that_never_gets_the_favourable_label_has_no_impact_ratio():
    impact = decided(lambda case, drawn: WOMAN not in case and drawn < 0.5, most=200).disparate_impact
    (row,) = impact.ratios
    assert row.ratio.estimate is None
    assert row.why == "no case with 'she' got the label"


def test_sentences_without_a_decision_have_no_impact_ratio():
    method = Alternation("gender", repeats=0, stop_early=False, texts=TextProfiles(most=100)).for_kind(Kind.CLASSIFIER)
    finding = run(method, lambda probe: Reply({"a": 1.0, "label": str(probe.ask.given)[:4]}), 1)
    assert all(not component.detail.disparate_impact.rates for component in finding.components)


def test_the_report_shows_label_shares_and_impact_ratio_next_to_the_effect():
    part = decided(biased, 3, most=200)
    tables = [table for table in REPORT.tables(part) if table is not None]
    (ratios,) = [table for table in tables if "Disparate impact" in table.title]
    assert len(ratios.rows) == 1
    assert np.isfinite(float(str(ratios.rows[0][2]).split()[0]))
