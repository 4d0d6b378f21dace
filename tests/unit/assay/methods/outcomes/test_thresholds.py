"""Tests of the threshold map: its counts, its intervals, and what its published form reveals about single people."""

import json
from itertools import combinations

import numpy as np
import pytest

from assay.document import as_json
from assay.experiment import run
from assay.explain import Vocabulary, explain
from assay.methods import Outcomes, rating_of
from assay.methods.outcomes.recount import recount
from assay.methods.shared.outcome_tables.decision_table import DecisionTable
from assay.model import Letter
from assay.rating.decision import rate
from tests.support.reports import document_of
from tests.support.simulated.recorded_decisions import counted, never_asked


def scored_file(size, seed=0, groups=("A", "B", "C"), decimals=None):
    """Return groups, truth and scores of people; the first group scores lower."""
    rng = np.random.default_rng(seed)
    group = rng.integers(0, len(groups), size)
    truth = rng.random(size) < 0.4
    score = rng.normal(0, 1, size) + truth - 0.4 * (group == 0)
    return group, truth, score if decimals is None else score.round(decimals)


def method_of(group, truth, score, **fields):
    columns = {"group": (("A", "B", "C"), group), "stayed": (("no", "yes"), truth.astype(int))}
    cuts = (fields["threshold"],) if "threshold" in fields else ()
    table = DecisionTable.counted("sha256:test", columns, score, cuts=cuts)
    fields = {"truth": "stayed", "truth_favourable": "yes", **fields}
    return Outcomes(by=("group",), score="score", table=table, **fields)


def map_of(method):
    return run(method, never_asked, 0).components[-1].detail.threshold_map


@pytest.mark.parametrize("size", [800, 60_000])
def test_every_count_of_the_threshold_map_equals_a_count_in_the_file(size):
    group, truth, score = scored_file(size)
    chart = map_of(method_of(group, truth, score, threshold=0.7))
    assert (chart.chosen, 0.7 in [row.threshold for row in chart.thresholds]) == (0.7, True)
    assert 45 <= len(chart.thresholds) <= 50
    for row in chart.thresholds:
        above = score >= row.threshold
        for index in range(3):
            mine = group == index
            assert row.selected[index] == (mine & above).sum()
            assert row.right[index] == (mine & above & truth).sum()
            assert row.wrong[index] == (mine & above & ~truth).sum()
        rates = [above[group == index].mean() for index in range(3)]
        true_rates = [above[(group == index) & truth].mean() for index in range(3)]
        assert row.ratio.estimate == pytest.approx(min(rates) / max(rates), rel=1e-12)
        assert row.tpr_gap.estimate == pytest.approx(max(true_rates) - min(true_rates), abs=1e-12)
        assert row.tpr_gap.low <= row.tpr_gap.estimate <= row.tpr_gap.high


def test_the_threshold_map_agrees_with_the_tables_of_the_chosen_threshold():
    decision, score = run(method_of(*scored_file(3000), threshold=0.5), never_asked, 0).components
    row = next(row for row in score.detail.threshold_map.thresholds if row.threshold == 0.5)
    assert list(row.selected) == [outcome.favourable for outcome in decision.detail.groups]
    assert list(row.right) == [outcome.matrix["tp"] for outcome in decision.detail.groups]
    assert row.ratio.estimate == min(outcome.ratio.estimate for outcome in decision.detail.groups)
    assert decision.detail.threshold_map.thresholds == ()


@pytest.mark.slow
def test_the_interval_of_the_ratio_at_a_threshold_fixed_in_advance_covers_the_truth():
    held = 0
    for seed in range(200):
        group, truth, score = scored_file(600, seed)
        chart = map_of(method_of(group, truth, score, threshold=0.5))
        row = next(row for row in chart.thresholds if row.threshold == 0.5)
        # P(N(0, 1) + T >= x): groups B and C with x = .5, group A with x = .9
        tails = {0.5: 0.3085, 0.9: 0.1841, -0.5: 0.6915, -0.1: 0.5398}
        true_ratio = (0.4 * tails[-0.1] + 0.6 * tails[0.9]) / (0.4 * tails[-0.5] + 0.6 * tails[0.5])
        held += row.ratio.low <= true_ratio <= row.ratio.high
    assert held >= 0.93 * 200


def test_a_threshold_that_selects_nobody_has_no_impact_ratio():
    group, truth, score = scored_file(600)
    chart = map_of(method_of(group, truth, score, threshold=99.0))
    assert chart.thresholds[-1].threshold == 99.0
    assert chart.thresholds[-1].ratio.estimate is None
    assert chart.thresholds[-1].ratio.why == "not estimable: the reference rate is 0"


def test_excluded_small_and_unknown_groups_are_left_out_of_the_threshold_map():
    group = ["A"] * 400 + ["B"] * 400 + ["C"] * 10 + [""] * 20
    table = counted({"group": group}, [*np.linspace(0, 1, 830)])
    chart = map_of(Outcomes(by=("group",), score="score", table=table))
    assert [row.group for row in chart.groups] == ["A", "B"]


# ---------------------------------------------------------------------------- the public map
def documents(method):
    whole = rating_of(
        document_of(run(method, never_asked, 0), experiment=json.loads(json.dumps(as_json(method.table))))
    )
    return whole, method.masked(whole)


def people_of(component, group, columns):
    """Return who is in a row of a table."""
    by = component.by.split(" x ")
    if group is None:
        return np.any([columns[name] == "" for name in by], axis=0)
    return np.all([columns[name] == value for name, value in zip(by, group.split(" x "), strict=True)], axis=0)


@pytest.mark.parametrize("seed", range(8))
def test_no_two_published_counts_of_people_by_score_differ_by_one_to_four_people(seed):
    rng = np.random.default_rng(seed)
    size = int(rng.integers(300, 4000))
    columns = {
        "sex": rng.choice(["F", "M", ""], size, p=[0.5, 0.45, 0.05]),
        "race": rng.choice(["A", "B", "C"], size, p=[0.6, 0.3, 0.1]),
        "stayed": rng.choice(["yes", "no"], size),
    }
    score = rng.normal(0, 1, size).round(int(rng.integers(1, 4)))
    threshold = float(rng.choice([-0.5, 0.3, 1.0]))
    table = counted({name: cells.tolist() for name, cells in columns.items()}, score, cuts=(threshold,))
    method = Outcomes(
        by=("sex", "race"),
        intersections=(("sex", "race"),),
        score="score",
        threshold=threshold,
        truth="stayed",
        truth_favourable="yes",
        table=table,
    )
    whole, public = documents(method)
    assert all(component.threshold_map.thresholds for component in whole.components[1::2])
    for component in public.components[1::2]:
        tenths = {tenth.above for row in component.groups for tenth in row.tenths}
        cuts = [score >= row.threshold for row in component.threshold_map.thresholds]
        cuts += [score > above for above in tenths - {None}]
        if not cuts:
            continue
        cuts += [score >= threshold, score > np.median(score), score < np.inf, score > np.inf]
        cuts.sort(key=np.count_nonzero)
        for high, low in combinations(cuts, 2):
            for row in (*component.groups, component.unknown):
                for truth in ("yes", "no"):
                    inside = people_of(component, row.group, columns) & (columns["stayed"] == truth)
                    assert not 0 < np.count_nonzero(inside & low & ~high) < 5


def test_the_public_form_of_a_rating_of_20_000_people_shows_at_least_35_thresholds():
    _, public = documents(method_of(*scored_file(20_000), threshold=0.5))
    chart = public.components[1].threshold_map
    assert len(chart.thresholds) >= 35
    assert public.components[1].groups[0].tenths


def test_a_file_with_a_masked_count_has_no_public_threshold_map():
    group, truth, score = scored_file(2000)
    group[:3], group[3:] = 2, group[3:] % 2
    whole, public = documents(method_of(group, truth, score))
    assert whole.components[0].threshold_map.thresholds
    assert public.components[0].threshold_map.thresholds == ()
    assert "selected" not in json.dumps(as_json(public))


def test_recounting_the_file_of_a_rating_names_a_count_of_the_threshold_map_that_differs():
    group, truth, score = scored_file(400, decimals=1)
    method = method_of(group, truth, score)
    whole, _ = documents(method)
    assert [*recount(whole, method.task())] == []
    raised = score.copy()
    # above the median before and after, so that only the map can tell
    raised[int(np.flatnonzero((group == 0) & truth & (score > 1) & (score < 2))[0])] = 2.9
    (first, *_) = recount(whole, method_of(group, truth, raised).task())
    assert "have a score of" in first


def scored_alike(shape, people, groups=2, seed=0, **fields):
    """Make a request about scores of groups with equal means; `shape` draws them, given the group of each person."""
    rng = np.random.default_rng(seed)
    members, truth = rng.integers(0, groups, people), rng.integers(0, 2, people)
    scores = np.round(shape(rng, members), 3)
    columns = {"group": (tuple("ABCDE"[:groups]), members), "good": (("no", "yes"), truth)}
    table = DecisionTable.counted("sha256:test", columns, scores=scores)
    return Outcomes(by=("group",), score="score", truth="good", truth_favourable="yes", table=table, **fields)


SHAPES = {
    "two peaks or one": lambda rng, of: np.where(of, rng.choice([40, 60], of.size), 50) + rng.uniform(-4, 4, of.size),
    "wide or narrow": lambda rng, of: rng.normal(50, np.where(of, 13, 7)),
}


@pytest.mark.parametrize("shape", SHAPES.values(), ids=SHAPES)
def test_scores_with_equal_means_and_unequal_shares_above_a_threshold_are_not_declared_ucs(shape):
    """Of groups with equal means, 0 % of one and 50 % of the other can be above the threshold of a service."""
    finding = run(scored_alike(shape, 20_000), never_asked, 1)
    (component,) = finding.components
    assert (component.letter, component.declared, rate(finding).declared) == (Letter.UCS, False, False)
    assert component.reasons[0].code == "letter-depends-on-threshold"
    text = explain(component.reasons[0], Vocabulary.of(Outcomes))
    assert "mean scores hide a difference at a threshold of the score: " in text
    assert text.endswith(" or more.")


def test_dsbs_of_scores_is_withheld_only_if_people_with_the_same_truth_differ_at_a_threshold():
    """As people came, the groups differ by more than the tolerance in mean scores; that is no hidden difference."""
    rng = np.random.default_rng(5)
    members = rng.integers(0, 2, 20_000)
    truth = (rng.random(20_000) < np.where(members, 0.75, 0.35)).astype(int)
    columns = {"group": (("A", "B"), members), "good": (("no", "yes"), truth)}
    for spread, declared in ((np.full(20_000, 10.0), True), (np.where(members, 13.0, 7.0), False)):
        scores = np.round(50 + 10 * truth + spread * rng.normal(size=20_000), 2)
        table = DecisionTable.counted("sha256:test", columns, scores=scores)
        method = Outcomes(by=("group",), score="score", truth="good", truth_favourable="yes", table=table)
        (component,) = run(method, never_asked, 1).components
        assert (component.letter, component.declared) == (Letter.DSBS, declared)


@pytest.mark.parametrize("groups", [2, 5])
@pytest.mark.parametrize(
    "shape",
    [
        lambda rng, of: rng.normal(50, 10, of.size),
        lambda rng, of: rng.lognormal(0, 0.6, of.size),
        lambda rng, of: rng.choice(5, of.size, p=[0.1, 0.2, 0.4, 0.2, 0.1]),
    ],
    ids=["normal", "lognormal", "five scores"],
)
def test_scores_with_equal_distributions_keep_their_letter(shape, groups):
    """With the tolerance of one standard deviation, all of these files are declared UCS."""
    for seed, people in enumerate((4000, 600, 600)):
        finding = run(scored_alike(shape, people, groups, seed, delta_score=1), never_asked, seed)
        assert [reason.code for reason in finding.components[0].reasons] == ["outcomes-even"]
        assert rate(finding).declared


def test_the_public_form_names_no_threshold_and_no_rates_of_a_hidden_difference():
    _, public = documents(scored_alike(SHAPES["two peaks or one"], 20_000))
    reason, *_ = public.components[0].reasons
    assert (reason.code, reason.facts) == ("letter-depends-on-threshold", {})
    assert reason.text.endswith("mean scores hide a difference at a threshold of the score.")
