"""What stands beside the code of a release: one version everywhere, and claims that are so."""

from __future__ import annotations

import ast
import sys
import tomllib
import zipfile
from pathlib import Path

import pytest

import dcprog as dc
from dcprog import models
from tests.dist.pythons import candidates, pythons, version_of
from tests.dist.requirements import lowest

ROOT = Path(__file__).resolve().parents[2]


def text(name: str) -> str:
    return (ROOT / name).read_text(encoding="utf-8")


def test_one_version() -> None:
    version = tomllib.loads(text("pyproject.toml"))["project"]["version"]
    assert f"version: {version}\n" in text("CITATION.cff")
    assert f"\n## {version}" in text("CHANGELOG.md")
    assert dc.__version__ == version


def test_changelog_names_every_published_model() -> None:
    published = [
        name for name in models.__all__ if name.endswith(("SVC", "Squares", "MMRegressor"))
    ]
    assert len(published) > 5
    assert not [name for name in published if f"`{name}`" not in text("CHANGELOG.md")]


def calls_and_imports(source: str) -> set[str]:
    """The top modules imported, and the names called."""
    found: set[str] = set()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            found |= {alias.name.partition(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            found.add((node.module or "").partition(".")[0])
        elif isinstance(node, ast.Call):
            found.add(ast.unparse(node.func))
    return found


def test_no_connection_no_program_no_file() -> None:
    """As SECURITY.md says."""
    forbidden = {"socket", "urllib", "http", "ftplib", "ssl", "requests", "subprocess", "pickle"}
    forbidden |= {"open", "eval", "exec", "os.system", "os.popen"}
    assert calls_and_imports("import urllib.request\nopen('x')") == {"urllib", "open"}
    for folder in ("dcprog", "models"):
        for path in (ROOT / folder).rglob("*.py"):
            used = calls_and_imports(path.read_text(encoding="utf-8")) & forbidden
            assert not used, (path, used)


def test_this_python_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    here, interpreters = (sys.version_info.major, sys.version_info.minor), candidates()
    assert interpreters[0] == Path(sys.executable)
    monkeypatch.setattr("tests.dist.pythons.candidates", lambda: interpreters[:1])
    assert here in pythons((3, 11))
    assert version_of(ROOT / "Makefile") is None
    assert not pythons((here[0] + 1, 0))


def test_lowest_is_the_lower_end_of_each_range(tmp_path: Path) -> None:
    wheel = tmp_path / "thing-1-py3-none-any.whl"
    told = 'Name: thing\nRequires-Dist: a<3,>=1.5\nRequires-Dist: b>=2; python_version < "3.13"\n'
    told += 'Requires-Dist: c>=9; extra == "plots"\n'
    with zipfile.ZipFile(wheel, "w") as archive:
        archive.writestr("thing-1.dist-info/METADATA", told)
    assert lowest(wheel) == ["a==1.5", 'b==2 ; python_version < "3.13"']


@pytest.mark.parametrize("rule", ["demo", "test", "dist", "docs", "fuzz", "lint", "reproduce"])
def test_makefile_has_what_texts_name(rule: str) -> None:
    assert f"\n{rule}: " in text("Makefile")
