"""What the manual shows runs as it stands, its reference is complete, its links lead somewhere."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from cvxpy import installed_solvers

import dcprog as dc
import dcprog.models
from dcprog.engine.acceleration import ACCELERATIONS
from dcprog.estimators.penalty_path import DIRECTIONS
from dcprog.estimators.regressor import SCALES
from dcprog.losses.compositions import MARGIN_LOSSES, RESIDUAL_LOSSES
from dcprog.penalties.names import PENALTIES
from dcprog.risk.risk import AGGREGATES
from dcprog.starts.effort import NAMES as EFFORTS

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"
# Pages that other tests run, or whose blocks need files of data.
ELSEWHERE = {"contributing", "architecture", "ten_minutes", "large_data", "claims"}
PAGES = {page.stem: page.read_text(encoding="utf-8") for page in sorted(DOCS.glob("*.md"))}
BLOCK = re.compile(r"```python\n(.*?)```", re.DOTALL)
WITH_CODE = [name for name, text in PAGES.items() if BLOCK.search(text) and name not in ELSEWHERE]
PUBLIC = [getattr(dc, name) for name in dc.__all__ if name != "__version__"]
PUBLIC += [getattr(dcprog.models, name) for name in dcprog.models.__all__]
MADE_BY_SPHINX = ("gallery/", "generated/")  # a build fails where they are not


@pytest.mark.parametrize("name", WITH_CODE)
def test_blocks_run_in_their_order(name: str) -> None:
    here: dict[str, Any] = {"__name__": name}
    for block in BLOCK.findall(PAGES[name]):
        exec(compile(block, f"{name}.md", "exec"), here)


def test_main_pages_have_code() -> None:
    shown = {"tour", "howto_cvxpy", "howto_sklearn", "howto_statistics", "howto_research", "faq"}
    assert shown <= set(WITH_CODE)


def test_every_public_name_has_a_page() -> None:
    listed = set(re.findall(r"^   (?:dcprog\.)?((?:models\.)?\w+)$", PAGES["api"], re.MULTILINE))
    public = {name for name in dc.__all__ if name != "__version__"}
    models = {f"models.{name}" for name in dcprog.models.__all__}
    assert listed == public | models


def test_every_public_name_has_an_example() -> None:
    assert [one.__name__ for one in PUBLIC if ">>>" not in (one.__doc__ or "")] == []


def test_every_field_of_a_public_class_is_told() -> None:
    untold = [
        f"{one.__name__}.{field}"
        for one in PUBLIC
        if isinstance(one, type)
        for field in getattr(one, "__dataclass_fields__", getattr(one, "_fields", ()))
        if not field.startswith("_") and not re.search(rf"\b{field}\b", one.__doc__ or "")
    ]
    assert untold == []


@pytest.mark.parametrize("name", PAGES)
def test_links_lead_somewhere(name: str) -> None:
    links = re.findall(r"\]\(((?!https?:)[^)#\s]+)(?:#[\w-]+)?\)", PAGES[name])
    missing = [
        link for link in links if not link.startswith(MADE_BY_SPHINX) and not (DOCS / link).exists()
    ]
    assert missing == []


def test_links_into_the_gallery() -> None:
    named = {
        stem for text in PAGES.values() for stem in re.findall(r"gallery/(plot_\w+)\.rst", text)
    }
    assert {stem for stem in named if not (ROOT / f"examples/gallery/{stem}.py").exists()} == set()


def test_every_piece_has_its_place_in_the_gallery() -> None:
    (order,) = re.findall(r"NAMES = \((.*?)\)\.split", (DOCS / "conf.py").read_text(), re.DOTALL)
    pieces = {file.stem.removeprefix("plot_") for file in ROOT.glob("examples/gallery/plot_*.py")}
    assert set(re.findall(r"\w+", order)) == pieces


def test_every_page_is_in_a_table_of_contents() -> None:
    entries = set(re.findall(r"^(?:\w+ <)?([\w/]+)>?$", PAGES["index"], re.MULTILINE))
    led_to = {name for name, text in PAGES.items() if text.startswith("---\norphan: true")}
    assert set(PAGES) - {"index"} - led_to <= entries


def test_the_page_of_names_has_all() -> None:
    told = dict(re.findall(r"^\| `(\w+)` \| `(\w+\(.*?)` \|", PAGES["names"], re.MULTILINE))
    known = {**MARGIN_LOSSES, **RESIDUAL_LOSSES, **PENALTIES}
    assert set(told) == set(known)
    assert {name: repr(eval(text, vars(dc))) for name, text in told.items()} == {
        name: repr(one) for name, one in known.items()
    }
    options = set(re.findall(r"`(\w+)`", PAGES["names"]))
    assert {*SCALES, *EFFORTS, *ACCELERATIONS, *DIRECTIONS, *AGGREGATES} <= options
    for model in PUBLIC:
        for name, accepted in getattr(model, "_parameter_constraints", {}).items():
            taken = {one for some in accepted for one in getattr(some, "options", ())}
            taken = {one for one in taken if isinstance(one, str)} - {*installed_solvers()}
            assert taken <= options, (model, name)
