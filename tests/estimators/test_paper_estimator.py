"""A published model is a declaration and its docstring; the rest comes from its base class."""

import inspect
import pickle
import re
from ast import literal_eval
from numbers import Real
from typing import Any

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.callback import ScoringMonitor
from sklearn.datasets import load_iris
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import GridSearchCV
from sklearn.utils._param_validation import Interval
from sklearn.utils.estimator_checks import estimator_checks_generator

import dcprog as dc
from dcprog.estimators import PaperClassifier, RobustClassifier, RobustRegressor, parameter
from dcprog.estimators.parameters import POSITIVE, DeclaredEstimator
from dcprog.foundation.arrays import Array
from dcprog.losses import cap, logistic
from dcprog.models import (
    AngleSVC,
    AngleSVCCV,
    CappedSVC,
    LeastOneNormSVC,
    LeastTrimmedSquares,
    MMRegressor,
    RescaledHingeSVC,
    SmoothSVC,
)
from dcprog.penalties import l2
from dcprog.risk.risk import Risk
from dcprog.rows.scores import Scores

# ---- a user's file -------------------------------------------------------------------------------


class TruncatedLogisticClassifier(PaperClassifier):
    r"""Linear classifier with a truncated logistic loss.

    .. math:: \sum_i \min\{\ell(u_i), \ell(s)\} + \tfrac{\lambda}{2} \|w\|^2,
        \qquad \ell(u) = \log(1 + e^{-u}).

    Parameters
    ----------
    lam : float, default 1.0
        λ > 0.
    s : float, default -1.0
        s ≤ 0: a sample whose margin is below costs no more than one whose margin is s.

    References
    ----------
    Park, Liu (2011), Robust penalized logistic regression with truncated loss functions, Can. J.
    Stat. 39.
    """

    lam: float = parameter(POSITIVE, default=1.0)
    s: float = parameter(Interval(Real, None, 0, closed="right"), default=-1.0)

    def _declare(self, rows: Scores) -> Risk:
        loss = cap(logistic(), float(np.log1p(np.exp(-self.s))))
        return Risk.from_loss(rows, loss, l2(self.lam))


# ---- what follows from it ------------------------------------------------------------------------

ESTIMATORS = [
    AngleSVC,
    AngleSVCCV,
    CappedSVC,
    LeastOneNormSVC,
    LeastTrimmedSquares,
    MMRegressor,
    RescaledHingeSVC,
    RobustClassifier,
    RobustRegressor,
    SmoothSVC,
    TruncatedLogisticClassifier,
]


def _outliers() -> tuple[Array, Any]:
    rng = np.random.default_rng(0)
    y = np.arange(80) % 2
    X = rng.standard_normal((80, 2)) + np.where(y == 1, 2.0, -2.0)[:, None]
    X[:4] += 40.0 * np.where(y[:4] == 1, -1.0, 1.0)[:, None]
    return X, y


@pytest.mark.parametrize(
    ("estimator", "check"),
    [
        pytest.param(estimator, check, id=check.func.__name__)
        for estimator, check in estimator_checks_generator(TruncatedLogisticClassifier(n_starts=1))
        if not check.keywords and "_sparse_" not in check.func.__name__  # forms: as CappedSVC
    ],
)
def test_scikit_learn_contract(estimator: Any, check: Any) -> None:
    check(estimator)


def test_it_is_forty_lines_of_code_at_most() -> None:
    source = inspect.getsource(TruncatedLogisticClassifier)
    assert len(re.sub(r'r""".*?"""', "", source, flags=re.DOTALL).split("\n")) <= 12


def test_it_minimises_what_it_declares() -> None:
    X, y = _outliers()
    model = TruncatedLogisticClassifier(lam=0.5, s=-2.0, tol=1e-9).fit(X, y)
    assert model.result_.status == "converged"
    u = np.where(y == 1, 1, -1) * model.decision_function(X)
    loss = np.sum(np.minimum(np.log1p(np.exp(-u)), np.log1p(np.exp(2.0))))
    penalty = 0.25 * np.sum(model.coef_**2)
    parts = model.objective_function(X, y)
    assert parts == pytest.approx((loss + penalty, loss, penalty))
    assert model.objective(X, y) == pytest.approx(model.objective_)
    assert dc.solve(model.spec(X, y), tol=1e-9).value == pytest.approx(model.objective_)
    assert model.score(X[4:], y[4:]) == 1.0  # the outliers cost nothing
    assert TruncatedLogisticClassifier(s=-500.0).fit(X, y).score(X[4:], y[4:]) < 1.0


def test_it_has_the_options_of_the_loop() -> None:
    X, y = load_iris(return_X_y=True)
    with pytest.warns(ConvergenceWarning, match="max_iter") as caught:
        TruncatedLogisticClassifier(max_iter=1, n_starts=1).fit(X, y)
    assert caught[0].filename == __file__  # at the user's line
    best = TruncatedLogisticClassifier(n_starts=3, random_state=1, n_jobs=1).fit(X, y)
    assert len(best.result_.starts) == 3
    assert best.objective_ <= TruncatedLogisticClassifier().fit(X, y).objective_ + 1e-6
    with pytest.raises(ValueError, match="'s' parameter of TruncatedLogisticClassifier"):
        TruncatedLogisticClassifier(s=1.0).fit(X, y)
    single = TruncatedLogisticClassifier(n_starts=1)
    search = GridSearchCV(single, {"s": [-2.0, -0.5]}, cv=2).fit(X, y)
    assert search.best_params_["s"] in (-2.0, -0.5)
    copy = pickle.loads(pickle.dumps(best))
    np.testing.assert_array_equal(copy.predict(X), best.predict(X))


@pytest.mark.parametrize(
    "model",
    [
        TruncatedLogisticClassifier(n_starts=1),
        CappedSVC(eps=1.0, n_starts=1),
        AngleSVC(2, n_starts=1),
        AngleSVC(2, kernel="rbf", n_starts=1),
        SmoothSVC(outlier_ratio=0.1, filtering="trimmed", n_starts=1),
    ],
    ids=repr,
)
def test_callbacks_see_every_step(model: Any) -> None:
    X, y = load_iris(return_X_y=True)
    monitor = ScoringMonitor(scoring="accuracy")
    seen = clone(model).set_callbacks(monitor).fit(X, y)
    scores = [row["accuracy"] for row in monitor.get_logs().data if row["task_name"] == "step"]
    assert len(scores) == seen.result_.n_iter + 1
    assert scores[-1] == pytest.approx(seen.score(X, y))
    assert seen.objective_ == clone(model).fit(X, y).objective_


def test_a_time_limit_is_kept_and_warned_of() -> None:
    X, y = load_iris(return_X_y=True)
    with pytest.warns(ConvergenceWarning, match="time limit.*; increase time_limit$"):
        model = AngleSVC(2, kernel="rbf", time_limit=1e-3, n_starts=5).fit(X, y)
    assert model.result_.status == "time_limit"


# ---- declared parameters -------------------------------------------------------------------------


@pytest.mark.parametrize("cls", ESTIMATORS)
def test_every_parameter_is_documented_with_its_default(cls: type) -> None:
    told = inspect.getdoc(cls) or ""
    parameters = told[told.index("Parameters\n---") : told.index("Attributes\n---")]
    entries = dict(re.findall(r"^(\w[\w, ]*) : (.*)$", parameters, re.MULTILINE))
    said = {n.strip(): text for names, text in entries.items() for n in names.split(",")}
    signature = inspect.signature(cls).parameters
    assert set(said) == set(signature)
    for name, text in said.items():
        default = None if text.endswith("optional") else literal_eval(text.partition("default ")[2])
        assert default == signature[name].default, name


@pytest.mark.parametrize("cls", ESTIMATORS)
def test_a_clone_has_the_same_parameters(cls: Any) -> None:
    model = cls(**{name: value for name, value in cls().get_params(deep=False).items()})
    assert clone(model).get_params(deep=False) == cls().get_params(deep=False)


def test_a_parameter_without_a_type_is_refused() -> None:
    with pytest.raises(TypeError, match="no type annotation"):

        class Untyped(DeclaredEstimator):
            lam = parameter(POSITIVE, default=1.0)


def test_what_is_declared_by_halves_is_refused() -> None:
    with pytest.raises(TypeError, match=r"parameter\(default=1.0\): a constraint is needed"):
        parameter(default=1.0)
    with pytest.raises(TypeError, match=r"Plain.lam: .* declared by lam: type = parameter"):

        class Plain(DeclaredEstimator):
            lam: float = 1.0


def test_what_a_docstring_leaves_out_is_inherited() -> None:
    told = TruncatedLogisticClassifier.__doc__ or ""
    assert told.index("lam : float") < told.index("tol : float") < told.index("Attributes")
    assert told.index("Attributes") < told.index("coef_ : array") < told.index("Warns")
    assert told.count("tol : float") == 1
