"""Parts of long runs, kept between calls: a run that was stopped goes on where it was."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from pathlib import Path

import numpy as np

from examples.common.sources import library

Array = np.ndarray
FOLDER = Path(__file__).resolve().parents[2] / ".reproduce" / "parts"


def digest(*parts: str | Path | Array) -> str:
    """Of texts, of files' contents and of arrays, with the library's code."""
    found = hashlib.sha256(str(sorted(library().items())).encode())
    for part in parts:
        if isinstance(part, Path):
            found.update(part.read_bytes())
        elif isinstance(part, np.ndarray):
            found.update(str((part.shape, part.dtype)).encode() + np.ascontiguousarray(part).data)
        else:
            found.update(part.encode())
        found.update(b"\0")
    return found.hexdigest()[:16]


def kept(name: str, compute: Callable[[], Array], *depends: str | Path | Array) -> Array:
    """What `compute` gives, from its file if nothing it depends on has changed since.

    Parameters
    ----------
    name : str
        Of the part; the file's name begins with it.
    compute : callable
        Without arguments.
    *depends : str, Path or array
        Arguments, source files and data.
    """
    path = FOLDER / f"{name}-{digest(name, *depends)}.npy"
    if path.is_file():
        return np.asarray(np.load(path, allow_pickle=False))
    values = compute()
    FOLDER.mkdir(parents=True, exist_ok=True)
    half = path.with_suffix(".half")
    with half.open("wb") as file:
        np.save(file, values)
    half.replace(path)
    return values
