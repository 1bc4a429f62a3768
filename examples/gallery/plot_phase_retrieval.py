"""
Phase retrieval with complex numbers
====================================

Detectors measure intensities: ``|aᵢ*z|``, and the phases are lost. The problem is written with a
complex cvxpy variable and solved as it stands; the answer is the signal, up to one common phase.
"""

import cvxpy as cp
import matplotlib.pyplot as plt
import numpy as np

import dcprog as dc

rng = np.random.default_rng(4)
angle = np.linspace(0, 2 * np.pi, 12, endpoint=False)
signal = (1 + 0.4 * np.cos(3 * angle)) * np.exp(1j * angle)
A = (rng.normal(size=(72, 12)) + 1j * rng.normal(size=(72, 12))) / np.sqrt(2)
intensity = np.abs(A @ signal)

z = cp.Variable(12, complex=True)
problem = cp.Problem(cp.Minimize(cp.sum_squares(cp.abs(A @ z) - intensity)))
result = dc.solve(problem, tol=1e-12, random_state=0)


def aligned(found: np.ndarray) -> np.ndarray:
    """The signal with the common phase that is closest to the truth."""
    return found * np.exp(-1j * np.angle(np.vdot(signal, found)))


# The usual first guess: the leading eigenvector of Σ yᵢ² aᵢaᵢ*.
leading = np.linalg.eigh((A.conj().T * intensity**2) @ A)[1][:, -1]
spectral = aligned(leading * np.linalg.norm(signal))
found = aligned(result.variables[z])

figure, axes = plt.subplots(1, 2, figsize=(8, 4), sharey=True, layout="constrained")
for ax, guess, name in zip(axes, (spectral, found), ("spectral guess", "found"), strict=True):
    error = np.linalg.norm(guess - signal) / np.linalg.norm(signal)
    ax.plot(signal.real, signal.imag, "o", markersize=10, fillstyle="none", label="signal")
    ax.plot(guess.real, guess.imag, "x", color="C1", label=name)
    ax.set(title=f"{name}: error {error:.0e}", aspect="equal", xlabel="real part")
    ax.set(xlim=(-2.2, 2.2), ylim=(-1.8, 1.8))
    ax.legend(loc="upper right")
axes[0].set_ylabel("imaginary part")

assert np.linalg.norm(found - signal) < 1e-5 * np.linalg.norm(signal)
assert np.linalg.norm(spectral - signal) > 0.1 * np.linalg.norm(signal)
