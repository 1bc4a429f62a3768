"""Who may import whom: the rules of the house, read off the sources."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import cache
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

import dcprog
from dcprog.engine.protocol import Surrogate

HOUSE = Path(dcprog.__file__).parent

# What each room may import, beside its own files. Late imports and those for types count.
MATHEMATICS = {"foundation", "transforms", "losses", "penalties"}
DECLARED = MATHEMATICS | {"checks", "rows", "risk"}
SURROGATES = {"engine", "problem", "risk_mm", "reductions"}
RACE = {"starts", "moves"}
ROOMS: dict[str, set[str]] = {
    "foundation": set(),
    "transforms": {"foundation"},
    "losses": {"foundation", "transforms"},
    "penalties": {"foundation"},
    "rows": {"foundation", "penalties"},  # the expansion in kernels brings its own norm
    "checks": MATHEMATICS,
    "risk": MATHEMATICS | {"rows"},
    "majorants": {"foundation"},
    "engine": {"foundation"},
    "solvers": DECLARED - {"checks"},
    "factorable": {"foundation", "majorants"},
    "problem": {"foundation", "majorants", "engine", "solvers"},
    "risk_mm": DECLARED | {"engine", "solvers"},
    "reductions": DECLARED | {"majorants", "engine", "solvers", "problem", "risk_mm"},
    "starts": DECLARED | SURROGATES | {"majorants", "factorable"},
    "moves": DECLARED | SURROGATES | {"starts"},
    "solving": DECLARED | SURROGATES | {"majorants", "solvers", "factorable", *RACE},
    "bounds": DECLARED | SURROGATES | {"majorants", "factorable", "solving", *RACE},
    "display": MATHEMATICS,
    "estimators": DECLARED | {"engine", "risk_mm", "solving", *RACE},
    "models": DECLARED | {"engine", "solvers", "solving", "estimators", "display"},
}
# A result plots itself by the room that plots results, a path by its axes.
LATE = {("dcprog.engine.result", "display"), ("dcprog.estimators.penalty_path", "display")}

# Families of solvers may import one another so; all may import linalg and the files beside them.
FAMILIES: dict[str, set[str]] = {
    "linalg": set(),
    "conic": set(),
    "smooth": set(),
    "piecewise": {"smooth"},
    "kernel": {"conic"},
}
REGISTRY = "dcprog.solvers.registry"  # knows all of them

Arrow = tuple[str, str]


def modules() -> dict[str, Path]:
    """Every module of the library by its dotted name; models by way of the link."""
    found = {}
    for file in [*HOUSE.rglob("*.py"), *(HOUSE / "models").glob("*.py")]:
        parts = ["dcprog", *file.relative_to(HOUSE).with_suffix("").parts]
        found[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = file
    return found


MODULES = modules()
NAMED = set(MODULES) - {"dcprog"}  # which is the log's name, too


def arrows() -> Iterator[Arrow]:
    """Every import of one of our modules by another one, wherever it stands, or by its name."""
    for module, file in MODULES.items():
        for node in ast.walk(ast.parse(file.read_text())):
            if isinstance(node, ast.ImportFrom):
                assert node.level == 0, f"{module}: a relative import"
                for alias in node.names:
                    name = f"{node.module}.{alias.name}"
                    target = name if name in MODULES else str(node.module)
                    if target in MODULES and target != module:
                        yield module, target
            elif isinstance(node, ast.Import):
                yield from ((module, a.name) for a in node.names if a.name in MODULES)
            elif isinstance(node, ast.Constant) and node.value in NAMED:
                yield module, node.value


@cache
def all_arrows() -> list[Arrow]:
    return sorted(set(arrows()))


def room(module: str) -> str:
    parts = module.split(".")
    return parts[1] if len(parts) > 1 else ""


def family(module: str) -> str:
    """Of a solver; empty for the files that all families share."""
    parts = module.split(".")
    return parts[2] if len(parts) > 3 and parts[1] == "solvers" else ""


def test_the_sources_are_read() -> None:
    assert len(MODULES) > 100
    assert ("dcprog.losses.convex", "dcprog.losses.loss") in all_arrows()
    smo = "dcprog.solvers.kernel.smo", "dcprog.solvers.kernel.schur_complement"
    assert smo in all_arrows()


def test_no_module_stands_at_the_top() -> None:
    assert {room(module) for module in MODULES if module != "dcprog"} == set(ROOMS)
    assert [file.name for file in HOUSE.glob("*.py")] == ["__init__.py"]


def test_arrows_only_go_down() -> None:
    up = [
        f"{source} -> {target}"
        for source, target in all_arrows()
        if room(source)
        and room(target) not in ROOMS[room(source)] | {room(source)}
        and (source, room(target)) not in LATE
    ]
    assert up == []


def test_rooms_form_no_circle() -> None:
    order = list(TopologicalSorter(ROOMS).static_order())
    assert order.index("foundation") == 0


def test_families_of_solvers_keep_to_themselves() -> None:
    wrong = [
        f"{source} -> {target}"
        for source, target in all_arrows()
        if room(source) == room(target) == "solvers"
        and family(target)
        and source != REGISTRY
        and family(target) not in {family(source), "linalg"} | FAMILIES.get(family(source), set())
    ]
    assert wrong == []


def test_files_form_no_circle() -> None:
    graph: dict[str, set[str]] = {module: set() for module in MODULES}
    for source, target in all_arrows():
        if (source, room(target)) not in LATE:
            graph[source].add(target)
    try:
        list(TopologicalSorter(graph).static_order())
    except CycleError as error:
        pytest.fail(" -> ".join(error.args[1]))


# Rooms whose classes are whole; estimators declare parameters, which their base class sets.
WHOLE = {"engine", "factorable", "problem", "risk_mm", "reductions", "starts", "moves", "solving"}
WHOLE |= {"bounds", "majorants", "penalties", "rows", "transforms", "checks", "display"}


def halves(source: str) -> Iterator[str]:
    """Attributes that a class declares and does not set: some other class does."""
    for node in ast.walk(ast.parse(source)):
        if not isinstance(node, ast.ClassDef):
            continue
        kinds = [ast.unparse(one) for one in (*node.bases, *node.decorator_list)]
        if any("Protocol" in kind or "dataclass" in kind for kind in kinds):
            continue
        declared = {
            one.target.id
            for one in node.body
            if isinstance(one, ast.AnnAssign)
            and one.value is None
            and isinstance(one.target, ast.Name)
        }
        stored = {
            one.attr
            for one in ast.walk(node)
            if isinstance(one, ast.Attribute) and isinstance(one.ctx, ast.Store)
        }
        yield from (f"{node.name}.{name}" for name in sorted(declared - stored))


def test_no_class_declares_what_another_sets() -> None:
    found = {
        module: list(halves(file.read_text()))
        for module, file in MODULES.items()
        if room(module) in WHOLE
    }
    assert {module: names for module, names in found.items() if names} == {}


def test_a_half_class_would_be_seen() -> None:
    half = "class Values:\n    x: int\n    def value(self):\n        return self.x\n"
    assert list(halves(half)) == ["Values.x"]
    whole = half + "    def begin(self):\n        self.x = 1\n"
    assert list(halves(whole)) == []


def test_the_engine_asks_a_surrogate_for_sixteen_members_at_most() -> None:
    members = [name for name in vars(Surrogate) if not name.startswith("_")]
    assert len(members) <= 16, members
