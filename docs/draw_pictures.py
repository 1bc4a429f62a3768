"""The manual's drawings, made anew at every build: majorants, graduation, bounds, losses."""

from __future__ import annotations

from importlib import import_module
from itertools import pairwise
from pathlib import Path
from typing import Any

import matplotlib as mpl
import numpy as np
from matplotlib.figure import Figure

import dcprog as dc
from examples.common.plots import BLUE, GREEN, ORANGE, RED, STYLE
from examples.later_papers import NAMES

Array = np.ndarray
# A small robust mean: min Σ min((x − yᵢ)², 1) over one number x.
POINTS = np.array([0.0, 0.2, 0.5, 0.7, 0.9, 2.6, 2.9, 4.4])


def capped_sum(x: Array, cap: float = 1.0) -> Array:
    """Σ min((x − yᵢ)², cap)."""
    return np.minimum((x[:, None] - POINTS) ** 2, cap).sum(axis=1)


def majorant_at(x: Array, centre: float) -> Array:
    """What touches it at the centre: squares of points within the cap, 1 for the others."""
    kept = np.abs(centre - POINTS) < 1
    return ((x[:, None] - POINTS[kept]) ** 2).sum(axis=1) + np.sum(~kept)


def draw_majorants(axes: Any) -> None:
    """Three steps of the loop on the robust mean."""
    x = np.linspace(-1.2, 5.4, 500)
    centre = 1.525  # the mean
    for ax, step in zip(axes, (1, 2, 3), strict=True):
        top = majorant_at(x, centre)
        kept = np.abs(centre - POINTS) < 1
        after = float(POINTS[kept].mean())
        ax.plot(x, capped_sum(x), color="0.3", label="objective")
        ax.plot(x, top, "--", color=BLUE, label="majorant")
        ax.plot(centre, capped_sum(np.array([centre])), "o", color=BLUE, label="point")
        ax.plot(after, majorant_at(np.array([after]), centre), "v", color=RED, label="next point")
        ax.plot(POINTS, np.full(POINTS.size, 2.6), "|", color="black", label="data")
        ax.set(ylim=(2.5, 12.5), title=f"step {step}", xlabel="x")
        centre = after
    axes[0].legend(loc="upper right", fontsize=9)


def draw_graduation(axes: Any) -> None:
    """Caps from 8 to 1, each minimised from the last minimum."""
    x = np.linspace(-1.2, 5.4, 2000)
    at = float(POINTS.mean())
    (ax,) = axes
    for cap, colour in ((8, "0.75"), (4, ORANGE), (2, GREEN), (1, BLUE)):
        values = capped_sum(x, cap)
        i = int(np.abs(x - at).argmin())
        while (lower := min((i - 1, i + 1), key=lambda k: values[k])) and values[lower] < values[i]:
            i = lower
        at = float(x[i])
        ax.plot(x, values, color=colour, label=f"cap {cap}")
        ax.plot(at, values[i], "o", color=colour)
    ax.set(xlabel="x", ylim=(0, 24), title="Each minimum is where the next descent begins")
    ax.legend(loc="upper right")


def draw_bounds(axes: Any) -> None:
    """Chords below a capped loss on a box, and on its halves."""
    u = np.linspace(-2.5, 1.5, 400)
    loss = dc.cap(dc.hinge(), 1.0)
    for ax, cuts in zip(axes, ((-2.5, 1.5), (-2.5, 0.0, 1.5)), strict=True):
        ax.plot(u, loss(u), color="0.3", label="capped hinge")
        for low, high in pairwise(cuts):
            inside = u[(u >= low) & (u <= high)]
            least, most = max(1 - high, 0.0), 1 - low  # the hinge's range on the box
            ends = np.minimum([least, most], 1)
            chord = np.interp(np.maximum(1 - inside, 0), [least, most], ends)
            ax.plot(inside, chord, "--", color=BLUE, label="minorant" if low == cuts[0] else None)
            ax.axvspan(low, high, color=BLUE, alpha=0.06)
            ax.axvline(high, color="0.8", linewidth=0.8)
        ax.set(xlabel="margin u", ylim=(-0.1, 1.4))
    axes[0].set(ylabel="loss", title="one box: a loose minorant")
    axes[1].set_title("two boxes: exact")
    axes[0].legend(loc="upper right", fontsize=9)


def draw_losses(axes: Any) -> None:
    """The usual losses of a margin and of a residual."""
    u = np.linspace(-3, 3, 400)
    margins = {
        "hinge": dc.hinge(),
        "cap(hinge, 1)": dc.cap(dc.hinge(), 1.0),
        "rescale(hinge, 1)": dc.rescale(dc.hinge(), 1.0),
        "log(hinge, 1)": dc.log(dc.hinge(), 1.0),
        "truncate(hinge, −1)": dc.truncate(dc.hinge(), -1.0),
    }
    residuals = {
        "absolute": dc.absolute(),
        "huber(1)": dc.huber(1.0),
        "tukey(square, 2)": dc.tukey(dc.square(), 2.0),
        "welsch(square, 1)": dc.welsch(dc.square(), 1.0),
        "cap(absolute, 1.5)": dc.cap(dc.absolute(), 1.5),
    }
    for ax, losses, name in zip(axes, (margins, residuals), ("margin", "residual"), strict=True):
        for (label, loss), style in zip(losses.items(), ("-", "--", "-.", ":", "-"), strict=True):
            ax.plot(u, loss(u), style, label=label)
        ax.set(xlabel=f"{name} u", ylim=(-0.1, 3.6), title=f"losses of a {name}")
        ax.legend(fontsize=9)


def draw_certificate(axes: Any) -> None:
    """The gap: objective minus minimum of the majorant, halfway and at the end."""
    x = np.linspace(-1.2, 3.0, 400)
    for ax, centre, name in zip(axes, (1.1, 0.46), ("halfway", "at the end"), strict=True):
        top = majorant_at(x, centre)
        here, least = capped_sum(np.array([centre]))[0], float(top.min())
        ax.plot(x, capped_sum(x), color="0.3", label="objective")
        ax.plot(x, top, "--", color=BLUE, label="majorant")
        ax.plot(centre, here, "o", color=BLUE)
        ax.axhline(least, color=RED, linestyle=":", linewidth=1, label="its minimum")
        ax.plot([centre, centre], [least, here], color=RED, linewidth=3, label="gap")
        ax.set(ylim=(3.2, 8), xlabel="x", title=f"{name}: gap {max(here - least, 0.0):.2f}")
    axes[0].legend(loc="lower right", fontsize=9, frameon=True, framealpha=1, edgecolor="white")


MARGIN, RESIDUAL = dc.hinge(), dc.square()
LOSSES: dict[str, dc.Loss] = {
    "hinge": dc.hinge(),
    "squared_hinge": dc.squared_hinge(),
    "logistic": dc.logistic(),
    "pade_hinge": dc.pade_hinge(5.0),
    "sigmoid_hinge": dc.sigmoid_hinge(5.0),
    "absolute": dc.absolute(),
    "square": dc.square(),
    "huber": dc.huber(1.0),
    "pinball": dc.pinball(0.8),
    "epsilon_insensitive": dc.epsilon_insensitive(0.5),
    "squared": dc.squared(dc.hinge()),
    "cap": dc.cap(MARGIN, 1.0),
    "truncate": dc.truncate(MARGIN, -1.0),
    "rescale": dc.rescale(MARGIN, 1.0),
    "power": dc.power(MARGIN, 0.5),
    "log": dc.log(MARGIN, 1.0),
    "huberize": dc.huberize(RESIDUAL, 1.0),
    "tukey": dc.tukey(RESIDUAL, 2.0),
    "welsch": dc.welsch(RESIDUAL, 1.0),
    "andrews": dc.andrews(RESIDUAL, 0.7),
    "log_ratio": dc.log_ratio(RESIDUAL, 1.0),
    "rational": dc.rational(RESIDUAL, 1.0, 0.1),
    "erf": dc.erf(RESIDUAL, 1.0, 0.1),
}
PENALTIES: dict[str, dc.Penalty] = {
    "l1": dc.l1(1.0),
    "l2": dc.l2(1.0),
    "elastic_net": dc.elastic_net(0.5, 0.5),
    "capped_l1": dc.capped_l1(1.0, 1.0),
    "scad": dc.scad(1.0, 3.0),
    "mcp": dc.mcp(1.0, 2.0),
    "log_sum": dc.log_sum(1.0, 0.3),
    "lp": dc.lp(1.0, 0.5),
}


def draw_loss(name: str) -> Figure:
    """One loss beside the base it is made of."""
    figure = Figure(figsize=(6.0, 3.0), layout="constrained")
    ax = figure.subplots()
    u, loss = np.linspace(-3, 3, 600), LOSSES[name]
    if not isinstance(loss, dc.ConvexLoss):
        ax.plot(u, loss.base(u), "--", color="0.5", label=str(loss.base))
    ax.plot(u, loss(u), color=BLUE, label=str(loss))
    ax.set(xlabel="u", ylim=(-0.1, 4.8))
    ax.legend(loc="upper center", fontsize=9)
    return figure


def draw_penalty(name: str) -> Figure:
    """One penalty of one coefficient beside |w|, unless it is that."""
    figure = Figure(figsize=(6.0, 3.0), layout="constrained")
    ax = figure.subplots()
    w, penalty = np.linspace(-3, 3, 601), PENALTIES[name]
    if name != "l1":
        ax.plot(w, np.abs(w), "--", color="0.5", label="l1(1)")
    ax.plot(w, [penalty(np.array([one])) for one in w], color=BLUE, label=str(penalty))
    ax.set(xlabel="w", ylim=(-0.1, 4.8))
    ax.legend(loc="upper center", fontsize=9)
    return figure


def line_with_outliers() -> tuple[Array, Array]:
    """Forty samples of a line, the last six of which miss it."""
    rng = np.random.default_rng(0)
    x = np.linspace(0, 4, 40)
    y = 1 + x + 0.2 * rng.normal(size=40)
    y[-6:] -= 4
    return x[:, None], y


def draw_loss_display(ax: Any) -> None:
    """A capped hinge with the majorants at two points."""
    dc.LossDisplay.from_loss(dc.cap(dc.hinge(), 1.0), at=[0.5, -1.0], ax=ax)


def draw_outlier_display(ax: Any) -> None:
    """The weights of a biweight fit."""
    fitted = dc.RobustRegressor().fit(*line_with_outliers())
    dc.OutlierDisplay.from_estimator(fitted, ax=ax)


def draw_convergence_display(ax: Any) -> None:
    """One run of Welsch's loss from the least-squares line."""
    X, y = line_with_outliers()
    loss = dc.welsch(dc.square(), 0.5)
    result = dc.solve(dc.Risk.from_loss(dc.residual_rows(X, y), loss), start="convex")
    dc.ConvergenceDisplay.from_result(result, ax=ax)


def draw_penalty_path(ax: Any) -> None:
    """Three true coefficients under MCP, λ falling from left to right."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(50, 200)) / np.sqrt(50)
    y = X[:, :3] @ [3.0, -2.0, 1.0] + 0.1 * rng.normal(size=50)
    path = dc.penalty_path(X, y, penalty=dc.mcp(1.0, 3.0))
    path.plot(ax=ax)
    for line in ax.lines:
        line.set_color("0.6")
    ax.semilogx(path.lambdas, path.coefs[:3].T, color=BLUE)


DISPLAYS = {
    "LossDisplay": draw_loss_display,
    "OutlierDisplay": draw_outlier_display,
    "ConvergenceDisplay": draw_convergence_display,
    "penalty_path": draw_penalty_path,
}
DRAWN = (*LOSSES, *PENALTIES, *DISPLAYS)
PICTURES = {
    "majorants": (draw_majorants, 3, (9.5, 3.3)),
    "graduation": (draw_graduation, 1, (7.0, 4.0)),
    "certificate": (draw_certificate, 2, (9.0, 3.3)),
    "bounds": (draw_bounds, 2, (9.0, 3.0)),
    "losses": (draw_losses, 2, (9.5, 3.8)),
}


def draw_all(folder: Path) -> None:
    """Each picture as name.svg, and those of the later papers as name.png."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, (draw, columns, size) in PICTURES.items():
        with mpl.rc_context(STYLE):
            figure = Figure(figsize=size, layout="constrained")
            axes = figure.subplots(1, columns, squeeze=False, sharey=True)[0]
            draw(axes)
            figure.savefig(folder / f"{name}.svg")
    for name in NAMES:
        import_module(f"examples.later_papers.{name}").draw(folder)
    with mpl.rc_context(STYLE):
        for name in LOSSES:
            draw_loss(name).savefig(folder / f"{name}.svg")
        for name in PENALTIES:
            draw_penalty(name).savefig(folder / f"{name}.svg")
        for name, on in DISPLAYS.items():
            figure = Figure(figsize=(6.0, 3.4), layout="constrained")
            on(figure.subplots())
            figure.savefig(folder / f"{name}.svg")


if __name__ == "__main__":
    draw_all(Path(__file__).resolve().parent / "generated" / "pictures")
