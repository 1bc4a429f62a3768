"""Mistakes made by hand, one in each part of the library, and the tests that must catch them."""
