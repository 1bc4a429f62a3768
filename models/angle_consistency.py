"""For which parameters the angle-based losses are Fisher consistent."""

from __future__ import annotations

import numpy as np

__all__ = ["fisher_gamma", "is_fisher_consistent"]


def fisher_gamma(k: int, s: float | None) -> float:
    r"""Largest γ for which the robust loss 1 is Fisher consistent with k classes, truncated at s.

    γ*(s) = min{1/2, max(1/k, (1 − s)/(k + 1 − s))}: 1/k from s = −1/(k−1) on, growing to 1/2 at
    s = −(k−1) and below. With two classes the loss does not depend on γ, and γ* = 1.

    Parameters
    ----------
    k : int
        At least 2.
    s : float or None
        At most 0; None for no truncation, the limit s → −∞.

    Returns
    -------
    float

    Raises
    ------
    ValueError
        k < 2 or s > 0.

    Notes
    -----
    Consistent means here that *every* minimiser of the expected loss has its only largest score at
    the most probable class. The publication states γ ≤ 1/2 for every s ≤ 0. With k = 3, s = 0,
    γ = 1/2 and class probabilities (0.5005, 0.4995, 0), the least expected loss is 0.500, and the
    scores (2.5, 2, −4.5), (2, 2, −4) and (2, 2.5, −4.5) all have it: a right minimiser, a tie,
    which is the minimiser of least norm, and a wrong one. Such ties make γ ≤ γ* necessary; that it
    suffices was checked by linear programming over all probabilities for k = 3, 4 and 5
    (``examples/angle_svm/verify_fisher_consistency.py``). That *some* minimiser is right does hold
    for γ ≤ 1/2, for k = 3 and 4.

    Examples
    --------
    >>> from dcprog.models import fisher_gamma
    >>> fisher_gamma(4, 0.0), fisher_gamma(4, -1.0), fisher_gamma(4, None)
    (0.25, 0.3333333333333333, 0.5)
    """
    if k < 2:
        raise ValueError(f"k={k!r}: at least two classes are needed")
    if s is not None and not s <= 0:
        raise ValueError(f"s={s!r}: a number of at most 0 is needed, or None")
    if k == 2:
        return 1.0
    if s is None or np.isinf(s):
        return 0.5
    return min(0.5, max(1 / k, (1 - s) / (k + 1 - s)))


def is_fisher_consistent(form: int, k: int, s: float | None, gamma: float = 0.5) -> bool:
    """Does every minimiser of the expected loss find the most probable class, whatever the odds?

    Parameters
    ----------
    form : {1, 2}
        Loss 1: γ ≤ :func:`fisher_gamma`. Loss 2: s ≥ −1/(k−1), or two classes.
    k : int
        Number of classes.
    s : float or None
        Truncation, None for none.
    gamma : float, default 0.5
        γ of loss 1.

    Returns
    -------
    bool

    References
    ----------
    Zhang, Pham, Fu, Liu (2018), Robust multicategory support vector machines using difference
    convex algorithm, Math. Program. 169, theorem 1, with the range for loss 1 corrected.

    Examples
    --------
    >>> from dcprog.models import is_fisher_consistent
    >>> is_fisher_consistent(2, k=3, s=-0.5), is_fisher_consistent(2, k=3, s=-0.6)
    (True, False)
    """
    if form == 1:
        return bool(gamma <= fisher_gamma(k, s) + 1e-12)
    return k == 2 or (s is not None and bool(s >= -1 / (k - 1) - 1e-12))


def inconsistency(form: int, k: int, s: float | None, gamma: float) -> str | None:
    """Why the loss is not Fisher consistent, None if it is; as :func:`is_fisher_consistent`."""
    if is_fisher_consistent(form, k, s, gamma):
        return None
    reason = f"form=2 is Fisher consistent for -1/(k-1) <= truncation <= 0 only, and it is {s}"
    if form == 1:
        bound = fisher_gamma(k, s)
        reason = f"form=1 is Fisher consistent for gamma <= {bound:.4g}, and it is {gamma}"
    return f"with k={k} classes and truncation={s}, {reason}"
