"""Versions of the installed packages, for reports of errors."""

from __future__ import annotations

import platform
from importlib.metadata import PackageNotFoundError, version

NEEDED = ("dcprog", "numpy", "scipy", "scikit-learn", "cvxpy", "joblib", "numba")
SOLVERS = ("clarabel", "ecos", "highspy", "osqp", "piqp", "pyscipopt")
OPTIONAL = ("dask", "matplotlib", "pandas")


def _version(name: str) -> str | None:
    try:
        return version(name)
    except PackageNotFoundError:
        return None


__version__ = _version("dcprog") or "unknown"


def show_versions() -> None:
    """Print the versions of Python, the library, and the packages it works with.

    Examples
    --------
    >>> import dcprog as dc
    >>> dc.show_versions()
    python        3...
    ...
    dcprog        ...
    """
    lines = {"python": platform.python_version(), "platform": platform.platform()}
    lines |= {name: _version(name) or "–" for name in (*NEEDED, *SOLVERS, *OPTIONAL)}
    for name, found in lines.items():
        print(f"{name:<14}{found}")
