"""The registry of solvers and the choice of one for a risk."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

from dcprog.losses import ConvexLoss
from dcprog.risk.risk import Risk
from dcprog.solvers.conic.compiled import check_solver
from dcprog.solvers.conic.reference import ReferenceSolver
from dcprog.solvers.kernel.smo import SmoSolver
from dcprog.solvers.piecewise.dual_coordinate import DualCoordinateSolver
from dcprog.solvers.piecewise.interior import InteriorSolver
from dcprog.solvers.piecewise.pivoting import PivotingSolver
from dcprog.solvers.piecewise.simplex import SimplexSolver
from dcprog.solvers.protocol import ExactSolver, SubproblemSolver, Takes, properties
from dcprog.solvers.smooth.multipliers import MultipliersSolver
from dcprog.solvers.smooth.newton import NewtonSolver
from dcprog.solvers.smooth.proximal_newton import ProximalNewtonSolver, is_large_sparse

SOLVERS: dict[str, type[SubproblemSolver]] = {
    "newton": NewtonSolver,
    "proximal_newton": ProximalNewtonSolver,
    "smo": SmoSolver,
    "dual_coordinate": DualCoordinateSolver,
    "multipliers": MultipliersSolver,
    "pivoting": PivotingSolver,
    "simplex": SimplexSolver,
    "interior": InteriorSolver,
    "cvxpy": ReferenceSolver,
}
OWN = frozenset(SOLVERS)
REFERENCE = "cvxpy"
# Sizes at which another solver becomes the fastest, read off the table of bench_solvers.
MANY_ROWS = 200_000  # rows from which few exact passes, by Newton's method, pay most
SHORT, SHORT_COLUMNS = 100, 30  # at most rows and at least columns where HiGHS leads
NARROW, SMALL = 60, 200_000  # columns, and numbers in the matrix, up to which pivoting leads
# Times the knot by which a dual variable at its bound may move its sample's margin where dual
# coordinates lead on hinges: 3 to 17 × on seven sizes, 1000 × 300 to 20,000 × 50, at 5 to 50.
MOST_MOVED = 30
TALL = 100  # samples a column from which the method of multipliers leads
PATIENCE = 100.0  # seconds that a fallback of cvxpy's may take, which no time limit interrupts
SPARSE_SHORT = 1000  # at most rows where HiGHS leads on sparse X of more than LARGE columns
CONTRACT = ("refusal", "minimise", "value")  # the first only without `takes`


# What is said of a risk for which a word of `Takes` does not hold.
REASONS = {
    "any": "",
    "piecewise linear": "its base is {risk.base!r}, not piecewise linear",
    "kinked": "its base is {risk.base!r}, not piecewise linear with a kink",
    "piecewise quadratic": "its base is {risk.base!r}, not piecewise quadratic and linear",
    "parabola": "its base is {risk.base!r}, which is no parabola",
    "smooth": "its base is {risk.base!r}, whose slope jumps{undeclared}",
    "expression": "its base {risk.base!r} has no cvxpy expression",
    "one score": "its samples have several scores, at which too many kinks meet",
    "margins": "its rows are not margins or residuals",
    "one margin": "its rows are not margins or residuals of one score",
    "kernel": "its rows are not those of a kernel machine with one score",
    "samples": "its maxima are not over the rows of a sample",
    "sums": "its groups take the maximum",
    "rows": "its groups have several rows",
    "coefficients": "only a part of the coefficients or of the intercepts is penalised",
    "no intercept": "an intercept is penalised, or a coefficient is not",
    "a free intercept": "it has no free intercept, or a coefficient is not penalised",
    "written": "its penalty {risk.penalty!r} has no cvxpy expression",
    "l1 and l2": "its penalty is {risk.penalty!r}, not made of l1, l2 and concave ones",
    "sparse": "its penalty is {risk.penalty!r}; an l1 or concave part is needed, beside l2 at most",
    "linear": "its penalty is {risk.penalty!r}, which is not linear",
    "ridge": "its penalty is {risk.penalty!r}, not l2 with a positive lam",
}


def refusal(
    solver: type[SubproblemSolver], risk: Risk, holds: dict[str, bool] | None = None
) -> str | None:
    """The reason why a solver cannot solve a risk, from the data that it states; None if it can.

    `holds` are the :func:`properties` of the risk, if they are known.
    """
    takes: Takes | None = getattr(solver, "takes", None)
    if risk.by_blocks and not _takes_blocks(solver):
        return "it works on all of X at once, which is read by blocks"
    if takes is not None:
        if risk.no_matrix is not None:
            return risk.no_matrix
        missed = takes.missed(risk, holds)
        if missed:
            undeclared = ", or which does not declare is_smooth = True"
            return REASONS[missed[0]].format(
                risk=risk, undeclared=undeclared if risk.base.pieces is None else ""
            )
        n, p = risk.rows.shape
        if n * p > takes.numbers:
            return "its matrix takes too much memory"
        if min(n, p) > takes.unknowns:
            return f"its systems have {min(n, p)} unknowns, more than {takes.unknowns}"
    own = getattr(solver, "refusal", None)
    return None if own is None else own(risk)


def register_solver(name: str, solver: type[SubproblemSolver]) -> None:
    """Register a solver of subproblems, which is chosen for every risk that it takes.

    Parameters
    ----------
    name : str
        The name for ``solver=``, :func:`explain_choice` and results.
    solver : class
        A class constructed with a risk. It has ``takes``, the risks that it takes as
        :class:`~dcprog.solvers.protocol.Takes`, or ``refusal(risk)``, the reason why it does not
        take a risk or None, or both; ``on_request``, the reason why it is not chosen unless named
        or None; ``minimise(problem, start, tolerance, time_limit)`` and
        ``value(problem, theta, centre)`` as in
        :class:`~dcprog.solvers.protocol.SubproblemSolver`. A subclass of
        :class:`~dcprog.solvers.protocol.ExactSolver` needs only the first and
        ``minimiser(problem, start, tolerance, deadline)``. The solver registered last is tried
        first, the library's own follow where it fails.

    Raises
    ------
    TypeError
        The name is not a string, or the class is not a solver.
    ValueError
        The name is that of another registered solver or of a cvxpy solver, or ``takes`` holds a
        word that :class:`~dcprog.solvers.protocol.Takes` does not list.

    Examples
    --------
    >>> import numpy as np
    >>> import dcprog as dc
    >>> from dcprog.solvers.protocol import ExactSolver, Solution
    >>> from dcprog.solvers.registry import SOLVERS
    >>> class Closed(ExactSolver):  # Σ d(1 − θ)² + (λ/2)θ² of one coefficient
    ...     def __init__(self, risk):
    ...         pass
    ...     @staticmethod
    ...     def refusal(risk):
    ...         one = repr(risk.base) == "square(at=1.0)" and np.all(risk.matrix() == 1)
    ...         return None if one else "it is not (1 − θ)²"
    ...     def minimiser(self, problem, start, tolerance, deadline):
    ...         heavy, lam = 2 * problem.weights.sum(), problem.penalty_weights[1]
    ...         theta = heavy / (lam + heavy)
    ...         return Solution(theta, None, problem.value(theta))
    >>> dc.register_solver("closed", Closed)
    >>> dc.solve(dc.Risk(np.ones((4, 1)), dc.square(at=1.0))).solver
    'closed'
    >>> del SOLVERS["closed"]
    """
    if not isinstance(name, str):
        raise TypeError(f"name={name!r}: a string is needed")
    takes = getattr(solver, "takes", None)
    needed = CONTRACT[takes is not None :]
    missing = [part for part in needed if not callable(getattr(solver, part, None))]
    if getattr(solver, "minimiser", None) is ExactSolver.minimiser:
        missing += ["minimise"] if solver.minimise is ExactSolver.minimise else []
    missing += [] if hasattr(solver, "on_request") else ["on_request"]
    if not isinstance(solver, type) or missing:
        lacks = f"; it has no {', '.join(missing)}" if missing else ""
        raise TypeError(f"solver={solver!r}: the class of a SubproblemSolver is needed{lacks}")
    if name in SOLVERS or name == "auto" or _is_of_cvxpy(name):
        raise ValueError(f"name={name!r} is taken")
    unknown = [] if takes is None else [word for word in takes.words if word not in REASONS]
    if unknown:
        raise ValueError(f"takes={takes!r}: {unknown} is none of {list(REASONS)}")
    SOLVERS[name] = solver


def registered() -> dict[str, type[SubproblemSolver]]:
    """The user-registered solvers by name, which must be passed to other processes."""
    return {name: solver for name, solver in SOLVERS.items() if name not in OWN}


def _is_of_cvxpy(name: str) -> bool:
    try:
        return bool(check_solver(name))
    except ValueError:
        return False


def _ordered(risk: Risk) -> list[str]:
    """The automatic choices for a risk: registered solvers, the rule's order, and the reference."""
    names = (*reversed(registered()), *_by_size(risk), REFERENCE)
    holds = None if risk.no_matrix is not None else properties(risk)
    return [name for name in names if _verdict(name, risk, holds) is None]


def _by_size(risk: Risk) -> tuple[str, ...]:
    """The library's solvers, the fastest of those that take a risk first.

    The rule and its sizes are read off the table of ``benchmarks/bench_solvers.py``.
    """
    known = risk.no_matrix is None
    n, p = risk.scores.X.shape if known else risk.rows.shape
    kernel = known and risk.scores.kernel is not None
    sparse = known and sp.issparse(risk.scores.X)
    large, tall, ridge = n * p > SMALL, n >= TALL * p, risk.penalty.parts().ridge_alone
    first: tuple[str, ...] = ()
    if kernel:
        first = ("smo", "multipliers")
    elif p <= min(n, NARROW) and not large:
        first = ("pivoting",)
    elif ridge and not (tall and n >= MANY_ROWS) and _ends_at_bounds(risk):
        first = ("dual_coordinate", "multipliers" if tall else "interior")
    elif ridge and tall:
        first = ("multipliers",)
    elif large and (sparse or p >= n):
        first = ("dual_coordinate",)
    if _is_short(risk) and p >= SHORT_COLUMNS:
        first = ("simplex", *first)
    single_columns = known and is_large_sparse(risk)
    smooth: tuple[str, ...] = ("newton", "proximal_newton")
    if large and p >= n and not kernel and (sparse or _has_knots(risk)):
        smooth = ("dual_coordinate", *smooth)
    elif n >= MANY_ROWS:
        smooth = ("proximal_newton", "newton")
    if single_columns:
        first = (*first, "dual_coordinate", "multipliers")
    rest = ("interior", "multipliers", "dual_coordinate", "simplex", "pivoting")
    return tuple(dict.fromkeys((*smooth, *first, *rest)))


def _ends_at_bounds(risk: Risk) -> bool:
    """True if a dual variable at its bound moves its sample's margin by few times the knot.

    A dual variable α of a sample moves its margin by α‖x‖²/λ, and ends at a knot or at its bound,
    the sample's weight times the loss's steepest slope. Where bounds are nearer, few epochs do.
    """
    pieces = risk.base.pieces
    if risk.by_blocks or risk.no_matrix is not None or pieces is None or not pieces.knots:
        return False
    X: Any = risk.scores.X
    numbers = X.ravel(order="K") if isinstance(X, np.ndarray) else X.data
    slope = float(np.max(risk.transform.slope(np.zeros(risk.n_groups))))  # φ is steepest at 0
    most = slope * float(np.mean(risk.factors) * np.mean(risk.shares))
    most *= max(map(abs, pieces.slopes()))
    moved = most * float(numbers @ numbers) / (X.shape[0] * risk.penalty.parts().ridge)
    return moved <= MOST_MOVED * max(map(abs, pieces.knots))


def _has_knots(risk: Risk) -> bool:
    return risk.base.pieces is not None and len(risk.base.pieces.knots) > 0


def _is_short(risk: Risk) -> bool:
    """True if the linear program of a risk has few rows, one a sample and slanted piece."""
    pieces = risk.base.pieces
    slanted = 0 if pieces is None else sum(slope != 0 for slope in pieces.linear)
    large = risk.no_matrix is None and is_large_sparse(risk)
    most = SPARSE_SHORT if large else SHORT
    return slanted * risk.rows.shape[0] <= most


def _verdict(name: str, risk: Risk, holds: dict[str, bool] | None = None) -> str | None:
    """The reason why a solver is not chosen automatically, None if it may be."""
    solver = SOLVERS[name]
    reason = refusal(solver, risk, holds)
    if reason is None and solver.on_request is not None:
        return f"{solver.on_request}; on request only"
    if reason is None and name == REFERENCE and ReferenceSolver.seconds(risk) > PATIENCE:
        return _left_to_others(risk)
    return reason


def _left_to_others(risk: Risk) -> str | None:
    """The reason why cvxpy is not begun on large rows, None if no other solver takes them."""
    others = [name for name in SOLVERS if name != REFERENCE and _verdict(name, risk) is None]
    slow = f"it would take some {ReferenceSolver.seconds(risk):.0f} s and much memory"
    return f"{slow}; {others[0]!r} takes this risk; on request only" if others else None


def choose(risk: Risk, solver: str | None = None) -> tuple[str, ...]:
    """The names of solvers for a risk, best first.

    Parameters
    ----------
    risk : Risk
    solver : str, optional
        A name of ``SOLVERS`` or of a cvxpy solver, which is then the only one; ``"auto"`` or None
        for all automatic choices, the one estimated to be the fastest first.

    Returns
    -------
    tuple of str

    Raises
    ------
    ValueError
        The solver is unknown or cannot solve the risk, or no solver can.
    """
    if solver is None or solver == "auto":
        names = tuple(_ordered(risk))
        if not names:
            raise ValueError(_nobody(risk))
        return names
    name = solver
    wanted: type[SubproblemSolver] | None = SOLVERS.get(solver)
    if wanted is None:
        name, wanted = str(check_solver(solver, ("auto", *SOLVERS))), ReferenceSolver
    reason = refusal(wanted, risk)
    if reason is not None:
        raise ValueError(f"solver={solver!r} cannot take this risk: {reason}")
    return (name,)


def _nobody(risk: Risk) -> str:
    """The message that no solver can solve a risk, with reasons."""
    if not risk.by_blocks:
        return f"no solver takes this risk{_undeclared(risk.base)}:\n{explain_choice(risk)}"
    able = [name for name, solver in SOLVERS.items() if _takes_blocks(solver)]
    reasons = "\n".join(f"{name}: not chosen: {_verdict(name, risk)}" for name in able)
    return (
        "X is read by blocks, and no solver that works so takes this risk: have a loss with a "
        "continuous slope, such as squared_hinge() or huber(), or margins and residuals with an "
        f"l2 penalty, or read all of X into memory by np.asarray(X)\n{reasons}"
    )


def _undeclared(loss: ConvexLoss) -> str:
    """The end of a message on a loss of value and slope alone: the declaration it may lack."""
    if loss.is_smooth or loss.has_expression or loss.pieces is not None or loss.made_of:
        return ""
    return (
        f"; if the slope of {loss!r} is continuous, set is_smooth = True in its class, and "
        "otherwise define expression(u) for cvxpy"
    )


def _takes_blocks(solver: type[SubproblemSolver]) -> bool:
    takes: Takes | None = getattr(solver, "takes", None)
    return takes is not None and takes.blocks


def witnesses(risk: Risk, chosen: tuple[str, ...]) -> tuple[str, ...]:
    """The chosen solvers, followed by the other automatic choices.

    Parameters
    ----------
    risk : Risk
    chosen : tuple of str

    Returns
    -------
    tuple of str
        The solvers that may confirm a result of a chosen one.
    """
    if len(chosen) > 1:
        return chosen  # an automatic choice already contains all
    return tuple(dict.fromkeys((*chosen, *_ordered(risk))))


def make(name: str, risk: Risk) -> SubproblemSolver:
    """Construct the named solver for a risk."""
    if name in SOLVERS:
        return SOLVERS[name](risk)
    return ReferenceSolver(risk, name)


def is_exact(name: str) -> bool:
    """True if a solver minimises the weighted risk itself and not a majorant of it."""
    return issubclass(SOLVERS.get(name, ReferenceSolver), ExactSolver)


def loosest(name: str, risk: Risk) -> float:
    """The loosest tolerance of a solver's steps far from the end; 0 for the final tolerance."""
    solver = SOLVERS.get(name, ReferenceSolver)
    return solver.loosest(risk) if issubclass(solver, ExactSolver) else 0.0


def explain_choice(risk: Risk) -> str:
    """Explain which solver is chosen for a risk, the fallbacks, and why others are excluded.

    Parameters
    ----------
    risk : Risk

    Returns
    -------
    str
        One line per solver.

    Raises
    ------
    TypeError
        The argument is not a risk.

    Examples
    --------
    >>> import numpy as np
    >>> from dcprog.losses import cap, hinge
    >>> from dcprog.risk.risk import Risk
    >>> from dcprog.solvers.registry import explain_choice
    >>> risk = Risk.from_loss(np.ones((30, 3)), cap(hinge(), 1.0))
    >>> said = dict(line.split(": ", 1) for line in explain_choice(risk).splitlines())
    >>> for name in ("pivoting", "multipliers", "cvxpy", "newton", "simplex", "smo"):
    ...     print(f"{name}: {said[name]}")
    pivoting: chosen
    multipliers: takes over where those above fail
    cvxpy: takes over where those above fail
    newton: not chosen: its base is hinge(), whose slope jumps
    simplex: not chosen: its penalty is l2(), which is not linear
    smo: not chosen: its rows are not those of a kernel machine with one score
    """
    if not (hasattr(risk, "base") and hasattr(risk, "rows")):
        told = "explain a cvxpy problem by dc.explain, a fitted estimator by its spec_"
        raise TypeError(f"risk={risk!r}: a Risk is needed; {told}")
    order = _ordered(risk)
    lines = [f"{name}: takes over where those above fail" for name in order]
    lines[:1] = [f"{name}: chosen" for name in order[:1]]
    others = [name for name in SOLVERS if name not in order]
    lines += [f"{name}: not chosen: {_verdict(name, risk)}" for name in others]
    return "\n".join(lines)
