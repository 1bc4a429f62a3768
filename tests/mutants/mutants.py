"""The mutants: a text of the sources, what replaces it, and the tests that must fail with it."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["MUTANTS", "Mutant"]


@dataclass(frozen=True)
class Mutant:
    """One mistake.

    Attributes
    ----------
    name : str
    text, replacement : str
        The text occurs exactly once in the sources.
    tests : tuple of str
        Files, folders or tests; at least one test must fail.
    script : str
        A module of the examples; at least one of its claims must come out otherwise than expected.
    """

    name: str
    text: str
    replacement: str
    tests: tuple[str, ...]
    script: str = ""


CAPPED = ("tests/models/test_capped_svm.py",)
ANGLE = ("tests/models/test_angle_svm.py",)
SMOOTH, PADE = "tests/models/test_smooth_svm.py", "examples.smooth_svm.verify_pade"
LEAST, THEORY = "tests/models/test_least_one_norm.py", "examples.least_one_norm.verify_theory"
RESCALED = "tests/models/test_rescaled_hinge.py"
HALF_QUADRATIC = "examples.rescaled_hinge.verify_half_quadratic"

MUTANTS = [
    # losses
    Mutant(
        "hinge: a slope at the kink",
        "np.where(np.asarray(u, dtype=float) < self.at, -1.0, 0.0)",
        "np.where(np.asarray(u, dtype=float) <= self.at, -1.0, 0.0)",
        ("tests/losses",),
    ),
    Mutant(
        "pade_hinge: a wrong slope in the band",
        "((1 - a) ** 2 / _denominator(a)) ** 2",
        "((1 - a) ** 2 / _denominator(a)) ** 2 * (1 + 0.1 * a)",
        ("tests/losses",),
    ),
    Mutant(
        "squared_hinge: half the curvature",
        "np.where(self._t(u) > 0, 2.0, 0.0)",
        "np.where(self._t(u) > 0, 1.0, 0.0)",
        ("tests/losses",),
    ),
    # transforms
    Mutant(
        "cap_at: a loss at the cap loses its weight",
        "np.where(self._inner(t) <= np.asarray(self.c), self._inner.slope(t), 0.0)",
        "np.where(self._inner(t) < np.asarray(self.c), self._inner.slope(t), 0.0)",
        ("tests/losses", "tests/transforms"),
    ),
    Mutant(
        "share of samples: 0.29 of 100 is 28",
        "int(fraction * n + KNOWN_DIGITS)",
        "int(fraction * n)",
        ("tests/losses", "tests/transforms"),
    ),
    Mutant(
        "tukey_by: the slope is not squared",
        "(1 - self._used(t)) ** 2",
        "(1 - self._used(t)) ** 1",
        ("tests/transforms",),
    ),
    # penalties
    Mutant(
        "mcp: a negative slope of large coefficients",
        "np.maximum(self.lam - t / self.gamma, 0.0)",
        "self.lam - t / self.gamma",
        ("tests/penalties",),
    ),
    Mutant(
        "scad: its slope falls to 0 too late",
        "return rest / (self.a - 1)",
        "return rest / self.a",
        ("tests/penalties",),
    ),
    Mutant(
        "l2: linear in the unit",
        "l2(factor * unit**2 * self.lam)",
        "l2(factor * unit * self.lam)",
        ("tests/penalties", "tests/risk_mm/test_units.py"),
    ),
    # rules of majorants
    Mutant(
        "tangent: its constant has the wrong sign",
        "child.update(slopes[i], values) - frame.constant(slopes[i] * point[i])",
        "child.update(slopes[i], values) + frame.constant(slopes[i] * point[i])",
        ("tests/majorants/test_majorants.py",),
    ),
    Mutant(
        "quadratic form: the concave part is taken for convex",
        "parts.append(sign * cp.sum_squares(root.T @ x))",
        "parts.append(cp.sum_squares(root.T @ x))",
        ("tests/majorants",),
    ),
    Mutant(
        "product: polarised with too little of the concave square",
        "return cp.square((a + b) / 2) - cp.square((a - b) / 2)",
        "return cp.square((a + b) / 2) - cp.square((a - b) / 2.2)",
        ("tests/majorants",),
    ),
    Mutant(
        "smooth atom: the bend is added to the slope",
        "slope = slope - factor * bend.derivative(x0)",
        "slope = slope + factor * bend.derivative(x0)",
        ("tests/majorants",),
    ),
    Mutant(
        "composition: an argument bounded from the wrong side",
        "direction = sign * slope_sign(node, index)",
        "direction = slope_sign(node, index)",
        ("tests/majorants",),
    ),
    # loop
    Mutant(
        "loop: a rise of the objective is accepted",
        "if not rise <= self.allowed:",
        "if not rise <= np.inf:",
        ("tests/engine",),
    ),
    Mutant(
        "loop: it stops without looking at the gap",
        "return self.last.gap <= self.slack and self.value - new_value <= self.slack",
        "return self.value - new_value <= 1e3 * self.slack",
        ("tests/engine",),
    ),
    Mutant(
        "loop: the gap is always 0",
        "self.last.gap = max(below, 0.0)",
        "self.last.gap = 0.0 * below",
        ("tests/engine",),
    ),
    Mutant(
        "loop: one step more than max_iter",
        "if self.n_iter >= self.settings.max_iter:",
        "if self.n_iter > self.settings.max_iter:",
        ("tests/engine",),
    ),
    # evidence
    Mutant(
        "evidence: the second solver's lower point is overlooked",
        "if below > self.slack and self.value - new_value > self.slack:",
        "if below > np.inf:",
        ("tests/engine/test_descent.py",),
    ),
    Mutant(
        "evidence: a bound that contradicts x is no denial",
        "return np.isfinite(gap) and gap > DENIAL * self.attainable",
        "return False",
        ("tests/engine/test_descent.py",),
    ),
    Mutant(
        "certificate: every criticality gap holds",
        'gap=Claim("criticality gap", gap, tol * scale)',
        'gap=Claim("criticality gap", 0.0, tol * scale)',
        ("tests/engine",),
    ),
    Mutant(
        "duality: half of what a ridge leaves open",
        "fall = float(np.sum(over[held] ** 2 / (2 * l2[held])))",
        "fall = float(np.sum(over[held] ** 2 / (4 * l2[held])))",
        ("tests/risk/test_duality.py",),
    ),
    Mutant(
        "duality: multipliers outside of the losses' slopes",
        "s = np.clip(slopes[live] / w, *pieces.slopes())",
        "s = slopes[live] / w",
        ("tests/risk/test_duality.py",),
    ),
    # solvers
    Mutant(
        "newton: the tilts are forgotten",
        "pull = self.sign * (self.tilt + slope)",
        "pull = self.sign * slope",
        ("tests/solvers/test_subproblem_agreement.py",),
    ),
    Mutant(
        "lasso: twice the penalty",
        "size = abs(pull) - l[j]",
        "size = abs(pull) - 2 * l[j]",
        ("tests/solvers/smooth/test_weighted_lasso.py",),
    ),
    Mutant(
        "smo: the gradient misses the second variable",
        "g[k] += step * (Ki[k] - Kj[k])",
        "g[k] += step * Ki[k]",
        ("tests/solvers/kernel",),
    ),
    Mutant(
        "dual coordinate descent: the gap leaves out the slope's part",
        "gap += weight[i] * missed - old * (u - z)",
        "gap += 1e-3 * (weight[i] * missed - old * (u - z))",
        ("tests/solvers/piecewise/test_dual_coordinate.py",),
    ),
    Mutant(
        "pivoting: kinks of the wrong sign stay",
        "up = self._mu[j] > 0",
        "up = self._mu[j] <= 0",
        ("tests/solvers/piecewise/test_pivoting.py",),
    ),
    Mutant(
        "interior point: multipliers in the wrong unit",
        "multipliers = self.dual * self.unit",
        "multipliers = self.dual",
        ("tests/solvers/linalg",),
    ),
    Mutant(
        "conic bound: multipliers outside of the dual cone",
        "value = self._bound(x, self.cones.into_dual(z))",
        "value = self._bound(x, z)",
        ("tests/solvers/conic/test_standard_form.py",),
    ),
    # problems with constraints
    Mutant(
        "penalty parameter: it never grows",
        "self.tau *= DECADE if stuck else GROWTH",
        "self.tau *= 1.0",
        ("tests/problem/test_feasibility.py",),
    ),
    # starts and moves
    Mutant(
        "graduated start: affine arguments at full slope",
        "[s / level if arg.is_affine() else s for s, arg in zip(slopes, args, strict=True)]",
        "[s for s, arg in zip(slopes, args, strict=True)]",
        ("tests/majorants/test_majorants.py",),
    ),
    Mutant(
        "race: the winner is the first run, not the best",
        "best = min(runs, key=lambda run: run.rank)\n\n    def is_as_good",
        "best = runs[0]\n\n    def is_as_good",
        ("tests/solving/test_race.py",),
    ),
    Mutant(
        "coordinate search: the minimum at 0 is always taken",
        "return np.where(value < 0, t, 0.0), np.minimum(value, 0.0)",
        "return 0.0 * t, np.minimum(value, 0.0)",
        ("tests/starts/test_coordinate_search.py",),
    ),
    Mutant(
        "exchange: the wrong pieces are linearised",
        "rises = slope(t) - flat > steep - slope(t)",
        "rises = slope(t) - flat < steep - slope(t)",
        ("tests/moves", "tests/risk_mm"),
    ),
    # bounds
    Mutant(
        "chords above the transform",
        "slope = np.where((span > 0) & (span < np.inf), (top - bottom) / span, 0.0)",
        "slope = np.where((span > 0) & (span < np.inf), 1.05 * (top - bottom) / span, 0.0)",
        ("tests/bounds",),
    ),
    Mutant(
        "ranges of margins: half as wide",
        "reach = (0.5 * (hi - lo)) @ np.abs(risk.matrix).T",
        "reach = (0.25 * (hi - lo)) @ np.abs(risk.matrix).T",
        ("tests/bounds",),
    ),
    Mutant(
        "search: a point below the bound is no contradiction",
        "if point.value < claim - 2 * point.rounding - KNOWN_DIGITS * scale - SMALLEST:",
        "if point.value < -np.inf:",
        ("tests/bounds/test_wrong_bounds.py",),
    ),
    Mutant(
        "factorable: the turning point of a range is left out",
        "across = (lo <= self.turn) & (hi >= self.turn)",
        "across = (lo < self.turn) & (hi < self.turn)",
        ("tests/factorable",),
    ),
    Mutant(
        "factorable: products of ends of one sign only",
        "return corners.min(axis=0), corners.max(axis=0)",
        "return corners[0], corners[-1]",
        ("tests/factorable",),
    ),
    # estimators
    Mutant(
        "median absolute residual: not that of the normal",
        "share = 0.5 * (1 + min(fitted / size.size, 1.0))",
        "share = 0.5",
        ("tests/estimators/test_residual_scale.py", "tests/estimators/test_inference.py"),
    ),
    Mutant(
        "joint covariance: without the variance of the scale",
        "usual = partial + scale.variance * np.outer(b, b)",
        "usual = partial",
        ("tests/models/test_lmrob.py",),
    ),
    Mutant(
        "cross-validation: the smallest of equally good λ",
        "place, row = np.argwhere(ties.T)[-1]",
        "place, row = np.argwhere(ties.T)[0]",
        ("tests/estimators/test_cross_validated.py",),
    ),
    Mutant(
        "lambda_max: twice too large",
        "ratios = np.where(over > 0, over / gain, 0.0)",
        "ratios = np.where(over > 0, 2 * over / gain, 0.0)",
        ("tests/estimators/test_penalty_path.py",),
    ),
    # models: a test and a claim of the paper's script must notice each
    Mutant(
        "capped svm: ε is kept after one round",
        "        rounds: int = 5,",
        "        rounds: int = 1,",
        CAPPED,
        "examples.capped_svm.verify_model",
    ),
    Mutant(
        "capped svm: ε is kept after four rounds",
        "        rounds: int = 5,",
        "        rounds: int = 4,",
        CAPPED,
        "examples.capped_svm.verify_model",
    ),
    Mutant(
        "capped svm: ε is set once more than the rounds",
        "if self._tightenings < rounds or self._tightenings == 0:",
        "if self._tightenings <= rounds or self._tightenings == 0:",
        CAPPED,
        "examples.capped_svm.verify_model",
    ),
    Mutant(
        "capped svm: one sample more than the share is capped",
        "place = t.size - 1 - share_of(self.fraction, t.size)",
        "place = t.size - 2 - share_of(self.fraction, t.size)",
        CAPPED,
        "examples.capped_svm.verify_model",
    ),
    Mutant(
        "capped svm: half the penalty",
        "squared_hinge(), l2(2 * self.gamma)",
        "squared_hinge(), l2(self.gamma)",
        CAPPED,
        "examples.capped_svm.verify_model",
    ),
    Mutant(
        "capped svm: the power p of the squares",
        "power = power_of(self.p / 2, delta)",
        "power = power_of(min(self.p, 1.0), delta)",
        CAPPED,
        "examples.capped_svm.verify_model",
    ),
    Mutant(
        "angle svm: truncation at −1/k",
        "            return -1 / (k - 1)",
        "            return -1 / k",
        ANGLE,
        "examples.angle_svm.verify_dca",
    ),
    Mutant(
        "angle path: the higher of two runs is kept",
        "return min(runs, key=lambda run: run[0].value)",
        "return max(runs, key=lambda run: run[0].value)",
        ("tests/models/test_angle_path.py",),
        "examples.angle_svm.verify_dca",
    ),
    Mutant(
        "alternating linearisation: d₁ = +d₂",
        "d1 = sign * d2 - (z1 - mean)",
        "d1 = d2 - (z1 - mean)",
        ("tests/examples/test_angle_svm.py::test_alternating_linearisation_reaches_the_minimum",),
        "examples.angle_svm.verify_dca",
    ),
    Mutant(
        "angle svm: the cap on the wrong side",
        "loss = cap(loss, 1 - s) if",
        "loss = cap(loss, 1 + s) if",
        ANGLE,
        "examples.angle_svm.verify_dca",
    ),
    Mutant(
        "angle svm: the tangents of another hinge",
        "else loss - hinge(s)",
        "else loss - hinge(2 * s)",
        ANGLE,
        "examples.angle_svm.verify_dca",
    ),
    Mutant(
        "angle svm: γ of the own class without k − 1",
        "np.where(rows.own, self.gamma * rows.n_scores, 1 - self.gamma)",
        "np.where(rows.own, self.gamma, 1 - self.gamma)",
        ANGLE,
        "examples.angle_svm.verify_dca",
    ),
    Mutant(
        "angle svm: loss 2 adds its rivals",
        'return risk_of(rows, loss, penalty, None, penalized, "max")',
        'return risk_of(rows, loss, penalty, None, penalized, "sum")',
        ANGLE,
        "examples.angle_svm.verify_dca",
    ),
    Mutant(
        "simplex: vertices that are too short",
        "vertices[1:] += np.sqrt(k / (k - 1)) * np.eye(k - 1)",
        "vertices[1:] += np.sqrt((k - 1) / k) * np.eye(k - 1)",
        ANGLE,
        "examples.angle_svm.verify_dca",
    ),
    Mutant(
        "smooth svm: the share of outliers is rounded down",
        "dropped = ceil(self.outlier_ratio * m - 1e-9)",
        "dropped = int(self.outlier_ratio * m + 1e-9)",
        (f"{SMOOTH}::test_a_share_of_the_samples_is_rounded_up",),
        PADE,
    ),
    Mutant(
        "smooth svm: outliers from the median on",
        "PERCENTILE = 90.0",
        "PERCENTILE = 50.0",
        (f"{SMOOTH}::test_one_step_leaves_out_no_more_than_a_tenth",),
        PADE,
    ),
    Mutant(
        "smooth svm: filtering fifty times",
        "step = self._run(spec, start, max_iter=1,",
        "step = self._run(spec, start, max_iter=50,",
        (f"{SMOOTH}::test_the_rest_is_fitted_once",),
        PADE,
    ),
    Mutant(
        "smooth svm: squared slacks without their half",
        "weights = np.full(rows.X.shape[0], self.C / self.slack_norm)",
        "weights = np.full(rows.X.shape[0], self.C)",
        (f"{SMOOTH}::test_agrees_with_lbfgs",),
        PADE,
    ),
    Mutant(
        "smooth svm: the intercept is not penalised",
        "penalized=np.ones(rows.shape[1])",
        "penalized=np.append(np.ones(rows.shape[1] - 1), 0.0)",
        (f"{SMOOTH}::test_agrees_with_lbfgs",),
        PADE,
    ),
    Mutant(
        "armijo: every step is accepted",
        "if line.rise(t) <= ARMIJO * t * slope + spare:",
        "if True:",
        (f"{SMOOTH}::test_every_newton_step_lowers_f",),
        PADE,
    ),
    Mutant(
        "least 1-norm svm: the published SMO takes pairs of the second order",
        '"smo": "smo_first_order", "libsvm"',
        '"smo": "smo", "libsvm"',
        (f"{LEAST}::test_smo_by_name_moves_the_most_violating_pairs",),
        THEORY,
    ),
    Mutant(
        "smo: the bias at an end of its interval",
        "return float(kinks[first] + kinks[last]) / 2",
        "return float(kinks[first])",
        (f"{LEAST}::test_intercept_is_the_mean_over_free_samples_or_the_middle",),
        THEORY,
    ),
    Mutant(
        "least squares svm: without its half",
        '"lssvm": 0.5 * square(at=1.0)',
        '"lssvm": square(at=1.0)',
        (f"{LEAST}::test_least_squares_machine_solves_its_linear_system",),
        THEORY,
    ),
    Mutant(
        "least 1-norm svm: margins of 2",
        "return absolute(at=1.0)",
        "return absolute(at=2.0)",
        (f"{LEAST}::test_objective_is_that_of_primal_dual_and_regression",),
        THEORY,
    ),
    Mutant(
        "rescaled hinge svm: the first machine has the cost C",
        "weights = risk.transform.steepest * self._first_weights(X, machine.signs)",
        "weights = self._first_weights(X, machine.signs)",
        (f"{RESCALED}::test_first_round_is_a_plain_machine_with_cost_c_beta_eta",),
        HALF_QUADRATIC,
    ),
    Mutant(
        "rescaled hinge svm: a round too many",
        "max_iter=self.max_iter - 1)",
        "max_iter=self.max_iter)",
        (f"{RESCALED}::test_outer_loop_is_the_half_quadratic_algorithm",),
        HALF_QUADRATIC,
    ),
    Mutant(
        "rescaled hinge svm: weights by the squared distance to the centre",
        "distance = np.sqrt(np.maximum(squared, 0))",
        "distance = np.maximum(squared, 0)",
        (f"{RESCALED}::test_class_centre_weights_by_hand_and_by_kernel",),
        HALF_QUADRATIC,
    ),
    Mutant(
        "rescaled hinge svm: one centre for both classes",
        "own = np.flatnonzero(signs == sign)",
        "own = np.flatnonzero(signs == signs)",
        (f"{RESCALED}::test_class_centre_weights_by_hand_and_by_kernel",),
        HALF_QUADRATIC,
    ),
    Mutant(
        "rescale: not 1 at a margin of 0",
        "return np.expm1(-self.eta * np.asarray(t, dtype=float)) / np.expm1(-self.eta)",
        "return -np.expm1(-self.eta * np.asarray(t, dtype=float))",
        ("tests/transforms", RESCALED),
        HALF_QUADRATIC,
    ),
]
