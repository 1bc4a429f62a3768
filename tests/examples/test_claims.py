"""The frame of all claims: verdicts, the page, and the runner's cache and budget."""

from __future__ import annotations

import ast
import json
import re
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from examples import claims_page as pages
from examples import reproduce as runner
from examples.angle_svm.reproduce_srbct import PUBLISHED
from examples.angle_svm.tables import METHODS, PENALTIES, published
from examples.common import claims, sources
from examples.common.claims import Claim, left_out, print_claims, under
from examples.common.sources import imported, source

RECORD = json.loads(pages.RECORD.read_text(encoding="utf-8"))
PAGES = ["claims.md", *(f"claims/{folder}.md" for folder in pages.papers())]


@pytest.fixture(scope="module")
def written() -> dict[str, str]:
    """The pages of the record, which take a second to write."""
    return pages.pages(RECORD)


@pytest.mark.parametrize(
    ("holds", "corrected", "verdict"),
    [
        (True, False, "holds as printed"),
        (True, True, "holds as corrected"),
        (False, False, "refuted"),
        (False, True, "refuted"),
        (None, False, "open"),
    ],
)
def test_a_verdict_follows_from_the_measurement(
    holds: bool | None, corrected: bool, verdict: str
) -> None:
    for expected in (True, False, None):
        claim = Claim("", "", holds, expected, corrected=corrected)
        assert claim.verdict == verdict
        assert claim.as_expected == (holds == expected)


def test_claims_are_printed_counted_and_handed_over(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv(claims.ROWS, str(tmp_path / "rows"))
    found = [
        Claim("a", "1", True),
        Claim("b", "2", True, False, item="table 9"),
        left_out("c", "no data", "table 1"),
        Claim("d", "3", False, False),
        Claim("e", "4", np.less_equal(1, 2), True),  # a Boolean of NumPy
    ]
    assert print_claims(under("table 2", found), "seed 0") == 1
    assert "3 of 4 claims as expected; 1 left out, not run" in capsys.readouterr().out
    rows = json.loads((tmp_path / "rows").read_text(encoding="utf-8"))
    assert [row["item"] for row in rows] == ["table 2", "table 9", "table 1", "table 2", "table 2"]
    assert [row["as_expected"] for row in rows] == [True, False, True, True, True]
    assert rows[0]["evidence"] == "seed 0"


@pytest.mark.parametrize(
    ("mean", "error", "equal", "more"),
    [
        (0.3, 0.1, True, True),
        (-0.3, 0.1, True, False),
        (0.2, 0.6, True, None),
        (1.2, 0.6, None, None),
        (-4.0, 0.6, False, False),
        (0.0, 9.0, None, None),
        (4.0, 0.0, False, True),
    ],
)
def test_an_interval_decides_or_leaves_open(
    mean: float, error: float, equal: bool | None, more: bool | None
) -> None:
    apart = claims.Difference(mean, error)
    assert claims.same("", [apart], 1.5).holds is equal
    assert claims.greater("", [apart]).holds is more


@pytest.mark.parametrize("mean", [-7.0, -0.2, 0.0, 0.3, 1.2, 4.0])
@pytest.mark.parametrize("error", [0.1, 0.7, 3.0])
def test_the_shift_that_turns_a_verdict_is_the_least_one(mean: float, error: float) -> None:
    apart = claims.Difference(mean, error)
    for claim in (claims.same, claims.greater):
        found = claim("", [apart], 1.5)
        least = float(found.turns.split("by ")[1].replace("−", "-"))
        shifts = np.linspace(-abs(least) + 0.006, abs(least) - 0.006, 101)
        others = {claim("", [replace(apart, mean=mean + s)], 1.5).holds for s in shifts}
        assert others <= {found.holds}
        beyond = least + np.copysign(0.006, least)
        assert claim("", [replace(apart, mean=mean + beyond)], 1.5).holds is not found.holds


def test_several_differences_are_judged_one_by_one() -> None:
    inside, between, outside = (claims.Difference(mean, 0.1) for mean in (0.0, 1.5, 3.0))
    assert claims.same("", [inside, inside], 1.5).holds is True
    assert claims.same("", [inside, between], 1.5).holds is None
    assert claims.same("", [inside, between, outside], 1.5).holds is False
    assert claims.greater("", [between, outside]).holds is True
    assert claims.greater("", [inside, outside]).holds is None
    assert claims.same("", [inside, outside], 1.5).turns == "a shift by −1.30"
    assert claims.same("", [claims.Difference(9.0, 0.1), inside], 1.5).turns == "no common shift"


def test_an_interval_is_student_s() -> None:
    low, high = claims.paired([1.0, 2.0, 3.0]).ends
    assert (low, high) == pytest.approx((2 - 4.3027 / 3**0.5, 2 + 4.3027 / 3**0.5), rel=1e-4)


def test_claims_of_our_own_are_marked() -> None:
    assert [c.row()["ours"] for c in claims.own([Claim("", "", True)])] == [True]
    assert claims.at_most("", 2.0, 1.0).turns == "at most 1e+00"
    assert claims.at_most("", 0.5, 1.0).turns == "more than 1e+00"


# ---- the page ------------------------------------------------------------------------------------


def test_every_item_has_a_row_and_every_row_an_item() -> None:
    assert pages.missing(RECORD) == []


def test_a_missing_item_is_named() -> None:
    script = next(s for s, run in RECORD.items() if any(row["item"] for row in run["rows"]))
    run = RECORD[script]
    less = RECORD | {script: run | {"rows": [row for row in run["rows"] if not row["item"]]}}
    assert pages.missing(less)
    assert any(
        "is not in papers.toml" in line
        for line in pages.missing(
            RECORD | {script: run | {"rows": [run["rows"][0] | {"item": "theorem 99"}]}}
        )
    )


@pytest.mark.parametrize("name", PAGES)
def test_the_pages_are_those_of_the_record(name: str, written: dict[str, str]) -> None:
    """After a conflict, or a change of the record: python -m examples.reproduce --page."""
    assert (pages.PAGE.parent / name).read_text(encoding="utf-8") == written[name]
    assert list(written) == PAGES


def test_every_page_of_a_paper_has_a_verdict_an_item_and_every_row(
    written: dict[str, str],
) -> None:
    for folder, paper in pages.papers().items():
        page = written[f"claims/{folder}.md"]
        assert all(f"| **{item}** |" in page for item in paper["items"])
        rows = list(pages.rows_of(RECORD, folder))
        assert sum(line.count(f"`{folder}.") for line in page.splitlines()) >= len(rows)
        assert all(pages.row_of(pages.escaped(row["text"]))[:-2] in page for row in rows)


@pytest.mark.parametrize(
    ("found", "says"),
    [
        ([0, 0], "**holds as printed** (2 checks)"),
        ([0, 1], "**holds as corrected** (1 of 2 checks as printed)"),
        ([2, 1, 0], "**refuted in part**, holds as corrected (by 1 of 3 checks)"),
        ([2], "**refuted** (by 1 of 1 checks)"),
        ([3, 0], "**open** (1 of 2 checks, the others hold)"),
        ([3], "**open** (1 of 1 checks)"),
        ([], "not checked by itself"),
    ],
)
def test_the_verdict_of_an_item_follows_from_its_checks(found: list[int], says: str) -> None:
    rows = [{"verdict": claims.VERDICTS[k], "item": "table 1"} for k in found]
    assert pages.verdict(rows) == says


def test_claims_of_our_own_stand_apart() -> None:
    script = "examples.rescaled_hinge.reproduce"
    row = {**RECORD[script]["rows"][0], "text": "a claim of ours", "item": "table 4", "ours": True}
    page = pages.paper_page({script: {**RECORD[script], "rows": [row]}}, "rescaled_hinge")
    before, after = page.split("## What only this library asserts")
    assert "a claim of ours" in after
    assert "a claim of ours" not in before
    assert "**holds** (1 check)" in after
    assert "| holds |" in after
    assert "holds as printed" not in after


def test_nothing_of_the_library_s_own_theorems_holds_as_printed() -> None:
    page = pages.paper_page(RECORD, "library")
    assert "| **descent** | " in page
    assert "holds as printed" not in page
    assert "| 7 | 0 | 0 | 0 | 0 | holds: 28 |" in pages.summary(RECORD)


def test_a_claim_of_ours_is_printed_as_one(capsys: pytest.CaptureFixture[str]) -> None:
    print_claims([*claims.own([Claim("a", "1", True)]), Claim("b", "1", True)])
    lines = [line.split() for line in capsys.readouterr().out.splitlines()]
    assert ["a", "holds", "1"] in lines
    assert ["b", "holds", "as", "printed", "1"] in lines


def test_every_command_is_short_reaches_rows_and_is_one_that_its_options_allow() -> None:
    assert set(pages.checks()) <= set(runner.scripts())
    for script, found in pages.checks().items():
        texts = [row["text"] for row in RECORD[script]["rows"]]
        for check in found:
            words = check["command"].split()
            assert words[:3] == ["python", "-m", script]
            assert 0 < check["seconds"] < 60, check
            assert check["cut"], check
            assert any(re.search(check.get("rows", ""), text) for text in texts), check
            options = {word for word in words[3:] if word.startswith("--")}
            text = source(script).read_text("utf-8")
            assert [word for word in options if f'"{word}"' not in text] == []


def test_verdicts_of_short_commands_are_of_rows_on_record() -> None:
    """After a change of either: python -m examples.reproduce --short."""
    commands = {c["command"]: s for s, found in pages.checks().items() for c in found}
    assert set(pages.short()) == set(commands)
    for command, found in pages.short().items():
        assert found, command
        assert set(found) <= {row["text"] for row in RECORD[commands[command]]["rows"]}


def test_a_row_that_a_short_command_turns_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    check = {"command": "python -m a --b", "seconds": 5, "cut": "less"}
    found = {"one": "open", "two": "holds as printed"}
    monkeypatch.setattr(pages, "checks", lambda: {"a": [check]})
    monkeypatch.setattr(pages, "short", lambda: {check["command"]: found})
    known: dict[str, Any] = {"script": "a", "seconds": 9.0, "as_expected": True, "evidence": ""}
    rows = [row_of(text, "holds as printed", **known) for text in found]
    rows = [{**row, "short": pages.otherwise(row)} for row in rows]
    assert "(5 s; less; of these 2 it turns 1 to open)" in pages.how(rows)
    assert "| holds as printed (short: open) |" in pages.table(rows)
    assert pages.table(rows).count("short:") == 1


def test_a_row_that_no_short_command_reaches_says_how_long_the_full_run_is(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    check = {"command": "python -m a --b", "seconds": 5, "cut": "less", "rows": "^one"}
    monkeypatch.setattr(pages, "checks", lambda: {"a": [check]})
    row = {"script": "a", "seconds": 600.0}
    assert pages.command({**row, "text": "one"}) == ("`python -m a --b`", "5 s", "less")
    assert pages.command({**row, "text": "two"}) == ("`python -m a`", "10 min", "")


def row_of(text: str, verdict: str, measured: str = "", **rest: Any) -> dict[str, Any]:
    return {"text": text, "verdict": verdict, "measured": measured, "item": "table 1", **rest}


def test_what_fails_in_one_reading_alone_is_open_and_says_so() -> None:
    readings = [{"halves": "a: {}", "wholes": "a, whole: {}", "neither": "as printed"}]
    rows = [
        row_of("a: steps", "refuted"),
        row_of("a, whole: steps", "holds as printed"),
        row_of("a: errors", "refuted"),
        row_of("a, whole: errors", "refuted"),
        row_of("b: steps", "refuted"),
    ]
    found = [pages.one_reading(row, rows, readings) for row in rows]
    said = "refuted under halves; holds as printed under wholes"
    assert found == [{"verdict": "open", "said": said}, {}, {}, {}, {}]
    assert said in pages.verdict([rows[0] | found[0]])
    rows.append(row_of("as printed", "open"))
    assert pages.one_reading(rows[2], rows, readings)["said"] == (
        "refuted under halves, under wholes; open under neither"
    )


def test_every_reading_is_one_of_rows_on_record() -> None:
    for folder, paper in pages.papers().items():
        texts = [row["text"] for row in pages.rows_of(RECORD, folder)]
        for pattern in (text for group in paper.get("readings", []) for text in group.values()):
            begin = pattern.partition("{}")[0]
            assert any(text.startswith(begin) for text in texts), pattern


@pytest.mark.parametrize(
    ("measured", "verdict"),
    [
        ("0 of 4 within ±0.405, 1 beyond", "open"),
        ("0 of 4 within ±0.405, 2 beyond", "refuted"),
        ("3 of 8 above 0, 3 below", "open"),
        ("+1.00 ± 0.10, margin 0.5", "refuted"),
    ],
)
def test_a_row_of_cells_is_refuted_by_half_of_them(measured: str, verdict: str) -> None:
    row = row_of("cells", "refuted", measured)
    assert (row | pages.joint(row))["verdict"] == verdict


def test_a_number_is_not_said_twice() -> None:
    apart = claims.Difference(1.0, 0.1)
    assert claims.greater("", apart, measured=f"{apart} points").measured == "+1.00 ± 0.10 points"
    assert claims.greater("", apart, measured="two").measured == "two; +1.00 ± 0.10"
    same = claims.same("", apart, 2, measured=f"{apart} points")
    assert same.measured == "+1.00 ± 0.10 points; margin 2"


def test_table_6_of_the_angle_paper_is_the_one_compared_with() -> None:
    note = pages.papers()["angle_svm"]["notes"]["section 5.2, text"]
    cells = [[float(n) for n in re.findall(r"\d+\.\d{4}", line)] for line in note.splitlines()]
    rows = [numbers for numbers in cells if numbers]
    for rate, columns in ((0.0, slice(3)), (0.1, slice(3, 6))):
        found = published(PUBLISHED[rate])
        assert [row[columns] for row in rows] == [
            [found[method, penalty] for penalty in PENALTIES] for method in METHODS
        ]


def test_what_was_measured_of_cells_is_put_in_words() -> None:
    assert pages.plain("0 of 12 above 0, 0 below") == "0 of 12 surely above 0, 0 surely below"
    logarithms = "3.0 (6.02); logarithms; 0 of 4 within ±0.405, 2 beyond"
    factor = "3.0 (6.02); 0 of 4 surely within a factor 1.5, 2 surely beyond"
    assert pages.plain(logarithms) == factor
    assert pages.turned_by(row_of("", "", logarithms, turns="a shift by +0.59")) == "numbers × 1.80"
    assert pages.turned_by(row_of("", "", turns="a shift by −31.84")) == "lower by 31.84"
    assert pages.seeds("seeds 0–4; figures pade.png, rate.png, newton.png") == "seeds 0–4"
    assert pages.seeds("figure lts_breakdown.png") == ""


def test_all_committed_verdicts_are_the_expected_ones() -> None:
    rows = [row for run in RECORD.values() for row in run["rows"]]
    assert [row["text"] for row in rows if not row["as_expected"]] == []
    assert {row["verdict"] for row in rows} <= set(claims.VERDICTS)


def test_every_script_is_on_record() -> None:
    assert set(RECORD) == set(runner.scripts())


def strings_of(script: str) -> list[str]:
    """Patterns of the strings of a script and of what it imports."""
    return [pattern for module in imported(script) for pattern in patterns_in(module)]


@cache
def patterns_in(module: str) -> list[str]:
    """Patterns of the strings of a module, gaps where values are put in."""
    found = []
    for node in ast.walk(ast.parse(source(module).read_text("utf-8"))):
        parts = node.values if isinstance(node, ast.JoinedStr) else [node]
        fixed = [p.value if isinstance(p, ast.Constant) else None for p in parts]
        if any(isinstance(text, str) and text for text in fixed):
            found.append("".join(".+" if t is None else re.escape(str(t)) for t in fixed))
    return found


@pytest.mark.parametrize("script", sorted(RECORD))
def test_every_row_on_record_is_one_that_its_script_writes(script: str) -> None:
    """A claim that was reworded or dropped since then has no row: the script is to be run again."""
    patterns = strings_of(script)
    texts = [row["text"] for row in RECORD[script]["rows"]]
    assert [t for t in texts if not any(re.fullmatch(p, t) for p in patterns)] == []


def test_a_reworded_claim_is_noticed() -> None:
    patterns = strings_of("examples.mm_regression.verify_theory")
    assert any(re.fullmatch(p, "18 of 40 far outliers do not carry it off") for p in patterns)
    assert not any(re.fullmatch(p, "18 of 40 outliers do not carry it off") for p in patterns)


# ---- the runner ----------------------------------------------------------------------------------

SCRIPT = """
import sys
from examples.common.claims import Claim, print_claims
sys.exit(print_claims([Claim("one", "1", {holds})]) > 0)
"""


@pytest.fixture
def room(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A tree with two scripts, run by the runner in the place of the repository's."""
    folder = tmp_path / "examples" / "toy"
    folder.mkdir(parents=True)
    common = tmp_path / "examples" / "common"
    common.mkdir()
    for part in (tmp_path / "examples", folder, common):
        (part / "__init__.py").touch()
    frame = Path(claims.__file__).read_text("utf-8")
    # the scripts have no intervals, and SciPy would take most of their time
    (common / "claims.py").write_text(frame.replace("from scipy.stats import t\n", ""), "utf-8")
    (tmp_path / "docs").mkdir()
    for name in ("verify_a", "verify_b"):
        (folder / f"{name}.py").write_text(SCRIPT.format(holds=True), "utf-8")
    monkeypatch.delenv("PYTHONPATH", raising=False)
    # two scripts of one length, written within one second, would share their compiled file
    monkeypatch.setenv("PYTHONDONTWRITEBYTECODE", "1")
    monkeypatch.setattr(runner, "ROOT", tmp_path)
    monkeypatch.setattr(sources, "ROOT", tmp_path)
    monkeypatch.setattr(runner, "CACHE", tmp_path / ".reproduce")
    monkeypatch.setattr(runner, "RECORD", tmp_path / "docs" / "claims.json")
    monkeypatch.setattr(runner, "PAGE", tmp_path / "docs" / "claims.md")
    monkeypatch.setattr(runner, "missing", lambda runs: [])
    monkeypatch.setattr(pages, "papers", lambda: {"toy": {"title": "Toy", "items": {}}})
    return folder


def test_runs_are_kept_until_a_script_changes(
    room: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert runner.main([]) == 0
    assert "[2 of 2]" in capsys.readouterr().out
    page = (runner.PAGE.parent / "claims" / "toy.md").read_text("utf-8")
    assert "| one | 1 | holds | `toy.verify_a` |" in page
    assert runner.main([]) == 0
    printed = capsys.readouterr().out
    assert printed.count("nothing has changed since") == 2
    (room / "verify_b.py").write_text(SCRIPT.format(holds=False), "utf-8")
    assert runner.main([]) == 1
    printed = capsys.readouterr().out
    assert "Otherwise than expected" in printed
    assert "toy.verify_b: one" in printed
    assert runner.main([]) == 1  # what has failed is run again


def test_two_at_a_time_leave_the_same_record(room: Path) -> None:
    assert runner.main([]) == 0
    one = runner.RECORD.read_text("utf-8")
    assert runner.main(["--force", "--jobs", "2"]) == 0
    times = re.compile(r'"seconds": [0-9.]+')
    assert times.sub("", runner.RECORD.read_text("utf-8")) == times.sub("", one)


def test_seconds_are_those_of_the_last_run(room: Path) -> None:
    """Of a script that keeps parts of its work, too: its first run may have been long."""
    (room.parent / "common" / "parts.py").touch()
    (room / "verify_a.py").write_text("from examples.common.parts import kept\n", "utf-8")
    runner.CACHE.mkdir()
    slow, quick = (runner.Run([], seconds, "", []) for seconds in (60.0, 1.0))
    runs = {"examples.toy.verify_a": slow}
    runner.taken(runs, runner.Job("examples.toy.verify_a", [], {}, "", 60.0), quick, 0)
    assert runs["examples.toy.verify_a"].seconds == 1.0


def test_a_verdict_that_turns_is_trouble(room: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Expected or not: what was open when it was expected open is not to slip to and fro unseen."""
    open_one = SCRIPT.replace("{holds})", "{holds}, {holds})")
    (room / "verify_a.py").write_text(open_one.format(holds=True), "utf-8")
    assert runner.main([]) == 0
    (room / "verify_a.py").write_text(open_one.format(holds=None), "utf-8")
    assert runner.main([]) == 1
    assert "one: holds as printed before, now open" in capsys.readouterr().out
    assert runner.main([]) == 0  # the record has it now


def test_an_open_verdict_that_is_decided_as_expected_is_told(
    room: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    judged = SCRIPT.replace("{holds})", "{holds}, {expected})")
    for holds, expected, status in ((None, None, 0), (True, True, 0), (None, None, 1)):
        (room / "verify_a.py").write_text(judged.format(holds=holds, expected=expected), "utf-8")
        assert runner.main([]) == status
    assert "one: open before, now holds as printed" in capsys.readouterr().out
    (room / "verify_a.py").write_text(judged.format(holds=False, expected=True), "utf-8")
    assert runner.main([]) == 1


def test_a_script_that_breaks_is_trouble(room: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (room / "verify_a.py").write_text("raise SystemExit(3)", "utf-8")
    assert runner.main([]) == 1
    assert "exit status 3: it has no rows yet" in capsys.readouterr().out


def test_what_does_not_fit_keeps_its_rows(
    room: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert runner.main(["--hours", "1e-9"]) == 0
    assert "does not fit into 1e-09 hours: it has no rows yet" in capsys.readouterr().out
    monkeypatch.setattr(runner, "UNKNOWN", 0.0)
    assert runner.main(["verify_a"]) == 0
    (room / "verify_a.py").write_text(SCRIPT.format(holds=True) + "other = 1\n", "utf-8")
    capsys.readouterr()
    assert runner.main(["--hours", "1e-9", "verify_a"]) == 0
    assert "its last rows are kept" in capsys.readouterr().out
    assert "toy.verify_a" in runner.PAGE.read_text("utf-8")


def test_what_has_changed_is_named_and_run_again(
    room: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """One statement in a model, as the doubling of C that a key by version once let pass."""
    model = tmp_path / "models" / "svm.py"
    model.parent.mkdir()
    model.write_text("C = 1.0\n", "utf-8")
    assert runner.main([]) == 0
    model.write_text('"""Of docstrings."""\n\n# and comments\nC = 1.0\n', "utf-8")
    capsys.readouterr()
    assert runner.main([]) == 0
    assert capsys.readouterr().out.count("nothing has changed since") == 2
    assert runner.main(["--status"]) == 0
    assert capsys.readouterr().out.count(": current\n") == 2
    model.write_text("C = 2.0\n", "utf-8")
    assert runner.main(["--status"]) == 0
    assert re.search(
        r"verify_a: older sources: changed since [\d-]+: models\n", capsys.readouterr().out
    )
    assert runner.main(["verify_a"]) == 0
    assert re.search(r"\n    changed since [\d-]+: models\n", capsys.readouterr().out)
    assert runner.main(["--status"]) == 0
    assert capsys.readouterr().out.count(": current\n") == 1  # verify_b was not run again


def test_other_arguments_are_a_reason(room: Path) -> None:
    run = runner.Run([], 1.0, "2026-01-01", [], {"models": "a"})
    assert runner.reason(run, [], {"models": "a"}) == ""
    assert "arguments" in runner.reason(run, ["--full"], {"models": "a"})
    assert runner.reason(None, [], {}) == "no run here is known"


def test_rows_left_out_are_the_last_ones() -> None:
    def row(text: str, item: str, ran: bool = True) -> dict[str, Any]:
        return {"text": text, "item": item, "ran": ran}

    last = runner.Run([], 1.0, "", [row("a", "t"), row("b", "t"), row("c", "u")])
    new = runner.Run([], 1.0, "", [row("a", "t"), row("whole", "u", False), row("b", "t", False)])
    kept = runner.with_last(new, last).rows
    assert kept == [row("a", "t"), row("c", "u") | {"kept": True}, row("b", "t") | {"kept": True}]
    assert runner.with_last(new, None).rows == new.rows
