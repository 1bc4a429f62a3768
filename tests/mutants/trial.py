"""The trial of mutants, in a copy of the tree that ``python -m tests.mutants`` has made."""

from __future__ import annotations

import contextlib
import importlib
import io
import json
import multiprocessing
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from tests.mutants.mutants import MUTANTS, Mutant

COPY = Path(__file__).resolve().parents[2]
SLOWEST = 1800  # seconds for the tests of a mutant
# By pytest's exit status; None if it has not ended.
OUTCOMES = {0: "SURVIVED", 1: "caught", None: "NO END"}
# Imported once, before the processes that run tests are forked; nothing of this tree.
SHARED = ("cvxpy", "hypothesis", "numba", "pytest", "scipy.stats", "sklearn.utils.estimator_checks")


def place(mutant: Mutant, folder: Path = COPY) -> Path:
    """The one file that holds the mutant's text."""
    link = folder / "dcprog" / "models"  # to models/
    files = [
        path for name in ("dcprog", "models", "examples") for path in (folder / name).rglob("*.py")
    ]
    counts = {p: p.read_text().count(mutant.text) for p in files if link not in p.parents}
    found = [path for path, count in counts.items() for _ in range(count)]
    if len(found) != 1:
        raise LookupError(f"text found {len(found)} times: {mutant.text!r}")
    return found[0]


def run_tests(tests: tuple[str, ...]) -> None:
    """End this process with pytest's exit status."""
    import pytest

    sys.dont_write_bytecode = True
    options = ["-x", "-q", "--no-header", "--tb=no", "-W", "ignore", "-p", "no:cacheprovider"]
    with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
        status = pytest.main([*options, *tests])
    imported = Path(sys.modules["dcprog"].__file__ or "")
    os._exit(int(status) if COPY in imported.parents else os.EX_SOFTWARE)


def outcome(mutant: Mutant) -> str:
    """Whether a test, and a claim of the mutant's script, has noticed the mutant."""
    path = place(mutant)
    right = path.read_text()
    path.write_text(right.replace(mutant.text, mutant.replacement))
    try:
        status = tested(mutant.tests)
        said = OUTCOMES.get(status, f"ERROR (pytest: {status})")
        return said if said != "caught" or not mutant.script else claimed(mutant.script)
    finally:
        path.write_text(right)


def tested(tests: tuple[str, ...]) -> int | None:
    """The exit status of tests; None if they do not end."""
    process = multiprocessing.get_context("fork").Process(target=run_tests, args=(tests,))
    process.start()
    process.join(SLOWEST)
    if process.is_alive():
        process.kill()
        return None
    return process.exitcode


def claimed(script: str) -> str:
    """Whether a claim of a script of the examples comes out otherwise than expected."""
    with tempfile.TemporaryDirectory() as folder:
        rows = Path(folder, "rows")
        given = os.environ | {"CLAIMS_FILE": str(rows), "PYTHONPATH": str(COPY)}
        call = [sys.executable, "-B", "-m", script]
        subprocess.run(call, cwd=COPY, env=given, capture_output=True, check=False, timeout=SLOWEST)
        if not rows.is_file():
            return "NO CLAIMS: the script broke off"
        found = json.loads(rows.read_text(encoding="utf-8"))
    return "SURVIVED the claims" if all(row["as_expected"] for row in found) else "caught"


def main(words: list[str]) -> int:
    """Print a line for each mutant; 1 if no test has caught one of them."""
    if (COPY / ".git").exists():
        raise RuntimeError("this changes sources: run python -m tests.mutants, which copies them")
    for name in SHARED:
        importlib.import_module(name)
    chosen = [m for m in MUTANTS if not words or any(word in m.name for word in words)]
    missed = 0
    for mutant in chosen:
        begun = time.perf_counter()
        try:
            said = outcome(mutant)
        except LookupError as error:
            said = f"ERROR {error}"
        missed += said != "caught"
        print(f"{mutant.name:<62}{time.perf_counter() - begun:>6.0f} s  {said}", flush=True)
    print(f"{len(chosen) - missed} of {len(chosen)} mutants caught")
    return int(missed > 0)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
