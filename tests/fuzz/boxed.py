"""Random cvxpy problems of one to three numbers in a box, feasible or not by construction."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import cvxpy as cp
import numpy as np

from tests.fuzz.batched import Batched
from tests.fuzz.evaluation import number
from tests.fuzz.landscape import Array
from tests.fuzz.trees import Trees

__all__ = ["Boxed", "random_boxed"]

Expression = Any
Unary = Callable[[Expression], Expression]

ATTEMPTS = 200
LARGE = 1e9  # values at the witness beyond that are not decent
MODERATE = 10.0  # numbers up to that size stand in functions as they are
HUGE, TINY = 1e6, 1e-6  # sides of unusual boxes


@dataclass
class Boxed:
    """A cvxpy problem on a box, with what is known of it by construction.

    Arrays hold the entries of ``problem.variables()`` one after another, each column by column.

    `witness` meets every constraint, or is None where no point does; `box` says that the box is an
    option of the call, not a part of the problem.
    """

    problem: cp.Problem
    lo: Array
    hi: Array
    whole: Any
    witness: Array | None
    box: bool = False

    def arrays(self, x: Array) -> dict[cp.Variable, Array]:
        """The variables' values at a flat point."""
        ends = np.cumsum([v.size for v in self.problem.variables()])
        pieces = np.split(np.asarray(x, dtype=float), ends)[:-1]
        pairs = zip(self.problem.variables(), pieces, strict=True)
        return {v: piece.reshape(v.shape, order="F") for v, piece in pairs}


def random_boxed(rng: np.random.Generator) -> Boxed:
    """A problem; those that cannot be built or have no value at the witness are thrown away."""
    for _ in range(ATTEMPTS):
        try:
            with np.errstate(all="ignore"):
                return _Draw(rng).problem()
        except (_Unsuitable, cp.error.DCPError, NotImplementedError):
            continue
        except ValueError:  # cvxpy refuses the shapes or the attributes that were drawn
            continue
    raise RuntimeError("no problem could be drawn")


class _Unsuitable(Exception):
    """There is no decent value where the problem is built."""


# ----------------------------------------------------------------------------------------------
# boxes

# the ends of a side, given three numbers of size 1
SIDES: dict[str, Callable[[Array], tuple[float, float]]] = {
    "across 0": lambda z: (-0.2 - 2 * z[0], 0.2 + 2 * z[1]),
    "symmetric": lambda z: (-0.5 - 2 * z[0], 0.5 + 2 * z[0]),
    "from 0": lambda z: (0.0, 0.2 + 3 * z[0]),
    "to 0": lambda z: (-0.2 - 3 * z[0], 0.0),
    "positive": lambda z: (0.05 + z[0], 0.15 + z[0] + 3 * z[1]),
    "negative": lambda z: (-0.15 - z[0] - 2 * z[1], -0.05 - z[0]),
    "a point": lambda z: (2 * z[0] - 1, 2 * z[0] - 1),
    "tiny": lambda z: (2 * z[0] - 1, 2 * z[0] - 1 + TINY),
    "tiny from 0": lambda z: (0.0, TINY),
    "huge": lambda z: (-HUGE, HUGE),
    "huge from 0": lambda z: (0.0, HUGE),
    "wide": lambda z: (-10 - 90 * z[0], 10 + 90 * z[1]),
}
USUAL = ["across 0", "symmetric", "from 0", "to 0", "positive", "negative"]
UNUSUAL = ["a point", "tiny", "tiny from 0", "huge", "huge from 0", "wide"]
Shape = tuple[int, ...]
SHAPES: dict[tuple[Shape, ...], int] = {
    ((),): 3,
    ((1,),): 1,
    ((), ()): 2,
    ((2,),): 3,
    ((1, 2),): 1,
    ((), (), ()): 1,
    ((2,), ()): 1,
    ((3,),): 2,
}  # and how often


@dataclass
class _Side:
    """One number: its expression, its ends and where the witness is."""

    entry: Expression
    lo: float
    hi: float
    here: float


# ----------------------------------------------------------------------------------------------
# functions

# of any number
ANYWHERE: dict[str, Unary] = {
    "square": cp.square,
    "cube": lambda e: cp.power(e, 3),
    "fourth": lambda e: cp.power(e, 4),
    "fifth": lambda e: cp.power(e, 5),
    "sixth": lambda e: cp.power(e, 6),
    "cube by products": lambda e: e * e * e,
    "cube less square": lambda e: cp.power(e, 3) - cp.square(e),
    "abs": cp.abs,
    "pos": cp.pos,
    "negative part": cp.neg,
    "exp": cp.exp,
    "exp of minus": lambda e: cp.exp(-cp.square(e)),
    "logistic": cp.logistic,
    "huber": lambda e: cp.huber(e, 0.7),
    "sin": cp.nlp.sin,
    "fast sin": lambda e: cp.nlp.sin(5 * e),
    "cos": cp.nlp.cos,
    "tanh": cp.nlp.tanh,
    "sinh": cp.nlp.sinh,
    "asinh": cp.nlp.asinh,
    "xexp": cp.xexp,
    "cap": lambda e: cp.minimum(e, 0.3),
    "floor": lambda e: cp.maximum(e, -0.4, 0.2 * e),
    "inverse of square": lambda e: 1 / (1 + cp.square(e)),
    "log of square": lambda e: cp.log(1 + cp.square(e)),
    "well": lambda e: cp.square(cp.square(e) - 1),
}

# of a number from 0 on, or above 0
HALF_LINE: dict[str, Unary] = {
    "sqrt": cp.sqrt,
    "power 0.3": lambda e: cp.power(e, 0.3),
    "power 1.5": lambda e: cp.power(e, 1.5),
    "power 2.5": lambda e: cp.power(e, 2.5),
    "power -0.5": lambda e: cp.power(e, -0.5),
    "power -1": lambda e: cp.power(e, -1),
    "power -2": lambda e: cp.power(e, -2),
    "power -3": lambda e: cp.power(e, -3),
    "inv_pos": cp.inv_pos,
    "log": cp.log,
    "log1p": cp.log1p,
    "entr": cp.entr,
    "x log x": lambda e: cp.multiply(e, cp.log(e)),
    "cube": lambda e: cp.power(e, 3),
    "xexp": cp.xexp,
}
SINGULAR = {"power -0.5", "power -1", "power -2", "power -3", "inv_pos", "log"}

# of a vector
VECTOR: dict[str, Unary] = {
    "norm 1": cp.norm1,
    "norm 2": lambda e: cp.norm(e, 2),
    "norm inf": cp.norm_inf,
    "norm 3": lambda e: cp.pnorm(e, 3),
    "sum_squares": cp.sum_squares,
    "log_sum_exp": cp.log_sum_exp,
    "max": cp.max,
    "min": cp.min,
    "sum_largest": lambda e: cp.sum_largest(e, 2),
    "sum_smallest": lambda e: cp.sum_smallest(e, 1),
    "prod": cp.prod,
    "convex form": lambda e: cp.quad_form(e, np.eye(e.size) + 0.3),
    "concave form": lambda e: cp.quad_form(e, -np.eye(e.size) - 0.3),
    "form of both signs": lambda e: cp.quad_form(e, np.diag(np.linspace(-1, 1.5, e.size))),
    "dot": lambda e: e @ e[::-1],
    "quad_over_lin": lambda e: cp.quad_over_lin(e[:1], 0.2 + cp.abs(e[1])),
    "geo_mean": lambda e: cp.geo_mean(cp.abs(e)),
    "sums": lambda e: cp.sum(cp.square(cp.cumsum(e))) - cp.sum(e),
    "variance": cp.var,
    "sum of cubes": lambda e: cp.sum(cp.power(e, 3)),
}

# of two numbers from 0 on
PAIR: dict[str, Callable[[Expression, Expression], Expression]] = {
    "rel_entr": cp.rel_entr,
    "kl_div": cp.kl_div,
    "geo_mean": lambda a, b: cp.geo_mean(cp.hstack([a, b])),
    "weighted geo_mean": lambda a, b: cp.geo_mean(cp.hstack([a, b]), [1, 3]),
    "quad_over_lin": cp.quad_over_lin,
    "monomial": lambda a, b: cp.multiply(cp.power(a, 0.7), cp.power(b, 1.4)),
    "signomial": lambda a, b: cp.multiply(cp.power(a, -0.5), b) - cp.multiply(a, cp.sqrt(b)),
}

# numbers below or above which a function never is
NEVER_BELOW: dict[str, tuple[Unary, float]] = {
    "square": (cp.square, 0.0),
    "exp": (cp.exp, 0.0),
    "abs": (cp.abs, 0.0),
    "logistic": (cp.logistic, 0.0),
    "sin": (cp.nlp.sin, -1.0),
    "tanh": (cp.nlp.tanh, -1.0),
    "xexp": (cp.xexp, -0.3679),
    "x log x": (lambda e: -cp.entr(cp.abs(e)), -0.3679),
    "huber": (lambda e: cp.huber(e, 1), 0.0),
    "well": (lambda e: cp.square(cp.square(e) - 1), 0.0),
}

# increasing functions of a number from 0 on
INCREASING: list[Unary] = [
    cp.sqrt,
    cp.square,
    cp.exp,
    cp.log1p,
    cp.nlp.tanh,
    cp.nlp.asinh,
    cp.nlp.sinh,
    lambda e: cp.power(e, 3),
    lambda e: cp.power(e, 1.5),
    cp.xexp,
    lambda e: e,
]


class _Draw:
    """Draws a problem."""

    def __init__(self, rng: np.random.Generator) -> None:
        self.rng = rng
        self.sides: list[_Side] = []
        self.variables: list[cp.Variable] = []
        self.constraints: list[cp.Constraint] = []
        self.box = self.chance(0.05)
        shapes = self.pick([shapes for shapes, often in SHAPES.items() for _ in range(often)])
        unusual = self.chance(0.3)
        for place, shape in enumerate(shapes):
            self.variable(shape, f"x{place}", unusual)
        moderate = max(max(abs(s.lo), abs(s.hi)) for s in self.sides)
        self.unit = 1.0 if moderate <= MODERATE else moderate / 3
        self.trees = Trees(rng, self.variables, self.unit)

    def pick(self, choices: Any) -> Any:
        """One of the choices."""
        choices = list(choices)
        return choices[int(self.rng.integers(len(choices)))]

    def chance(self, probability: float) -> bool:
        """True so often."""
        return bool(self.rng.uniform() < probability)

    # ------------------------------------------------------------------------------------------
    # variables

    def variable(self, shape: Shape, name: str, unusual: bool) -> None:
        """A variable, its box and its value at the witness."""
        size = int(np.prod(shape))
        names = [self.pick(UNUSUAL if unusual and self.chance(0.6) else USUAL)] * size
        if self.chance(0.4):
            names = [self.pick(USUAL) for _ in names]
        ends = [SIDES[n](self.rng.uniform(size=3).round(2)) for n in names]
        lo, hi = (np.array(side) for side in zip(*ends, strict=True))
        if not self.box and self.chance(0.1):
            made, lo, hi, here = self._discrete(shape, name)
        elif self.box:
            made, here = cp.Variable(shape, name=name), self._inside(lo, hi)
        else:
            made, lo, hi, here = self._continuous(shape, name, lo, hi)
        made.save_value(here.reshape(shape, order="F"))
        self.variables.append(made)
        flat = cp.vec(made, order="F") if made.ndim == 2 else made
        entries = [made] if shape == () else [flat[k] for k in range(size)]
        values = zip(entries, lo.tolist(), hi.tolist(), here.tolist(), strict=True)
        self.sides += [_Side(*value) for value in values]

    def _inside(self, lo: Array, hi: Array) -> Array:
        """A point of the box, now and then on its sides."""
        t = self.rng.uniform(size=lo.size)
        t = np.where(self.rng.uniform(size=lo.size) < 0.1, np.round(t), t)
        return np.asarray(np.clip(lo + t * (hi - lo), lo, hi))

    def _discrete(self, shape: Shape, name: str) -> tuple[cp.Variable, Array, Array, Array]:
        size = int(np.prod(shape))
        if self.chance(0.4):
            lo, hi, made = (
                np.zeros(size),
                np.ones(size),
                cp.Variable(shape, boolean=True, name=name),
            )
        else:
            lo = self.rng.integers(-4, 1, size=size).astype(float)
            hi = lo + self.rng.integers(1, 7, size=size)
            made = cp.Variable(shape, integer=True, name=name)
            self.constraints += [made >= _shaped(lo, shape), made <= _shaped(hi, shape)]
        return made, lo, hi, np.round(self._inside(lo, hi))

    def _continuous(
        self, shape: Shape, name: str, lo: Array, hi: Array
    ) -> tuple[cp.Variable, Array, Array, Array]:
        """A box stated in one of the ways there are."""
        kind = self.pick(["bounds"] * 5 + ["rows", "rows", "abs", "norm", "ball", "nonneg"])
        if kind == "bounds":
            bounds = [_shaped(lo, shape), _shaped(hi, shape)]
            return cp.Variable(shape, bounds=bounds, name=name), lo, hi, self._inside(lo, hi)
        if kind in ("abs", "norm", "ball"):
            hi = np.full(lo.size, max(float(np.max(np.maximum(np.abs(lo), np.abs(hi)))), TINY))
            lo = -hi
        if kind == "nonneg":
            hi = np.maximum(np.maximum(np.abs(lo), np.abs(hi)), TINY)
            lo = np.zeros(lo.size)
        made = cp.Variable(shape, name=name, **({"nonneg": True} if kind == "nonneg" else {}))
        here = self._inside(lo, hi)
        if kind == "ball":
            here = here / max(1.0, float(np.linalg.norm(here)) / float(hi[0]) * (1 + 1e-12))
        self.constraints += {
            "rows": lambda: [made >= _shaped(lo, shape), made <= _shaped(hi, shape)],
            "abs": lambda: [cp.abs(made) <= hi[0]],
            "norm": lambda: [cp.norm_inf(made) <= hi[0]],
            "ball": lambda: [cp.sum_squares(made) <= hi[0] ** 2],
            "nonneg": lambda: [made <= _shaped(hi, shape)],
        }[kind]()
        return made, lo, hi, here

    # ------------------------------------------------------------------------------------------
    # expressions

    def coefficient(self) -> Any:
        """A number that is not 0, now and then a Parameter."""
        factor = float(self.rng.choice([-1, 1])) * round(0.1 + abs(float(self.rng.normal())), 1)
        return cp.Parameter(value=factor) if self.chance(0.05) else factor

    def part(self, side: _Side) -> Expression:
        """One number, as it is or in terms of its box."""
        width, size = side.hi - side.lo, max(abs(side.lo), abs(side.hi))
        as_it_is = size <= MODERATE and width >= 100 * TINY
        if self.chance(0.75 if as_it_is else 0.1):
            return side.entry
        if width == 0:
            return side.entry / max(size, TINY)
        return (side.entry - (side.lo + side.hi) / 2) / (width / 2)

    def affine(self) -> Expression:
        """One number or a combination of some."""
        many = int(self.rng.integers(1, len(self.sides) + 1)) if self.chance(0.6) else 1
        chosen = self.rng.choice(len(self.sides), size=many, replace=False)
        parts = [self.part(self.sides[k]) for k in chosen]
        if many == 1 and self.chance(0.4):
            return parts[0]
        made = sum((self.coefficient() * p for p in parts[1:]), self.coefficient() * parts[0])
        return made + round(float(self.rng.normal()), 1) if self.chance(0.4) else made

    def nonneg(self, depth: int) -> Expression:
        """An expression that is nowhere negative."""
        side = self.pick(self.sides)
        width = side.hi - side.lo
        kinds = ["abs", "square", "pos", "exp"] + (["from lo", "to hi"] * 4 if width > 0 else [])
        kinds += ["itself"] * 6 if side.lo >= 0 else []
        kind = self.pick(kinds)
        if kind == "itself":
            return side.entry
        if kind in ("from lo", "to hi"):
            scale = 1.0 if 100 * TINY <= width <= MODERATE else width
            return ((side.entry - side.lo) if kind == "from lo" else (side.hi - side.entry)) / scale
        return {"abs": cp.abs, "square": cp.square, "pos": cp.pos, "exp": cp.exp}[kind](
            self.scalar(max(depth - 1, 0))
        )

    def scalar(self, depth: int) -> Expression:
        """A random expression, up to `depth` functions deep."""
        if depth <= 0:
            return self.affine()
        return getattr(
            self,
            self.pick(
                ["_anywhere"] * 5
                + ["_half_line"] * 4
                + ["_vector"] * 3
                + ["_product"] * 3
                + ["_pair", "_pair", "_sum", "_quotient", "_extreme"]
            ),
        )(depth)

    def _anywhere(self, depth: int) -> Expression:
        return self.pick(ANYWHERE.values())(self.scalar(depth - 1))

    def _half_line(self, depth: int) -> Expression:
        name = self.pick(HALF_LINE)
        if self.chance(0.2):  # the domain may cut the box
            return HALF_LINE[name](self.scalar(depth - 1))
        away = 0.1 if name in SINGULAR and self.chance(0.8) else 0.0
        return HALF_LINE[name](self.nonneg(depth - 1) + away)

    def _pair(self, depth: int) -> Expression:
        away = 0.1 if self.chance(0.7) else 0.0
        return self.pick(PAIR.values())(self.nonneg(depth - 1), self.nonneg(depth - 1) + away)

    def _vector(self, depth: int) -> Expression:
        return self.pick(VECTOR.values())(self.vector(depth - 1))

    def vector(self, depth: int) -> Expression:
        """Two or three entries."""
        wide = [v for v in self.variables if v.shape in ((2,), (3,))]
        if wide and self.unit == 1.0 and self.chance(0.6):
            v = self.pick(wide)
            if self.chance(0.5):
                return v
            mixed = self.rng.normal(size=(self.pick([2, 3]), v.size)).round(1)
            return mixed @ v + self.rng.normal(size=len(mixed)).round(1)
        return cp.hstack([self.scalar(depth) for _ in range(self.pick([2, 2, 3]))])

    def _sum(self, depth: int) -> Expression:
        return self.scalar(depth - 1) + self.coefficient() * self.scalar(depth - 1)

    def _product(self, depth: int) -> Expression:
        return cp.multiply(self.scalar(depth - 1), self.scalar(depth - 1))

    def _quotient(self, depth: int) -> Expression:
        if self.chance(0.2):
            return self.scalar(depth - 1) / self.affine()
        return self.scalar(depth - 1) / (0.3 + self.nonneg(depth - 1))

    def _extreme(self, depth: int) -> Expression:
        of = self.pick([cp.maximum, cp.minimum])
        return of(self.scalar(depth - 1), self.scalar(depth - 1))

    def grown(self, deepest: int) -> Expression:
        """A scalar expression, by the tables here or those of all atoms."""
        if self.chance(0.3):
            return self.trees.tree((), self.pick(range(1, deepest + 1)))
        return self.scalar(self.pick(range(1, deepest + 1)))

    # ------------------------------------------------------------------------------------------
    # problems

    def problem(self) -> Boxed:
        """The problem."""
        empty = self.chance(0.1)
        for _ in range(self.pick([0, 0, 0, 1, 1, 2])):
            self.constraints += self._met()
        if empty:
            self.constraints += self._contradiction()
        objective = self._objective()
        sense = cp.Maximize if self.chance(0.4) else cp.Minimize
        problem = cp.Problem(sense(objective), list(self.rng.permuted(self.constraints)))
        return self._collected(problem, empty)

    def _objective(self) -> Expression:
        terms = [self.grown(2) for _ in range(self.pick([1, 1, 2, 3]))]
        objective = sum((self.coefficient() * t for t in terms[1:]), self.coefficient() * terms[0])
        if self.chance(0.1):
            objective = float(10.0 ** self.rng.integers(-6, 7)) * objective
        _decent(objective)
        return objective

    def _met(self) -> list[cp.Constraint]:
        """Constraints that the witness meets, with room or without."""
        kind = self.pick(["<=", "<=", ">=", ">=", "==", "between", "soc", "vector", "affine"])
        if kind == "soc":
            inner, outer = self.vector(1), self.scalar(self.pick([0, 0, 1]))
            room = float(np.linalg.norm(_decent(inner))) - float(_decent(outer))
            return [cp.SOC(outer + (room + self._slack(room)), inner)]
        if kind == "vector":
            e = self.vector(1)
            here = _decent(e)
            return [e <= here + self._slack(float(np.max(np.abs(here))))]
        e = self.affine() if kind == "affine" else self.grown(2)
        here = float(_decent(e))
        slack = self._slack(here)
        if kind == "==":
            return [e == here]
        if kind == "between":
            return [e <= here + slack, here - self._slack(here) <= e]
        return [e >= here - slack] if kind == ">=" else [e <= here + slack]

    def _slack(self, here: float) -> float:
        return (abs(here) + 0.1) * float(self.pick([0, 0, 1e-3, 0.1, 1.0]))

    def _contradiction(self) -> list[cp.Constraint]:
        """Constraints that no point meets, by a thousandth of their terms at least."""
        kind = self.pick(["never", "twice", "corner", "outside", "apart"])
        short = float(self.pick([1e-2, 0.1, 1.0]))
        if kind == "never":
            function, least = self.pick(NEVER_BELOW.values())
            e = function(self.scalar(self.pick([0, 1])))
            return [e <= least - short] if self.chance(0.7) else [e == least - short]
        if kind == "twice":
            e = self.scalar(self.pick([1, 2]))
            here = float(_decent(e))
            gap = short * (1 + abs(here))
            return [e <= here - gap, e >= here]
        if kind == "outside":
            side = self.pick(self.sides)
            beyond = short * max(1.0, abs(side.hi))
            return [side.entry >= side.hi + beyond]
        if kind == "apart":
            e = self.affine()
            return [cp.nlp.tanh(e) >= 0.5, e <= 0.5 - short]
        return [self._rising() <= -short]

    def _rising(self) -> Expression:
        """A sum of increasing functions of distances from the box's lower corner, 0 there."""
        made: Expression = 0.0
        for side in self.sides:
            function = self.pick(INCREASING)
            width = side.hi - side.lo
            scale = 1.0 if 100 * TINY <= width <= MODERATE else max(width, TINY)
            base = float(function(cp.Constant(0.0)).value)
            made = made + function((side.entry - side.lo) / scale) - base
        return made

    def _collected(self, problem: cp.Problem, empty: bool) -> Boxed:
        """The problem with the boxes of the variables that are left in it."""
        kept = problem.variables()
        if not kept:
            raise _Unsuitable
        places, at = {}, 0
        for v in self.variables:
            places[v.id] = range(at, at + v.size)
            at += v.size
        sides = [self.sides[k] for v in kept for k in places[v.id]]
        lo, hi, here = (np.array([getattr(s, n) for s in sides]) for n in ("lo", "hi", "here"))
        discrete = [v.attributes["integer"] or v.attributes["boolean"] for v in kept]
        whole = np.repeat(np.array(discrete, dtype=bool), [v.size for v in kept])
        roots = [problem.objective.args[0], *(a for c in problem.constraints for a in c.args)]
        if not all(np.all(np.isfinite(r)) for r in Batched(roots, kept)(here[None])):
            raise _Unsuitable  # outside the domain of an atom, though cvxpy has a number there
        for v in kept:
            v.save_value(None)
        return Boxed(problem, lo, hi, whole, None if empty else here, self.box)


def _shaped(flat: Array, shape: Shape) -> Any:
    return float(flat[0]) if shape == () else flat.reshape(shape, order="F")


def _decent(expression: Expression) -> Any:
    """The value at the witness, if it is finite and of a reasonable size."""
    value = number(expression)
    if not np.all(np.isfinite(value)) or np.max(np.abs(value), initial=0.0) > LARGE:
        raise _Unsuitable
    return value
