"""The table of cvxpy's atoms: one entry per class, open to registered atoms."""
