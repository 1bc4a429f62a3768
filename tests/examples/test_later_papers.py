"""Later papers: declarations agree with their formulas, and the claims come out as recorded."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from examples.later_papers import generalized_cross_entropy, trimmed_lasso

SCRIPTS = [generalized_cross_entropy, trimmed_lasso]


@pytest.mark.parametrize("q", [0.1, 0.7, 1.0])
def test_generalized_cross_entropy(q: float) -> None:
    X, y, _ = generalized_cross_entropy.drawn(0, n=30)
    theta = np.random.default_rng(1).normal(size=6)
    declared = generalized_cross_entropy.declare(X, y, q)(theta)
    assert declared == pytest.approx(generalized_cross_entropy.reference(X, y, q, theta), rel=1e-12)


@pytest.mark.parametrize("k", [1, 2, 5])
def test_trimmed_lasso(k: int) -> None:
    X, y = trimmed_lasso.drawn(0)
    problem = trimmed_lasso.declare(X, y, 0.3, k)
    (beta,) = problem.variables()
    beta.value = np.random.default_rng(1).normal(size=6)
    slow = trimmed_lasso.reference(X, y, 0.3, k, beta.value)
    assert problem.objective.value == pytest.approx(slow, rel=1e-12)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("script", SCRIPTS, ids=lambda script: script.__name__.split(".")[-1])
def test_claims(script: Any, capsys: pytest.CaptureFixture[str]) -> None:
    run: Callable[[list[str]], int] = script.main
    assert run([]) == 0
    assert "holds as printed" in capsys.readouterr().out
