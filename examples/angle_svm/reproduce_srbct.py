"""Small round blue cell tumours: table 6 of the robust angle-based SVM's paper.

Zhang, Pham, Fu and Liu (Math. Program. 169, 2018), section 5.2: 83 samples of 2308 genes in four
classes (EWS, NB, RMS, BL), split into thirds to train, tune and test; without contamination and
with 10 % of the training and tuning samples relabelled at random and moved by +2 in every gene. 50
replicates. Where the text is silent: splits are stratified, the logarithms are taken as they are
(centred or scaled by the training part, ``--prepare``, the L2 errors go up), there is no intercept,
γ = 1/2, λ as in the simulation.

The data (Khan et al. 2001, Nature Medicine 7; natural logarithms of the ratios) are not part of the
library. They are looked for in ``../shared/data/srbct.npz`` beside the repository, or where
``--data`` says: a NumPy archive with ``X`` (83, 2308), ``y`` and ``feature_names`` (IMAGE clone
numbers).

"RMSVM" and "MSVM" are the untruncated angle losses, stand-ins for the methods of that name in the
paper. The defaults take few replicates and λ; ``--full`` is the full protocol, hours.

Run ``python -m examples.angle_svm.reproduce_srbct --output folder`` for box plots of the errors.
"""

from __future__ import annotations

import argparse
import sys
import time
import warnings
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import joblib
import numpy as np
from scipy.stats import t
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import PredefinedSplit, train_test_split

import dcprog as dc
from dcprog.models import AngleSVC, AngleSVCCV, angle_path
from examples.angle_svm.tables import (
    METHODS,
    PENALTIES,
    TITLES,
    box_plot,
    column,
    print_errors,
    published,
)
from examples.common.claims import (
    Claim,
    Difference,
    greater,
    left_out,
    paired,
    print_claims,
    same,
    under,
)
from examples.common.data import SHARED_DATA

Array = np.ndarray
Errors = dict[tuple[str, str], Array]  # of each replicate, in %, by method and penalty
DATA = SHARED_DATA / "srbct.npz"
SHIFT = 2.0
PUBLISHED = {
    0.0: "3.6000 6.1333 4.3859 | 3.8666 6.2666 3.2894 | 3.3333 6.0000 4.3859 | "
    "5.3333 7.2000 3.4736 | 5.3333 7.2000 3.0526 | 5.3333 7.2000 3.4736",
    0.1: "6.9333 11.0666 6.0000 | 4.8000 8.5333 4.8000 | 6.1333 9.0666 5.3333 | "
    "8.8000 10.4000 5.1714 | 7.4666 9.2000 3.7838 | 8.4000 10.4000 4.0390",
}
ITEMS = {0.0: "table 6, clean", 0.1: "table 6, 10%"}
# Genes the paper reports as selected by its L1+L2 models under 10 % contamination.
SIGNATURE = {
    "770394": "EWS",
    "1435862": "EWS",
    "812105": "NB",
    "325182": "NB",
    "796258": "RMS",
    "183337": "BL",
}
N_TEST = 28  # samples of the test third


@dataclass(frozen=True)
class Task:
    """One method on one replicate."""

    outliers: float
    method: str
    penalty: str
    replicate: int


@dataclass(frozen=True)
class Outcome:
    """Test error in %, genes with a coefficient other than 0, and the ten of largest norm."""

    task: Task
    error: float
    selected: tuple[str, ...]
    strongest: tuple[str, ...]


@dataclass(frozen=True)
class Protocol:
    """Data, grids and options that all tasks share."""

    X: Array
    y: Array
    genes: Array
    lams: Array
    lams2: Array
    lams_l2: Array
    prepare: str
    gamma: float
    tol: float
    starts: str
    seed: int

    def parts(self, task: Task) -> list[tuple[Array, Array]]:
        """Training, tuning and test third, the same for all methods."""
        rng = np.random.RandomState(self.seed + 1000 * task.replicate + round(100 * task.outliers))
        rest, test = train_test_split(
            np.arange(len(self.y)), test_size=1 / 3, stratify=self.y, random_state=rng
        )
        train, tune = train_test_split(
            rest, test_size=1 / 2, stratify=self.y[rest], random_state=rng
        )
        clean = [(self.X[part], self.y[part]) for part in (train, tune, test)]
        dirty = [contaminated(X, y, task.outliers, rng) for X, y in clean[:2]]
        centre, scale = dirty[0][0].mean(axis=0), dirty[0][0].std(axis=0)
        if self.prepare == "none":
            centre = np.zeros_like(centre)
        if self.prepare != "scale":
            scale = np.ones_like(scale)
        return [((X - centre) / np.maximum(scale, 1e-12), y) for X, y in [*dirty, clean[2]]]


def contaminated(
    X: Array, y: Array, share: float, rng: np.random.RandomState
) -> tuple[Array, Array]:
    """A share of the samples gets another label and is moved."""
    X, y, classes = X.copy(), y.copy(), np.unique(y)
    for i in rng.permutation(len(y))[: round(share * len(y))]:
        y[i] = rng.choice(classes[classes != y[i]])
        X[i] += SHIFT
    return X, y


def run(task: Task, protocol: Protocol) -> Outcome:
    """Train for all λ, choose on the tuning third, judge on the test third."""
    (X, y), (X_tune, y_tune), (X_test, y_test) = protocol.parts(task)
    form, truncation = METHODS[task.method]
    model = AngleSVC(
        form,
        truncation,
        protocol.gamma,
        penalty=task.penalty,
        # 28 samples of 2308 genes: with L2 alone the linear kernel is the same model in 28 numbers
        kernel="linear" if task.penalty == "l2" else None,
        fit_intercept=False,
        tol=protocol.tol,
        n_starts=1,
    )
    search = AngleSVCCV(
        model,
        protocol.lams_l2 if task.penalty == "l2" else protocol.lams,
        protocol.lams2 if task.penalty == "elasticnet" else None,
        cv=PredefinedSplit(np.repeat([-1, 0], [len(y), len(y_tune)])),
        starts=protocol.starts,
        refit=False,
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", dc.FisherConsistencyWarning)
        warnings.simplefilter("ignore", ConvergenceWarning)
        search.fit(np.vstack([X, X_tune]), np.concatenate([y, y_tune]))
    size = np.linalg.norm(search.best_estimator_.coef_, axis=0)
    strongest = np.argsort(-size)[:10]
    return Outcome(
        task,
        error=100 * (1 - search.score(X_test, y_test)),
        selected=tuple(protocol.genes[size > 0]),
        strongest=tuple(protocol.genes[strongest[size[strongest] > 0]]),
    )


# ---- tables --------------------------------------------------------------------------------------


def print_genes(outcomes: Sequence[Outcome], outliers: float, penalty: str) -> None:
    """In how many fits the paper's genes are selected, and among the ten strongest."""
    of = column(outcomes, outliers=outliers, penalty=penalty)
    selected = Counter(gene for o in of for gene in o.selected)
    strongest = Counter(gene for o in of for gene in o.strongest)
    print(
        f"\nSignature genes, {TITLES[penalty]}, {outliers:.0%} contaminated, {len(of)} fits of all "
        f"methods, {np.mean([len(o.selected) for o in of]):.0f} genes each"
    )
    print(f"{'gene':<10}{'class':<7}{'selected':>10}{'among the ten strongest':>26}")
    for gene, label in SIGNATURE.items():
        share, top = selected[gene] / len(of), strongest[gene] / len(of)
        print(f"{gene:<10}{label:<7}{share:>10.0%}{top:>26.0%}")
    others = [gene for gene, _ in strongest.most_common(12) if gene not in SIGNATURE]
    print("others most often among the ten strongest: " + ", ".join(others[:6]))


# ---- claims --------------------------------------------------------------------------------------

MARGIN = 1.5  # points of error within which numbers are the same
NEARLY_ALL, AT_RANDOM = 0.8, 2.0  # shares of the models; times what random genes would have
CONVEX = {"RSVM1 T0": "RMSVM", "RSVM1 TK": "RMSVM", "RSVM2 T0": "MSVM", "RSVM2 TK": "MSVM"}
PRINTED = 50  # replicates of the paper
ALIKE = "clean: RSVM1 and RSVM2 coincide with their convex losses, L2 and L1 (as the text says)"
# What does not come out.
REFUTED = {"clean: the errors are the published ones on average", ALIKE}


def judged(claim: Claim) -> Claim:
    """What a few replicates leave open may be decided by more."""
    return replace(claim, expected=None if claim.holds is None else claim.text not in REFUTED)


def estimated(differences: Array, *, cells: int) -> Difference:
    """The mean over replicates with an interval that holds for all cells at once.

    It is never known better than to one mistake in all replicates: a few decide nothing.
    """
    n, known = differences.size, paired(differences)
    error = max(known.error, 100 / N_TEST / np.sqrt(n))
    width = float(t.ppf(1 - 0.025 / cells, n - 1)) if n > 1 else known.width
    return Difference(known.mean, float(error), width)


def errors_of(outcomes: Sequence[Outcome], outliers: float) -> Errors:
    return {
        (m, penalty): np.array(
            [o.error for o in column(outcomes, outliers=outliers, method=m, penalty=penalty)]
        )
        for m in METHODS
        for penalty in PENALTIES
    }


def table_claims(outcomes: Sequence[Outcome], outliers: float) -> list[Claim]:
    """A half of table 6: errors, and what the text says of them."""
    of, paper = errors_of(outcomes, outliers), published(PUBLISHED[outliers])
    item, name = ITEMS[outliers], "10%" if outliers else "clean"
    on_cells = paired(np.mean([of[k] - paper[k] for k in of], axis=0))
    both = np.hypot(1, np.sqrt(len(of[next(iter(of))]) / PRINTED))  # the printed means vary as ours
    found = replace(on_cells, error=on_cells.error * float(both))
    means = [float(errors.mean()) for errors in of.values()]
    shown = (
        f"ours {min(means):.1f} to {max(means):.1f}, "
        f"paper {min(paper.values()):.1f} to {max(paper.values()):.1f}; mean"
    )
    worse = [
        estimated(of[m, q] - of[m, "elasticnet"], cells=2 * len(METHODS))
        for m in METHODS
        for q in ("l2", "l1")
    ]
    on_average = [
        paired(np.mean([of[m, q] - of[m, "elasticnet"] for m in METHODS], axis=0))
        for q in ("l2", "l1")
    ]
    claims = [
        same(
            f"{name}: the errors are the published ones on average", found, MARGIN, measured=shown
        ),
        greater(f"{name}: L1+L2 works best for every method", worse),
        greater(f"{name}: L1+L2 works best on average over the methods", on_average),
    ]
    pairs = [(m, convex, q) for m, convex in CONVEX.items() for q in ("l2", "l1")]
    if outliers:
        less = np.mean([of[convex, q] - of[m, q] for m, convex, q in pairs], axis=0)
        text = f"{name}: truncation lowers the error, L2 and L1, on average"
        return under(item, [judged(claim) for claim in [*claims, greater(text, [paired(less)])]])
    apart = {key: of[key[1], key[2]] - of[key[0], key[2]] for key in pairs}
    most = max(float(np.max(np.abs(values))) for values in apart.values())
    second = [
        estimated(values, cells=4) for (m, *_), values in apart.items() if m.startswith("RSVM2")
    ]
    shown = f"the largest difference in a replicate is {most:.1f} points"
    claims += [
        Claim(ALIKE, shown, most == 0, turns="no difference in any replicate"),
        replace(
            same("clean: RSVM2's do, to the margin, as the table has it", second, MARGIN),
            corrected=True,
        ),
    ]
    return under(item, [judged(claim) for claim in claims])


def gene_claims(outcomes: Sequence[Outcome], total: int) -> list[Claim]:
    """Signature genes of the L1+L2 models under contamination: shares of the fits.

    At random as many of the `total` genes would be selected. The short grids choose sparser
    models than the paper's.
    """
    of = column(outcomes, outliers=0.1, penalty="elasticnet")
    replicates = sorted({o.task.replicate for o in of})
    fits = [column(of, replicate=k) for k in replicates]
    shares = {
        gene: np.array([np.mean([gene in o.selected for o in some]) for some in fits])
        for gene in SIGNATURE
    }
    sizes = np.array([np.mean([len(o.selected) for o in some]) for some in fits])
    at_random = sizes / total
    shown = ", ".join(f"{gene} {share.mean():.0%}" for gene, share in shares.items())
    text = "10%, L1+L2: the two EWS genes are in nearly all models (as printed: in all 50)"
    first = [paired(shares[gene]) for gene, label in SIGNATURE.items() if label == "EWS"]
    more = [paired(share - AT_RANDOM * at_random) for share in shares.values()]
    of_all = f"{np.mean(list(shares.values())):.0%} on average, at random {at_random.mean():.0%}"
    claims = [
        greater(text, first, NEARLY_ALL, measured=f"{shown}; {sizes.mean():.0f} genes a model"),
        greater(
            "and all six are selected twice as often as at random, at least", more, measured=of_all
        ),
    ]
    return under(ITEMS[0.1], [judged(claim) for claim in claims])


def draw_errors(
    outcomes: Sequence[Outcome], rates: Sequence[float], penalties: Sequence[str], path: Path
) -> None:
    """Box plots of the test errors."""
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(
        len(rates), 1, figsize=(10, 3 * len(rates)), layout="constrained", squeeze=False
    )
    for ax, outliers in zip(axes[:, 0], rates, strict=True):
        of = column(outcomes, outliers=outliers)
        box_plot(ax, of, penalties, f"SRBCT, {outliers:.0%} contaminated")
    figure.legend(*axes[0, 0].get_legend_handles_labels(), loc="outside lower center", ncols=3)
    figure.savefig(path, dpi=120)
    plt.close(figure)


def draw_coefficients(protocol: Protocol, outliers: float, path: Path) -> None:
    """Size of each gene's coefficients over λ, L1, one replicate; signature genes in colour."""
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(1, 2, figsize=(11, 4.8), layout="constrained", sharey=True)
    looks = ("C0-", "C0--", "C1-", "C1--", "C2-", "C3-")  # a colour a class
    for ax, method in zip(axes, ("RSVM1 TK", "RSVM2 TK"), strict=True):
        (X, y), _, _ = protocol.parts(Task(outliers, method, "l1", 0))
        form, truncation = METHODS[method]
        model = AngleSVC(
            form, truncation, protocol.gamma, penalty="l1", fit_intercept=False, tol=protocol.tol
        )
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", dc.FisherConsistencyWarning)
            solved = angle_path(X, y, np.logspace(-1, 1.5, 12), estimator=model, starts="warm")
        sizes = np.linalg.norm(solved.coefs, axis=1)
        ax.semilogx(solved.lams, sizes[:, np.any(sizes > 0, axis=0)], color="0.8", lw=0.8)
        for (gene, label), look in zip(SIGNATURE.items(), looks, strict=True):
            for j in np.flatnonzero(protocol.genes == gene):
                ax.semilogx(solved.lams, sizes[:, j], look, lw=2, label=f"{gene} {label}")
        ax.set(title=f"{method}, L1", xlabel="λ")
    axes[0].set_ylabel("norm of a gene's coefficients; grey: other genes")
    figure.legend(*axes[0].get_legend_handles_labels(), loc="outside lower center", ncols=6)
    figure.suptitle(f"SRBCT, {outliers:.0%} contaminated, one replicate")
    figure.savefig(path, dpi=120)
    plt.close(figure)


# ---- main ----------------------------------------------------------------------------------------


def parsed(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--full", action="store_true", help="the full protocol; hours")
    parser.add_argument("--data", type=Path, default=DATA, help="srbct.npz")
    parser.add_argument("--replicates", type=int)
    parser.add_argument("--grid", type=int, help="number of λ")
    parser.add_argument("--grid2", type=int, help="number of λ2 of the elastic net")
    parser.add_argument("--genes", type=int, help="keep the first so many genes only")
    parser.add_argument("--prepare", choices=("none", "centre", "scale"), default="none")
    parser.add_argument("--outliers", type=float, nargs="+", default=[0.0, 0.1])
    parser.add_argument("--penalties", nargs="+", choices=PENALTIES, default=list(PENALTIES))
    parser.add_argument("--gamma", type=float, default=0.5)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--output", type=Path, help="folder for the plot")
    options = parser.parse_args(arguments)
    defaults = {"replicates": 3, "grid": 4, "grid2": 3}
    if options.full:
        defaults = {"replicates": 50, "grid": 30, "grid2": 30}
    for name, value in defaults.items():
        if getattr(options, name) is None:
            setattr(options, name, value)
    return options


def load(options: argparse.Namespace) -> Protocol | None:
    """The protocol with its data; None where they are absent."""
    if not options.data.is_file():
        return None
    archive = np.load(options.data)
    keep = slice(options.genes)
    short = np.logspace(0, 1.5, options.grid), np.logspace(0, 2, options.grid2)
    full = np.logspace(-1.5, 3, options.grid), np.logspace(-1.5, 3, options.grid2)
    lams, lams2 = full if options.full else short
    return Protocol(
        X=archive["X"][:, keep].astype(float),
        y=archive["y"],
        genes=archive["feature_names"][keep],
        lams=lams,
        lams2=lams2,
        lams_l2=lams if options.full else np.logspace(0, 3, 2 * options.grid),
        prepare=options.prepare,
        gamma=options.gamma,
        tol=1e-6 if options.full else 1e-4,
        starts="both" if options.full else "warm",
        seed=options.seed,
    )


def main(arguments: Sequence[str] | None = None) -> int:
    """Run, print, draw; nothing but a message if the data are absent. 0 if all is as expected."""
    options = parsed(arguments)
    begun = time.perf_counter()
    protocol = load(options)
    if protocol is None:
        print(
            f"The SRBCT data are not at {options.data}. Give the path of an archive with X "
            "(83, 2308), y and feature_names by --data.",
            file=sys.stderr,
        )
        print_claims([left_out("errors on SRBCT", "no data", item) for item in ITEMS.values()])
        return 0
    tasks = [
        Task(outliers, method, penalty, replicate)
        for penalty in reversed(options.penalties)
        for outliers in options.outliers
        for method in METHODS
        for replicate in range(options.replicates)
    ]
    pool = joblib.Parallel(options.jobs)
    outcomes = pool(joblib.delayed(run)(task, protocol) for task in tasks)
    for outliers in options.outliers:
        title = f"Test error in %, {outliers:.0%} contaminated"
        of, paper = column(outcomes, outliers=outliers), published(PUBLISHED.get(outliers, ""))
        print_errors(title, of, options.penalties, paper)
    for penalty in options.penalties:
        if penalty != "l2":
            print_genes(outcomes, max(options.outliers), penalty)
    if options.output is not None:
        options.output.mkdir(parents=True, exist_ok=True)
        draw_errors(outcomes, options.outliers, options.penalties, options.output / "srbct.png")
        draw_coefficients(protocol, max(options.outliers), options.output / "srbct_path.png")
        print(f"\nplots: {options.output}/srbct.png, {options.output}/srbct_path.png")
    claims: list[Claim] = []
    if set(options.penalties) == set(PENALTIES):
        rates = [rate for rate in options.outliers if rate in PUBLISHED]
        claims += [c for rate in rates for c in table_claims(outcomes, rate)]
        claims += gene_claims(outcomes, protocol.genes.size) if 0.1 in options.outliers else []
    figures = "figures srbct.png, srbct_path.png"
    wrong = print_claims(claims, f"seed {options.seed}, {options.replicates} replicates; {figures}")
    print(
        f"\n{options.replicates} replicates, {options.grid} λ, {options.grid2} × {options.grid} "
        f"for L1+L2; {time.perf_counter() - begun:.0f} s"
    )
    return int(wrong > 0)


if __name__ == "__main__":
    sys.exit(main())
