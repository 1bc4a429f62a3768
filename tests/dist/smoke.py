"""A minute with an installed dcprog: both front doors, a published model, a bound, the versions.

It is run by path, from outside the repository, and so imports nothing of the tests.
"""

from __future__ import annotations

import pathlib
import sys
import warnings

import cvxpy as cp
import numpy as np

import dcprog as dc


def main() -> None:
    """Fail where something is not as it should be."""
    warnings.simplefilter("error", DeprecationWarning)
    place = pathlib.Path(dc.__file__).resolve()
    assert place.is_relative_to(pathlib.Path(sys.prefix).resolve()), place
    rng = np.random.default_rng(0)
    y = rng.choice([-1.0, 1.0], 100)
    X = rng.normal(size=(100, 2)) + 2 * y[:, None]
    X[:10] *= -20
    w, b = cp.Variable(2), cp.Variable()
    hinge = cp.pos(1 - cp.multiply(y, X @ w + b))
    problem = cp.Problem(cp.Minimize(cp.sum(cp.minimum(hinge, 1)) + 0.05 * cp.sum_squares(w)))
    problem.solve(method="dc")
    assert np.mean(np.sign(X @ w.value + b.value)[10:] == y[10:]) > 0.95
    centre = cp.Variable(2)
    apart = cp.Problem(cp.Minimize(cp.sum_squares(centre - 1)), [cp.norm(centre) >= 2])
    assert dc.solve(apart).status == "converged"
    model = dc.RobustClassifier().fit(X, y)
    assert model.score(X[10:], y[10:]) > 0.95
    assert model.result_.certificate().holds
    assert dc.lower_bound(model.result_, time_limit=20).value <= model.objective_
    assert dc.models.CappedSVC().fit(X[10:], y[10:]).score(X[10:], y[10:]) > 0.95
    x = np.arange(20.0)
    assert abs(dc.RobustRegressor().fit(x[:, None], 2 * x + (x == 19) * 99).coef_[0] - 2) < 1e-3
    dc.show_versions()


if __name__ == "__main__":
    main()
