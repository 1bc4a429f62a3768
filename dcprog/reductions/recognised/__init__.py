"""Risks behind cvxpy problems: Σ weights·loss(rows·x) + penalty, read off the tree."""
