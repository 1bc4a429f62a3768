"""What the engine descends on: cvxpy problems and risks, their starts, and the driver."""
