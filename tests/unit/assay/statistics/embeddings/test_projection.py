"""Tests of principal components: a second computation, symmetries and errors."""

from __future__ import annotations

import numpy as np
import pytest

from assay.errors import EvidenceError, OutOfBounds, TooFewObservations, ZeroVariance
from assay.methods.stimulus_sampling.resemblance import principal_components

VECTORS = np.random.default_rng(1).normal(size=(60, 5)) * [5, 3, 1, 0.5, 0.1] + 2


def test_principal_components_are_eigenvectors_of_the_covariance():
    found = principal_components(VECTORS, 3)
    values, vectors = np.linalg.eigh(np.cov(VECTORS.T))
    order = values.argsort()[::-1][:3]
    assert np.abs(np.sum(found.axes * vectors[:, order].T, axis=1)) == pytest.approx(np.ones(3))
    assert found.explained == pytest.approx(values[order] / values.sum())
    assert np.cov(found.of(VECTORS).T) == pytest.approx(np.diag(values[order]), abs=1e-9)


def test_the_sign_of_a_principal_component_does_not_depend_on_the_sign_of_the_data():
    plain, mirrored = principal_components(VECTORS), principal_components(-VECTORS)
    assert mirrored.axes == pytest.approx(plain.axes)
    assert all(axis[np.abs(axis).argmax()] > 0 for axis in plain.axes)


def test_principal_components_do_not_depend_on_the_order_of_the_vectors():
    assert principal_components(VECTORS[::-1]).axes == pytest.approx(principal_components(VECTORS).axes)


def test_rotating_the_space_rotates_the_axes_and_keeps_the_explained_variance():
    turn = np.linalg.qr(np.random.default_rng(2).normal(size=(5, 5)))[0]
    plain, turned = principal_components(VECTORS), principal_components(VECTORS @ turn.T)
    assert turned.explained == pytest.approx(plain.explained)
    assert np.abs(np.sum(turned.axes * (plain.axes @ turn.T), axis=1)) == pytest.approx(np.ones(2))


def test_new_vectors_are_projected_on_the_principal_axes_of_the_original_vectors():
    found = principal_components(VECTORS)
    assert found.of([found.centre, found.centre + 2 * found.axes[0]]) == pytest.approx(
        np.array([[0, 0], [2, 0]]), abs=1e-9
    )


def test_vectors_on_a_line_have_one_component_that_explains_all_variance():
    line = np.outer(np.arange(5.0), [3, 4])
    found = principal_components(line, 2)
    assert found.axes[0] == pytest.approx([0.6, 0.8])
    assert found.explained == pytest.approx([1, 0])


def test_vectors_without_the_requested_principal_components_are_refused():
    with pytest.raises(TooFewObservations):
        principal_components(VECTORS[:1])
    with pytest.raises(OutOfBounds):
        principal_components(VECTORS, 6)
    with pytest.raises(OutOfBounds):
        principal_components(VECTORS[:3], 3)
    with pytest.raises(ZeroVariance):
        principal_components(np.ones((4, 3)))
    with pytest.raises(EvidenceError):
        principal_components([[1, np.nan], [0, 1]])


def test_the_sign_of_a_principal_component_does_not_depend_on_rounding():
    rng = np.random.default_rng(8)
    told = rng.integers(2, size=60)
    # the first two columns are complementary, so their loadings have equal size
    vectors = np.column_stack([told, 1 - told, rng.normal(0, 0.01, 60)])
    for way in (1.0, -1.0):
        moved = vectors + np.array([way, -way, 0]) * 1e-13 * told[:, None]
        axis = principal_components(moved, 1).axes[0]
        assert axis[0] > 0 > axis[1]
