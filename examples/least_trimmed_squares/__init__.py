"""Rousseeuw, JASA 79, 1984, and Rousseeuw and Van Driessen, 2006: least trimmed squares."""
