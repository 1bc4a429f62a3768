"""Algorithms of papers, as published."""
