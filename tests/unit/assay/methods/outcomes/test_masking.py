"""Tests of public ratings of recorded decisions: no masked count follows from the published ones."""

import json
from collections import Counter
from itertools import product

import numpy as np
import pytest
from scipy.optimize import linprog

from assay.document import as_json
from assay.experiment import run
from assay.methods import Outcomes, rating_of
from assay.methods.outcomes.masking import answer_codes
from assay.methods.outcomes.suppression import LEAST_SHOWN, MaskingTooCostly, PublicTable, masked_parts
from tests.support.reports import document_of
from tests.support.simulated.recorded_decisions import counted, never_asked

SEXES, RACES, ANSWERS = ("F", "M", ""), ("A", "B", "C", "D", ""), ("yes", "no", "")


def rated(columns, seed=0, **fields):
    """Rate a file of columns, and return its whole and its public document."""
    fields = {"by": ("sex", "race"), "intersections": (("sex", "race"),), "decision": "hired", **fields}
    method = Outcomes(favourable="yes", table=counted(columns), **fields)
    finding = run(method, never_asked, seed)
    whole = rating_of(document_of(finding, experiment=json.loads(json.dumps(as_json(method.table)))))
    return json.loads(json.dumps(as_json(whole))), json.loads(json.dumps(as_json(method.masked(whole))))


def random_file(seed):
    """Return columns of a small file with rare races, rare answers and unknown cells."""
    rng = np.random.default_rng(seed)
    size, shares = int(rng.integers(40, 500)), rng.dirichlet(np.full(len(RACES), 0.8))
    return {
        "sex": rng.choice(SEXES, size, p=[0.5, 0.47, 0.03]).tolist(),
        "race": rng.choice(RACES, size, p=shares).tolist(),
        "hired": rng.choice(ANSWERS, size, p=[0.3, 0.67, 0.03]).tolist(),
    }


def members(by, group):
    """Return which sexes and races a row of a table is about."""
    if by == "sex":
        return lambda sex, race: sex == (group or "")
    if by == "race":
        return lambda sex, race: race == (group or "")
    if group is None:
        return lambda sex, race: "" in {sex, race}
    return lambda sex, race: (sex, race) == tuple(group.split(" x "))


CELLS = [*product(SEXES, RACES, ANSWERS)]


def vector(by, group, answers):
    inside = members(by, group)
    return np.array([float(inside(sex, race) and answer in answers) for sex, race, answer in CELLS])


def limit(row, sign, known, values):
    """Return the smallest (sign 1) or largest (-1) value of a count in all files that have the published counts."""
    solution = linprog(sign * row, A_eq=np.array([row * 0, *known]), b_eq=[0, *values])
    assert solution.status in {0, 3}
    return -sign * np.inf if solution.status == 3 else sign * solution.fun


COUNTS = {"people": ("yes", "no"), "favourable": ("yes",), "undecided": ("",)}


@pytest.mark.parametrize("seed", range(12))
def test_no_masked_count_can_be_computed_from_everything_that_is_published(seed):
    columns = random_file(seed)
    whole, public = rated(columns)
    true_counts = Counter(zip(columns["sex"], columns["race"], columns["hired"], strict=True))
    present = np.array([float(true_counts[cell]) for cell in CELLS])
    known, values, masked = [], [], []
    rows = public["aggregation"]["data"].get("rows")
    if rows is not None:
        known, values = [np.ones(len(CELLS))], [rows]
    for complete, component in zip(whole["components"], public["components"], strict=True):
        pairs = zip(
            [*complete["groups"], complete["unknown"]], [*component["groups"], component["unknown"]], strict=True
        )
        for before, after in pairs:
            for name, answers in COUNTS.items():
                row = vector(component["by"], before.get("group"), answers)
                assert row @ present == (before.get(name) or 0)
                if ("undecided" if name == "undecided" else "people") in after.get("masked", ()):
                    assert after.get(name) is None
                    masked.append((row, row @ present, (component["by"], before.get("group"), name)))
                else:
                    assert (after.get(name) or 0) == row @ present
                    known.append(row)
                    values.append(row @ present)
    shown = [value for row, value in zip(known, values, strict=True)]
    assert not any(0 < value < LEAST_SHOWN for value in shown)
    for row, value, count in masked:
        least, most = (limit(row, sign, known, values) for sign in (1, -1))
        assert most - least >= 1 - 1e-6, (count, value)
        if 0 < value < LEAST_SHOWN:
            assert most >= value + LEAST_SHOWN - 1e-6


def test_a_public_rating_without_small_counts_keeps_its_tables_but_omits_its_seed_and_counted_file():
    rng = np.random.default_rng(1)
    size = 4000
    columns = {
        "sex": rng.choice(["F", "M"], size).tolist(),
        "race": rng.choice(["A", "B"], size).tolist(),
        "hired": rng.choice(["yes", "no"], size).tolist(),
        "stayed": rng.choice(["yes", "no"], size).tolist(),
    }
    whole, public = rated(columns, truth="stayed")
    assert [component["groups"] for component in public["components"]] == [
        component["groups"] for component in whole["components"]
    ]
    assert public["letter"] == whole["letter"]
    assert (public.get("seed"), public["experiment"]["table"]) == (None, None)
    assert public["probabilities"] == {name: round(share, 2) for name, share in whole["probabilities"].items()}


def test_a_letter_decided_by_a_masked_group_is_published_without_its_numbers():
    rng = np.random.default_rng(2)
    columns = {
        "sex": ["F"] * 2000 + ["M"] * 2000,
        "hired": ["yes"] * 3 + ["no"] * 1997 + rng.choice(["yes", "no"], 2000).tolist(),
        "job": rng.choice(["sales", "office"], 4000).tolist(),
    }
    whole, public = rated(columns, by=("sex",), intersections=(), strata=("job",))
    assert (whole["letter"], whole["declared"]) == ("BS", True)
    assert (public["letter"], public["declared"]) == ("BS", True)
    (component,) = public["components"]
    assert {row["group"]: row.get("people") for row in component["groups"]} == {"F": None, "M": 2000}
    assert (component["probabilities"] or {}, component["effects"] or {}, public["probabilities"] or {}) == ({}, {}, {})
    for reason in (*public["reasons"], *component["reasons"]):
        assert not reason["facts"]
        assert not any(character.isdigit() for character in reason["text"])


def test_a_masked_group_changes_no_published_number_of_other_groups():
    rest = {"sex": ["F", "M"] * 1000, "hired": ["yes", "no", "no", "yes", "no"] * 400}
    published = []
    for few in (["yes"], ["yes", "no", "no"]):
        columns = {"sex": rest["sex"] + ["X"] * len(few), "hired": rest["hired"] + few}
        _, public = rated(columns, by=("sex",), intersections=())
        published.append({row["group"]: row for row in public["components"][0]["groups"]})
    assert published[0] == published[1]


@pytest.mark.parametrize("people", [250, 3000])
def test_a_file_whose_small_counts_would_take_too_long_to_mask_is_refused(people):
    rng = np.random.default_rng(3)
    columns = {f"c{index}": rng.choice([*"ABCDEFGHIJ"[:size]], people) for index, size in enumerate([10, 10, 10, 5, 5])}
    columns |= {name: rng.choice(["yes", "no"], people) for name in ("hired", "stayed")}
    pairs = (("c0", "c1"), ("c1", "c2"), ("c0", "c2"), ("c0", "c3"), ("c1", "c4"), ("c2", "c3"))
    table = counted({name: cells.tolist() for name, cells in columns.items()})
    settings = {"by": tuple(columns)[:5], "intersections": pairs, "decision": "hired", "truth": "stayed"}
    task = Outcomes(table=table, favourable="yes", truth_favourable="yes", **settings).task()
    (output,), truth = task.outputs, answer_codes(task.truth)
    tables = [PublicTable(grouping, answer_codes(output.favourable), truth) for grouping in task.groupings]
    with pytest.raises(MaskingTooCostly, match="use fewer columns or intersections"):
        masked_parts(tables, task.table.people)


def test_a_group_that_is_compared_in_step_2_only_withholds_the_numbers_if_its_truths_are_masked():
    stayed = ["yes", "no"] * 300 + ["yes"] * 297 + ["no"] * 3
    columns = {"sex": ["F", "M", "M", "F"] * 150 + ["X"] * 300, "hired": ["yes"] * 600 + ["no"] * 300, "stayed": stayed}
    whole, public = rated(columns, by=("sex",), intersections=(), truth="stayed")
    (row,) = [row for row in whole["components"][0]["groups"] if row["group"] == "X"]
    assert row["not_compared"] == "not compared among people who all proved wrong: too few"
    assert whole["components"][0]["effects"]["step_2"]["estimate"] > 0.9
    (component,) = public["components"]
    assert (component["letter"], component["effects"], component["probabilities"]) == ("BS", None, None)
