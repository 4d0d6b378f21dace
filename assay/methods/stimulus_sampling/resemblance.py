"""Description of the inputs of the positive class: typical words, distances of groups, and a projection.

Liang & Acuna measure distances between vectors, but not between texts. Generated texts are made of words in slots, so
the distance of two texts is the number of slots in which they differ.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike

from assay.errors import EvidenceError, OutOfBounds, ZeroVariance
from assay.methods.shared.profiles import JOINED, Case
from assay.methods.stimulus_sampling.detail import (
    DistanceRow,
    InputRow,
    NumberRow,
    Projection,
    SamplingComponent,
    WordRow,
)
from assay.model import Floats, Integers
from assay.statistics.embeddings.vector_sets import as_vectors

VALUE = "value"
"""Name of the slot with the value of the attribute."""

LISTED = 10
"""Number of nearest, and of most distant, words that are listed; half as many inputs are listed."""

DOTS = 100
"""Number of inputs in a projection: this many of all inputs (the prior), and of positive ones (the posterior)."""


@dataclass(frozen=True)
class Texts:
    """Generated texts with their shares among all inputs (the prior) and among positive ones (the posterior)."""

    words: Sequence[Mapping[str, str]]
    """Word of each text by slot (value, person, frame, content)."""
    texts: Sequence[str]
    p_positive: Floats
    """The service's probability of the positive class; shape (n,)."""
    prior: Floats
    """Share of each text among all inputs; they sum to 1; shape (n,)."""
    posterior: Floats
    """Share of each text among inputs of the positive class; they sum to 1; shape (n,)."""

    def describe(self, detail: SamplingComponent, rng: np.random.Generator) -> SamplingComponent:
        """Add nearest and most distant words and inputs, distances of groups, and a projection to the details.

        Nearest are words with the highest ratio of posterior to prior share, and inputs with the highest probability.
        """
        word_rows = [row for slot in self._slot_codes if slot != VALUE for row in self._word_rows(slot)]
        word_rows.sort(key=lambda row: (-(row.ratio or 0.0), row.distance, row.word))
        # by probability, the highest first, then by distance, then in the order of the texts
        nearest_first = np.lexsort((np.arange(self.p_positive.size), self._distances, -self.p_positive)).tolist()
        half = LISTED // 2
        return replace(
            detail,
            nearest_words=tuple(word_rows[:LISTED]),
            most_distant_words=tuple(word_rows[: -LISTED - 1 : -1]),  # the last rows, backwards
            nearest_inputs=tuple(self._input_row(index) for index in nearest_first[:half]),
            most_distant_inputs=tuple(self._input_row(index) for index in nearest_first[: -half - 1 : -1]),
            group_distances=tuple(DistanceRow(row.word, row.distance) for row in self._word_rows(VALUE)),
            projection=project(*self._sample_vectors(rng)),
        )

    def _input_row(self, index: int) -> InputRow:
        return InputRow(self.texts[index], float(self.p_positive[index]), float(self._distances[index]))

    def _word_rows(self, slot: str) -> list[WordRow]:
        """Return a row for each word in a slot: shares in all and in positive texts, and distance from these."""
        names, codes = self._slot_codes[slot]
        prior, posterior = (np.bincount(codes, shares, len(names)) for shares in (self.prior, self.posterior))
        distances = np.bincount(codes, self.prior * self._distances, len(names)) / prior
        return [
            WordRow(
                name,
                slot,
                prior=float(prior[index]),
                posterior=float(posterior[index]),
                ratio=float(posterior[index] / prior[index]),
                distance=float(distances[index]),
            )
            for index, name in enumerate(names)
        ]

    @cached_property
    def _slot_codes(self) -> dict[str, tuple[list[str], Integers]]:
        """Words of each slot, and the index of each text's word among them."""
        slots = {}
        for slot in self.words[0]:
            names, codes = np.unique([words[slot] for words in self.words], return_inverse=True)
            slots[slot] = ([str(name) for name in names], codes)
        return slots

    @cached_property
    def _distances(self) -> Floats:
        """Mean number of slots in which each text differs from texts of the positive class; shape (n,)."""
        distances = np.zeros(self.p_positive.size)
        for names, codes in self._slot_codes.values():
            distances += 1 - np.bincount(codes, self.posterior, len(names))[codes]  # share of texts with another word
        return distances

    def _sample_vectors(self, rng: np.random.Generator) -> tuple[Floats, Floats]:
        """Sample from all texts and from positive ones: 0/1 vectors of their words, each of shape (DOTS, words)."""
        shares = (self.prior, self.posterior)
        indices = np.concatenate([rng.choice(self.p_positive.size, DOTS, p=probabilities) for probabilities in shares])
        vectors = indicators([self.words[int(index)] for index in indices])
        return vectors[:DOTS], vectors[DOTS:]


def words_of(case: Case, value: int, values: Sequence[str]) -> dict[str, str]:
    """Return, by slot, the words of a case's text about the value with the index `value`."""
    words = {VALUE: values[value], **case.clusters}
    people = words["person"].split(JOINED)
    if len(people) != len(values):  # a name contains the separator, so the names cannot be split
        return words
    return words | {"person": people[value]}


def indicators(words: Sequence[Mapping[str, str]]) -> Floats:
    """Encode texts (words by slot) as rows of 0 and 1: a column for each word in each slot, 1 if the text has it."""
    columns = []
    for slot in words[0]:
        names, codes = np.unique([text_words[slot] for text_words in words], return_inverse=True)
        columns.append(np.eye(len(names))[codes])
    return np.hstack(columns)


@dataclass(frozen=True)
class AnsweredVectors:
    """Vectors that the service was asked about, with their weights, and others from the prior for comparison."""

    names: Sequence[str]
    values: Sequence[str]
    prior_vectors: Floats
    """Vectors of the unbiased prior, equally many for each value and side; shape (m, dims)."""
    prior_values: Integers
    """Index of the value of each vector in `prior_vectors`; shape (m,)."""
    inputs: Floats
    """Vectors that the service was asked about; shape (n, dims)."""
    p_positive: Floats
    """The service's probability of the positive class for each vector in `inputs`; shape (n,)."""
    posterior: Floats
    """Share of each vector in `inputs` among those of the positive class; they sum to 1; shape (n,)."""

    def describe(self, detail: SamplingComponent, rng: np.random.Generator) -> SamplingComponent:
        """Add means of numbers, nearest and most distant inputs, distances of groups, and a projection."""
        nearest_first = np.argsort(-self.p_positive, kind="stable").tolist()
        half = LISTED // 2
        posterior_sample = self.inputs[rng.choice(len(self.inputs), DOTS, p=self.posterior)]
        spread = self.prior_vectors.std(axis=0)
        unit = np.where(spread > 0, spread, 1.0)  # never divides by 0
        distances = np.linalg.norm((self.prior_vectors[:, None] - posterior_sample) / unit, axis=-1).mean(axis=1)
        prior_sample = self.prior_vectors[rng.choice(len(self.prior_vectors), DOTS)]
        return replace(
            detail,
            numbers=self._number_rows(unit),
            nearest_inputs=tuple(self._input_row(index) for index in nearest_first[:half]),
            most_distant_inputs=tuple(self._input_row(index) for index in nearest_first[: -half - 1 : -1]),  # backwards
            group_distances=tuple(
                DistanceRow(name, float(distances[self.prior_values == index].mean()))
                for index, name in enumerate(self.values)
            ),
            projection=project(prior_sample / unit, posterior_sample / unit),
        )

    def _number_rows(self, unit: Floats) -> tuple[NumberRow, ...]:
        """Return each number's mean among all and positive inputs, the largest shift (in units of `unit`) first."""
        prior, posterior = self.prior_vectors.mean(axis=0), self.posterior @ self.inputs
        shift = (posterior - prior) / unit
        return tuple(
            NumberRow(self.names[index], float(prior[index]), float(posterior[index]), float(shift[index]))
            for index in np.argsort(-np.abs(shift), kind="stable")[: 2 * LISTED]
        )

    def _input_row(self, index: int) -> InputRow:
        numbers = ", ".join(f"{name}: {cell:.4g}" for name, cell in zip(self.names, self.inputs[index], strict=True))
        return InputRow(numbers, float(self.p_positive[index]))


def project(prior: Floats, posterior: Floats) -> Projection:
    """Project all inputs (`prior`) and positive ones (`posterior`) on common principal axes, as Liang & Acuna do."""
    points = np.concatenate([prior, posterior])
    try:
        axes = principal_components(points, min(2, points.shape[1]))
    except EvidenceError as error:
        return Projection(why=str(error))
    prior_points, posterior_points = (
        tuple(map(tuple, np.round(axes.of(vectors), 4).tolist())) for vectors in (prior, posterior)
    )
    return Projection(tuple(axes.explained.tolist()), prior_points, posterior_points)


AS_FAR = 1e-6
"""Relative difference up to which two numbers count as equally far from zero."""


@dataclass(frozen=True)
class PrincipalAxes:
    """Principal axes: directions of the largest variance of vectors, through their mean (`centre`)."""

    centre: Floats
    axes: Floats
    """Orthogonal unit vectors; the axis with the largest variance is first; shape (components, dims). The sign is
    fixed: the number farthest from zero (the first, if several are) is positive."""
    explained: Floats
    """Share of the variance along each axis, in [0, 1]; shape (components,)."""

    def of(self, vectors: ArrayLike) -> Floats:
        """Return the coordinates of vectors; shape (n, components).

        Raise an error (see `as_vectors`) unless they are finite numbers in as many columns as `centre` has.
        """
        matrix = as_vectors(vectors, "the projected vectors", dims=self.centre.size)
        return np.asarray((matrix - self.centre) @ self.axes.T)


def principal_components(vectors: ArrayLike, components: int = 2) -> PrincipalAxes:
    """Compute the principal axes of vectors, shape (n, dims).

    Raise `TooFewObservations` if there are fewer than two vectors, `OutOfBounds` if `components` is above the number of
    dimensions or not less than n, `EvidenceError` if a number is not finite, and `ZeroVariance` if all vectors are the
    same.
    """
    matrix = as_vectors(vectors, "the vectors", least=2)
    largest = min(len(matrix) - 1, matrix.shape[1])
    if not 1 <= components <= largest:
        raise OutOfBounds(f"the number of components must be 1 to {largest}, not {components}", "components")
    centre = matrix.mean(axis=0)
    if (matrix == matrix[0]).all():
        raise ZeroVariance(f"all {len(matrix)} vectors are the same; there is no direction in which they differ")
    _, spread, axes = np.linalg.svd(matrix - centre, full_matrices=False)
    leading = axes[:components]
    loading_sizes = np.abs(leading)
    # the first of equally large loadings fixes the axis's sign: mutually exclusive words have loadings that are
    # equal up to rounding
    indices = (loading_sizes >= (1 - AS_FAR) * loading_sizes.max(axis=1, keepdims=True)).argmax(axis=1)
    furthest = np.take_along_axis(leading, indices[:, None], axis=1)
    variance_shares = spread[:components] ** 2 / (spread**2).sum()
    return PrincipalAxes(centre, leading * np.where(furthest < 0, -1.0, 1.0), variance_shares)
