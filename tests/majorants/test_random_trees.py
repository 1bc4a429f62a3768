"""Majorants of random expression trees: above, touching and convex, whatever is composed."""

from collections import Counter
from collections.abc import Callable
from typing import Any

import cvxpy as cp
import numpy as np
from hypothesis import HealthCheck, given, seed, settings
from hypothesis import strategies as st

import dcprog as dc
from dcprog.foundation.arrays import EDGE, dense

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
    "sin": cp.nlp.sin,
    "cos": lambda e: cp.nlp.cos(1 - 2 * e),
    "tanh": cp.nlp.tanh,
    "asinh": cp.nlp.asinh,
    "normcdf": cp.nlp.normcdf,
    "sinh": lambda e: cp.nlp.sinh(cp.minimum(e, 1)),
    "tan": lambda e: cp.nlp.tan(cp.minimum(cp.abs(e), 1)),
    "atanh": lambda e: cp.nlp.atanh(cp.minimum(cp.abs(e), 0.7)),
    "share": lambda e: e / (1 + cp.abs(e)),
    "inverse": lambda e: 1 / (1 + cp.square(e)),
    "rate": lambda e: cp.log(1 + cp.pos(e) / (1 + cp.square(e))),
    "cube less square": lambda e: cp.power(e, 3) - cp.square(e),
    "square less cube": lambda e: cp.square(e) - 0.1 * cp.power(e, 3),
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
    "product of convex": lambda a, b: cp.multiply(cp.square(a), cp.pos(b)),
    "product of three": lambda a, b: cp.multiply(
        cp.multiply(1 + cp.pos(cp.minimum(a, 3)), 1 + cp.abs(b)), 2 + cp.pos(a)
    ),
    "quotient": lambda a, b: cp.minimum(a, 2) / (1 + cp.abs(b)),
    "quotient of squares": lambda a, b: cp.square(a) / (1 + cp.pos(b)),
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
    "prod": lambda e: cp.prod(cp.minimum(cp.vec(e, order="F")[:3], 2)),
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
    outcomes = run_trees(count=200, number=1)
    assert outcomes["checked"] >= 130, outcomes
    refused = {reason: n for reason, n in outcomes.items() if reason.startswith("refused")}
    assert sum(refused.values()) <= 0.1 * sum(outcomes.values()), refused
    assert all(any(kind in reason for kind in REFUSED) for reason in refused), refused
