"""The reproduction of the rescaled hinge SVM's tables at a size of seconds."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import dcprog as dc
from dcprog.models.baselines import baseline
from dcprog.rows.kernel import kernel_margins
from examples.rescaled_hinge import folds
from examples.rescaled_hinge import reproduce as script
from examples.rescaled_hinge.figure_2 import toy
from examples.rescaled_hinge.published import ACCURACY, COLUMNS, SUPPORT


@pytest.fixture
def sample() -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    y = np.where(rng.random(60) < 0.5, 1.0, -1.0)
    return rng.standard_normal((60, 3)) + y[:, None], y


def test_the_tables_at_a_tiny_size(
    tmp_path: Path, capsys: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(folds, "COSTS", (1.0,))
    arguments = ["--size", "60", "--folds", "2", "--draws", "2", "--jobs", "1"]
    script.main([*arguments, "--data", str(tmp_path), "--output", str(tmp_path)])
    shown = capsys.readouterr().out
    assert "australian: left out" in shown
    assert "N = 1 sets" in shown
    assert "allows no conclusion" in shown
    assert shown.count("97.62    97.65    97.12    97.69") == 1  # twonorm, linear, 30 %
    assert shown.count("79.81    77.08    60.58") == 1  # support vectors, linear, 30 %
    for name in ("figure_2.png", "ranks.png"):
        assert (tmp_path / name).stat().st_size > 10_000


def test_the_papers_columns_are_ours_without_the_c_loss() -> None:
    assert folds.METHODS == (*COLUMNS, "C-loss")
    assert all(row.shape == (9,) for row in (*ACCURACY.values(), *SUPPORT.values()))
    assert np.isfinite(ACCURACY["rbf", "magic", 30]).tolist() == [True] * 3 + [False] * 5 + [True]


def test_a_larger_share_of_flips_keeps_those_of_a_smaller() -> None:
    y = np.ones(100)
    few, many = (folds.flipped(y, share, 3) < 0 for share in (0.15, 0.3))
    assert (few.sum(), many.sum()) == (15, 30)
    assert np.all(many[few])
    assert np.all(y == 1)


@pytest.mark.parametrize("kind", ["linear", "rbf"])
def test_the_c_loss_machine_is_the_minimum_of_its_declaration(
    kind: str, sample: tuple[np.ndarray, np.ndarray]
) -> None:
    X, y = sample
    K = folds.kernel(kind, X, X)
    rows = kernel_margins(K, y)
    theta = dc.solve(baseline(rows, "closs", 1.0)).x
    assert theta is not None
    machine = folds.fit("C-loss", K, y, 1.0)
    np.testing.assert_allclose(y * (K @ machine.a + machine.b), rows @ theta, atol=1e-8)
    assert machine.support == 100


def test_eta_by_cv_is_one_of_the_five_columns(sample: tuple[np.ndarray, np.ndarray]) -> None:
    X, y = sample
    found = folds.one_fold("rbf", X, y, np.arange(40), np.arange(40, 60), 0.15, 0)
    assert found.shape == (len(folds.METHODS), 2)
    own = found[folds.METHODS.index(folds.BY_CV)]
    assert any(np.array_equal(own, found[folds.METHODS.index(m)]) for m in folds.RESCALED)


def test_mean_gain_by_hand() -> None:
    better = np.array([[1.0, 3.0], [5.0, 5.0]])
    # set means 2 and 5; variances over the folds 2 and 0, of the means 2·(1/2 + 1/1) = 3 and 0
    gain, error = folds.mean_gain(better, np.zeros((2, 2)))
    assert gain == 3.5
    assert error == pytest.approx(np.sqrt(3) / 2)


def test_a_gain_within_two_standard_errors_is_open() -> None:
    sure, unsure = np.array([[2.0, 2.1, 1.9]]), np.array([[2.0, -2.0, 0.3]])
    zero = np.zeros((1, 3))
    assert script.gain_claim("", sure, zero, "–").holds
    refuted = script.gain_claim("", zero, sure, "–")
    assert (refuted.holds, refuted.expected) == (False, True)
    left_open = script.gain_claim("", unsure, zero, "–")
    assert (left_open.holds, left_open.expected) == (False, False)
    assert "open" in left_open.measured


def test_twonorm_is_bayes_of_the_paper() -> None:
    X, y = script.twonorm(200_000)
    assert np.mean(np.sign(X.sum(axis=1)) == y) == pytest.approx(0.9772, abs=0.002)


def test_figure_2_flips_three_positive_samples() -> None:
    for far in (True, False):
        _, y = toy(0, far)
        assert (y[:30] < 0).sum() == 3
        assert np.all(y[30:] < 0)
