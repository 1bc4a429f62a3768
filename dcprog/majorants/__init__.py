"""Front door 1: convex majorants of cvxpy expressions, by rules."""
