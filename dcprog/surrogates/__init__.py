"""Surrogates of cvxpy problems and risks, their starts, and ``dc.solve``."""
