"""The identities of the capped SVM: slacks, closed forms, and how ε is set."""

from __future__ import annotations

import numpy as np

from dcprog.models import CappedSVC
from examples.capped_svm.model import Array, Model, published_step
from examples.capped_svm.runs import DELTA, ROUNDING, Run, blobs
from examples.common.claims import Claim, at_most

SHARE = 0.1  # of the samples, that the heuristic caps


def slack_claims() -> list[Claim]:
    """|1 − yf| = |f − y| and [1 − yf]₊ = min over m ≥ 0 of |f − y − ym|, at m = [yf − 1]₊."""
    f = np.linspace(-4, 4, 801)
    m = np.linspace(0, 8, 1601)[:, None]
    apart, above, below = 0.0, 0.0, 0.0
    for y in (-1.0, 1.0):
        hinge, best = np.maximum(1 - y * f, 0), np.maximum(y * f - 1, 0)
        apart = max(apart, float(np.max(np.abs(np.abs(1 - y * f) - np.abs(f - y)))))
        above = max(above, float(np.max(np.abs(np.abs(f - y - y * best) - hinge))))
        below = max(below, float(np.max(hinge - np.min(np.abs(f - y - y * m), axis=0))))
    return [
        at_most("|1 − yf| = |f − y|", apart, ROUNDING),
        at_most("[1 − yf]₊ = |f − y − ym| at m = [yf − 1]₊", above, ROUNDING),
        at_most("and no m ≥ 0 of a grid gives less: by", below, ROUNDING),
    ]


def least_squares_step(model: Model, x: Array) -> Array:
    """Σ d_i ‖f_i − y_i − y_i∘m_i‖² + γ‖W‖² minimised as one least squares problem."""
    Y, d = model.signs, model.weights(model.g(x))
    Z = Y + Y * np.maximum(model.margins(x) - 1, 0)
    root, n_features = np.sqrt(d)[:, None], model.X.shape[1]
    ridge = np.sqrt(model.gamma) * np.eye(n_features, n_features + 1)
    system = np.vstack([root * model.extended, ridge])
    right = np.vstack([root * Z, np.zeros((n_features, Z.shape[1]))])
    found = np.linalg.lstsq(system, right, rcond=None)[0].T
    return np.concatenate([found[:, :-1].ravel(), found[:, -1]])


def closed_form_claims(runs: list[Run]) -> list[Claim]:
    """The published W and b against a generic minimiser, at the first points of the runs."""
    off = 0.0
    for run in runs:
        ours = published_step(run.model, run.points[0])
        generic = least_squares_step(run.model, run.points[0])
        off = max(off, float(np.linalg.norm(ours - generic) / (1 + np.linalg.norm(generic))))
    return [at_most("the closed form of W and b minimises the weighted problem: off by", off, 1e-5)]


def heuristic_claims() -> list[Claim]:
    """ε is such that a tenth of the samples are capped; with fewer in error, all are."""
    X, y = blobs(95, 4, 3, 0.2, 0)
    off, rng = 0, np.random.default_rng(0)
    for p in (0.5, 1.0, 2.0):
        heuristic = CappedSVC(p=p, cap_fraction=SHARE, cap_floor=0.0, gamma=1.0, delta=DELTA)
        spec = heuristic.spec(X, y)
        for _ in range(5):
            theta = rng.standard_normal(spec.rows.shape[1])
            model = Model(X, y, p, np.inf, 1.0, DELTA)
            losses = (model.g(theta) + DELTA) ** (p / 2)
            eps = float(spec.fixed(theta).transform.c)
            off = max(off, abs(int(np.sum(losses > eps)) - int(SHARE * len(y))))
    g = np.zeros(20)
    g[0] = 4.0  # one of twenty in error
    printed = np.sort(g + DELTA)[::-1][int(SHARE * 20)]
    return [
        Claim("ε caps the tenth of the samples of largest loss", f"off by {off}", off == 0),
        Claim(
            "with fewer than a tenth in error ε leaves a loss to minimise (as printed)",
            f"ε = δ for p = 2, {np.mean(g + DELTA >= printed):.0%} of the samples at the cap",
            bool(printed > 2 * DELTA),
            expected=False,
        ),
    ]
