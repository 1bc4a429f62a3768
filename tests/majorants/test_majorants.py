"""Majorants of one expression a rule: ties, edges, Parameters, refusals, and their explanation."""

from collections.abc import Callable
from typing import Any

import cvxpy as cp
import numpy as np
import pytest
import scipy.sparse as sp

import dcprog as dc
from dcprog.foundation.arrays import EDGE, dense
from dcprog.majorants.rules import Frame, fresh_context
from dcprog.majorants.tree import Values
from dcprog.problem.starts import halved

RNG = np.random.default_rng(7)
A = RNG.normal(size=(3, 3)).round(2)


def value(expression: cp.Expression) -> Any:
    """cvxpy's own evaluation, independent of the library's."""
    with np.errstate(all="ignore"):
        return dense(expression.value)


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
    "expression", [-cp.inv_pos(y), -cp.power(y, 1.5), cp.exp(cp.minimum(cp.inv_pos(y), 1))], ids=str
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
    frame.update(Values(level=np.inf, keep=halved(np.random.default_rng(1))))
    weights = next(p.value for p in frame.expression.parameters() if p.size == 400)
    assert set(np.unique(weights)) == {0.0, 2.0}
    assert 150 < np.count_nonzero(weights) < 250


@pytest.mark.parametrize("affine", [True, False])
def test_graduated_slopes(affine: bool) -> None:
    """At level 2 the slope φ'(a)/2 of an affine argument a, φ'(a/2) of a convex one."""
    frame = Frame(cp.sum(cp.log(x if affine else 1 + cp.square(x))), fresh_context(), gather=True)
    at, other = np.array([1.0, 2.0, 4.0]), np.array([1.5, 1.0, 5.0])
    x.value = at
    frame.update(Values(level=2.0))
    values = []
    for x.value in (at, other):
        values.append(float(np.sum(frame.expression.value)))
    slope, argument = (0.5 / at, lambda t: t) if affine else (2 / (1 + at**2), np.square)
    change = float(slope @ (argument(other) - argument(at)))
    assert values[1] - values[0] == pytest.approx(change, rel=1e-9)


# ----------------------------------------------------------------------------------------------
# what is refused

z = cp.Variable(nonneg=True, name="z")
moving = cp.Parameter((3, 3), value=A)

REFUSALS = {
    "quotient": (x[0] / y, "inv_pos"),
    "ceil": (cp.ceil(x), "qcp"),
    "sign": (cp.sign(y), "qcp"),
    "product of many": (cp.cumprod(x), "products of two"),
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
    first, advice, *tree = text.splitlines()
    assert first.startswith("no rule for `x[0] / x[1]`: the sign of its denominator")
    assert advice.startswith("  Try: a bound of it")
    refused = next(line for line in tree if line.strip().startswith("x[0] / x[1]  "))
    assert "no rule" in refused
    assert any("minimum(power(y, 2.0), 1.0)  [quasiconvex]" in line for line in tree)


def test_explain_is_short() -> None:
    A = np.arange(60.0).reshape(20, 3)
    fit = cp.sum(cp.minimum(cp.abs(A @ x - np.ones(20)), 1))
    text = dc.explain(cp.Problem(cp.Minimize(fit), [cp.multiply(x, x[::-1]) == 1, x[0] * y == 1]))
    assert "data(20,3) @ x" in text
    assert "0.00" not in text
    assert all(len(line) < 150 for line in text.splitlines())
    assert sum("x[0] * y  [" in line for line in text.splitlines()) == 1  # not both sides
    assert "power(x + x" not in text  # nor what a rule has written


def test_explain_tells_of_like_constraints_once() -> None:
    centres = cp.Variable((10, 2), name="c1")
    apart = [cp.norm(centres[i] - centres[j]) >= 2 for i in range(10) for j in range(i)]
    text = dc.explain(cp.Problem(cp.Minimize(cp.max(centres)), [*apart, cp.norm1(centres) >= 3]))
    assert text.count("subject to") == 2
    assert "and 44 more" in text
    refused = [cp.ceil(x[k]) * y <= k for k in range(3)]
    text = dc.explain(cp.Problem(cp.Minimize(y), [*refused, x >= 1, y >= 1]))
    assert text.count("Try:") == 1
    assert text.count("subject to") == 3  # x and y are not alike


def test_explain_of_a_problem() -> None:
    problem = cp.Problem(
        cp.Maximize(cp.norm(x)),
        [cp.sum_squares(x) <= 4, cp.norm1(x) >= 1, cp.cumprod(x) == 1, cp.norm(x) == y],
    )
    text = dc.explain(problem)
    assert text.startswith("no rule for `cumprod(x, 0)`")
    assert "\nmaximise" in text
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
