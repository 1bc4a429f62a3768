"""The five papers' objectives as declarations, against their formulas written out."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import dcprog as dc
from dcprog.losses import absolute, hinge, rescale, sigmoid_hinge, squared_hinge
from dcprog.penalties import elastic_net, l2
from dcprog.risk.risk import Risk
from dcprog.rows.angle import angle_differences, angle_margins
from dcprog.rows.kernel import kernel_margins
from dcprog.rows.linear import binary_margins, class_margins
from dcprog.transforms import cap_at, power_of
from tests.risk.declarations import class_data, simplex


def _paper(name: str) -> tuple[Risk, Any]:
    """A declaration, and the objective as the paper writes it."""
    k, gamma, s, lam = 3, 0.5, -0.5, 0.7
    X, y = class_data(24, 3, k)
    rows: Any
    t = np.where(y == 0, -1.0, 1.0)
    H = lambda a, u: np.maximum(a - u, 0)  # noqa: E731
    W = simplex(k)
    own = np.arange(k) == y[:, None]

    def scores(theta: Any, c: int) -> Any:
        return X @ theta[: 3 * c].reshape(c, 3).T + theta[3 * c :]

    if name == "capped":
        risk = Risk(
            class_margins(X, y),
            squared_hinge(),
            aggregate="sum",
            transform=cap_at(1.2, power_of(0.5, 1e-8)),
            penalty=l2(2 * lam),
        )

        def slow(th: Any) -> float:
            g = np.sum(H(1, np.where(own, 1, -1) * scores(th, k)) ** 2, axis=1)
            return np.sum(np.minimum(np.sqrt(g + 1e-8), 1.2)) + lam * np.sum(th[:9] ** 2)

    elif name in ("rsvm1 capped", "rsvm1 tilted"):
        rows = angle_margins(X, y)
        v = np.where(rows.own, gamma * (k - 1), 1 - gamma)
        part = {"transform": cap_at(v * (1 - s))} if "capped" in name else {"subtracted": hinge(s)}
        risk = Risk(rows, hinge(), weights=v, penalty=l2(lam), penalized=np.ones(8), **part)

        def slow(th: Any) -> float:
            u = scores(th, k - 1) @ W.T
            mine = gamma * (H(k - 1, u) - H((k - 1) * s, u))
            others = (1 - gamma) * (H(1, -u) - H(s, -u))
            return np.sum(np.where(own, mine, others)) + lam / 2 * np.sum(th**2)

    elif name in ("rsvm2 capped", "rsvm2 tilted"):
        part = {"transform": cap_at(1 - s)} if "capped" in name else {"subtracted": hinge(s)}
        rows = angle_differences(X, y)
        risk = Risk(
            rows,
            hinge(),
            aggregate="max",
            penalty=elastic_net(0.1, lam),
            penalized=np.ones(8),
            **part,
        )

        def slow(th: Any) -> float:
            u = scores(th, k - 1) @ W.T
            m = np.min(np.where(own, np.inf, u[own][:, None] - u), axis=1)
            return np.sum(H(1, m) - H(s, m)) + 0.1 * np.sum(abs(th)) + lam / 2 * np.sum(th**2)

    elif name == "smooth":
        rows, C = binary_margins(X, t), 0.8
        risk = Risk.from_loss(rows, C * sigmoid_hinge(4.0), l2(1.0), penalized=np.ones(4))

        def slow(th: Any) -> float:
            return C * np.sum(np.logaddexp(0, 4 * (1 - t * scores(th, 1)[:, 0])) / 4) + th @ th / 2

    elif name == "rescaled":
        C, eta = 0.8, 0.5
        risk = Risk.from_loss(binary_margins(X, t), C * rescale(hinge(), eta), l2(1.0))

        def slow(th: Any) -> float:
            loss = 1 - np.exp(-eta * H(1, t * scores(th, 1)[:, 0]))
            return C * np.sum(loss) / (1 - np.exp(-eta)) + th[:3] @ th[:3] / 2

    else:
        K = np.exp(-np.sum((X[:, None] - X) ** 2, axis=2))
        rows = kernel_margins(K, t)
        risk = Risk.from_loss(rows, 0.8 * absolute(at=1.0), l2(1.0))

        def slow(th: Any) -> float:
            a = rows.dual_coef(th)[0]
            return 0.8 * np.sum(np.abs(1 - t * (K @ a + th[-1]))) + a @ K @ a / 2

    return risk, slow


PAPERS = [
    "capped",
    "rsvm1 capped",
    "rsvm1 tilted",
    "rsvm2 capped",
    "rsvm2 tilted",
    "smooth",
    "rescaled",
    "least 1-norm",
]


@pytest.mark.parametrize("name", PAPERS)
def test_the_papers_objectives(name: str) -> None:
    risk, slow = _paper(name)
    rng = np.random.default_rng(8)
    for size in (0.0, 0.3, 3.0):
        theta = size * rng.standard_normal(risk.rows.shape[1])
        assert risk(theta) == pytest.approx(slow(theta), rel=1e-9)


@pytest.mark.parametrize("name", PAPERS)
def test_the_papers_solutions_equal_front_door_one(name: str) -> None:
    risk, slow = _paper(name)
    start = 0.1 * np.random.default_rng(9).standard_normal(risk.rows.shape[1])
    fast = dc.solve(risk, start=start, max_iter=500)
    problem = risk.problem()
    other = dc.solve(problem, start={problem.variables()[0]: start}, max_iter=500)
    assert fast.status == other.status == "converged"
    assert fast.x is not None
    assert fast.value == pytest.approx(slow(fast.x), rel=1e-9)
    if name == "rsvm1 tilted" or name == "rsvm2 tilted":
        # the tree minus a convex term is majorised at the same tangents
        assert fast.value == pytest.approx(other.value, rel=1e-4)
    else:
        assert fast.value == pytest.approx(other.value, rel=1e-5)


def test_tilt_of_a_maximum_is_one_subgradient() -> None:
    risk, _ = _paper("rsvm2 tilted")
    rng = np.random.default_rng(10)
    surrogate = risk.surrogate()
    for size in (0.1, 1.0, 5.0):
        centre = size * rng.standard_normal(8)
        surrogate.tighten(centre)
        assert surrogate.majorant_value(centre) == pytest.approx(risk(centre), rel=1e-12)
        for other in centre + size * rng.standard_normal((50, 8)):
            assert surrogate.majorant_value(other) >= risk(other) - 1e-9 * risk(other)
