"""The convergence theory of the multiclass capped ℓp-norm SVM, checked by measurement.

The model is that of Nie, Wang and Huang (AAAI 2017), with a smoothing δ ≥ 0:

    J_δ(W, b) = Σ_i h(g_i) + γ‖W‖²,  h(u) = min((u + δ)^{p/2}, ε),  g_i = ‖[1 − y_i∘(Wx_i + b)]₊‖².

Its algorithm takes weights d_i = h'(g_i) and minimises Σ d_i g_i + γ‖W‖², again and again. The
script runs it on real and random data for p = 0.5, 1, 1.5 and 2, and measures

* theorem 1 (descent): both inequalities of its proof at every step, and what follows from them;
* theorem 2 (a fixed point is stationary): gradient and criticality residual where the runs end,
  and the point at the cap's kink where the theorem as printed fails;
* the criticality gap the library reports, against Clarabel;
* the closed forms of a step;
* the published single block pass a weighting, which stalls for p < 2, against exact steps.

Every number is computed in NumPy, from the points a run went through. Claims of the paper that do
not hold are in the table too, and fail as expected. The exit status is 1 if any claim comes out
otherwise. The parts are in the files beside this one, one a theorem or topic.

Run ``python -m examples.capped_svm.verify_convergence --output folder`` for two plots;
``--full`` takes more data, seeds and penalties.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from examples.capped_svm.closed_forms import closed_form_claims
from examples.capped_svm.degenerate import all_capped_claims, infinite_weight_claims, kink_claims
from examples.capped_svm.descent import Descent, descent_claims, equality_claim, measure_descent
from examples.capped_svm.gap import gap_claims
from examples.capped_svm.passes import (
    Judged,
    compare_passes,
    pass_claims,
    print_passes,
    speed_claims,
)
from examples.capped_svm.runs import Run, descend, problems
from examples.capped_svm.stationarity import Stationarity, measure_stationarity, stationarity_claims
from examples.common.claims import print_claims, under
from examples.common.quiet import quiet


def print_runs(runs: list[Run], descents: list[Descent], ends: list[Stationarity]) -> None:
    """One line for each data set and p: the worst over its runs, the mean of J_δ."""
    groups = defaultdict(list)
    for run, descent, end in zip(runs, descents, ends, strict=True):
        groups[run.data, run.model.p].append((run, descent, end))
    print(
        f"\n{'data':<26}{'p':>4}{'runs':>5}{'steps':>6}{'J_δ':>9}{'capped':>7}{'kinks':>6}"
        f"{'gap':>9}{'∇J_δ rel.':>10}{'residual':>9}{'at start':>9}{'rise':>9}"
    )
    for (name, p), group in groups.items():
        capped = [np.mean(run.model.weights(run.model.g(run.points[-1])) == 0) for run, *_ in group]
        print(
            f"{name:<26}{p:>4g}{len(group):>5}{max(run.result.n_iter for run, *_ in group):>6}"
            f"{np.mean([run.values[-1] for run, *_ in group]):>9.3f}{np.mean(capped):>7.0%}"
            f"{max(end.kinks for *_, end in group):>6}"
            f"{max(run.result.gap for run, *_ in group):>9.0e}"
            f"{max(end.gradient for *_, end in group):>10.0e}"
            f"{max(end.residual for *_, end in group):>9.0e}"
            f"{min(end.at_start for *_, end in group):>9.1g}"
            f"{max(0.0, *(descent.rise for _, descent, _ in group)):>9.0e}"
        )


def parse(arguments: Sequence[str] | None) -> argparse.Namespace:
    """The command line's options."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--full", action="store_true", help="more data, seeds and penalties")
    parser.add_argument("--quick", action="store_true", help="random data of one seed")
    parser.add_argument("--output", type=Path, help="folder for the plots")
    return parser.parse_args(arguments)


@quiet()
def main(arguments: Sequence[str] | None = None) -> int:
    """Measure, print, draw; 0 if every claim came out as expected."""
    options = parse(arguments)
    begun = time.perf_counter()
    chosen = list(problems(options.full, options.quick))
    exact = [descend(name, model, "exact") for name, model in chosen]
    smoother = [(name, replace(model, delta=1e-3)) for name, model in chosen]
    single = [descend(name, model, "single pass", 300) for name, model in smoother]
    descents = [measure_descent(run) for run in exact]
    ends = [measure_stationarity(run) for run in exact]
    rows = compare_passes(20 if options.full else (1 if options.quick else 4))
    claims = [
        *under("theorem 1", descent_claims("theorem 1, exact", descents)),
        *under(
            "algorithm 2",
            descent_claims("theorem 1, single pass", [measure_descent(run) for run in single]),
        ),
        *under("theorem 1", [equality_claim()]),
        *under("theorem 2", [*stationarity_claims(exact, ends), *kink_claims()]),
        *under("algorithm 1", [*gap_claims(exact), *infinite_weight_claims(exact)]),
        *under("closed forms", [*closed_form_claims(exact), *all_capped_claims()]),
        *under("algorithm 2", [*pass_claims(rows), *speed_claims(exact, rows)]),
    ]
    print_runs(exact, descents, ends)
    print_passes(rows)
    wrong = print_claims(claims, "random data of seeds 0 and on, figures descent.png, kink.png")
    if options.output is not None:
        draw(rows, options.output)
    seconds = time.perf_counter() - begun
    print(f"\n{len(exact)} exact and {len(single)} single-pass runs, {seconds:.0f} s")
    return 1 if wrong else 0


def draw(rows: list[Judged], folder: Path) -> None:
    """Both plots."""
    from examples.capped_svm.plots import (  # matplotlib is needed for these alone
        draw_descent,
        draw_kink,
    )

    folder.mkdir(parents=True, exist_ok=True)
    draw_descent(rows, folder / "descent.png")
    draw_kink(folder / "kink.png")
    print(f"\nplots: {folder}/descent.png, {folder}/kink.png")


if __name__ == "__main__":
    sys.exit(main())
