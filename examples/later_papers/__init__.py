"""Losses and penalties of later papers, declared in about ten lines, each with a claim checked."""

NAMES = (  # the scripts, a paper each
    "truncated_pinball",
    "ramp_linear_programming",
    "semi_supervised",
    "capped_twin",
    "support_matrix",
    "rescaled_squared_hinge",
    "extended_robust",
    "generalized_cross_entropy",
    "taylor_cross_entropy",
    "general_robust_loss",
    "mean_shift_outliers",
    "trimmed_lasso",
)
