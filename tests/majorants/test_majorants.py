"""Majorants of random expression trees, and of one expression a rule."""

from collections import Counter
from collections.abc import Callable
from typing import Any

import cvxpy as cp
import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import HealthCheck, given, seed, settings
from hypothesis import strategies as st

import dcprog as dc
from dcprog.foundation.arrays import dense
from dcprog.majorants.rules import Frame, fresh_context
from dcprog.majorants.slopes import EDGE
from dcprog.majorants.tree import Values

RNG = np.random.default_rng(7)
A, B = RNG.normal(size=(3, 3)).round(2), RNG.normal(size=(3, 3)).round(2)

# ----------------------------------------------------------------------------------------------
# random trees. A tree has one of three shapes: a scalar, a vector, a matrix.

SCALAR, VECTOR, MATRIX = (), (3,), (3, 2)
SHAPES = [SCALAR, VECTOR, MATRIX]


class Space:
    """The variables and Parameters that the trees of one example share."""

    def __init__(self, rng: np.random.Generator) -> None:
        self.rng = rng
        self.y = cp.Variable(name="y")
        self.x = cp.Variable(3, name="x")
        self.matrix = cp.Variable((3, 2), name="X")
        self.symmetric = cp.Variable((3, 3), symmetric=True, name="S")
        self.scale = cp.Parameter(nonneg=True, name="scale", value=0.7)
        self.sign = cp.Parameter(name="sign", value=-0.6)
        self.vector = cp.Parameter(3, name="vector", value=np.array([0.5, -1.0, 0.0]))

        self.variables = (self.y, self.x, self.matrix, self.symmetric)

    def move(self, spread: float, to_kinks: bool = False) -> None:
        """A new random point, or one with small integer entries, where kinks and ties are."""
        for variable in self.variables:
            value = np.asarray(self.rng.normal(size=variable.shape) * spread)
            value = np.round(value) if to_kinks else value
            variable.value = (value + value.T) / 4 if variable is self.symmetric else value

    def change_parameters(self) -> None:
        """New values for the user's Parameters."""
        self.scale.value = self.rng.uniform(0, 2)
        self.sign.value = self.rng.normal()
        self.vector.value = self.rng.normal(size=3)

    def point(self) -> list[Any]:
        return [v.value for v in self.variables]

    def go(self, point: list[Any]) -> None:
        for variable, value in zip(self.variables, point, strict=True):
            variable.value = value


def leaf(space: Space, shape: tuple[int, ...], pick: Callable[[list[Any]], Any]) -> cp.Expression:
    """An affine expression."""
    x, y, matrix = space.x, space.y, space.matrix
    choices: dict[tuple[int, ...], list[Callable[[], cp.Expression]]] = {
        SCALAR: [lambda: y, lambda: x[1] - 0.4, lambda: A[0] @ x, lambda: 0.5 - cp.sum(matrix)],
        VECTOR: [
            lambda: x,
            lambda: A @ x + B[0],
            lambda: matrix[:, 1] - y,
            lambda: cp.diff(cp.hstack([x, y])),
            lambda: cp.multiply(space.vector, x) + 1,
        ],
        MATRIX: [
            lambda: matrix,
            lambda: A @ matrix - 0.3,
            lambda: cp.vstack([x, x[::-1]]).T,
            lambda: cp.reshape(matrix, (2, 3), order="C").T + space.scale,
        ],
    }
    return pick(choices[shape])()


Unary = Callable[[cp.Expression], cp.Expression]

UNARY: dict[str, Unary] = {
    "neg": lambda e: -e,
    "pos": cp.pos,
    "abs": cp.abs,
    "square": cp.square,
    "huber": lambda e: cp.huber(e, 0.8),
    "logistic": cp.logistic,
    "cap": lambda e: cp.minimum(e, 0.6),
    "floor": lambda e: cp.maximum(e, -0.2),
    "rescaled": lambda e: 1 - cp.exp(-0.7 * cp.pos(e)),
    "exp": lambda e: cp.exp(cp.minimum(e, 1)),
    "log": lambda e: cp.log(1 + cp.pos(e)),
    "log1p": lambda e: cp.log1p(cp.abs(e)),
    "sqrt": lambda e: cp.sqrt(cp.abs(e)),
    "power 0.7": lambda e: cp.power(cp.pos(e), 0.7),
    "power 1.5": lambda e: cp.power(cp.abs(e), 1.5),
    "power 3": lambda e: cp.power(cp.pos(e), 3),
    "inv_pos": lambda e: cp.inv_pos(1 + cp.pos(e)),
    "truncated": lambda e: cp.pos(1 - e) - cp.pos(-e),
    "xexp": lambda e: cp.xexp(cp.pos(cp.minimum(e, 1))),
    "scaled": lambda e: -1.7 * e,
    "parameter": lambda e: 0.5 * e + 1,
}

AFFINE_INSIDE: dict[str, Unary] = {
    "entr": lambda e: cp.entr(cp.pos(e) + 1),
    "kl_div": lambda e: cp.kl_div(1 + cp.pos(e), 2 + cp.square(e)),
    "rel_entr": lambda e: cp.rel_entr(1.5, 1 + cp.pos(e)),
}

BINARY: dict[str, Callable[[cp.Expression, cp.Expression], cp.Expression]] = {
    "add": lambda a, b: a + b,
    "subtract": lambda a, b: a - 0.5 * b,
    "minimum": cp.minimum,
    "maximum": cp.maximum,
    "minimum of three": lambda a, b: cp.minimum(a, b, 0.5),
    "product": lambda a, b: cp.multiply(cp.minimum(a, 2), cp.maximum(b, -1)),
}

TO_SCALAR: dict[str, Unary] = {
    "sum": cp.sum,
    "max": cp.max,
    "min": cp.min,
    "norm1": cp.norm1,
    "norm2": lambda e: cp.norm(cp.vec(e, order="F"), 2),
    "norm_inf": cp.norm_inf,
    "pnorm": lambda e: cp.pnorm(cp.vec(e, order="F"), 3),
    "sum_largest": lambda e: cp.sum_largest(e, 2),
    "sum_smallest": lambda e: cp.sum_smallest(e, 2),
    "log_sum_exp": lambda e: cp.log_sum_exp(cp.minimum(e, 3)),
    "quad_over_lin": lambda e: cp.quad_over_lin(e, 2.0),
    "geo_mean": lambda e: cp.geo_mean(1 + cp.pos(cp.vec(e, order="F"))),
    "harmonic_mean": lambda e: cp.harmonic_mean(1 + cp.abs(cp.vec(e, order="F"))),
    "tv": lambda e: cp.tv(cp.vec(e, order="F")),
    "weighted": lambda e: cp.sum(cp.multiply(e, np.linspace(-1, 1, e.size).reshape(e.shape))),
    "entry": lambda e: cp.vec(e, order="F")[-1],
}

VECTOR_TO_VECTOR: dict[str, Unary] = {
    "matrix": lambda e: A @ e,
    "reversed": lambda e: e[::-1],
    "cumsum": cp.cumsum,
    "shifted": lambda e: cp.hstack([e[1:], e[0]]),
    "convolved": lambda e: cp.convolve(np.array([1.0, -0.5]), e)[:3],
}

MATRIX_TO_VECTOR: dict[str, Unary] = {
    "row sums": lambda e: cp.sum(e, axis=1),
    "row norms": lambda e: cp.norm(e, axis=1),
    "row norms 1": lambda e: cp.norm1(e, axis=1),
    "row norms inf": lambda e: cp.norm_inf(e, axis=1),
    "row max": lambda e: cp.max(e, axis=1),
    "row min": lambda e: cp.min(e, axis=1, keepdims=True)[:, 0],
    "row log_sum_exp": lambda e: cp.log_sum_exp(cp.minimum(e, 3), axis=1),
    "column": lambda e: e[:, 0],
    "weighted": lambda e: e @ np.array([1.0, -2.0]),
}

VECTOR_TO_MATRIX: dict[str, Unary] = {
    "stacked": lambda e: cp.vstack([e, -e]).T,
    "outer": lambda e: cp.reshape(e, (3, 1), order="F") @ np.array([[1.0, -0.5]]),
}

MATRIX_TO_MATRIX: dict[str, Unary] = {
    "transposed": lambda e: cp.reshape(e.T, (3, 2), order="F"),
    "mixed": lambda e: B @ e,
    "flipped": lambda e: e[::-1, :],
}


def special(space: Space) -> list[cp.Expression]:
    """Atoms of matrices and products of affine factors: scalars that take no tree."""
    x, y, matrix, s = space.x, space.y, space.matrix, space.symmetric
    shifted = s + 9 * np.eye(3)
    return [
        cp.lambda_max(s),
        cp.lambda_min(s),
        cp.lambda_sum_largest(s, 2),
        cp.log_det(shifted),
        cp.tr_inv(shifted),
        cp.matrix_frac(x, shifted),
        cp.sigma_max(matrix),
        cp.normNuc(matrix),
        cp.quad_form(x, np.diag([1.0, -1.0, 2.0])),
        cp.quad_form(x, A @ A.T),
        y * x[0],
        x @ (A @ x),
        cp.trace(matrix.T @ matrix),
        cp.norm(x - y),
        cp.quad_over_lin(x, 1 + cp.square(y)),
        cp.quad_over_lin(x, 3 - cp.minimum(cp.square(y), 1)),
    ]


def tree(
    space: Space, shape: tuple[int, ...], depth: int, pick: Callable[[list[Any]], Any]
) -> cp.Expression:
    """A random expression of the given shape, `depth` atoms deep."""
    if depth == 0:
        return leaf(space, shape, pick)

    def below(at: tuple[int, ...] = shape) -> cp.Expression:
        return tree(space, at, depth - 1, pick)

    kinds = ["unary", "unary", "unary", "binary", "parameter", "other", "other"]
    kind = pick(kinds)
    if kind == "unary":
        inside = depth == 1 and pick([*[False] * 9, True])
        return pick(list((AFFINE_INSIDE if inside else UNARY).values()))(below())
    if kind == "binary":
        return pick(list(BINARY.values()))(below(), tree(space, shape, pick([0, depth - 1]), pick))
    if kind == "parameter":
        return pick([space.scale, space.sign]) * below()
    if shape == SCALAR:
        if depth <= 2 and pick([True, False]):
            return pick(special(space))
        return pick(list(TO_SCALAR.values()))(below(pick([VECTOR, MATRIX])))
    if shape == VECTOR:
        source = pick([VECTOR, MATRIX])
        maps = VECTOR_TO_VECTOR if source == VECTOR else MATRIX_TO_VECTOR
        return pick(list(maps.values()))(below(source))
    if pick([True, False]):
        return pick(list(VECTOR_TO_MATRIX.values()))(below(VECTOR))
    return pick(list(MATRIX_TO_MATRIX.values()))(below())


# ----------------------------------------------------------------------------------------------
# what a majorant must be

TOLERANCE = 1e-9
LARGE = 1e6


def value(expression: cp.Expression) -> Any:
    """cvxpy's own evaluation, independent of the library's."""
    with np.errstate(all="ignore"):
        return dense(expression.value)


def at_an_edge(expression: cp.Expression) -> bool:
    """Is some slope infinite, or nearly so, at the current point?"""
    if type(expression).__name__ in {"Power", "PowerApprox", "entr", "log"}:
        if np.min(value(expression.args[0])) <= 10 * EDGE:
            return True
    return any(at_an_edge(arg) for arg in expression.args)


def check(expression: cp.Expression, space: Space) -> str:
    """What became of one tree: ``checked`` or why it was not."""
    space.move(1.0)
    try:
        majorant = dc.majorize(expression)
    except dc.NotMajorizable as error:
        return f"refused: {error.reason}"
    assert majorant.expression.shape == expression.shape
    assert majorant.expression.is_dcp(dpp=True)
    parameters = {p.id for p in majorant.expression.parameters()}
    outcome = "too large"
    for spread, to_kinks in ((0.3, False), (1.0, True), (2.0, False)):
        space.change_parameters()
        space.move(spread, to_kinks)
        here = value(expression)
        if np.max(np.abs(here)) > LARGE:
            continue
        majorant.tighten()
        gap = (majorant.value - here) / (1 + np.abs(here))
        assert np.all(gap >= -TOLERANCE), f"below its centre by {-gap.min()}"
        if not at_an_edge(expression):
            assert np.all(gap <= TOLERANCE), f"does not touch: {gap.max()}"
        check_around(expression, majorant, space)
        outcome = "checked"
    assert {p.id for p in majorant.expression.parameters()} == parameters
    return outcome


def check_around(expression: cp.Expression, majorant: dc.Majorant, space: Space) -> None:
    """Above at random points, and convex between them."""
    points, heights = [], []
    for spread in (0.1, 1.0, 1.5):
        space.move(spread)
        below, above = value(expression), majorant.value
        if np.all(np.isfinite(above)):
            scale = 1 + np.maximum(np.abs(below), np.abs(above))
            assert np.all(above - below >= -TOLERANCE * scale), f"{above} under {below}"
            points.append(space.point())
            heights.append(above)
    for i in range(len(points)):
        middle = [(p + q) / 2 for p, q in zip(points[i - 1], points[i], strict=True)]
        space.go(middle)
        chord = (heights[i - 1] + heights[i]) / 2
        scale = 1 + np.abs(heights[i - 1]) + np.abs(heights[i])
        assert np.all(majorant.value <= chord + TOLERANCE * scale), "not convex"


REFUSED = ("neither even nor monotone", "a Parameter multiplies", "a Parameter divides")


def run_trees(count: int, number: int) -> Counter[str]:
    """Check `count` random trees; how many had which outcome."""
    outcomes: Counter[str] = Counter()

    @seed(number)
    @settings(
        max_examples=count,
        deadline=None,
        database=None,
        suppress_health_check=list(HealthCheck),
    )
    @given(data=st.data(), number=st.integers(0, 2**32 - 1))
    def one(data: st.DataObject, number: int) -> None:
        space = Space(np.random.default_rng(number))

        def pick(choices: list[Any]) -> Any:
            return choices[data.draw(st.integers(0, len(choices) - 1))]

        shape, depth = pick(SHAPES), pick([2, 3, 3, 4])
        expression = tree(space, shape, depth, pick)
        try:
            outcomes[check(expression, space)] += 1
        except Exception as error:
            error.add_note(f"{expression} at {space.point()}")
            raise

    one()
    return outcomes


def test_random_trees() -> None:
    outcomes = run_trees(count=450, number=1)
    assert outcomes["checked"] >= 300, outcomes
    refused = {reason: n for reason, n in outcomes.items() if reason.startswith("refused")}
    assert sum(refused.values()) <= 0.1 * sum(outcomes.values()), refused
    assert all(any(kind in reason for kind in REFUSED) for reason in refused), refused


# ----------------------------------------------------------------------------------------------
# one expression a rule

y = cp.Variable(name="y")
x = cp.Variable(3, name="x")
m = cp.Variable((3, 2), name="m")
s = cp.Variable((3, 3), symmetric=True, name="s")
stack = cp.Variable((2, 3, 2), name="stack")
row, column = cp.Variable((1, 2), name="row"), cp.Variable((3, 1), name="column")
capped = cp.minimum(cp.square(x), 1)
capped_matrix = cp.minimum(cp.square(m), 1)

ONE_A_RULE = {
    # the table, row by row, in a total and in an entrywise frame
    "convex": cp.sum_squares(x),
    "concave": -cp.norm(x),
    "affine": 2 * x - 1,
    "constant": cp.Constant(3.0) + 0 * y,
    "sum of both": cp.norm(x) - cp.norm1(x),
    "mixed signs": A @ cp.abs(x),
    "mixed signs, summed": cp.sum(A @ cp.abs(x)),
    "convex atom, nondecreasing": cp.exp(capped),
    "convex atom, nonincreasing": cp.inv_pos(1 + capped),
    "convex atom, under a minus": -cp.exp(capped),
    "concave atom, nondecreasing": cp.log(1 + cp.square(x)),
    "concave atom, nonincreasing": cp.log(2 - cp.sqrt(cp.pos(x - 5))),
    "concave atom, under a minus": -cp.log(1 + capped),
    "even atom": cp.square(capped - 0.5),
    "product": y * x[0],
    "product of nonconvex factors": cp.multiply(capped, cp.abs(x) - 1),
    "product of matrices": m.T @ m,
    "product with a vector": m.T @ x,
    "outer product": cp.outer(x, x),
    "indefinite quadratic form": cp.quad_form(x, np.diag([1.0, -1.0, 2.0])),
    "quadratic form of a nonconvex vector": cp.quad_form(capped, A @ A.T),
    # broadcasting
    "minimum, broadcast": cp.minimum(cp.square(column), cp.square(row), 1),
    "maximum under a minus, broadcast": -cp.maximum(column, row, m),
    "minimum with a row": cp.minimum(cp.square(m), np.ones(2)),
    "product, broadcast": cp.multiply(cp.minimum(cp.square(column), 1), row),
    "sum, broadcast": capped_matrix + cp.minimum(cp.square(row), 1),
    # axes
    "row norms": -cp.norm(m, axis=1),
    "column norms, kept": cp.minimum(cp.norm(m, axis=0, keepdims=True), 1),
    "row maxima": -cp.max(m, axis=1, keepdims=True),
    "maxima of nonconvex rows": cp.max(capped_matrix, axis=1),
    "log_sum_exp along an axis": -cp.log_sum_exp(m, axis=1, keepdims=True),
    "sums along an axis": cp.sum(capped_matrix, axis=0),
    "largest two of each column": -cp.sum_largest(m, 2, axis=0),
    "two and a half largest": -cp.sum_largest(m, 2.5),
    # three dimensions
    "stack, capped": cp.minimum(cp.square(stack), 1),
    "stack, maxima": -cp.max(stack, axis=(0, 2)),
    "stack, norms": cp.sum(cp.minimum(cp.sum(cp.square(stack), axis=0), 1)),
    "stack, sliced": cp.log(1 + cp.abs(stack))[:, 0, :],
    # affine atoms
    "cumsum": cp.cumsum(capped_matrix, axis=1),
    "convolution": cp.convolve(np.array([1.0, -2.0]), capped),
    "kron": cp.kron(np.array([[1.0, -2.0]]), capped_matrix),
    "trace": cp.trace(cp.square(s) - cp.minimum(cp.square(s), 1)),
    "diagonal": cp.diag(capped),
    "stacked": cp.bmat([[capped_matrix, -capped_matrix]]),
    "masked": capped[np.array([True, False, True])],
    "reshaped by rows": cp.reshape(capped_matrix, (2, 3), order="C"),
    "sparse constant": cp.multiply(sp.csr_array(np.eye(3, 2)), capped_matrix),
    "sparse matrix": sp.csr_array(A) @ capped,
    # atoms with slopes from cvxpy
    "nuclear norm": -cp.normNuc(m),
    "sigma_max": -cp.sigma_max(m),
    "lambda_sum_largest": -cp.lambda_sum_largest(s, 2),
    "lambda_max": -cp.lambda_max(s),
    "log_det": cp.log_det(s + 9 * np.eye(3)),
    "total variation": -cp.tv(m),
    "mixed norm": cp.mixed_norm(capped_matrix, 2, 1),
    "mixed norm under a minus": -cp.mixed_norm(m, 2, 1),
    "loggamma": -cp.loggamma(1 + cp.abs(x)),
    "xexp": cp.xexp(capped),
    "log1p": -cp.log1p(capped),
    "harmonic mean": cp.harmonic_mean(1 + cp.abs(x)),
    "geometric mean": cp.geo_mean(1 + cp.abs(x), [1, 2, 3]),
    "dotsort": -cp.dotsort(capped, np.array([1.0, 2.0])),
    "log_normcdf": -cp.log_normcdf(x),
    "huber": cp.huber(capped - 0.2),
    "variance": -cp.var(x),
    "cvar": -cp.cvar(x, 0.5),
    "matrix_frac": -cp.matrix_frac(x, s + 9 * np.eye(3)),
    "quad_over_lin, majorised below the line": cp.quad_over_lin(capped, 2 + capped[0]),
    "cummax": cp.cummax(capped),
}


def move(rng: np.random.Generator, expression: cp.Expression) -> None:
    for variable in expression.variables():
        drawn = rng.normal(size=variable.shape)
        symmetric = variable.attributes["symmetric"]
        variable.value = (drawn + drawn.T) / 2 if symmetric else drawn


@pytest.mark.parametrize("name", ONE_A_RULE)
def test_each_rule(name: str) -> None:
    expression = ONE_A_RULE[name]
    rng = np.random.default_rng(1)
    move(rng, expression)
    majorant = dc.majorize(expression)
    assert majorant.expression.is_dcp(dpp=True)
    assert majorant.expression.shape == expression.shape
    for _ in range(10):
        move(rng, expression)
        majorant.tighten()
        np.testing.assert_allclose(majorant.value, value(expression), rtol=1e-9, atol=1e-9)
        move(rng, expression)
        below, above = value(expression), majorant.value
        inside = np.isfinite(above)  # a majorant may be infinite
        assert np.all((above - below)[inside] >= -1e-9 * (1 + np.abs(below[inside])))


@pytest.mark.parametrize(
    "name", ["convex atom, nondecreasing", "mixed signs", "product", "row maxima"]
)
def test_value_is_the_expressions_own(name: str) -> None:
    expression = ONE_A_RULE[name]
    move(np.random.default_rng(2), expression)
    majorant = dc.majorize(expression)
    move(np.random.default_rng(3), expression)
    np.testing.assert_allclose(majorant.value, value(majorant.expression), rtol=1e-12)


def test_value_through_epigraph_variables() -> None:
    """Auxiliary variables are minimised out of the public expression, by a solver."""
    expression = cp.log(1 + cp.pos(cp.minimum(cp.square(y), 2) - 0.5))
    y.value = 1.2
    majorant = dc.majorize(expression)
    y.value = 1.9
    assert float(majorant.expression.value) == pytest.approx(float(majorant.value), rel=1e-6)


# ----------------------------------------------------------------------------------------------
# ties and edges


def slope_at(expression: cp.Expression, at: float, step: float = 1.0) -> float:
    """Slope of the majorant's chord to the right of its centre."""
    y.value = at
    majorant = dc.majorize(expression)
    here = float(majorant.value)
    y.value = at + step
    return (float(majorant.value) - here) / step


@pytest.mark.parametrize("at", [0.0, 0.5])
def test_truncated_hinge_at_its_kink_is_the_hinge(at: float) -> None:
    """At u = s the subtracted part adds no slope, so w = 0 is not a trap."""
    truncated = cp.pos(1 - y) - cp.pos(at - y)
    assert slope_at(truncated, at, step=0.1) == pytest.approx(-1)
    assert slope_at(truncated, at, step=-0.1) == pytest.approx(-1)


@pytest.mark.parametrize(
    "cap", [lambda e, c: cp.minimum(e, c), lambda e, c: cp.minimum(c, e)], ids=["f, c", "c, f"]
)
def test_at_the_cap_the_weight_stays(cap: Callable[..., cp.Expression]) -> None:
    assert slope_at(cap(cp.pos(y), 1), 1.0) == pytest.approx(1)
    assert slope_at(cap(cp.pos(y), 1), 1.001) == pytest.approx(0)


@pytest.mark.parametrize(
    "floor", [lambda e, c: cp.maximum(e, c), lambda e, c: cp.maximum(c, e)], ids=["f, c", "c, f"]
)
def test_subtracted_maximum_has_no_slope_at_its_kink(floor: Callable[..., cp.Expression]) -> None:
    assert slope_at(-floor(y, 0), 0.0) == 0
    assert slope_at(-floor(y, 0), 1.0) == pytest.approx(-1)


@pytest.mark.parametrize(
    "expression",
    [-cp.abs(y), -cp.norm(cp.hstack([y, 0])), -cp.norm1(cp.hstack([y, 0])), -cp.norm_inf(y)],
    ids=str,
)
def test_subtracted_norm_has_no_slope_at_zero(expression: cp.Expression) -> None:
    assert slope_at(expression, 0.0) == 0


@pytest.mark.parametrize("power", [0.5, 0.75])
def test_infinite_slope_is_taken_at_the_edge(power: float) -> None:
    y.value = 0.0
    majorant = dc.majorize(cp.power(cp.abs(y), power))
    assert 0 <= float(majorant.value) <= (1 - power) * EDGE**power * 1.01
    for at in (1e-12, 1e-6, 1e-2, 1.0):
        y.value = at
        assert float(majorant.value) >= at**power


@pytest.mark.parametrize(
    "expression", [-cp.inv_pos(y), -cp.power(y, 3), cp.exp(cp.minimum(cp.inv_pos(y), 1))], ids=str
)
def test_centre_outside_the_domain_is_an_error(expression: cp.Expression) -> None:
    y.value = -1.0
    with pytest.raises(ValueError, match="start inside its domain"):
        dc.majorize(expression)


def test_domain_of_a_tangent() -> None:
    y.value = 1.0
    majorant = dc.majorize(cp.log(y))
    (constraint,) = majorant.domain
    assert constraint.is_dcp()
    y.value = -1.0
    assert constraint.violation() == pytest.approx(1)


def test_domain_that_needs_an_epigraph_variable() -> None:
    """Outside of its majorised domain the problem of the two is infeasible, inside solvable."""
    inner = cp.log(1 + cp.pos(cp.minimum(cp.square(y), 9) - 0.5))
    y.value = 1.0
    majorant = dc.majorize(cp.log(1 - inner))
    for at, status in ((1.0, "optimal"), (2.5, "infeasible")):
        problem = cp.Problem(cp.Minimize(majorant.expression), [*majorant.domain, y == at])
        problem.solve(solver=cp.CLARABEL)
        assert problem.status == status


def test_upper_triangle() -> None:
    """Its value in cvxpy lacks the second axis of its shape; here it has it."""
    square = cp.Variable((3, 3), value=np.arange(9.0).reshape(3, 3))
    majorant = dc.majorize(cp.upper_tri(cp.minimum(cp.square(square), 20)))
    np.testing.assert_allclose(majorant.value, [[1], [4], [20]])


def test_variable_without_a_value() -> None:
    nameless = cp.Variable(name="never_set")
    majorant = dc.majorize(-cp.square(nameless))
    with pytest.raises(ValueError, match="'never_set' has no value"):
        majorant.tighten()


# ----------------------------------------------------------------------------------------------
# Parameters


def test_users_parameters_are_live() -> None:
    scale, sign = cp.Parameter(nonneg=True, value=1.0), cp.Parameter(value=1.0)
    expression = sign * cp.sum(cp.minimum(scale * cp.square(x), 1))
    x.value = np.ones(3)
    majorant = dc.majorize(expression)
    for values in ((2.0, 1.0), (0.0, 1.0), (3.0, -2.0)):
        scale.value, sign.value = values
        majorant.tighten()
        assert float(majorant.value) == pytest.approx(float(expression.value))
        x.value = np.array([0.0, 2.0, -3.0])
        assert float(majorant.value) >= float(expression.value) - 1e-9


@pytest.mark.parametrize(
    "expression",
    [
        lambda p, q: cp.huber(p * (q * x + 1)),
        lambda p, q: cp.sum(x / p),
        lambda p, q: cp.minimum(cp.square(x), 1) / p,
        lambda p, q: p * q * cp.minimum(cp.square(x), 1),
        lambda p, q: cp.quad_over_lin(x, p + 1),
    ],
)
def test_parameters_that_multiply_one_another(expression: Callable[..., cp.Expression]) -> None:
    """Not DPP as written; its majorant is."""
    p, q = cp.Parameter(nonneg=True, value=2.0), cp.Parameter(value=-0.5)
    written = expression(p, q)
    x.value = np.array([1.0, -0.2, 3.0])
    majorant = dc.majorize(written)
    assert majorant.expression.is_dcp(dpp=True)
    for values in ((2.0, -0.5), (0.3, 1.5)):
        p.value, q.value = values
        majorant.tighten()
        np.testing.assert_allclose(majorant.value, value(written), rtol=1e-9)


@pytest.mark.parametrize("terms", [10, 1000])
def test_concave_terms_share_one_gradient(terms: int) -> None:
    """A sum of many concave terms has as many Parameter entries as the variables, not as terms."""
    data = np.random.default_rng(0).normal(size=(terms, 3))
    x.value, y.value = np.ones(3), 1.0
    margins = data @ x + y
    majorant = dc.majorize(cp.sum(cp.pos(1 - margins) - cp.pos(-margins)) - cp.norm1(margins))
    assert sum(p.size for p in majorant.expression.parameters()) == 3 + 1 + 1


def test_composition_has_one_weight_a_term() -> None:
    data = np.random.default_rng(0).normal(size=(50, 3))
    x.value = np.ones(3)
    majorant = dc.majorize(cp.sum(cp.minimum(cp.pos(1 - data @ x), 1)))
    assert sum(p.size for p in majorant.expression.parameters()) == 50 + 1


# ----------------------------------------------------------------------------------------------
# the convex start


@pytest.mark.parametrize(
    "loss", [lambda h: cp.minimum(h, 1), lambda h: cp.log(1 + h), lambda h: h - cp.pos(h - 1)]
)
def test_relaxed_loss_is_the_convex_base(loss: Callable[[cp.Expression], cp.Expression]) -> None:
    """Up to a constant, which no start depends on."""
    relaxed = dc.majorize(cp.sum(loss(cp.pos(1 - A @ x)))).relax()
    constants = []
    for _ in range(3):
        x.value = RNG.normal(size=3)
        constants.append(float(relaxed.value) - float(np.sum(np.maximum(1 - A @ x.value, 0))))
    assert np.ptp(constants) == pytest.approx(0, abs=1e-9)


def test_thinned_start_keeps_half_of_the_terms() -> None:
    data = np.random.default_rng(0).normal(size=(400, 3))
    frame = Frame(cp.sum(cp.minimum(cp.pos(1 - data @ x), 1)), fresh_context(), gather=True)
    x.value = np.zeros(3)
    frame.update(Values(relaxed=True, thin=np.random.default_rng(1)))
    weights = next(p.value for p in frame.expression.parameters() if p.size == 400)
    assert set(np.unique(weights)) == {0.0, 2.0}
    assert 150 < np.count_nonzero(weights) < 250


# ----------------------------------------------------------------------------------------------
# what is refused

z = cp.Variable(nonneg=True, name="z")
moving = cp.Parameter((3, 3), value=A)

REFUSALS = {
    "quotient": (x[0] / y, "inv_pos"),
    "ceil": (cp.ceil(x), "qcp"),
    "sign": (cp.sign(y), "qcp"),
    "product of many": (cp.prod(x), "products of two"),
    "cummax": (-cp.cummax(x), "cp.max"),
    "perspective": (-cp.perspective(cp.square(y), z), "quad_over_lin"),
    "von Neumann entropy": (cp.von_neumann_entr(s), "rel_entr"),
    "indicator": (-cp.transforms.indicator([x >= 0]), "cp.minimum"),
    "exponent": (cp.power(cp.abs(x), cp.Parameter(value=0.5, pos=True)), "number"),
    "form": (cp.quad_form(x, cp.Parameter((3, 3), symmetric=True, value=np.eye(3))), "PSD"),
    "matrix": (cp.lambda_max(cp.minimum(s, 1)), "equality constraint"),
    "log_det": (cp.log_det(cp.square(s)), "equality constraint"),
    "entropy": (-cp.entr(1 + cp.abs(x)), "equality constraint"),
    "stacks": (stack @ row.T @ cp.reshape(x, (1, 3), order="F"), "one product a matrix"),
    "Parameter matrix": (moving @ cp.minimum(cp.square(x), 1), "constant"),
    "geometric": (cp.gmatmul(A, cp.Variable(3, pos=True)), "cp.minimum"),
}


@pytest.mark.parametrize("name", REFUSALS)
def test_refusal_says_why_and_what_to_write(name: str) -> None:
    expression, rewrite = REFUSALS[name]
    with pytest.raises(dc.NotMajorizable) as caught:
        dc.majorize(expression)
    error = caught.value
    assert isinstance(error, ValueError)
    assert rewrite in error.rewrite
    assert error.reason
    assert error.expression
    for part in (error.expression, error.reason, error.rewrite):
        assert part in str(error)
    assert not dc.is_majorizable(expression)


def test_refusal_names_the_node() -> None:
    with pytest.raises(dc.NotMajorizable) as caught:
        dc.majorize(cp.sum(cp.abs(x)) + cp.sum(cp.sqrt(cp.abs(x / y))))
    assert caught.value.expression.startswith("x / ")


@pytest.mark.parametrize("kind", ["integer", "boolean"])
def test_integer_variables_are_refused(kind: str) -> None:
    discrete = cp.Variable(2, name="count", **{kind: True})
    with pytest.raises(ValueError, match="'count' is integer or boolean"):
        dc.majorize(-cp.sum_squares(discrete))


def test_complex_variables_are_refused() -> None:
    with pytest.raises(ValueError, match="complex"):
        dc.majorize(-cp.abs(cp.Variable(complex=True)))


# ----------------------------------------------------------------------------------------------
# explain


def test_explain_has_a_rule_for_each_node() -> None:
    text = dc.explain(cp.log(1 + cp.minimum(cp.square(y), 2)) - cp.abs(y))
    lines = text.splitlines()
    assert len(lines) == 8
    for line, rule in zip(
        lines,
        [
            "affine atom",
            "concave atom: tangent",
            "affine atom",
            "concave atom: tangent",
            "convex: kept, times a slope",
            "affine atom",
            "convex atom under a minus: tangent",
            "affine: into the gradient",
        ],
        strict=True,
    ):
        assert rule in line
    assert "power(y, 2.0)" in text


def test_explain_says_where_no_rule_applies() -> None:
    text = dc.explain(x[0] / x[1] + cp.minimum(cp.square(y), 1))
    refused = next(line for line in text.splitlines() if line.strip().startswith("x[0] / x[1]  "))
    assert "no rule" in refused
    assert "Try: x * cp.inv_pos(y)" in refused
    assert "concave atom: tangent" in text


def test_explain_of_a_problem() -> None:
    problem = cp.Problem(
        cp.Maximize(cp.norm(x)),
        [cp.sum_squares(x) <= 4, cp.norm1(x) >= 1, cp.prod(x) == 1, cp.norm(x) == y],
    )
    text = dc.explain(problem)
    assert text.startswith("maximise")
    assert "kept" in text
    assert "equality: split" in text
    assert "no rule" in text


@pytest.mark.parametrize("solver", ["CLARABEL", "PIQP", "OSQP"])
def test_a_majorant_with_parameters_inside_can_be_minimised_with_a_quadratic(solver: str) -> None:
    rng = np.random.default_rng(0)
    data = rng.normal(size=(6, 2))
    x, q = cp.Variable(2), cp.Parameter((6, 2), value=data)
    x.value = np.array([0.3, -0.2])
    majorant = dc.majorize(cp.sum(cp.minimum(cp.pos(1 - q @ x), 1)))
    problem = cp.Problem(cp.Minimize(majorant.expression + cp.sum_squares(x)))
    assert problem.is_dcp(dpp=True)
    kept = np.maximum(1 - data @ x.value, 0) <= 1
    problem.solve(solver=solver)
    w = cp.Variable(2)
    weighted = cp.sum(cp.multiply(kept.astype(float), cp.pos(1 - data @ w)))
    reference = cp.Problem(cp.Minimize(weighted + np.sum(~kept) + cp.sum_squares(w)))
    reference.solve(solver="CLARABEL")
    assert problem.value == pytest.approx(reference.value, abs=1e-6)
    assert np.allclose(majorant.expression.value, majorant.value, rtol=1e-12)
