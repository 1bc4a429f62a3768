"""Solvers that follow published algorithms exactly."""
