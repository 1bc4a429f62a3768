"""Displays: what is drawn are the numbers, and bad input is refused."""

import re
import sys
from typing import Any

import matplotlib as mpl
import numpy as np
import pytest
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LinearRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import dcprog as dc
from dcprog.display import ConvergenceDisplay, LossDisplay, OutlierDisplay, plot_history
from dcprog.estimators import RobustRegressor
from dcprog.models import CappedSVC, LeastTrimmedSquares, MMRegressor, RescaledHingeSVC

mpl.use("Agg")
import matplotlib.pyplot as plt

LOSSES = [
    dc.hinge(),
    dc.cap(dc.squared_hinge(), 1.0),
    dc.truncate(dc.hinge(), -0.5),
    dc.rescale(dc.logistic(), 0.5),
    dc.power(dc.absolute(), 0.5),
    dc.square(at=1.0) - 0.5 * dc.square(at=1.0),
]


@pytest.fixture(autouse=True)
def _close_figures() -> Any:
    yield
    plt.close("all")


@pytest.fixture(scope="module")
def fitted() -> RobustRegressor:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(40, 3))
    y = X @ [1.0, -2.0, 0.5] + 0.1 * rng.normal(size=40)
    y[::8] += 20.0
    return RobustRegressor(dc.cap(dc.square(), 2.0), dc.l2(1.0), scale=None).fit(X, y)


# ---- losses --------------------------------------------------------------------------------------


@pytest.mark.parametrize("loss", LOSSES, ids=repr)
def test_loss_curves_are_its_values(loss: dc.Loss) -> None:
    at = [-1.3, 0.0, 0.7]
    display = LossDisplay.from_loss(loss, at=at, low=-2.0, high=2.0, points=101)
    curve, *majorants, base = display.lines_
    u = curve.get_xdata()
    assert (u[0], u[-1]) == (-2.0, 2.0)
    np.testing.assert_array_equal(curve.get_ydata(), loss(u))
    np.testing.assert_array_equal(base.get_ydata(), loss.base(u))
    assert len(majorants) == len(display.points_) == 3
    for k, line in enumerate(majorants):
        y = line.get_ydata()
        np.testing.assert_array_equal(y, display.majorants[k])
        weight, tilt = loss.surrogate(at[k])
        shape = weight * loss.base(u) + tilt * u
        np.testing.assert_allclose(y - y[0], shape - shape[0], atol=1e-9, rtol=1e-12)
        assert np.all(y >= loss(u) - 1e-12)
        here = int(np.flatnonzero(u == at[k])[0])
        assert y[here] == pytest.approx(float(loss(at[k])), abs=1e-5)
        (place,), (touched,) = display.points_[k].get_data()
        assert (place, touched) == (at[k], float(loss(at[k])))


def test_loss_plot_takes_axes_and_styles() -> None:
    display = LossDisplay.from_loss(dc.hinge(), name="H", show_base=False, color="#123456")
    assert [line.get_label() for line in display.lines_] == ["H"]
    assert display.lines_[0].get_color() == "#123456"
    assert display.figure_ is display.ax_.figure
    own = plt.figure().add_subplot()
    assert display.plot(own) is display
    assert display.ax_ is own
    assert len(display.lines_) == 2


def test_a_long_name_is_one_line() -> None:
    long = dc.squared_hinge() - (dc.squared_hinge(at=0.0) + 2 * dc.hinge(at=-1.0))
    assert "\n" not in LossDisplay.from_loss(long).name


def test_a_steep_base_does_not_flatten_the_loss() -> None:
    ax = LossDisplay.from_loss(dc.cap(dc.square(), 1.0), at=[0.5], low=-9, high=9).ax_
    assert ax.get_ylim()[1] <= 2.5
    assert LossDisplay.from_loss(dc.hinge(), low=2.0, high=3.0).loss.max() == 0.0  # no range


@pytest.mark.parametrize(
    ("options", "error", "words"),
    [
        ({"at": [4.0]}, ValueError, "between low=-3.0 and high=3.0"),
        ({"at": [np.nan]}, ValueError, "between"),
        ({"at": [[0.0]]}, ValueError, "at="),
        ({"low": 2.0, "high": 2.0}, ValueError, "low must lie below high"),
        ({"low": "a"}, TypeError, "low='a'"),
        ({"high": np.inf}, ValueError, "high=inf"),
        ({"points": 1}, ValueError, "points=1"),
        ({"points": 2.5}, TypeError, "points=2.5"),
        ({"ax": "here"}, TypeError, "ax='here'"),
    ],
)
def test_bad_loss_options(options: dict[str, Any], error: type[Exception], words: str) -> None:
    with pytest.raises(error, match=re.escape(words)):
        LossDisplay.from_loss(dc.hinge(), **options)


def test_what_has_no_curve_is_refused() -> None:
    with pytest.raises(ValueError, match=r"plot its inner loss, loss\.loss"):
        LossDisplay.from_loss(dc.trim(dc.hinge(), 0.1))
    with pytest.raises(TypeError, match=r"write dc\.hinge\(\)"):
        LossDisplay.from_loss(dc.hinge)  # type: ignore[arg-type]


# ---- convergence ---------------------------------------------------------------------------------


@pytest.mark.parametrize("x", ["iteration", "time"])
def test_convergence_is_the_history(fitted: RobustRegressor, x: str) -> None:
    history = fitted.result_.history
    display = ConvergenceDisplay.from_result(fitted.result_, x=x)
    objective, gap = display.lines_
    steps = np.arange(len(history)) if x == "iteration" else history.time
    measured = np.isfinite(history.gap)
    np.testing.assert_array_equal(objective.get_data(), (steps, history.value))
    np.testing.assert_array_equal(gap.get_xdata(), steps[measured])
    np.testing.assert_array_equal(gap.get_ydata(), np.maximum(history.gap[measured], 1e-16))
    assert gap.axes is display.gap_ax_
    assert display.gap_ax_.get_yscale() == "log"
    assert ("time" in display.ax_.get_xlabel()) == (x == "time")


def test_plot_history_is_the_same(fitted: RobustRegressor) -> None:
    own = plt.figure().add_subplot()
    assert plot_history(fitted.result_.history, own) is own
    np.testing.assert_array_equal(own.get_lines()[0].get_ydata(), fitted.result_.history.value)


def test_bad_convergence_input(fitted: RobustRegressor) -> None:
    with pytest.raises(ValueError, match="x='steps': choose one of"):
        ConvergenceDisplay.from_result(fitted.result_, x="steps")
    with pytest.raises(TypeError, match="estimator's result_"):
        ConvergenceDisplay.from_result(fitted)


# ---- outliers ------------------------------------------------------------------------------------


@pytest.mark.parametrize("order", ["sorted", "index"])
def test_outliers_are_the_weights(fitted: RobustRegressor, order: str) -> None:
    wrong = np.arange(40) % 8 == 0
    display = OutlierDisplay.from_estimator(fitted, order=order, highlight=wrong)
    weight = fitted.outlier_weight_
    np.testing.assert_array_equal(display.given_up, wrong)
    by_place = weight if order == "index" else np.sort(weight)
    kept, out, halos = display.lines_
    for line in (kept, out, halos):
        np.testing.assert_array_equal(line.get_ydata(), by_place[line.get_xdata()])
    assert (len(kept.get_xdata()), len(out.get_xdata())) == (35, 5)
    np.testing.assert_array_equal(out.get_xdata(), halos.get_xdata())
    assert out.get_label() == "given up (5)"


def test_outlier_threshold(fitted: RobustRegressor) -> None:
    display = OutlierDisplay.from_estimator(fitted, threshold=1.0, ax=plt.figure().add_subplot())
    assert np.all(display.given_up)
    assert len(display.lines_) == 2


@pytest.mark.parametrize(
    ("options", "error", "words"),
    [
        ({"order": "size"}, ValueError, "order='size': choose one of"),
        ({"threshold": -1.0}, ValueError, "threshold=-1.0"),
        ({"threshold": "low"}, TypeError, "threshold='low'"),
        ({"highlight": [True]}, ValueError, "booleans of shape (40,)"),
        ({"highlight": np.ones(40)}, ValueError, "dtype float64"),
        ({"ax": 3}, TypeError, "ax=3"),
    ],
)
def test_bad_outlier_options(
    fitted: RobustRegressor, options: dict[str, Any], error: type[Exception], words: str
) -> None:
    with pytest.raises(error, match=re.escape(words)):
        OutlierDisplay.from_estimator(fitted, **options)


def test_outlier_weights_are_to_scale(fitted: RobustRegressor) -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(40, 3))
    y = X @ [1.0, -2.0, 0.5]
    y[:4] += 20.0
    steep = dc.RobustRegressor(dc.rescale(dc.square(), 0.5)).fit(X, y)
    assert steep.outlier_weight_.max() == pytest.approx(1.0, abs=1e-3)
    display = OutlierDisplay.from_estimator(steep, X, y)
    assert display.weight.max() == pytest.approx(1.0, abs=1e-3)
    np.testing.assert_array_equal(np.flatnonzero(display.given_up), np.arange(4))
    bottom, top = display.ax_.get_ylim()
    assert bottom < 0
    assert top > 1
    pipe = make_pipeline(StandardScaler(), RobustRegressor(dc.cap(dc.square(), 2.0))).fit(X, y)
    fresh = OutlierDisplay.from_estimator(pipe, X[:10], y[:10])
    np.testing.assert_array_equal(np.flatnonzero(fresh.given_up), np.arange(4))
    with pytest.raises(ValueError, match="X and y belong together"):
        OutlierDisplay.from_estimator(fitted, X)


@pytest.mark.filterwarnings("ignore:constrained_layout not applied")  # too small for axes
@pytest.mark.parametrize("size", [(6, 4), (3, 2.5)])
def test_legends_stay_inside(fitted: RobustRegressor, size: tuple[float, float]) -> None:
    long = dc.cap(dc.hinge(), 1.0) + dc.squared_hinge() - (dc.squared_hinge(at=0.0) + dc.hinge(-1))
    axes = [plt.figure(figsize=size, layout="constrained").add_subplot() for _ in range(3)]
    LossDisplay.from_loss(long, at=[-1.0, 0.5], ax=axes[0])
    OutlierDisplay.from_estimator(fitted, ax=axes[1])
    shown = [*axes[:2], ConvergenceDisplay.from_result(fitted.result_, ax=axes[2]).gap_ax_]
    for ax in shown:
        ax.figure.canvas.draw()
        box, room = ax.get_legend().get_window_extent(), ax.figure.bbox
        assert np.all(box.min >= room.min)
        assert np.all(box.max <= room.max)


def test_one_look_for_all_plots(fitted: RobustRegressor) -> None:
    for display in (
        LossDisplay.from_loss(dc.hinge()),
        OutlierDisplay.from_estimator(fitted),
        ConvergenceDisplay.from_result(fitted.result_),
    ):
        assert not display.ax_.spines["top"].get_visible()
        assert display.ax_.get_axisbelow()
    assert dc.LossDisplay is LossDisplay


def test_an_estimator_that_is_not_fitted_is_refused() -> None:
    with pytest.raises(NotFittedError):
        OutlierDisplay.from_estimator(RobustRegressor())


X2, Y2 = np.array([[0.0], [1.0], [2.0], [3.0]]), [0, 0, 1, 1]


def test_an_estimator_without_weights_is_named() -> None:
    with pytest.raises(TypeError, match="LinearRegression keeps no weights"):
        OutlierDisplay.from_estimator(LinearRegression().fit(X2, Y2))


def test_every_published_classifier_has_weights() -> None:
    display = OutlierDisplay.from_estimator(CappedSVC(gamma=0.1).fit(X2, Y2))
    assert display.weight.shape == (4,)


def test_weights_of_other_samples_need_a_method() -> None:
    with pytest.raises(TypeError, match="leave X and y out"):
        OutlierDisplay.from_estimator(RescaledHingeSVC().fit(X2, Y2), X2, Y2)


@pytest.mark.parametrize("model", [MMRegressor(), LeastTrimmedSquares()])
def test_published_regressions_show_their_outliers(model: Any) -> None:
    X = np.arange(12.0)[:, None]
    y = 1 + 2 * X.ravel() + np.tile([0.1, -0.1], 6)
    y[8:10] = -50.0
    shown = OutlierDisplay.from_estimator(model.fit(X, y), X, y)
    np.testing.assert_allclose(shown.weight, model.outlier_weight_, rtol=1e-12)
    np.testing.assert_array_equal(np.flatnonzero(shown.given_up), [8, 9])
    np.testing.assert_array_equal(model.outlier_weights([[3.0], [3.0]], [7.0, 70.0]) > 0.5, [1, 0])


# ---- all -----------------------------------------------------------------------------------------


def test_missing_matplotlib_is_named(
    fitted: RobustRegressor, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib.pyplot", None)
    for draw in (
        lambda: LossDisplay.from_loss(dc.hinge()),
        lambda: ConvergenceDisplay.from_result(fitted.result_),
        lambda: OutlierDisplay.from_estimator(fitted),
    ):
        with pytest.raises(ImportError, match=re.escape('pip install "dcprog[plots]"')):
            draw()
