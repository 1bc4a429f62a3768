"""Build, check, install, try; a line an environment."""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from tests import dist
from tests.dist.pythons import pythons
from tests.dist.requirements import lowest

ROOT = Path(__file__).resolve().parents[2]
SMOKE = Path(__file__).with_name("smoke.py")
OLDEST = (3, 11)
TAIL = 25  # lines of a failure that are shown


@dataclass(frozen=True)
class Trial:
    """One environment: whose Python, what is installed, and the lines that hold pip to versions."""

    python: Path
    version: tuple[int, int]
    name: str
    file: Path
    constraints: tuple[str, ...] = ()

    def __str__(self) -> str:
        return f"Python {self.version[0]}.{self.version[1]}, {self.name} of {self.file.name}"


class Failed(Exception):
    """A command that did not succeed."""


def run(*command: str | Path, cwd: Path = ROOT) -> str:
    """Its output; raises with the end of it."""
    clean = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    done = subprocess.run(
        command,
        cwd=cwd,
        env=clean | {"PIP_DISABLE_PIP_VERSION_CHECK": "1", "OMP_NUM_THREADS": "1"},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    if done.returncode:
        raise Failed("\n".join(done.stdout.splitlines()[-TAIL:]))
    return done.stdout


def build(folder: Path, *options: str) -> tuple[Path, Path]:
    """Wheel and sdist, the wheel from the sdist, and what twine says of them."""
    shutil.rmtree(folder, ignore_errors=True)
    run(sys.executable, "-m", "build", *options, "--outdir", folder)
    (wheel,), (sdist,) = folder.glob("*.whl"), folder.glob("*.tar.gz")
    run(sys.executable, "-m", "twine", "check", "--strict", wheel, sdist)
    return wheel, sdist


def trials(wheel: Path, sdist: Path) -> list[Trial]:
    """Every Python with the lowest and the newest dependencies; the sdist with the first."""
    found = pythons(OLDEST)
    least = tuple(lowest(wheel))
    listed = [
        Trial(python, version, name, wheel, lines)
        for version, python in found.items()
        for name, lines in (("lowest dependencies", least), ("newest dependencies", ()))
    ]
    version, python = next(iter(found.items()))
    return [*listed, Trial(python, version, "newest dependencies", sdist)]


def attempt(trial: Trial) -> str:
    """Install into an environment of its own and try; what was installed."""
    with tempfile.TemporaryDirectory() as place:
        run(trial.python, "-m", "venv", Path(place, "venv"))
        python = Path(place, "venv", "Scripts" if os.name == "nt" else "bin", "python")
        held = Path(place, "constraints.txt")
        held.write_text("\n".join(trial.constraints), encoding="utf-8")
        # No compiler: where a dependency has no wheel, a user would be left with an error, too.
        prebuilt = () if trial.file.suffix == ".gz" else ("--only-binary", ":all:")
        run(python, "-m", "pip", "install", "-q", *prebuilt, "-c", held, trial.file)
        return run(python, SMOKE, cwd=Path(place))


def main(arguments: Sequence[str] | None = None) -> int:
    """How many environments failed."""
    parser = argparse.ArgumentParser(description=(dist.__doc__ or "").splitlines()[0])
    parser.add_argument("--output", type=Path, default=ROOT / "dist", help="for wheel and sdist")
    parser.add_argument("--versions", action="store_true", help="print what was installed")
    options = parser.parse_args(arguments)
    wheel, sdist = build(options.output)
    print(f"built and checked: {wheel.name}, {sdist.name}", flush=True)
    failed = 0
    for trial in trials(wheel, sdist):
        begun = time.perf_counter()
        try:
            said, word = attempt(trial), "works"
        except Failed as failure:
            said, word, failed = str(failure), "FAILS", failed + 1
        print(f"{word}: {trial} ({time.perf_counter() - begun:.0f} s)", flush=True)
        if options.versions or word == "FAILS":
            print(said, flush=True)
    return failed


if __name__ == "__main__":
    sys.exit(main())
