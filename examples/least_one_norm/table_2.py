"""Table 2 of the least 1-norm SVM paper: what it prints, what comes out, and the verdicts.

Errors: over the splits of one data set, 100 of them, a mean has the standard error of a tenth of
the deviation that the paper prints. An error is as printed if the difference is within 1.5 points
by two joint standard errors. Two machines are as accurate as one another if their paired difference
is within a point by two standard errors.

Counts (samples with a coefficient, steps of SMO) depend on C and σ far more than the error does, so
that each stands beside the range over all pairs C, σ that are equally good. A count is as printed
if it is at the pair chosen, by two joint standard errors; refuted if beyond those of all that are
equally good; open between. Of the LS-SVM every sample has a coefficient, whatever C and σ are, so
that the numbers of samples printed for it test nothing, and have no verdict.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from sklearn.metrics.pairwise import euclidean_distances

from examples.common.claims import Claim, Difference, left_out, own, same, under
from examples.least_one_norm.machines import COMPARED, MACHINES, Machine, descent
from examples.least_one_norm.tuning import (
    GRID,
    cross_validated,
    equally_good,
    gaussian,
    test_error,
)

Array = np.ndarray
Split = tuple[Array, Array]
TITLES = {
    "titanic": "Titanic, exp(−d²/2s²)",
    "titanic_unhalved": "Titanic, exp(−d²/s²)",  # another reading of the kernel's width
    "ida_heart": "Heart",
    "ida_breast_cancer": "Cancer",
    "german_numeric": "German",
}
COLUMNS = ("error %", "#SV", "steps")
# Mean and ± of those three columns.
PRINTED = {
    ("titanic", "LS-SVM"): ((22.4, 1.0), (150.0, 0.0), (390.1, 14.7)),
    ("titanic", "least 1-norm"): ((22.4, 1.0), (71.4, 9.8), (53.7, 6.1)),
    ("ida_heart", "LS-SVM"): ((15.6, 3.2), (169.9, 0.3), (261.3, 7.8)),
    ("ida_heart", "least 1-norm"): ((15.6, 3.5), (169.9, 0.3), (120.1, 14.7)),
    ("ida_breast_cancer", "LS-SVM"): ((25.7, 4.5), (199.8, 0.5), (424.6, 7.9)),
    ("ida_breast_cancer", "least 1-norm"): ((25.9, 4.5), (195.9, 2.3), (3510.7, 701.9)),
    ("german_numeric", "LS-SVM"): ((23.3, 2.1), (699.4, 0.8), (3329.8, 38.0)),
    ("german_numeric", "least 1-norm"): ((23.3, 2.2), (699.9, 0.3), (16167.4, 1419.3)),
}
PAPER = PRINTED | {("titanic_unhalved", key): PRINTED["titanic", key] for key in MACHINES}
FEWER = (
    "titanic",
    "titanic_unhalved",
    "ida_heart",
)  # where the least 1-norm machine takes fewer steps, as printed
SPARSE = ("least 1-norm",)  # may leave samples without a coefficient
WITHIN = {1: 0.05, 2: 0.25}  # how near a count is as printed: samples, steps
POINT, AS_PRINTED = 1.0, 1.5  # margins of equality, in points of error
PAIRS_ON = 3  # splits on which all equally good pairs are counted


# ---- measuring -----------------------------------------------------------------------------------


@dataclass(frozen=True)
class Row:
    """One machine on one set.

    Attributes
    ----------
    values : array of shape (splits, 3)
        Test error, samples with a coefficient, steps.
    at_stop : array of shape (splits,)
        The test error where SMO stops.
    best : int
        The pair C, σ of the grid.
    errors : array of shape (pairs,)
        Cross-validated.
    near : bool array of shape (pairs,)
        Which are equally good?
    counts : array of shape (pairs, 2)
        Samples and steps over the first splits at those pairs, NaN at the others.
    """

    values: Array
    at_stop: Array
    best: int
    errors: Array
    near: Array
    counts: Array

    def ratio(self, column: int, printed: float) -> tuple[float, Array]:
        """Our count over the printed one, at the pair chosen and at all equally good ones."""
        ratio = float(self.values[:, column].mean()) / printed
        counts = self.counts[:, column - 1]
        return ratio, ratio * counts[self.near] / counts[self.best]


def kernels(squared: Array, split: Split, width: float) -> tuple[Array, Array]:
    """Of the training samples, and of the test samples with them."""
    train, test = split
    return (
        gaussian(squared[np.ix_(train, train)], width),
        gaussian(squared[np.ix_(test, train)], width),
    )


def counted(name: str, K: Array, y: Array, C: float) -> tuple[Machine, tuple[float, float]]:
    """Where SMO stops, with its samples and steps."""
    stopped = descent(name, K, y, C)
    return stopped, (float(np.count_nonzero(stopped.a)), float(stopped.steps))


def measured(title: str, name: str, X: Array, y: Array, splits: list[Split], repeats: int) -> Row:
    """A machine over all splits."""
    squared = euclidean_distances(X, squared=True)
    folds = cross_validated(title, name, X, y, repeats)
    best, near = equally_good(folds)
    values, at_stop, (C, width) = [], [], GRID[best]
    for train, test in splits:
        K, beyond = kernels(squared, (train, test), width)
        error = test_error(COMPARED[name](K, y[train], C), beyond, y[test])
        if name not in MACHINES:
            values.append((error, np.nan, np.nan))
            continue
        stopped, counts = counted(name, K, y[train], C)
        values.append((error, *counts))
        at_stop.append(test_error(stopped, beyond, y[test]))
    counts_near = np.full((len(GRID), 2), np.nan)
    for k in np.flatnonzero(near) if name in MACHINES else ():
        own = [kernels(squared, split, GRID[k][1])[0] for split in splits[:PAIRS_ON]]
        found = [
            counted(name, K, y[train], GRID[k][0])[1]
            for K, (train, _) in zip(own, splits, strict=False)
        ]
        counts_near[k] = np.mean(found, axis=0)
    return Row(np.array(values), np.array(at_stop), best, folds.mean(axis=1), near, counts_near)


# ---- printing ------------------------------------------------------------------------------------


def print_head() -> None:
    cells = "".join(f"{column:>18}{'paper':>18}" for column in COLUMNS)
    print(f"{'set':<22}{'machine':<13}{cells}{'equally good: steps':>26}   C, σ")


def print_row(name: str, machine: str, row: Row) -> None:
    """Ours beside the paper's, mean ± deviation over splits."""
    C, width = GRID[row.best]
    pair = f"{C:.3g}, {width:.3g}"
    if machine not in MACHINES:
        mean, deviation = row.values[:, 0].mean(), row.values[:, 0].std()
        print(f"{TITLES[name]:<22}{machine:<13}{mean:>9.1f} ± {deviation:<6.1f}   {pair}")
        return
    cells, spread = "", row.values.std(axis=0, ddof=min(1, len(row.values) - 1))
    ours = zip(row.values.mean(axis=0), spread, strict=True)
    for both in zip(ours, PAPER[name, machine], strict=True):
        cells += "".join(f"{mean:>9.1f} ± {deviation:<6.1f}" for mean, deviation in both)
    steps = row.counts[row.near, 1]
    span = f"{steps.min():.0f}–{steps.max():.0f} ({steps.size} pairs)"
    print(f"{TITLES[name]:<22}{machine:<13}{cells}{span:>26}   {pair}", flush=True)


# ---- verdicts ------------------------------------------------------------------------------------


def judged(claim: Claim) -> Claim:
    """A claim that may be open; a refutation may be the expected end."""
    expected = None if claim.holds is None else claim.text not in REFUTED
    return replace(claim, expected=expected, measured=claim.measured.replace("-", "−"))


def as_accurate(text: str, ours: Array, theirs: Array) -> Claim:
    """Within a point, by two standard errors of the paired difference over the splits."""
    apart = ours - theirs
    error = float(apart.std(ddof=1) / np.sqrt(apart.size))
    return judged(same(text, Difference(float(apart.mean()), error), POINT))


def as_printed(text: str, values: Array, printed: tuple[float, float]) -> Claim:
    """Within 1.5 points of the printed error, by two joint standard errors."""
    mean, own_error = float(values.mean()), float(values.std(ddof=1)) / np.sqrt(values.size)
    apart = Difference(mean - printed[0], float(np.hypot(own_error, printed[1] / 10)))
    shown = f"{mean:.1f} against {printed[0]}: {apart} points"
    return judged(same(text, apart, AS_PRINTED, measured=shown))


def count_claim(text: str, row: Row, column: int, printed: tuple[float, float]) -> Claim:
    """A count at the pair chosen, within reach of the equally good pairs, or out of it."""
    ratio, near = row.ratio(column, printed[0])
    values, width = row.values[:, column], WITHIN[column]
    own_error = float(values.std(ddof=1)) / np.sqrt(values.size)
    error = float(np.hypot(own_error, printed[1] / 10)) / printed[0]
    room = width - abs(ratio - 1) - 2 * error
    reach = width + 2 * error
    reached = near.min() <= 1 + reach and near.max() >= 1 - reach
    holds = True if room >= 0 else (None if reached else False)
    shown = f"{values.mean():.0f}, printed {printed[0]:.0f}: × {ratio:.2f} ± {error:.2f}; "
    shown += f"× {near.min():.2f}–{near.max():.2f} over {near.size} equally good"
    side = "farther from" if room >= 0 else "nearer to"
    return judged(Claim(text, shown, holds, turns=f"a ratio by {abs(room):.3f} {side} 1"))


def order_claim(name: str, rows: dict[str, Row]) -> Claim:
    """Which machine takes more steps, at the pairs that are equally good for both."""
    ours, theirs = rows["least 1-norm"], rows["LS-SVM"]
    common = ours.near & theirs.near
    ratios = (ours.counts[:, 1] / theirs.counts[:, 1])[common]
    ratios = np.append(ratios, ours.values[:, 2].mean() / theirs.values[:, 2].mean())
    fewer = name in FEWER
    word = "fewer" if fewer else "more"
    text = f"{TITLES[name]}: the least 1-norm machine takes {word} steps than the LS-SVM"
    always, never = (ratios < 1, ratios > 1) if fewer else (ratios > 1, ratios < 1)
    shown = f"× {ratios[-1]:.2f} at the pairs chosen; × {ratios.min():.2f}–{ratios.max():.2f} with "
    shown += f"the {np.count_nonzero(common)} that are equally good for both"
    holds = True if np.all(always) else (False if np.all(never) else None)
    nearest = ratios[np.argmin(np.abs(np.log(ratios)))]
    return judged(Claim(text, shown, holds, turns=f"× {1 / nearest:.2f} the steps at one pair"))


# What the table prints that does not come out, on the sets at hand.
REFUTED = {"Titanic, exp(−d²/2s²): steps of the least 1-norm as printed"}


def set_texts(name: str) -> dict[str, list[str]]:
    """What is claimed of a set, by item."""
    title = TITLES[name]
    word = "fewer" if name in FEWER else "more"
    errors = [
        f"{title}: the least 1-norm SVM is as accurate as the {other}, within a point"
        for other in ("LS-SVM", "L1-SVM")
    ]
    errors += [f"{title}: the error of the {key} as printed" for key in MACHINES]
    errors += [f"{title}: SMO's stop changes no error by more than half a point on average"]
    return {
        "table 2, errors": errors,
        "table 2, support vectors": [f"{title}: #SV of the {key} as printed" for key in SPARSE],
        "table 2, iterations": [
            *(f"{title}: steps of the {key} as printed" for key in MACHINES),
            f"{title}: the least 1-norm machine takes {word} steps than the LS-SVM",
        ],
    }


def set_claims(name: str, rows: dict[str, Row]) -> list[Claim]:
    """Errors, samples and steps against the paper's."""
    errors, samples, steps = set_texts(name).values()
    mine = rows["least 1-norm"].values[:, 0]
    late = [abs(float(np.mean(rows[m].at_stop - rows[m].values[:, 0]))) for m in MACHINES]
    found = {
        "table 2, errors": [
            *(
                as_accurate(text, mine, rows[other].values[:, 0])
                for text, other in zip(errors, ("LS-SVM", "L1-SVM"), strict=False)
            ),
            *(
                as_printed(text, rows[m].values[:, 0], PAPER[name, m][0])
                for text, m in zip(errors[2:], MACHINES, strict=False)
            ),
            *own([at_stop_claim(errors[-1], max(late))]),
        ],
        "table 2, support vectors": [
            count_claim(text, rows[m], 1, PAPER[name, m][1])
            for text, m in zip(samples, SPARSE, strict=True)
        ],
        "table 2, iterations": [
            *(
                count_claim(text, rows[m], 2, PAPER[name, m][2])
                for text, m in zip(steps, MACHINES, strict=False)
            ),
            order_claim(name, rows),
        ],
    }
    return [claim for item, claims in found.items() for claim in under(item, claims)]


def at_stop_claim(text: str, late: float) -> Claim:
    """What stopping SMO early does to the error."""
    return Claim(text, f"{late:.2f} points", late <= 0.5, turns="more than 0.5 points")


def absent_claims(name: str) -> list[Claim]:
    """The same of a set that is not at hand."""
    return [
        left_out(text, f"{name} is not at hand", item)
        for item, texts in set_texts(name).items()
        for text in texts
    ]
