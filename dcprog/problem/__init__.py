"""The surrogate of a cvxpy problem: its majorised form, sizes, price of violations and starts."""
