"""Tests of vectors as inputs: the distribution of each group and side, and refused fields."""

from dataclasses import replace

import numpy as np
import pytest

from assay.errors import SpecificationError, UnknownName
from assay.methods.stimulus_sampling.inputs import VectorStimuli

CENTRES = VectorStimuli(
    ("a", "b"), {"one": (1.0, 0.0), "two": (-1.0, 0.0)}, {"left": (0.0, 2.0), "right": (0.0, -2.0)}, (1.0, 0.5)
)
ROWS = tuple(
    {"group": "one" if n % 2 else "two", "kind": "x" if n % 4 < 2 else "y", "a": float(n % 7), "b": n % 5}
    for n in range(80)
)


def test_the_mean_of_a_test_vector_is_the_centre_of_its_group_plus_the_offset_of_its_content():
    prior = CENTRES.priors[0, 1]
    assert prior.mean == pytest.approx([1.0, -2.0])
    drawn = prior.draw(20_000, np.random.default_rng(0))
    assert drawn.std(axis=0) == pytest.approx([1.0, 0.5], rel=0.03)


def test_a_distribution_is_fitted_to_the_rows_of_each_group_and_kind_of_content():
    made = VectorStimuli(("a", "b"), rows=ROWS, column="group", side="kind")
    assert (made.values, made.side_names) == (("one", "two"), ("x", "y"))
    own = np.array([[row["a"], row["b"]] for row in ROWS if (row["group"], row["kind"]) == ("two", "y")])
    assert made.priors[1, 1].mean == pytest.approx(own.mean(axis=0))


def test_a_test_vector_is_sent_as_its_named_feature_values_only():
    assert CENTRES.record(np.array([1.5, 2.0])) == (("a", 1.5), ("b", 2.0))


@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"sd": (1.0,)}, "vectors.sd"),
        ({"sd": (1.0, 0.0)}, "vectors.sd"),
        ({"centres": {"one": (1.0, 0.0)}}, "vectors.centres"),
        ({"centres": {"one": (1.0, 0.0), "two": (float("inf"), 0.0)}}, "vectors.centres.two"),
        ({"sides": {"left": (0.0, 2.0)}}, "vectors.sides"),
        ({"names": ("a", "a")}, "vectors.names"),
        ({"rows": ROWS}, "vectors.rows"),
        ({"centres": {}}, "vectors.rows"),
    ],
)
def test_fields_that_describe_no_distribution_are_refused(change, field):
    with pytest.raises(SpecificationError) as refused:
        replace(CENTRES, **change)
    assert refused.value.field == field


@pytest.mark.parametrize(
    ("change", "error"),
    [
        ({"column": "nobody"}, UnknownName),
        ({"side": "group"}, SpecificationError),
        ({"rows": (*ROWS, {"group": "one", "kind": "x", "a": None, "b": 1.0})}, SpecificationError),
        ({"rows": ROWS[:6]}, SpecificationError),
        ({"rows": tuple({**row, "a": 9e8 + at / 10**6, "b": 0.0} for at, row in enumerate(ROWS))}, SpecificationError),
    ],
)
def test_rows_to_which_no_distribution_can_be_fitted_are_refused(change, error):
    with pytest.raises(error):
        VectorStimuli(**({"names": ("a", "b"), "rows": ROWS, "column": "group", "side": "kind"} | change))
