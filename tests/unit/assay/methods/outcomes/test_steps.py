"""Tests of the steps of a process: who reaches and passes each, where a gap arises, what published counts reveal."""

import json
from collections import Counter
from itertools import product

import numpy as np
import pytest
from scipy.optimize import linprog

from assay.document import as_json
from assay.errors import SpecificationError, UnknownName
from assay.experiment import run
from assay.explain import Vocabulary, explain
from assay.methods import Outcomes, rating_of
from assay.methods.outcomes.recount import recount
from assay.methods.outcomes.suppression import LEAST_SHOWN
from assay.model import Letter
from tests.support.reports import document_of
from tests.support.simulated.recorded_decisions import counted, never_asked

STEPS = ("screened", "interviewed", "hired")


def process(size, seed=0, rates=((0.6, 0.6), (0.5, 0.3), (0.5, 0.5))):
    """Return columns of people of two groups, with the rate of each step for each group."""
    rng = np.random.default_rng(seed)
    group = rng.integers(0, 2, size)
    columns, reached = {"group": np.where(group, "B", "A").tolist()}, np.ones(size, dtype=bool)
    for name, of_groups in zip(STEPS, rates, strict=True):
        reached = reached & (rng.random(size) < np.array(of_groups)[group])
        columns[name] = np.where(reached, "yes", "no").tolist()
    return columns


def funnel_of(columns, **fields):
    fields = {"by": ("group",), "favourable": "yes", "steps": STEPS, **fields}
    (component, *_) = run(Outcomes(table=counted(columns), **fields), never_asked, 0).components
    return component.detail.funnel


def test_each_step_has_the_table_of_the_people_who_passed_all_steps_before_it():
    columns = process(2000)
    funnel = funnel_of(columns)
    rows = [*zip(*columns.values(), strict=True)]
    for index, step in enumerate(funnel.steps):
        people = [row for row in rows if all(answer == "yes" for answer in row[1 : index + 1])]
        alone = {"group": [row[0] for row in people], step.step: [row[index + 1] for row in people]}
        method = Outcomes(by=("group",), decision=step.step, favourable="yes", table=counted(alone))
        table = run(method, never_asked, 0).components[0].detail
        assert step.reference == table.reference
        for row, same in zip(step.groups, table.groups, strict=True):
            assert (row.group, row.people, row.favourable) == (same.group, same.people, same.favourable)
            assert (row.rate, row.z, row.p, row.shortfall) == (same.rate, same.z, same.p, same.shortfall)
            assert row.ratio.estimate == same.ratio.estimate
            assert row.undecided == 0


def test_the_last_step_of_a_process_is_the_decision_and_the_step_with_the_largest_gap_is_named():
    method = Outcomes(by=("group",), favourable="yes", steps=STEPS, table=counted(process(4000)))
    assert method.decision == "hired"
    (component,) = run(method, never_asked, 0).components
    (gap,) = component.detail.funnel.gaps
    assert (component.detail.funnel.reference, gap.group, gap.smallest) == ("A", "B", "interviewed")
    assert gap.probability > 0.95
    assert gap.overall.estimate == pytest.approx(np.prod([ratio.estimate for ratio in gap.steps.values()]))
    rates = {row.group: row.rate.estimate for row in component.detail.groups}
    assert gap.overall.estimate == pytest.approx(rates["B"] / rates["A"])


def test_groups_with_equal_gaps_at_all_steps_have_no_step_with_a_clearly_largest_gap():
    (gap,) = funnel_of(process(4000, rates=((0.6, 0.55),) * 3)).gaps
    assert gap.probability < 0.9


@pytest.mark.slow
def test_intervals_of_the_ratio_at_each_step_and_overall_cover_the_true_ratios():
    held = Counter()
    for seed in range(120):
        (gap,) = funnel_of(process(2000, seed, ((0.6, 0.5), (0.5, 0.4), (0.5, 0.5)))).gaps
        truth = {"screened": 5 / 6, "interviewed": 0.8, "hired": 1.0}
        for name, ratio in truth.items():
            held[name] += gap.group == "B" and gap.steps[name].low <= ratio <= gap.steps[name].high
        held["overall"] += gap.group == "B" and gap.overall.low <= np.prod([*truth.values()]) <= gap.overall.high
    assert min(held.values()) >= 0.92 * 120, held


# ---------------------------------------------------------------------------- order, and unknown answers
ODD = {
    "group": ["A"] * 60 + ["B"] * 60 + ["A", "A", "B", "", "A"],
    "screened": ["yes", "no"] * 60 + ["yes", "no", "", "no", "yes"],
    "interviewed": ["yes", "no"] * 60 + ["no", "yes", "yes", "no", ""],
    "hired": ["yes", "no"] * 60 + ["yes", "yes", "no", "yes", "no"],
}


def test_people_who_passed_a_step_after_failing_an_earlier_one_are_counted_as_out_of_order():
    funnel = funnel_of(ODD)
    disorder = {step.step: {row.group: row.people for row in step.out_of_order} for step in funnel.steps}
    assert disorder == {"screened": {}, "interviewed": {"A": 1, "B": 1}, "hired": {"A": 2, None: 1}}
    passed = {step.step: {row.group: row.favourable for row in step.groups} for step in funnel.steps}
    assert passed == {
        "screened": {"A": 32, "B": 30},
        "interviewed": {"A": 30, "B": 30},
        "hired": {"A": 30, "B": 30},
    }


def test_people_who_passed_a_step_after_failing_an_earlier_one_keep_their_recorded_final_decision():
    method = Outcomes(by=("group",), favourable="yes", steps=STEPS, table=counted(ODD))
    (component,) = run(method, never_asked, 0).components
    assert {row.group: row.favourable for row in component.detail.groups} == {"A": 32, "B": 30}


def test_people_with_unknown_outcome_are_counted_but_left_out_of_rates():
    screened, interviewed, hired = funnel_of(ODD).steps
    rows = [{row.group: (row.people, row.undecided) for row in step.groups} for step in (screened, interviewed, hired)]
    assert rows == [{"A": (63, 0), "B": (60, 1)}, {"A": (31, 1), "B": (30, 0)}, {"A": (30, 0), "B": (30, 0)}]


def test_an_empty_cell_means_not_passed_if_the_request_says_so():
    rows = {
        row.group: (row.people, row.undecided) for row in funnel_of(ODD, step_unfavourable=("no", "")).steps[0].groups
    }
    assert rows == {"A": (63, 0), "B": (61, 0)}


def test_steps_can_have_their_own_words_for_passed_and_other_words_count_as_unknown():
    columns = process(300)
    columns["screened"] = ["pass" if answer == "yes" else "fail" for answer in columns["screened"]]
    columns["hired"] = ["withdrew" if index < 3 else answer for index, answer in enumerate(columns["hired"])]
    fields = {"step_favourable": ("pass", "yes"), "step_unfavourable": ("fail", "no"), "unfavourable": ("no",)}
    steps = funnel_of(columns, **fields).steps
    assert sum(row.favourable for row in steps[0].groups) == columns["screened"].count("pass")
    first = [columns["interviewed"][index] for index in range(3)]
    assert sum(row.undecided for row in steps[2].groups) == first.count("yes")


def test_group_without_people_at_a_step_has_no_gap_and_no_rate_for_that_step():
    columns = {"group": ["A"] * 50 + ["B"] * 50, "screened": ["yes", "no"] * 25 + ["no"] * 50}
    columns["hired"] = ["yes", "no", "no", "no"] * 12 + ["no"] * 52
    funnel = funnel_of(columns, steps=("screened", "hired"))
    row = next(row for row in funnel.steps[1].groups if row.group == "B")
    assert (row.people, row.rate.estimate, row.rate.why) == (0, None, "not estimable: nobody with a known outcome")
    assert funnel.gaps == ()


@pytest.mark.parametrize(
    ("fields", "error", "message"),
    [
        ({"steps": ("screened", "screened")}, SpecificationError, "steps names 'screened' twice"),
        ({"steps": ("group", "hired")}, SpecificationError, "steps names 'group' twice"),
        ({"steps": ("screened", "onboarded")}, UnknownName, "onboarded"),
        ({"favourable": "ja"}, UnknownName, "ja"),
        ({"step_favourable": ("passed",)}, UnknownName, "passed"),
        ({"step_favourable": ("yes", "no")}, SpecificationError, "several values that mean “passed”"),
    ],
)
def test_an_invalid_step_is_refused_with_the_reason(fields, error, message):
    with pytest.raises(error, match=message):
        funnel_of(process(100), **fields)


def test_recounting_the_file_of_a_rating_names_the_step_whose_count_differs():
    columns = process(400)
    method = Outcomes(by=("group",), favourable="yes", steps=STEPS, table=counted(columns))
    whole = rating_of(
        document_of(run(method, never_asked, 0), experiment=json.loads(json.dumps(as_json(method.table))))
    )
    assert [*recount(whole, method.task())] == []
    columns["screened"][columns["screened"].index("no")] = "yes"
    changed = Outcomes(by=("group",), favourable="yes", steps=STEPS, table=counted(columns))
    assert any("who reached “screened” pass it in the file" in message for message in recount(whole, changed.task()))


# ---------------------------------------------------------------------------- the public funnel
SEXES, RACES, ANSWERS = ("F", "M", ""), ("A", "B"), ("yes", "no", "")
CELLS = [*product(SEXES, RACES, ANSWERS, ANSWERS)]


def in_row(by, group):
    if " x " in by:
        return lambda sex, race: f"{sex} x {race}" == group if group else sex == ""
    return (lambda sex, race: sex == (group or "")) if by == "sex" else (lambda sex, race: race == (group or ""))


def vector(by, group, answers):
    inside = in_row(by, group)
    return np.array([float(inside(sex, race) and answers(first, second)) for sex, race, first, second in CELLS])


TABLE = {
    "people": lambda first, second: second != "",
    "favourable": lambda first, second: second == "yes",
    "undecided": lambda first, second: second == "",
}
OF_STEPS = (
    {
        "people": lambda first, second: first != "",
        "favourable": lambda first, second: first == "yes",
        "undecided": lambda first, second: first == "",
        "disorder": lambda first, second: False,
    },
    {
        "people": lambda first, second: first == "yes" and second != "",
        "favourable": lambda first, second: first == "yes" and second == "yes",
        "undecided": lambda first, second: first == "yes" and second == "",
        "disorder": lambda first, second: first != "yes" and second == "yes",
    },
)


def published(component):
    """Yield the vector of every count of a component, and the count, which is ``None`` where it is masked."""
    tables = [(component, TABLE), *zip(component.funnel.steps, OF_STEPS, strict=True)]
    for table, counts in tables:
        for row in (*table.groups, component.unknown if table is component else table.unknown):
            for name, answers in counts.items():
                row_vector = vector(component.by, row.group, answers)
                if name == "disorder":
                    people = {disorder.group: disorder.people for disorder in table.out_of_order}
                    yield row_vector, people.get(row.group, 0)
                else:
                    hidden = ("undecided" if name == "undecided" else "people") in row.masked
                    yield row_vector, None if hidden else getattr(row, name) or 0


def limit(row, sign, known, values):
    solution = linprog(sign * row, A_eq=np.array([row * 0, *known]), b_eq=[0, *values])
    assert solution.status in {0, 3}
    return -sign * np.inf if solution.status == 3 else sign * solution.fun


@pytest.mark.parametrize("seed", range(6))
def test_no_masked_count_of_a_process_with_steps_can_be_computed_from_published_counts(seed):
    rng = np.random.default_rng(seed)
    size = int(rng.integers(60, 400))
    columns = {
        "sex": rng.choice(SEXES, size, p=[0.5, 0.46, 0.04]).tolist(),
        "race": rng.choice(RACES, size, p=[0.85, 0.15]).tolist(),
        "screened": rng.choice(ANSWERS, size, p=[0.5, 0.45, 0.05]).tolist(),
    }
    hired = np.where(np.array(columns["screened"]) == "yes", rng.choice(ANSWERS, size, p=[0.3, 0.65, 0.05]), "no")
    columns["hired"] = np.where(rng.random(size) < 0.03, "yes", hired).tolist()
    method = Outcomes(
        by=("sex", "race"),
        intersections=(("sex", "race"),),
        favourable="yes",
        steps=("screened", "hired"),
        table=counted(columns),
    )
    whole = rating_of(
        document_of(run(method, never_asked, 0), experiment=json.loads(json.dumps(as_json(method.table))))
    )
    public = method.masked(whole)
    true_counts = Counter(zip(*columns.values(), strict=True))
    present = np.array([float(true_counts[cell]) for cell in CELLS])
    known, values, masked = [], [], []
    if public.aggregation.data.rows is not None:
        known, values = [np.ones(len(CELLS))], [public.aggregation.data.rows]
    for complete, component in zip(whole.components, public.components, strict=True):
        for row, count in published(complete):
            assert row @ present == count
        for row, count in published(component):
            if count is None:
                masked.append((row, row @ present))
                continue
            assert count == row @ present
            assert not 0 < count < LEAST_SHOWN
            known.append(row)
            values.append(count)
        rows = [row for step in component.funnel.steps for row in (*step.groups, step.unknown)]
        if any(row.masked for row in rows):
            assert component.funnel.gaps == ()
    assert masked
    for row, value in masked:
        least, most = (limit(row, sign, known, values) for sign in (1, -1))
        assert most - least >= 1 - 1e-6, value
        if 0 < value < LEAST_SHOWN:
            assert most >= value + LEAST_SHOWN - 1e-6


def reasons_of(columns, steps):
    """Rate people whose truth is known by chance, and return the component and the sentences of its reasons by code."""
    truth = np.random.default_rng(9).integers(0, 2, len(columns["group"]))
    table = counted({**columns, "stayed": np.where(truth, "yes", "no").tolist()})
    method = Outcomes(by=("group",), favourable="yes", steps=steps, truth="stayed", table=table)
    (component,) = run(method, never_asked, 1).components
    return component, {reason.code: explain(reason, Vocabulary.of(Outcomes)) for reason in component.reasons}


def test_a_letter_of_a_process_whose_steps_offset_each_other_names_these_steps_and_covers_the_end_only():
    columns = process(10_000, rates=((0.8, 0.4), (0.4, 0.8), (1, 1)))
    component, texts = reasons_of(columns, ("screened", "interviewed"))
    assert (component.letter, component.declared) == (Letter.UCS, True)
    assert "the letter is about the end of the process only" in texts["steps-differ"]
    assert "screened and interviewed" in texts["steps-differ"]


def test_a_process_whose_steps_treat_groups_alike_names_no_step():
    for seed in range(5):
        columns = process(3000, seed, rates=((0.5, 0.5), (0.5, 0.5), (1, 1)))
        assert "steps-differ" not in reasons_of(columns, ("screened", "interviewed"))[1]
