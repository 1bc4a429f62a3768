"""Digests of what a script's rows rest on: a record is current as long as none of them changes.

A script rests on the library, the models, the modules of examples that it imports, and the data
sets that these name. Comments, layout and docstrings change no digest. Each folder has a digest of
its own, so that what has changed since a run can be named.
"""

from __future__ import annotations

import ast
import hashlib
from collections import defaultdict
from collections.abc import Iterable, Mapping
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
LIBRARY = ("dcprog", "models")
DATA = "shared/data"  # beside the project

Sources = dict[str, str]  # digests by folder, or by data set


def source(module: str) -> Path:
    """The file of a module, or of a package's ``__init__``."""
    path = ROOT / module.replace(".", "/")
    return path / "__init__.py" if path.is_dir() else path.with_suffix(".py")


def imported(module: str) -> set[str]:
    """The modules of examples a module needs, itself among them."""
    found: set[str] = set()
    waiting = [module]
    while waiting:
        name = waiting.pop()
        if name in found or not source(name).is_file():
            continue
        found.add(name)
        named, _ = names_in(source(name).read_text("utf-8"))
        waiting += [to for to in named if to.split(".")[0] == "examples"]
    return found


@cache
def names_in(text: str) -> tuple[list[str], set[str]]:
    """The modules that a module's imports may mean, and its strings."""
    nodes = list(ast.walk(ast.parse(text)))
    constants = (node.value for node in nodes if isinstance(node, ast.Constant))
    strings = {value for value in constants if isinstance(value, str)}
    return [name for node in nodes for name in imports_of(node)], strings


def imports_of(node: ast.AST) -> list[str]:
    if isinstance(node, ast.Import):
        return [alias.name for alias in node.names]
    if isinstance(node, ast.ImportFrom) and node.module:
        return [node.module, *(f"{node.module}.{alias.name}" for alias in node.names)]
    return []


@cache
def code(text: str) -> str:
    """Digest of a module's code, the same whatever its comments, layout and docstrings are.

    Not of `ast.dump`, which another Python writes otherwise.
    """

    found: list[str] = []
    waiting: list[object] = [ast.parse(text)]
    while waiting:
        node = waiting.pop()
        if isinstance(node, list):
            found.append(f"{len(node)} parts")
            waiting += node
        elif isinstance(node, ast.AST):
            found.append(type(node).__name__)
            given = [(name, value) for name, value in ast.iter_fields(node) if value != []]
            for name, value in given:
                found.append(name)
                waiting.append(value[1:] if name == "body" and is_documented(node) else value)
        else:
            found.append(repr(node))
    return digest(found)


def is_documented(node: ast.AST) -> bool:
    owners = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
    return isinstance(node, owners) and ast.get_docstring(node, clean=False) is not None


def digest(parts: Iterable[str]) -> str:
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()[:8]


def by_folder(paths: Iterable[Path]) -> Sources:
    """A digest for each folder of the given modules."""
    files: dict[str, list[str]] = defaultdict(list)
    for path in sorted(paths):
        name = path.relative_to(ROOT)
        files[name.parent.as_posix()] += [name.name, code(path.read_text("utf-8"))]
    return {folder: digest(parts) for folder, parts in files.items()}


def library() -> Sources:
    """Of dcprog and the models."""
    found = (path for name in LIBRARY for path in (ROOT / name).rglob("*.py"))
    link = ROOT / "dcprog" / "models"  # to models
    return by_folder(path for path in found if link not in path.parents)


def data_sets(modules: Iterable[str]) -> Sources:
    """Of the data sets at hand that a string of the modules names."""
    texts = set().union(*(names_in(source(module).read_text("utf-8"))[1] for module in modules))
    files = sorted((ROOT.parent / DATA).glob("*.npz"))
    named = [path for path in files if {path.stem, path.name} & texts]
    return {f"{DATA}/{path.name}": file_digest(path, path.stat().st_mtime_ns) for path in named}


@cache
def file_digest(path: Path, changed: int) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()[:8]


def sources_of(module: str) -> Sources:
    """What a script's rows rest on."""
    modules = imported(module)
    return {**library(), **by_folder(map(source, modules)), **data_sets(modules)}


def differing(before: Mapping[str, str], now: Mapping[str, str]) -> list[str]:
    """The folders and data sets that have changed; data that are not at hand now are not compared.

    Their rows are kept from the last run that had them, and are marked so.
    """
    absent = {name for name in before if name.startswith(DATA) and name not in now}
    names = sorted({*before, *now} - absent)
    return [name for name in names if before.get(name) != now.get(name)]


def named(changed: Iterable[str]) -> str:
    """The folders in words; of the library, where many of its folders have changed, how many."""
    changed = list(changed)
    rooms = [name for name in changed if name.split("/")[0] == "dcprog"]
    others = [name for name in changed if name not in rooms]
    return ", ".join([f"{len(rooms)} folders of dcprog", *others] if len(rooms) > 3 else changed)
