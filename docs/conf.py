"""Sphinx settings."""

import re
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
suppress_warnings = ["ref.term", "ref.ref"]  # scikit-learn's own docstrings point into its manual

CODE = re.compile(r"(``.*?``|:math:`.*?`|`[^`]*`)")


def escape_bars(app, what, name, obj, options, lines):
    """|u| in a docstring is an absolute value, not the name of a substitution."""
    block = None  # the indentation of a directive, whose text is left as it is
    for i, line in enumerate(lines):
        indent = len(line) - len(line.lstrip())
        if block is not None and line.strip() and indent <= block:
            block = None
        if line.lstrip().startswith(".. "):
            block = indent
        if block is None and not line.lstrip().startswith((">>>", "...")):
            parts = CODE.split(line)
            parts[::2] = [part.replace("|", r"\|") for part in parts[::2]]
            lines[i] = "".join(parts)


def setup(app):
    """Before numpydoc, which would make sections of the lines."""
    app.connect("autodoc-process-docstring", escape_bars, priority=100)
