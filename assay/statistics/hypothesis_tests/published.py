"""The decision rules of Srivastava & Rossi (2018) on observed counts: chi-squared, and Kullback-Leibler divergence.

Section 4.3 describes the comparison twice, and the two descriptions decide differently:

``similar-to-biased``
    The literal reading of the section (and Figure 4). Step 1: the unbiased block's output is biased if
    it is *similar to* at least one declared *biased* distribution. Step 2: the biased blocks'
    outputs are unbiased if they are similar to a declared unbiased distribution; "if at least one
    of the distribution comparisons returns similarity, the full comparison is considered to return
    similarity", so one block is enough (`join` = ``"or"``).
``departs-from-unbiased``
    The reading in the sense of sections 3.1 and 3.2. Step 1: the output is biased if it *differs from*
    every declared *unbiased* distribution. Step 2: the outputs are unbiased only if the output of every
    biased block is similar to an unbiased distribution (`join` = ``"and"``).

`join` only says how many biased blocks of step 2 must look unbiased for the letter UCS: one
(``"or"``) or all (``"and"``). Step 1 is a worst case under both readings. *Similar* means that the
test does not reject at `alpha`; *differs*, that it does. With ``"vote"`` (footnote 4) a step is biased
if at least half of its comparisons are. Each block has one comparison; in step 1 of the literal
reading, each unbiased block has one with each biased specification.

Neither reading decides Assay's own letter: with 40 or more pronouns in a block, the literal reading of
section 4.3 rates a service that always answers "he" DSBS (docs/methods/round-trip.md).
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Generic, Literal, TypeVar

import numpy as np
from numpy.typing import ArrayLike

from assay.errors import OutOfBounds, SpecificationError
from assay.model import Floats, Letter
from assay.statistics.hypothesis_tests.distribution import as_counts, as_shares
from assay.statistics.hypothesis_tests.goodness import (
    FitTest,
    chi_squared_fit,
    chi_squared_two_sample,
    exact_multinomial,
)
from assay.statistics.special import special


def two_step_letter(step_1_biased: bool, step_2_biased: bool) -> Letter:
    """Return BS (biased) if step 1 is biased, else DSBS (data-sensitive) if step 2 is, else UCS (unbiased)."""
    if step_1_biased:
        return Letter.BS
    return Letter.DSBS if step_2_biased else Letter.UCS


Aggregate = Literal["worst", "vote"]
"""Rule by which a step is biased: if any of its comparisons is (``worst``), or at least half are (``vote``)."""


def aggregate_biased(biased: Sequence[bool], aggregate: Aggregate) -> bool:
    """Return whether a step is biased by a rule, from whether each of its comparisons is."""
    return any(biased) if aggregate == "worst" else 2 * sum(biased) >= len(biased)


def check_blocks(
    observed: Mapping[str, ArrayLike], unbiased: Mapping[str, ArrayLike], biased: Mapping[str, ArrayLike]
) -> None:
    """Raise `SpecificationError` if a step has no block (of inputs), a block no counts, or a name is in both steps."""
    if not unbiased or not biased:
        raise SpecificationError("the two steps need at least one unbiased and one biased distribution")
    if shared_names := set(unbiased) & set(biased):
        raise SpecificationError(f"declared both unbiased and biased: {', '.join(sorted(shared_names))}")
    if missing := [name for name in (*unbiased, *biased) if name not in observed]:
        raise SpecificationError(f"no counts were given for {', '.join(missing)}; given: {', '.join(observed)}")


Reading = Literal["similar-to-biased", "departs-from-unbiased"]
Statistic = Literal["two-sample", "two-sample-df2", "goodness-of-fit", "exact-multinomial"]
Join = Literal["or", "and", "vote"]

JOIN_OF: Mapping[Reading, Join] = {"similar-to-biased": "or", "departs-from-unbiased": "and"}
"""Default rule of each reading to join the blocks of step 2."""

Comparison = Callable[[ArrayLike, ArrayLike, np.random.Generator | None], FitTest]


def _two_sample_test(counts: ArrayLike, shares: ArrayLike, *, drop_empty: bool) -> FitTest:
    """Compare a block's counts (of outputs) with `shares`, as if these were the counts of a sample of the same size."""
    observed = as_counts(counts)
    return chi_squared_two_sample(observed, as_shares(shares, observed.size) * observed.sum(), drop_empty=drop_empty)


COMPARISONS: Mapping[Statistic, Comparison] = {
    "two-sample": lambda counts, shares, _rng: _two_sample_test(counts, shares, drop_empty=True),
    "two-sample-df2": lambda counts, shares, _rng: _two_sample_test(counts, shares, drop_empty=False),
    "goodness-of-fit": lambda counts, shares, _rng: chi_squared_fit(counts, shares),
    "exact-multinomial": exact_multinomial,
}
"""Comparison of a block's counts with specified shares, by the statistic's published name."""

T = TypeVar("T")


@dataclass(frozen=True)
class PublishedVerdict(Generic[T]):
    """Letter of a service by a published rule, with the results of both steps and all tests."""

    letter: Letter
    """BS if step 1 is biased, else DSBS if step 2 is, else UCS."""
    step_1_biased: bool
    """Whether the outputs of the unbiased blocks are rated as biased."""
    step_2_biased: bool
    """Whether the outputs of the biased blocks are rated as biased. The paper stops after a biased step 1; here step 2
    is always computed, to be shown."""
    tests: Mapping[str, Mapping[str, T]]
    """Block name -> name of a declared distribution -> comparison: `FitTest`, or `DivergenceTest` of unbiased ones."""


def published_letter(
    observed: Mapping[str, ArrayLike],
    unbiased: Mapping[str, ArrayLike],
    biased: Mapping[str, ArrayLike],
    rng: np.random.Generator | None = None,
    *,
    reading: Reading = "departs-from-unbiased",
    statistic: Statistic = "two-sample",
    join: Join | None = None,
    alpha: float = 0.05,
) -> PublishedVerdict[FitTest]:
    """Rate observed counts by a decision rule of Srivastava & Rossi (2018).

    Parameters
    ----------
    observed : mapping of str to array_like of int, shape (k,)
        Counts of the k outputs of each block (a set of inputs with one declared distribution), by the block's name.
    unbiased, biased : mapping of str to array_like, shape (k,)
        Declared distributions of the unbiased and of the biased blocks, by the name of the block.
    rng : Generator, optional
        Only for ``"exact-multinomial"`` on blocks too large to enumerate.
    reading, statistic : str
        One of two readings of the paper (see the module), and the test of each comparison (a name in `COMPARISONS`).
    join : {"or", "and", "vote"}, optional
        How the blocks of step 2 (with ``"vote"``, of both steps) are combined; by default, `JOIN_OF` the reading.
    alpha : float
        Level of each test, in (0, 1).

    Raises
    ------
    SpecificationError
        If there is no unbiased or no biased distribution, or a block has no counts.
    OutOfBounds
        If `alpha` is not between 0 and 1.
    TooFewObservations
        If a block has no observations.
    """
    check_blocks(observed, unbiased, biased)
    if not 0 < alpha < 1:
        raise OutOfBounds(f"alpha must be between 0 and 1, not {alpha}", "alpha")
    specifications = {**unbiased, **biased}
    tests = {
        block: {name: COMPARISONS[statistic](observed[block], shares, rng) for name, shares in specifications.items()}
        for block in specifications
    }
    step_1_biased, step_2_biased = _biased_steps(tests, unbiased, biased, reading, join or JOIN_OF[reading], alpha)
    return PublishedVerdict(two_step_letter(step_1_biased, step_2_biased), step_1_biased, step_2_biased, tests)


def _biased_steps(
    tests: Mapping[str, Mapping[str, FitTest]],
    unbiased: Iterable[str],
    biased: Iterable[str],
    reading: Reading,
    join: Join,
    alpha: float,
) -> tuple[bool, bool]:
    """Return whether steps 1 and 2 are biased, by the tests of each block (set of inputs) against each distribution."""

    def is_similar(block: str, distributions: Iterable[str]) -> bool:
        return any(tests[block][distribution].p >= alpha for distribution in distributions)

    is_literal = reading == "similar-to-biased"  # the literal reading of section 4.3
    if is_literal:
        step_1_biased = [is_similar(block, biased) for block in unbiased]
    else:
        step_1_biased = [not is_similar(block, unbiased) for block in unbiased]
    step_2_biased = [not is_similar(block, unbiased) for block in biased]
    if join == "or":  # one block that looks unbiased is enough to make step 2 unbiased
        return any(step_1_biased), all(step_2_biased)
    if join == "and":
        return any(step_1_biased), any(step_2_biased)
    if is_literal:  # a vote counts each block's comparison with each biased distribution
        step_1_biased = [is_similar(block, [name]) for block in unbiased for name in biased]
    return aggregate_biased(step_1_biased, "vote"), aggregate_biased(step_2_biased, "vote")


TIE_SLACK = 1e-12
"""Permitted rounding error: mirrored counts have the same divergence, and must not exceed each other."""


@dataclass(frozen=True)
class Divergence:
    """A divergence in nats, or the reason why it has no finite value."""

    value: float | None
    reason: str | None = None


@dataclass(frozen=True)
class DivergenceTest:
    """An observed divergence and its bootstrap threshold, both in nats."""

    value: float | None
    """``None`` where it is infinite; `reason` then says why, and `biased` is true."""
    threshold: float
    """Divergence that samples from the specified shares exceed with probability `alpha` at most."""
    biased: bool
    reason: str | None = None


def kl_divergence(p: ArrayLike, q: ArrayLike) -> Divergence:
    """Kullback-Leibler divergence ``D(p || q) = sum p log(p / q)``, in nats.

    ``0 log 0`` is 0. If p has mass where q has none, the divergence is infinite: a reason replaces the value.

    Parameters
    ----------
    p, q : array_like, shape (k,)
        Distributions over the same cells, as shares or counts.

    Raises
    ------
    BadDistribution
        If either is not a distribution, or they have different numbers of cells.
    """
    p_shares = as_shares(p)
    q_shares = as_shares(q, p_shares.size)
    outside_share = float(p_shares[q_shares == 0].sum())
    if outside_share > 0:
        return Divergence(value=None, reason=f"a share of {outside_share:.3g} lies where the reference has none")
    return Divergence(float(_kl_divergence(p_shares, q_shares)))


def bootstrap_threshold(shares: ArrayLike, n: int, alpha: float, rng: np.random.Generator, draws: int = 2_000) -> float:
    """Compute the divergence that samples from the specified shares exceed with probability at most `alpha`.

    It is the smallest sampled divergence, in nats, that at most a share `alpha` of the samples exceed.

    Parameters
    ----------
    n : int
        Size of each sample, positive.
    alpha : float
        Probability, in (0, 1).

    Raises
    ------
    OutOfBounds
        If `alpha`, `n` or `draws` is out of its range.
    BadDistribution
        If the shares are not a distribution.
    """
    if not 0 < alpha < 1 or n < 1 or draws < 1:
        raise OutOfBounds(f"alpha must be in (0, 1), and n and draws positive, not {alpha}, {n} and {draws}")
    specified_shares = as_shares(shares)
    specified_shares = specified_shares[specified_shares > 0]  # values with a share of 0 never occur in samples
    sample_shares = rng.multinomial(n, specified_shares, draws) / n
    return float(np.quantile(_kl_divergence(sample_shares, specified_shares), 1 - alpha, method="higher"))


def divergence_test(counts: ArrayLike, shares: ArrayLike, alpha: float, rng: np.random.Generator) -> DivergenceTest:
    """Test whether counts are farther from specified shares than expected by chance.

    The other arguments and errors are those of `bootstrap_threshold`.

    Raises
    ------
    TooFewObservations
        If nothing was observed.
    """
    observed = as_counts(counts)
    threshold = bootstrap_threshold(shares, int(observed.sum()), alpha, rng)
    divergence = kl_divergence(observed, shares)
    is_biased = divergence.value is None or divergence.value > threshold + TIE_SLACK
    return DivergenceTest(divergence.value, threshold, is_biased, divergence.reason)


def divergence_letter(
    observed: Mapping[str, ArrayLike],
    unbiased: Mapping[str, ArrayLike],
    biased: Mapping[str, ArrayLike],
    alpha: float,
    rng: np.random.Generator,
    aggregate: Aggregate = "worst",
) -> PublishedVerdict[DivergenceTest]:
    """Rate observed counts in two steps by a divergence with a bootstrap threshold.

    A block is a set of inputs. Its output is biased if its divergence from *every* unbiased distribution exceeds the
    threshold. A step is biased if any of its blocks is (``"worst"``) or at least half are (``"vote"``).

    Parameters
    ----------
    observed, unbiased, biased
        As for `published_letter`, with the same errors. Of the biased distributions only the names are used.
    alpha, rng
        As for `bootstrap_threshold`.
    aggregate : {"worst", "vote"}
        How the results of a step's blocks are combined.
    """
    check_blocks(observed, unbiased, biased)
    tests = {
        block: {name: divergence_test(observed[block], shares, alpha, rng) for name, shares in unbiased.items()}
        for block in (*unbiased, *biased)
    }
    is_biased = {block: all(test.biased for test in block_tests.values()) for block, block_tests in tests.items()}
    step_1_biased, step_2_biased = (
        aggregate_biased([is_biased[block] for block in blocks], aggregate) for blocks in (unbiased, biased)
    )
    return PublishedVerdict(two_step_letter(step_1_biased, step_2_biased), step_1_biased, step_2_biased, tests)


def _kl_divergence(p: Floats, q: Floats) -> Floats:
    """Compute D(p || q), the Kullback-Leibler divergence, along the last axis; q must be positive wherever p is."""
    # rounding can make a divergence of 0 negative (-1e-17)
    return np.asarray(np.maximum(0.0, special.rel_entr(p, q).sum(axis=-1)), dtype=float)
