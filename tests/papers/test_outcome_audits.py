"""Published audits and the tables of other packages, reproduced by the method outcomes.

The numbers are those that a rule, a package's own tests or a published audit print (shared known answers and data).
"""

from __future__ import annotations

import csv
import gzip
import math

import numpy as np
import pytest

from assay.experiment import run
from assay.methods import Outcomes
from assay.methods.outcomes.method import Exclusion
from assay.methods.shared.outcome_tables.rates import disparity, flagged_by_chance, two_proportion_z
from tests.support.simulated.recorded_decisions import counted, never_asked, people
from tools.papers.shared_data import Shared, SharedDataMissing

SHARED = Shared()
MATRIX = ("tp", "fp", "fn", "tn")


@pytest.fixture(scope="module")
def known():
    try:
        return SHARED.known("outcomes.json")
    except SharedDataMissing as missing:
        pytest.skip(str(missing))


def rows(table, by, **fields):
    """Rate a table, and return the rows of its first component by group."""
    component = run(Outcomes(by=by, table=table, **fields), never_asked, 0).components[0]
    return {row.group: row for row in component.detail.groups}, component.detail


def hired(table, **fields):
    return rows(table, ("group",), decision="hired", favourable="yes", **fields)


# ---------------------------------------------------------------------------- selection and impact ratios
def truncated_or_rounded(value: float, printed: float, digits: int) -> bool:
    scale = 10**digits
    return printed in {math.floor(value * scale) / scale, round(value * scale) / scale}


def test_the_example_of_local_law_144_has_its_printed_scoring_rates_and_impact_ratios(known):
    """6 RCNY 5-301: a category's scoring rate is the share of its scores above the median of all."""
    example = known["ll144_scores_example"]["rows"]
    sexes = [row for row in example if row["by"] == "sex"]
    for part in (sexes, [row for row in example if row["by"] != "sex"]):
        category = [row["category"] for row in part for _ in range(row["n"])]
        above = [
            score for row in part for score in [2.0] * row["above_median"] + [0.0] * (row["n"] - row["above_median"])
        ]
        spread = np.array(above) + np.linspace(0, 0.5, len(above))  # so that no score is the median
        table = counted({"category": category}, list(spread))
        median = np.median(spread)
        expected = {row["category"]: 0 for row in part}
        for name, score in zip(category, spread, strict=True):
            expected[name] += int(score > median)
        table_rows, _ = rows(table, ("category",), score="score")
        assert {name: row.favourable for name, row in table_rows.items()} == expected
    for by in ("sex", "race/ethnicity"):
        part = [row for row in example if row["by"] == by]
        table_rows, _ = hired(people(**{row["category"]: (row["above_median"], row["n"]) for row in part}))
        for row in part:
            computed = table_rows[row["category"]]
            assert truncated_or_rounded(computed.rate.estimate, row["rate_printed"], 3), row
            assert truncated_or_rounded(computed.ratio.estimate, row["ratio_printed"], 2), row


def test_the_four_fifths_example_of_audit_ai_has_its_smallest_ratio_and_no_flag(known):
    selected = known["four_fifths"]["selected_of_1000"]
    table_rows, _ = hired(people(**{f"g{index}": (yes, 1000) for index, yes in enumerate(selected)}))
    smallest = min(row.ratio.estimate for row in table_rows.values())
    assert smallest == pytest.approx(known["four_fifths"]["smallest_ratio"], abs=1e-12)
    assert not any(row.flagged for row in table_rows.values())


def test_two_proportion_z_statistics_equal_those_of_audit_ai(known):
    for case in known["two_proportion_z"]["cases"]:
        (yes_1, no_1), (yes_2, no_2) = case["table"]
        z = two_proportion_z((yes_1, yes_2), (yes_1 + no_1, yes_2 + no_2))
        assert z == pytest.approx(case["z"], abs=1e-9)


def test_a_published_audit_has_its_printed_impact_ratio(known):
    table_rows, _ = hired(people(first=(10, 68), second=(6, 100)))
    ratio = table_rows["second"].ratio.estimate
    assert ratio == pytest.approx(known["published_audit"]["impact_ratio_exact"], abs=5e-4)
    assert truncated_or_rounded(ratio, known["published_audit"]["impact_ratio_printed"], 1)


def test_a_category_excluded_as_too_small_is_never_the_reference_of_impact_ratios_and_stays_in_the_table(known):
    counts = {row["category"]: (row["selected"], row["n"]) for row in known["excluded_category"]["rows"]}
    table = people(**counts)
    table_rows, detail = hired(table)
    assert detail.reference == "B"  # five people who were all selected
    excluded = tuple(Exclusion("group", name, "below 2 % of the data") for name in ("B", "C"))
    table_rows, detail = hired(table, exclusions=excluded)
    assert detail.reference == "A"
    assert (table_rows["B"].people, table_rows["B"].rate.estimate) == (5, 1.0)
    assert table_rows["B"].excluded == "below 2 % of the data"
    assert table_rows["B"].ratio.estimate is None
    assert table_rows["A"].ratio.estimate == 1.0


def test_the_four_fifths_rule_flags_an_unbiased_tool_by_chance_as_often_as_in_a_known_simulation(known):
    rng = np.random.default_rng(3)
    for rate in (0.5, 0.2):
        expected = known["four_fifths_by_chance"][f"rate_{rate}"]["14 cells of 100"]
        assert flagged_by_chance([100] * 14, rate, rng) == pytest.approx(expected, abs=0.01)
    assert flagged_by_chance([1000] * 2, 0.5, rng) < 0.001


# ---------------------------------------------------------------------------- error rates: langfair
GROUPS = "00000000111111111"
PREDICTED = "00110101001101010"
TRUE = "01010110011011011"


def test_disparities_of_error_rates_equal_those_of_langfair(known):
    table = counted({"group": [*GROUPS], "hired": [*PREDICTED], "stayed": [*TRUE]})
    table_rows, _ = rows(table, ("group",), decision="hired", favourable="1", truth="stayed")
    errors = {
        group: {name: rate.estimate for name, rate in row.error_rates.items()} | {"ppr": row.rate.estimate}
        for group, row in table_rows.items()
    }
    names = {
        "false_discovery": "fdr",
        "false_negative": "fnr",
        "false_omission": "for",
        "false_positive": "fpr",
        "prevalence": "ppr",
    }
    for printed, name in names.items():
        compared = disparity(errors["0"][name], errors["1"][name])
        expected = known["error_rate_disparities"][printed]
        assert abs(compared.difference) == pytest.approx(expected["difference"], abs=5e-5), printed
        assert compared.ratio == pytest.approx(expected["ratio"], abs=5e-5), printed


# ---------------------------------------------------------------------------- error rates: aequitas
def aequitas_file(name: str) -> list[dict[str, str]]:
    try:
        path = SHARED.data("aequitas") / name
    except SharedDataMissing as missing:
        pytest.skip(str(missing))
    with path.open(encoding="utf-8", newline="") as lines:
        return list(csv.DictReader(lines))


def number_or_none(text: str) -> float | None:
    return None if text in {"", "NA", "NaN"} else float(text)


COUNTS = {"tp": "tp", "fp": "fp", "fn": "fn", "tn": "tn"}
RATES = {"fpr": "fpr", "fnr": "fnr", "for": "for", "fdr": "fdr"}
EXPECTED = {
    1: ("expected_output_test_1.csv", "expected_output_group_test_1.csv", "expected_output_bias_test_1.csv",
        "expected_output_fairness_test_1.csv", "test_1_aequitas_20180501-114554.csv"),
    **{number: (f"expected_output_test_{number}.csv",) for number in (2, 3, 4, 5, 6, 7, 8, 10)},
}  # fmt: skip


@pytest.mark.parametrize(("number", "name"), [(number, name) for number, names in EXPECTED.items() for name in names])
def test_counts_rates_and_disparities_equal_the_tables_of_aequitas(number, name):
    cells = aequitas_file(f"test_{number}.csv")
    for expected in aequitas_file(name):
        column = expected.get("attribute_name") or "class"
        columns = {header: [row[header] for row in cells] for header in (column, "score", "label_value")}
        table = counted(columns)
        fields = {"favourable": "1", "unfavourable": ("0",), "truth_favourable": "1", "truth_unfavourable": ("0",)}
        table_rows, _ = rows(table, (column,), decision="score", truth="label_value", **fields)
        row = table_rows[expected["attribute_value"]]
        assert row.people == int(expected["group_size"])
        for count in MATRIX:
            assert row.matrix[count] == float(expected[count]), count
        for rate in RATES:
            assert_number(row.error_rates[rate].estimate, expected.get(rate), rate)
        if expected.get("pprev"):
            assert_number(row.rate.estimate, expected["pprev"], "pprev")
        reference = expected.get("reference_group") or expected.get("fdr_ref_group_value") or "High"
        other = table_rows[reference]
        for rate in RATES:
            if f"{rate}_disparity" in expected:
                mine, its = (group.error_rates[rate].estimate for group in (row, other))
                assert_number(disparity(mine, its).ratio, expected[f"{rate}_disparity"], f"{rate} disparity")
        if expected.get("pprev_disparity"):
            ratio = disparity(row.rate.estimate, other.rate.estimate).ratio
            assert_number(ratio, expected["pprev_disparity"], "pprev disparity")


def assert_number(computed: float | None, printed: str | None, name: str) -> None:
    """Compare with a printed number; what is not estimable is empty there, and ``None`` here."""
    if printed is None:
        return
    expected = number_or_none(printed)
    if expected is None:
        assert computed is None, name
    else:
        assert computed == pytest.approx(expected, abs=1e-9), name


def test_scores_of_an_aequitas_file_become_decisions_at_a_threshold():
    cells = aequitas_file("test_9.csv")
    table = counted(
        {"class": [row["class"] for row in cells], "label_value": [row["label_value"] for row in cells]},
        [float(row["score"]) for row in cells],
    )
    table_rows, _ = rows(table, ("class",), score="score", threshold=1.0, truth="label_value", truth_favourable="1")
    assert {name: row.favourable for name, row in table_rows.items()} == {"High": 1.0, "Low": 1.0}
    assert table_rows["Low"].matrix == {"tp": 0.0, "fp": 1.0, "fn": 2.0, "tn": 2.0}


# ---------------------------------------------------------------------------- Adult, against scikit-learn
COLUMNS = "age workclass weight education years marital occupation relationship race sex gain loss hours country income"
NAMES = COLUMNS.split()


@pytest.fixture(scope="module")
def adult():
    pytest.importorskip("sklearn", reason="scikit-learn is one of the optional packages (extra `real`)")
    from sklearn.linear_model import LogisticRegression
    from sklearn.preprocessing import StandardScaler

    try:
        path = SHARED.data("adult/adult.data.gz")
    except SharedDataMissing as missing:
        pytest.skip(str(missing))
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        cells = [[cell.strip() for cell in line.split(",")] for line in lines if line.strip()]
    cells = [row for row in cells if len(row) == len(NAMES)][:12_000]
    columns = {name: [row[index] for row in cells] for index, name in enumerate(NAMES)}
    numbers = np.array([[float(columns[name][index]) for name in ("age", "years", "gain", "loss", "hours")]
                        for index in range(len(cells))])  # fmt: skip
    rich = np.array([income == ">50K" for income in columns["income"]])
    model = LogisticRegression(max_iter=500).fit(StandardScaler().fit_transform(numbers), rich)
    score = model.predict_proba(StandardScaler().fit_transform(numbers))[:, 1]
    return {
        "sex": columns["sex"],
        "race": columns["race"],
        "hired": ["yes" if value >= 0.5 else "no" for value in score],
        "rich": ["yes" if value else "no" for value in rich],
    }, score


def test_error_rates_on_the_adult_data_by_sex_race_and_both_equal_those_of_scikit_learn(adult):
    from sklearn.metrics import confusion_matrix, roc_auc_score

    columns, score = adult
    method = Outcomes(
        by=("sex", "race"),
        intersections=(("sex", "race"),),
        decision="hired",
        favourable="yes",
        score="score",
        truth="rich",
        table=counted(columns, list(score)),
    )
    finding = run(method, never_asked, 0)
    members = {name: np.array(columns[name]) for name in ("sex", "race")}
    members["sex x race"] = np.array(
        [f"{sex} x {race}" for sex, race in zip(columns["sex"], columns["race"], strict=True)]
    )
    decided, truth = (np.array(columns[name]) == "yes" for name in ("hired", "rich"))
    compared = 0
    for by, groups in members.items():
        component, scored = (
            next(one for one in finding.components if one.name == f"{by}: {name}") for name in ("hired", "score")
        )
        for row in component.detail.groups:
            inside = groups == row.group
            tn, fp, fn, tp = confusion_matrix(truth[inside], decided[inside], labels=[False, True]).ravel()
            # as fairlearn.metrics defines them: selection_rate, true_positive_rate, false_positive_rate ...
            oracle = {
                "tpr": (tp, tp + fn),
                "fpr": (fp, fp + tn),
                "fnr": (fn, tp + fn),
                "tnr": (tn, fp + tn),
                "ppv": (tp, tp + fp),
                "for": (fn, fn + tn),
            }
            assert row.rate.estimate == pytest.approx(decided[inside].mean(), abs=1e-9)
            for name, (top, bottom) in oracle.items():
                expected = None if bottom == 0 else top / bottom
                assert row.error_rates[name].estimate == pytest.approx(expected, abs=1e-9), (
                    by,
                    row.group,
                    name,
                )
            compared += 1
        for row in scored.detail.groups:
            inside = groups == row.group
            assert row.auc == pytest.approx(roc_auc_score(truth[inside], score[inside]), abs=1e-9)
    assert compared == 2 + 5 + 10


def test_differences_and_ratios_on_the_adult_data_equal_those_of_fairlearn(adult):
    fairlearn = pytest.importorskip("fairlearn.metrics", reason="fairlearn is not installed")
    columns, score = adult
    decided, truth = (np.array(columns[name]) == "yes" for name in ("hired", "rich"))
    table = counted(columns, list(score))
    for by in ("sex", "race"):
        table_rows, _ = rows(table, (by,), decision="hired", favourable="yes", truth="rich")
        rates = [row.rate.estimate for row in table_rows.values()]
        given = {"sensitive_features": np.array(columns[by])}
        expected = fairlearn.demographic_parity_difference(truth, decided, **given)
        assert max(rates) - min(rates) == pytest.approx(expected, abs=1e-9)
        ratios = [row.ratio.estimate for row in table_rows.values()]
        assert min(ratios) == pytest.approx(fairlearn.demographic_parity_ratio(truth, decided, **given), abs=1e-9)
        odds = [[row.error_rates[name].estimate for row in table_rows.values()] for name in ("tpr", "fpr")]
        largest = max(max(values) - min(values) for values in odds)
        assert largest == pytest.approx(fairlearn.equalized_odds_difference(truth, decided, **given), abs=1e-9)
