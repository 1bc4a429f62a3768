"""Files, folders and modules that the repository's texts name are there; nobody bends sys.path."""

from __future__ import annotations

import ast
import re
import sys
from importlib import import_module
from pathlib import Path
from runpy import run_module

import pytest

ROOT = Path(__file__).resolve().parents[2]
USERS = [file for top in ("tests", "examples", "benchmarks") for file in (ROOT / top).rglob("*.py")]
LIBRARY = [file for top in ("dcprog", "models") for file in (ROOT / top).rglob("*.py")]
PROSE = [file for kind in ("Makefile", "*.md", "*/*.md") for file in ROOT.glob(kind)]
TEXTS = {file: file.read_text(encoding="utf-8") for file in [*USERS, *LIBRARY, *PROSE]}

# A path from the root, with or without wildcards, and a module given to ``python -m``.
PATH = re.compile(r"(?<![\w./])(?:benchmarks|dcprog|examples|models|tests)/[\w*/-]*(?:\.\w+)?")
MODULE = re.compile(r"-m ((?:benchmarks|examples|tests)(?:\.\w+)*)")
SCRIPTS = sorted(file for file in ROOT.glob("examples/*/*.py") if "__main__" in TEXTS[file])


def relative(file: Path) -> str:
    return file.relative_to(ROOT).as_posix()


def module_name(file: Path) -> str:
    return relative(file.with_suffix("")).replace("/", ".")


def missing_paths(text: str) -> list[str]:
    return [path for path in PATH.findall(text) if not any(ROOT.glob(path))]


def missing_modules(text: str) -> list[str]:
    files = {name: ROOT / name.replace(".", "/") for name in MODULE.findall(text)}
    return [
        name
        for name, file in files.items()
        if not file.with_suffix(".py").exists() and not (file / "__main__.py").exists()
    ]


def path_tricks(source: str) -> list[str]:
    """Uses of ``sys.path`` and of modules loaded by the name of their file."""
    if not re.search(r"\bsys\b|spec_from_file_location", source):  # parsing takes a second
        return []
    attributes = [node for node in ast.walk(ast.parse(source)) if isinstance(node, ast.Attribute)]
    return [
        f"line {node.lineno}: {ast.unparse(node)}"
        for node in attributes
        if node.attr == "spec_from_file_location"
        or (node.attr == "path" and ast.unparse(node) == "sys.path")
    ]


def test_named_paths_exist() -> None:
    missing = {relative(file): missing_paths(text) for file, text in TEXTS.items()}
    assert {name: paths for name, paths in missing.items() if paths} == {}


def test_named_modules_exist() -> None:
    missing = {relative(file): missing_modules(text) for file, text in TEXTS.items()}
    assert {name: modules for name, modules in missing.items() if modules} == {}


def test_nobody_bends_the_search_path() -> None:
    found = {relative(file): path_tricks(TEXTS[file]) for file in USERS}
    assert {name: lines for name, lines in found.items() if lines} == {}


def test_what_is_missing_would_be_seen() -> None:
    top = "examples"  # written out, the paths would be missing from this very file
    assert missing_paths(f"see `{top}/demo.py`, {top}/*/reproduce.py") == [f"{top}/demo.py"]
    assert missing_paths(f"in {top}/bad_svm/ and {top}/guides") == [f"{top}/bad_svm/"]
    assert missing_modules(f"python -m {top}.demo --help") == [f"{top}.demo"]
    assert missing_modules("python -m tests.fuzz --case problems:123") == []
    assert path_tricks("import sys\nsys.path.insert(0, 'examples')") == ["line 2: sys.path"]


def test_folders_of_tests_are_rooms() -> None:
    """A folder a room of the library or beside it; only what all share stands outside one."""
    rooms = {file.parent.name for file in (ROOT / "dcprog").glob("*/__init__.py")} | {"models"}
    folders = {file.parent.name for file in (ROOT / "tests").glob("*/__init__.py")}
    assert folders - rooms == {"benchmarks", "dist", "examples", "fuzz", "house", "mutants"}
    found = sorted(file.name for file in (ROOT / "tests").glob("*.py"))
    assert found == ["__init__.py", "conftest.py"]


def test_every_folder_of_tests_and_examples_is_a_package() -> None:
    folders = {file.parent for file in USERS if not file.is_relative_to(ROOT / "benchmarks")}
    assert [relative(one) for one in folders if not (one / "__init__.py").exists()] == []


@pytest.mark.parametrize("script", SCRIPTS, ids=module_name)
def test_scripts_answer_help(script: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as end:
        import_module(module_name(script)).main(["--help"])
    assert end.value.code == 0
    assert "--output" in capsys.readouterr().out
    assert f"python -m {module_name(script)}" in TEXTS[script]


@pytest.mark.filterwarnings("ignore:.*found in sys.modules:RuntimeWarning")
def test_a_script_runs_as_a_module_from_the_root(monkeypatch: pytest.MonkeyPatch) -> None:
    """In this process, which has imported what a new one would have to."""
    monkeypatch.chdir(ROOT)
    monkeypatch.setattr(sys, "argv", ["dc_problems", "--help"])
    with pytest.raises(SystemExit) as end:
        run_module("examples.guides.dc_problems", run_name="__main__")
    assert end.value.code == 0
