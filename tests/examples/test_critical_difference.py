"""Friedman's test and Nemenyi's critical difference on Demšar's own example, and their diagram."""

from __future__ import annotations

import numpy as np
import pytest
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from scipy.stats import friedmanchisquare

from examples.rescaled_hinge.critical_difference import (
    Ranking,
    cliques,
    critical_difference,
    draw,
    friedman_statistic,
    nemenyi_claim,
    ranking,
)

# Demšar (2006), JMLR 7, table 6: areas under the curve of C4.5 with m, cf, both or neither tuned.
AREAS = np.array(
    [
        [0.763, 0.768, 0.771, 0.798],
        [0.599, 0.591, 0.590, 0.569],
        [0.954, 0.971, 0.968, 0.967],
        [0.628, 0.661, 0.654, 0.657],
        [0.882, 0.888, 0.886, 0.898],
        [0.936, 0.931, 0.916, 0.931],
        [0.661, 0.668, 0.609, 0.685],
        [0.583, 0.583, 0.563, 0.625],
        [0.775, 0.838, 0.866, 0.875],
        [1.000, 1.000, 1.000, 1.000],
        [0.940, 0.962, 0.965, 0.962],
        [0.619, 0.666, 0.614, 0.669],
        [0.972, 0.981, 0.9751, 0.975],  # printed as equal, but ranked 2 and 3
        [0.957, 0.978, 0.946, 0.970],
    ]
)


def test_demsars_example() -> None:
    found = ranking(AREAS)
    np.testing.assert_allclose(found.means, [3.143, 2.000, 2.893, 1.964], atol=5e-4)
    assert found.statistic == pytest.approx(9.28, abs=0.01)
    assert found.width == pytest.approx(1.25, abs=0.005)
    assert found.p == pytest.approx(0.02, abs=0.01)  # 0.0195 of his F = 3.69 on 3 and 39
    assert found.verdict().startswith("the methods differ, but no two")  # as he concludes


@pytest.mark.parametrize(("methods", "q"), [(2, 1.960), (4, 2.569), (6, 2.850), (10, 3.164)])
def test_critical_values_are_demsars_table_5(methods: int, q: float) -> None:
    by_hand = q * np.sqrt(methods * (methods + 1) / (6 * 14))
    assert critical_difference(methods, 14) == pytest.approx(by_hand, rel=3e-4)


def test_critical_value_at_ten_percent() -> None:
    assert critical_difference(10, 10, 0.1) == pytest.approx(2.920 * np.sqrt(110 / 60), rel=3e-4)


def test_statistic_is_scipys_without_ties() -> None:
    scores = np.random.default_rng(0).random((6, 5))
    assert ranking(scores, 10).statistic == pytest.approx(friedmanchisquare(*scores.T).statistic)


def test_p_of_two_sets_in_agreement_is_the_exact_one() -> None:
    # of the 3! orders of the second set one agrees with the first: p = 1/6
    scores = np.array([[3.0, 2.0, 1.0], [3.0, 2.0, 1.0]])
    assert ranking(scores).p == pytest.approx(1 / 6, abs=0.01)
    assert ranking(np.ones((4, 3))).p == 1


def test_ties_share_their_rank() -> None:
    np.testing.assert_allclose(ranking(np.array([[3.0, 2.0, 2.0]]), 10).means, [1, 2.5, 2.5])
    assert friedman_statistic(np.array([2.0, 2.0, 2.0]), 5) == 0


@pytest.mark.parametrize(
    ("means", "cases", "p", "said"),
    [
        ([1.0, 2.0, 3.0], 2, 0.01, "N = 2 allows no conclusion"),
        ([1.7, 2.0, 2.3], 5, 0.5, "no two methods differ; N = 5 is too small for any conclusion"),
        ([1.7, 2.0, 2.3], 12, 0.5, "no two methods differ"),
        ([1.0, 2.0, 3.0], 12, 0.01, "3 pairs differ"),
        ([1.6, 2.0, 2.4], 12, 0.01, "the methods differ, but no two"),
    ],
)
def test_verdicts(means: list[float], cases: int, p: float, said: str) -> None:
    found = Ranking(np.array(means), cases, 1.0, p, critical_difference(3, cases))
    assert found.verdict().startswith(said)
    assert ("too small" in found.verdict()) == ("too small" in said)


def test_cliques_are_the_longest_runs() -> None:
    assert cliques(np.array([1.0, 2.0, 3.0, 6.0]), 1.0) == [(0, 1), (1, 2)]
    assert cliques(np.array([1.0, 2.0, 3.0, 6.0]), 9.0) == [(0, 3)]
    assert cliques(np.array([1.0, 3.0]), 1.0) == []


@pytest.mark.parametrize(
    "means",
    [
        np.full(10, 5.5),
        np.arange(1.0, 11.0),
        np.r_[np.ones(5), np.full(5, 10.0)],
        np.random.default_rng(0).permutation(np.linspace(5, 6, 9)),
        np.array([1.0, 1.1, 1.2, 1.3, 4.9]),
    ],
)
def test_no_label_of_the_diagram_meets_a_line_or_another_label(means: np.ndarray) -> None:
    figure = Figure(figsize=(6.5, 3.3))
    canvas = FigureCanvasAgg(figure)
    ax = figure.subplots()
    names = [f"WSVM {i}" for i in range(len(means))]
    draw(ax, Ranking(means, 6, 1.0, 0.5, 2.0), names, "title")
    canvas.draw()
    renderer = canvas.get_renderer()
    boxes = [text.get_window_extent(renderer) for text in (*ax.texts, ax.title)]
    for i, box in enumerate(boxes):
        assert not any(box.overlaps(other) for other in boxes[:i])
        assert not any(
            line.get_path().transformed(line.get_transform()).intersects_bbox(box, filled=False)
            for line in ax.lines
        )
        assert figure.bbox.x0 <= box.x0
        assert box.x1 <= figure.bbox.x1


def test_nemenyi_holds_refutes_or_leaves_it_open() -> None:
    apart = ranking(np.tile(np.arange(5.0), (12, 1)), 200)  # the last one is the best in every set
    assert nemenyi_claim("", apart, 4, 0).verdict == "holds as printed"
    refuted = nemenyi_claim("", apart, 0, 4)
    assert (refuted.verdict, refuted.as_expected) == ("refuted", False)
    near = nemenyi_claim("", apart, 4, 3)
    assert (near.verdict, near.as_expected) == ("open", True)
    assert near.turns.endswith("ranks more")
