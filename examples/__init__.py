"""Worked examples and the papers' experiments, run from the repository's root.

``python -m examples.guides.demo --help``; every script answers ``--help``.
"""
