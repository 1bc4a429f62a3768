"""The half-quadratic theory of the rescaled hinge SVM, checked by measurement.

Xu, Cao, Hu, Príncipe (2017) minimise R₁ = ½‖w‖² + C Σ l(y_i f(x_i)), l(z) = β(1 − e^{−η[1−z]₊}),
by turns: a weighted support vector machine with the costs C_i = Cβη(−v_i), then the weights
v_i = −e^{−η[1−y_i f]₊}. Measured are

* the C-loss of equations (1)–(2), what is said of l, table 3 (the bound β) and proposition 1
  (l → hinge for η → 0);
* the conjugacy e^{−u} = sup_v {uv − g(v)}, R₁ + R₂ = CβN and proposition 2 (R₃ never falls);
* that dcprog's outer loop is their loop, written out here with LIBSVM;
* what the loop ends in: a stationary point, remote mislabelled samples without weight;
* table 2: R₁ by round, and the share ϱ of the decrease in 30 rounds that the first 10 bring
  (half_quadratic_table.py).

The data sets of table 2 are looked for in ``--data``. Run
``python -m examples.rescaled_hinge.verify_half_quadratic --output folder``; ``--full`` adds Magic.
Claims that do not hold are in the table too, and fail as expected; if one comes out otherwise the
exit status is 1.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import matplotlib
import numpy as np
from matplotlib.figure import Figure
from scipy.optimize import minimize_scalar
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.svm import SVC

import dcprog as dc
from dcprog.losses import square
from dcprog.models import RescaledHingeSVC
from dcprog.models.rescaled_hinge import class_centre_weights
from examples.common.baselines import LOSSES, one_shot_weights
from examples.common.claims import Claim, at_most, own, print_claims, under
from examples.common.data import SHARED_DATA
from examples.common.plots import BLACK, BLUE, GREEN, ORANGE, RED, STYLE
from examples.common.theorems import theorem_claims
from examples.rescaled_hinge.half_quadratic_table import ETAS, TITLES, beta, loss, table_2

Array = np.ndarray
CLOSS, SHAPE = "equations (1)–(2)", "properties of l"
TABLE_3 = {0.2: 5.52, 0.5: 2.54, 1.0: 1.58, 2.0: 1.16, 3.0: 1.02}


# ---- the loss ------------------------------------------------------------------------------------


def loss_claims() -> list[Claim]:
    """Table 3, proposition 1 and the split into convex functions."""
    claims = []
    for eta, printed in TABLE_3.items():
        far = float(loss(np.array([-200.0]), eta)[0])
        text = f"table 3: l < β = {printed} for η = {eta:g}"
        right = abs(far - printed) < 6e-3
        turns = f"β off by {abs(abs(far - printed) - 6e-3):.1g}"
        claims.append(Claim(text, f"sup l = {far:.4f}", right, eta != 3.0, turns=turns))
    three, four = beta(3.0), beta(4.0)
    text = "table 3, put right: β(3) = 1.05, and 1.02 is β(4)"
    right = abs(three - 1.05) < 5e-3 and abs(four - 1.02) < 5e-3
    turns = "off by 0.005"
    claims.append(Claim(text, f"{three:.4f}, {four:.4f}", right, corrected=True, turns=turns))
    bounds = len(claims)
    z = np.linspace(-5, 3, 4001)
    hinge = np.maximum(1 - z, 0)
    etas = np.array([1e-1, 1e-2, 1e-3, 1e-4])
    apart = np.array([np.max(np.abs(loss(z, eta) - hinge)) for eta in etas])
    orders = np.log10(apart[:-1] / apart[1:])
    shown = ", ".join(f"η^{order:.2f}" for order in orders)
    text = "prop. 1: max |l − hinge| on [−5, 3] falls like η"
    linear = bool(np.all(np.abs(orders[1:] - 1) < 0.05))
    claims.append(Claim(text, shown, linear, turns="an order off by 0.05"))
    limit = float(apart[-1] / etas[-1])  # l = h − (h² − h)η/2 + …, h = 6 at z = −5
    tends = Claim("and tends to 15η, from h = 6", f"{limit:.3f}η", abs(limit - 15) < 0.01)
    ours = [replace(tends, turns="off by 0.01η")]
    library = max(np.max(np.abs(dc.rescale(dc.hinge(), e)(z) - loss(z, e))) for e in (1e-6, *ETAS))
    ours.append(at_most("the library's loss is l", float(library), 1e-9))
    for eta in (0.5, 3.0):
        h = eta * beta(eta) * hinge - loss(z, eta)
        bend = float(np.min(np.diff(h, 2)))
        ours.append(at_most(f"h = ηβ·hinge − l is convex, η = {eta:g}", max(0.0, -bend), 1e-12))
        slopes = np.diff(h) / np.diff(z)
        jump = float(np.max(np.abs(np.diff(slopes))))
        text = f"h has no kink, η = {eta:g}: the largest jump of its slope"
        ours.append(at_most(text, jump, 2 * eta**2 * beta(eta) * (z[1] - z[0])))
    claims += own(ours)
    return under("table 3", claims[:bounds]) + under("proposition 1", claims[bounds:])


def shape_claims() -> list[Claim]:
    """The C-loss, equations (1)–(2), and what is said of l: l(0) = 1, and l never rises."""
    z, worst, at_0, rise = np.linspace(-5, 3, 801), 0.0, 0.0, -np.inf
    for sigma in (0.5, 1.0, 2.0):
        b = 1 / (1 - np.exp(-1 / (2 * sigma**2)))
        printed = b * (1 - np.exp(-((1 - z) ** 2) / (2 * sigma**2)))
        ours = dc.rescale(square(at=1.0), 1 / (2 * sigma**2))(z)
        worst = max(worst, float(np.max(np.abs(ours - printed))))
    printed = beta(0.5) * -np.expm1(-((1 - z) ** 2) / 2)
    worst = max(worst, float(np.max(np.abs(LOSSES["closs"](z) - printed))))
    for eta in TABLE_3:
        library = dc.rescale(dc.hinge(), eta)
        at_0 = max(at_0, abs(float(library(np.zeros(1))[0]) - 1))
        rise = max(rise, float(np.max(np.diff(library(z)))))
    return [
        at_most("β(1 − e^{−(1 − z)²/(2σ²)}) is the library's, η = 1/(2σ²)", worst, 1e-12, CLOSS),
        at_most("l(0) = 1 for every η of table 3: off by", at_0, 1e-12, SHAPE),
        at_most("l is monotone: its largest rise", rise, 1e-14, SHAPE),
    ]


def conjugacy_claims() -> list[Claim]:
    """e^{−u} = sup over v < 0 of uv − g(v), g(v) = −v log(−v) + v, at v = −e^{−u}."""
    value, place, above = 0.0, 0.0, -np.inf
    for u in np.linspace(0, 12, 25):

        def gain(s: float, u: float = u) -> float:
            """(uv − g(v))·e^u at v = −e^{−s}."""
            v = -np.exp(-s)
            return float((u * v - (-v * np.log(-v) + v)) * np.exp(u))

        best = minimize_scalar(lambda s: -gain(s), bounds=(u - 5, u + 5), options={"xatol": 1e-9})
        value, place = max(value, abs(-best.fun - 1)), max(place, abs(best.x - u))
        above = max(above, *(gain(u + step) - 1 for step in np.linspace(-20, 20, 401)))
    return [
        at_most("e^{−u} = sup {uv − g(v)}: relative error", value, 1e-12),
        at_most("attained at v = −e^{−u}: log(−v) off by", place, 1e-6),
        at_most("and nowhere exceeded: relative excess", above, 1e-12),
    ]


# ---- the loop ------------------------------------------------------------------------------------


class Toy:
    """A random problem with flipped labels and its functions R₁, R₂, R₃."""

    def __init__(self, seed: int, eta: float, n: int = 150, C: float = 2.0) -> None:
        rng = np.random.default_rng(seed)
        self.X = rng.standard_normal((n, 3))
        self.y = np.where(self.X[:, 0] + self.X[:, 1] ** 2 > 0.7, 1.0, -1.0)
        self.y[rng.random(n) < 0.2] *= -1
        self.K = rbf_kernel(self.X, gamma=0.4)
        self.eta, self.C, self.n = eta, C, n
        self.b = beta(eta)

    def hinge(self, theta: Array) -> Array:
        return np.maximum(1 - self.y * (self.K @ theta[:-1] + theta[-1]), 0)

    def half_norm(self, theta: Array) -> float:
        return 0.5 * float(theta[:-1] @ self.K @ theta[:-1])

    def r1(self, theta: Array) -> float:
        z = self.y * (self.K @ theta[:-1] + theta[-1])
        return self.half_norm(theta) + self.C * float(np.sum(loss(z, self.eta)))

    def r2(self, theta: Array) -> float:
        gain = np.exp(-self.eta * self.hinge(theta))
        return self.C * self.b * float(np.sum(gain)) - self.half_norm(theta)

    def r3(self, theta: Array, v: Array) -> float:
        terms = self.eta * self.hinge(theta) * v - (-v * np.log(-v) + v)
        return self.C * self.b * float(np.sum(terms)) - self.half_norm(theta)

    def published(self, rounds: int) -> tuple[list[Array], list[Array]]:
        """θ and v after each round of the publication's loop, by LIBSVM."""
        v, points, weights = -np.ones(self.n), [], []
        for _ in range(rounds):
            machine = SVC(C=1.0, kernel="precomputed", tol=1e-8)
            machine.fit(self.K, self.y, sample_weight=self.C * self.b * self.eta * -v)
            theta = np.zeros(self.n + 1)
            theta[machine.support_] = machine.dual_coef_[0]
            theta[-1] = machine.intercept_[0]
            v = -np.exp(-self.eta * self.hinge(theta))
            points.append(theta)
            weights.append(v)
        return points, weights

    def model(self, **options: Any) -> RescaledHingeSVC:
        model = RescaledHingeSVC(C=self.C, eta=self.eta, kernel="precomputed", **options)
        return model.fit(self.K, self.y)


def loop_claims(seeds: int, rounds: int = 8) -> list[Claim]:
    """Proposition 2 along the publication's loop, and the library's against it."""
    names = ("sum", "bound", "tight", "first", "second", "rise", "same", "value")
    worst = dict.fromkeys(names, -np.inf)
    for seed in range(seeds):
        toy = Toy(seed, ETAS[seed % len(ETAS)])
        top = toy.C * toy.b * toy.n
        points, weights = toy.published(rounds)
        for k, (theta, v) in enumerate(zip(points, weights, strict=True)):
            model = toy.model(max_iter=k + 1, tol=1e-10)
            found = {
                "sum": abs(toy.r1(theta) + toy.r2(theta) - top) / top,
                "bound": toy.r3(theta, v) / top - 1,
                "tight": abs(toy.r3(theta, v) - toy.r2(theta)) / top,
                "same": float(np.max(np.abs(model.weights_[0] + v))),
                "value": abs(model.objective_ - toy.r1(theta)) / toy.r1(theta),
            }
            if k:
                before, old = points[k - 1], weights[k - 1]
                found["first"] = (toy.r3(before, old) - toy.r3(theta, old)) / top
                found["second"] = (toy.r3(theta, old) - toy.r3(theta, v)) / top
                found["rise"] = (toy.r1(theta) - toy.r1(before)) / top
            worst = {key: max(worst[key], found.get(key, -np.inf)) for key in names}
    return [
        at_most("R₁ + R₂ = CβN, relative", worst["sum"], 1e-12),
        at_most("R₃ ≤ CβN, relative excess", worst["bound"], 0.0),
        at_most("v of a round maximises R₃: R₂ − R₃ there, relative to CβN", worst["tight"], 1e-12),
        at_most("prop. 2: R₃ falls in no step of (w, b): largest fall", worst["first"], 1e-8),
        at_most("prop. 2: R₃ falls in no step of v: largest fall", worst["second"], 1e-12),
        at_most("R₁ rises in no round: largest rise", worst["rise"], 1e-8),
        *own(
            [
                at_most(
                    f"the library's weights in rounds 1–{rounds} are LIBSVM's", worst["same"], 1e-4
                ),
                at_most("and so are its values of R₁, relative", worst["value"], 1e-6),
            ]
        ),
    ]


def full_runs(seeds: int) -> list[dc.Result]:
    """The library's runs, each to its end."""
    toys = [Toy(seed, ETAS[seed % len(ETAS)]) for seed in range(seeds)]
    return [toy.model(max_iter=500).result_ for toy in toys]


def end_claims(seeds: int) -> list[Claim]:
    """The first round, the limit η → 0, stationarity, and outliers."""
    stationary, first, limit = 0.0, 0.0, 0.0
    for seed in range(seeds):
        toy = Toy(seed, ETAS[seed % len(ETAS)])
        plain = SVC(C=toy.C * toy.b * toy.eta, kernel="precomputed", tol=1e-8).fit(toy.K, toy.y)
        scores = toy.model(max_iter=1).decision_function(toy.K)
        first = max(first, float(np.max(np.abs(scores - plain.decision_function(toy.K)))))
        small = Toy(seed, 1e-7).model().decision_function(toy.K)
        convex = SVC(C=toy.C, kernel="precomputed", tol=1e-8).fit(toy.K, toy.y)
        limit = max(limit, float(np.max(np.abs(small - convex.decision_function(toy.K)))))
        stationary = max(stationary, clarke_residual(toy))
    remote = np.vstack([Toy(0, 2.0).X, [[25.0, 0, 0], [-25.0, 0, 0]]])
    labels = np.append(Toy(0, 2.0).y, [-1.0, 1.0])
    model = RescaledHingeSVC(eta=2.0, kernel="linear", max_iter=30).fit(remote, labels)
    left = float(model.outlier_weight_[-2:].max())
    kept = float(np.median(model.outlier_weight_[:-2]))
    return [
        at_most("round 1 is a plain SVM with cost Cβη: scores apart", first, 1e-4),
        at_most("η = 1e-7 is the plain SVM: scores apart", limit, 1e-4),
        at_most("the limit is stationary: residual of Clarke's condition", stationary, 1e-3),
        Claim(
            "remote mislabelled samples lose their weight, others do not",
            f"{left:.0e}, median of the others {kept:.2f}",
            left < 1e-3 and kept > 0.2,
            turns="a weight of 1e-3, or a median of 0.2",
        ),
    ]


def clarke_residual(toy: Toy) -> float:
    """How far t_i = α_i/c_i is from 1 for z < 1, 0 for z > 1 and [0, 1] at z = 1."""
    model = toy.model(max_iter=500, tol=1e-10)
    a = np.zeros(toy.n)
    a[model.support_] = model.dual_coef_[0]
    z = toy.y * model.decision_function(toy.K)
    cost = toy.C * toy.b * toy.eta * np.exp(-toy.eta * np.maximum(1 - z, 0))
    t = toy.y * a / cost
    low, high = np.where(z < 1 - 1e-4, 1.0, 0.0), np.where(z > 1 + 1e-4, 0.0, 1.0)
    return float(max(np.max(low - t), np.max(t - high), abs(np.sum(a))))


def start_claims(seeds: int) -> list[Claim]:
    """Section 4.3: the first weights by the distance to the class centre, and their machine."""
    worst, scores = 0.0, 0.0
    for seed in range(seeds):
        toy, theta = Toy(seed, 1.0), 0.5 + seed
        centres = {label: toy.X[toy.y == label].mean(axis=0) for label in (-1.0, 1.0)}
        far = np.array([np.linalg.norm(x - centres[t]) for x, t in zip(toy.X, toy.y, strict=True)])
        weights = 2 / (1 + np.exp(theta * far))
        for given in ((toy.X, False), (toy.X @ toy.X.T, True)):
            ours = class_centre_weights(given[0], toy.y, theta, given[1])
            worst = max(worst, float(np.max(np.abs(ours - weights))))
        model = RescaledHingeSVC(
            C=toy.C, eta=1.0, gamma=0.4, initial_weights="class_center", theta=theta, max_iter=1
        ).fit(toy.X, toy.y)
        machine = SVC(C=toy.C * toy.b, kernel="precomputed", tol=1e-8)
        f = machine.fit(toy.K, toy.y, sample_weight=weights).decision_function(toy.K)
        scores = max(scores, float(np.max(np.abs(model.decision_function(toy.X) - f))))
    return [
        at_most("weights 2/(1 + e^{θ‖x − x̄‖}), x̄ the mean of the sample's class", worst, 1e-9),
        at_most("round 1 is the machine of these weights: scores apart", scores, 1e-4),
    ]


def rule_claims() -> list[Claim]:
    """The four rules for weights, as printed, on random scores."""
    rng = np.random.default_rng(0)
    f, y = 3 * rng.standard_normal(200), np.where(rng.random(200) < 0.5, 1.0, -1.0)
    size = np.abs(f)
    printed = {
        16: np.exp(-0.5 * np.maximum(1 - y * f, 0)),
        17: 1 - size / (size.max() + 1e-3),
        18: 2 / (1 + np.exp(0.7 * size)),
        19: 1 / (1 + size),
    }
    claims = []
    for rule, weights in printed.items():
        ours = one_shot_weights(f, rule, y)
        claims.append(
            at_most(f"rule {rule}: weights off by", np.max(np.abs(ours - weights)), 1e-12)
        )
    far = size > np.quantile(size, 0.8)  # a remote sample on the right side, or on the wrong one
    light = {rule: float(np.max(weights[far & (y * f > 0)])) for rule, weights in printed.items()}
    shown = ", ".join(f"{rule}: {weight:.2f}" for rule, weight in light.items())
    text = "only rule 16, which knows the label, keeps a remote sample that is right"
    alone = light[16] > 0.99 and max(light[rule] for rule in (17, 18, 19)) < 0.5
    turns = "a weight of 0.5 by another rule"
    return [*claims, *own([Claim(text, f"largest weights {shown}", alone, turns=turns)])]


# ---- plots ---------------------------------------------------------------------------------------


def draw(folder: Path, curves: dict[str, dict[float, Array]]) -> Path:
    """The loss, and R₁ by round."""
    figure = Figure(figsize=(11, 5), layout="constrained")
    left, right = figure.subplots(1, 2)
    z = np.linspace(-4, 2, 400)
    styles = dict(zip(ETAS, (":", "-", "--"), strict=True))
    left.plot(z, np.maximum(1 - z, 0), color="0.6", label="hinge")
    for eta, style in styles.items():
        left.plot(z, loss(z, eta), "k" + style, label=f"η = {eta:g}")
    left.set(xlabel="margin z", ylabel="l(z)", ylim=(0, 4), title="rescaled hinge")
    left.legend()
    for (name, by_eta), colour in zip(
        curves.items(), (BLUE, ORANGE, GREEN, RED, BLACK), strict=False
    ):
        for eta, values in by_eta.items():
            above = (values - values[-1]) / (values[0] - values[-1])
            shown = np.where(above > 1e-10, 100 * above, np.nan)  # below: rounding
            label = f"{TITLES[name]}, η = {eta:g}"
            right.semilogy(np.arange(1, 31), shown, styles[eta], color=colour, label=label)
    right.plot([10, 10], [3, 1e-8], color="k", lw=0.8)
    right.plot([1, 10], [3, 3], color="k", lw=0.8)
    arrow = {"arrowstyle": "->", "lw": 0.8}
    right.annotate("3 % left after 10 rounds", (10, 3), (13, 20), fontsize=9, arrowprops=arrow)
    right.set(xlabel="round", xlim=(0.5, 30), title="table 2")
    right.set(ylabel="decrease still to come, % of that in 30 rounds")
    if curves:
        handles = right.get_legend_handles_labels()
        figure.legend(*handles, loc="outside lower center", ncols=len(curves), fontsize=9)
    path = folder / "half_quadratic.png"
    figure.savefig(path)
    return path


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure, print, draw; 0 if every claim came out as expected."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--output", type=Path, help="folder for the plot")
    parser.add_argument("--data", type=Path, default=SHARED_DATA, help="folder of the data sets")
    parser.add_argument("--full", action="store_true", help="Magic too, and more random problems")
    options = parser.parse_args(arguments)
    begun = time.perf_counter()
    seeds = 12 if options.full else 3
    claims = [
        *shape_claims(),
        *loss_claims(),
        *under("equations (6)–(15)", [*conjugacy_claims(), *end_claims(seeds)]),
        *under("proposition 2", loop_claims(seeds)),
        *under("proposition 2", theorem_claims(full_runs(seeds))),
        *under("section 4.3, start", start_claims(seeds)),
        *under("equations (16)–(19)", rule_claims()),
    ]
    more, curves = table_2(options.data, options.full)
    wrong = print_claims([*claims, *under("table 2", more)], f"seeds 0–{seeds - 1}")
    if options.output is not None:
        options.output.mkdir(parents=True, exist_ok=True)
        with matplotlib.rc_context(STYLE):
            print("plot:", draw(options.output, curves))
    print(f"{time.perf_counter() - begun:.0f} s")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
