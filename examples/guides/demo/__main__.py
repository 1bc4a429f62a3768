"""Measures, prints the tables, draws the plots."""

from __future__ import annotations

import argparse
import time
import warnings
from collections.abc import Sequence
from pathlib import Path

import matplotlib
from matplotlib.figure import Figure
from PIL import Image

import dcprog as dc
from examples.common.plots import STYLE
from examples.common.regression_sets import regression_set
from examples.guides import demo
from examples.guides.demo import (
    classification,
    mislabelled,
    packing,
    regression,
    sparsity,
    wine,
)

# What is measured, and on how many seeds for every ten that are asked for.
PANELS = {
    "Leverage in classification: accuracy on clean test records": (classification, 10),
    "Leverage in regression": (regression, 10),
    "Sparse regression: ten of 400 coefficients": (sparsity, 4),
    "Circle packing: radius over the best known": (packing, 4),
}
TABLES = {
    "Mislabelled samples found in real data, 10% of the labels changed": (mislabelled, 5),
    "Wine, 30% of the training labels changed": (wine, 10),
}


def certificate() -> str:
    """What is known of the stars' line: that it is critical, and that there is no better one."""
    model = dc.RobustRegressor().fit(*regression_set("starsCYG"))
    return str(model.result_.certificate(bound=True))


def save(figure: Figure, path: Path) -> None:
    """A picture of 128 colours, a third as large: ``--output docs/pictures`` draws the README's."""
    figure.savefig(path)
    Image.open(path).convert("RGB").quantize(128).save(path, optimize=True)


def parse(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(demo.__doc__ or "").splitlines()[0])
    parser.add_argument("--output", type=Path, default=Path("demo_output"), help="for the plots")
    parser.add_argument("--seeds", type=int, default=10, help="the slow tables take fewer")
    options = parser.parse_args(arguments)
    if options.seeds < 5:
        parser.error("--seeds must be 5 or more: every table needs two seeds for its error")
    return options


def main(arguments: Sequence[str] | None = None) -> None:
    """All of it."""
    options = parse(arguments)
    options.output.mkdir(parents=True, exist_ok=True)
    begun, measured = time.perf_counter(), []
    for title, (subject, of_ten) in (PANELS | TABLES).items():
        seeds = max(2, options.seeds * of_ten // 10)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", dc.TrivialSolutionWarning)  # 30% is what was asked for
            measured.append(subject.measure(seeds))
        print(f"{title} ({seeds} seeds)", *measured[-1].lines(), "", sep="\n", flush=True)
    print("The line through the stars: what is known of it", certificate(), sep="\n\n")
    paths = [options.output / f"{name}.png" for name in ("demo", "mislabelled")]
    with matplotlib.rc_context(STYLE):
        figure = Figure(figsize=(13, 9), layout="constrained")
        for ax, (subject, _), found in zip(
            figure.subplots(2, 2).flat, PANELS.values(), measured, strict=False
        ):
            subject.draw(ax, found)
        save(figure, paths[0])
        figure = Figure(figsize=(13, 5), layout="constrained")
        mislabelled.draw(figure)
        save(figure, paths[1])
    print(f"\nPlots, after {time.perf_counter() - begun:.0f} s:", *paths, sep="\n  ")


if __name__ == "__main__":
    main()
