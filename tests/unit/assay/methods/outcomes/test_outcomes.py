"""Tests of the method outcomes on files with known effects: letters, tables, missing values, clusters and scores."""

from dataclasses import replace

import numpy as np
import pytest

from assay.document import EffectDocument
from assay.errors import OutOfBounds, SpecificationError, UnknownName
from assay.experiment import run
from assay.explain import Vocabulary, explain
from assay.methods import Outcomes
from assay.methods.outcomes.method import Exclusion
from assay.methods.outcomes.missing_values import MissingValues
from assay.methods.shared.outcome_tables.decision_table import MOST_BUNDLES, CodedColumn, DecisionTable
from assay.model import Letter
from assay.rating.decision import rate
from tests.support.simulated.recorded_decisions import FILES, by_truth, counted, file_service, never_asked, people


def rated(method):
    finding = run(method, never_asked, 1)
    return finding.components[0], rate(finding)


def codes(reasons):
    return [reason.code for reason in reasons]


@pytest.mark.parametrize(
    ("step_1", "step_2", "letter"),
    [(0, 0, Letter.UCS), (0, 0.2, Letter.DSBS), (0.15, 0, Letter.BS), (0.15, 0.2, Letter.BS)],
)
def test_an_audit_of_simulated_decisions_gets_the_expected_letter_and_covering_intervals(step_1, step_2, letter):
    held = declared = 0
    for seed in range(4):
        service = file_service(step_1, step_2, seed)
        finding = service.rate(seed)
        rating = rate(finding)
        assert rating.letter is letter
        declared += rating.declared
        for name in ("step_1", "step_2"):
            interval = finding.components[0].effects[name]
            held += interval.low <= service.truths[f"effects.{name}"] <= interval.high
    assert held >= 7
    assert declared >= 3


@pytest.mark.parametrize("name", FILES)
def test_no_simulated_file_gets_a_wrong_letter_declared(name):
    rating = rate(FILES[name].rate(3))
    assert not rating.declared or rating.letter in FILES[name].deserves


def test_a_file_without_true_outcomes_or_scores_has_tables_but_no_letter():
    component, rating = rated(
        Outcomes(by=("group",), decision="hired", favourable="yes", table=people(A=(90, 100), B=(10, 100)))
    )
    assert rating.letter is None
    assert "only-outcomes-known" in codes(component.reasons)
    assert component.effects["step_1"] is None
    assert component.effects["step_2"].estimate == pytest.approx(0.8, abs=0.02)
    low = next(row for row in component.detail.groups if row.group == "B")
    assert (low.flagged, low.suspicious) == (True, True)
    assert low.shortfall == pytest.approx(80)
    assert low.ratio.low < 10 / 90 < low.ratio.high


def test_a_group_that_is_never_favoured_is_suspicious_beside_three_groups_with_ordinary_rates():
    table = people(A=(450, 1000), B=(440, 1000), C=(460, 1000), D=(0, 300))
    component, _ = rated(Outcomes(by=("group",), decision="hired", favourable="yes", table=table))
    never = next(row for row in component.detail.groups if row.group == "D")
    assert never.below_four_fifths > 0.99
    assert never.suspicious
    assert never.ratio.high < 0.05


def test_no_group_has_an_impact_ratio_if_the_reference_rate_is_zero():
    method = Outcomes(
        by=("group",), decision="hired", favourable="yes", unfavourable=("no",), table=people(A=(0, 40), B=(0, 60))
    )
    component, _ = rated(method)
    for row in component.detail.groups:
        assert row.rate.estimate == 0
        assert row.ratio == EffectDocument(why="not estimable: the reference rate is 0")
        assert row.flagged is None


# ---------------------------------------------------------------------------- unknown values
def test_people_of_an_unknown_group_or_decision_are_counted_but_not_compared():
    group = ["A"] * 50 + ["B"] * 50 + [""] * 7 + ["Unknown"] * 3
    hired = (
        ["yes"] * 20
        + ["no"] * 30
        + ["yes"] * 10
        + ["no"] * 35
        + ["", "withdrawn", "", "", ""]
        + ["yes"] * 7
        + ["no"] * 3
    )
    method = Outcomes(
        by=("group",),
        decision="hired",
        favourable="yes",
        unfavourable=("no",),
        unknown=("Unknown",),
        table=counted({"group": group, "hired": hired}),
    )
    component, _ = rated(method)
    assert [(row.group, row.people, row.undecided) for row in component.detail.groups] == [
        ("A", 50, 0),
        ("B", 45, 5),
    ]
    unknown = component.detail.unknown
    assert (unknown.people, unknown.favourable) == (10, 7.0)
    assert (component.usable, component.unusable) == (95, 15)


def test_a_true_outcome_known_only_after_favourable_decisions_gives_no_letter():
    """Else every rate of error would be 0 or 1 in all groups, and the service would look even."""
    people_of_file = by_truth(np.random.default_rng(1), 1.0, base=(0.5, 0.2), people=4000)
    method = people_of_file.rated_by()
    truth, hired = method.table.column("stayed"), np.array(method.table.column("hired").codes)
    hidden = CodedColumn("stayed", truth.values, tuple(np.where(hired == 1, truth.codes, -1).tolist()))
    columns = tuple(hidden if column.name == "stayed" else column for column in method.table.columns)
    component, rating = rated(replace(method, table=replace(method.table, columns=columns)))
    assert rating.letter is None
    assert codes(component.reasons)[0] == "mostly-unknown"


def test_a_letter_that_missing_decisions_could_change_is_not_declared():
    made = by_truth(np.random.default_rng(2), 1.0, people=20_000)
    method = made.rated_by()
    assert rated(method)[1].declared
    group, hired = (np.array(method.table.column(name).codes) for name in ("group", "hired"))
    columns = {"group": (("group 0", "group 1"), np.repeat(group, method.table.counts))}
    rng = np.random.default_rng(3)
    lost = rng.random(20_000) < 0.1
    columns["hired"] = (("no", "yes"), np.where(lost, -1, np.repeat(hired, method.table.counts)))
    columns["stayed"] = (("no", "yes"), np.repeat(np.array(method.table.column("stayed").codes), method.table.counts))
    component, rating = rated(replace(method, table=DecisionTable.counted("sha256:test", columns)))
    assert rating.letter is Letter.UCS
    assert not rating.declared
    assert codes(component.reasons)[0] == "letter-depends-on-what-was-lost"


def file_with_blanks(column, is_blank, share, rate_of, seed=0, sexes=("F", "M"), jobs=2):
    """Return columns of 12,000 people, where a `share` of the cells selected by `is_blank` is empty."""
    rng = np.random.default_rng(seed)
    columns = {"sex": [], "job": [], "hired": [], "suitable": []}
    for _ in range(12_000):
        suitable, person = rng.random() < 0.5, {"sex": sexes[rng.integers(2)], "job": f"job {rng.integers(jobs)}"}
        person["hired"] = "yes" if rng.random() < rate_of(person, suitable) else "no"
        person["suitable"] = "yes" if suitable else "no"
        if is_blank(person) and rng.random() < share:
            person[column] = ""
        for name, cell in person.items():
            columns[name].append(cell)
    return columns


def hired_women(person):
    return person["sex"] == "F" and person["hired"] == "yes"


def refused_women(person):
    return person["sex"] == "F" and person["hired"] == "no"


HIRED = {"by": ("sex",), "decision": "hired", "favourable": "yes"}
BY_TRUTH, BY_JOB = {**HIRED, "truth": "suitable"}, {**HIRED, "strata": ("job",)}


@pytest.mark.parametrize(
    ("fields", "file", "wrong_letter"),
    [
        (BY_TRUTH, ("sex", hired_women, 0.3, lambda _, suitable: 0.7 if suitable else 0.2), Letter.BS),
        (
            BY_TRUTH,
            (
                "sex",
                lambda person: refused_women(person) and person["suitable"] == "yes",
                0.45,
                lambda person, suitable: (0.7 - 0.15 * (person["sex"] == "F")) if suitable else 0.2,
            ),
            Letter.UCS,
        ),
        (BY_JOB, ("job", hired_women, 0.3, lambda *_: 0.5), Letter.BS),
        (BY_JOB, ("job", refused_women, 0.4, lambda person, _: 0.42 if person["sex"] == "F" else 0.54), Letter.DSBS),
    ],
    ids=["even, sex unknown", "biased, sex unknown", "even, job unknown", "biased, job unknown"],
)
def test_a_letter_that_unknown_groups_or_strata_could_change_is_not_declared(fields, file, wrong_letter):
    withheld = 0
    for seed in range(3):
        component, rating = rated(Outcomes(**fields, table=counted(file_with_blanks(*file, seed=seed))))
        assert not rating.declared
        withheld += rating.letter is wrong_letter and codes(component.reasons)[0] == "letter-depends-on-what-was-lost"
    assert withheld >= 1


def test_a_letter_that_people_with_neither_decision_nor_true_outcome_could_change_is_not_declared():
    rng = np.random.default_rng(3)
    columns = {"sex": [], "hired": [], "suitable": []}
    for _ in range(12_000):
        sex, hired, suitable = "FM"[rng.integers(2)], rng.random() < 0.5, rng.random() < 0.1
        is_blank = sex == "F" and hired and suitable and rng.random() < 0.5
        words = (sex, *("" if is_blank else "yes" if value else "no" for value in (hired, suitable)))
        for name, word in zip(columns, words, strict=True):
            columns[name].append(word)
    component, rating = rated(Outcomes(**BY_TRUTH, table=counted(columns)))
    assert not rating.declared
    assert "letter-depends-on-what-was-lost" in codes(component.reasons)


def test_a_letter_that_missing_decisions_about_heavily_weighted_people_could_change_is_not_declared():
    """Four of 1,000 women have the weight 40 and were refused: a sixth of the weight of all women."""
    rng = np.random.default_rng(0)
    women, hired = rng.random(40_000) < 0.5, rng.random(40_000) < 0.5
    heavy = women & (rng.random(40_000) < 0.004)
    columns = {"sex": np.where(women, "F", "M"), "job": np.array(["job 0", "job 1"])[rng.integers(2, size=40_000)]}
    columns["hired"] = np.where(heavy, "", np.where(hired, "yes", "no"))
    texts = {name: cells.tolist() for name, cells in columns.items()}
    for weights, declared in ((np.ones(40_000), True), (np.where(heavy, 40.0, 1.0), False)):
        component, rating = rated(Outcomes(**BY_JOB, table=counted(texts, weights=weights)))
        assert (rating.letter, rating.declared) == (Letter.UCS, declared)
        assert ("letter-depends-on-what-was-lost" in codes(component.reasons)) is not declared


@pytest.mark.parametrize(("share", "declared"), [(0.01, True), (0.15, False)])
def test_a_letter_that_unknown_outcomes_of_people_with_low_scores_could_change_is_not_declared(share, declared):
    """A `share` of the suitable women got a score that is 1.5 lower, and whether they were suitable is unknown."""
    rng = np.random.default_rng(0)
    women, suitable = rng.random(40_000) < 0.5, rng.random(40_000) < 0.3
    low = women & suitable & (rng.random(40_000) < share)
    scores = (0.3 * suitable + rng.normal(size=40_000) - 1.5 * low).round(2)
    columns = {"sex": np.where(women, "F", "M"), "suitable": np.where(low, "", np.where(suitable, "yes", "no"))}
    table = counted({name: cells.tolist() for name, cells in columns.items()}, scores)
    method = Outcomes(by=("sex",), score="score", truth="suitable", truth_favourable="yes", table=table)
    component, rating = rated(method)
    assert (rating.letter, rating.declared) == (Letter.UCS, declared)
    assert ("letter-depends-on-what-was-lost" in codes(component.reasons)) is not declared


@pytest.mark.parametrize("column", ["sex", "job", "hired"])
def test_missing_values_in_one_stratum_only_do_not_lead_to_a_declared_bias_within_it(column):
    """They change the difference there by more than the difference of all people."""
    file = (column, lambda person: hired_women(person) and person["job"] == "job 5", 0.6, lambda *_: 0.5)
    component, rating = rated(Outcomes(**BY_JOB, table=counted(file_with_blanks(*file, seed=4, jobs=6))))
    assert "biased-within-a-stratum" in codes(component.reasons)
    assert not rating.declared


@pytest.mark.parametrize("column", ["sex", "job"])
def test_half_a_percent_of_people_with_unknown_group_or_stratum_do_not_prevent_a_declared_letter(column):
    for letter, gap in ((Letter.UCS, 0.0), (Letter.BS, 0.15)):
        file = (column, lambda _: True, 0.005, lambda person, _, gap=gap: 0.5 - gap * (person["sex"] == "F"))
        _, rating = rated(Outcomes(**BY_JOB, table=counted(file_with_blanks(*file, seed=2))))
        assert (rating.letter, rating.declared) == (letter, True)


def lost_changes(method):
    """Return how much the missing values could change the effects, all groups being compared."""
    task = method.task()
    (grouping,), (output,) = task.groupings, task.outputs
    return MissingValues(task, output, grouping, grouping.codes < 0, outcome_range=1.0).changes()


def test_exchanging_group_names_does_not_change_how_far_people_of_unknown_group_could_move_effects():
    file = file_with_blanks("sex", hired_women, 0.1, lambda *_: 0.5)
    exchanged = {**file, "sex": [{"F": "M", "M": "F", "": ""}[sex] for sex in file["sex"]]}
    first, second = (
        lost_changes(Outcomes(**BY_JOB, truth="suitable", table=counted(columns))) for columns in (file, exchanged)
    )
    for name in ("step_1", "step_2", "stratum"):
        assert getattr(first, name) > 0
        assert getattr(first, name) == pytest.approx(getattr(second, name))


# ---------------------------------------------------------------------------- groups that are compared
def test_small_groups_stay_in_the_table_and_a_note_says_that_the_letter_does_not_cover_them():
    made = by_truth(np.random.default_rng(4), 1.0, people=6000, base=(0.5,) * 3, right=(0.7,) * 3, wrong=(0.2,) * 3,
                    shares=(0.5, 0.498, 0.002))  # fmt: skip
    component, rating = rated(made.rated_by())
    assert rating.letter is Letter.UCS
    (note,) = [reason for reason in component.reasons if reason.code == "groups-not-compared"]
    assert note.facts["groups"] == ["group 2"]
    assert [row.not_compared is None for row in component.detail.groups] == [True, True, False]


def test_only_groups_of_less_than_two_percent_can_be_excluded():
    table = people(A=(480, 960), B=(12, 40))
    exclusion = Exclusion("group", "B", "small")
    with pytest.raises(SpecificationError, match=r"B is 4\.0% of the people"):
        Outcomes(by=("group",), decision="hired", favourable="yes", exclusions=(exclusion,), table=table)
    with pytest.raises(UnknownName, match="no group of group is called 'C'"):
        Outcomes(
            by=("group",), decision="hired", favourable="yes", exclusions=(replace(exclusion, group="C"),), table=table
        )


def test_an_intersection_of_two_columns_has_its_own_component_with_a_row_for_each_combination():
    sex, race = ["F", "M"] * 100, ["X"] * 100 + ["Y"] * 100
    hired = ["yes" if (one, other) != ("F", "Y") else "no" for one, other in zip(sex, race, strict=True)]
    method = Outcomes(
        by=("sex", "race"),
        intersections=(("sex", "race"),),
        decision="hired",
        favourable="yes",
        table=counted({"sex": sex, "race": race, "hired": hired}),
    )
    finding = run(method, never_asked, 0)
    assert [component.name for component in finding.components] == ["sex", "race", "sex x race"]
    rates = {row.group: row.rate.estimate for row in finding.components[2].detail.groups}
    assert rates == {"F x X": 1, "F x Y": 0, "M x X": 1, "M x Y": 1}


# ---------------------------------------------------------------------------- scores
def test_people_with_a_score_above_the_overall_median_count_as_favourable_and_ties_are_counted():
    scores = [1, 2, 3, 3, 3, 4, 5, 6] * 10
    table = counted({"group": (["A"] * 4 + ["B"] * 4) * 10}, scores)
    component, _ = rated(Outcomes(by=("group",), score="score", table=table))
    assert (component.detail.median, component.detail.at_median) == (3, 30)
    assert [row.favourable for row in component.detail.groups] == [0, 30]
    assert component.effects["step_2"].estimate > 1


def test_binned_scores_keep_counts_above_the_median_and_above_a_threshold_exact():
    rng = np.random.default_rng(6)
    scores = rng.gamma(2, 1, 60_000)
    codes_of = rng.integers(0, 2, 60_000)
    table = DecisionTable.counted("sha256:test", {"group": (("A", "B"), codes_of)}, scores, cuts=(2.5,))
    assert len(table.counts) < 2000
    method = Outcomes(by=("group",), score="score", threshold=2.5, table=table)
    finding = run(method, never_asked, 0)
    for component, expected in zip(finding.components, (scores >= 2.5, scores > np.median(scores)), strict=True):
        favourable = [row.favourable for row in component.detail.groups]
        assert favourable == [expected[codes_of == code].sum() for code in (0, 1)]
    assert finding.components[1].detail.median == pytest.approx(np.median(scores))
    means = [row.mean_score.estimate for row in finding.components[1].detail.groups]
    assert means == pytest.approx([scores[codes_of == code].mean() for code in (0, 1)], abs=0.01)


def scored(scores, sexes, **fields):
    """Make a request about the scores of people, half of whom are proved right."""
    truth = np.arange(len(scores)) // 2 % 2
    columns = {"sex": (("F", "M"), sexes), "good": (("no", "yes"), truth)}
    table = DecisionTable.counted("sha256:test", columns, scores=scores, **fields)
    return Outcomes(by=("sex",), score="score", truth="good", truth_favourable="yes", table=table)


@pytest.mark.parametrize("weighted", [False, True])
def test_one_outlying_score_among_40000_does_not_make_a_biased_score_ucs(weighted):
    rng = np.random.default_rng(0)
    sexes = rng.integers(0, 2, 40_000)
    scores = np.round(50 + 10 * rng.normal(size=40_000) + 8 * sexes, 1)
    weights = np.full(40_000, 0.001) if weighted else None
    assert rated(scored(scores, sexes, weights=weights))[1].letter is Letter.BS
    scores[0] = 99_999
    component, rating = rated(scored(scores, sexes, weights=weights))
    assert (rating.letter, rating.declared) == (Letter.UCS, False)
    assert codes(component.reasons)[0] == "letter-depends-on-scale"
    assert "a few of them make up most" in explain(component.reasons[0], Vocabulary.of(Outcomes))


def test_the_range_of_unknown_scores_is_that_of_people_and_not_of_different_scores():
    """Twenty scores that a single person has are 0.1 % of the people, but nearly all different scores."""
    scores = np.array([0.0] * 9_900 + [1.0] * 9_880 + [*np.linspace(2, 8, 20), *[np.nan] * 200])
    rating = rated(scored(scores, np.arange(len(scores)) % 2))[1]
    assert (rating.letter, rating.declared) == (Letter.UCS, True)


@pytest.mark.parametrize("field", ["unfavourable", "truth_unfavourable", "step_unfavourable"])
def test_a_value_that_is_named_both_favourable_and_unfavourable_is_refused(field):
    """Earlier, everyone then had the unfavourable outcome, and the file was UCS."""
    columns = {"sex": ["F", "M"] * 50, "hired": ["yes", "no"] * 50, "stayed": ["yes", "yes", "no", "no"] * 25}
    named = {"steps": ("hired",)} if field == "step_unfavourable" else {"decision": "hired"}
    with pytest.raises(SpecificationError, match="favourable and unfavourable") as refused:
        Outcomes(
            by=("sex",),
            favourable="yes",
            truth="stayed",
            table=counted(columns),
            **named,
            **{field: ("no", "yes")},
        )
    assert refused.value.field == field


@pytest.mark.parametrize("again", [("sex", "race"), ("race", "sex")])
def test_an_intersection_that_is_named_twice_is_refused(again):
    with pytest.raises(SpecificationError, match="twice"):
        Outcomes(by=("sex", "race"), intersections=(("sex", "race"), again))


def test_a_calibrated_score_with_unequal_errors_is_bs_and_has_a_reason_about_the_trade_off():
    finding = FILES["calibrated score, unequal errors"].rate(0)
    component = finding.components[0]
    assert (component.letter, component.declared) == (Letter.BS, True)
    assert "calibrated-but-unequal" in codes(component.reasons)
    tenths = finding.components[1].detail.groups[0].tenths
    assert len(tenths) > 5
    assert all(abs(tenth.mean - tenth.truth.estimate) < 0.1 for tenth in tenths)


# ---------------------------------------------------------------------------- clusters, weights and the table
def test_many_clusters_are_put_into_bundles_of_equally_many_people():
    clusters = np.repeat(np.arange(1000), 3)
    group = np.tile([0, 1, 0], 1000)
    table = DecisionTable.counted("sha256:test", {"group": (("A", "B"), group)}, clusters=clusters)
    assert table.clusters == 1000
    assert max(table.bundles) == MOST_BUNDLES - 1
    per_bundle = np.bincount(table.bundles, table.counts)
    assert (per_bundle == 15).all()


def test_weights_of_people_change_rates_and_widen_intervals():
    group, hired = ["A"] * 200 + ["B"] * 200, (["yes", "no"] * 100) * 2
    table = {"group": group, "hired": hired}
    weights = np.where(np.arange(400) % 2, 1.0, 3.0)
    fields = {"by": ("group",), "decision": "hired", "favourable": "yes"}
    plain, _ = rated(Outcomes(**fields, table=counted(table)))
    weighted, _ = rated(Outcomes(**fields, table=counted(table, weights=weights)))
    first, second = (component.detail.groups[0].rate for component in (plain, weighted))
    assert (first.estimate, second.estimate) == (0.5, 0.75)
    size = 200 * 2**2 / 5  # Kish's effective number of people
    assert second.high - second.low == pytest.approx(2 * 1.96 * np.sqrt(0.75 * 0.25 / size), rel=0.03)


def test_strata_without_groups_in_common_cannot_be_compared():
    group = ["A"] * 60 + ["B"] * 60
    table = counted({"group": group, "hired": ["yes", "no"] * 60, "job": ["x"] * 60 + ["y"] * 60})
    component, rating = rated(Outcomes(by=("group",), decision="hired", favourable="yes", strata=("job",), table=table))
    assert rating.letter is None
    assert codes(component.reasons)[0] == "evidence-insufficient"


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"by": ()}, "name the columns with the groups"),
        ({"decision": ""}, "no column is called 'decision'"),
        ({"by": (), "attribute": "gender"}, "no column is called 'gender'"),
        ({"favourable": ""}, r"say which value of hired is favourable: no \(110\), yes \(90\)"),
        ({"favourable": "Y"}, "no value of hired is called 'Y'"),
        ({"decision": "hire"}, "no column is called 'hire'; did you mean 'hired'"),
        ({"truth": "stayed"}, r"say which value of stayed is favourable: 0 \(100\), 1 \(100\)"),
        ({"decision": "group"}, "decision names 'group' twice"),
        ({"intersections": (("group", "sex"),)}, "no column of by is called 'sex'"),
        ({"threshold": 0.5}, "a threshold needs a score column; leave the decision column out"),
    ],
)
def test_unknown_column_or_value_is_refused_and_the_message_lists_the_known_ones(fields, message):
    given = {"by": ("group",), "decision": "hired", "favourable": "yes"} | fields
    with pytest.raises(SpecificationError, match=message):
        Outcomes(**given, table=with_truth(people(A=(80, 100), B=(10, 100))))


def with_truth(table):
    """Add a column of truth that is 1 for half of the people of each cell."""
    columns = tuple(replace(column, codes=column.codes * 2) for column in table.columns)
    halves = tuple(count // 2 for count in table.counts)
    truth = CodedColumn("stayed", ("0", "1"), (0,) * len(halves) + (1,) * len(halves))
    return replace(table, columns=(*columns, truth), counts=halves * 2)


def test_a_decision_with_three_values_is_refused_until_the_unfavourable_ones_are_named():
    table = counted({"group": ["A", "B"] * 30, "hired": ["yes", "no", "withdrawn"] * 20})
    with pytest.raises(SpecificationError, match="hired has 3 values; name those of 'no', 'withdrawn'") as refused:
        Outcomes(by=("group",), decision="hired", favourable="yes", table=table)
    assert refused.value.field == "unfavourable"


@pytest.mark.parametrize(
    "change", [{"counts": (1,)}, {"rows": 3}, {"bundles": (0,)}, {"columns": (CodedColumn("group", ("A",), (0, 5)),)}]
)
def test_an_inconsistent_table_of_decisions_is_refused(change):
    table = DecisionTable("sha256:test", 2, (CodedColumn("group", ("A", "B"), (0, 1)),), (1, 1))
    with pytest.raises(OutOfBounds):
        replace(table, **change)


def test_a_file_of_300_people_gets_no_letter_unless_its_difference_is_large():
    few, rating = rated(by_truth(np.random.default_rng(5), 1.0, people=300).rated_by())
    assert (few.letter, rating.letter) == (None, None)
    reason = few.reasons[0]
    assert reason.code == "too-few-to-judge"
    assert reason.facts["needed"] > reason.facts["count"]
    assert few.effects["step_1"] is not None
    unfair = by_truth(np.random.default_rng(5), 1.0, people=300, right=(0.9, 0.3))
    component, _ = rated(unfair.rated_by())
    assert (component.letter, component.declared) == (Letter.BS, True)


# ---------------------------------------------------------------------------- each comparison needs its own people
def even_people(count=8000, seed=1, sexes="FM", jobs="AB"):
    """Return people of whom .7 of those proved right, and .2 of those proved wrong, are hired, as lists of columns."""
    rng = np.random.default_rng(seed)
    stayed = rng.random(count) < 0.5
    hired = rng.random(count) < np.where(stayed, 0.7, 0.2)
    columns = {"sex": rng.choice(list(sexes), count), "job": rng.choice(list(jobs), count)}
    columns |= {"hired": np.where(hired, "yes", "no"), "stayed": np.where(stayed, "yes", "no")}
    return {name: cells.tolist() for name, cells in columns.items()}


def joined(columns, count, **person):
    """Return the columns with `count` more people, who are all alike."""
    return {name: cells + [person.get(name, "A")] * count for name, cells in columns.items()}


BY_STAYED = {"by": ("sex",), "decision": "hired", "favourable": "yes", "truth": "stayed"}


@pytest.mark.parametrize(
    ("right", "wrong", "alike"), [(3000, 0, "all proved wrong"), (29, 3000, "all proved right"), (3000, 30, None)]
)
def test_a_large_group_that_is_never_hired_decides_the_letter_even_if_all_its_people_proved_right_or_wrong(
    right, wrong, alike
):
    columns = joined(joined(even_people(), right, sex="X", hired="no", stayed="yes"), wrong, sex="X", hired="no",
                     stayed="no")  # fmt: skip
    component, rating = rated(Outcomes(**BY_STAYED, table=counted(columns)))
    assert (rating.letter, rating.declared) == (Letter.BS, True)
    assert component.effects["step_2"].estimate > 0.4
    notes = [reason for reason in component.reasons if reason.code == "groups-not-compared"]
    assert [note.facts for note in notes] == ([{"groups": ["X"], "alike": alike}] if alike else [])
    row = next(row for row in component.detail.groups if row.group == "X")
    assert row.not_compared == (f"not compared among people who {alike}: too few" if alike else None)
    if alike:
        text = explain(notes[0], Vocabulary.of(Outcomes(**BY_STAYED, table=counted(columns))))
        assert "mong people who " + alike in text


def test_ucs_is_withheld_if_a_fifth_of_one_kind_of_people_is_in_groups_that_are_not_compared():
    columns = even_people(9000, sexes="FM")
    letters = {}
    for spellings in (15, 120):  # groups of about 20 people: 4 % and a third of all people
        split = {**columns, "sex": [f"N{row % spellings}" if row < 20 * spellings else sex
                                    for row, sex in enumerate(columns["sex"])]}  # fmt: skip
        component, rating = rated(Outcomes(**BY_STAYED, table=counted(split)))
        letters[spellings] = rating.letter, rating.declared, "letter-covers-too-few" in codes(rating.reasons)
    assert letters == {15: (Letter.UCS, True, False), 120: (Letter.UCS, False, True)}
    assert [reason.facts for reason in component.reasons if reason.code == "letter-covers-too-few"] == [{}]


def test_bs_is_declared_although_many_people_are_in_groups_that_are_not_compared():
    columns = even_people(9000)
    sexes = [f"N{row % 120}" if row < 2400 else sex for row, sex in enumerate(columns["sex"])]
    hired = ["no" if sex == "F" else answer for sex, answer in zip(sexes, columns["hired"], strict=True)]
    _, rating = rated(Outcomes(**BY_STAYED, table=counted({**columns, "sex": sexes, "hired": hired})))
    assert (rating.letter, rating.declared) == (Letter.BS, True)


def test_two_groups_of_which_one_has_nobody_proved_wrong_get_no_declared_ucs():
    columns = joined(even_people(4000, sexes="M"), 3000, sex="F", hired="no", stayed="yes")
    columns["hired"] = ["yes" if row % 20 < 9 else "no" for row in range(7000)]  # 45 % of everybody
    component, rating = rated(Outcomes(**BY_STAYED, table=counted(columns)))
    assert not rating.declared
    assert "letter-covers-too-few" in codes(component.reasons)


@pytest.mark.parametrize("other", ["f", "\u200bF", "F\u00a0"])
def test_groups_whose_names_differ_only_by_case_blanks_or_invisible_characters_are_named_in_a_warning(other):
    columns = even_people(3000, sexes=("F", "M", other))
    component, _ = rated(Outcomes(**BY_STAYED, table=counted(columns)))
    (warning,) = [reason for reason in component.reasons if reason.code == "similar-group-names"]
    assert sorted(warning.facts["groups"]) == sorted(["F", other])
    plain, _ = rated(Outcomes(**BY_STAYED, table=counted(even_people(3000))))
    assert "similar-group-names" not in codes(plain.reasons)


def test_opposite_effects_by_truth_and_stratum_that_cancel_by_each_of_them_are_bs():
    rng = np.random.default_rng(1)
    columns = even_people(12_000)
    cells = zip(columns["sex"], columns["job"], columns["stayed"], strict=True)
    favours = [((sex == "F") == (job == "A")) == (stayed == "yes") for sex, job, stayed in cells]
    columns["hired"] = ["yes" if draw < (0.7 if up else 0.3) else "no"
                        for up, draw in zip(favours, rng.random(12_000), strict=True)]  # fmt: skip
    component, rating = rated(Outcomes(**BY_STAYED, strata=("job",), table=counted(columns)))
    assert max(component.effects[step].estimate for step in ("step_1", "step_2")) < 0.05
    assert (rating.letter, rating.declared) == (Letter.BS, True)
    assert codes(component.reasons)[0] == "biased-within-a-stratum"


def test_a_file_that_is_even_by_truth_and_stratum_still_gets_ucs():
    _, rating = rated(Outcomes(**BY_STAYED, strata=("job",), table=counted(even_people(20_000))))
    assert (rating.letter, rating.declared) == (Letter.UCS, True)


def test_unknown_truths_of_one_stratum_count_in_the_worst_case_within_it():
    columns = even_people(20_000, jobs="AAAAAAAAB")
    stayed = ["" if job == "B" and row % 8 == 0 else truth
              for row, (job, truth) in enumerate(zip(columns["job"], columns["stayed"], strict=True))]  # fmt: skip
    changes = lost_changes(Outcomes(**BY_STAYED, strata=("job",), table=counted({**columns, "stayed": stayed})))
    assert changes.stratum > 4 * changes.step_1 > 0  # an eighth of B is unknown, but a seventieth of everybody


def test_a_file_whose_rows_are_all_repeated_says_so_and_any_other_file_does_not():
    method = by_truth(np.random.default_rng(1), 0.0, base=(0.7, 0.2), people=301).rated_by()
    repeated = replace(
        method.table, rows=20 * method.table.rows, counts=tuple(20 * count for count in method.table.counts)
    )
    (reason,) = run(replace(method, table=repeated), never_asked, 1).reasons
    assert reason.code == "rows-seem-repeated"
    assert "a multiple of 20" in explain(reason, Vocabulary.of(Outcomes))
    assert run(method, never_asked, 1).reasons == ()


def test_round_numbers_of_people_in_a_few_cells_do_not_look_like_repeated_rows():
    table = people(A=(480, 980), B=(500, 1000))
    assert run(Outcomes(by=("group",), decision="hired", favourable="yes", table=table), never_asked, 1).reasons == ()
