"""Solvers of piecewise linear losses."""
