"""The capped ℓp-norm SVM's model: its slack form, its concave losses, its ε, and footnote 1.

Nie, Wang and Huang (AAAI 2017). Checked through the library's own losses and runs:

* |1 − yf| = |f − y|, and [1 − yf]₊ = min over m ≥ 0 of |f − y − ym|;
* h(u) = min((u + δ)^{p/2}, ε) is concave: theorems 1 and 2 rest on its tangents;
* the heuristic for ε, in the first five iterations such that a tenth of the samples is capped;
* footnote 1, by which p = ε = 1 minimises the training error;
* runs against the theorems on convergence that ``dc.which_theorem`` says hold for them.

Run ``python -m examples.capped_svm.verify_model``: seconds. The exit status is 1 if a claim comes
out otherwise than expected.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence

import numpy as np

import dcprog as dc
from dcprog.models import CappedSVC
from examples.capped_svm.closed_forms import concavity_claims, heuristic_claims, slack_claims
from examples.capped_svm.footnote import footnote_claims
from examples.common.claims import Claim, print_claims, under
from examples.common.plots import parser_of
from examples.common.theorems import theorem_claims


def lemma_claim() -> Claim:
    """What stands there cannot be said without the text."""
    return Claim(
        "lemma 1 as printed",
        "its wording is not at hand; theorems 1 and 2 rest on the concavity of h, which holds",
        None,
        None,
    )


def capped_runs() -> list[dc.Result]:
    """Plain runs under a fixed cap, for several p."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((80, 3))
    y = X[:, 0] + rng.standard_normal(80) / 2 > 0
    return [CappedSVC(p=p, eps=1.0, n_starts=1).fit(X, y).result_ for p in (0.5, 1.0, 2.0)]


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure and print; 0 if every claim came out as expected."""
    parser_of(__doc__).parse_args(arguments)
    claims = [
        *under("slack form", slack_claims()),
        *under("lemma 1", [*concavity_claims(), lemma_claim()]),
        *under("heuristic for ε", heuristic_claims()),
        *under("footnote 1", footnote_claims()),
        *under("theorem 1", theorem_claims(capped_runs())),
    ]
    return int(print_claims(claims, "seeds 0 and 1") > 0)


if __name__ == "__main__":
    sys.exit(main())
