"""Letter of Srivastava & Rossi's two-step rule (2018) with Kolmogorov-Smirnov tests, shown beside Assay's letter.

Their section 3.2 names three tests: chi-squared, Kolmogorov-Smirnov and Kullback-Leibler. On numbers and scores, which
have an order, Kolmogorov-Smirnov is the one that applies. Two outputs are *similar* if the test does not reject.
"""

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from itertools import combinations
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike

from assay.errors import EvidenceError, OutOfBounds, SpecificationError, TooFewObservations
from assay.model import Floats, Integers
from assay.statistics.hypothesis_tests.published import Aggregate, aggregate_biased, two_step_letter

Scale = Literal["nominal", "ordinal", "continuous"]

EXACT_UP_TO = 1_000_000
"""Product of the sample sizes up to which the p-value is exact (tens of milliseconds)."""


class UnorderedValues(SpecificationError):
    """Kolmogorov-Smirnov was called with nominal values, which have no order."""

    code = "unordered-values"

    def __init__(self) -> None:
        super().__init__(
            "Kolmogorov-Smirnov compares cumulative distributions, and categories have no order to cumulate in: "
            "the answer would depend on how they happen to be numbered, and its power on category codes is nil; "
            "use goodness.exact_multinomial",
            "scale",
        )


@dataclass(frozen=True)
class KolmogorovSmirnov:
    """Result of a two-sample Kolmogorov-Smirnov test."""

    statistic: float
    """Largest distance between the two empirical distribution functions, in [0, 1]."""
    p: float
    """Two-sided p-value. With ties, which ordinal values always have, it is an upper bound."""
    test: str
    """How `p` was computed: ``"exact"`` or ``"asymptotic"``."""


def kolmogorov_smirnov(sample: ArrayLike, reference: ArrayLike, *, scale: Scale) -> KolmogorovSmirnov:
    """Test whether two samples come from one distribution.

    Parameters
    ----------
    sample, reference : array_like, shape (n,), (m,)
        Values in any order.
    scale : {"nominal", "ordinal", "continuous"}
        Scale of the values. The caller must declare it: numbers alone do not show whether they are codes.

    Raises
    ------
    UnorderedValues, TooFewObservations, OutOfBounds
        If the values are nominal, a sample is empty, or a value is not a finite number.
    """
    if scale == "nominal":
        raise UnorderedValues
    first, second = _validate_sample(sample, "sample"), _validate_sample(reference, "reference")
    from scipy.stats import ks_2samp  # imported here, because the import takes 1.5 s and is seldom needed

    exact = first.size * second.size <= EXACT_UP_TO
    result = ks_2samp(first, second, method="exact" if exact else "asymp")
    return KolmogorovSmirnov(
        float(result.statistic), min(1.0, float(result.pvalue)), "exact" if exact else "asymptotic"
    )


def _validate_sample(values: ArrayLike, name: str) -> Floats:
    array = np.asarray(values, dtype=float)
    if array.ndim != 1 or not np.isfinite(array).all():
        raise OutOfBounds(f"the {name} must be a row of finite numbers", name)
    if array.size == 0:
        raise TooFewObservations(f"the {name} is empty")
    return array


RULE = "kolmogorov-smirnov"
"""Name of the rule in a rating, to which the aggregation ``vote`` is added."""

Samples = tuple[Floats, Floats]


@dataclass(frozen=True)
class Blocks:
    """Outputs to compare, shape (profiles, values), with what is needed to form unbiased and biased blocks of them.

    `original` is the index of each record's original value; it is ``None`` for sentences, for which `side` is the list
    (0 or 1) of the content. In a biased block, a share `tie` of a group's sentences has content from one list.
    """

    outputs: Floats
    values: Sequence[str]
    original: Integers | None
    side: Integers
    tie: float

    @property
    def scale(self) -> Scale:
        """``nominal`` if all outputs are 0 or 1, which are labels without scores; otherwise ``continuous``."""
        return "nominal" if np.isin(self.outputs, (0.0, 1.0)).all() else "continuous"

    def unbiased(self) -> Iterator[tuple[str, Samples]]:
        """Yield each pair of values by name, with the outputs of all profiles under either value."""
        for a, b in combinations(range(len(self.values)), 2):
            yield f"{self.values[a]}, {self.values[b]}", (self.outputs[:, a], self.outputs[:, b])

    def biased(self) -> Iterator[tuple[str, Samples]]:
        """Yield each pair of values by name, with the outputs of two groups: one value each, and different contents.

        Records are grouped by original value. Of sentences, either value in turn has contents mostly from list 0.
        """
        for a, b in combinations(range(len(self.values)), 2):
            pair = f"{self.values[a]}, {self.values[b]}"
            if self.original is not None:
                yield pair, (self.outputs[self.original == a, a], self.outputs[self.original == b, b])
                continue
            for majority_side in (0, 1):
                first_indices = self._select_tied(majority_side)
                second_indices = self._select_tied(1 - majority_side)  # the other value has mostly the other list
                yield (
                    f"{pair} ({'one' if majority_side == 0 else 'other'} way)",
                    (self.outputs[first_indices, a], self.outputs[second_indices, b]),
                )

    def _select_tied(self, majority_side: int) -> Integers:
        """Return indices of as many profiles as possible, evenly spread; a share `tie` is from list `majority_side`."""
        majority, minority = np.flatnonzero(self.side == majority_side), np.flatnonzero(self.side != majority_side)
        # the largest group for which both sides have enough profiles
        size = min(majority.size / self.tie, minority.size / (1 - self.tie) if self.tie < 1 else np.inf)
        shares = ((majority, self.tie), (minority, 1 - self.tie))
        return np.concatenate([_pick_evenly(indices, round(size * share)) for indices, share in shares])


def kolmogorov_smirnov_letter(
    blocks: Blocks, alpha: float, aggregate: Aggregate
) -> tuple[dict[str, str | None], dict[str, Any]]:
    """Rate outputs by the two-step rule.

    Step 1 is biased if outputs of the same profiles differ between two values; step 2 if outputs differ between two
    groups whose contents differ too. `aggregate` says how a step's comparisons are combined. Return two mappings by
    rule name: the letter (``None`` if the rule does not apply); the tests of both steps, or ``why`` it does not apply.
    """
    name = RULE if aggregate == "worst" else f"{RULE}/{aggregate}"
    try:
        steps = {  # for each step, the test of each comparison
            step: {pair: kolmogorov_smirnov(*samples, scale=blocks.scale) for pair, samples in comparisons}
            for step, comparisons in (("step_1", blocks.unbiased()), ("step_2", blocks.biased()))
        }
    except (EvidenceError, SpecificationError) as error:
        return {name: None}, {name: {"why": str(error)}}
    verdicts = [aggregate_biased([test.p < alpha for test in tests.values()], aggregate) for tests in steps.values()]
    documents = {step: {pair: asdict(test) for pair, test in tests.items()} for step, tests in steps.items()}
    return {name: two_step_letter(*verdicts).value}, {name: documents}


def _pick_evenly(members: Integers, count: int) -> Integers:
    """Return `count` of the `members`, evenly spread over their order."""
    return members[np.arange(count) * members.size // max(1, count)]
