"""All families by name."""

from __future__ import annotations

from functools import partial

from benchmarks.optima import classification, packing, portfolio, quadratic, regression
from benchmarks.optima import sparse_regression as sparse
from benchmarks.optima.instance import Family

FAMILIES = {
    family.name: family
    for family in (
        Family("ramp_tiny", classification.ramp_tiny),
        Family("squared_hinge_tiny", classification.squared_hinge_tiny),
        Family("ramp_30x2", partial(classification.ramp_problem, 30, 2, shift=1.0)),
        Family("ramp_200x5", partial(classification.ramp_risk, 200, 5)),
        Family("ramp_200x5_cvxpy", partial(classification.ramp_problem, 200, 5), data="ramp_200x5"),
        Family("ramp_1000x50", partial(classification.ramp_risk, 1000, 50), quick=5),
        Family("ramp_2000x20", partial(classification.ramp_risk, 2000, 20), quick=4),
        Family("ramp_leverage", classification.ramp_leverage),
        Family("capped_hinge_breast_cancer", classification.breast_cancer, quick=10),
        Family("capped_lp_multiclass", classification.capped_lp_multiclass),
        Family("trimmed_regression", regression.trimmed_regression),
        Family("tukey_regression", regression.tukey_regression),
        Family("capped_absolute_regression", regression.capped_absolute_regression),
        Family("log_sum_100x200", partial(sparse.log_sum, 100, 200)),
        Family("l_half_100x200", partial(sparse.l_half, 100, 200)),
        Family("mcp_100x200", partial(sparse.mcp, 100, 200)),
        Family("mcp_200x500", partial(sparse.mcp, 200, 500), quick=5),
        Family("packing_equal", packing.packing_equal),
        Family("packing_unequal", packing.packing_unequal),
        Family("box_quadratic", quadratic.box_quadratic),
        Family("sparse_pca", quadratic.sparse_pca),
        Family("phase_retrieval", quadratic.phase_retrieval),
        Family("portfolio", portfolio.portfolio),
    )
}
