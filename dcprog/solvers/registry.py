"""Which solver takes a risk's subproblems: chosen by base loss, penalty, rows and size."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dcprog.solvers.conic.compiled import check_solver
from dcprog.solvers.conic.conic import ConicSolver
from dcprog.solvers.kernel.dual_qp import DualQpSolver
from dcprog.solvers.kernel.libsvm import LibsvmSolver
from dcprog.solvers.kernel.smo import FirstOrderSmoSolver, SmoSolver
from dcprog.solvers.piecewise.interior import InteriorSolver
from dcprog.solvers.piecewise.simplex import SimplexSolver
from dcprog.solvers.protocol import ExactSolver, SubproblemSolver
from dcprog.solvers.published.alternating import AlternatingSolver
from dcprog.solvers.published.alternating_linearization import AlternatingLinearizationSolver
from dcprog.solvers.published.coordinate import CoordinateSolver
from dcprog.solvers.smooth.least_squares import LeastSquaresSolver
from dcprog.solvers.smooth.multipliers import MultiplierSolver
from dcprog.solvers.smooth.newton import NewtonSolver
from dcprog.solvers.smooth.newton_armijo import NewtonArmijoSolver
from dcprog.solvers.smooth.proximal_newton import ProximalNewtonSolver

if TYPE_CHECKING:
    from dcprog.risk.risk import Risk

__all__ = ["SOLVERS", "choose", "explain_choice", "is_exact", "make", "witnesses"]

# By name, in the order in which they are preferred; the last one is the reference path.
SOLVERS: dict[str, type[SubproblemSolver]] = {
    "least_squares": LeastSquaresSolver,
    "newton_armijo": NewtonArmijoSolver,
    "newton": NewtonSolver,
    "proximal_newton": ProximalNewtonSolver,
    "smo": SmoSolver,
    "smo_first_order": FirstOrderSmoSolver,
    "libsvm": LibsvmSolver,
    "dual_qp": DualQpSolver,
    "multipliers": MultiplierSolver,
    "simplex": SimplexSolver,
    "interior": InteriorSolver,
    "coordinate": CoordinateSolver,
    "alternating_linearization": AlternatingLinearizationSolver,
    "alternating": AlternatingSolver,
    "cvxpy": ConicSolver,
}
ON_REQUEST = {
    "smo_first_order": "it takes more and dearer steps than smo; on request only",
    "libsvm": "smo starts from the last solution and is faster from the second step on; "
    "on request only",
    "dual_qp": "a general solver is slower than smo on the same dual; on request only",
    "coordinate": "it is slow where the penalty is light; on request only",
    "alternating_linearization": "its gap closes slowly; on request only",
    "alternating": "it minimises a coarser majorant; on request only",
}
# The simplex method is the fastest on so many rows; on more its first solve takes too long.
SIMPLEX_ROWS = 400


def _ordered(risk: Risk) -> list[str]:
    """The solvers that are chosen by themselves, best first."""
    names = [name for name in SOLVERS if _verdict(name, risk) is None]
    late = "simplex" if risk.rows.shape[0] > SIMPLEX_ROWS else ""
    return sorted(names, key=lambda name: (name == late) + 2 * (name == "cvxpy"))


def _verdict(name: str, risk: Risk) -> str | None:
    """Why a solver is not chosen by itself, None if it is."""
    return SOLVERS[name].refusal(risk) or ON_REQUEST.get(name)


def choose(risk: Risk, solver: str | None = None) -> tuple[str, ...]:
    """Names of solvers for a risk, best first.

    Parameters
    ----------
    risk : Risk
    solver : str, optional
        A name of ``SOLVERS`` or of a cvxpy solver, which is then the only one; ``"auto"`` or None
        for the fastest that takes the risk, with the others behind it.

    Returns
    -------
    tuple of str

    Raises
    ------
    ValueError
        The solver is unknown or cannot take the risk, or none can.
    """
    if solver is None or solver == "auto":
        names = tuple(_ordered(risk))
        if not names:
            raise ValueError(f"no solver takes this risk:\n{explain_choice(risk)}")
        return names
    name, wanted = solver, SOLVERS.get(solver)
    if wanted is None:
        try:
            name, wanted = str(check_solver(solver)), ConicSolver
        except ValueError as error:
            raise ValueError(
                f"{error}; for a risk also one of 'auto', {', '.join(map(repr, SOLVERS))}"
            ) from None
    reason = wanted.refusal(risk)
    if reason is not None:
        raise ValueError(f"solver={solver!r} cannot take this risk: {reason}")
    return (name,)


def witnesses(risk: Risk, chosen: tuple[str, ...]) -> tuple[str, ...]:
    """The chosen solvers, and behind them the others that would be chosen by themselves.

    Parameters
    ----------
    risk : Risk
    chosen : tuple of str

    Returns
    -------
    tuple of str
        Who may confirm what one of the chosen says.
    """
    return tuple(dict.fromkeys((*chosen, *_ordered(risk))))


def make(name: str, risk: Risk) -> SubproblemSolver:
    """The solver of that name for a risk."""
    if name in SOLVERS:
        return SOLVERS[name](risk)  # type: ignore[call-arg]
    return ConicSolver(risk, name)


def is_exact(name: str) -> bool:
    """Does a solver minimise the weighted risk itself, and not a function above it?"""
    return issubclass(SOLVERS.get(name, ConicSolver), ExactSolver)


def explain_choice(risk: Risk) -> str:
    """Which solver is chosen for a risk, which stand behind it, and why the others do not.

    Parameters
    ----------
    risk : Risk

    Returns
    -------
    str
        A line a solver.

    Raises
    ------
    TypeError
        Not a risk.

    Examples
    --------
    >>> import numpy as np
    >>> from dcprog.losses import cap, hinge
    >>> from dcprog.risk.risk import Risk
    >>> from dcprog.solvers.registry import explain_choice
    >>> print(explain_choice(Risk.from_loss(np.eye(3), cap(hinge(), 1.0))))
    multipliers: chosen
    interior: takes over where those above fail
    cvxpy: takes over where those above fail
    least_squares: not chosen: its base is hinge(), not square
    newton_armijo: not chosen: its base is hinge(), whose slope jumps
    newton: not chosen: its base is hinge(), whose slope jumps
    proximal_newton: not chosen: its base is hinge(), whose slope jumps
    smo: not chosen: its rows are not those of a kernel machine
    smo_first_order: not chosen: its rows are not those of a kernel machine
    libsvm: not chosen: its rows are not those of a kernel machine
    dual_qp: not chosen: its rows are not those of a kernel machine
    simplex: not chosen: its penalty is l2(), which is not linear
    coordinate: not chosen: it is slow where the penalty is light; on request only
    alternating_linearization: not chosen: its gap closes slowly; on request only
    alternating: not chosen: its base is hinge(), not squared_hinge
    """
    if not (hasattr(risk, "base") and hasattr(risk, "rows")):
        raise TypeError(f"risk={risk!r}: a Risk is needed; explain a cvxpy problem by dc.explain")
    order = _ordered(risk)
    lines = [f"{name}: takes over where those above fail" for name in order]
    lines[:1] = [f"{name}: chosen" for name in order[:1]]
    others = [name for name in SOLVERS if name not in order]
    lines += [f"{name}: not chosen: {_verdict(name, risk)}" for name in others]
    return "\n".join(lines)
