"""What the two reproductions of the angle-based SVM's tables share; not run by itself."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

PENALTIES = ("l2", "l1", "elasticnet")
TITLES = {"l2": "L2", "l1": "L1", "elasticnet": "L1+L2"}

# Name in the paper, form, truncation.
METHODS: dict[str, tuple[int, float | str | None]] = {
    "RMSVM": (1, None),
    "RSVM1 T0": (1, 0.0),
    "RSVM1 TK": (1, "auto"),
    "MSVM": (2, None),
    "RSVM2 T0": (2, 0.0),
    "RSVM2 TK": (2, "auto"),
}


def published(text: str) -> dict[tuple[str, str], float]:
    """Numbers by method and penalty; none of an empty text."""
    cells = [[float(number) for number in part.split()] for part in text.split("|")]
    if len(cells) < len(METHODS):
        return {}
    return {
        (method, penalty): cells[i][j]
        for i, method in enumerate(METHODS)
        for j, penalty in enumerate(PENALTIES)
    }


def column(outcomes: Iterable[Any], **fixed: object) -> list[Any]:
    """The outcomes whose task has these values."""
    return [o for o in outcomes if all(getattr(o.task, k) == v for k, v in fixed.items())]


def mean_and_error(values: Sequence[float]) -> str:
    """Mean ± standard error."""
    spread = np.std(values, ddof=1) / np.sqrt(len(values)) if len(values) > 1 else np.nan
    return f"{np.mean(values):6.2f} ± {spread:4.2f}"


def print_errors(
    title: str,
    outcomes: Sequence[Any],
    penalties: Sequence[str],
    paper: Mapping[tuple[str, str], float],
) -> None:
    """Test errors of all methods, ours beside the paper's."""
    print(f"\n{title}: ours ± se | paper")
    print(f"{'':<12}" + "".join(f"{TITLES[penalty]:>24}" for penalty in penalties))
    for method in METHODS:
        cells = []
        for penalty in penalties:
            ours = [o.error for o in column(outcomes, method=method, penalty=penalty)]
            beside = f"{paper[method, penalty]:.2f}" if paper else "–"
            cells.append(f"{mean_and_error(ours)} |{beside:>6}")
        print(f"{method:<12}" + "".join(f"{cell:>24}" for cell in cells))


def box_plot(ax: Any, outcomes: Sequence[Any], penalties: Sequence[str], title: str) -> None:
    """Box plots of the test errors, a group a method."""
    for j, penalty in enumerate(penalties):
        ax.boxplot(
            [[o.error for o in column(outcomes, method=m, penalty=penalty)] for m in METHODS],
            positions=np.arange(len(METHODS)) + 0.25 * (j - (len(penalties) - 1) / 2),
            widths=0.2,
            patch_artist=True,
            boxprops={"facecolor": f"C{j}", "alpha": 0.5},
            medianprops={"color": "k"},
            label=TITLES[penalty],
        )
    ax.set_xticks(range(len(METHODS)), list(METHODS))
    ax.set(title=title, ylabel="test error, %")
