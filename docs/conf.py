"""Sphinx settings."""

from importlib.metadata import version as installed_version

project = "dcprog"
author = "the dcprog authors"
version = release = installed_version("dcprog")

extensions = [
    "myst_parser",
    "numpydoc",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.mathjax",
]
myst_enable_extensions = ["amsmath", "dollarmath"]
myst_heading_anchors = 3

autodoc_typehints = "none"  # numpydoc's Parameters section already states them
numpydoc_show_class_members = False

html_theme = "alabaster"
exclude_patterns = ["_build"]
