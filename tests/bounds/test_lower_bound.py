"""The public side of bounds: options, units, resuming, stopping, errors."""

from __future__ import annotations

import pickle
import warnings
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from scipy.optimize import minimize

import dcprog as dc
from dcprog.bounds.search import Search

N = 40


def samples(seed: int = 0) -> tuple[Any, Any, Any]:
    """Points of two classes of which some are flipped, and responses with outliers."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(N, 2))
    score = X @ rng.normal(size=2) + 0.3
    labels = np.where(score > 0, 1.0, -1.0)
    labels[:6] *= -1
    y = score + 0.1 * rng.normal(size=N)
    y[:12] = 5 * rng.normal(size=12) + 4
    return X, labels, y


X, LABELS, Y = samples()
MARGINS, RESIDUALS = dc.binary_margins(X, LABELS), dc.residual_rows(X, Y)


def ramp(factor: float = 1.0, unit: float = 1.0) -> dc.Risk:
    """The ramp loss, times a factor, of samples in another unit."""
    rows = dc.binary_margins(unit * X, LABELS)
    loss = factor * dc.cap(dc.hinge(), 1.0)
    return dc.Risk.from_loss(rows, loss, dc.l2(0.1 * factor * unit**2))


LOSSES: dict[str, tuple[Any, dc.Loss]] = {
    "rescaled": (MARGINS, dc.rescale(dc.hinge(), 2.0)),
    "power": (MARGINS, dc.power(dc.hinge(), 0.5)),
    "logarithm": (MARGINS, dc.log(dc.squared_hinge(), 0.5)),
    "logistic": (MARGINS, dc.cap(dc.logistic(), 1.0)),
    "smooth hinge": (MARGINS, dc.cap(dc.pade_hinge(10.0), 1.0)),
    "truncated": (MARGINS, dc.truncate(dc.squared_hinge(), -0.5)),
    "psi": (MARGINS, 2 * (dc.hinge() - dc.hinge(0.0))),
    "sum": (MARGINS, dc.cap(dc.hinge(), 1.0) + 0.2 * dc.hinge()),
    "trimmed cap": (MARGINS, dc.trim(dc.cap(dc.hinge(), 2.0), 0.1)),
    "convex": (MARGINS, dc.hinge()),
    "Tukey": (RESIDUALS, dc.tukey(dc.square(), 2.0)),
    "Andrews": (RESIDUALS, dc.andrews(dc.square(), 1.0)),
    "Welsch": (RESIDUALS, dc.welsch(dc.square(), 1.0)),
    "absolute": (RESIDUALS, dc.truncate(dc.absolute(), 1.0)),
    "power of absolute": (RESIDUALS, dc.power(dc.absolute(), 0.5)),
    "pinball": (RESIDUALS, dc.cap(dc.pinball(0.3), 1.0)),
    "trimmed squares": (RESIDUALS, dc.trim(dc.square(), 0.3)),
}
PENALTIES: dict[str, dc.Penalty] = {
    "l1": dc.l1(0.5),
    "elastic net": dc.elastic_net(0.5, 0.1),
    "mcp": dc.mcp(0.5) + dc.l2(0.1),
    "log-sum": dc.log_sum(0.5, 0.5),
    "lp": dc.lp(0.5, 0.5),
    "group lasso": dc.group_lasso(0.5, [0, 0]),
}


def is_below(risk: dc.Risk, bound: dc.Bound) -> None:
    """No local minimum around the best point is below the bound."""
    assert bound.x is not None
    rng = np.random.default_rng(1)
    for _ in range(6):
        start = bound.x + rng.choice([0.1, 1.0, 3.0]) * rng.normal(size=bound.x.size)
        found = minimize(risk, start, method="Nelder-Mead", options={"maxfev": 300})
        assert found.fun >= bound.value - 1e-9 * bound.scale


@pytest.mark.parametrize("name", LOSSES)
def test_every_kind_of_loss_is_bounded(name: str) -> None:
    rows, loss = LOSSES[name]
    risk = dc.Risk.from_loss(rows, loss, dc.l2(0.5))
    bound = dc.lower_bound(risk)
    assert bound.status == "proved"
    assert bound.gap <= 1e-3 * (1 + 1e-9)
    is_below(risk, bound)


@pytest.mark.parametrize("name", PENALTIES)
def test_every_kind_of_penalty_is_bounded(name: str) -> None:
    risk = dc.Risk.from_loss(MARGINS, dc.cap(dc.hinge(), 1.0), PENALTIES[name])
    bound = dc.lower_bound(risk)
    assert bound.status == "proved"
    is_below(risk, bound)


@pytest.mark.parametrize("aggregate", ["sum", "max"])
def test_groups_of_rows_are_bounded(aggregate: str) -> None:
    labels = np.repeat([0, 1, 2], [14, 13, 13])
    rows = dc.class_margins(X[:, :1] + 2 * labels[:, None], labels, fit_intercept=False)
    risk = dc.Risk(
        rows,
        dc.squared_hinge(),
        aggregate=aggregate,
        transform=dc.cap_at(np.linspace(0.5, 2.0, N)),
        penalty=dc.l2(0.5),
    )
    bound = dc.lower_bound(risk)
    assert bound.status == "proved"
    is_below(risk, bound)


@pytest.mark.parametrize("loss", ["capped", "trimmed", "squares"])
def test_few_samples_in_many_coefficients(loss: str) -> None:
    """What boxes of θ do not reach: the samples' states do."""
    rng = np.random.default_rng(3)
    wide = rng.normal(size=(24, 13))
    rows = dc.residual_rows(wide, wide @ rng.normal(size=13) + 3 * rng.normal(size=24))
    kinds = {
        "capped": dc.cap(dc.absolute(), 1.0),
        "trimmed": dc.trim(dc.square(), 0.1),
        "squares": dc.cap(dc.square(), 1.0),
    }
    risk = dc.Risk.from_loss(rows, kinds[loss], dc.l2(1.0))
    bound = dc.lower_bound(risk)
    assert bound.status == "proved"
    assert bound.objective <= dc.solve(risk, n_starts=4).value * (1 + 1e-6)
    is_below(risk, bound)


def test_a_trimmed_fit_is_the_published_one_in_one_dimension() -> None:
    """Trimmed squares of a constant: the best half of the sorted responses."""
    risk = dc.Risk.from_loss(
        dc.residual_rows(np.zeros((N, 1)), Y), dc.trim(dc.square(), 0.4), dc.l2(1.0)
    )
    y, kept = np.sort(Y), N - 16
    least = min(float(np.var(y[i : i + kept]) * kept) for i in range(N - kept + 1))
    bound = dc.lower_bound(risk, gap=1e-6)
    assert bound.status == "proved"
    assert bound.value <= least * (1 + 1e-9)
    assert bound.objective == pytest.approx(least, rel=2e-6)


@pytest.mark.parametrize("size", [1e-12, 1e12])
def test_bounds_have_no_units(size: float) -> None:
    plain = dc.lower_bound(ramp())
    for bound, factor in (
        (dc.lower_bound(ramp(factor=size)), size),
        (dc.lower_bound(ramp(unit=size)), 1.0),
    ):
        assert bound.status == "proved"
        assert bound.gap == pytest.approx(plain.gap, rel=1e-6)
        assert bound.value <= plain.objective * factor * (1 + 1e-9)
        assert bound.objective == pytest.approx(plain.objective * factor, rel=2e-3)
        assert bound.nodes < 2 * plain.nodes + 100


@pytest.mark.parametrize("offset", [30.0, 1e4])
def test_columns_far_from_zero_cost_nothing(offset: float) -> None:
    plain = dc.lower_bound(ramp())
    far = dc.Risk.from_loss(
        dc.binary_margins(X + offset, LABELS), dc.cap(dc.hinge(), 1.0), dc.l2(0.1)
    )
    bound = dc.lower_bound(far)
    assert bound.status == "proved"
    assert bound.nodes < 2 * plain.nodes + 100
    assert bound.value <= plain.objective * (1 + 1e-9)
    assert bound.objective == pytest.approx(plain.objective, rel=2e-3)
    assert bound.x is not None
    assert far(bound.x) == pytest.approx(bound.objective, rel=1e-12)


def test_states_have_no_units(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("dcprog.bounds.state_space.FEW_ENTRIES", 0)
    monkeypatch.setattr("dcprog.bounds.state_space.MANY_ENTRIES", 0)
    plain = dc.lower_bound(ramp())
    factor = 1e-12
    bound = dc.lower_bound(ramp(factor, unit=1e12))
    assert bound.status == "proved"
    assert bound.objective == pytest.approx(plain.objective * factor, rel=2e-3)
    assert bound.value <= plain.objective * factor * (1 + 1e-9)


def test_a_risk_that_no_solver_takes_is_bounded() -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(12, 2))
    rows = dc.binary_margins(X, np.where(X[:, 0] > 0.3, 1.0, -1.0), fit_intercept=False)
    loss = dc.rescale(dc.pade_hinge(3.0), 0.5)
    risk = dc.Risk.from_loss(rows, loss, dc.group_lasso(0.1, [0, 0]))
    with pytest.raises(ValueError, match="no solver takes this risk"):
        dc.solve(risk)
    bound = dc.lower_bound(risk)
    assert bound.status == "proved"
    assert bound.objective < risk(np.zeros(2))


def test_a_start_is_taken_and_improved() -> None:
    risk = ramp()
    bound = dc.lower_bound(risk, start=np.array([50.0, -50.0, 7.0]))
    assert bound.status == "proved"
    assert bound.objective < risk(np.array([50.0, -50.0, 7.0]))
    result = dc.solve(risk)
    again = dc.lower_bound(risk, start=result)
    assert again.objective <= result.value
    assert again.value <= bound.objective


def test_estimators_are_bounded() -> None:
    model = dc.RobustClassifier(dc.cap(dc.hinge(), 1.0), dc.l2(0.1)).fit(X, LABELS)
    bound = dc.lower_bound(model, start=model.result_)
    assert bound.status == "proved"
    assert bound.value <= model.objective_


def test_a_search_is_resumed() -> None:
    risk = ramp()
    stopped = dc.lower_bound(risk, time_limit=1e-6, start=np.zeros(3))
    assert stopped.status == "time_limit"
    assert stopped.open is not None
    assert np.isfinite(stopped.value)
    assert "open boxes" in repr(stopped)
    stopped = pickle.loads(pickle.dumps(stopped))
    resumed = dc.lower_bound(risk, start=stopped)
    assert resumed.status == "proved"
    assert resumed.nodes > stopped.nodes
    at_once = dc.lower_bound(risk, start=resumed)
    assert (at_once.status, at_once.nodes) == ("proved", resumed.nodes)
    finer = dc.lower_bound(risk, start=resumed, gap=1e-4)
    assert finer.gap <= 1e-4 * (1 + 1e-9)
    assert finer.value >= resumed.value


def test_an_interrupt_keeps_the_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    expanded = Search._expanded
    calls = []

    def interrupted(self: Search, boxes: Any) -> Any:
        calls.append(1)
        if len(calls) == 5:
            raise KeyboardInterrupt
        return expanded(self, boxes)

    monkeypatch.setattr(Search, "_expanded", interrupted)
    bound = dc.lower_bound(ramp())
    assert bound.status == "interrupted"
    assert bound.open is not None
    monkeypatch.undo()
    assert dc.lower_bound(ramp(), start=bound).status == "proved"


def test_an_interrupt_in_the_loop_is_heeded(monkeypatch: pytest.MonkeyPatch) -> None:
    """The loop returns what it has; the search must not go on as if nothing had happened."""
    real = dc.solve

    def swallowed(*args: Any, **options: Any) -> dc.Result:
        return replace(real(*args, **options), status="interrupted")

    monkeypatch.setattr("dcprog.bounds.risk_space.solve", swallowed)
    with pytest.raises(KeyboardInterrupt):
        dc.lower_bound(ramp())
    bound = dc.lower_bound(ramp(), start=np.array([50.0, -50.0, 7.0]))
    assert bound.status == "interrupted"


def test_bounds_do_not_warn_of_samples_that_are_given_up() -> None:
    risk = dc.Risk.from_loss(RESIDUALS, dc.cap(dc.absolute(), 0.1), dc.l2(1.0))
    with pytest.warns(dc.TrivialSolutionWarning):
        dc.solve(risk)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        dc.lower_bound(risk, time_limit=0.2)


def test_a_callback_sees_the_bound_and_stops_the_search(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("dcprog.bounds.search.PAUSE", 0.0)
    seen: list[dc.Bound] = []

    def stop(bound: dc.Bound) -> bool:
        seen.append(bound)
        return len(seen) == 3

    bound = dc.lower_bound(ramp(), callback=stop)
    assert bound.status == "stopped"
    assert len(seen) == 3
    assert all(b.status == "running" for b in seen)


def test_progress_is_logged(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("dcprog.bounds.search.PAUSE", 0.0)
    with caplog.at_level("INFO", logger="dcprog"):
        dc.lower_bound(ramp(), verbose=True)
    assert any("boxes" in line for line in caplog.messages)


def test_a_box_restricts_the_bound() -> None:
    risk = ramp()
    inside = dc.lower_bound(risk, box=(-0.1, 0.1))
    assert inside.status == "proved"
    assert inside.x is not None
    assert np.all(np.abs(inside.x) <= 0.1)
    grid = np.random.default_rng(0).uniform(-0.1, 0.1, size=(2000, 3))
    assert inside.value <= min(risk(z) for z in grid)
    assert inside.value > dc.lower_bound(risk).value
    with pytest.raises(ValueError, match="leave it out"):
        dc.lower_bound(risk, start=inside, box=(-0.2, 0.2))


def test_what_nothing_holds_is_named() -> None:
    risk = dc.Risk.from_loss(RESIDUALS, dc.cap(dc.square(), 1.0), dc.l2(0.0))
    with pytest.raises(dc.NotBoundable, match="coefficient 0"):
        dc.lower_bound(risk)
    assert dc.lower_bound(risk, box=(-5.0, 5.0)).status == "proved"


def test_what_has_no_minorant_is_named() -> None:
    risk = dc.Risk(MARGINS, dc.hinge(), transform=dc.cap_largest(0.1), penalty=dc.l2(0.5))
    with pytest.raises(dc.NotMajorizable, match=r"cap_largest.*no sum of functions"):
        dc.lower_bound(risk)


@pytest.mark.parametrize(
    ("options", "error", "words"),
    [
        ({"gap": 0.0}, ValueError, "gap"),
        ({"gap": np.nan}, ValueError, "gap"),
        ({"time_limit": -1.0}, ValueError, "time_limit"),
        ({"time_limit": "long"}, TypeError, "time_limit"),
        ({"callback": 3}, ValueError, "callback"),
        ({"start": np.zeros(2)}, ValueError, "start"),
        ({"start": [np.nan, 0.0, 0.0]}, ValueError, "start"),
        ({"box": 3.0}, ValueError, "box"),
        ({"box": (1.0, -1.0)}, ValueError, "box"),
        ({"box": (-np.inf, 1.0)}, ValueError, "box"),
        ({"box": (np.zeros(2), np.ones(2))}, ValueError, "box"),
    ],
)
def test_bad_options_are_refused(options: dict[str, Any], error: type, words: str) -> None:
    with pytest.raises(error, match=words):
        dc.lower_bound(ramp(), **options)


def test_what_is_no_problem_is_refused() -> None:
    with pytest.raises(TypeError, match="not a problem"):
        dc.lower_bound(3.0)
    result = dc.solve(ramp())
    with pytest.raises(TypeError, match=r"lower_bound\(problem, start=result\)"):
        dc.lower_bound(pickle.loads(pickle.dumps(result)))
    assert dc.lower_bound(result).status == "proved"


def test_a_bound_of_another_problem_is_refused() -> None:
    bound = dc.lower_bound(ramp())
    with pytest.raises(ValueError, match="another problem"):
        dc.lower_bound(ramp(factor=2.0), start=bound)
