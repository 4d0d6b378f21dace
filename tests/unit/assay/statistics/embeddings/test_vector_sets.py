"""Tests of the validation and scaling of word vectors."""

from __future__ import annotations

import math

import numpy as np
import pytest

from assay.errors import EvidenceError, OutOfBounds, TooFewObservations
from assay.statistics.embeddings.vector_sets import as_vectors, unit_vectors


@pytest.mark.parametrize("scale", [1e-300, 1e-5, 1, 1e5, 1e300])
def test_vectors_of_any_size_are_scaled_to_length_one(scale):
    scaled = unit_vectors(np.array([[3.0, 4.0], [-5.0, 12.0]]) * scale)
    assert scaled == pytest.approx(np.array([[0.6, 0.8], [-5 / 13, 12 / 13]]), rel=1e-12)


def test_scaling_a_zero_vector_is_refused():
    with pytest.raises(EvidenceError, match="1 of the 2 vectors of the targets are all zero"):
        unit_vectors([[0, 0], [1, 0]], "the targets")


def test_a_vector_with_a_number_that_is_not_finite_is_refused():
    with pytest.raises(EvidenceError, match="1 of the 2 vectors"):
        as_vectors([[math.inf, 0], [1, 0]], "the targets")


@pytest.mark.parametrize("shape", [(3,), (2, 3, 4)])
def test_vectors_that_are_not_a_matrix_are_refused(shape):
    with pytest.raises(OutOfBounds, match="a row for each word"):
        as_vectors(np.ones(shape), "the targets")


def test_vectors_with_another_number_of_dimensions_than_expected_are_refused():
    with pytest.raises(OutOfBounds, match="vectors of 3 numbers where others have 4"):
        as_vectors(np.ones((2, 3)), "the targets", dims=4)


def test_too_few_vectors_are_refused_with_the_minimum():
    with pytest.raises(TooFewObservations, match="hold 0 vectors; at least 1"):
        as_vectors(np.empty((0, 3)), "the targets")
