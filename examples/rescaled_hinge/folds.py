"""The machines of the rescaled hinge SVM paper's tables 4–6, and their cross-validation.

A fold fits every machine for every C on 70 % of the training part, lets the other 30 % choose C,
and fits it again on the whole part; a share of the labels of both is flipped before. The column
"η by CV" takes, of the five η so chosen, the one with the best score (the least η if several), and
thus needs no fit of its own.
"""

from __future__ import annotations

import joblib
import numpy as np
from sklearn.model_selection import StratifiedKFold, train_test_split
from sklearn.preprocessing import StandardScaler

import dcprog as dc
from dcprog.models import RescaledHingeSVC
from dcprog.models.baselines import baseline, one_shot_weights
from dcprog.rows.kernel import kernel_margins
from dcprog.rows.kernel_expansion import expansion_margins

Array = np.ndarray
COSTS = (0.1, 1.0, 10.0)
ETAS = (0.2, 0.5, 1.0, 2.0, 3.0)
BY_CV = "η by CV"
RESCALED = tuple(f"η = {eta:g}" for eta in ETAS)
SINGLE = ("SVM", "WSVM 19", "ramp", *RESCALED, "C-loss")
METHODS = ("SVM", "WSVM 19", "ramp", *RESCALED, BY_CV, "C-loss")


class Fitted:
    """Coefficients a and b of a kernel expansion, and the samples that support it."""

    def __init__(self, a: Array, b: float, supporting: Array | None = None) -> None:
        self.a, self.b = a, b
        self.supporting = a != 0 if supporting is None else supporting

    def accuracy(self, K: Array, y: Array) -> float:
        """In %."""
        return 100 * float(np.mean(np.where(K @ self.a + self.b > 0, 1, -1) == y))

    @property
    def support(self) -> float:
        """Support vectors in %."""
        return 100 * float(np.mean(self.supporting))


def declared(K: Array, y: Array, loss: str, C: float, weights: Array | None = None) -> Fitted:
    """A baseline with a piecewise linear loss by its declaration."""
    theta = dc.solve(baseline(expansion_margins(K, y), loss, C, weights), start="convex").x
    assert theta is not None
    return Fitted(theta[:-1], float(theta[-1]))


def c_loss(K: Array, y: Array, C: float) -> Fitted:
    """β(1 − e^{−η(1 − z)²}) with η = 1/2.

    Its support vectors are the samples whose loss has a slope, coefficients −C·l'(z_i)·y_i of the
    stationary w. Those of ``dual_coef`` give the same f with no more than the rank of K.
    """
    rows = kernel_margins(K, y)
    risk = baseline(rows, "closs", C)
    theta = dc.solve(risk, start="convex").x
    assert theta is not None
    z = np.asarray(rows @ theta)
    slopes = risk.transform.slope(risk.base(z)) * risk.base.slope(z)
    return Fitted(rows.dual_coef(theta)[0], float(theta[-1]), slopes != 0)


def rescaled(K: Array, y: Array, C: float, eta: float) -> Fitted:
    """The paper's machine in its ten rounds."""
    model = RescaledHingeSVC(C=C, eta=eta, kernel="precomputed").fit(K, y)
    a = np.zeros(len(y))
    a[model.support_] = model.dual_coef_[0]
    return Fitted(a, float(model.intercept_[0]))


def weighted(K: Array, y: Array, C: float, plain: Fitted, rule: int) -> Fitted:
    """The plain machine again, with weights from its scores."""
    return declared(K, y, "svm", C, one_shot_weights(K @ plain.a + plain.b, rule, y))


def fit(method: str, K: Array, y: Array, C: float, plain: Fitted | None = None) -> Fitted:
    """One machine on a kernel matrix; a weighted one from the plain one, if that is at hand."""
    if method.startswith("WSVM"):
        plain = plain or declared(K, y, "svm", C)
        return weighted(K, y, C, plain, int(method[-2:]))
    if method.startswith("η"):
        return rescaled(K, y, C, float(method[4:]))
    return c_loss(K, y, C) if method == "C-loss" else declared(K, y, method.lower(), C)


def kernel(kind: str, X: Array, Z: Array) -> Array:
    """X·Z, or exp(−‖x − z‖²/d)."""
    if kind == "linear":
        return X @ Z.T
    squared = np.sum(X**2, 1)[:, None] + np.sum(Z**2, 1) - 2 * X @ Z.T
    return np.exp(-np.maximum(squared, 0) / X.shape[1])


# ---- cross-validation ----------------------------------------------------------------------------


def flipped(y: Array, share: float, seed: int) -> Array:
    """The labels ±1 with a share of them changed; a larger share changes those of a smaller too."""
    order = np.random.default_rng(seed).permutation(y.size)
    labels = y.copy()
    labels[order[: round(share * y.size)]] *= -1
    return labels


def tuning_scores(K: Array, y: Array, seed: int) -> dict[str, Array]:
    """Accuracy of every machine for every C on 30 %, fitted on the other 70 %."""
    part, rest = train_test_split(np.arange(y.size), test_size=0.3, stratify=y, random_state=seed)
    inside, across = K[np.ix_(part, part)], K[np.ix_(rest, part)]
    scores: dict[str, list[float]] = {}
    for C in COSTS:
        plain = fit("SVM", inside, y[part], C)
        for method in SINGLE:
            machine = plain if method == "SVM" else fit(method, inside, y[part], C, plain)
            scores.setdefault(method, []).append(machine.accuracy(across, y[rest]))
    return {method: np.array(values) for method, values in scores.items()}


def one_fold(
    kind: str, X: Array, y: Array, train: Array, test: Array, share: float, seed: int
) -> Array:
    """Accuracy and support of every method, in %, of shape (methods, 2)."""
    labels = flipped(y[train], share, seed)
    scaler = StandardScaler().fit(X[train])
    Z, T = scaler.transform(X[train]), scaler.transform(X[test])
    K, across = kernel(kind, Z, Z), kernel(kind, T, Z)
    scores = tuning_scores(K, labels, seed)
    found = {}
    for method, values in scores.items():
        machine = fit(method, K, labels, COSTS[int(np.argmax(values))])
        found[method] = machine.accuracy(across, y[test]), machine.support
    found[BY_CV] = found[max(RESCALED, key=lambda method: float(scores[method].max()))]
    return np.array([found[method] for method in METHODS])


def cross_validated(kind: str, X: Array, y: Array, share: float, folds: int, jobs: int) -> Array:
    """Accuracy and support of every method in every fold, in %, of shape (folds, methods, 2)."""
    splitter = StratifiedKFold(folds, shuffle=True, random_state=0)
    tasks = [
        joblib.delayed(one_fold)(kind, X, y, train, test, share, seed)
        for seed, (train, test) in enumerate(splitter.split(X, y))
    ]
    return np.array(joblib.Parallel(n_jobs=jobs)(tasks))


def mean_gain(better: Array, worse: Array) -> tuple[float, float]:
    """Mean difference of two methods over (sets, folds), and its standard error.

    The folds are paired: both methods have the same training part, flips and test part. The folds
    of a set share training data, so that a set gives one mean, whose variance is not s²/F but
    s²(1/F + 1/(F − 1)), s² the variance over its F folds (Nadeau and Bengio 2003, Inference for
    the generalization error, Machine Learning 52, 239-281, with their ratio of test to training
    size). The sets are independent. The error is that of a mean over these sets; it says nothing
    of others.
    """
    differences = np.asarray(better - worse)
    sets, folds = differences.shape
    per_set = differences.var(axis=1, ddof=1) * (1 / folds + 1 / (folds - 1))
    return float(differences.mean()), float(np.sqrt(per_set.sum()) / sets)
