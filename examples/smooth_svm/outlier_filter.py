"""The outlier filter of the smooth SVM written out, part of verify_pade.py, not run by itself.

Shen and Peng fit all samples, leave out those of largest slack ξ = [t]₊ and fit the rest once. As
read here K = ⌈ratio·m⌉ samples are left out, and none whose slack is below the 90th percentile.
The paper's sentence is not clear, so that the rows say what the library does, not what is printed.
"""

from __future__ import annotations

from itertools import product

import numpy as np

from dcprog.models import SmoothSVC
from examples.common.claims import Claim, at_most, own, under

Array = np.ndarray
PERCENTILE = 90
# With 90 samples K is 5 (4.5 rounded up), and 14 of which only 9 are from the percentile on.
RATIOS = (0.05, 0.15)
SAMPLES = 90
KINDS = (("pade", 1), ("sigmoid", 1), ("sigmoid", 2))


def noisy(seed: int) -> tuple[Array, Array]:
    """Overlapping classes: what a second filter leaves out is not what the first one did."""
    rng = np.random.default_rng(seed)
    y = np.where(np.arange(SAMPLES) % 2, 1.0, -1.0)
    return rng.standard_normal((SAMPLES, 2)) + 0.4 * y[:, None], y


def left_out(slack: Array, ratio: float) -> Array:
    """The samples that one step leaves out."""
    K = int(np.ceil(ratio * slack.size - 1e-9))
    largest = np.argsort(-slack, kind="stable")[:K]
    among = np.zeros(slack.size, dtype=bool)
    among[largest] = True
    return among & (slack >= np.percentile(slack, PERCENTILE))


def filter_claims(seeds: int) -> list[Claim]:
    """Which samples the library's filter leaves out, and that it then fits the rest once."""
    agree, total, apart, again = 0, 0, 0.0, 0
    for seed, ratio, (smoothing, norm) in product(range(seeds), RATIOS, KINDS):
        X, y = noisy(seed)
        plain = SmoothSVC(smoothing=smoothing, slack_norm=norm).fit(X, y)
        out = left_out(np.maximum(1 - y * plain.decision_function(X), 0), ratio)
        filtered = SmoothSVC(smoothing=smoothing, slack_norm=norm, outlier_ratio=ratio).fit(X, y)
        agree += bool(np.array_equal(out, filtered.outlier_))
        total += 1
        rest = SmoothSVC(smoothing=smoothing, slack_norm=norm).fit(X[~out], y[~out])
        scores = rest.decision_function(X)
        apart = max(apart, float(np.max(np.abs(filtered.decision_function(X) - scores))))
        second = left_out(np.maximum(1 - y * scores, 0), ratio)
        again += not np.array_equal(second, out)
    once = at_most("the rest is fitted once: scores apart", apart, 1e-4)
    text = "left out are the ⌈ratio·m⌉ largest slacks, of those from the 90th percentile on"
    turns = "⌊ratio·m⌋, or another percentile, in one of them"
    return own(
        under(
            "outlier filter",
            [
                Claim(text, f"in {agree} of {total} fits", agree == total, turns=turns),
                Claim(
                    once.text,
                    f"{once.measured}; a second step would leave out others in {again} of {total}",
                    bool(once.holds and again),
                    turns="a second step",
                ),
            ],
        )
    )
