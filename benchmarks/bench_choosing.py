"""Tables of the manual's page on choices: which loss, which λ, which cap, how many starts.

Means over seeds on small random sets, clean test data. ``--output docs/measured`` writes the tables
as the manual includes them, else they are printed.
"""

from __future__ import annotations

import argparse
import time
import warnings
from collections.abc import Callable, Iterable
from pathlib import Path

import numpy as np

import dcprog as dc

Array = np.ndarray
Draw = Callable[[np.random.Generator], tuple[Array, Array]]
Row = list[str]

CLASSIFYING = {
    "`hinge()`": dc.hinge(),
    "`logistic()`": dc.logistic(),
    "`cap(hinge(), 1)`": dc.cap(dc.hinge(), 1.0),
    "`cap(squared_hinge(), 1)`": dc.cap(dc.squared_hinge(), 1.0),
    "`rescale(hinge(), 1)`": dc.rescale(dc.hinge(), 1.0),
    "`trim(logistic(), 0.2)`": dc.trim(dc.logistic(), 0.2),
}
REGRESSING = {
    "`square()`": dc.square(),
    "`huber(1.345)`": dc.huber(1.345),
    "`absolute()`": dc.absolute(),
    "`tukey(0.5 * square(), 4.685)`": dc.tukey(0.5 * dc.square(), 4.685),
    "`welsch(0.5 * square(), 2.985)`": dc.welsch(0.5 * dc.square(), 2.985),
    "`cap(absolute(), 3)`": dc.cap(dc.absolute(), 3.0),
    "`trim(square(), 0.25)`": dc.trim(dc.square(), 0.25),
}


def two_classes(rng: np.random.Generator, n: int, p: int = 10) -> tuple[Array, Array]:
    """Two normal clouds 2.5 apart."""
    y = rng.choice([-1, 1], n)
    return rng.normal(size=(n, p)) + 1.25 * y[:, None] / np.sqrt(p), y


def flipped(rng: np.random.Generator) -> tuple[Array, Array]:
    X, y = two_classes(rng, 200)
    y[:40] *= -1
    return X, y


def pulled(rng: np.random.Generator) -> tuple[Array, Array]:
    X, y = two_classes(rng, 200)
    X[:20] *= -10
    return X, y


def line(rng: np.random.Generator, n: int = 100, p: int = 5) -> tuple[Array, Array]:
    """Coefficients are 1, noise is 1."""
    X = rng.normal(size=(n, p))
    return X, X.sum(axis=1) + rng.normal(size=n)


def vertical(rng: np.random.Generator) -> tuple[Array, Array]:
    X, y = line(rng)
    y[:20] += 20
    return X, y


def leverage(rng: np.random.Generator) -> tuple[Array, Array]:
    X, y = line(rng)
    X[:20] += 10
    y[:20] -= 50
    return X, y


def heavy(rng: np.random.Generator) -> tuple[Array, Array]:
    X = rng.normal(size=(100, 5))
    return X, X.sum(axis=1) + rng.standard_t(2, size=100)


SAMPLES: dict[str, Draw] = {
    "clean": lambda rng: two_classes(rng, 200),
    "20% flipped": flipped,
    "10% leverage": pulled,
}
RESPONSES: dict[str, Draw] = {
    "normal noise": line,
    "20% vertical outliers": vertical,
    "20% leverage": leverage,
    "t noise, 2 d.f.": heavy,
}


def accuracy(loss: dc.Loss, lam: float, draw: Draw, seed: int) -> float:
    """Percent of clean test labels."""
    rng = np.random.default_rng(seed)
    model = dc.RobustClassifier(loss, dc.l2(lam)).fit(*draw(rng))
    return 100 * float(model.score(*two_classes(rng, 2000)))


def distance(loss: dc.Loss, draw: Draw, seed: int) -> float:
    """Of the coefficients from the true ones."""
    X, y = draw(np.random.default_rng(seed))
    return float(np.linalg.norm(dc.RobustRegressor(loss, dc.l2(0.0)).fit(X, y).coef_ - 1))


def means(numbers: Iterable[float], form: str) -> str:
    return format(float(np.mean(list(numbers))), form)


def classification_losses(seeds: range) -> tuple[Row, list[Row]]:
    rows = [
        [
            name,
            *(means((accuracy(loss, 1.0, d, s) for s in seeds), ".1f") for d in SAMPLES.values()),
        ]
        for name, loss in CLASSIFYING.items()
    ]
    return ["loss", *SAMPLES], rows


def regression_losses(seeds: range) -> tuple[Row, list[Row]]:
    rows = [
        [name, *(means((distance(loss, d, s) for s in seeds), ".2f") for d in RESPONSES.values())]
        for name, loss in REGRESSING.items()
    ]
    return ["loss", *RESPONSES], rows


def caps(seeds: range) -> tuple[Row, list[Row]]:
    rows = [
        [f"{c:g}", *(means((accuracy(dc.cap(dc.hinge(), c), 1.0, d, s) for s in seeds), ".1f")
                     for d in SAMPLES.values())]
        for c in (0.5, 1.0, 2.0, 4.0, 8.0)
    ]  # fmt: skip
    return ["c in `cap(hinge(), c)`", *SAMPLES], rows


def lambdas(seeds: range) -> tuple[Row, list[Row]]:
    ramp = dc.cap(dc.hinge(), 1.0)
    rows = [
        [f"{lam:g}", *(means((accuracy(ramp, lam, d, s) for s in seeds), ".1f")
                       for d in SAMPLES.values())]
        for lam in (0.01, 0.1, 1.0, 10.0, 100.0)
    ]  # fmt: skip
    return ["λ in `l2(λ)`", *SAMPLES], rows


def counted(rng: np.random.Generator) -> tuple[Array, Array]:
    """1000 skewed counts of mean 2 + 4x, a negative binomial of variance μ + 2μ²."""
    x = rng.random(1000)
    mean = 2 + 4 * x
    return x[:, None], rng.negative_binomial(0.5, 0.5 / (0.5 + mean)).astype(float)


def skewed_counts(seeds: range) -> tuple[Row, list[Row]]:
    """What the predictions add up to, how many counts lie above them, and how many count little."""
    rows = []
    for name, loss in REGRESSING.items():
        figures = []
        for seed in seeds:
            X, y = counted(np.random.default_rng(seed))
            model = dc.RobustRegressor(loss, dc.l2(0.0)).fit(X, y)
            f = model.predict(X)
            figures.append(
                (f.sum() / y.sum(), np.mean(y > f), np.mean(model.outlier_weight_ < 0.1))
            )
        rows.append(
            [name, *(f"{100 * np.mean(column):.0f}%" for column in zip(*figures, strict=True))]
        )
    return ["loss", "sum of predictions", "counts above", "of weight below 0.1"], rows


EFFORTS: dict[str, dict[str, object]] = {
    '`start="convex", n_starts=1`': {"start": "convex", "n_starts": 1},
    '`effort="low"`': {"effort": "low"},
    "default": {},
    '`effort="high"`': {"effort": "high"},
    "`n_starts=20`": {"n_starts": 20},
}


def starts(seeds: range) -> tuple[Row, list[Row]]:
    """Objectives over the least one found by any, and processor time over the plain run's."""
    values = {name: {draw: [] for draw in SAMPLES} for name in EFFORTS}  # type: ignore[var-annotated]
    seconds = dict.fromkeys(EFFORTS, 0.0)
    dc.RobustClassifier("ramp").fit(*two_classes(np.random.default_rng(0), 200))  # loads kernels
    for draw, samples in SAMPLES.items():
        for seed in seeds:
            X, y = samples(np.random.default_rng(seed))
            risk = dc.Risk.from_loss(dc.binary_margins(X, y), dc.cap(dc.hinge(), 1.0), dc.l2(1.0))
            for name, options in EFFORTS.items():
                begun = time.process_time()
                values[name][draw].append(dc.solve(risk, **options).value)  # type: ignore[arg-type]
                seconds[name] += time.process_time() - begun
    best = {draw: np.min([values[name][draw] for name in EFFORTS], axis=0) for draw in SAMPLES}
    plain = next(iter(seconds.values()))
    rows = [
        [name, *(f"{100 * np.mean(values[name][draw] / best[draw] - 1):.1f}%" for draw in SAMPLES),
         f"{seconds[name] / plain:.1f}"]
        for name in EFFORTS
    ]  # fmt: skip
    return ["options", *SAMPLES, "time"], rows


TABLES = {
    "classification_losses": classification_losses,
    "regression_losses": regression_losses,
    "caps": caps,
    "lambdas": lambdas,
    "skewed_counts": skewed_counts,
    "starts": starts,
}


def markdown(heads: Row, rows: list[Row]) -> str:
    lines = [heads, ["---"] * len(heads), *rows]
    return "".join(f"| {' | '.join(cells)} |\n" for cells in lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--tables", nargs="+", choices=TABLES, default=list(TABLES))
    parser.add_argument("--output", type=Path, help="a folder for the tables")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    for name in options.tables:
        text = markdown(*TABLES[name](range(options.seeds)))
        print(f"{name}\n\n{text}", flush=True)
        if options.output is not None:
            options.output.mkdir(parents=True, exist_ok=True)
            (options.output / f"{name}.md").write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
