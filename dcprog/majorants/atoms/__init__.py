"""What the rules know of cvxpy's atoms: one table, an entry a kind, open to the outside."""
