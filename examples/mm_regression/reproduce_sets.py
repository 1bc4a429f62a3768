"""Published M- and MM-estimates of classical data sets, fitted again.

MM-estimates are those that R's robustbase prints of ``lmrob`` with its defaults (its reference
output of the test ``lmrob-data``, 2014). Huber's M-estimate of stackloss is what R and
statsmodels print of ``rlm`` (statsmodels' ``results_rlm``), at the scale that
they end with: ``RobustRegressor`` with that scale minimises the same sum.

Run ``python -m examples.mm_regression.reproduce_sets``. The exit status is 1 if a claim comes out
otherwise.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

import dcprog as dc
from dcprog.models import MMRegressor
from examples.common.claims import Claim, at_most, print_claims, under
from examples.common.plots import parser_of
from examples.common.regression_plots import plot_stars
from examples.common.regression_sets import regression_set

HUBER = (0.82937387, 0.92610818, -0.12784916, -41.02653105)
HUBER_SCALE = 2.4407137948148447


@dataclass(frozen=True)
class Published:
    """Coefficients, the intercept last; the scale; samples of weight 0, numbered from 1."""

    coef: tuple[float, ...]
    scale: float
    outliers: tuple[int, ...]


PUBLISHED = {
    "stackloss": Published((0.93885, 0.57955, -0.11292, -41.52462), 1.912, (21,)),
    "starsCYG": Published((2.2532, -4.9694), 0.4715, (11, 20, 30, 34)),
    "hbk": Published((0.08527, 0.04101, -0.05371, -0.18962), 0.7892, tuple(range(1, 11))),
}


def mm_claims(name: str, published: Published) -> list[Claim]:
    X, y = regression_set(name)
    model = MMRegressor().fit(X, y)
    coef = np.append(model.coef_, model.intercept_)
    outliers = tuple(int(i) + 1 for i in np.flatnonzero(model.outlier_weight_ < 1e-3))
    return [
        at_most(f"{name}: coefficients", float(np.abs(coef - published.coef).max()), 1e-4),
        at_most(f"{name}: scale", abs(model.scale_ - published.scale), 5e-4),
        Claim(
            f"{name}: samples of weight 0",
            " ".join(map(str, outliers)),
            outliers == published.outliers,
            turns="one other sample",
        ),
    ]


def huber_claims() -> list[Claim]:
    X, y = regression_set("stackloss")
    model = dc.RobustRegressor(dc.huber(1.345), dc.l2(0.0), scale=HUBER_SCALE, tol=1e-10).fit(X, y)
    apart = float(np.abs(np.append(model.coef_, model.intercept_) - HUBER).max())
    return [at_most("stackloss: Huber's M-estimate of rlm", apart, 1e-3)]


def main(argv: Sequence[str] | None = None) -> int:
    options = parser_of(__doc__).parse_args(argv)
    claims = [claim for name, one in PUBLISHED.items() for claim in mm_claims(name, one)]
    if options.output is not None:
        plot_stars(options.output, "mm_stars", MMRegressor())
    return int(print_claims(under("published fits", [*claims, *huber_claims()])) > 0)


if __name__ == "__main__":
    sys.exit(main())
