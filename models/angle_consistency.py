"""Fisher consistency of the angle-based losses."""

from __future__ import annotations

import numpy as np

__all__ = ["fisher_gamma", "is_fisher_consistent"]


def fisher_gamma(k: int, s: float | None) -> float:
    r"""The largest γ for which loss 1, truncated at s, is Fisher consistent with k classes.

    γ*(s) = min{1/2, max(1/k, (1 − s)/(k + 1 − s))}: 1/k for s ≥ −1/(k−1), growing to 1/2 for
    s ≤ −(k−1). With two classes the loss does not depend on γ, and γ* = 1.

    Parameters
    ----------
    k : int
        The number of classes, at least 2.
    s : float or None
        The truncation, at most 0; None for no truncation, the limit s → −∞.

    Returns
    -------
    float

    Raises
    ------
    ValueError
        k < 2 or s > 0.

    Notes
    -----
    Consistent means here that for *every* minimiser of the expected loss the most probable class
    has the unique largest score. The publication states γ ≤ 1/2 for every s ≤ 0. With k = 3, s = 0,
    γ = 1/2 and class probabilities (0.5005, 0.4995, 0), the least expected loss is 0.500, and the
    scores (2.5, 2, −4.5), (2, 2, −4) and (2, 2.5, −4.5) all attain it: a right minimiser, a tie,
    which is the minimiser of least norm, and a wrong one. That γ ≤ γ* is necessary and sufficient
    is proved in ``docs/fisher_consistency.md``, and checked by linear programming over all
    probabilities in ``examples/angle_svm/verify_fisher_consistency.py``. The weaker property, that
    *some* minimiser is right, holds for more parameters: see :func:`is_fisher_consistent`.

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


def is_fisher_consistent(
    form: int, k: int, s: float | None, gamma: float = 0.5, reading: str = "every"
) -> bool:
    """True if minimisers of the expected loss find the most probable class for all probabilities.

    The expected loss may have many minimisers, so there are two readings of consistency.

    Parameters
    ----------
    form : {1, 2}
        Loss 1 or 2.
    k : int
        The number of classes, at least 2.
    s : float or None
        The truncation, at most 0; None for none.
    gamma : float, default 0.5
        γ of loss 1, in [0, 1).
    reading : {"every", "some"}, default "every"
        With ``"every"`` all minimisers give the most probable class the unique largest score: loss
        1 for γ ≤ :func:`fisher_gamma`, loss 2 for s ≥ −1/(k−1), both for two classes. With
        ``"some"`` at least one minimiser does: loss 1 also for s ≥ −(k+1)/(k−1).

    Returns
    -------
    bool

    Raises
    ------
    ValueError
        The reading is unknown, k < 2 or s > 0.

    Notes
    -----
    An estimator finds some minimiser, not necessarily the right one: rely on the reading "every".
    All ranges are proved in ``docs/fisher_consistency.md``.

    References
    ----------
    Zhang, Pham, Fu, Liu (2018), Robust multicategory support vector machines using difference
    convex algorithm, Math. Program. 169, theorem 1, with the range for loss 1 corrected.

    Examples
    --------
    >>> from dcprog.models import is_fisher_consistent
    >>> is_fisher_consistent(2, k=3, s=-0.5), is_fisher_consistent(2, k=3, s=-0.6)
    (True, False)
    >>> is_fisher_consistent(1, k=4, s=-1 / 3), is_fisher_consistent(1, 4, -1 / 3, reading="some")
    (False, True)
    >>> is_fisher_consistent(1, k=4, s=-2.0, reading="some")
    False
    """
    if reading not in ("every", "some"):
        raise ValueError(f'reading={reading!r}: "every" or "some" is needed')
    bound = fisher_gamma(k, s)
    depth = np.inf if s is None else -s
    if k == 2:
        return True
    if form == 2:  # if one minimiser is wrong, all are
        return bool(depth <= 1 / (k - 1) + 1e-12)
    if gamma <= bound + 1e-12:
        return True
    return reading == "some" and bool(depth <= (k + 1) / (k - 1) + 1e-12)


def inconsistency(form: int, k: int, s: float | None, gamma: float) -> str | None:
    """The message that some minimiser of the expected loss is wrong, None if all are right."""
    if is_fisher_consistent(form, k, s, gamma):
        return None
    some = is_fisher_consistent(form, k, s, gamma, "some")
    reason = f"form=2 is Fisher consistent for -1/(k-1) <= truncation <= 0 only, and it is {s}"
    if form == 1:
        bound = fisher_gamma(k, s)
        reason = f"with form=1 every minimiser is right for gamma <= {bound:.4g}, and it is {gamma}"
    which = "not every minimiser" if some else "for some class probabilities no minimiser"
    told = f"{which} of the expected loss has the most probable class alone on top"
    return f"{told}: {reason}, with k={k} classes and truncation={s}"
