"""Families of nonconvex problems, the best values known of them, and methods that try."""
