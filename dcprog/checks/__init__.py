"""Numerical checks of declared losses and penalties."""
