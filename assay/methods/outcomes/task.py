"""Settings of a request about recorded decisions, with its table: what is compared, and which outcomes are judged."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from assay.methods.outcomes.steps import Step
from assay.methods.shared.outcome_tables.decision_table import DecisionTable, Grouping
from assay.methods.shared.outcome_tables.group_tables import Outcomes
from assay.model import Floats

Mask = NDArray[np.bool_]
"""Whether each cell of a table is selected, shape (cells,)."""

LEAST_PEOPLE = 30
"""Minimum number of people of a group, and of its people with each true outcome, for it to affect a letter."""

MOST_STRATA = 12
"""Maximum number of strata that are each judged separately; of more, the largest are."""

TRUTH_CLASSES = ((1.0, "all proved right"), (0.0, "all proved wrong"))
"""True outcomes (1: the favourable decision is right), each with a description of the people who have it."""


@dataclass(frozen=True)
class Output:
    """An outcome to judge: a decision, or a score."""

    name: str
    """Name of its column."""
    values: Floats
    """Shape (cells,): 1 or 0, or a score in standard deviations; NaN if unknown."""
    favourable: Floats
    """Shape (cells,): 1 for the favourable outcome, which the tables count, otherwise 0; NaN if unknown."""
    words: str
    """The favourable outcome in words."""
    delta: float
    """Largest effect that counts as none."""
    binary: bool
    """Whether `values` are 0 or 1."""
    by_few: bool = False
    """Whether outliers dominate: a few scores make up most of the standard deviation that divides `values`."""
    facts: Mapping[str, Any] = field(default_factory=dict)
    """Further facts for the tables, such as the median of the scores."""


@dataclass(frozen=True)
class Task:
    """A table of recorded decisions with all settings of a request about it."""

    table: DecisionTable
    groupings: Sequence[Grouping]
    outputs: Sequence[Output]
    truth: Floats | None
    scores: Floats | None
    """`truth` and `scores`, shape (cells,): true outcome (1, 0 or NaN) and score, as in `group_tables.Outcomes`."""
    strata: Grouping | None
    """The strata within which people are compared, with the names of their columns."""
    excluded: Mapping[str, Mapping[str, str]]
    """By name of a grouping: the excluded groups, each with its reason."""
    confidence: float
    delta: float
    """Largest difference of rates that counts as none."""
    threshold: float | None = None
    """Score from which the decision is favourable."""
    steps: Sequence[Step] = ()
    """Steps of the process, the first one first."""

    def outcomes(self, output: Output) -> Outcomes:
        """Return what the tables count: favourable outcomes, truth and (unless the output is a decision) scores."""
        return Outcomes(output.favourable, self.truth, None if output.binary else self.scores)
