"""The demo says what it is meant to show: each table's message, and the plots are there."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest

from examples.common.data import flip
from examples.guides.demo import __main__ as demo
from examples.guides.demo import classification, mislabelled, packing, regression, sparsity
from tests.examples.verdicts import is_png


def test_capped_classifier_withstands_slips() -> None:
    measured = classification.measure(3)
    means = {name: accuracy.mean() for name, accuracy in measured.accuracy.items()}
    assert means[classification.OURS] > 0.9
    assert means["linear SVM, no slips"] - means[classification.OURS] < 0.03
    assert max(means["linear SVM"], means["logistic regression"]) < 0.75
    assert measured.found > 0.95


def test_robust_regressor_withstands_giants() -> None:
    measured = regression.measure(4)
    assert np.all(measured.slopes[regression.OURS] > 2)
    assert max(measured.slopes["least squares"].max(), measured.slopes["Huber"].max()) < 0
    errors = {name: error.mean() for name, error in measured.errors.items()}
    assert errors[regression.OURS] == min(errors.values())
    assert errors[regression.OURS] < 0.2 < 0.9 < errors["Huber"]


@pytest.mark.slow
def test_mcp_finds_the_support_without_shrinking() -> None:
    measured = sparsity.measure(2)
    assert measured.found[sparsity.OURS].mean() == 10
    assert measured.false[sparsity.OURS].mean() < measured.false[sparsity.LASSO].mean() / 4
    assert abs(measured.shrunk[sparsity.OURS].mean()) < 0.05 < measured.shrunk["Lasso"].mean()


@pytest.mark.slow
def test_packing_is_the_best_known() -> None:
    """At most of the seeds; the best of the other local optima is at .9981 of it."""
    measured = packing.measure(4)
    assert np.median(measured.ours) > 0.9999
    assert np.all(measured.ours > 0.998)
    apart = measured.centres[packing.FIRST] - measured.centres[packing.SECOND]
    assert np.linalg.norm(apart, axis=1).min() >= 2 * measured.radius * (1 - 1e-5)
    assert np.all(np.abs(measured.centres - 0.5) <= 0.5 - measured.radius * (1 - 1e-5))


def test_changed_labels_are_found() -> None:
    measured = mislabelled.measure(2)
    for of in mislabelled.SETS:
        precision = {name: measured.precision[of, name].mean() for name in mislabelled.MODELS}
        assert precision[mislabelled.OURS] == max(precision.values())
        assert measured.recall[of, mislabelled.OURS].mean() > 0.85


@pytest.mark.slow
def test_tables_and_plots(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = tmp_path / "new" / "plots"
    demo.main(["--output", str(folder), "--seeds", "5"])
    printed = capsys.readouterr().out
    wine = dict(re.findall(r"^  (linear SVM|CappedSVC) +([\d.]+) ± [\d.]+ %", printed, re.M))
    assert float(wine["CappedSVC"]) > 94
    assert re.search(r"criticality gap +\S+ +\S+ +yes", printed)
    assert "Bound: proved" in printed
    for name in ("demo", "mislabelled"):
        assert str(folder / f"{name}.png") in printed
        assert is_png(folder / f"{name}.png")


def test_a_share_of_the_labels_changes_class() -> None:
    y = np.arange(100) % 3
    flipped = flip(y, 0.2, np.random.default_rng(0))
    assert np.sum(flipped != y) == 20
    assert set(flipped) == {0, 1, 2}
    assert np.array_equal(y, np.arange(100) % 3)


def test_too_few_seeds_are_refused(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        demo.main(["--seeds", "1"])
    assert "its error" in capsys.readouterr().err
