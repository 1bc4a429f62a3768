"""Results, histories and certificates: what they show, keep and survive."""

import pickle
import subprocess
import sys
from dataclasses import replace
from typing import Any

import cvxpy as cp
import matplotlib as mpl
import numpy as np
import pytest

import dcprog as dc
from dcprog.display import plot_history
from dcprog.losses import cap, hinge, logistic, rescale, square, squared_hinge
from dcprog.penalties import l2
from dcprog.risk.risk import Risk
from dcprog.rows.kernel import kernel_margins
from dcprog.rows.linear import binary_margins

mpl.use("Agg")

RNG = np.random.default_rng(1)
A, B = RNG.normal(size=(20, 3)), RNG.normal(size=20)
x = cp.Variable(3, name="x")
y = cp.Variable((2, 2), name="y")
GOAL = cp.sum(cp.minimum(cp.square(A @ x - B), 1)) + cp.sum_squares(y - 1)
PROBLEM = cp.Problem(cp.Minimize(GOAL), [cp.norm(x) >= 1])
INFEASIBLE = cp.Problem(cp.Minimize(GOAL), [x >= 1, x <= 0])


@pytest.fixture(scope="module")
def result() -> dc.Result:
    return dc.solve(PROBLEM, start={x: np.full(3, 2.0), y: np.zeros((2, 2))})


def test_a_result_survives_pickling(result: dc.Result) -> None:
    again = pickle.loads(pickle.dumps(result))
    assert repr(again) == repr(result)
    np.testing.assert_array_equal(again.history.value, result.history.value)
    np.testing.assert_array_equal(again.variables[x], result.variables[x])
    assert again.starts == result.starts


def test_a_result_is_read_in_another_process(result: dc.Result) -> None:
    code = "import pickle, sys; r = pickle.load(sys.stdin.buffer); print(r.value, len(r.variables))"
    answer = subprocess.run(
        [sys.executable, "-c", code], input=pickle.dumps(result), capture_output=True, check=True
    )
    value, count = answer.stdout.split()
    assert (float(value), int(count)) == (result.value, 2)


def test_the_flat_point_and_the_variables_agree(result: dc.Result) -> None:
    arrays = [result.variables[v].ravel(order="F") for v in result.variables]
    np.testing.assert_array_equal(np.concatenate(arrays), result.x)


def test_variables_are_a_mapping(result: dc.Result) -> None:
    variables = result.variables
    assert len(variables) == 2
    assert x in variables
    assert y in variables
    assert {id(v) for v in variables} == {id(x), id(y)}
    assert variables.get(cp.Variable()) is None
    assert "x" not in variables
    assert dict(variables.items()).keys() == {x, y}
    assert "x: array" in repr(variables)
    for missing in (cp.Variable(name="other"), "x", None):
        with pytest.raises(KeyError, match="not a variable of the problem"):
            variables[missing]


def test_results_compare_by_identity(result: dc.Result) -> None:
    again = pickle.loads(pickle.dumps(result))
    assert result == result
    assert result != again
    assert len({result, again}) == 2


def test_repr_says_what_matters(result: dc.Result) -> None:
    text = repr(result)
    for part in ("converged", f"after {result.n_iter} step", f"{result.value:.10g}", result.solver):
        assert part in text
    assert "starts" not in text
    several = repr(dc.solve(PROBLEM, n_starts=3))
    assert "starts     3, values" in several
    assert "infeasible after 0 steps" in repr(dc.solve(INFEASIBLE, n_starts=1))
    assert "after 1 step (" in repr(replace(result, n_iter=1))


def test_history_arrays_have_one_entry_a_point(result: dc.Result) -> None:
    history = result.history
    frame = history.to_frame()
    assert len(history) == len(frame) == result.n_iter + 1 >= 2
    assert list(frame.columns) == [
        "value",
        "gap",
        "step",
        "time",
        "solve_time",
        "violation",
        "rise",
        "unchanged",
    ]
    np.testing.assert_array_equal(frame["value"], history.value)
    assert (history.step[0], history.rise[0]) == (0, 0)
    assert np.all(np.diff(history.solve_time) >= 0)
    assert dc.solve(INFEASIBLE).history.to_frame().empty


def test_certificate(result: dc.Result) -> None:
    certificate = result.certificate()
    assert certificate.holds
    assert certificate.gap.measured == result.gap
    assert certificate.gap.tolerance == pytest.approx(1e-6 * result.scale)
    assert certificate.descent.measured == np.max(result.history.rise)
    assert certificate.violation.measured == result.violation
    lines = str(certificate).splitlines()
    assert "residual" not in str(certificate)  # a reader takes it for one of the data
    claims, theorems = len(certificate.claims), len(certificate.theorems)
    assert all(line.endswith("yes") for line in lines[1 : 1 + claims])
    assert all(line.startswith("theorem, ") for line in lines[2 + claims :])
    assert len(lines) == 2 + claims + theorems > 2 + claims


def test_a_certificate_fails_what_is_not_so(result: dc.Result) -> None:
    early = dc.solve(PROBLEM, start={x: np.full(3, 2.0), y: np.zeros((2, 2))}, max_iter=0)
    assert not early.certificate().gap.holds
    assert early.certificate().descent.holds
    assert early.certificate(tol=1e3).gap.holds
    lost = dc.solve(INFEASIBLE).certificate()
    assert not lost.holds
    assert "no" in str(lost)


def test_plot_shows_both_curves(result: dc.Result) -> None:
    ax = result.plot()
    (line,) = ax.get_lines()
    np.testing.assert_array_equal(line.get_ydata(), result.history.value)
    gaps = ax.figure.axes[1].get_lines()[0].get_ydata()
    measured = result.history.gap[np.isfinite(result.history.gap)]
    np.testing.assert_array_equal(gaps, np.maximum(measured, 1e-16))
    assert ax.get_xlabel()
    own = mpl.pyplot.figure().add_subplot()
    assert result.plot(own) is own
    mpl.pyplot.close("all")


def test_plot_of_a_run_without_a_point() -> None:
    assert len(plot_history(dc.solve(INFEASIBLE).history).get_lines()[0].get_ydata()) == 0
    mpl.pyplot.close("all")


def test_missing_plotting_library_is_named(
    result: dc.Result, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib.pyplot", None)
    with pytest.raises(ImportError, match=r"dcprog\[plots\]"):
        result.plot()


DUAL = [
    (cap(hinge(), 2.0), "multipliers"),
    (cap(hinge(), 2.0), "cvxpy"),
    (cap(squared_hinge(), 2.0), "newton"),
    (cap(logistic(), 2.0), "newton"),
    (cap(square(at=1.0), 2.0), "newton"),
    (rescale(hinge(), 0.5), "smo"),
    (hinge(), "multipliers"),
    (hinge(), "smo"),
    (cap(hinge(), 2.0), "interior"),
]


@pytest.mark.parametrize(("loss", "solver"), DUAL, ids=str)
def test_the_multipliers_of_the_rows_balance_the_penalty(loss: Any, solver: str) -> None:
    labels = np.where(A[:, 0] + B > 0, 1, -1)
    rows: Any = binary_margins(A, labels)
    if solver == "smo":
        rows = kernel_margins(A @ A.T, labels)
    risk = Risk.from_loss(rows, loss, l2(0.5))
    result = dc.solve(risk, solver=solver, tol=1e-8, n_starts=1)
    if solver == "cvxpy":  # its interface is not asked for them
        assert result.dual is None
        return
    assert result.x is not None
    assert result.dual is not None
    assert result.dual.shape == (20,)
    slope = np.r_[0.5 * result.x[:-1], 0.0]
    np.testing.assert_allclose(np.asarray(rows.T @ result.dual), slope, atol=1e-3)
    given = dc.solve(risk, solver=solver, start=np.ones(rows.shape[1]), max_iter=0)
    assert given.dual is None  # a point that no subproblem gave


def test_html_holds_the_numbers_and_escapes_words() -> None:
    risk = dc.Risk(np.array([[1.0], [2.0], [-9.0]]), dc.hinge(), transform=dc.cap_at(1.0))
    result = dc.solve(risk, n_starts=4)
    html = result._repr_html_()
    assert f"{result.value:.10g}" in html
    assert html.count("<table>") == html.count("</table>")
    odd = replace(result, message="a < b", solver="<script>")._repr_html_()
    assert "<script>" not in odd
    assert "a &lt; b" in odd
