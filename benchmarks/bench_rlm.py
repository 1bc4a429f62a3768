"""M-estimates of regression against statsmodels' RLM, on the same norm at the same scale.

``RobustRegressor(loss, l2(0.0), scale=1.0, n_starts=1)`` and ``RLM(M=norm)`` with a fixed scale of
1 minimise the same sum from least squares, or near it; a tenth of the targets are outliers. The
note says how far the coefficients are apart.

    python -m benchmarks.bench_rlm [--full]
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

import dcprog as dc
from benchmarks.line import HEADER, Line, is_installed
from benchmarks.timing import timed

Array = np.ndarray
SIZES = ((200, 5), (1000, 10), (10_000, 20), (100_000, 20))
REPEATS = 5
NORMS: dict[str, tuple[dc.Loss, str]] = {
    "Huber": (dc.huber(1.345), "HuberT"),
    "Tukey": (dc.tukey(0.5 * dc.square(), 4.685), "TukeyBiweight"),
}


def lines(full: bool) -> Iterator[Line]:
    """A line a size and norm; the largest only with `full`."""
    if not is_installed("statsmodels"):
        return
    import statsmodels.api as sm

    options: dict[str, Any] = {
        "update_scale": False,
        "start_scale": 1.0,
        "conv": "coefs",
        "tol": 1e-10,
        "maxiter": 200,
    }
    for n, p in SIZES if full else SIZES[:-1]:
        X, y, A = _data(n, p)
        for name, (loss, norm) in NORMS.items():
            model = dc.RobustRegressor(loss, dc.l2(0.0), scale=1.0, n_starts=1)
            peer = sm.RLM(y, A, M=getattr(sm.robust.norms, norm)())
            ours, theirs = _fastest(
                lambda model=model, X=X, y=y: model.fit(X, y),
                lambda peer=peer: peer.fit(**options),
            )
            found = np.append(model.coef_, model.intercept_)
            reference = peer.fit(**options).params
            apart = float(np.abs(found - reference).max())
            value, least = (float(np.sum(loss(y - A @ theta))) for theta in (found, reference))
            note = f"coefficients {apart:.0e} apart, {model.n_iter_} steps"
            yield Line(
                f"{name}, {n} × {p}", "statsmodels RLM", theirs / ours, value, least, 1, note
            )


def _data(n: int, p: int) -> tuple[Array, Array, Array]:
    rng = np.random.default_rng(0)
    X = rng.standard_normal((n, p))
    y = X.sum(axis=1) + rng.standard_normal(n)
    y[: n // 10] += 15
    return X, y, np.column_stack([X, np.ones(n)])


def _fastest(*works: Callable[[], Any]) -> list[float]:
    """The least CPU seconds of each, taken in turn."""
    seconds = [[timed(work)[1] for work in works] for _ in range(REPEATS)]
    return [float(least) for least in np.min(seconds, axis=0)]


def main() -> None:
    """Print the lines."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--full", action="store_true", help="the largest size too")
    print(HEADER)
    for line in lines(parser.parse_args().full):
        print(line)


if __name__ == "__main__":
    main()
