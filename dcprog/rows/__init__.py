"""From coefficients to margins or residuals."""
