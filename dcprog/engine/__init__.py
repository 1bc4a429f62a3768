"""The outer loop, what it asks of a problem, and what it hands back."""
