"""One random fit: loss × transform × penalty × data, and what came out checked."""

from __future__ import annotations

import time
import warnings
from dataclasses import replace
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning

import dcprog as dc
from dcprog import models
from tests.fuzz.data import Data, random_data
from tests.fuzz.formulas import Formula, Function, carried_on_from, random_loss, random_penalty
from tests.fuzz.landscape import Array, Landscape, free
from tests.fuzz.report import Report, generator, is_ours, judged_exception, where
from tests.fuzz.verdicts import Descent, check_point, check_status, find_descent, slope_along

__all__ = ["landscape_of", "run"]

TOL = 1e-6
TIME_LIMIT = 5.0
RESOLVED = 3e-9  # of a margin's or residual's units
FARTHEST = 1e-8  # from an infinite slope that a run may leave it
LARGEST = 1e300  # units of coefficients, where subnormal data would have infinite ones
STORM = 20  # so many warnings of NumPy in one fit are no remark any more


def run(number: int) -> Report:
    """Fit number so and so; warnings of NumPy from our own files are counted."""
    rng = generator("fits", number)
    kind = str(rng.choice(["classifier"] * 3 + ["regressor"] * 3 + ["risk"] * 3 + ["model"]))
    margin = kind != "regressor" and (kind != "risk" or rng.uniform() < 0.5)
    data = random_data(rng, margin)
    report = Report()
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        warnings.simplefilter("ignore", ConvergenceWarning)
        try:
            _RUNS[kind](report, rng, data, margin)
        except Exception as error:
            if where(error)[0] == "outside" or "tests/fuzz" in where(error)[0]:
                raise  # a mistake of the fuzzer's own
            report.outcome, failure = judged_exception(error, lambda text: _may_refuse(data, text))
            report.include(failure and f"{failure} [{kind}, {data.kind}]")
    noise = [w for w in caught if issubclass(w.category, RuntimeWarning)]
    ours = [w for w in noise if is_ours(w.filename)]
    if ours and not data.hostile:
        place = f"{ours[0].filename.rsplit('/', 1)[-1]}: {ours[0].message}"
        report.remarks.append(f"RuntimeWarning {place}")
        if len(ours) > STORM:
            report.fail("a storm of warnings", f"{len(ours)}, {place}")
    return report


def _may_refuse(data: Data, text: str) -> bool:
    """May a ValueError be the answer? To hostile data, and to what no solver is there for."""
    return data.hostile or text.startswith("no solver takes this risk")


def landscape_of(data: Data, loss: Formula, penalty: Formula, intercept: bool) -> Landscape:
    """Σ s·ℓ(u) + penalty(w), with u = y·f(x) or y − f(x), of θ = (w, b)."""
    X, y = data.dense, data.targets
    d = X.shape[1]
    margin = data.kind_of_u == "margin"
    s = 1.0 if data.weights is None else np.asarray(data.weights, dtype=float)

    def rows(theta: Array) -> Array:
        scores = X @ theta[:d] + (theta[d] if intercept else 0.0)
        return y * scores if margin else y - scores

    def total(theta: Array, of_loss: Function, of_penalty: Function) -> float:
        with np.errstate(all="ignore"):
            losses = of_loss(rows(theta))
            part = float(np.sum(losses if loss.joint else s * losses))
            value = part + float(np.sum(of_penalty(theta[:d])))
        return np.inf if np.isnan(value) else value

    def size(theta: Array) -> float:
        with np.errstate(all="ignore"):
            sizes = [np.sum(s * np.abs(loss.size(rows(t)))) for t in (theta, 0 * theta)]
        return max(float(sizes[0]) + float(np.sum(penalty.value(theta[:d]))), 1e-3 * sizes[1])

    largest = np.max(np.abs(X), axis=0)
    units = data.units / np.where(largest > 0, np.maximum(largest, data.units / LARGEST), 1.0)
    return free(
        lambda theta: total(theta, loss.value, penalty.value),
        size,
        np.append(units, data.units) if intercept else units,
        lambda theta: total(theta, loss.descended, penalty.descended),
    )


def _classifier(report: Report, rng: np.random.Generator, data: Data, margin: bool) -> None:
    _estimator(report, rng, data, dc.RobustClassifier, margin)


def _regressor(report: Report, rng: np.random.Generator, data: Data, margin: bool) -> None:
    _estimator(report, rng, data, dc.RobustRegressor, margin)


def _estimator(
    report: Report, rng: np.random.Generator, data: Data, kind: Any, margin: bool
) -> None:
    loss, penalty, intercept = _drawn(rng, data, margin)
    given = {} if kind is dc.RobustClassifier else {"scale": None}
    model = kind(loss.declared, penalty.declared, fit_intercept=intercept, **given)
    begun = time.process_time()
    model.fit(data.X, data.y, sample_weight=data.weights)
    _check_pace(report, begun)
    coefficients = np.ravel(model.coef_)
    theta = np.append(coefficients, model.intercept_) if intercept else coefficients
    flip = _sign(data, model)
    result = replace(model.result_, x=flip * theta, value=model.objective_)
    _check(report, rng, data, loss, penalty, intercept, result)
    predicted = model.predict(data.X)
    if np.shape(predicted) != np.shape(data.y):
        report.fail("predictions of a wrong shape", str(np.shape(predicted)))


def _sign(data: Data, model: Any) -> float:
    """+1 if the second of the classes is the one with target 1."""
    if data.kind_of_u != "margin":
        return 1.0
    label = np.asarray(data.y)[data.targets > 0][0]
    return 1.0 if label == model.classes_[-1] else -1.0


def _risk(report: Report, rng: np.random.Generator, data: Data, margin: bool) -> None:
    loss, penalty, intercept = _drawn(rng, data, margin)
    X = data.X if not isinstance(data.X, list) else np.array(data.X)
    rows = (dc.binary_margins if margin else dc.residual_rows)(X, data.targets, intercept)
    risk = dc.Risk.from_loss(rows, loss.declared, penalty.declared, sample_weight=data.weights)
    options: dict[str, Any] = {"time_limit": TIME_LIMIT}
    if rng.uniform() < 0.2:
        options["acceleration"] = str(rng.choice(["linesearch", "squarem"]))
    if rng.uniform() < 0.2:
        options["n_starts"] = 3
    if rng.uniform() < 0.2:
        options["start"] = "random"
    begun = time.process_time()
    result = dc.solve(risk, **options)
    _check_pace(report, begun)
    _check(report, rng, data, loss, penalty, intercept, result)


def _model(report: Report, rng: np.random.Generator, data: Data, margin: bool) -> None:
    """A published model: exceptions, time and finite numbers only."""
    c = float(10.0 ** rng.uniform(-3, 3))
    made = [
        lambda: models.AngleSVC(
            form=int(rng.integers(1, 3)), penalty=str(rng.choice(["l1", "l2"])), lam=c
        ),
        lambda: models.CappedSVC(p=float(rng.uniform(0.3, 2)), gamma=c),
        lambda: models.LeastOneNormSVC(C=c),
        lambda: models.RescaledHingeSVC(C=c, eta=float(rng.uniform(0.1, 3))),
        lambda: models.SmoothSVC(C=c, outlier_ratio=float(rng.choice([0.0, 0.1]))),
    ]
    model: Any = made[int(rng.integers(len(made)))]()
    begun = time.process_time()
    model.fit(data.X, data.y)
    _check_pace(report, begun)
    report.outcome = getattr(getattr(model, "result_", None), "status", type(model).__name__)
    scores = np.asarray(model.decision_function(data.X))
    if not np.all(np.isfinite(scores)):
        report.fail("scores that are not finite", f"{type(model).__name__}, {data.kind}")
    if np.shape(model.predict(data.X)) != np.shape(data.y):
        report.fail("predictions of a wrong shape", type(model).__name__)


def _drawn(rng: np.random.Generator, data: Data, margin: bool) -> tuple[Formula, Formula, bool]:
    loss = random_loss(rng, margin)
    if loss.joint:
        data.weights, data.hostile = None, data.kind == "huge"  # trimmed losses take none
    return loss, random_penalty(rng, data.dense.shape[1]), bool(rng.uniform() < 0.7)


def _check(
    report: Report,
    rng: np.random.Generator,
    data: Data,
    loss: Formula,
    penalty: Formula,
    intercept: bool,
    result: Any,
) -> None:
    check_status(report, result)
    if data.hostile:
        return
    land = landscape_of(data, loss, penalty, intercept)
    before = len(report.failures)
    wrong = check_point(report, land, result, TOL, rng, 1.0)
    if wrong is not None and not _is_steep_anyhow(land, result.x, wrong, rng):
        _excuse(report, "a slope of one way only to leave infinite slopes", "wrong converged")
    if loss.width < RESOLVED * data.units:  # no step resolves such a well; rounding decides in it
        _excuse(report, "a slope beyond a very narrow well", "wrong converged", "a wrong value")
    if result.status == "unbounded":
        report.fail("false unbounded", "a risk is never negative")
    if result.status == "infeasible":
        report.fail("false infeasible", "a risk has no constraints")
    if result.status == "solver_failed":
        report.remarks.append("solver_failed")
    words = f" [{loss.declared!r}, {penalty.declared!r}, {data.kind}, {result.solver}]"
    report.failures[before:] = [" ".join((f + words).split()) for f in report.failures[before:]]


def _is_steep_anyhow(land: Landscape, x: Array, found: Descent, rng: np.random.Generator) -> bool:
    """Does F fall from x as it is, and however near 0 infinite slopes are left?

    Runs leave them at a distance relative to sizes that they know and the checks do not: of targets
    of size 1e-9 the function of the checks is a thousand times F.
    """
    if find_descent(land.as_is, x, TOL, rng) is None:
        return False
    least = -found.slope / 10
    with carried_on_from(FARTHEST):
        slopes = [slope_along(f, x, found.direction, least) for f in (land, land.as_is)]
    return max(slopes) < -least


def _excuse(report: Report, remark: str, *kinds: str) -> None:
    """Failures of some kinds are remarks."""
    excused = [f for f in report.failures if f.startswith(kinds)]
    report.failures = [f for f in report.failures if f not in excused]
    report.remarks += [remark] * len(excused)


def _check_pace(report: Report, begun: float) -> None:
    """A fit of at most thirty samples that takes so long hangs."""
    if time.process_time() - begun > 2 * TIME_LIMIT:
        report.fail("beyond twice the time limit", f"{time.process_time() - begun:.1f} s")


_RUNS = {"classifier": _classifier, "regressor": _regressor, "risk": _risk, "model": _model}
