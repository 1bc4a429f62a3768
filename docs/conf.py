"""Sphinx settings. Built and read without a network: MathJax lies beside the pages."""

import json
import re
import sys
from importlib.metadata import version as installed_version
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent)]  # the pictures' script; the gallery's shared data

from draw_pictures import DRAWN, draw_all  # noqa: E402

from examples.claims_page import RECORD, standings, with_standing  # noqa: E402
from examples.common.plots import STYLE  # noqa: E402

project = "dcprog"
author = copyright = "the dcprog authors"
version = release = installed_version("dcprog")

extensions = [
    "myst_parser",
    "numpydoc",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.mathjax",
    "sphinx-mathjax-offline",
    "sphinx_gallery.gen_gallery",
]
myst_enable_extensions = ["amsmath", "colon_fence", "deflist", "dollarmath"]
myst_heading_anchors = 3

autodoc_typehints = "none"  # numpydoc's Parameters section already states them
autosummary_ignore_module_all = False
numpydoc_show_class_members = False
templates_path = ["_templates"]

html_theme = "furo"
html_title = f"dcprog {version}"
html_css_files = ["wide.css"]
html_static_path = ["_static"]
html_show_sourcelink = False
exclude_patterns = ["_build", "_templates", "measured"]
suppress_warnings = [
    "ref.term",  # scikit-learn's own docstrings point into its manual
    "ref.ref",
    "config.cache",  # the gallery's functions cannot be pickled
]


def plain_look(gallery: dict[str, Any], file: str) -> None:
    """Every piece starts from the examples' look."""
    import matplotlib as mpl

    mpl.rcParams.update(STYLE)
    mpl.rcParams.update({"figure.facecolor": "white", "axes.facecolor": "white"})


class FromSimpleOn:
    """The order of the gallery: fits, penalties, then problems written in cvxpy."""

    NAMES = (
        "robust_classification robust_regression robust_logistic quantile_regression trimmed_stars "
        "multiclass kernel own_loss sparse_path sparse_pca robust_pca phase_retrieval "
        "circle_packing sphere_points path_planning power_control portfolio trend_filtering "
        "kalman_smoothing clustering multidimensional_scaling"
    ).split()

    def __init__(self, folder: str) -> None:
        self.folder = folder

    def __call__(self, file: str) -> int:
        return self.NAMES.index(file.removeprefix("plot_").removesuffix(".py"))


sphinx_gallery_conf = {
    "examples_dirs": "../examples/gallery",
    "gallery_dirs": "gallery",
    "within_subsection_order": FromSimpleOn,
    "filename_pattern": r"/plot_",
    "ignore_pattern": r"__init__\.py",
    "reset_modules": ("matplotlib", plain_look),
    "abort_on_example_error": True,
    "show_memory": False,
    "show_signature": False,
    "write_computation_times": False,
    "download_all_examples": False,
    "min_reported_time": 1e9,
    "doc_module": ("dcprog",),
    "backreferences_dir": "generated/backreferences",
    "remove_config_comments": True,
}

CODE = re.compile(r"(``.*?``|:math:`.*?`|`[^`]*`)")


def escape_bars(app, what, name, obj, options, lines):
    """|u| is an absolute value, not the name of a substitution; what is drawn gets its plot."""
    if name.removeprefix("dcprog.") in DRAWN:
        lines += ["", f".. image:: /generated/pictures/{name.removeprefix('dcprog.')}.svg", ""]
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


def say_what_is_current(app, page, text):
    """The pages of claims say which of their rows are of the sources at hand."""
    if page == "claims" or page.startswith("claims/"):
        runs = json.loads(RECORD.read_text(encoding="utf-8"))
        folder = page.removeprefix("claims").removeprefix("/")
        text[0] = with_standing(text[0], runs, folder) if folder else standings(text[0], runs)


def setup(app):
    """Before numpydoc, which would make sections of the lines."""
    app.connect("autodoc-process-docstring", escape_bars, priority=100)
    app.connect("source-read", say_what_is_current)
    draw_all(HERE / "generated" / "pictures")
