"""The table of cvxpy's atoms, an entry a kind, that rules read; open to users."""
