"""McCormick's relaxations of cvxpy expressions, evaluated on many boxes at once."""
