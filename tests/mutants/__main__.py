"""Does a test fail for each mutant? ``python -m tests.mutants [WORD ...]`` or ``make mutants``.

Each mutant is put into a temporary copy of the tree, and the tests that must catch it run there.
With words, only mutants whose names hold one of them. Ends with 1 if a mutant survives, or if its
text is not in the sources exactly once.
"""

from __future__ import annotations

import contextlib
import importlib
import io
import multiprocessing
import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from tests.mutants.mutants import MUTANTS, Mutant

ROOT = Path(__file__).resolve().parents[2]
SLOWEST = 900  # seconds; a mutant whose tests do not end by then is caught
FAILED = 1  # pytest's exit status if a test has failed
# Imported once, before the processes that run tests are forked; nothing of this tree.
SHARED = ("cvxpy", "hypothesis", "numba", "pytest", "scipy.stats", "sklearn.utils.estimator_checks")


def tree(folder: Path) -> Path:
    """A copy of what git knows of the tree, with uncommitted changes."""
    listed = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )
    for name in filter(None, listed.stdout.split("\0")):
        source = ROOT / name
        if source.exists() or source.is_symlink():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(source, folder / name, follow_symlinks=False)
    return folder


def place(mutant: Mutant, folder: Path) -> Path:
    """The one file that holds the mutant's text."""
    link = folder / "dcprog" / "models"  # to models/
    files = [*(folder / "dcprog").rglob("*.py"), *(folder / "models").rglob("*.py")]
    counts = {p: p.read_text().count(mutant.text) for p in files if link not in p.parents}
    found = [path for path, count in counts.items() for _ in range(count)]
    if len(found) != 1:
        raise LookupError(f"text found {len(found)} times: {mutant.text!r}")
    return found[0]


def run_tests(folder: Path, tests: tuple[str, ...]) -> None:
    """End this process with pytest's exit status for tests of the tree in a folder."""
    import pytest

    os.chdir(folder)
    sys.dont_write_bytecode = True
    sys.path[:] = [str(folder), *(entry for entry in sys.path if entry not in ("", str(ROOT)))]
    for name in [n for n in sys.modules if n.split(".")[0] in ("tests", "__mp_main__")]:
        del sys.modules[name]
    options = ["-x", "-q", "--no-header", "--tb=no", "-W", "ignore", "-p", "no:cacheprovider"]
    with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
        status = pytest.main([*options, *tests])
        imported = Path(sys.modules["dcprog"].__file__ or "")
    os._exit(int(status) if folder in imported.parents else os.EX_SOFTWARE)


def outcome(mutant: Mutant, folder: Path) -> int | None:
    """The exit status of the mutant's tests; None if they do not end."""
    path = place(mutant, folder)
    right = path.read_text()
    path.write_text(right.replace(mutant.text, mutant.replacement))
    process = multiprocessing.get_context("fork").Process(
        target=run_tests, args=(folder, mutant.tests)
    )
    try:
        process.start()
        process.join(SLOWEST)
        if process.is_alive():
            process.kill()
            return None
        return process.exitcode
    finally:
        path.write_text(right)


def main(words: list[str]) -> int:
    """Print a line for each mutant; 1 if no test has caught one of them."""
    for name in SHARED:
        importlib.import_module(name)
    chosen = [m for m in MUTANTS if not words or any(word in m.name for word in words)]
    missed = 0
    with tempfile.TemporaryDirectory() as name:
        folder = tree(Path(name).resolve())
        for mutant in chosen:
            begun = time.perf_counter()
            try:
                status = outcome(mutant, folder)
            except LookupError as error:
                said = f"ERROR {error}"
            else:
                said = "caught" if status in (FAILED, None) else f"SURVIVED (pytest: {status})"
            missed += said != "caught"
            print(f"{mutant.name:<62}{time.perf_counter() - begun:>6.0f} s  {said}", flush=True)
    print(f"{len(chosen) - missed} of {len(chosen)} mutants caught")
    return int(missed > 0)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
