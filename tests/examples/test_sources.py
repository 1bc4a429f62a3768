"""Digests of sources: what changes them, and what the page says of a record."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from examples import claims_page as pages
from examples.common import sources

RECORD = json.loads(pages.RECORD.read_text(encoding="utf-8"))
SCRIPT = "examples.smooth_svm.verify_pade"


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("x = 1\n", '"""What x is."""\nx = 1  # one\n'),
        ("def f(x):\n    return x\n", 'def f(x):\n    """Return x."""\n\n    return (x)\n'),
        ("class A:\n    x = 1\n", 'class A:\n    """Holds x."""\n\n    x = 1\n'),
    ],
)
def test_words_about_the_code_change_no_digest(before: str, after: str) -> None:
    assert sources.code(before) == sources.code(after)


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("x = 1\n", "x = 2\n"),
        ("x = None\n", "x: int\n"),
        ("def f():\n    return None\n", "def f():\n    return\n"),
        ("x = 'a'\n", "x = 'b'\n"),
        ("f(a, b)\n", "f(b, a)\n"),
        ("x = 1\n", "x = 1.0\n"),
        ("a < b\n", "a <= b\n"),
    ],
)
def test_code_changes_a_digest(before: str, after: str) -> None:
    assert sources.code(before) != sources.code(after)


def test_a_script_rests_on_the_library_its_folder_and_its_data(tmp_path: Path) -> None:
    found = sources.sources_of(SCRIPT)
    assert {"dcprog/solvers", "dcprog/losses", "models", "examples/smooth_svm"} <= set(found)
    assert not {"dcprog/models", "examples/angle_svm", "tests"} & set(found)


def test_data_sets_are_those_that_the_modules_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    data = tmp_path / "shared" / "data"
    data.mkdir(parents=True)
    (data / "wine.npz").write_bytes(b"1")
    (data / "water.npz").write_bytes(b"1")
    module = tmp_path / "project" / "examples" / "toy.py"
    module.parent.mkdir(parents=True)
    module.write_text("SETS = {'wine': 3}\n", "utf-8")
    monkeypatch.setattr(sources, "ROOT", tmp_path / "project")
    found = sources.sources_of("examples.toy")
    assert set(found) == {"examples", "shared/data/wine.npz"}
    (data / "wine.npz").write_bytes(b"22")
    assert sources.differing(found, sources.sources_of("examples.toy")) == ["shared/data/wine.npz"]
    (data / "wine.npz").unlink()  # then its rows are kept from the last run, and marked
    assert sources.differing(found, sources.sources_of("examples.toy")) == []
    assert sources.differing({}, {"models": "a"}) == ["models"]
    assert sources.differing({"models": "a"}, {}) == ["models"]


def test_the_page_says_of_each_paper_what_is_so() -> None:
    """Current only where every digest is that of the sources at hand; never in the file itself."""
    written = pages.pages(RECORD)
    built_of = {
        folder: pages.with_standing(written[f"claims/{folder}.md"], RECORD, folder)
        for folder in pages.papers()
    }
    now = {script: sources.sources_of(script) for script in RECORD}
    old = sum(
        sources.differing(run["sources"], now[script]) != [] for script, run in RECORD.items()
    )
    said = f"The rows of {old} of {len(RECORD)} scripts are of older sources"
    assert said in pages.standings(written["claims.md"], RECORD)
    assert said not in written["claims.md"]
    for script, run in RECORD.items():
        folder = script.split(".")[1]
        page, built = written[f"claims/{folder}.md"], built_of[folder]
        assert f"* `{script[9:]}`: " not in page
        says = built.split(f"* `{script[9:]}`: ")[1].splitlines()[0]
        rests = bool(run["sources"]) and not sources.differing(run["sources"], now[script])
        assert says.startswith("current" if rests else "older sources"), script


def test_a_record_of_these_sources_is_current_and_of_others_is_not() -> None:
    now = sources.sources_of(SCRIPT)
    run = {**RECORD[SCRIPT], "sources": now, "date": "2026-01-02", "rows": [{}, {"kept": True}]}
    assert pages.standing(SCRIPT, {**run, "rows": []}) == "current"
    assert pages.standing(SCRIPT, run) == "current, but for 1 rows kept from an earlier run"
    other = {**run, "sources": {**now, "models": "0"}}
    assert pages.standing(SCRIPT, other) == "older sources: changed since 2026-01-02: models"
    assert "unknown" in pages.standing(SCRIPT, {**run, "sources": {}})
    assert pages.label(run) != pages.label(other)


def test_many_changed_folders_of_the_library_are_counted() -> None:
    few = ["dcprog/risk", "dcprog/starts", "models"]
    assert sources.named(few) == "dcprog/risk, dcprog/starts, models"
    many = [f"dcprog/{room}" for room in "abcd"]
    assert sources.named([*many, "models"]) == "4 folders of dcprog, models"
