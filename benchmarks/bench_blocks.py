"""Fits to a memory-mapped file: time, steps, memory, and F by NumPy, block by block.

n × 20 float32 numbers on disk, a tenth of the labels flipped or of the targets moved away by 30;
Σ min((1 − u)₊², 1) + ½‖w‖² and Σ tukey(u²) + ½‖w‖² by one plain run and by the race. The memory is
all that the process itself holds (``RssAnon``), with the targets and 0.15 GB of imported modules:
the pages of the file are the system's cache, which gives them back.

A second table is of estimators with a tenth of the rows turned round, −10·x, where plain runs end
far above: CPU time, memory, F at the end, and the cosine with the true coefficients. With
``--dask`` they are fitted on a LocalCluster of 1 and of 2 workers instead, in at most 60 s.
"""

from __future__ import annotations

import argparse
import tempfile
import threading
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np

import dcprog as dc

# Σ tukey(u²) with this σ is twice the textbooks' biweight with the constant 4.685/√2 = 3.31.
COLUMNS, BLOCK, CAP, SIGMA = 20, 100_000, 1.0, 4.685
SIZES = (200_000, 2_000_000)
LARGEST = 20_000_000


def anonymous() -> int:
    """Bytes of this process that no file backs; Linux only."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) * 1024 for line in lines if line.startswith("RssAnon"))


class Peak:
    """The most anonymous memory at any time, looked at every few milliseconds."""

    def __init__(self) -> None:
        self.most = anonymous()
        self._over = threading.Event()

    def _watch(self) -> None:
        while not self._over.wait(0.005):
            self.most = max(self.most, anonymous())


@contextmanager
def watched() -> Iterator[Peak]:
    """Watch the memory of what is done inside."""
    peak = Peak()
    thread = threading.Thread(target=peak._watch)
    thread.start()
    try:
        yield peak
    finally:
        peak._over.set()
        thread.join()


def written(folder: Path, n: int, seed: int = 0) -> np.ndarray:
    """Samples that are written to a file, as their labels and targets are."""
    rng = np.random.default_rng(seed)
    w = rng.standard_normal(COLUMNS)
    X = np.memmap(folder / "X.dat", np.float32, "w+", shape=(n, COLUMNS))
    y, t = np.empty(n, np.int8), np.empty(n)
    for begin in range(0, n, BLOCK):
        rows = slice(begin, min(begin + BLOCK, n))
        X[rows] = rng.standard_normal((rows.stop - begin, COLUMNS))
        score = X[rows] @ w
        odd = rng.random(score.size) < 0.1
        sides = np.where(score + 0.5 * rng.standard_normal(score.size) > 0, 1, -1)
        y[rows] = np.where(odd, -sides, sides)
        t[rows] = score + rng.standard_normal(score.size) + 30 * odd
    X.flush()
    np.save(folder / "labels.npy", y)
    np.save(folder / "targets.npy", t)
    return np.memmap(folder / "X.dat", np.float32, "r", shape=(n, COLUMNS))


def capped(u: np.ndarray) -> np.ndarray:
    """Values min((1 − u)₊², c)."""
    return np.minimum(np.maximum(1 - u, 0) ** 2, CAP)


def tukey(u: np.ndarray) -> np.ndarray:
    """Values (σ²/6)(1 − (1 − 2u²/σ²)³₊)."""
    return SIGMA**2 / 6 * (1 - np.maximum(1 - 2 * u**2 / SIGMA**2, 0) ** 3)


def value_by_blocks(
    X: np.ndarray, y: np.ndarray, loss: Callable[..., np.ndarray], theta: np.ndarray
) -> float:
    """F(θ) without the library."""
    total = 0.5 * float(theta[:-1] @ theta[:-1])
    for begin in range(0, len(X), BLOCK):
        rows = slice(begin, begin + BLOCK)
        total += float(np.sum(loss(y[rows], X[rows].astype(float) @ theta[:-1] + theta[-1])))
    return total


CASES: dict[str, tuple[str, Callable[..., dc.Risk], Callable[..., np.ndarray]]] = {
    "capped squared hinge": (
        "labels.npy",
        lambda X, y: dc.Risk.from_loss(
            dc.binary_margins(X, y), dc.cap(dc.squared_hinge(), CAP), dc.l2(1.0)
        ),
        lambda y, f: capped(y * f),
    ),
    "Tukey": (
        "targets.npy",
        lambda X, t: dc.Risk.from_loss(
            dc.residual_rows(X, t), dc.tukey(dc.square(), SIGMA), dc.l2(1.0)
        ),
        lambda t, f: tukey(t - f),
    ),
}


def measured(n: int, folder: Path) -> None:
    """Rows of the table for n samples."""
    X = written(folder, n)
    for name, (file, declare, loss) in CASES.items():
        targets = np.load(folder / file)
        for start in ("convex", "auto"):
            begin = time.perf_counter()
            with watched() as peak:
                result = dc.solve(declare(X, targets), start=start)
            seconds = time.perf_counter() - begin
            assert result.x is not None
            off = abs(value_by_blocks(X, targets, loss, result.x) - result.value) / result.value
            each = 1e6 * seconds / n / max(result.n_iter, 1)
            print(
                f"| {n:,} | {name} | {start} | {result.status} | {result.n_iter} | {each:.2f} "
                f"| {seconds:.1f} | {peak.most / 1e9:.2f} | {off:.0e} |",
                flush=True,
            )


# ----------------------------------------------------------------------------------------------
# a tenth of the rows turned round

TURNED, MANY_TURNED, ON_DASK = 500_000, 5_000_000, 400_000
LIMIT = 60.0

FITS: dict[str, Callable[[], object]] = {
    "RobustRegressor": dc.RobustRegressor,
    "RobustClassifier": dc.RobustClassifier,
    "RobustClassifier, capped squared hinge": lambda: dc.RobustClassifier(
        dc.cap(dc.squared_hinge(), CAP)
    ),
}


def turned(X: np.ndarray, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Fill X, a tenth of its rows times −10; the targets of the rows as they were, and w."""
    rng = np.random.default_rng(seed)
    w, y = rng.standard_normal(COLUMNS), np.empty(len(X))
    for begin in range(0, len(X), BLOCK):
        rows = slice(begin, min(begin + BLOCK, len(X)))
        clean = rng.standard_normal((rows.stop - begin, COLUMNS))
        y[rows] = clean @ w + 0.5 * rng.standard_normal(len(clean))
        X[rows] = np.where(rng.random(len(clean))[:, None] < 0.1, -10 * clean, clean)
    return y, w


def fitted(name: str, place: str, X: object, y: np.ndarray, w: np.ndarray) -> None:
    """Fit, and print a row."""
    model = FITS[name]()
    model.set_params(time_limit=LIMIT if place != "file" else None)
    cpu, begin = time.process_time(), time.perf_counter()
    with watched() as peak:
        model.fit(X, y if "Regressor" in name else np.sign(y))
    cpu, wall = time.process_time() - cpu, time.perf_counter() - begin
    coef, result = model.coef_.ravel(), model.result_
    cosine = coef @ w / np.linalg.norm(coef) / np.linalg.norm(w)
    print(
        f"| {len(y):,} | {name} | {place} | {result.status} | {result.n_iter} | {cpu:.1f} "
        f"| {wall:.1f} | {peak.most / 1e9:.2f} | {result.value:,.0f} | {cosine:.5f} |",
        flush=True,
    )


def turned_files(sizes: tuple[int, ...], folder: Path) -> None:
    """Rows of the second table for memory-mapped files of float64."""
    for n in sizes:
        X = np.memmap(folder / "turned.dat", float, "w+", shape=(n, COLUMNS))
        y, w = turned(X)
        X.flush()
        X = np.memmap(folder / "turned.dat", float, "r", shape=(n, COLUMNS))
        for name in FITS:
            fitted(name, "file", X, y, w)


def on_dask() -> None:
    """Rows of the second table for one and two workers."""
    import dask.array as da
    from distributed import Client, LocalCluster

    data = np.empty((ON_DASK, COLUMNS))
    y, w = turned(data)
    for workers in (1, 2):
        local = LocalCluster(n_workers=workers, threads_per_worker=1, dashboard_address=None)
        with local as cluster, Client(cluster):
            X = da.from_array(data, chunks=(ON_DASK // 20, COLUMNS)).persist()
            for name in FITS:
                fitted(name, f"{workers} workers", X, y, w)


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--full", action="store_true", help=f"{LARGEST:,} samples, too")
    parser.add_argument("--folder", type=Path, help="where there is room for 1.6 GB")
    parser.add_argument("--turned", action="store_true", help="the second table alone")
    parser.add_argument("--dask", action="store_true", help="the second table on Dask alone")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    print("| n | estimator | X | status | steps | CPU, s | wall, s | peak, GB | F | cosine |")
    print("|---|---|---|---|---|---|---|---|---|---|")
    if options.dask:
        on_dask()
        return
    with tempfile.TemporaryDirectory(dir=options.folder) as folder:
        turned_files((TURNED, MANY_TURNED) if options.full else (TURNED,), Path(folder))
    if options.turned:
        return
    print("| n | loss | start | status | steps | µs a sample, step | s | peak, GB | F off by |")
    print("|---|---|---|---|---|---|---|---|---|")
    with tempfile.TemporaryDirectory(dir=options.folder) as folder:
        for n in (*SIZES, LARGEST) if options.full else SIZES:
            measured(n, Path(folder))


if __name__ == "__main__":
    main()
