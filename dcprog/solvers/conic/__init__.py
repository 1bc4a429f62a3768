"""cvxpy problems compiled for general solvers."""
