"""A cvxpy problem as sums of products, powers, exponentials and their like, searched by SCIP."""
