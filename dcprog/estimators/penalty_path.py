"""Paths of penalty weights λ, and λ_max, from which on all penalised coefficients may be 0."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from inspect import signature
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from scipy.optimize import linprog
from sklearn.utils.validation import _get_feature_names

from dcprog.engine.result import Result
from dcprog.estimators.base import ONE, Unit
from dcprog.estimators.parameters import AUTO, part_of
from dcprog.estimators.regressor import SCALES, unit_of
from dcprog.foundation.arrays import Array
from dcprog.foundation.errors import TrivialSolutionWarning
from dcprog.foundation.parameters import (
    ascending,
    check_choice,
    check_count,
    check_number,
    meant,
    names_nearest,
)
from dcprog.foundation.tolerances import FEASIBLE, KNOWN_DIGITS, STATIONARY, TIGHT
from dcprog.losses import Loss, square
from dcprog.losses.compositions import is_of_residuals
from dcprog.penalties import Penalty, l1, l2
from dcprog.penalties.weight import PenaltyWeight
from dcprog.risk.risk import Risk
from dcprog.risk_mm.starts import convex_problem, starts_finite
from dcprog.rows.linear import residual_rows
from dcprog.solving.driver import solve


@dataclass(frozen=True)
class PenaltyFamily:
    """A risk whose penalty has a weight λ.

    Attributes
    ----------
    risk : Risk
        The risk at any one value of λ.
    weight : PenaltyWeight
    unit : Unit
        The unit of the risk's targets.
    """

    risk: Risk
    weight: PenaltyWeight
    unit: Unit = ONE

    @classmethod
    def of(
        cls,
        X: Any,
        y: npt.ArrayLike | None,
        loss: Loss | str | None,
        penalty: Penalty | str | None,
        fit_intercept: bool,
        sample_weight: npt.ArrayLike | None,
        parameter: str | None,
        scale: str | float | None,
    ) -> PenaltyFamily:
        """The family of a risk, or of a risk on the residuals of X and y."""
        if hasattr(X, "spec"):
            raise TypeError(f"X={X!r}: pass the risk that it minimises, estimator.spec(X, y)")
        unit = ONE
        if isinstance(X, Risk):
            if y is not None or loss is not None or sample_weight is not None:
                raise ValueError("a Risk has its own y, loss and sample_weight: pass none")
            if not _is_auto(scale) and scale is not None:
                raise ValueError(f"scale={scale!r}: the residuals of a Risk have its own unit")
            risk = X if penalty is None else X.with_penalty(part_of("penalty", penalty))
        else:
            if y is None:
                raise ValueError("y is missing; without it pass a Risk")
            loss = square() if loss is None else part_of("loss", loss)
            if not is_of_residuals(loss):
                raise ValueError(
                    f"loss={loss!r} is a loss of margins y·f(x), and X with y makes residuals "
                    "y − f(x): pass a Risk, dc.Risk.from_loss(dc.binary_margins(X, y), loss, "
                    "penalty)"
                )
            rows = residual_rows(X, y, fit_intercept)
            penalty = l1() if penalty is None else part_of("penalty", penalty)
            risk = Risk.from_loss(rows, loss, penalty, sample_weight)
            unit = _unit(risk, fit_intercept, scale)
            if unit is not ONE:
                rows = residual_rows(X, unit.of(np.asarray(y, dtype=float)), fit_intercept)
                risk = Risk.from_loss(rows, loss, penalty, sample_weight)
        return cls(risk, PenaltyWeight.of(risk.penalty, parameter), unit)

    def at(self, value: float) -> Risk:
        """The risk at the given value of λ."""
        return self.risk.with_penalty(self.weight.at(value))

    def kinks(self, value: float) -> tuple[Array, list[npt.NDArray[np.intp]] | None]:
        """The slopes of the penalty at 0 for a value of λ, which may be infinite, and its groups.

        There is one slope per coefficient, or per group if there are groups.

        Raises
        ------
        ValueError
            The slopes at 0 are not known, or there are kinks of both coefficients and groups.
        """
        risk = self.at(value)
        size = int(risk.penalized.sum())
        parts = risk.penalty.parts()
        if parts.others or len(parts.groups) > 1:
            raise ValueError(
                f"penalty={self.risk.penalty!r}: its slopes at 0 are not known, nor is λ_max; a "
                "path needs lambdas"
            )
        slopes = np.zeros(size) + parts.l1
        if not risk.penalty.is_convex:
            steep = risk.penalty.weights(np.zeros(size))
            slopes = slopes + (steep if starts_finite(risk) else np.where(steep > 0, np.inf, 0.0))
        if not parts.groups:
            return slopes, None
        if np.any(slopes):
            raise ValueError(f"penalty={risk.penalty!r} has kinks of coefficients and of groups")
        members = parts.groups[0].members(size)
        return np.full(len(members), float(parts.groups[0].lam)), members


def _is_auto(scale: Any) -> bool:
    return isinstance(scale, str) and scale == AUTO


def _unit(risk: Risk, fit_intercept: bool, scale: str | float | None) -> Unit:
    """The unit of the residuals of a risk in the units of y, as RobustRegressor's."""
    several = risk.scores.n_scores > 1
    if _is_auto(scale):
        scale = None if risk.has_convex_losses or several else "mad"
    if scale is None:
        return ONE
    if isinstance(scale, str):
        check_choice("scale", scale, (*SCALES, AUTO))
    else:
        check_number("scale", scale, 0)
    if several:
        raise ValueError(f"scale={scale!r}: σ̂ is that of one target, and y has several; scale=None")
    rows = risk.scores
    targets = np.ravel(np.asarray(risk.offset))
    weights = risk.sample_weight
    return unit_of(
        scale, rows.X, targets, weights, fit_intercept=fit_intercept, moves=fit_intercept
    )


# ----------------------------------------------------------------------------------------------


@names_nearest
def lambda_max(
    X: Any,
    y: npt.ArrayLike | None = None,
    loss: Loss | str | None = None,
    penalty: Penalty | str | None = None,
    *,
    parameter: str | None = None,
    fit_intercept: bool = True,
    sample_weight: npt.ArrayLike | None = None,
    scale: str | float | None = AUTO,
) -> float:
    r"""The smallest λ at which zero coefficients with the best intercepts are stationary.

    With the slopes s_i of the losses at that point, and a penalty whose slope at 0 is λr_j,

    .. math:: \lambda_{\max} = \min_s \max_j |\sum_i s_i a_{ij}| / r_j,

    where s_i lies between the two one-sided slopes of a loss at a kink, as long as the intercepts
    stay stationary; with kinks this is a linear program. For groups, norms ‖·‖ replace |·|. The
    coefficients of a convex fit at a larger λ are 0; a nonconvex objective may have lower points.

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
    parameter : str, optional
        The name of the penalty's parameter λ, as for ``set_params``. By default ``lam``, or ``l1``
        of an elastic net; for sums and multiples that of the first part with a kink at 0. Of a
        penalty without these names λ is a factor: ``own()`` and ``3 * own()`` stand for λ·own().
    fit_intercept : bool, default True
    sample_weight : array of shape (n,), optional
    scale : {"auto", "mad", "s"}, float or None, default "auto"
        The unit σ̂ of residuals and coefficients, as that of :class:`RobustRegressor`: the objective
        has u/σ̂ and w/σ̂ in place of u and w. None counts them in the units of y. ``"auto"`` is
        ``"mad"`` for a nonconvex loss of one target, whose parameters are numbers of σ̂, and None
        otherwise and for a Risk.

    Returns
    -------
    float
        λ_max; 0 if the penalty's slope at 0 is infinite (``lp``), ∞ if coefficients whose slope at
        0 does not depend on λ cannot be stationary at 0.

    Raises
    ------
    TypeError, ValueError
        The data are invalid, the penalty has no kink at 0, the loss takes the maximum over groups
        of rows, or a loss with kinks is combined with a group lasso.

    References
    ----------
    Friedman, Hastie, Tibshirani (2010), Regularization paths for generalized linear models via
    coordinate descent, J. Stat. Softw. 33.

    Examples
    --------
    Objectives are sums: this is 2n times the value for scikit-learn's lasso, which divides the loss
    by 2n.

    >>> import numpy as np
    >>> import dcprog as dc
    >>> X = np.array([[1.0, 0.0], [0.0, 1.0], [-1.0, -1.0]])
    >>> round(dc.lambda_max(X, [1.0, 2.0, 6.0]), 6)
    10.0
    >>> rows = dc.binary_margins(X, [0, 1, 1])
    >>> risk = dc.Risk.from_loss(rows, dc.logistic(), dc.mcp(1.0))
    >>> round(dc.lambda_max(risk), 6)
    1.0
    """
    family = PenaltyFamily.of(X, y, loss, penalty, fit_intercept, sample_weight, parameter, scale)
    return lambda_max_of(family, intercepts_alone(family.risk))


def intercepts_alone(risk: Risk) -> Array:
    """θ with coefficients of 0 and the best intercepts."""
    free = np.flatnonzero(~risk.penalized)
    theta = np.zeros(risk.penalized.size)
    if free.size == 0:
        return theta
    columns = np.column_stack([risk.rows @ unit for unit in np.eye(theta.size)[free]])
    alone = Risk(
        columns,
        risk.base,
        risk.weights,
        risk.groups,
        risk.aggregate,
        risk.transform,
        l2(0.0),
        np.zeros(free.size, dtype=bool),
        sample_weight=risk.sample_weight,
        subtracted=risk.subtracted,
        offset=risk.offset,
    )
    with warnings.catch_warnings():
        # of samples that a model without coefficients gives up: it is no user's choice
        warnings.simplefilter("ignore", TrivialSolutionWarning)
        found = solve(alone, tol=TIGHT).x
    if found is not None:
        theta[free] = found
    return theta


def lambda_max_of(family: PenaltyFamily, theta: Array) -> float:
    """λ_max of a family of risks at a point θ whose coefficients are 0."""
    risk, (low, _), (high, groups) = family.risk, family.kinks(0.0), family.kinks(1.0)
    if not np.any(high):
        raise ValueError(f"{risk.penalty!r} has no kink at 0, hence no λ_max; a path needs lambdas")
    if not np.any(high > low):
        raise ValueError(
            f"parameter={family.weight.name!r} of {risk.penalty!r} moves no slope at 0"
        )
    if risk.aggregate == "max":
        raise ValueError("groups that take the maximum have no λ_max that is known")
    slope, kinks, bounds = _slopes(risk, theta)
    pull = risk.pull(slope)
    if kinks.size == 0:
        sizes = np.abs(pull[risk.penalized])
        if groups is not None:
            sizes = np.array([np.linalg.norm(sizes[group]) for group in groups])
        return _ratio(sizes, low, high)
    if groups is not None:
        raise ValueError("λ_max of a group lasso is known for smooth losses alone")
    return _program(risk, pull, _rows(risk, kinks), bounds, low, high)


def _slopes(risk: Risk, theta: Array) -> tuple[Array, npt.NDArray[np.intp], Array]:
    """The losses' slopes at the margins, the rows at kinks, and bounds (k, 2) of their changes."""
    u, weights = risk.margins(theta), risk.row_weights(risk.slopes(theta))
    slope, tilts = weights * risk.base.slope(u), risk.tilts(theta)
    slope = slope if tilts is None else slope + tilts
    if risk.base.is_smooth:
        return slope, np.empty(0, dtype=np.intp), np.empty((0, 2))
    pieces = risk.base.pieces
    if pieces is None:
        raise ValueError(f"the kinks of {risk.base!r} are not known")
    knots = np.asarray(pieces.knots)
    near = FEASIBLE * (float(np.median(np.abs(u))) + float(np.max(np.abs(knots))) or 1.0)
    place = np.argmin(np.abs(u[:, None] - knots), axis=1)
    kinks = np.flatnonzero((np.abs(u - knots[place]) <= near) & (weights > 0))
    ends = [weights[kinks] * pieces.slope(knots[place[kinks]] + s * near) for s in (-2.0, 2.0)]
    own = weights[kinks] * risk.base.slope(u[kinks])
    return slope, kinks, np.column_stack([end - own for end in ends])


def _rows(risk: Risk, places: npt.NDArray[np.intp]) -> Array:
    """The selected rows as a dense matrix of shape (k, p)."""
    if risk.no_matrix is None:
        return risk.scores.dense_rows(places)
    units = np.eye(risk.rows.shape[0])[places]
    return np.array([risk.pull(unit) for unit in units])


def _ratio(sizes: Array, low: Array, high: Array) -> float:
    """The least t ≥ 0 with sizes ≤ low + t(high − low)."""
    over, gain = np.maximum(sizes - low, 0.0), high - low
    with np.errstate(divide="ignore", invalid="ignore"):
        ratios = np.where(over > 0, over / gain, 0.0)
    return float(np.max(ratios, initial=0.0))


def _program(risk: Risk, pull: Array, rows: Array, bounds: Array, low: Array, high: Array) -> float:
    """The least such t by a linear program over the slopes at kinks; ∞ if it is infeasible."""
    held, gain = risk.penalized, high - low
    finite = np.isfinite(gain)
    A, g = rows.T[held][finite], pull[held][finite]
    within = np.column_stack([np.vstack([A, -A]), -np.tile(gain[finite], 2)])
    right = np.tile(low[finite], 2) + np.concatenate([-g, g])
    size = float(np.max(np.abs(bounds))) * float(np.max(np.abs(rows[:, ~held]), initial=0.0))
    B, slack = rows.T[~held], STATIONARY * size
    loose = np.column_stack([np.vstack([B, -B]), np.zeros(2 * len(B))])
    beside = np.concatenate([slack - pull[~held], slack + pull[~held]])
    found = linprog(
        np.append(np.zeros(len(rows)), 1.0),
        A_ub=np.vstack([within, loose]),
        b_ub=np.concatenate([right, beside]),
        bounds=[*map(tuple, bounds), (0.0, None)],
    )
    return np.inf if found.fun is None else float(found.fun)


# ----------------------------------------------------------------------------------------------

UP = 1 + KNOWN_DIGITS  # λ_max is known up to rounding; the first fit shall be 0
DIRECTIONS = ("down", "up", "both")


class _Fits(NamedTuple):
    lambdas: Array
    coefs: Array
    intercepts: Array
    objectives: Array
    results: tuple[Result, ...]


LISTED = 10  # lines that a legend still tells apart


class PenaltyPath(_Fits):
    """The fits of a penalty path, the largest λ first; a named tuple of all but the scale.

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
    scale : float
        σ̂: results and objectives are those of u/σ̂ and w/σ̂; 1 in the units of y.
    names : tuple of str
        The columns of X, if X is a DataFrame.

    Examples
    --------
    >>> import numpy as np, dcprog as dc
    >>> X = np.random.default_rng(0).normal(size=(30, 4))
    >>> dc.penalty_path(X, X[:, 0], dc.square(), dc.mcp(1.0, 3.0), n_lambdas=5).coefs.shape
    (4, 5)
    """

    scale: float = 1.0
    names: tuple[str, ...] = ()

    def plot(self, ax: Any = None) -> Any:
        """Plot the coefficients against λ, which falls from left to right.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            By default those of a new figure.

        Returns
        -------
        matplotlib Axes
            With one line for each coefficient that is not 0 everywhere, labelled by the columns of
            X, or x0, x1, …. Up to ten lines have a legend; ``legend()`` draws one of more.

        Raises
        ------
        ImportError
            matplotlib is not installed.
        TypeError
            `ax` is something else.

        Examples
        --------
        >>> import numpy as np, dcprog as dc
        >>> from matplotlib.figure import Figure
        >>> X = np.random.default_rng(0).normal(size=(30, 4))
        >>> path = dc.penalty_path(X, X[:, 0], n_lambdas=5)
        >>> path.plot(ax=Figure().subplots()).get_xlabel()
        'λ'
        """
        from dcprog.display.canvas import axes, legend  # needs matplotlib

        ax = axes(ax)
        lines = self.coefs.reshape(-1, len(self.lambdas))
        names = self.names or [f"x{j}" for j in range(self.coefs.shape[-2])]
        for place in np.flatnonzero(np.any(lines != 0, axis=1)):
            score, feature = divmod(place, len(names))
            of_score = f", score {score}" if self.coefs.ndim == 3 else ""
            ax.plot(self.lambdas, lines[place], label=names[feature] + of_score)
        if np.all(self.lambdas > 0):
            ax.set_xscale("log")
        ax.set(xlabel="λ", ylabel="coefficients")
        ax.invert_xaxis()
        if 0 < len(ax.lines) <= LISTED:
            legend(ax)
        return ax

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
    scale: str | float | None = AUTO,
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
    scale : {"auto", "mad", "s"}, float or None, default "auto"
        The unit σ̂ of residuals and coefficients, as that of :class:`RobustRegressor`: the objective
        has u/σ̂ and w/σ̂ in place of u and w. None counts them in the units of y. ``"auto"`` is
        ``"mad"`` for a nonconvex loss of one target, whose parameters are numbers of σ̂, and None
        otherwise and for a Risk.
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
        Named tuple (lambdas, coefs, intercepts, objectives, results), and the scale.

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
    family = PenaltyFamily.of(X, y, loss, penalty, fit_intercept, sample_weight, parameter, scale)
    _check(options)
    if direction is None:
        is_convex = family.risk.has_convex_losses and family.risk.penalty.is_convex
        direction = "down" if is_convex else "both"
    check_choice("direction", direction, DIRECTIONS)
    empty = intercepts_alone(family.risk)
    values = _values(family, empty, lambdas, n_lambdas, eps)
    risks = [family.at(float(value)) for value in values]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", TrivialSolutionWarning)  # expected at large λ
        results = _results(risks, empty, direction, {"n_starts": 1, **options})
    path = _path(family, values, results)
    path.names = tuple(names) if (names := _get_feature_names(X)) is not None else ()
    return path


def _check(options: dict[str, Any]) -> None:
    """Raise an error for `start` and for options that :func:`solve` does not have."""
    if "start" in options:
        raise ValueError("start: a path has its own starts; choose its direction")
    for name in options:
        if name not in signature(solve).parameters:
            known = {**signature(penalty_path).parameters, **signature(solve).parameters}
            told = meant(name, known.keys() - {"options"})
            raise TypeError(f"penalty_path() and dc.solve() have no parameter {name!r}: {told}")


def _values(
    family: PenaltyFamily, empty: Array, lambdas: npt.ArrayLike | None, n_lambdas: int, eps: float
) -> Array:
    """The values of λ in decreasing order."""
    if lambdas is not None:
        return ascending("lambdas", lambdas, zero=True)[::-1]
    check_count("n_lambdas", n_lambdas, 1)
    check_number("eps", eps, 0, 1)
    if not family.risk.has_convex_losses:  # they may give up all samples that favour w ≠ 0
        convex = _convex(family.risk)
        family, empty = PenaltyFamily(convex, family.weight), intercepts_alone(convex)
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


def _path(family: PenaltyFamily, values: Array, results: list[Result]) -> PenaltyPath:
    risk, unit = family.risk, family.unit
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
    coefs = unit.size * np.moveaxis(coefs, 0, -1)
    intercepts = unit.size * intercepts.T + unit.middle
    path = PenaltyPath(values, coefs, intercepts, objectives, tuple(results))
    path.scale = unit.size
    return path
