"""λ_max is where fits leave 0, and a path's fits are those that dc.solve finds one by one."""

from __future__ import annotations

import pickle
from typing import Any

import cvxpy as cp
import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from matplotlib.figure import Figure
from sklearn.linear_model import enet_path, lasso_path

import dcprog as dc
from dcprog.foundation.arrays import Array
from dcprog.penalties import ConcavePenalty
from dcprog.risk.risk import Risk


def data(n: int = 60, p: int = 120, seed: int = 0) -> tuple[Array, Array]:
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, p))
    return X, X[:, :3] @ np.array([3.0, -2.0, 1.0]) + 0.3 * rng.standard_normal(n) + 2


X, Y = data()
LABELS = X[:, 0] + 0.5 * X[:, 1] > 0.4
WEIGHTS = np.random.default_rng(3).random(60)
REGRESSION = dc.residual_rows(X, Y)
CLASSES = dc.binary_margins(X, LABELS)
CONVEX = [
    Risk.from_loss(REGRESSION, dc.square(), dc.l1()),
    Risk.from_loss(REGRESSION, dc.square(), dc.l1(), sample_weight=WEIGHTS),
    Risk.from_loss(REGRESSION, dc.huber(1.0), dc.l1() + dc.l2(2.0)),
    Risk.from_loss(REGRESSION, dc.absolute(), 3 * dc.l1()),
    Risk.from_loss(REGRESSION, dc.pinball(0.3), dc.l1()),
    Risk.from_loss(dc.residual_rows(X, Y, False), dc.epsilon_insensitive(0.5), dc.l1()),
    Risk.from_loss(CLASSES, dc.logistic(), dc.elastic_net(1.0, 2.0)),
    Risk.from_loss(CLASSES, dc.hinge(), dc.l1()),
    Risk.from_loss(CLASSES, dc.squared_hinge(), dc.l1()),
    Risk.from_loss(dc.class_margins(X, np.digitize(Y, [1, 3])), dc.logistic(), dc.l1()),
    Risk.from_loss(dc.angle_margins(X, np.digitize(Y, [1, 3])), dc.squared_hinge(), dc.l1()),
    Risk.from_loss(REGRESSION, dc.square(), dc.group_lasso(1.0, np.arange(120) // 2)),
]


def at(risk: Risk, lam: float) -> Risk:
    names = [n for n in risk.penalty.get_params() if n.split("__")[-1] in ("lam", "l1")]
    name = "first__lam" if "first__lam" in names else min(names, key=lambda n: n.count("__"))
    return risk.with_penalty(
        type(risk.penalty)(**risk.penalty.get_params(False)).set_params(**{name: lam})
    )


def point(result: dc.Result) -> Array:
    assert result.x is not None
    return result.x


# --------------------------------------------------------------------------------------------------
# λ_max


def test_it_is_that_of_the_lasso() -> None:
    centred = X - X.mean(axis=0)
    known = 2 * np.max(np.abs(centred.T @ (Y - Y.mean())))
    assert dc.lambda_max(X, Y) == pytest.approx(known, rel=1e-8)
    assert dc.lambda_max(sp.csr_array(X), Y) == pytest.approx(known, rel=1e-8)
    plain = 2 * np.max(np.abs(X.T @ Y))
    assert dc.lambda_max(X, Y, fit_intercept=False) == pytest.approx(plain, rel=1e-12)


@pytest.mark.parametrize("seed", range(2))
def test_a_path_begins_at_0(seed: int) -> None:
    """Not at rounding: the intercept, and so λ_max, is known to some 1e-11."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((50, 200))
    y = X[:, :3] @ [3.0, -2.0, 1.0] + 0.1 * rng.standard_normal(50)
    path = dc.penalty_path(X, y, penalty=dc.mcp(1.0, 3.0 / 50), n_lambdas=2)
    assert not np.any(path.coefs[:, 0])


@pytest.mark.parametrize("risk", CONVEX, ids=repr)
def test_a_convex_fit_leaves_0_there(risk: Risk) -> None:
    lam = dc.lambda_max(risk)
    above, below = (dc.solve(at(risk, factor * lam)) for factor in (1 + 1e-3, 1 - 1e-2))
    np.testing.assert_array_equal(np.abs(point(above)[risk.penalized]) > 1e-6, False)
    assert np.max(np.abs(point(below)[risk.penalized])) > 1e-6


@pytest.mark.parametrize(
    ("penalty", "factor"),
    [
        (dc.mcp(5.0, 0.1), 1.0),
        (dc.scad(5.0), 1.0),
        (dc.capped_l1(5.0, 0.1), 1.0),
        (dc.log_sum(5.0, 0.1), 0.1),
        (2 * dc.mcp(1.0), 0.5),
        (dc.l2(3.0) + dc.mcp(1.0), 1.0),
        (dc.elastic_net(7.0, 3.0), 1.0),
    ],
    ids=repr,
)
def test_penalties_differ_by_their_slope_at_0(penalty: dc.Penalty, factor: float) -> None:
    known = dc.lambda_max(X, Y)
    assert dc.lambda_max(X, Y, penalty=penalty) == pytest.approx(factor * known, rel=1e-6)


def test_another_part_of_the_penalty_helps() -> None:
    known = dc.lambda_max(X, Y)
    penalty = dc.l1(known / 4) + dc.mcp(1.0)
    assert dc.lambda_max(X, Y, penalty=penalty, parameter="second__lam") == pytest.approx(
        0.75 * known, rel=1e-6
    )
    enough = dc.l1(2 * known) + dc.mcp(1.0)
    assert dc.lambda_max(X, Y, penalty=enough, parameter="second__lam") == 0


def test_where_the_slope_at_0_is_infinite_any_weight_will_do() -> None:
    assert dc.lambda_max(X, Y, penalty=dc.lp(1.0, 0.5)) == 0
    with pytest.raises(ValueError, match="pass lambdas"):
        dc.penalty_path(X, Y, penalty=dc.lp(1.0, 0.5))


def test_of_nonconvex_losses_0_is_critical_above() -> None:
    loss = dc.cap(dc.square(), 9.0)
    risk = Risk.from_loss(REGRESSION, loss, dc.l1())
    lam = dc.lambda_max(risk)
    empty = np.zeros(121)
    alone = Risk.from_loss(dc.residual_rows(np.zeros((60, 1)), Y), loss)
    empty[-1] = point(dc.solve(alone))[-1]
    stays = dc.solve(at(risk, 1.01 * lam), start=empty, escape=False)
    leaves = dc.solve(at(risk, 0.9 * lam), start=empty, escape=False)
    assert not np.any(point(stays)[:-1])
    assert np.any(point(leaves)[:-1])


@pytest.mark.parametrize(
    ("arguments", "word"),
    [
        ({"X": X}, "y is missing"),
        ({"X": CONVEX[0], "y": Y}, "has its own"),
        ({"X": X, "y": Y, "penalty": dc.l2()}, "no kink"),
        ({"X": X, "y": Y, "parameter": "gamma"}, "parameter='gamma'"),
        (
            {"X": X, "y": Y, "penalty": dc.elastic_net(1.0, 1.0), "parameter": "l2"},
            "moves no slope",
        ),
        ({"X": X, "y": Y[:-1]}, "y has shape"),
        ({"X": X * np.nan, "y": Y}, "NaN"),
        (
            {
                "X": Risk(
                    np.eye(4), dc.hinge(), groups=[0, 0, 1, 1], aggregate="max", penalty=dc.l1()
                )
            },
            "maximum",
        ),
        (
            {"X": Risk.from_loss(REGRESSION, dc.absolute(), dc.group_lasso(1.0, [0] * 120))},
            "smooth",
        ),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_what_is_refused(arguments: dict[str, Any], word: str) -> None:
    with pytest.raises(ValueError, match=word):
        dc.lambda_max(**arguments)


# --------------------------------------------------------------------------------------------------
# paths


@pytest.mark.parametrize("scaled", [1.0, 1e-6, 1e6])
def test_a_lasso_path_is_scikit_learns(scaled: float) -> None:
    path = dc.penalty_path(X, scaled * Y, fit_intercept=False, n_lambdas=12)
    alphas, coefs, _ = lasso_path(X, scaled * Y, alphas=path.lambdas / 120, tol=1e-10)
    np.testing.assert_allclose(alphas, path.lambdas / 120)
    np.testing.assert_allclose(path.coefs, coefs, atol=1e-5 * scaled)
    np.testing.assert_array_equal(path.coefs != 0, coefs != 0)
    assert path.coefs.shape == (120, 12)
    assert path.intercepts.shape == path.objectives.shape == path.lambdas.shape == (12,)


def test_an_elastic_net_path_with_an_intercept_is_scikit_learns() -> None:
    centred, targets = X - X.mean(axis=0), Y - Y.mean()
    path = dc.penalty_path(X, Y, penalty=dc.elastic_net(1.0, 24.0), n_lambdas=5)
    for k, lam in enumerate(path.lambdas):
        alpha, ratio = (lam + 24.0) / 120, lam / (lam + 24.0)
        options = {"alphas": [alpha + 0.0], "tol": 1e-12, "max_iter": 100_000}
        # ‖·‖²/(2n) + α·ratio‖w‖₁ + ½α(1 − ratio)‖w‖² is ours over 2n
        _, coefs, _ = enet_path(centred, targets, l1_ratio=ratio, **options)
        np.testing.assert_allclose(path.coefs[:, k], coefs[:, 0], atol=1e-5)
        b = Y.mean() - X.mean(axis=0) @ coefs[:, 0]
        assert path.intercepts[k] == pytest.approx(b, abs=1e-4)


@pytest.mark.parametrize("direction", ["down", "up", "both", None])
@pytest.mark.parametrize(
    "risk",
    [
        Risk.from_loss(REGRESSION, dc.square(), dc.mcp(1.0, 0.05)),
        Risk.from_loss(REGRESSION, dc.cap(dc.square(), 9.0), dc.l1()),
        Risk.from_loss(CLASSES, dc.logistic(), dc.scad(1.0)),
        Risk.from_loss(CLASSES, dc.cap(dc.hinge(), 1.0), dc.l1()),
        Risk.from_loss(dc.class_margins(X, np.digitize(Y, [1, 3])), dc.logistic(), dc.l1()),
    ],
    ids=repr,
)
def test_every_fit_is_one_of_dc_solve(risk: Risk, direction: str | None) -> None:
    path = dc.penalty_path(risk, n_lambdas=3, eps=0.1, direction=direction)
    lambdas, coefs, intercepts, objectives, results = path
    assert np.all(np.diff(lambdas) < 0)
    for k, lam in enumerate(lambdas):
        here = at(risk, float(lam))
        theta = here.scores.pack(np.atleast_2d(coefs[..., k]), np.atleast_1d(intercepts[..., k]))
        assert objectives[k] == pytest.approx(here(theta), rel=1e-10)
        again = dc.solve(here, start=point(results[k]), escape=False)
        assert objectives[k] <= again.value + 1e-5 * here.magnitude(theta)
        if risk.penalty.is_convex and risk.has_convex_losses:
            assert objectives[k] == pytest.approx(dc.solve(here).value, rel=1e-5)


def test_both_is_nowhere_above_down() -> None:
    down, both = (
        dc.penalty_path(X, Y, penalty=dc.mcp(1.0, 0.05), n_lambdas=15, direction=direction)
        for direction in ("down", "both")
    )
    assert np.all(both.objectives <= down.objectives)


def test_values_come_in_any_order_and_options_reach_every_fit() -> None:
    path = dc.penalty_path(X, Y, lambdas=[1.0, 100.0, 10.0], solver="proximal_newton", tol=1e-8)
    np.testing.assert_array_equal(path.lambdas, [100.0, 10.0, 1.0])
    assert {result.solver for result in path.results} == {"proximal_newton"}
    assert repr(path) == "PenaltyPath(3 fits, λ from 100 to 1)"


def test_a_path_says_nothing_of_empty_fits(recwarn: pytest.WarningsRecorder) -> None:
    dc.penalty_path(X, Y, penalty=dc.mcp(1.0), n_lambdas=2)
    assert len(recwarn) == 0


def test_it_says_nothing_of_samples_that_intercepts_alone_give_up(
    recwarn: pytest.WarningsRecorder,
) -> None:
    x = np.linspace(-1, 1, 30)
    assert dc.lambda_max(x[:, None], 50 * x**3, loss=dc.tukey(dc.square(), 4.685)) > 0
    assert not [w for w in recwarn if w.category is dc.TrivialSolutionWarning]


@pytest.mark.parametrize(
    ("options", "word"),
    [
        ({"lambdas": []}, "lambdas"),
        ({"lambdas": [1.0, -1.0]}, "lambdas"),
        ({"lambdas": [np.nan]}, "lambdas"),
        ({"n_lambdas": 0}, "n_lambdas"),
        ({"eps": 1.0}, "eps"),
        ({"direction": "sideways"}, "direction"),
        ({"start": "convex"}, "start"),
        ({"tol": -1.0}, "tol"),
        ({"penalty": dc.l2()}, "no kink"),
        ({"loss": "hinge"}, "loss of margins"),
        ({"scale": "mda"}, "is 'mad' meant"),
        ({"scale": -1.0}, "scale"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_bad_options(options: dict[str, Any], word: str) -> None:
    with pytest.raises(ValueError, match=word):
        dc.penalty_path(X, Y, **options)


def test_a_ridge_path_needs_its_values() -> None:
    path = dc.penalty_path(X, Y, penalty=dc.l2(), lambdas=[1.0, 10.0])
    assert np.linalg.norm(path.coefs[:, 0]) < np.linalg.norm(path.coefs[:, 1])


class exponential(ConcavePenalty):
    """Σ (1 − e^{−|w_j|}), without a parameter."""

    def of_size(self, t: Array) -> Array:
        return 1 - np.exp(-t)

    def rate(self, t: Array) -> Array:
        return np.exp(-t)


class largest(dc.Penalty):
    """max |w_j|, whose slopes at 0 are those of no part."""

    def __call__(self, w: Array) -> float:
        return float(np.max(np.abs(w)))

    def slope(self, w: Array) -> Array:
        return np.sign(w) * (np.arange(w.size) == np.argmax(np.abs(w)))

    def expression(self, w: cp.Expression) -> cp.Expression:
        return cp.norm_inf(w)


@pytest.mark.parametrize("penalty", [exponential(), 3 * exponential(), exponential() + dc.l2(0.1)])
def test_the_weight_of_an_own_penalty_is_a_factor(penalty: dc.Penalty) -> None:
    assert dc.lambda_max(X, Y, penalty=penalty) == pytest.approx(dc.lambda_max(X, Y), rel=1e-6)
    path = dc.penalty_path(X, Y, penalty=penalty, n_lambdas=2, eps=0.1, direction="down")
    assert not np.any(path.coefs[:, 0])
    assert np.any(path.coefs[:, -1])


def test_a_penalty_of_unknown_form_needs_values() -> None:
    path = dc.penalty_path(X[:20, :2], Y[:20], penalty=largest(), lambdas=[1.0, 100.0])
    assert np.max(np.abs(path.coefs[:, 0])) < np.max(np.abs(path.coefs[:, 1]))
    with pytest.raises(ValueError, match="needs lambdas"):
        dc.penalty_path(X, Y, penalty=largest())


@pytest.mark.parametrize("scale", ["mad", 2.5])
def test_residuals_are_counted_in_the_scale_of_the_regressor(scale: str | float) -> None:
    rng = np.random.default_rng(1)
    X = rng.standard_normal((80, 4))
    y = 50 + 20 * (X[:, 0] + 0.3 * rng.standard_normal(80))
    y[:8] += 900
    path = dc.penalty_path(X, y, "tukey", dc.mcp(1.0), lambdas=[5.0, 0.1], scale=scale)
    for k, lam in enumerate(path.lambdas):
        model = dc.RobustRegressor("tukey", dc.mcp(lam), scale=scale).fit(X, y)
        assert path.scale == pytest.approx(model.scale_, rel=1e-9)
        assert path.objectives[k] == pytest.approx(model.objective_, rel=1e-4)
        np.testing.assert_allclose(path.coefs[:, k], model.coef_, atol=0.02)
        assert path.intercepts[k] == pytest.approx(model.intercept_, abs=0.02)


def test_by_default_nonconvex_losses_count_in_the_scale() -> None:
    scaled = (dc.penalty_path(X, 1e3 * Y, loss, n_lambdas=2).scale for loss in ("tukey", "huber"))
    path = dc.penalty_path(X, 1e3 * Y, "tukey", n_lambdas=2)
    assert pickle.loads(pickle.dumps(path)).scale == path.scale
    robust, convex = scaled
    assert robust > 1
    assert convex == 1
    with pytest.raises(ValueError, match="own unit"):
        dc.penalty_path(CONVEX[0], scale="mad")


def test_curves_of_a_path_are_named() -> None:
    frame = pd.DataFrame(X[:, :3], columns=["age", "dose", "height"])
    path = pickle.loads(pickle.dumps(dc.penalty_path(frame, Y, lambdas=[0.0])))
    ax = path.plot(ax=Figure().subplots())
    assert [text.get_text() for text in ax.get_legend().get_texts()] == list(frame)

    rows = dc.angle_margins(X[:, :2], np.arange(len(X)) % 3)
    risk = dc.Risk.from_loss(rows, dc.squared_hinge(), dc.l2(1.0))
    lines = dc.penalty_path(risk, lambdas=[1.0]).plot(ax=Figure().subplots()).lines
    labels = [line.get_label() for line in lines]
    assert labels == ["x0, score 0", "x1, score 0", "x0, score 1", "x1, score 1"]


def test_a_path_is_plotted() -> None:
    path = dc.penalty_path(X, Y, lambdas=[100.0, 10.0, 0.0])
    ax = path.plot(ax=Figure().subplots())
    moved = np.any(path.coefs != 0, axis=1)
    assert [line.get_label() for line in ax.lines] == [f"x{j}" for j in np.flatnonzero(moved)]
    assert ax.get_xlim()[0] > ax.get_xlim()[1]
    with pytest.raises(TypeError, match="ax="):
        path.plot(ax=3)
