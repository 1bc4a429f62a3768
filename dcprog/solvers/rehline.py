"""ReHLine: coordinate descent for piecewise quadratic and linear losses of many samples."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from dcprog.foundation.arrays import Array
from dcprog.foundation.errors import SubproblemError
from dcprog.losses import Pieces
from dcprog.solvers.linalg.per_score import Separable, separable_refusal
from dcprog.solvers.protocol import ExactSolver, Solution

if TYPE_CHECKING:
    from dcprog.risk.risk import Risk

__all__ = ["RehlineSolver", "relu_parts"]

# The free intercept is the weight of a constant column of that size, held to its last value; so
# many times is it let go.
COLUMN = 10.0
ROUNDS = 20


class RehlineSolver(ExactSolver):
    r"""For every score k:  min Σ_i d_{ik} base(u_{ik}) + t_k·u_k + (λ/2)‖w_k‖².

    The base is written as Σ ReLU + Σ ReHU of affine functions. A tilt g·β moves the centre of the
    ridge to −g/λ. ReHLine penalises every coefficient; a free intercept b is found by the proximal
    point method, whose rounds add (λ/2)((b − b⁰)/10)² and move b⁰ to the last b until that term no
    longer matters. Each call is certified by ReHLine's duality gap, and fails where that stays
    above the tolerance.

    Parameters
    ----------
    risk : Risk
        A piecewise quadratic and linear base on margins or residuals with an ``l2`` penalty.

    References
    ----------
    Dai, Qiu (2023), ReHLine: regularized composite ReLU-ReHU loss minimization with linear
    computation and linear convergence, NeurIPS 36. Package ``rehline``, MIT licence.
    """

    max_iter = 20_000

    def __init__(self, risk: Risk) -> None:
        self.risk = risk
        self.scores = Separable(risk)
        assert risk.base.pieces is not None
        self.relu, self.rehu = relu_parts(risk.base.pieces)
        X = self.scores.X
        dense = X if isinstance(X, np.ndarray) else X.toarray()
        if self.scores.free:
            dense = np.column_stack([dense, np.full(len(dense), COLUMN)])
        self.design = np.ascontiguousarray(dense)
        self._duals: dict[int, tuple[Array, Array]] = {}

    @staticmethod
    def refusal(risk: Risk) -> str | None:
        """Why ReHLine cannot take a risk, None if it can."""
        if risk.base.pieces is None:
            return f"its base is {risk.base!r}, not piecewise quadratic and linear"
        return separable_refusal(risk)

    def minimise(
        self,
        weights: Array,
        tilts: Array | None,
        start: Array,
        tolerance: float,
        time_limit: float | None = None,
        *,
        shrinkage: Array | None = None,
    ) -> Solution:
        """The minimiser, certified by its duality gap."""
        spread, tilt = self.scores.spread(weights, tilts)
        coef, intercept = self.scores.split(start)
        allowed = tolerance * (1 + abs(self.risk.weighted(start, weights, tilts))) / len(coef)
        for k in range(len(coef)):
            coef[k], intercept[k] = self._score(
                k, spread[:, k], tilt[:, k], float(intercept[k]), allowed
            )
        theta = self.scores.join(coef, intercept)
        return Solution(theta, None, self.risk.weighted(theta, weights, tilts))

    def _score(
        self, k: int, weight: Array, tilt: Array, b: float, allowed: float
    ) -> tuple[Array, float]:
        sign, offset = self.scores.signs[:, k], self.scores.offsets[:, k]
        pull = self.design.T @ (sign * tilt) / self.scores.lam
        free = self.scores.free
        for _ in range(ROUNDS):
            centre = -pull
            if free:
                centre[-1] += b / COLUMN
            shifted = sign * (self.design @ centre) + offset
            beta = centre + self._held(k, weight, sign, shifted, allowed / 2)
            if not free:
                return beta, 0.0
            moved = COLUMN * beta[-1] - b
            b += moved
            if 2 * self.scores.lam * (moved / COLUMN) ** 2 <= allowed / 2:
                return beta[:-1], b
        raise SubproblemError("failed", f"the intercept still moved by {moved:.3g}")

    def _held(self, k: int, weight: Array, sign: Array, shifted: Array, allowed: float) -> Array:
        """Minimiser γ of Σ d base(s·Xγ + shifted)/λ + ½‖γ‖²."""
        from rehline import ReHLine_solver  # the only place that needs it

        d = weight / self.scores.lam
        (p, q), (s, t, tau) = self.relu, self.rehu
        root = np.sqrt(d)
        allowed = allowed / self.scores.lam
        size = float(d @ self.risk.base(shifted))
        Lambda, Gamma = self._duals.get(k, (None, None))
        result: Any = ReHLine_solver(
            self.design,
            p[:, None] * (d * sign),
            (p[:, None] * shifted + q[:, None]) * d,
            np.where(root > 0, tau[:, None], 0.0) * root,  # no weight, whatever the width
            s[:, None] * (root * sign),
            (s[:, None] * shifted + t[:, None]) * root,
            Lambda=Lambda,
            Gamma=Gamma,
            max_iter=self.max_iter,
            tol=max(min(allowed / max(1.0, size), 1e-2), 1e-13),
            verbose=0,
        )
        if not result.dual_gap <= allowed:
            raise SubproblemError(
                "failed", f"ReHLine's duality gap stayed at {result.dual_gap:.3g}"
            )
        self._duals[k] = (result.Lambda.copy(), result.Gamma.copy())
        return np.array(result.beta)


def relu_parts(pieces: Pieces) -> tuple[tuple[Array, Array], tuple[Array, Array, Array]]:
    """A convex f as min f + Σ_l (p_l u + q_l)₊ + Σ_h ReHU_{τ_h}(s_h u + t_h).

    ReHU_τ(z) is 0 below 0, z²/2 up to τ, and τ(z − τ/2) from there on.

    Parameters
    ----------
    pieces : Pieces
        Of a convex function that has a minimum.

    Returns
    -------
    relu : p, q
    rehu : s, t, tau

    Examples
    --------
    >>> from dcprog.losses import hinge
    >>> relu_parts(hinge().pieces)[0]
    (array([-1.]), array([1.]))
    """
    lowest = _minimiser(pieces)
    relu, rehu = [], []
    for side in (1.0, -1.0):
        f = pieces if side > 0 else _mirrored(pieces)
        start = side * lowest
        edges = np.concatenate([[-np.inf], f.knots, [np.inf]])
        below = 0.0  # the slope up to which the parts so far add
        for k, (a, b) in enumerate(zip(f.quadratic, f.linear, strict=True)):
            left, right = max(edges[k], start), edges[k + 1]
            if right <= start:
                continue
            jump = 2 * a * left + b - below
            if jump > 1e-12 * (1 + abs(b)):
                relu.append((side * jump, -jump * left))
            if a > 0:
                root = np.sqrt(2 * a)
                rehu.append((side * root, -root * left, root * (right - left)))
            below = 2 * a * right + b if np.isfinite(right) else np.inf
    p, q = np.array(relu).reshape(-1, 2).T
    s, t, tau = np.array(rehu).reshape(-1, 3).T
    return (p, q), (s, t, tau)


def _mirrored(f: Pieces) -> Pieces:
    """f(−u)."""
    return Pieces(
        tuple(-x for x in reversed(f.knots)),
        tuple(reversed(f.quadratic)),
        tuple(-b for b in reversed(f.linear)),
        tuple(reversed(f.constant)),
    )


def _minimiser(f: Pieces) -> float:
    """A place where a convex piecewise quadratic is lowest."""
    places = list(f.knots)
    places += [-b / (2 * a) for a, b in zip(f.quadratic, f.linear, strict=True) if a > 0]
    return min(places, key=lambda u: float(f(u)))
