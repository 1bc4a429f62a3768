"""Rows: linear maps from coefficients to margins or residuals."""
