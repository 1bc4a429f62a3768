"""The counts of ideas: how large the library is, and how much of it one call enters.

    python -m benchmarks.counts            the table
    python -m benchmarks.counts --files    and the files behind two of its rows

Read from the sources of ``dcprog/`` (the models apart), but for the files that a call enters:
these are counted while the call runs, in a process that has made the same call before.
"""

from __future__ import annotations

import argparse
import ast
import io
import sys
import tokenize
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from types import CodeType

import cvxpy as cp
import numpy as np

import dcprog as dc
from dcprog.engine.protocol import Surrogate
from dcprog.estimators.classifier import RobustClassifier
from dcprog.solvers.registry import SOLVERS

__all__ = ["counts"]

HOME = Path(dc.__file__).parent
PLAIN = (0, 1, 2, 0.5)  # numbers that need no reason
SKIPPED = (
    tokenize.COMMENT,
    tokenize.NL,
    tokenize.NEWLINE,
    tokenize.INDENT,
    tokenize.DEDENT,
    tokenize.ENDMARKER,
)
Documented = ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef


def sources() -> dict[str, str]:
    """Text of every file of the library, by its path from ``dcprog/``."""
    paths = sorted(p for p in HOME.rglob("*.py") if "models" not in p.relative_to(HOME).parts)
    return {p.relative_to(HOME).as_posix(): p.read_text(encoding="utf-8") for p in paths}


def docstrings(tree: ast.Module) -> Iterator[ast.Constant]:
    """The docstrings of a file, as nodes."""
    for node in ast.walk(tree):
        if isinstance(node, Documented) and node.body and isinstance(node.body[0], ast.Expr):
            found = node.body[0].value
            if isinstance(found, ast.Constant) and isinstance(found.value, str):
                yield found


def lines_of_code(text: str) -> int:
    """Lines with code on them: no blank line, comment or docstring."""
    documented: set[int] = set()
    for node in docstrings(ast.parse(text)):
        documented.update(range(node.lineno, (node.end_lineno or node.lineno) + 1))
    coded: set[int] = set()
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type not in SKIPPED:
            coded.update(range(token.start[0], token.end[0] + 1))
    return len(coded - documented)


def unexplained_numbers(text: str) -> int:
    """Numbers written in the code other than 0, 1, 2 and .5."""
    numbers = (n.value for n in ast.walk(ast.parse(text)) if isinstance(n, ast.Constant))
    return sum(type(n) in (int, float) and n not in PLAIN for n in numbers)


def is_vague(docstring: str) -> bool:
    """Whether a docstring begins without its subject, or its first line asks a question."""
    first = docstring.strip().splitlines()[0] if docstring.strip() else ""
    return first.startswith(("What ", "What's", "Those ", "The same", "None ")) or (
        first.endswith("?")
    )


def imports(text: str, files: set[str]) -> set[str]:
    """The library's files that one file imports, late imports and those for types counted."""
    found: set[str] = set()
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.ImportFrom) and node.module and node.module.startswith("dcprog"):
            base = "/".join(node.module.split(".")[1:])
            names = [f"{base}.py", f"{base}/__init__.py"]
            names += [f"{base}/{alias.name}.py".lstrip("/") for alias in node.names]
            found.update(name for name in names if name in files)
    return found


def importers(texts: dict[str, str]) -> Counter[str]:
    """By how many files of the library, packages' ``__init__`` apart, each file is imported."""
    found: Counter[str] = Counter()
    for name, text in texts.items():
        if not name.endswith("__init__.py"):
            found.update(imports(text, set(texts)) - {name})
    return found


def entered(call: Callable[[], object]) -> set[str]:
    """The library's files in which some function ran during a call."""
    found: set[str] = set()

    def note(frame: object, event: str, arg: object) -> None:
        code: CodeType = frame.f_code  # type: ignore[attr-defined]
        if event == "call" and code.co_filename.startswith(str(HOME)):
            found.add(Path(code.co_filename).relative_to(HOME).as_posix())

    call()
    sys.setprofile(note)
    try:
        call()
    finally:
        sys.setprofile(None)
    return found


def fit() -> object:
    """A default fit of 200 samples."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 5))
    y = np.sign(X[:, 0] + 0.5 * rng.normal(size=200))
    return RobustClassifier().fit(X, y)


def solve() -> object:
    """A default solve of a small cvxpy problem: five capped distances."""
    x = cp.Variable(2)
    centres = np.array([[0.0, 0], [1, 0], [0, 1], [5, 5], [6, 5]])
    distances = [cp.minimum(cp.sum_squares(x - c), 1) for c in centres]
    return dc.solve(cp.Problem(cp.Minimize(sum(distances)), [x >= -10, x <= 10]))


def counts() -> dict[str, int]:
    """Every count of the table, by its name."""
    texts = sources()
    found = importers(texts)
    documented = [d.value for t in texts.values() for d in docstrings(ast.parse(t))]
    return {
        "lines of code": sum(map(lines_of_code, texts.values())),
        "files": len(texts),
        "files with one importer": sum(n == 1 for n in found.values()),
        "names of solvers": len(SOLVERS),
        "members of a surrogate": sum(not name.startswith("_") for name in vars(Surrogate)),
        "numbers other than 0, 1, 2, .5": sum(map(unexplained_numbers, texts.values())),
        "docstrings without a subject": sum(is_vague(str(d)) for d in documented),
        "files entered by RobustClassifier().fit": len(entered(fit)),
        "files entered by a small dc.solve": len(entered(solve)),
    }


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description="Counts of ideas, read from the sources.")
    parser.add_argument("--files", action="store_true", help="list the files behind two counts")
    options = parser.parse_args()
    for name, count in counts().items():
        print(f"{name:<42} {count:>7,}")
    if options.files:
        found = importers(sources())
        print("\none importer:", *sorted(n for n, k in found.items() if k == 1), sep="\n  ")
        print("\nentered by the fit:", *sorted(entered(fit)), sep="\n  ")


if __name__ == "__main__":
    main()
