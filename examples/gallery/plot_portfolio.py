"""
Portfolio with fixed costs and few positions
============================================

Each position that is opened costs a fixed fee, whatever its size: min(xᵢ/δ, 1), a capped ℓ1 norm,
counts positions above δ without an integer variable. The mean-variance optimum holds seven assets
and pays seven fees. With twelve assets all 4095 sets of positions can be tried, and so the
optimum is known.
"""

from itertools import product

import cvxpy as cp
import matplotlib.pyplot as plt
import numpy as np

import dcprog as dc

rng = np.random.default_rng(0)
n, fee, risk_aversion = 12, 0.012, 1.0
factors = rng.normal(size=(n, 3))
covariance = 0.04 * factors @ factors.T + np.diag(rng.uniform(0.02, 0.1, n))
mean = 0.05 + 0.03 * rng.normal(size=n)


def utility(weights: np.ndarray) -> float:
    """Return minus risk, minus fees for what is held."""
    net_of_risk = mean @ weights - risk_aversion * weights @ covariance @ weights
    return float(net_of_risk - fee * np.count_nonzero(weights > 1e-4))


x = cp.Variable(n, nonneg=True)
net = mean @ x - risk_aversion * cp.quad_form(x, covariance)
cp.Problem(cp.Maximize(net), [cp.sum(x) == 1]).solve(solver=cp.CLARABEL)
dense = x.value
fees = fee * cp.sum(cp.minimum(x / 0.1, 1))
result = dc.solve(cp.Problem(cp.Maximize(net - fees), [cp.sum(x) == 1]), n_starts=20)
found = result.variables[x]


def best_of(held: np.ndarray) -> float:
    """Exact weights where the signs come out right: the equations of the Lagrangian."""
    k = held.size
    system = np.block([[2 * risk_aversion * covariance[np.ix_(held, held)], np.ones((k, 1))],
                       [np.ones((1, k)), np.zeros((1, 1))]])  # fmt: skip
    weights = np.zeros(n)
    weights[held] = np.linalg.solve(system, np.append(mean[held], 1.0))[:k]
    return utility(weights) if weights.min() >= 0 else -np.inf


optimum = max(best_of(np.flatnonzero(s)) for s in product((0, 1), repeat=n) if any(s))

figure, ax = plt.subplots(figsize=(7, 3.6), layout="constrained")
for shift, weights, name in ((-0.2, dense, "without fees"), (0.2, found, "with fees")):
    ax.bar(np.arange(n) + shift, weights, 0.4, label=f"{name}: utility {utility(weights):.4f}")
ax.set(xlabel="asset", ylabel="weight", title=f"Optimum by enumeration {optimum:.4f}")
ax.legend()

assert utility(found) > optimum - 1e-5 > utility(dense)
