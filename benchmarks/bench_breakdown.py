"""Do robust fits bear 20% (classification) and 30% (regression) of leverage outliers?

The default solve of all samples against that of the clean ones. It recovers the clean fit where its
accuracy on clean test data is within a point, in regression where every coefficient is within two
standard errors. Where it does not, a lower bound tells whose fault that is: with the gap closed the
minimiser itself is elsewhere, for outliers that lie together, or on a line, can be the better fit.

    python -m benchmarks.bench_breakdown
    python -m benchmarks.bench_breakdown --sizes 300x4 --fits "ramp, each far out"
"""

from __future__ import annotations

import argparse
import warnings
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

import dcprog as dc

Array = np.ndarray
GAP = 1e-6  # of the lower bound
FAR = 20.0  # how much farther out than clean samples the outliers of a classification are
TESTED = 20_000
POINT = 0.01
HIGHER = 1e-4  # relative: the default ended above the minimum


@dataclass(frozen=True)
class Trial:
    """A fit, the same to the clean samples alone, and whether a point is as good as the latter."""

    risk: dc.Risk
    clean: dc.Risk
    recovers: Callable[[Array, Array], bool]


def classification(n: int, p: int, seed: int, together: bool) -> Trial:
    """Two clouds √8 apart, ramp loss; a fifth far out on the wrong side, each or all together."""
    rng = np.random.default_rng(seed)
    X, y = _clouds(n, p, rng)
    out = round(0.2 * n)
    if together:
        centre = rng.normal(size=p)
        X[:out] = FAR * centre / np.linalg.norm(centre) + rng.normal(size=(out, p))
        y[:out] = -np.sign(centre.sum())
    else:
        X[:out] *= -FAR
    test, labels = _clouds(TESTED, p, rng)

    def accuracy(theta: Array) -> float:
        return float(np.mean(np.sign(test @ theta[:p] + theta[p]) == labels))

    def fit(X: Array, y: Array) -> dc.Risk:
        return dc.Risk.from_loss(dc.binary_margins(X, y), dc.cap(dc.hinge(), 1.0), dc.l2(0.1))

    return Trial(
        fit(X, y),
        fit(X[out:], y[out:]),
        lambda found, clean: accuracy(found) >= accuracy(clean) - POINT,
    )


def _clouds(n: int, p: int, rng: np.random.Generator) -> tuple[Array, Array]:
    y = rng.choice([-1.0, 1.0], n)
    return rng.normal(size=(n, p)) + np.sqrt(2 / p) * y[:, None], y


def regression(n: int, p: int, seed: int, together: bool, trimmed: bool) -> Trial:
    """Slopes 2, unit noise; three tenths far out with slopes −1, scattered or all together."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, p))
    y = 2 * X.sum(axis=1) + rng.normal(size=n)
    out = round(0.3 * n)
    if together:
        X[:out] = 5 * rng.normal(size=p) + rng.normal(size=(out, p))
    else:
        X[:out] *= 5
    y[:out] = -X[:out].sum(axis=1) + rng.normal(size=out)
    errors = _standard_errors(np.column_stack([X, np.ones(n)])[out:], y[out:])

    def fit(X: Array, y: Array, left_out: float) -> dc.Risk:
        half = 0.5 * dc.square()
        loss = dc.trim(half, left_out) if trimmed else dc.tukey(half, 4.685)
        return dc.Risk.from_loss(dc.residual_rows(X, y), loss, dc.l2(0.01))

    return Trial(
        fit(X, y, 0.35),
        fit(X[out:], y[out:], 0.05),
        lambda found, clean: bool(np.all(np.abs(found - clean) <= 2 * errors)),
    )


def _standard_errors(A: Array, y: Array) -> Array:
    """Of the coefficients of least squares."""
    rest = y - A @ np.linalg.lstsq(A, y, rcond=None)[0]
    variance = rest @ rest / (len(y) - A.shape[1])
    return np.sqrt(variance * np.diag(np.linalg.inv(A.T @ A)))


def verdict(trial: Trial, time_limit: float) -> tuple[str, tuple[float, float, float]]:
    """What became of the clean fit; F found, F at the end of a run from the clean fit, the bound.

    `elsewhere`: the minimum is F found, to a millionth, at a point that does not recover.
    """
    clean = np.asarray(dc.solve(trial.clean).x)
    found = dc.solve(trial.risk)
    near = dc.solve(trial.risk, start=clean, n_starts=1)
    bound = dc.lower_bound(trial.risk, start=found, gap=GAP, time_limit=time_limit)
    if trial.recovers(np.asarray(found.x), clean):
        word = "recovered"
    elif bound.status == "proved" and not trial.recovers(np.asarray(bound.x), clean):
        word = "elsewhere"
    else:
        word = "open"
    if bound.objective < found.value * (1 - HIGHER):
        word += ", not the minimum"
    return word, (found.value, near.value, bound.value)


TRIALS: dict[str, Callable[[int, int, int], Trial]] = {
    "ramp, each far out": lambda n, p, seed: classification(n, p, seed, False),
    "ramp, together": lambda n, p, seed: classification(n, p, seed, True),
    "Tukey, scattered": lambda n, p, seed: regression(n, p, seed, False, False),
    "Tukey, together": lambda n, p, seed: regression(n, p, seed, True, False),
    "trimmed, scattered": lambda n, p, seed: regression(n, p, seed, False, True),
    "trimmed, together": lambda n, p, seed: regression(n, p, seed, True, True),
}


def main() -> None:
    """Print a line a seed, and the counts."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--sizes", nargs="+", default=["100x2", "200x3", "1000x2"])
    parser.add_argument("--fits", nargs="+", choices=TRIALS, default=list(TRIALS))
    parser.add_argument("--seeds", type=int, default=20)
    parser.add_argument("--time-limit", type=float, default=60.0, help="of a bound, in seconds")
    options = parser.parse_args()
    warnings.simplefilter("ignore", dc.TrivialSolutionWarning)
    counts: dict[str, Counter[str]] = {}
    for name in options.fits:
        for size in options.sizes:
            n, p = map(int, size.split("x"))
            title = f"{name}, {n} x {p}"
            print(f"{title:<32}{'F found':>12}{'from clean':>12}{'bound':>12}")
            counts[title] = Counter()
            for seed in range(options.seeds):
                word, values = verdict(TRIALS[name](n, p, seed), options.time_limit)
                counts[title][word] += 1
                numbers = "".join(f"{value:>12.5f}" for value in values)
                print(f"{f'  seed {seed}':<32}{numbers}  {word}", flush=True)
    for title, words in counts.items():
        told = ", ".join(f"{count} {word}" for word, count in sorted(words.items()))
        print(f"{title:<32}{told}")


if __name__ == "__main__":
    main()
