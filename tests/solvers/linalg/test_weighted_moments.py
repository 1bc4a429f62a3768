"""Updated moments are those that are summed anew, to rounding, whatever weights come."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

from dcprog.foundation.arrays import Array
from dcprog.foundation.sums import weighted_gram
from dcprog.solvers.linalg import ridge
from dcprog.solvers.linalg.ridge import Moments, WeightedMoments

N, D = 200, 4


def directly(X: Array, c: Array, centred: bool) -> Moments:
    mean = c @ X / c.sum() if centred else np.zeros(D)
    gram = (X - mean).T @ (c[:, None] * (X - mean))
    return Moments(float(c.sum()), mean if centred else None, gram)


def assert_same(found: Moments, right: Moments) -> None:
    size = np.sqrt(np.outer(np.diagonal(right.gram), np.diagonal(right.gram)))
    assert np.max(np.abs(found.gram - right.gram) / size) < 1e-11
    assert found.total == pytest.approx(right.total, rel=1e-12)
    assert (found.mean is None) == (right.mean is None)
    if found.mean is not None and right.mean is not None:
        np.testing.assert_allclose(found.mean, right.mean, rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("kind", [np.asarray, sp.csr_array])
@pytest.mark.parametrize("centred", [True, False])
@pytest.mark.parametrize("flips", [0, 1, 20, 150])
def test_updates_are_sums(kind: Any, centred: bool, flips: int) -> None:
    rng = np.random.default_rng(flips)
    X = rng.normal(size=(N, D)) * [1.0, 1e3, 1e-3, 1.0] + [0.0, 1e4, 0.0, 5.0]
    moments, c = WeightedMoments(kind(X), centred), rng.uniform(0.5, 2.0, N)
    for _ in range(25):
        assert_same(moments.of(c), directly(X, c, centred))
        places = rng.choice(N, flips, replace=False)
        c = c.copy()
        c[places] = np.where(c[places] > 0, 0.0, rng.uniform(0.5, 2.0, flips))


def test_few_changes_are_added(monkeypatch: pytest.MonkeyPatch) -> None:
    summed: list[int] = []
    plain = weighted_gram

    def counted(X: Any, weights: Array, *rest: Any) -> Array:
        summed.append(weights.size)
        return plain(X, weights, *rest)

    monkeypatch.setattr(ridge, "weighted_gram", counted)
    moments, c = WeightedMoments(np.random.default_rng(0).normal(size=(N, D)), True), np.ones(N)
    for place in range(3):
        c = c.copy()
        c[place] = 0.0
        moments.of(c)
    moments.of(c)
    assert summed == [N, 1, 1]


def test_samples_far_out_leave_no_rounding_behind() -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(N, D))
    X[:5] += 1e9
    moments, c = WeightedMoments(X, True), np.ones(N)
    moments.of(c)
    c = c.copy()
    c[:5] = 0.0
    assert_same(moments.of(c), directly(X, c, True))


def test_what_is_returned_may_be_changed() -> None:
    X = np.random.default_rng(0).normal(size=(N, D))
    for centred in (True, False):
        moments, c = WeightedMoments(X, centred), np.ones(N)
        moments.of(c).gram[:] = np.nan
        assert_same(moments.of(c), directly(X, c, centred))
