"""Baselines of the papers as risks: plain, weighted, ramp, C-loss, squared hinge, LS-SVM."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from dcprog.foundation.arrays import Array
from dcprog.losses import Loss, cap, hinge, rescale, square, squared_hinge
from dcprog.risk.risk import Risk

__all__ = ["LOSSES", "baseline", "one_shot_weights"]

LOSSES: dict[str, Loss] = {
    "svm": hinge(),
    "ramp": cap(hinge(), 2.0),  # hinge at 1 minus hinge at −1
    "closs": rescale(square(at=1.0), 0.5),
    "l2svm": 0.5 * squared_hinge(),
    "lssvm": 0.5 * square(at=1.0),
}


def baseline(
    rows: Any,
    loss: str | Loss = "svm",
    C: float = 1.0,
    weights: npt.ArrayLike | None = None,
) -> Risk:
    r"""The risk ½‖w‖² + C Σ ω_i loss(y_i f(x_i)), for :func:`dcprog.solve`.

    Parameters
    ----------
    rows : Margins
        Rows from :func:`binary_margins`, :func:`kernel_margins` or, for a piecewise linear loss,
        :func:`~dcprog.rows.kernel.expansion_margins`.
    loss : str or Loss, default "svm"
        A name of ``LOSSES``: ``"svm"`` (hinge), ``"ramp"`` (hinge capped at 2), ``"closs"``
        (β(1 − e^{−η(1−z)²}), η = ½), ``"l2svm"`` (½ squared hinge), ``"lssvm"`` (½(1 − z)²).
    C : float, default 1.0
    weights : array of shape (n,), optional
        The weights ω_i of a weighted machine; see :func:`one_shot_weights`.

    Returns
    -------
    Risk

    Raises
    ------
    ValueError
        The loss is unknown.

    Examples
    --------
    >>> import dcprog as dc, numpy as np
    >>> from examples.common.baselines import baseline
    >>> rows = dc.binary_margins(np.array([[0.0], [1.0], [3.0]]), [0, 1, 1])
    >>> dc.solve(baseline(rows, "lssvm", C=10.0)).status
    'converged'
    """
    if isinstance(loss, str):
        if loss not in LOSSES:
            raise ValueError(f"loss={loss!r}: choose one of {sorted(LOSSES)} or pass a Loss")
        loss = LOSSES[loss]
    share = np.ones(rows.shape[0]) if weights is None else np.asarray(weights, dtype=float)
    return Risk.from_loss(rows, loss, rows.norm(1.0), C * share)


def one_shot_weights(
    scores: npt.ArrayLike, rule: int, y: npt.ArrayLike | None = None, eta: float | None = None
) -> Array:
    r"""The weights of a weighted machine from the scores f of a plain one, by equation `rule`.

    ==== ========================================= ===========================
    rule weight                                    constants
    ==== ========================================= ===========================
    16   exp(−η[1 − yf]_+)                         η = 0.5; uses the label
    17   1 − \|f\|/(max \|f\| + Δ)                   Δ = 1e-3
    18   2/(1 + e^{η\|f\|})                          η = 0.7
    19   1/(1 + \|f\|)
    ==== ========================================= ===========================

    Parameters
    ----------
    scores : array of shape (n,)
    rule : {16, 17, 18, 19}
    y : array of shape (n,), optional
        The labels −1 and +1, for rule 16.
    eta : float, optional
        The constant η of rules 16 and 18, by default as above.

    Returns
    -------
    array of shape (n,)

    Raises
    ------
    ValueError
        The rule is unknown, or y is missing for rule 16.

    References
    ----------
    Xu, Cao, Hu, Príncipe (2017), Robust support vector machines based on the rescaled hinge loss
    function, Pattern Recognition 63, equations (16)-(19).

    Examples
    --------
    >>> from examples.common.baselines import one_shot_weights
    >>> one_shot_weights([0.0, -1.0, 3.0], 19)
    array([1.  , 0.5 , 0.25])
    """
    f = np.asarray(scores, dtype=float)
    size = np.abs(f)
    match rule:
        case 16:
            if y is None:
                raise ValueError("rule 16 needs the labels y")
            return np.exp(-(0.5 if eta is None else eta) * np.maximum(1 - np.asarray(y) * f, 0))
        case 17:
            return 1 - size / (np.max(size) + 1e-3)
        case 18:
            return 2 / (1 + np.exp((0.7 if eta is None else eta) * size))
        case 19:
            return 1 / (1 + size)
    raise ValueError(f"rule={rule!r}: choose 16, 17, 18 or 19")
