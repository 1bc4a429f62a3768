"""Global bounds of cvxpy problems: translation to sums of nonlinear terms, searched by SCIP."""
