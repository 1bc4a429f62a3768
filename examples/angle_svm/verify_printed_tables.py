"""What section 5.2 of the robust angle-based SVM's paper says of its table 6, against that table.

Zhang, Pham, Fu and Liu (Math. Program. 169, 2018). Arithmetic on printed numbers, no run: table 6
has the test errors of both levels of contamination on SRBCT (table 7 has the running times).

Run ``python -m examples.angle_svm.verify_printed_tables``: a second. The exit status is 1 if a
claim comes out otherwise than expected.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from itertools import product

import numpy as np

from examples.angle_svm.reproduce_srbct import PUBLISHED
from examples.angle_svm.tables import METHODS, PENALTIES, published
from examples.common.claims import Claim, print_claims, under
from examples.common.plots import parser_of

CONVEX = {"RSVM1 T0": "RMSVM", "RSVM1 TK": "RMSVM", "RSVM2 T0": "MSVM", "RSVM2 TK": "MSVM"}
AT_ZERO = {"RSVM1 TK": "RSVM1 T0", "RSVM2 TK": "RSVM2 T0"}


def printed_claims() -> list[Claim]:
    """What section 5.2 says of table 6, against table 6."""
    tables = {rate: published(text) for rate, text in PUBLISHED.items()}
    rows = list(product(tables, METHODS))
    beaten = [
        f"{method} {rate:.0%} ({', '.join(f'{tables[rate][method, q]:.2f}' for q in PENALTIES)})"
        for rate, method in rows
        if tables[rate][method, "elasticnet"] > min(tables[rate][method, q] for q in ("l1", "l2"))
    ]
    cells = list(product(tables, AT_ZERO.items(), PENALTIES))
    steps = [tables[rate][zero, q] - tables[rate][at, q] for rate, (at, zero), q in cells]
    better, worse = (sum(np.sign(step) == sign for step in steps) for sign in (1, -1))
    same_as = {
        m: max(abs(tables[0.0][m, q] - tables[0.0][convex, q]) for q in ("l2", "l1"))
        for m, convex in CONVEX.items()
    }
    apart = ", ".join(f"{m} {difference:.2f}" for m, difference in same_as.items())
    return under(
        "section 5.2, text",
        [
            Claim(
                "L1+L2 works the best (as printed)",
                f"in table 6 not for {len(beaten)} of {len(rows)} rows (L2, L1, L1+L2): "
                f"{', '.join(beaten)}",
                not beaten,
                expected=False,
                turns=f"{len(beaten)} printed cells",
            ),
            Claim(
                "s = 1/(k − 1), TK, is slightly better than s = 0, T0 (as printed)",
                f"TK against T0 in table 6: better in {better} and worse in {worse} of "
                f"{len(steps)} cells, from {max(steps):.2f} better to {-min(steps):.2f} worse",
                better > worse,
                expected=False,
                turns=f"{(worse - better) // 2 + 1} printed cells",
            ),
            Claim(
                "clean, L2 and L1: RSVM1, RSVM2 and their convex losses coincide (as printed)",
                f"largest differences in table 6, L2 and L1: {apart}",
                max(same_as.values()) == 0,
                expected=False,
                turns="RSVM1's four cells those of RMSVM",
            ),
        ],
    )


def times_claim() -> Claim:
    """Table 7."""
    text, why = "24 running times as printed", "another program's, on another machine: not compared"
    return Claim(text, why, None, None, "table 7")


def main(arguments: Sequence[str] | None = None) -> int:
    """Count and print; 0 if every claim came out as expected."""
    parser_of(__doc__).parse_args(arguments)
    claims = [*printed_claims(), times_claim()]
    return int(print_claims(claims, "arithmetic on table 6") > 0)


if __name__ == "__main__":
    sys.exit(main())
