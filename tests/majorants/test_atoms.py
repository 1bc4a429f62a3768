"""Atoms from outside: majorants above and touching, runs that converge, rules of one's own."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import cvxpy as cp
import numpy as np
import pytest
from cvxpy.atoms.atom import Atom
from cvxpy.atoms.elementwise.elementwise import Elementwise
from cvxpy.atoms.elementwise.trig import sin

import dcprog as dc
from dcprog.foundation.arrays import EDGE
from dcprog.majorants import atoms as table
from dcprog.majorants.rules import Frame, Piece, Weight, majorise, plus, rewrite
from dcprog.majorants.tree import Values, above_edge

RNG = np.random.default_rng(11)
A = RNG.normal(size=(3, 2))


class Concave(Elementwise):
    """What a user has to say of a nonnegative, increasing, concave atom of one argument."""

    def sign_from_args(self) -> tuple[bool, bool]:
        return True, False

    def is_atom_convex(self) -> bool:
        return False

    def is_atom_concave(self) -> bool:
        return True

    def is_incr(self, idx: int) -> bool:
        return True

    def is_decr(self, idx: int) -> bool:
        return False

    def _domain(self) -> list[Any]:
        return [self.args[0] >= 0]


class cbrt(Concave):  # named as cvxpy names its atoms
    def numeric(self, values: Any) -> Any:
        return np.cbrt(values[0])

    def _grad(self, values: Any) -> Any:
        slope = np.cbrt(values[0]) ** -2.0 / 3
        return [self.elemwise_grad_to_diag(slope, self.args[0].size, self.size)]


class ln(Concave):
    def numeric(self, values: Any) -> Any:
        return np.log(values[0])

    def sign_from_args(self) -> tuple[bool, bool]:
        return False, False

    def _grad(self, values: Any) -> Any:
        return [self.elemwise_grad_to_diag(1 / values[0], self.args[0].size, self.size)]


class Bowl(Concave):
    """cosh − 1, convex and even."""

    def numeric(self, values: Any) -> Any:
        return np.cosh(values[0]) - 1

    def is_atom_convex(self) -> bool:
        return True

    def is_atom_concave(self) -> bool:
        return False

    def is_incr(self, idx: int) -> bool:
        return bool(self.args[idx].is_nonneg())

    def is_decr(self, idx: int) -> bool:
        return bool(self.args[idx].is_nonpos())

    def _grad(self, values: Any) -> Any:
        raise NotImplementedError

    def _domain(self) -> list[Any]:
        return []


class Sine(sin):
    """A kind of its own."""


@pytest.fixture(autouse=True)
def table_as_it_was() -> Iterator[None]:
    """Every test registers for itself."""
    before = dict(table.TABLE)
    yield
    table.TABLE.clear()
    table.TABLE.update(before)


def cbrt_slope(atom: Any, args: Any, value: Any, adjoint: Any) -> list[Any]:
    return [adjoint / (3 * value**2)]


HOW: dict[str, dict[str, Any]] = {
    "cvxpy's slope": {"edge": 0.0},
    "a slope": {"edge": 0.0, "slope": cbrt_slope},
    "the edge by a function": {"edge": lambda atom: 0.0},
    "a value": {
        "edge": 0.0,
        "evaluate": lambda atom, args, slack: np.where(
            args[0] >= -slack, np.cbrt(np.maximum(args[0], 0)), np.nan
        ),
    },
}


# ----------------------------------------------------------------------------------------------
# majorants

COMPOSITIONS: dict[str, Any] = {
    "of a magnitude": lambda f, x: cp.sum(f(cp.abs(x))),
    "of a square, by entries": lambda f, x: f(cp.square(A @ x)),
    "under a minimum": lambda f, x: cp.minimum(f(cp.sum_squares(x)), 1),
    "of a minimum": lambda f, x: f(cp.minimum(cp.abs(x), 1)),
    "twice": lambda f, x: cp.sum(f(f(cp.abs(A @ x)))),
    "squared": lambda f, x: cp.sum_squares(f(cp.abs(x)) - 0.5),
    "in a product": lambda f, x: cp.multiply(f(cp.abs(x)), cp.exp(-x)),
    "in the largest": lambda f, x: cp.max(cp.hstack([f(cp.abs(x[0])), x[1] - 1])),
    "with a minus": lambda f, x: cp.abs(x[0]) - f(1 + x[1] / 10),
}


@pytest.mark.parametrize("how", HOW)
@pytest.mark.parametrize("name", COMPOSITIONS)
def test_majorants_are_above_and_touch(name: str, how: str) -> None:
    dc.register_atom(cbrt, **HOW[how])
    x = cp.Variable(2)
    expression = COMPOSITIONS[name](cbrt, x)
    majorant = dc.majorize(expression)
    assert majorant.expression.is_dcp(dpp=True)
    for size in (0.1, 1.0, 3.0):
        x.value = size * RNG.normal(size=2)
        majorant.tighten()
        np.testing.assert_allclose(majorant.value, expression.value, rtol=1e-9, atol=1e-9)
        for _ in range(30):
            x.value = size * RNG.normal(size=2) * RNG.choice([0, 1, 1], 2)
            above = np.nan_to_num(majorant.value, nan=np.inf)  # outside its domain
            assert np.all(above >= expression.value - 1e-9 * (1 + np.abs(expression.value)))


@pytest.mark.parametrize("how", HOW)
@pytest.mark.parametrize("name", COMPOSITIONS)
def test_is_as_good_as_an_atom_of_the_library(name: str, how: str) -> None:
    """The same numbers as those of the power 1/3, at the edge too."""
    dc.register_atom(cbrt, **HOW[how])
    x = cp.Variable(2)
    pair = [dc.majorize(COMPOSITIONS[name](f, x)) for f in (cbrt, lambda a: cp.power(a, 1 / 3))]
    for centre in (np.zeros(2), np.array([0.0, -1.3]), np.array([0.4, 2.0])):
        for move in (lambda m: m.tighten(), lambda m: m.relax()):
            x.value = centre
            for majorant in pair:
                move(majorant)
            for _ in range(5):
                x.value = RNG.normal(size=2)
                ours, librarys = (majorant.value for majorant in pair)
                np.testing.assert_allclose(ours, librarys, rtol=1e-6, atol=1e-9)


@pytest.mark.parametrize("unit", [1e-6, 1.0, 1e6])
def test_the_edge_is_as_wide_as_the_arguments_are_large(unit: float) -> None:
    dc.register_atom(cbrt, edge=0.0)
    x = cp.Variable(3, value=unit * np.array([-1e-9, 1.0, -1e-3]))
    root = cbrt(x)
    values = Values(sizes={id(root): unit}).array(root)
    np.testing.assert_allclose(values, np.cbrt(unit) * np.array([0, 1, np.nan]))


# ----------------------------------------------------------------------------------------------
# runs


@pytest.mark.parametrize("how", HOW)
def test_solves_converge_to_what_the_power_gives(how: str) -> None:
    dc.register_atom(cbrt, **HOW[how])
    target = np.array([0.1, 2.0, -1.0, 0.0])
    values = []
    for root in (cbrt, lambda a: cp.power(a, 1 / 3)):
        x = cp.Variable(4)
        fit = cp.sum_squares(x - target) + cp.sum(root(cp.abs(x)))
        result = dc.solve(
            cp.Problem(cp.Minimize(fit), [cp.sum(root(cp.abs(x))) <= 2.3]), n_starts=1
        )
        assert result.status == "converged"
        assert result.violation <= 1e-5
        values.append(result.value)
    assert values[0] == pytest.approx(values[1], rel=1e-5)


def test_what_starts_at_an_infinite_slope_can_leave() -> None:
    """Without its edge the same run stays where it is, or has no slope to go by."""
    dc.register_atom(cbrt, edge=0.0)
    x = cp.Variable(2, nonneg=True)
    objective = cp.Minimize(cp.sum(cbrt(x)) + 4 * cp.sum_squares(x - np.array([1.0, 0.01])))
    result = dc.solve(cp.Problem(objective), start={x: np.zeros(2)})
    assert result.status == "converged"
    np.testing.assert_allclose(x.value, [0.957, 0.0], atol=1e-3)


def test_every_argument_counts_at_a_bottomless_edge(monkeypatch: pytest.MonkeyPatch) -> None:
    bottomless = table.Edge(bottomless=True)
    monkeypatch.setattr("dcprog.majorants.tree.edge_of", lambda atom: bottomless)
    x, t = cp.Variable(2, value=np.array([3.0, 4.0])), cp.Variable(value=0.0)
    depths = above_edge(cp.quad_over_lin(x, t), Values())
    assert depths is not None
    assert depths.tolist() == [3.0, 4.0, 0.0]


def test_a_bottomless_edge_makes_a_problem_unbounded() -> None:
    dc.register_atom(ln, edge=0.0, bottomless=True)
    x = cp.Variable()
    problem = cp.Problem(cp.Minimize(ln(x) + cp.square(x - 1)))
    assert dc.solve(problem).status == "unbounded"


def test_an_atom_without_an_entry_has_cvxpys_slope() -> None:
    x = cp.Variable(2, value=np.array([1.0, 8.0]))
    majorant = dc.majorize(cp.sum(cbrt(x)))
    assert majorant.value == pytest.approx(3.0)
    x.value = [2.0, 8.0]
    assert majorant.value == pytest.approx(3 + 1 / 3)


def test_an_edge_elsewhere() -> None:
    """√(x + 1), as a kind of its own: the majorant at the edge is that of the power."""

    class Shifted(cbrt):
        numeric = lambda self, values: np.sqrt(values[0] + 1)  # noqa: E731
        _domain = lambda self: [self.args[0] >= -1]  # noqa: E731
        _grad = lambda self, values: [  # noqa: E731
            self.elemwise_grad_to_diag(0.5 / np.sqrt(values[0] + 1), self.size, self.size)
        ]

    dc.register_atom(Shifted, edge=-1.0)
    x = cp.Variable(3, value=np.array([-1.0, 0.0, 3.0]))
    majorant = dc.majorize(cp.sum(Shifted(x)))
    np.testing.assert_allclose(majorant.value, 3, atol=1e-5)
    x.value = [0.0, 0.0, 3.0]
    assert majorant.value == pytest.approx(3 + 0.5 / np.sqrt(EDGE), rel=1e-4)


# ----------------------------------------------------------------------------------------------
# even atoms, rules


@pytest.mark.parametrize("even", [True, lambda atom, index: index == 0])
def test_an_even_atom_takes_arguments_of_any_curvature(even: Any) -> None:
    x = cp.Variable(2)
    bumpy = cp.minimum(cp.square(x), 1) - 0.5
    with pytest.raises(dc.NotMajorizable, match="neither even nor monotone"):
        dc.majorize(cp.sum(Bowl(bumpy)))
    dc.register_atom(Bowl, even=even)
    expression = cp.sum(Bowl(bumpy))
    majorant = dc.majorize(expression)
    x.value = [0.3, 0.9]
    majorant.tighten()
    assert majorant.value == pytest.approx(expression.value)
    for _ in range(50):
        x.value = 2 * RNG.normal(size=2)
        assert majorant.value >= expression.value - 1e-9


def parabola(node: cp.Expression, weight: Weight, frame: Frame) -> Piece:
    """w·sin x ≤ w·sin x₀ + w·cos x₀·(x − x₀) + ½|w|(x − x₀)²."""
    x = node.args[0]
    square, line = majorise(cp.square(x), Weight(1), frame), majorise(x, Weight(0), frame)

    def update(w: Any, values: Values) -> Any:
        at = values.array(x)
        slope = w * np.cos(at) - np.abs(w) * at
        here = w * np.sin(at) - slope * at - np.abs(w) / 2 * at**2
        moved = square.update(np.abs(w) / 2, values) + line.update(slope, values)
        return moved + frame.constant(here)

    return Piece(node, "sine: a parabola", plus(square, line), update, [square, line])


WAVES: dict[str, Any] = {
    "alone": lambda x: cp.sum(Sine(x)),
    "by entries": lambda x: Sine(A @ x),
    "with a minus": lambda x: cp.sum_squares(x) - cp.sum(Sine(3 * x)),
    "of a concave function": lambda x: Sine(cp.minimum(cp.square(x), 2)),
    "under a minimum": lambda x: cp.minimum(1 + Sine(x), 1.5),
    "in a square": lambda x: cp.square(Sine(x) + x),
    "in many places": lambda x: sum(cp.sum_squares(Sine(x) - k) for k in range(20)),
}


@pytest.mark.parametrize("name", WAVES)
def test_a_rule_of_ones_own(name: str) -> None:
    x = cp.Variable(2)
    with pytest.raises(dc.NotMajorizable):
        dc.majorize(WAVES[name](x))
    dc.register_atom(Sine, rule=parabola)
    expression = WAVES[name](x)
    assert "sine: a parabola" in dc.explain(expression)
    majorant = dc.majorize(expression)
    assert majorant.expression.is_dcp(dpp=True)
    for _ in range(5):
        x.value = 2 * RNG.normal(size=2)
        majorant.tighten()
        np.testing.assert_allclose(majorant.value, expression.value, rtol=1e-9, atol=1e-9)
        for _ in range(20):
            x.value = 2 * RNG.normal(size=2)
            assert np.all(majorant.value >= expression.value - 1e-9)


class Capped(Concave):
    """min(x², 1), of which cvxpy is told nothing."""

    def numeric(self, values: Any) -> Any:
        return np.minimum(values[0] ** 2, 1)

    def is_atom_concave(self) -> bool:
        return False

    def is_incr(self, idx: int) -> bool:
        return False

    def _grad(self, values: Any) -> Any:
        raise NotImplementedError

    def _domain(self) -> list[Any]:
        return []


def test_a_rule_may_rewrite_and_may_pass() -> None:
    def written_out(node: cp.Expression, weight: Weight, frame: Frame) -> Piece | None:
        if weight.sign < 0:
            return None
        plain = cp.minimum(cp.square(node.args[0]), 1)
        return rewrite(node, plain, weight, frame, "written out")

    dc.register_atom(Capped, rule=written_out)
    x = cp.Variable(3)
    with pytest.raises(dc.NotMajorizable, match="the atom Capped is neither convex"):
        dc.majorize(-Capped(x))
    target = np.array([0.4, 3.0, 0.9])
    values = []
    for loss in (Capped, lambda u: cp.minimum(cp.square(u), 1)):
        fit = cp.sum(loss(x - target)) + cp.sum_squares(x) / 5
        result = dc.solve(cp.Problem(cp.Minimize(fit)), random_state=0)
        assert result.status == "converged"
        values.append(result.value)
    assert values[0] == pytest.approx(values[1], rel=1e-9)
    assert "written out" in dc.explain(cp.sum(Capped(x)))


def test_runs_follow_a_rule() -> None:
    dc.register_atom(Sine, rule=parabola)
    x = cp.Variable(2)
    result = dc.solve(cp.Problem(cp.Minimize(cp.sum(Sine(3 * x)) + cp.sum_squares(x) / 2)))
    assert result.status == "converged"
    assert np.all(np.diff(result.history.value) <= 1e-9)
    np.testing.assert_allclose(3 * np.cos(3 * x.value) + x.value, 0, atol=1e-2)


# ----------------------------------------------------------------------------------------------
# what is refused


@pytest.mark.parametrize("kind", [cp.log, cp.abs])
def test_an_entry_is_replaced_on_request_only(kind: Any) -> None:
    with pytest.raises(ValueError, match="replace=True"):
        dc.register_atom(kind, edge=0.0)
    dc.register_atom(kind, edge=0.0, replace=True)
    with pytest.raises(ValueError, match=f"{kind.__name__} has an entry"):
        dc.register_atom(kind)


def broken(*args: Any) -> Any:
    raise NameError("a slip")


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"slope": lambda atom, args, value, w: w}, "a list with an array of each"),
        ({"slope": lambda atom, args, value, w: [w[:1]]}, r"each argument's shape, \[\(2,\)\]"),
        ({"slope": broken}, "slope of cbrt raised NameError: a slip"),
        ({"evaluate": lambda atom, args, slack: 1.0}, r"of shape \(\), not \(2,\)"),
        ({"evaluate": broken}, "evaluate of cbrt raised NameError: a slip"),
        ({"rule": lambda *args: args[0]}, "no Piece, nor None"),
    ],
)
def test_mistakes_in_what_was_given_are_told(options: dict[str, Any], words: str) -> None:
    """A wrong shape would be broadcast unseen, an error taken for a point outside the domain."""
    dc.register_atom(cbrt, **options)
    x = cp.Variable(2)
    with pytest.raises(TypeError, match=words):
        dc.solve(cp.Problem(cp.Minimize(cp.sum(cbrt(cp.abs(x) + 1)) + cp.sum_squares(x))))


class Gradless(cbrt):
    def _grad(self, values: Any) -> Any:
        raise NotImplementedError


class Neither(cbrt):
    def is_atom_concave(self) -> bool:
        return False


def test_what_an_atom_lacks_is_told() -> None:
    """A cone program where it would be kept, a slope where it is linearised, a rule elsewhere."""
    x = cp.Variable(2)
    dc.register_atom(cbrt, edge=0.0)
    kept = dc.solve(cp.Problem(cp.Maximize(cp.sum(cbrt(x)) - cp.sum_squares(x))))
    assert kept.status == "solver_failed"
    assert "no cone program for cbrt" in kept.message
    assert "dc.register_atom" in kept.message
    steep = dc.solve(cp.Problem(cp.Minimize(cp.sum(Gradless(x)) + cp.sum_squares(x - 1))))
    assert steep.status == "solver_failed"
    assert "dc.register_atom(Gradless, slope=...)" in steep.message
    with pytest.raises(dc.NotMajorizable, match=r"dc\.register_atom\(Neither, rule=\.\.\.\)"):
        dc.solve(cp.Problem(cp.Minimize(cp.sum(Neither(x)))))


def test_the_table_is_about_atoms() -> None:
    assert all(issubclass(kind, Atom) for kind in table.TABLE)


def test_values_are_carried_on_along_an_axis() -> None:
    """The geometric means of the columns, from a start on an edge."""
    target = np.array([[0.0, 1.0], [1.0, 2.0], [3.0, 4.0]])
    values = []
    for means in (
        lambda X: cp.sum(cp.geo_mean(X, axis=0)),
        lambda X: cp.geo_mean(X[:, 0]) + cp.geo_mean(X[:, 1]),
    ):
        X = cp.Variable((3, 2), nonneg=True)
        fit = means(X) + cp.sum_squares(X - target)
        result = dc.solve(cp.Problem(cp.Minimize(fit)), start={X: target})
        assert result.status == "converged"
        values.append(result.value)
    assert values == pytest.approx([1.0, 1.0], rel=1e-4)  # behind a saddle at 1.814
