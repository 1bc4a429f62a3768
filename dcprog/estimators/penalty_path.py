"""Fits along a path of penalty weights, each warm-started from the previous solution."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from inspect import signature
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from dcprog.engine.result import Result
from dcprog.estimators.lambda_max import intercepts_alone, lambda_max_of
from dcprog.estimators.penalty_family import PenaltyFamily
from dcprog.foundation.arrays import Array
from dcprog.foundation.errors import TrivialSolutionWarning
from dcprog.foundation.parameters import check_count, check_number
from dcprog.losses import Loss
from dcprog.penalties import Penalty
from dcprog.risk.risk import Risk
from dcprog.risk_mm.usual_sizes import convex_problem
from dcprog.solving.driver import solve

__all__ = ["PenaltyPath", "penalty_path"]

UP = 1 + 1e-9  # λ_max is known up to rounding; the first fit shall be 0
DIRECTIONS = ("down", "up", "both")


class PenaltyPath(NamedTuple):
    """The fits of a penalty path, the largest λ first.

    Attributes
    ----------
    lambdas : array of shape (k,)
        The values of λ in decreasing order.
    coefs : array of shape (d, k), or (c, d, k) for c scores
        The coefficients; θ itself if the rows are not scores of samples.
    intercepts : array of shape (k,), or (c, k)
        The intercepts, 0 where none are fitted.
    objectives : array of shape (k,)
        The values of F, recomputed in NumPy.
    results : tuple of Result

    Examples
    --------
    >>> import numpy as np, dcprog as dc
    >>> X = np.random.default_rng(0).normal(size=(30, 4))
    >>> dc.penalty_path(X, X[:, 0], dc.square(), dc.mcp(1.0, 3.0), n_lambdas=5).coefs.shape
    (4, 5)
    """

    lambdas: Array
    coefs: Array
    intercepts: Array
    objectives: Array
    results: tuple[Result, ...]

    def __repr__(self) -> str:
        ends = f"{self.lambdas[0]:.3g} to {self.lambdas[-1]:.3g}"
        return f"PenaltyPath({len(self.lambdas)} fits, λ from {ends})"


def penalty_path(
    X: Any,
    y: npt.ArrayLike | None = None,
    loss: Loss | str | None = None,
    penalty: Penalty | str | None = None,
    *,
    lambdas: npt.ArrayLike | None = None,
    n_lambdas: int = 50,
    eps: float = 1e-2,
    parameter: str | None = None,
    fit_intercept: bool = True,
    sample_weight: npt.ArrayLike | None = None,
    direction: str | None = None,
    **options: Any,
) -> PenaltyPath:
    r"""Minimise Σ s_i loss(u_i) + penalty_λ(w) for a sequence of λ, with warm starts.

    Every fit starts from the previous solution. Sums of squares under ``l1``, concave penalties and
    ``l2`` also keep their working set and its Gram matrix from one λ to the next.

    Parameters
    ----------
    X : Risk, or array or sparse matrix of shape (n, d)
        A risk for classification, weights or several scores; its penalty may have any λ.
    y : array of shape (n,) or (n, c), optional
        Targets of residuals.
    loss : str or Loss, optional
        The loss of the residuals; ``square()`` by default.
    penalty : str or Penalty, optional
        ``l1()`` by default, or the risk's own.
    lambdas : array, optional
        The values of λ, at least 0, in any order. By default `n_lambdas` values from
        :func:`lambda_max` down to `eps` times it, evenly on a logarithmic scale; for nonconvex
        losses from the λ_max of their convex bases.
    n_lambdas : int, default 50
        The number of values if `lambdas` is not given.
    eps : float, default 1e-2
        The ratio of the smallest to the largest value, between 0 and 1.
    parameter : str, optional
        The name of the penalty's parameter λ, as for ``set_params``; see :func:`lambda_max`.
    fit_intercept : bool, default True
    sample_weight : array of shape (n,), optional
    direction : {"down", "up", "both"}, optional
        ``"down"`` goes from large λ to small, starting from zero coefficients; ``"up"`` from small
        to large, starting from the convex problem's solution; ``"both"`` goes down and then up, and
        keeps the lower fit for each λ. By default ``"down"`` if F is convex, otherwise ``"both"``:
        going down alone, fits that are critical at 0 stay there. ``"both"`` is never worse than
        ``"down"`` and takes twice its time; other libraries go down.
    **options
        Options of :func:`solve` for every fit, such as ``tol``, ``solver``, ``max_iter`` and
        ``escape``.

    Returns
    -------
    PenaltyPath
        Named tuple (lambdas, coefs, intercepts, objectives, results).

    Raises
    ------
    TypeError, ValueError
        The data or options are invalid, or λ_max is unknown and `lambdas` is not given.

    See Also
    --------
    lambda_max : The largest λ of a default path.

    References
    ----------
    Friedman, Hastie, Tibshirani (2010), Regularization paths for generalized linear models via
    coordinate descent, J. Stat. Softw. 33. Breheny, Huang (2011), Coordinate descent algorithms for
    nonconvex penalized regression, Ann. Appl. Stat. 5.

    Examples
    --------
    >>> import numpy as np
    >>> import dcprog as dc
    >>> rng = np.random.default_rng(0)
    >>> X = rng.standard_normal((50, 200))
    >>> y = X[:, :3] @ [3.0, -2.0, 1.0] + 0.1 * rng.standard_normal(50)
    >>> path = dc.penalty_path(X, y, penalty=dc.mcp(1.0, 3.0 / 50), n_lambdas=10)
    >>> path
    PenaltyPath(10 fits, λ from 311 to 3.11)
    >>> np.count_nonzero(path.coefs, axis=0)
    array([0, 2, 2, 2, 3, 3, 3, 3, 3, 4])
    """
    family = PenaltyFamily.of(X, y, loss, penalty, fit_intercept, sample_weight, parameter)
    _check(options)
    if direction is None:
        is_convex = family.risk.has_convex_losses and family.risk.penalty.is_convex
        direction = "down" if is_convex else "both"
    if direction not in DIRECTIONS:
        raise ValueError(f"direction={direction!r}: choose one of {DIRECTIONS}, or None")
    empty = intercepts_alone(family.risk)
    values = _values(family, empty, lambdas, n_lambdas, eps)
    risks = [family.at(float(value)) for value in values]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", TrivialSolutionWarning)  # expected at large λ
        results = _results(risks, empty, direction, {"n_starts": 1, **options})
    return _path(family.risk, values, results)


def _check(options: dict[str, Any]) -> None:
    """Raise an error for `start` and for options that :func:`solve` does not have."""
    if "start" in options:
        raise ValueError("start: a path has its own starts; choose its direction")
    for name in options:
        if name not in signature(solve).parameters:
            raise TypeError(f"{name} is no option of dc.solve")


def _values(
    family: PenaltyFamily, empty: Array, lambdas: npt.ArrayLike | None, n_lambdas: int, eps: float
) -> Array:
    """The values of λ in decreasing order."""
    if lambdas is not None:
        values = np.atleast_1d(np.asarray(lambdas, dtype=float))
        if values.ndim != 1 or values.size == 0 or not np.all(np.isfinite(values) & (values >= 0)):
            raise ValueError(f"lambdas={lambdas!r}: finite numbers of at least 0 are needed")
        return np.sort(values)[::-1]
    check_count("n_lambdas", n_lambdas, 1)
    check_number("eps", eps, 0, 1)
    if not family.risk.has_convex_losses:  # they may give up all samples that favour w ≠ 0
        convex = _convex(family.risk)
        family, empty = PenaltyFamily(convex, family.parameter), intercepts_alone(convex)
    largest = lambda_max_of(family, empty)
    if not 0 < largest < np.inf:
        raise ValueError(f"λ_max is {largest:g}: pass lambdas")
    return UP * largest * np.geomspace(1.0, eps, n_lambdas)


def _convex(risk: Risk) -> Risk:
    """The risk with the convex base losses in place of its nonconvex losses."""
    return Risk(
        risk.rows,
        risk.base,
        risk.weights,
        risk.groups,
        risk.aggregate,
        penalty=risk.penalty,
        penalized=risk.penalized,
        sample_weight=convex_problem(risk).weights,
        offset=risk.offset,
    )


def _results(
    risks: list[Risk], empty: Array, direction: str, options: dict[str, Any]
) -> list[Result]:
    if direction == "up":
        return list(_swept(risks[::-1], "convex", options))[::-1]
    results = list(_swept(risks, empty, options))
    if direction == "down":
        return results
    start: Any = "convex"
    for k in reversed(range(len(risks))):
        other = solve(risks[k], start=start, **options)
        results[k] = other if other.value < results[k].value else results[k]
        start = "convex" if results[k].x is None else results[k].x
    return results


def _swept(risks: list[Risk], start: Any, options: dict[str, Any]) -> Iterator[Result]:
    """Yield the fits of the risks in order, each started from the previous solution."""
    for risk in risks:
        result = solve(risk, start=start, **options)
        yield result
        start = start if result.x is None else result.x


def _path(risk: Risk, values: Array, results: list[Result]) -> PenaltyPath:
    missing = np.full(risk.penalized.size, np.nan)
    points = [missing if result.x is None else result.x for result in results]
    objectives = np.array([result.value for result in results])
    if risk.no_matrix is not None:
        coefs, intercepts = np.array(points), np.zeros((len(points), 1))
    else:
        pairs = [risk.scores.unpack(x) for x in points]
        coefs, intercepts = (np.array(part) for part in zip(*pairs, strict=True))
        coefs = coefs[:, 0] if coefs.shape[1] == 1 else coefs
    intercepts = intercepts[:, 0] if intercepts.shape[1] == 1 else intercepts
    return PenaltyPath(values, np.moveaxis(coefs, 0, -1), intercepts.T, objectives, tuple(results))
