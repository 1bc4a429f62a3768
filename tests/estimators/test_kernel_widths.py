"""γ = "scale" and the kernels of estimators keep their digits, and say no where they cannot."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.datasets import make_moons
from sklearn.metrics.pairwise import rbf_kernel

import dcprog as dc
from dcprog.estimators.kernels import Kernel, width

RNG = np.random.default_rng(0)
X = RNG.standard_normal((60, 2))
Y = (X[:, 0] * X[:, 1] > 0).astype(int)


@pytest.mark.parametrize("shift", [0.0, 1e4, 1e8])
def test_scale_is_that_of_scikit_learn(shift: float) -> None:
    Z = X + shift
    usual = 1 / (2 * np.var(Z))
    assert width("scale", Z, None) == pytest.approx(usual, rel=1e-12)
    repeated = width("scale", Z[:40], np.repeat([1.0, 2.0], [20, 20]))
    whole = np.vstack([Z[:40], Z[20:40]])
    assert repeated == pytest.approx(1 / (2 * np.var(whole)), rel=1e-12)


def test_scale_of_sparse_samples() -> None:
    Z = np.where(np.abs(X) < 0.5, 0.0, X)
    stored = sp.csr_array(Z)
    stored.data[0] = 0.0  # an explicit zero
    assert width("scale", stored, None) == pytest.approx(1 / (2 * np.var(stored.toarray())))
    weights = RNG.uniform(0, 1, 60)
    dense = width("scale", stored.toarray(), weights)
    assert width("scale", stored, weights) == pytest.approx(dense, rel=1e-12)


@pytest.mark.parametrize("shift", [1e8])
def test_decisions_do_not_depend_on_a_shift(shift: float) -> None:
    far = np.exp2(np.round(np.log2(shift)))
    Z = np.round(X * 1024) / 1024  # keep their digits
    usual = dc.RobustClassifier(kernel="rbf").fit(Z, Y)
    model = dc.RobustClassifier(kernel="rbf").fit(Z + far, Y)
    new = np.round(RNG.standard_normal((20, 2)) * 1024) / 1024
    scores = model.decision_function(new + far)
    assert scores == pytest.approx(usual.decision_function(new), abs=1e-6)


def test_distances_keep_their_digits() -> None:
    kernel = Kernel("rbf", X + 2.0**27, 0.7, 3, 0.0)
    samples = (X + 2.0**27) - 2.0**27
    K = kernel(kernel.samples)
    assert pytest.approx(rbf_kernel(samples, gamma=0.7), abs=1e-12) == K
    assert np.array_equal(np.diag(K), np.ones(60))
    assert np.min(np.linalg.eigvalsh(K)) > -1e-12


@pytest.mark.parametrize("size", [1e200, 1e-200])
def test_samples_beyond_what_floats_hold(size: float) -> None:
    if size < 1:  # the variance underflows to 0: as if X did not vary
        assert width("scale", size * X, None) == 1.0
        return
    with pytest.raises(ValueError, match="gamma='scale': the variance of X is inf"):
        dc.RobustClassifier(kernel="rbf").fit(size * X, Y)
    with pytest.raises(ValueError, match="variance of X"):
        width("scale", 1e-155 * X, None)


@pytest.mark.parametrize("kernel", ["rbf", "poly", "linear"])
def test_constant_samples_have_a_kernel(kernel: str) -> None:
    for Z in (np.zeros((10, 2)), np.full((10, 2), 3.0)):
        model = dc.RobustRegressor(kernel=kernel).fit(Z, np.arange(10.0))
        assert np.all(np.isfinite(model.predict(Z)))


def test_an_outlier_does_not_move_the_others() -> None:
    moons, y = make_moons(60, noise=0.1, random_state=0)
    wild = moons.copy()
    wild[0] = 1e12
    usual = dc.RobustClassifier(kernel="rbf", gamma=1.0).fit(moons, y)
    model = dc.RobustClassifier(kernel="rbf", gamma=1.0).fit(wild, y)
    assert np.mean(usual.predict(moons) == model.predict(moons)) > 0.95
