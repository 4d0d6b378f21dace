"""Effects on single items: the change of one answer if only the attribute's value is swapped, without noise.

See docs/what-a-mean-hides.md and docs/how-to-read-a-rating.md.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Self

import numpy as np
from numpy.typing import NDArray
from scipy import special

from assay.model import Floats, HiddenEffect, Integers
from assay.statistics.hidden.strata import furthest
from assay.statistics.hidden.varying import varying_effect
from assay.statistics.intervals.alternation_effects import DRAWS, Profiles, pair_differences
from assay.statistics.intervals.crossed import LEAST_CLUSTERS, cluster_sums, cross_tabulate, mean_draws

OTHER_NOISE = 2.0
"""Maximum difference, in standard errors, at which the noise of first and of repeated answers counts as equal."""

LEAST_REPEATED = 3
"""Minimum expected number of repeated rows with a large difference for the noise of answers to be known."""

LEAST_NOISY = 10
"""Minimum effective number of questions with varying answers for the noise of answers to be known."""

LEAST_FREEDOM = 20
"""Minimum residual degrees of freedom of the fit by texts and persons; with fewer there is only an upper bound."""

TEXT, RECORD, LABELS = "typical text", "typical record", "changed labels"
"""Names of the effects on single items; the effect on labels is the share of items whose label changes."""

ROUNDING = 1e-9
"""Absolute residual, in units of the effect, below which it is a rounding error."""

PRIOR_OF_SINGLE_CASES = 0.2
"""Prior probability that a difference belongs to single persons in single texts, in any pair of values."""

CELLS, NEAR = 200, 6.0
"""Number of points of each of two grids of sizes in `_draw_squares`, and the reach of the second in standard errors."""


@dataclass(frozen=True)
class SingleCases:
    """Answers to each item under each value, scaled so that the squared distance of two answers is a squared effect.

    Numbers have one column, in standard deviations of the output. Labels have an indicator column for each label,
    divided by the root of 2, so that the squared distance of two different labels is 1.
    """

    outputs: Floats
    """Scaled answers; shape (items, values, columns)."""
    repeats: Floats | None
    """Answers of the items that were asked three times, shape (items, values, 3, columns); ``None`` if none were."""
    clusters: Mapping[str, Integers]
    """For each kind (person, frame, content), the cluster of each item; shape (items,)."""
    max_draw_weights: int | None = None
    """Maximum number of random weights that `mean_draws` draws for a kind of cluster; ``None``: no maximum."""

    @classmethod
    def of_numbers(cls, profiles: Profiles, repeats: Floats | None) -> Self:
        """Build the cases of numbers, in standard deviations; `repeats` has the shape (items, values, 3 answers)."""
        scaled_repeats = None if repeats is None else repeats[..., None] / profiles.scale
        scaled_outputs = profiles.outputs[..., None] / profiles.scale
        return cls(scaled_outputs, scaled_repeats, profiles.clusters, profiles.max_draw_weights)

    @classmethod
    def of_labels(
        cls,
        labels: Integers,
        repeats: Integers | None,
        clusters: Mapping[str, Integers],
        max_draw_weights: int | None = None,
    ) -> Self:
        """Build the cases of numbered labels: `labels` (items, values) and `repeats` (items, values, 3 answers)."""
        largest = max(int(array.max(initial=0)) for array in (labels, repeats) if array is not None)
        indicators = np.eye(largest + 1) / math.sqrt(2)  # two different labels then have the squared distance 1
        return cls(indicators[labels], None if repeats is None else indicators[repeats], clusters, max_draw_weights)

    @property
    def item_squares(self) -> Floats:
        """Squared difference between every two values, shape (items, pairs)."""
        return np.asarray((pair_differences(self.outputs) ** 2).sum(axis=2))

    def squared_means(self, rng: np.random.Generator, draws: int) -> Floats:
        """Draw the squared mean difference of the answers with every two values; shape (draws, pairs of values)."""
        differences = pair_differences(self.outputs)
        difference_columns = differences.reshape(len(differences), -1)
        samples = mean_draws(difference_columns, self.clusters, rng, draws, self.max_draw_weights)
        return np.asarray((samples.reshape(draws, *differences.shape[1:]) ** 2).sum(axis=2))

    @property
    def noise(self) -> Floats | None:
        """Repeated answers less their mean over all items, the service's drift; ``None`` if no item was repeated."""
        return self.repeats - self.repeats.mean(axis=0) if self.repeats is not None and len(self.repeats) else None

    @property
    def variances(self) -> Floats:
        """Variance of the answers to each repeated question, shape (items, values)."""
        assert self.noise is not None  # noqa: S101  only for cases with repeats
        variances = self.noise.var(axis=2, ddof=1).sum(axis=2)
        return np.asarray(variances * len(variances) / (len(variances) - 1))  # `noise` lacks its mean over items

    def knows_noise(self, squares: Floats, limit: float) -> bool:
        """Return whether the noise of the first answers is known from the repeated answers.

        It is unknown if repeated answers have another noise than first answers, or if the items with large `squares`
        (one for each item) are so few that hardly any of them was repeated. Noise below a two-hundredth of the limit's
        square is not tested, because subtracting it changes next to nothing.
        """
        # 1 if all rows have equal squares, n if only one row has any
        concentration = float(((squares / (squares.mean() or 1.0)) ** 2).mean())
        if self.noise is None or len(self.noise) < max(LEAST_CLUSTERS, LEAST_REPEATED * concentration):
            return False
        return _has_same_noise(self.noise, limit**2 / 200)

    def is_measurable(self, noise: float, limit: float) -> bool:
        """Return whether an effect is more than an upper bound: small noise, or repeated answers alone exceed `limit`.

        Small is a variance (`noise`) below the square of `limit`; a large noise of few answers is underestimated.
        """
        return noise < limit**2 or (self.repeats is not None and _largest_repeated_square(self.repeats) > limit**2)


def item_effect(cases: SingleCases, limit: float, rng: np.random.Generator, draws: int = DRAWS) -> HiddenEffect:
    """Draw how much a typical item's answers differ by the attribute's value: root mean square, less noise.

    Without repeated answers, or if their noise differs, it is an upper bound. `limit`: the largest size without bias.
    """
    item_squares = cases.item_squares
    squares = mean_draws(item_squares, cases.clusters, rng, draws, cases.max_draw_weights)
    is_measured = cases.knows_noise(item_squares.sum(axis=1), limit)  # else the effect is an upper bound
    if is_measured:
        variances = cases.variances
        pairs = combinations(range(variances.shape[1]), 2)
        pair_variances = np.stack([variances[:, a] + variances[:, b] for a, b in pairs], axis=1)
        noise = mean_draws(pair_variances, {}, rng, draws)  # no clusters: the noise of each question is its own
        squares = squares - noise
        is_measured = cases.is_measurable(float(noise.mean(axis=0).max()), limit)
    squares = squares[:, furthest(squares.mean(axis=0))]  # of the pairs of values that differ most
    if squares.shape[1] > 1:  # without a joint fit, the largest of several noisy estimates would be too large
        squares = varying_effect(squares.mean(axis=0), np.cov(squares.T), limit**2, rng, draws).strata
    return HiddenEffect(
        "individual", RECORD, np.sqrt(np.maximum(squares, 0.0)).max(axis=1), limit, bound=not is_measured
    )


def text_effect(
    cases: SingleCases, texts: tuple[Integers, int], means: Floats, limit: float, rng: np.random.Generator
) -> tuple[HiddenEffect, ...]:
    """Draw the systematic difference of a typical text, without noise and differences between persons of a group.

    Its square is the sum of three parts. The first is the square of the mean difference. The second is the variance
    of the difference between texts without their person (cells of frame and content), which several persons share.
    The third is the part of a difference that only this person in this text has: the variance of differences, minus
    that of repeated answers, minus that between two persons of one group in the same text (the smaller one of both
    groups), because names differ in more than the attribute. An effect that a person has in all texts is left out.

    `texts` are the text of each item without its person, numbered from 0, and the number of such texts in the whole
    material. `means` are draws of the square of the mean difference, shape (draws, pairs). If the noise is not known
    from repeated answers, the third part is only in a second effect, an upper bound. If too few texts are shared by
    persons, the only result is an upper bound, which includes the differences between persons.
    """
    if "person" not in cases.clusters:  # each value has one word only, so the whole difference is the value's
        return (replace(item_effect(cases, limit, rng, len(means)), name=TEXT),)
    text_ids, text_count = texts
    draws = len(means)
    is_shared = np.isin(text_ids, np.flatnonzero(np.bincount(text_ids) > 1))  # items whose text has several persons
    persons = {"person": cases.clusters["person"][is_shared]}
    has_persons = len(np.unique(persons["person"])) >= LEAST_CLUSTERS
    fit = _fit_cells_and_persons(cases, text_ids, is_shared) if has_persons else None
    if fit is None or fit.freedom < LEAST_FREEDOM:  # too few residual degrees of freedom
        return (replace(item_effect(cases, limit, rng, draws), name=TEXT, bound=True),)
    value_count = cases.outputs.shape[1]
    pairs = list(combinations(range(value_count), 2))
    residual_squares = (fit.residuals**2).sum(axis=2)  # of the answer with each value
    pair_indices = furthest(cases.item_squares.mean(axis=0)).tolist()
    judged_pairs = [pairs[index] for index in pair_indices]
    pair_squares = [((fit.residuals[:, b] - fit.residuals[:, a]) ** 2).sum(axis=1) for a, b in judged_pairs]
    # one column for each value, then one for each pair; scaled, so that the means of columns estimate variances
    squared_columns = np.column_stack([residual_squares, *pair_squares]) * len(residual_squares) / fit.freedom
    variance_draws = mean_draws(squared_columns, persons, rng, draws, cases.max_draw_weights)
    noise = np.zeros((draws, value_count))
    is_measured = cases.knows_noise(squared_columns[:, value_count:].sum(axis=1), limit)
    if is_measured:
        noise = mean_draws(cases.variances, {}, rng, draws)
        # fitted together: few repeated questions do not show that one group's answers are a little noisier
        noise = varying_effect(noise.mean(axis=0), np.cov(noise.T), limit**2, rng, draws).strata
    shared_squares, single_squares = [], []
    for column, (index, (a, b)) in enumerate(zip(pair_indices, judged_pairs, strict=True), start=value_count):
        difference_variance = variance_draws[:, column]  # of the difference b - a within texts
        text_variance = _draw_squares(*fit.between(a, b, text_count), limit, prior_share=0.5, rng=rng, draws=draws)
        is_measured = is_measured and cases.is_measurable(float((noise[:, a] + noise[:, b]).mean()), limit)
        between_a, between_b = (variance_draws[:, value] - noise[:, value] for value in (a, b))  # variances of persons
        between_persons = between_a if between_a.mean() < between_b.mean() else between_b
        single_variance = difference_variance - noise[:, a] - noise[:, b] - 2 * between_persons  # 2: for two persons
        shared_squares.append(means[:, index] + text_variance)  # the first two parts
        estimate, error = float(single_variance.mean()), float(single_variance.var())  # at this size: `by_size` is 0
        prior = PRIOR_OF_SINGLE_CASES / len(pair_indices)
        single_squares.append(_draw_squares(estimate, error, 0.0, limit, prior_share=prior, rng=rng, draws=draws))
    whole_effect = np.sqrt(np.max(np.add(shared_squares, single_squares), axis=0))
    if is_measured:
        return (HiddenEffect("individual", TEXT, whole_effect, limit),)
    return (
        HiddenEffect("individual", TEXT, np.sqrt(np.max(shared_squares, axis=0)), limit),
        HiddenEffect("individual", f"{TEXT}, with what may be noise", whole_effect, limit, bound=True),
    )


@dataclass(frozen=True)
class _Fit:
    """Least squares of answers on texts (cells) and persons: the effects of the cells and the residuals."""

    effects: Floats
    """Fitted effects of the cells; shape (cells, values, columns)."""
    sizes: Floats
    """Number of answers in each cell."""
    residuals: Floats
    """Residuals of the fit; shape (answers, values, columns)."""
    freedom: int
    """Number of answers less the number of fitted effects."""
    cell_error: float
    """Sum of the error variances of the cells' effects, weighted by size, in units of the residual variance."""

    def between(self, a: int, b: int, all_cells: int) -> tuple[float, float, float]:
        """Estimate the variance between texts (cells) of the difference b - a; also its error variance and `by_size`.

        They are the first three arguments of `_draw_squares`. Of `all_cells` texts, these may be a sample.
        """
        answers = float(self.sizes.sum())  # their number; `sizes` are those of the cells
        differences = self.effects[:, b] - self.effects[:, a]
        differences = differences - (self.sizes[:, None] * differences).sum(axis=0) / answers
        residual = float(((self.residuals[:, b] - self.residuals[:, a]) ** 2).sum()) / self.freedom  # variance
        squares = self.sizes * (differences**2).sum(axis=1)
        estimate = (float(squares.sum()) - self.cell_error * residual) / answers
        # the variance of the estimate if cells do not differ; the second term is that of the estimated `residual`
        error_variance = 2 * residual**2 * self.cell_error * (1 + self.cell_error / self.freedom) / answers**2
        cell_count = len(self.sizes)
        unasked_variance = max(0.0, 1 - cell_count / all_cells) * float(squares.var()) * cell_count / answers**2
        by_size = 4 * residual / answers  # a non-central sum of squares varies more, the larger the differences are
        return estimate, error_variance + unasked_variance, by_size


def _fit_cells_and_persons(cases: SingleCases, cells: Integers, is_shared: NDArray[np.bool_]) -> _Fit:
    """Fit answers of items in `is_shared`, whose text (cell) has several persons, by effects of cells and persons."""
    _, cell_ids = np.unique(cells[is_shared], return_inverse=True)
    _, person_ids = np.unique(cases.clusters["person"][is_shared], return_inverse=True)
    shape = cases.outputs[is_shared].shape
    outputs = cases.outputs[is_shared].reshape(len(cell_ids), -1)
    table = cross_tabulate(cell_ids, person_ids)
    cell_sizes, person_sizes = table.sum(axis=1), table.sum(axis=0)
    shares = table / cell_sizes[:, None]  # of each person in the answers of a cell
    gram = np.diag(person_sizes) - table.T @ shares  # the persons' normal equations, with the cells eliminated
    inverse = np.linalg.pinv(gram, hermitian=True)
    cell_sums, person_sums = cluster_sums(outputs, cell_ids), cluster_sums(outputs, person_ids)
    person_effects = inverse @ (person_sums - shares.T @ cell_sums)
    person_effects -= person_sizes @ person_effects / len(cell_ids)  # their mean over the answers is 0
    cell_effects = cell_sums / cell_sizes[:, None] - shares @ person_effects
    residuals = outputs - cell_effects[cell_ids] - person_effects[person_ids]
    residuals[np.abs(residuals) < ROUNDING] = 0.0
    freedom = len(cell_ids) - len(cell_sizes) - int(np.linalg.matrix_rank(gram, hermitian=True))
    # error variances of the cells' means, and of the persons' effects in them; both around the overall mean
    person_share_gram = table.T @ shares - np.outer(person_sizes, person_sizes) / len(cell_ids)
    cell_error = len(cell_sizes) - 1 + float(np.trace(inverse @ person_share_gram))
    return _Fit(cell_effects.reshape(-1, *shape[1:]), cell_sizes, residuals.reshape(shape), freedom, cell_error)


def _draw_squares(
    estimate: float,
    error: float,
    by_size: float,
    limit: float,
    prior_share: float,
    rng: np.random.Generator,
    draws: int,
) -> Floats:
    """Draw the square of an effect's size, given an estimate of it with the variance ``error + by_size * square``.

    With the prior probability `prior_share`, the size is half-normal with half of the limit as its scale, or else 0;
    `by_size` is the growth of the estimate's variance per unit of the square.
    """
    # spike-and-slab posterior on a grid of sizes in units of the scale: Cauchy quantiles, and points near the estimate
    size_grid = np.tan(math.pi / 2 * (np.arange(CELLS) + 0.5) / CELLS)
    variance = max(error + by_size * max(estimate, 0.0), 1e-12 * limit**4)  # a divisor, never 0
    near_squares = estimate + math.sqrt(variance) * np.linspace(-NEAR, NEAR, CELLS)  # `NEAR`: standard errors
    size_grid = np.unique(np.concatenate([size_grid, np.sqrt(near_squares[near_squares > 0]) / (limit / 2)]))
    edges = np.concatenate([[0.0], (size_grid[1:] + size_grid[:-1]) / 2, size_grid[-1:]])
    half_normal_mass = np.exp(-(size_grid**2) / 2) * np.diff(edges)
    prior = np.concatenate([[1 - prior_share], prior_share * half_normal_mass / half_normal_mass.sum()])
    deviations = estimate - (np.concatenate([[0.0], size_grid]) * limit / 2) ** 2
    log_mass = np.log(np.maximum(prior, 1e-300)) - deviations**2 / variance / 2
    mass = np.exp(log_mass - log_mass.max())
    drawn_indices = rng.choice(len(mass), draws, p=mass / mass.sum())
    # the spike, at 0, has no width
    low, high = (np.concatenate([[0.0], bounds])[drawn_indices] for bounds in (edges[:-1], edges[1:]))
    return np.asarray(((low + (high - low) * rng.random(draws)) * limit / 2) ** 2)


def _largest_repeated_square(repeats: Floats) -> float:
    """Return the square of the largest difference between two values in repeated answers, less its standard error.

    It is the mean product of the differences in two of the three answers (axis 2), to which noise on average adds 0.
    """
    differences = np.stack([repeats[:, b] - repeats[:, a] for a, b in combinations(range(repeats.shape[1]), 2)])
    # the square of a sum without the squares of its terms: the products of any two of the differences
    products = differences.sum(axis=2) ** 2 - (differences**2).sum(axis=2)
    repeated_squares = products.sum(axis=2) / (repeats.shape[2] * (repeats.shape[2] - 1))
    pair_count, item_count = repeated_squares.shape
    factor = special.stdtrit(item_count - 1, 1 - special.ndtr(-1.0) / pair_count)  # one standard error, by Bonferroni
    margins = factor * repeated_squares.std(axis=1) / math.sqrt(item_count)
    return float((repeated_squares.mean(axis=1) - margins).max())


def _has_same_noise(repeats: Floats, negligible: float) -> bool:
    """Return whether the first answers seem to have the same noise as the repeated answers.

    The noise of repeated answers is subtracted from the effect, so a service that adds noise only to repeated questions
    could hide its bias. The variance of the test statistic comes from taking each of the three answers as the first.
    Also return false if so few questions have noisy answers that nothing is known about the other questions.
    """
    variances = repeats.var(axis=2, ddof=1).sum(axis=2)
    if variances.mean() <= negligible:
        return True
    # with each of the three answers (`index`) as the first one, shape (3, items, values, columns)
    first, second, third = (np.stack([repeats[:, :, (index + shift) % 3] for index in range(3)]) for shift in range(3))
    products = ((first - second) * (first - third)).sum(axis=3) - variances  # 0 on average if the noise is the same
    # row 0 of `products` has the answers in the order in which they were given
    z_score = abs(float(products[0].sum())) / math.sqrt(float((products**2).mean(axis=0).sum()))
    return z_score <= OTHER_NOISE and float(variances.sum() ** 2) >= LEAST_NOISY * float((variances**2).sum())
