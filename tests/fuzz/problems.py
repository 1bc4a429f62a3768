"""Random cvxpy problems, most of them bounded below and feasible by construction."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import cvxpy as cp
import numpy as np

from tests.fuzz.landscape import Array
from tests.fuzz.trees import Trees

__all__ = ["Problem", "random_problem"]

BOX = 3.0
LARGE = 1e6
ATTEMPTS = 30


@dataclass
class Problem:
    """A cvxpy problem and what is known of it by construction.

    `witness` meets every constraint, or is None where no point does; `refused` says that a
    ValueError is the right answer; `compact` that F is bounded because the set is.
    """

    problem: cp.Problem
    variables: list[cp.Variable]
    unit: float
    witness: dict[int, Array] | None
    refused: bool = False
    compact: bool = False


def random_problem(rng: np.random.Generator) -> Problem:
    """A problem; trees that cannot be built or evaluated are thrown away."""
    for _ in range(ATTEMPTS):
        try:
            with np.errstate(all="ignore"):
                return _drawn(rng)
        except (_Unsuitable, cp.error.DCPError, NotImplementedError):
            continue
        except ValueError:  # cvxpy refuses the shapes or the attributes that were drawn
            continue
    raise RuntimeError("no problem could be drawn")


class _Unsuitable(Exception):
    """The tree has no decent value where the problem is built."""


def _drawn(rng: np.random.Generator) -> Problem:
    unit = float(10.0 ** rng.integers(-6, 7)) if rng.uniform() < 0.12 else 1.0
    box = rng.uniform() < 0.75
    variables = _variables(rng, unit, box)
    trees = Trees(rng, variables, unit)
    witness = {v.id: _point(rng, v, unit) for v in variables}
    constraints, compact = _bounds(trees, variables, box)
    _go(variables, witness)
    constraints += _constraints(trees)
    objective = trees.tree((), trees.pick([1, 2, 2, 3, 3, 4]))
    _decent(objective)
    if trees.chance(0.5) or not compact:
        weight = float(trees.pick([0.01, 0.1, 1.0]))
        objective = objective + weight * sum(cp.sum_squares(v / unit) for v in variables)
    made = Problem(cp.Problem(cp.Minimize(0)), variables, unit, witness, compact=compact)
    if trees.chance(0.04):
        constraints.append(cp.sum_squares(variables[0] / unit) <= -1)
        made.witness = None
    if trees.chance(0.04):
        _spoil(trees, made, constraints)
    if trees.chance(0.25):
        objective = float(10.0 ** rng.integers(-9, 10)) * objective
    if trees.chance(0.3):
        made.problem = cp.Problem(cp.Maximize(-objective), constraints)
    else:
        made.problem = cp.Problem(cp.Minimize(objective), constraints)
    for variable in variables:
        variable.save_value(None)
    made.variables = made.problem.variables()
    if not made.variables:
        raise _Unsuitable
    return made


def _variables(rng: np.random.Generator, unit: float, box: bool) -> list[cp.Variable]:
    makers = [
        lambda: cp.Variable(name="y"),
        lambda: cp.Variable(3, name="x"),
        lambda: cp.Variable(2, name="u"),
        lambda: cp.Variable((3, 2), name="M"),
        lambda: cp.Variable((1, 3), name="row"),
        lambda: cp.Variable((2, 2), symmetric=True, name="S"),
        lambda: cp.Variable((2, 2), PSD=True, name="P"),
        lambda: cp.Variable((2, 2), diag=True, name="D"),
        lambda: cp.Variable(2, nonneg=True, name="z"),
        lambda: cp.Variable(nonpos=True, name="n"),
        lambda: cp.Variable(2, pos=True, name="w"),
    ]
    if box:
        makers += [
            lambda: cp.Variable(3, bounds=[-BOX * unit, BOX * unit], name="b"),
            lambda: cp.Variable(2, bounds=[0, np.array([1.0, BOX]) * unit], name="c"),
        ] * 2
    count = int(rng.integers(1, 4))
    return [makers[i]() for i in rng.choice(len(makers), size=count, replace=False)]


def _point(rng: np.random.Generator, variable: cp.Variable, unit: float) -> Array:
    """A value within half the box and within the attributes."""
    drawn = np.asarray(np.clip(rng.normal(size=variable.shape), -1.4, 1.4))
    kept = variable.attributes
    if kept["symmetric"]:
        drawn = (drawn + drawn.T) / 2
    if kept["PSD"]:
        drawn = drawn @ drawn.T / 3
    if kept["diag"]:
        drawn = np.diag(np.diag(drawn))
    if kept["nonneg"] or kept["pos"]:
        drawn = np.abs(drawn) + 0.1
    if kept["nonpos"]:
        drawn = -np.abs(drawn)
    if variable.name() == "c":
        drawn = np.minimum(np.abs(drawn), 0.9)
    return drawn * unit


def _go(variables: list[cp.Variable], point: dict[int, Array]) -> None:
    for variable in variables:
        variable.save_value(point[variable.id])


def _bounds(
    trees: Trees, variables: list[cp.Variable], box: bool
) -> tuple[list[cp.Constraint], bool]:
    """Boxes and balls, or none."""
    constraints: list[cp.Constraint] = []
    for v in variables:
        if not box or v.attributes["bounds"] is not None:
            continue
        scaled = v / trees.unit
        if trees.chance(0.6):
            constraints += [scaled >= -BOX, scaled <= BOX]
        elif trees.chance(0.5):
            constraints.append(cp.sum_squares(scaled) <= BOX**2 * max(v.size, 1))
        else:
            constraints.append(cp.norm_inf(scaled) <= BOX)
    return constraints, box


def _constraints(trees: Trees) -> list[cp.Constraint]:
    """Inequalities and equations that the variables' present values meet."""
    made: list[cp.Constraint] = []
    for _ in range(trees.pick([0, 0, 1, 1, 2])):
        kind = trees.pick(["<=", "<=", ">=", ">=", "==", "soc", "nonpos"])
        shape = trees.pick([(), (), (), (2,), (1, 2)])
        e = trees.tree(shape, trees.pick([0, 1, 2] if kind == "==" else [0, 1, 2, 3]))
        here = _decent(e)
        slack = float(trees.pick([0.0, 0.1, 1.0])) if kind != "==" else 0.0
        if kind == "<=":
            made.append(e <= here + slack)
        elif kind == ">=":
            made.append(e >= here - slack if trees.chance(0.5) else here - slack <= e)
        elif kind == "==" and e.is_scalar():
            made.append(e == here)
        elif kind == "soc" and shape == (2,):
            leaf = trees.leaf((2,))
            room = float(np.linalg.norm(_decent(leaf))) + slack
            made.append(cp.SOC(cp.Constant(room), leaf))
        else:
            made.append(cp.NonNeg(here + slack - e))
    return made


def _decent(expression: cp.Expression) -> Any:
    """The value here, if it is finite and of a reasonable size."""
    value = expression.value
    if value is None:
        raise _Unsuitable
    value = value.toarray() if hasattr(value, "toarray") else np.asarray(value, dtype=float)
    if not np.all(np.isfinite(value)) or np.max(np.abs(value), initial=0.0) > LARGE:
        raise _Unsuitable
    return value.reshape(expression.shape)


def _spoil(trees: Trees, made: Problem, constraints: list[cp.Constraint]) -> None:
    """Something that the library does not take and says so."""
    made.refused = True
    kind = trees.pick(["parameter", "nan", "finite set"])
    y = trees.leaf(())
    if kind == "parameter":
        constraints.append(y <= cp.Parameter(name="unset"))
    elif kind == "nan":
        constraints.append(y <= cp.Constant(np.nan))
    else:
        single = cp.Variable(name="one of")
        constraints.append(cp.FiniteSet(single, np.array([1.0, 2.0])))
