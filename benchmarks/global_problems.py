"""Small global optimisation problems of the literature, boxed, with their known optima.

At most eight variables each. HS n is problem n of Hock, Schittkowski (1981), Test examples for
nonlinear programming codes; ex*_*_* are those of Floudas et al. (1999), Handbook of test problems
in local and global optimization; st_*, gkocis, nvs*, alan, ex12* stand under these names in
MINLPLib; D–S is Dixon, Szegö (1978), Towards global optimisation 2. Where a source has no bounds,
those here hold the optimum and, unless it says so, the source's optimum is that of the box.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import cvxpy as cp
import numpy as np

__all__ = ["CONTINUOUS", "INTEGER", "GlobalProblem"]

sin, cos, tanh = cp.nlp.sin, cp.nlp.cos, cp.nlp.tanh


@dataclass(frozen=True)
class GlobalProblem:
    """A problem, the value of its global optimum, and a point that has it.

    Attributes
    ----------
    name, source : str
    make : callable
        The cvxpy problem, made anew.
    optimum : float
    point : sequence of float
        The entries of the variables in the order in which they were made, column by column.
    """

    name: str
    source: str
    make: Callable[[], cp.Problem]
    optimum: float
    point: tuple[float, ...]

    def variables(self, problem: cp.Problem) -> list[cp.Variable]:
        """The problem's variables in the order in which they were made."""
        return sorted(problem.variables(), key=lambda v: v.id)


CONTINUOUS: list[GlobalProblem] = []
INTEGER: list[GlobalProblem] = []


def known(
    source: str,
    optimum: float,
    point: Any,
    among: list[GlobalProblem] = CONTINUOUS,
) -> Callable[[Callable[[], cp.Problem]], Callable[[], cp.Problem]]:
    """Lists a problem."""

    def listed(make: Callable[[], cp.Problem]) -> Callable[[], cp.Problem]:
        flat = tuple(float(t) for t in np.ravel(point))
        among.append(GlobalProblem(make.__name__, source, make, optimum, flat))
        return make

    return listed


def box(lower: Any, upper: Any, size: int | None = None) -> cp.Variable:
    """A vector of variables with bounds."""
    n = len(lower) if size is None else size
    lo, hi = (np.broadcast_to(np.asarray(t, dtype=float), n) for t in (lower, upper))
    return cp.Variable(n, bounds=[lo, hi])


def minimise(objective: Any, *constraints: Any) -> cp.Problem:
    """min objective subject to the constraints."""
    return cp.Problem(cp.Minimize(objective), list(constraints))


def maximise(objective: Any, *constraints: Any) -> cp.Problem:
    """max objective subject to the constraints."""
    return cp.Problem(cp.Maximize(objective), list(constraints))


# ----------------------------------------------------------------------------------------------
# Hock and Schittkowski


@known("HS 15", 306.5, [0.5, 2])
def hs15() -> cp.Problem:
    x = box([-3, -3], [0.5, 3])
    return minimise(
        100 * cp.square(x[1] - cp.square(x[0])) + cp.square(1 - x[0]),
        x[0] * x[1] >= 1,
        x[0] + cp.square(x[1]) >= 0,
    )


@known("HS 23", 2.0, [1, 1])
def hs23() -> cp.Problem:
    x = box(-50, 50, 2)
    return minimise(
        cp.sum_squares(x),
        cp.sum(x) >= 1,
        cp.sum_squares(x) >= 1,
        9 * cp.square(x[0]) + cp.square(x[1]) >= 9,
        cp.square(x[0]) >= x[1],
        cp.square(x[1]) >= x[0],
    )


@known("HS 24", -1.0, [3, 3**0.5])
def hs24() -> cp.Problem:
    x = box(0, [6, 4], 2)
    root = 3**0.5
    return minimise(
        (cp.square(x[0] - 3) - 9) * cp.power(x[1], 3) / (27 * root),
        x[0] / root >= x[1],
        x[0] + root * x[1] <= 6,
    )


@known("HS 29", -16 * 2**0.5, [4, 2 * 2**0.5, 2])
def hs29() -> cp.Problem:
    x = box(-7, 7, 3)
    squares = cp.square(x[0]) + 2 * cp.square(x[1]) + 4 * cp.square(x[2])
    return minimise(-x[0] * x[1] * x[2], squares <= 48)


@known("HS 33", 2**0.5 - 6, [0, 2**0.5, 2**0.5])
def hs33() -> cp.Problem:
    x = box(0, 5, 3)
    return minimise(
        (x[0] - 1) * (x[0] - 2) * (x[0] - 3) + x[2],
        cp.square(x[2]) >= cp.square(x[1]) + cp.square(x[0]),
        cp.sum_squares(x) >= 4,
    )


@known("HS 34", -np.log(np.log(10)), [np.log(np.log(10)), np.log(10), 10])
def hs34() -> cp.Problem:
    x = box(0, [100, 100, 10], 3)
    return minimise(-x[0], x[1] >= cp.exp(x[0]), x[2] >= cp.exp(x[1]))


@known("HS 41", 52 / 27, [2 / 3, 1 / 3, 1 / 3, 2])
def hs41() -> cp.Problem:
    x = box(0, [1, 1, 1, 2], 4)
    return minimise(2 - x[0] * x[1] * x[2], x[0] + 2 * x[1] + 2 * x[2] == x[3])


@known("HS 44", -15.0, [0, 3, 0, 4])
def hs44() -> cp.Problem:
    x = box(0, [3, 3, 4, 4], 4)
    bilinear = -x[0] * x[2] + x[0] * x[3] + x[1] * x[2] - x[1] * x[3]
    return minimise(
        x[0] - x[1] - x[2] + bilinear,
        np.array([[1, 2], [4, 1], [3, 4]]) @ x[:2] <= np.array([8, 12, 12]),
        np.array([[2, 1], [1, 2], [1, 1]]) @ x[2:] <= np.array([8, 8, 5]),
    )


@known("HS 62", -26272.514487, [0.61781325, 0.32820216, 0.05398459])
def hs62() -> cp.Problem:
    x = box(0, 1, 3)
    two, all_ = x[1] + x[2] + 0.03, x[0] + x[1] + x[2] + 0.03
    logs = (
        255 * (cp.log(all_) - cp.log(0.09 * x[0] + two))
        + 280 * (cp.log(two) - cp.log(0.07 * x[1] + x[2] + 0.03))
        + 290 * (cp.log(x[2] + 0.03) - cp.log(0.13 * x[2] + 0.03))
    )
    return minimise(-32.174 * logs, cp.sum(x) == 1)


@known("HS 64", 6299.842428, [108.7347175, 85.12613942, 204.3247078])
def hs64() -> cp.Problem:
    x = box(1, 500, 3)
    inverse = cp.inv_pos(x)
    return minimise(
        np.array([5, 20, 10]) @ x + np.array([50000, 72000, 144000]) @ inverse,
        np.array([4, 32, 120]) @ inverse <= 1,
    )


@known("HS 66", 0.5181632741, [0.1841264879, 1.202167873, 3.327322322])
def hs66() -> cp.Problem:
    x = box(0, [100, 100, 10], 3)
    return minimise(0.2 * x[2] - 0.8 * x[0], x[1] >= cp.exp(x[0]), x[2] >= cp.exp(x[1]))


@known("HS 71", 17.0140172892, [1, 4.7429996364091, 3.8211499853033, 1.3794082930173])
def hs71() -> cp.Problem:
    x = box(1, 5, 4)
    return minimise(
        x[0] * x[3] * (x[0] + x[1] + x[2]) + x[2],
        x[0] * x[1] * x[2] * x[3] >= 25,
        cp.sum_squares(x) == 40,
    )


@known("HS 72", 727.67935779, [193.40742727195, 179.54707603227, 185.01806335815, 168.70679112724])
def hs72() -> cp.Problem:
    x = box(1e-3, [4e5, 3e5, 2e5, 1e5], 4)
    inverse = cp.inv_pos(x)
    return minimise(
        1 + cp.sum(x),
        np.array([4, 2.25, 1, 0.25]) @ inverse <= 0.0401,
        np.array([0.16, 0.36, 0.64, 0.64]) @ inverse <= 0.010085,
    )


@known(
    "HS 73; chance in MINLPLib",
    29.8943781591,
    [0.63552156863524, 0, 0.31270188075151, 0.051776550613257],
)
def hs73() -> cp.Problem:
    x = box(0, 1, 4)
    deviation = cp.norm(cp.multiply(np.sqrt([0.28, 0.19, 20.5, 0.62]), x))
    return minimise(
        np.array([24.55, 26.75, 39, 40.5]) @ x,
        np.array([2.3, 5.6, 11.1, 1.3]) @ x >= 5,
        np.array([12, 11.9, 41.8, 52.1]) @ x - 21 - 1.645 * deviation >= 0,
        cp.sum(x) == 1,
    )


@known(
    "HS 74, an electric network",
    5126.49810959,
    [679.94531742479, 1026.067135203, 0.11887636622331, -0.39623355238192],
)
def hs74() -> cp.Problem:
    x = box([0, 0, -0.55, -0.55], [1200, 1200, 0.55, 0.55])
    cost = 3 * x[0] + 1e-6 * cp.power(x[0], 3) + 2 * x[1] + 2e-6 / 3 * cp.power(x[1], 3)
    a, b = x[2], x[3]
    return minimise(
        cost,
        cp.abs(a - b) <= 0.55,
        1000 * (sin(-a - 0.25) + sin(-b - 0.25)) + 894.8 == x[0],
        1000 * (sin(a - 0.25) + sin(a - b - 0.25)) + 894.8 == x[1],
        1000 * (sin(b - 0.25) + sin(b - a - 0.25)) + 1294.8 == 0,
    )


@known(
    "HS 80",
    0.0539498477703,
    [-1.7171435703782, 1.5957096901648, 1.8272457529573, -0.76364307818083, -0.76364307819104],
)
def hs80() -> cp.Problem:
    x = box([-2.3, -2.3, -3.2, -3.2, -3.2], [2.3, 2.3, 3.2, 3.2, 3.2])
    return minimise(
        cp.exp(x[0] * x[1] * x[2] * x[3] * x[4]),
        cp.sum_squares(x) == 10,
        x[1] * x[2] == 5 * x[3] * x[4],
        cp.power(x[0], 3) + cp.power(x[1], 3) == -1,
    )


@known("HS 83; ex3_1_2", -30665.5386718, [78, 33, 29.995256025675, 45, 36.775812905791])
def hs83() -> cp.Problem:
    x = box([78, 33, 27, 27, 27], [102, 45, 45, 45, 45])
    a, b, c, d, e = (x[k] for k in range(5))
    first = 85.334407 + 0.0056858 * b * e + 0.0006262 * a * d - 0.0022053 * c * e
    second = 80.51249 + 0.0071317 * b * e + 0.0029955 * a * b + 0.0021813 * cp.square(c)
    third = 9.300961 + 0.0047026 * c * e + 0.0012547 * a * c + 0.0019085 * c * d
    return minimise(
        5.3578547 * cp.square(c) + 0.8356891 * a * e + 37.293239 * a - 40792.141,
        *(first >= 0, first <= 92, second >= 90, second <= 110, third >= 20, third <= 25),
    )


@known(
    "HS 93, a geometric program",
    135.075962829,
    [
        5.3326664121155,
        4.6567438413991,
        10.43299234529,
        12.082306467312,
        0.75260739635284,
        0.87865090633152,
    ],
)
def hs93() -> cp.Problem:
    x = box([1, 1, 1, 1, 0.1, 0.1], [20, 20, 20, 20, 2, 2])
    a = x[0] * x[3] * (x[0] + x[1] + x[2])
    b = x[1] * x[2] * (x[0] + 1.57 * x[1] + x[3])
    e, f = cp.square(x[4]), cp.square(x[5])
    return minimise(
        0.0204 * a + 0.0187 * b + 0.0607 * a * e + 0.0437 * b * f,
        0.001 * cp.prod(x) >= 2.07,
        0.00062 * a * e + 0.00058 * b * f <= 1,
    )


@known("HS 97", 3.13580912275, [0.26856491226831, 0, 0, 0, 0.028, 0.0134])
def hs97() -> cp.Problem:
    x = box(0, [0.31, 0.046, 0.068, 0.042, 0.028, 0.0134], 6)
    a, _, c, d, e, f = (x[k] for k in range(6))
    first = np.array([17.1, 38.2, 204.2, 212.3, 623.4, 1495.5]) @ x
    second = np.array([17.9, 36.8, 113.9, 169.7, 337.8, 1385.2]) @ x
    third = np.array([0, -273, 0, -70, -819, 0]) @ x
    fourth = np.array([159.9, -311, 0, 587, 391, 2198]) @ x
    return minimise(
        np.array([4.3, 31.8, 63.3, 15.8, 68.5, 4.7]) @ x,
        first - 169 * a * c - 3580 * c * e - 3810 * d * e - 18500 * d * f - 24300 * e * f >= 32.97,
        second - 139 * a * c - 2450 * d * e - 16600 * d * f - 17200 * e * f >= 25.12,
        third + 26000 * d * e >= -29.08,
        fourth - 14000 * a * f >= -78.02,
    )


@known(
    "HS 104, an optimal reactor",
    3.95116343998,
    [
        6.465114411443,
        2.2327082963238,
        0.6673974793662,
        0.59575641902124,
        5.9326756130523,
        5.5272345581029,
        1.0133219101696,
        0.40066821995888,
    ],
)
def hs104() -> cp.Problem:
    x = box(0.1, 10, 8)

    def ratio(k: int) -> Any:
        return 0.4 * cp.power(x[k], 0.67) * cp.power(x[6 + k], -0.67)

    def rate(k: int) -> Any:
        held = 4 * x[2 + k] + 2 * cp.power(x[2 + k], -0.71)
        return held * cp.inv_pos(x[4 + k]) + 0.0588 * cp.power(x[2 + k], -1.3) * x[6 + k]

    return minimise(
        ratio(0) + ratio(1) + 10 - x[0] - x[1],
        0.0588 * x[4] * x[6] + 0.1 * x[0] <= 1,
        0.0588 * x[5] * x[7] + 0.1 * x[0] + 0.1 * x[1] <= 1,
        *(rate(0) <= 1, rate(1) <= 1),
    )


@known(
    "HS 106; ex3_1_1, a heat exchanger",
    7049.24802053,
    [
        579.3066951736813,
        1359.970638854734,
        5109.970686500251,
        182.01770047881,
        295.60117253999,
        217.98229952119,
        286.41652793882,
        395.60117253999,
    ],
)
def hs106() -> cp.Problem:
    x = box([100, 1000, 1000] + [10] * 5, [10000] * 3 + [1000] * 5)
    return minimise(
        x[0] + x[1] + x[2],
        0.0025 * (x[3] + x[5]) <= 1,
        0.0025 * (x[4] + x[6] - x[3]) <= 1,
        0.01 * (x[7] - x[4]) <= 1,
        x[0] * x[5] - 833.33252 * x[3] - 100 * x[0] + 83333.333 >= 0,
        x[1] * x[6] - 1250 * x[4] - x[1] * x[3] + 1250 * x[3] >= 0,
        x[2] * x[7] - 1250000 - x[2] * x[4] + 2500 * x[4] >= 0,
    )


# ----------------------------------------------------------------------------------------------
# Floudas et al.


@known("ex2_1_1, a concave quadratic", -17.0, [1, 1, 0, 1, 0])
def ex2_1_1() -> cp.Problem:
    x = box(0, 1, 5)
    return minimise(
        np.array([42, 44, 45, 47, 47.5]) @ x - 50 * cp.sum_squares(x),
        np.array([20, 12, 11, 7, 4]) @ x <= 40,
    )


@known("ex2_1_2, a concave quadratic", -213.0, [0, 1, 0, 1, 1, 20])
def ex2_1_2() -> cp.Problem:
    x = box(0, [1, 1, 1, 1, 1, 20], 6)
    return minimise(
        -0.5 * cp.sum_squares(x[:5]) - np.array([10.5, 7.5, 3.5, 2.5, 1.5, 10]) @ x,
        np.array([6, 3, 3, 2, 1, 0]) @ x <= 6.5,
        np.array([10, 0, 10, 0, 0, 1]) @ x <= 20,
    )


@known("ex2_1_4, a concave quadratic", -11.0, [0, 6, 0, 1, 1, 0])
def ex2_1_4() -> cp.Problem:
    x = box(0, [16, 8, 2, 1, 1, 2], 6)
    rows = np.array(
        [
            [1, 2, 8, 1, 3, 5],
            [-8, -4, -2, 2, 4, -1],
            [2, 0.5, 0.2, -3, -1, -4],
            [0.2, 2, 0.1, -4, 2, 2],
            [-0.1, -0.5, 2, 5, -5, 3],
        ]
    )
    return minimise(
        np.array([6.5, -1, -2, -3, -2, -1]) @ x - 0.5 * cp.square(x[0]),
        rows @ x <= np.array([16, -1, 24, 12, 3]),
    )


@known("ex3_1_3", -310.0, [5, 1, 5, 0, 5, 10])
def ex3_1_3() -> cp.Problem:
    x = box([0, 0, 1, 0, 1, 0], [6, 8, 5, 6, 5, 10])
    weights, centre = np.array([25, 1, 1, 1, 1, 1]), np.array([2, 2, 1, 4, 1, 4])
    return minimise(
        -weights @ cp.square(x - centre),
        cp.square(x[2] - 3) + x[3] >= 4,
        cp.square(x[4] - 3) + x[5] >= 4,
        np.array([[1, -3], [-1, 1], [1, 1], [-1, -1]]) @ x[:2] <= np.array([2, 2, 6, -2]),
    )


@known("ex3_1_4", -4.0, [0.5, 0, 3])
def ex3_1_4() -> cp.Problem:
    x = box(0, [2, 2, 3], 3)
    matrix = np.array([[0.0, 0, 1], [0, -1, 0], [-2, 1, -1]])
    y, b, z = np.array([1.5, -0.5, -5]), np.array([3.0, 0, -4]), np.array([0.0, -1, -6])
    return minimise(
        np.array([-2, 1, -1]) @ x,
        cp.sum_squares(matrix @ x - y) >= 0.25 * np.sum((b - z) ** 2),
        cp.sum(x) <= 4,
        3 * x[1] + x[2] <= 6,
    )


def polynomial(x: Any, *coefficients: float) -> Any:
    """Σ cₖxᵏ, from x⁰ on."""
    return sum(c * cp.power(x, k) for k, c in enumerate(coefficients) if c and k) + coefficients[0]


@known("ex4_1_1, odd powers", -7.487312360731398, [-1.191308])
def ex4_1_1() -> cp.Problem:
    x = box(-2, 11, 1)
    return minimise(polynomial(x[0], 0.1, -1, -79 / 20, 71 / 10, 39 / 80, -52 / 25, 1))


@known("ex4_1_3", -443.671704741, [6.3256540907228])
def ex4_1_3() -> cp.Problem:
    x = box(0, 10, 1)
    return minimise(polynomial(x[0], 0, 0.000089248, -0.0218343, 0.998266, -1.6995, 0.2))


@known("ex4_1_6", 7.0, [3])
def ex4_1_6() -> cp.Problem:
    x = box(-5, 5, 1)
    return minimise(polynomial(x[0], 250, 0, 27, 0, -15, 0, 1))


@known("ex4_1_7, odd powers", -7.5, [-1])
def ex4_1_7() -> cp.Problem:
    x = box(-5, 5, 1)
    return minimise(polynomial(x[0], 0, 10, -1.5, -3, 1))


@known("ex4_1_8", -16.7388931844, [0.71753618663106, 1.4698421107794])
def ex4_1_8() -> cp.Problem:
    x = box(0, [2, 3], 2)
    return minimise(-12 * x[0] - 7 * x[1] + cp.square(x[1]), -2 * cp.power(x[0], 4) + 2 - x[1] == 0)


@known("ex4_1_9", -5.5080132716, [2.3295201974766, 3.1784930741191])
def ex4_1_9() -> cp.Problem:
    x = box(0, [3, 4], 2)
    return minimise(
        -x[0] - x[1],
        x[1] <= polynomial(x[0], 2, 0, 8, -8, 2),
        x[1] <= polynomial(x[0], 36, -96, 88, -32, 4),
    )


@known("ex8_1_1", -2.0218067834, [2, 0.10578347])
def ex8_1_1() -> cp.Problem:
    x = box([-1, -1], [2, 1])
    return minimise(cos(x[0]) * sin(x[1]) - x[0] / (cp.square(x[1]) + 1))


@known("ex8_1_6", -10.0860014962, [3.9999480038432, 3.9999480038432])
def ex8_1_6() -> cp.Problem:
    x = box(0, 10, 2)
    wells = ((0.1, 4), (0.2, 1), (0.2, 8))
    return minimise(-sum(cp.inv_pos(c + cp.sum_squares(x - a)) for c, a in wells))


@known(
    "ex8_1_7, odd powers",
    0.0293108307209,
    [1.1166347526362, 1.2204408234333, 1.5377853886316, 1.9727702028017, 1.7910959651563],
)
def ex8_1_7() -> cp.Problem:
    x = box(-5, 5, 5)
    return minimise(
        cp.square(x[0] - 1)
        + cp.square(x[0] - x[1])
        + cp.power(x[1] - x[2], 3)
        + cp.power(x[2] - x[3], 4)
        + cp.power(x[3] - x[4], 4),
        x[0] + cp.square(x[1]) + cp.power(x[2], 3) == 3 * 2**0.5 + 2,
        x[1] - cp.square(x[2]) + x[3] == 2 * 2**0.5 - 2,
        x[0] * x[4] == 2,
    )


@known(
    "ex8_1_8, a reactor network",
    -0.388811434292,
    [
        0.77151587541279,
        0.51699246386164,
        0.20419213708764,
        0.38881143429173,
        3.0355675783049,
        5.0972633410056,
    ],
)
def ex8_1_8() -> cp.Problem:
    x = box([0, 0, 0, 0, 1e-5, 1e-5], [1, 1, 1, 1, 16, 16])
    first, third = 0.09755988, 0.0391908
    return minimise(
        -x[3],
        x[0] + first * x[0] * x[4] == 1,
        x[1] - x[0] + 0.99 * first * x[1] * x[5] == 0,
        x[2] + x[0] + third * x[2] * x[4] == 1,
        x[3] - x[2] + x[1] - x[0] + 0.9 * third * x[3] * x[5] == 0,
        cp.sqrt(x[4]) + cp.sqrt(x[5]) <= 4,
    )


def haverly(cost: float, demand: float) -> cp.Problem:
    """Two sources in a pool, one beside it, two products."""
    source = box(0, [300 + demand, 300 + demand], 2)
    pooled, beside = box(0, [demand, 200], 2), box(0, [demand, 200], 2)
    sulphur = cp.Variable(bounds=[1, 3])
    price, most = np.array([9, 15]), np.array([2.5, 1.5])
    products = pooled + beside
    return minimise(
        np.array([6, cost]) @ source + 10 * cp.sum(beside) - price @ products,
        cp.sum(source) == cp.sum(pooled),
        sulphur * cp.sum(pooled) == 3 * source[0] + source[1],
        sulphur * pooled + 2 * beside <= cp.multiply(most, products),
        products <= np.array([demand, 200]),
    )


@known("Haverly (1978), pooling 1; ex5_2_2, case 1", -400.0, [0, 100, 0, 100, 0, 100, 1])
def haverly1() -> cp.Problem:
    return haverly(16, 100)


@known("Haverly (1978), pooling 2; ex5_2_2, case 2", -600.0, [300, 0, 300, 0, 300, 0, 3])
def haverly2() -> cp.Problem:
    return haverly(16, 600)


@known("Haverly (1978), pooling 3; ex5_2_2, case 3", -750.0, [50, 150, 0, 200, 0, 0, 1.5])
def haverly3() -> cp.Problem:
    return haverly(13, 100)


# ----------------------------------------------------------------------------------------------
# MINLPLib


@known("st_e01", -20 / 3, [6, 2 / 3])
def st_e01() -> cp.Problem:
    x = box(0, [6, 4], 2)
    return minimise(-x[0] - x[1], x[0] * x[1] <= 4)


@known("st_e08", 0.7417819584, [0.129409523, 0.482962913])
def st_e08() -> cp.Problem:
    x = box(0, 1, 2)
    return minimise(2 * x[0] + x[1], 16 * x[0] * x[1] >= 1, 4 * cp.sum_squares(x) >= 1)


@known("st_e09", -0.5, [0.5, 0.5])
def st_e09() -> cp.Problem:
    x = box(0, 1, 2)
    return minimise(-2 * x[0] * x[1], 4 * x[0] * x[1] + 2 * x[0] + 2 * x[1] <= 3)


@known("st_e11, concave powers", 189.311629687, [0, 16.666666666662, 100.00000000004])
def st_e11() -> cp.Problem:
    x = box([0, 0, 100], [34, 17, 300])
    return minimise(
        35 * cp.power(x[0], 0.6) + 35 * cp.power(x[1], 0.6),
        600 * x[0] - 50 * x[2] - x[0] * x[2] + 5000 == 0,
        600 * x[1] + 50 * x[2] == 15000,
    )


@known("st_e17", 376.291932324, [8.170018267427, 7.5607441812058])
def st_e17() -> cp.Problem:
    x = box([1e-5, 1e-5], [115.8, 30])
    return minimise(29.4 * x[0] + 18 * x[1], x[0] - 0.2458 * cp.quad_over_lin(x[0], x[1]) >= 6)


@known("st_e18", -2 * 2**0.5, [-(2**0.5), -(2**0.5)])
def st_e18() -> cp.Problem:
    x = box(-2, 2, 2)
    squares = cp.sum_squares(x)
    return minimise(x[0] + x[1], squares <= 4, squares >= 1, cp.abs(x[0] - x[1]) <= 1)


@known("st_e19", -118.704859775, [-3.1735990963904, 1.7245330319177])
def st_e19() -> cp.Problem:
    x = box([-8, 0], [10, 10])
    return minimise(
        polynomial(x[0], 0, 24, -14, 0, 1) - cp.square(x[1]),
        x[1] - cp.square(x[0]) - 2 * x[0] <= -2,
        x[1] - x[0] <= 8,
    )


@known("st_e23; Al-Khayyal, Falk (1983)", -13 / 12, [7 / 6, 1 / 2])
def st_e23() -> cp.Problem:
    x = box(0, 5, 2)
    return minimise(x[0] * x[1] - x[0] - x[1], -6 * x[0] + 8 * x[1] <= 3, 3 * x[0] - x[1] <= 3)


@known("st_bpv1, a bilinear program", 10.0, [27, 1, 0, 10])
def st_bpv1() -> cp.Problem:
    x = box(0, [27, 16, 10, 10], 4)
    return minimise(
        x[0] * x[2] + x[1] * x[3],
        x[0] + 3 * x[1] >= 30,
        2 * x[0] + x[1] >= 20,
        -1.6667 * x[2] + x[3] >= 10,
        x[2] + x[3] <= 15,
    )


# ----------------------------------------------------------------------------------------------
# functions on boxes


@known("D–S: Branin", 0.3978873577, [np.pi, 2.275])
def branin() -> cp.Problem:
    x = box([-5, 0], [10, 15])
    curve = x[1] - 5.1 / (4 * np.pi**2) * cp.square(x[0]) + 5 / np.pi * x[0] - 6
    return minimise(cp.square(curve) + 10 * (1 - 1 / (8 * np.pi)) * cos(x[0]) + 10)


@known("D–S: Goldstein, Price; ex8_1_3", 3.0, [0, -1])
def goldstein_price() -> cp.Problem:
    x = box(-2, 2, 2)
    a, b = x[0], x[1]
    quadratic = 3 * cp.square(a) + 6 * a * b + 3 * cp.square(b)
    first = 19 - 14 * a - 14 * b + quadratic
    second = 18 - 32 * a + 12 * cp.square(a) + 48 * b - 36 * a * b + 27 * cp.square(b)
    return minimise((1 + cp.square(a + b + 1) * first) * (30 + cp.square(2 * a - 3 * b) * second))


@known("D–S: six-hump camel; ex8_1_5", -1.031628453, [0.08984201, -0.7126564])
def six_hump_camel() -> cp.Problem:
    x = box([-3, -2], [3, 2])
    return minimise(
        polynomial(x[0], 0, 0, 4, 0, -2.1, 0, 1 / 3)
        + x[0] * x[1]
        + polynomial(x[1], 0, 0, -4, 0, 4)
    )


def exponentials(x: Any, scales: Any, centres: Any) -> cp.Problem:
    """Hartmann's functions."""
    weights = (1, 1.2, 3, 3.2)
    wells = zip(weights, np.array(scales), 1e-4 * np.array(centres), strict=True)
    return minimise(-sum(c * cp.exp(-a @ cp.square(x - p)) for c, a, p in wells))


@known("D–S: Hartmann 3", -3.8627821478, [0.114614, 0.555649, 0.852547])
def hartmann3() -> cp.Problem:
    return exponentials(
        box(0, 1, 3),
        [[3, 10, 30], [0.1, 10, 35], [3, 10, 30], [0.1, 10, 35]],
        [[3689, 1170, 2673], [4699, 4387, 7470], [1091, 8732, 5547], [381.5, 5743, 8828]],
    )


@known(
    "D–S: Hartmann 6",
    -3.3223680115,
    [0.20168952, 0.15001069, 0.47687398, 0.27533243, 0.31165162, 0.65730054],
)
def hartmann6() -> cp.Problem:
    return exponentials(
        box(0, 1, 6),
        [
            [10, 3, 17, 3.5, 1.7, 8],
            [0.05, 10, 17, 0.1, 8, 14],
            [3, 3.5, 1.7, 10, 17, 8],
            [17, 8, 0.05, 10, 0.1, 14],
        ],
        [
            [1312, 1696, 5569, 124, 8283, 5886],
            [2329, 4135, 8307, 3736, 1004, 9991],
            [2348, 1451, 3522, 2883, 3047, 6650],
            [4047, 8828, 8732, 5743, 1091, 381],
        ],
    )


@known("D–S: Shekel 5", -10.153199679, [4.0000371, 4.0001333, 4.0000371, 4.0001333])
def shekel5() -> cp.Problem:
    x = box(0, 10, 4)
    wells = (
        (0.1, [4, 4, 4, 4]),
        (0.2, [1, 1, 1, 1]),
        (0.2, [8, 8, 8, 8]),
        (0.4, [6, 6, 6, 6]),
        (0.4, [3, 7, 3, 7]),
    )
    return minimise(-sum(cp.inv_pos(c + cp.sum_squares(x - np.array(a))) for c, a in wells))


@known("Rosenbrock (1960)", 0.0, [1, 1])
def rosenbrock() -> cp.Problem:
    x = box([-10, -10], [5, 10])
    return minimise(100 * cp.square(x[1] - cp.square(x[0])) + cp.square(1 - x[0]))


@known("Himmelblau (1972), Applied nonlinear programming", 0.0, [3, 2])
def himmelblau() -> cp.Problem:
    x = box(-5, 5, 2)
    return minimise(cp.square(cp.square(x[0]) + x[1] - 11) + cp.square(x[0] + cp.square(x[1]) - 7))


@known("McCormick (1976)", -1.9132229549, [-0.5471975512, -1.5471975512])
def mccormick() -> cp.Problem:
    x = box([-1.5, -3], [4, 4])
    return minimise(sin(x[0] + x[1]) + cp.square(x[0] - x[1]) - 1.5 * x[0] + 2.5 * x[1] + 1)


@known("Beale (1958)", 0.0, [3, 0.5])
def beale() -> cp.Problem:
    x = box(-4.5, 4.5, 2)
    rows = zip((1.5, 2.25, 2.625), (1, 2, 3), strict=True)
    return minimise(sum(cp.square(a - x[0] * (1 - cp.power(x[1], k))) for a, k in rows))


@known("Schwefel (1981), problem 2.26", -837.9657745, [420.9687474, 420.9687474])
def schwefel() -> cp.Problem:
    x = box(-500, 500, 2)
    return minimise(-cp.sum(cp.multiply(x, sin(cp.sqrt(cp.abs(x))))))


@known("Rastrigin (1974)", 0.0, [0, 0])
def rastrigin() -> cp.Problem:
    x = box(-5.12, 5.12, 2)
    return minimise(20 + cp.sum_squares(x) - 10 * cp.sum(cos(2 * np.pi * x)))


@known("peaks, the surface of MATLAB's manual; odd powers", -6.5511333329, [0.2282789, -1.6255348])
def peaks() -> cp.Problem:
    x = box(-3, 3, 2)
    a, b = x[0], x[1]
    odd = a / 5 - cp.power(a, 3) - cp.power(b, 5)
    return minimise(
        3 * cp.square(1 - a) * cp.exp(-cp.square(a) - cp.square(b + 1))
        - 10 * odd * cp.exp(-cp.sum_squares(x))
        - cp.exp(-cp.square(a + 1) - cp.square(b)) / 3
    )


@known("Hansen, Jaumard, Lu (1992), problem 2", -1.8995993492, [5.1457352886])
def hansen2() -> cp.Problem:
    x = box(2.7, 7.5, 1)
    return minimise(sin(x[0]) + sin(10 / 3 * x[0]))


@known("Hansen, Jaumard, Lu (1992), problem 3", -12.0312494421, [-0.4913908])
def hansen3() -> cp.Problem:
    x = box(-10, 10, 1)
    return minimise(-sum(k * sin((k + 1) * x[0] + k) for k in range(1, 6)))


@known("Hansen, Jaumard, Lu (1992), problem 5", -1.4890725387, [0.9660857])
def hansen5() -> cp.Problem:
    x = box(0, 1.2, 1)
    return minimise((3 * x[0] - 1.4) * sin(18 * x[0]))


@known("Hansen, Jaumard, Lu (1992), problem 15", -0.0355339059, [2.4142135624])
def hansen15() -> cp.Problem:
    x = box(-5, 5, 1)
    return minimise((cp.square(x[0]) - 5 * x[0] + 6) / (cp.square(x[0]) + 1))


# ----------------------------------------------------------------------------------------------
# models


@known(
    "Bukhsh, Grothey, McKinnon, Trodden (2013), Local solutions of optimal power flow: WB2",
    877.777777778,
    [0.95233630847744, 0.56965170304945, 0.88204134665721],
)
def two_buses() -> cp.Problem:
    """One generator, one load of 350 MW and −350 MVAr, a line of .04 + .2i; voltages v, e + fi."""
    v, e, f = (
        cp.Variable(bounds=[lo, hi]) for lo, hi in ((0.95, 1.05), (-1.05, 1.05), (-1.05, 1.05))
    )
    g, b = 0.04 / 0.0416, -0.2 / 0.0416
    size = cp.square(e) + cp.square(f)
    return minimise(
        200 * (g * cp.square(v) - g * v * e - b * v * f),
        g * size - g * v * e + b * v * f == -3.5,
        -b * size + b * v * e + g * v * f == 3.5,
        size >= 0.95**2,
        size <= 1.05**2,
    )


@known(
    "a quadratic on the sphere, in the hard case of Moré, Sorensen (1983)",
    -2.70833333333,
    [0.90905934288631, 0, -0.33333333333333, -0.25],
)
def sphere() -> cp.Problem:
    x = box(-1, 1, 4)
    matrix = np.diag([-2.0, -2.0, 1.0, 4.0])
    return minimise(
        cp.quad_form(x, matrix) + np.array([0, 0, 2.0, 3.0]) @ x, cp.sum_squares(x) == 1
    )


@known(
    "Craig (1989), Introduction to robotics, section 4.4",
    1.79452061062,
    [1.353395429768, -1.5307856524409],
)
def robot_arm() -> cp.Problem:
    """Two links of lengths 1 and 1; the least turn of the joints that reaches (1.2, 0.8)."""
    x = box(-np.pi, np.pi, 2)
    return minimise(
        cp.sum_squares(x - np.array([1.2, -0.2])),
        cos(x[0]) + cos(x[0] + x[1]) == 1.2,
        sin(x[0]) + sin(x[0] + x[1]) == 0.8,
    )


@known("Falk, Palocsay (1992), sum of ratios", 5.0, [3, 4])
def falk_palocsay() -> cp.Problem:
    x = box([1.5, 1.5], [3, 4])
    return maximise(
        (37 * x[0] + 73 * x[1] + 13) / (13 * x[0] + 13 * x[1] + 13)
        + (63 * x[0] - 18 * x[1] + 39) / (13 * x[0] + 26 * x[1] + 13),
        5 * x[0] - 3 * x[1] == 3,
    )


@known("Shen, Wang (2006), sum of ratios", 1.62318335774, [0, 0.28394739291586])
def shen_wang() -> cp.Problem:
    x = box(0, 1, 2)
    return minimise(
        (x[0] + 2 * x[1] + 2) / (3 * x[0] - 4 * x[1] + 5)
        + (4 * x[0] - 3 * x[1] + 4) / (-2 * x[0] + x[1] + 3),
        x[0] + x[1] <= 1.5,
        x[0] - x[1] <= 0,
    )


@known(
    "Maranas, Floudas (1997), generalized geometric programming",
    -83.2497284063,
    [88.355909282, 7.6726531227595, 1.3178621293672],
)
def signomial() -> cp.Problem:
    x = box([70, 1, 0.5], [150, 30, 21])
    return minimise(
        0.5 * x[0] * cp.inv_pos(x[1]) - x[0] - 5 * cp.inv_pos(x[1]),
        0.01 * x[1] * cp.inv_pos(x[2]) + 0.01 * x[0] + 0.0005 * x[0] * x[2] <= 1,
    )


@known(
    "Jaynes (1978), Where do we stand on maximum entropy: the die",
    1.61358109815,
    [
        0.054353167756536,
        0.078771545682898,
        0.11415997722566,
        0.16544680317139,
        0.23977444046597,
        0.34749406569755,
    ],
)
def jaynes() -> cp.Problem:
    p = box(0, 1, 6)
    return maximise(cp.sum(cp.entr(p)), cp.sum(p) == 1, np.arange(1, 7) @ p == 4.5)


@known(
    "Lee, Seung (1999), nonnegative factors of rank one: a mutual information",
    0.147342089549,
    [0.35714285799615, 0.64285714200385, 0.69999999814953, 0.69999999831058],
)
def rank_one() -> cp.Problem:
    u, v = box(0, 1, 2), box(0, 2, 2)
    counts = ((0.4, 0.1), (0.3, 0.6))
    return minimise(
        sum(cp.kl_div(counts[i][j], u[i] * v[j]) for i in range(2) for j in range(2)),
        cp.sum(u) == 1,
    )


@known("Porter (1920): the regular solution, three times RT", -0.0583413494414, [0.0707201815424])
def regular_solution() -> cp.Problem:
    x = box(0, 1, 1)
    return minimise(-cp.entr(x[0]) - cp.entr(1 - x[0]) + 3 * x[0] * (1 - x[0]))


@known("Lukšan, Vlček (2000): CB2", 1.9522244939, [1.139037652, 0.899559938])
def cb2() -> cp.Problem:
    x = box(-5, 5, 2)
    return minimise(
        cp.maximum(
            cp.square(x[0]) + cp.power(x[1], 4),
            cp.sum_squares(2 - x),
            2 * cp.exp(x[1] - x[0]),
        )
    )


@known("Lukšan, Vlček (2000): Crescent", 0.0, [0, 0])
def crescent() -> cp.Problem:
    x = box(-5, 5, 2)
    disc = cp.square(x[0]) + cp.square(x[1] - 1)
    return minimise(cp.maximum(disc + x[1] - 1, -disc + x[1] + 1))


@known("Lukšan, Vlček (2000): Mifflin 2", -1.0, [1, 0])
def mifflin2() -> cp.Problem:
    x = box(-5, 5, 2)
    ring = cp.sum_squares(x) - 1
    return minimise(-x[0] + 2 * ring + 1.75 * cp.abs(ring))


@known(
    "Maranas, Floudas (1993), Weber's problem with attraction and repulsion", 3.14951923805, [2, 1]
)
def weber() -> cp.Problem:
    x = box([0, 0], [10, 10])
    places = ((2, 1, 2.0), (8, 3, 1.5), (5, 9, 1.0), (4, 3, -2.5), (7, 7, -1.0))
    return minimise(sum(w * cp.norm(x - np.array([a, b])) for a, b, w in places))


@known(
    "Auer, Herbster, Warmuth (1996): a single neuron with many minima",
    3.19242659392,
    [-0.15507509199743, 0.37460194749034],
)
def neuron() -> cp.Problem:
    x = box(-4, 4, 2)
    data = ((-1.5, 0.8), (-0.5, 0.9), (0.4, 0.6), (1.0, -0.9), (2.0, -0.7), (3.0, 0.9))
    return minimise(sum(cp.square(tanh(x[0] * t + x[1]) - y) for t, y in data))


@known(
    "Park, Liu (2011): the truncated logistic loss",
    4.47390957333,
    [1.8019855035132, -1.0934116478057],
)
def truncated_logistic() -> cp.Problem:
    x = box(-5, 5, 2)
    data = ((-2.0, -1), (-1.0, -1), (-0.5, -1), (0.4, 1), (0.9, -1), (1.6, 1), (2.0, 1), (4.0, -1))
    losses = [cp.minimum(cp.logistic(-y * (x[0] * t + x[1])), 2.0) for t, y in data]
    return minimise(sum(losses) + 0.05 * cp.square(x[0]))


@known(
    "Ke, Kanade (2005): a robust factor of rank one, by Huber's loss",
    0.936264897421,
    [0.44012969476826, 0.8979342135052, -0.28389715492445, 4.4719962432856],
)
def robust_factor() -> cp.Problem:
    u, v = box(-1, 1, 2), box([-5, 0], [5, 5])
    table = np.array([[1.0, 2.0], [-0.5, 4.0]])
    products = [table[i, j] - u[i] * v[j] for i in range(2) for j in range(2)]
    return minimise(sum(cp.huber(p, 0.5) for p in products), cp.sum_squares(u) == 1)


@known("Scholtes: scholtes3 of MacMPEC", 0.5, [1, 0])
def scholtes3() -> cp.Problem:
    x = box(0, 5, 2)
    return minimise(0.5 * cp.sum_squares(x - 1), x[0] * x[1] <= 0)


@known("Bard (1988): bard1 of MacMPEC; ex9_2_1", 17.0, [1, 0, 3.5, 0, 0])
def bard1() -> cp.Problem:
    x, y = (cp.Variable(bounds=[0, 10]) for _ in range(2))
    multipliers = box(0, 20, 3)
    slack = cp.hstack([3 * x - y - 3, -x + 0.5 * y + 4, -x - y + 7])
    return minimise(
        cp.square(x - 5) + cp.square(2 * y + 1),
        2 * (y - 1) - 1.5 * x + np.array([1, -0.5, 1]) @ multipliers == 0,
        slack >= 0,
        cp.multiply(multipliers, slack) <= 0,
    )


# ----------------------------------------------------------------------------------------------
# integers


@known(
    "Burkardt, data sets for the knapsack problem: P01",
    309.0,
    [1, 1, 1, 1, 0, 1, 0, 0, 0, 0],
    INTEGER,
)
def knapsack() -> cp.Problem:
    take = cp.Variable(10, boolean=True)
    profit = np.array([92, 57, 49, 68, 60, 43, 67, 84, 87, 72])
    weight = np.array([23, 31, 29, 44, 53, 38, 63, 85, 89, 82])
    return maximise(profit @ take, weight @ take <= 165)


@known(
    "fixed costs, and a concave cost of volume; data here",
    31.288905057,
    [0, 2.9999999999892, 0, 7.9999999999961, 0, 1, 0, 1],
    INTEGER,
)
def fixed_costs() -> cp.Problem:
    amount, opened = box(0, [4, 5, 6, 8], 4), cp.Variable(4, boolean=True)
    most = np.array([4, 5, 6, 8])
    return minimise(
        np.array([3, 4, 6, 9]) @ opened
        + np.array([2.0, 1.5, 1.2, 0.8]) @ amount
        + np.array([1, 1, 2, 2]) @ cp.sqrt(amount),
        amount <= cp.multiply(most, opened),
        cp.sum(amount) >= 11,
    )


@known(
    "Bertsimas, King, Mazumder (2016): the best two of four regressors; data here",
    0.36458963598,
    [1.0914201714619, 0, 0.98679249517483, 0, 1, 0, 1, 0],
    INTEGER,
)
def best_subset() -> cp.Problem:
    w, chosen = box(-3, 3, 4), cp.Variable(4, boolean=True)
    X = np.array(
        [
            [1.0, 0.9, 0.1, -0.3],
            [0.5, 0.7, -0.8, 0.4],
            [-1.2, -0.9, 0.6, 0.2],
            [0.3, 0.1, 1.1, -0.9],
            [0.8, 1.2, -0.5, 0.6],
            [-0.7, -0.4, -0.2, 1.3],
        ]
    )
    y = np.array([1.1, -0.2, -0.4, 1.3, 0.6, -1.4])
    return minimise(cp.sum_squares(X @ w - y), cp.abs(w) <= 3 * chosen, cp.sum(chosen) <= 2)


@known("ex1221; Kocis, Grossmann (1988)", 7.667180068, [1.118033989, 1.310370697, 0, 1, 1], INTEGER)
def ex1221() -> cp.Problem:
    x, b = box(0, 10, 2), cp.Variable(3, boolean=True)
    return minimise(
        2 * x[0] + 3 * x[1] + np.array([1.5, 2, -0.5]) @ b,
        cp.square(x[0]) + b[0] == 1.25,
        cp.power(x[1], 1.5) + 1.5 * b[1] == 3,
        x[0] + b[0] <= 1.6,
        1.333 * x[1] + b[1] <= 3,
        b[2] <= b[0] + b[1],
    )


@known(
    "ex1222; Floudas (1995), Nonlinear and mixed-integer optimization",
    1.07654308333,
    [0.94193734472937, -2.1, 1],
    INTEGER,
)
def ex1222() -> cp.Problem:
    x, b = box([0.2, -2.22554], [1, -1]), cp.Variable(boolean=True)
    return minimise(
        -0.7 * b + 5 * cp.square(x[0] - 0.5) + 0.8,
        cp.exp(x[0] - 0.2) + x[1] >= 0,
        x[1] + 1.1 * b <= -1,
        x[0] - 1.2 * b <= 0.2,
    )


@known(
    "ex1223a; Yuan et al. (1988)", 4.57958240244, [0.2, 0.8, 1.9078784028339, 1, 1, 0, 1], INTEGER
)
def ex1223a() -> cp.Problem:
    x, b = box(0, 10, 3), cp.Variable(4, boolean=True)
    target = np.array([1, 2, 3])
    return minimise(
        cp.sum_squares(x - target) + cp.sum_squares(b[:3] - np.array([1, 2, 1])) - cp.log(1 + b[3]),
        cp.sum(x) + cp.sum(b[:3]) <= 5,
        cp.square(b[2]) + cp.sum_squares(x) <= 5.5,
        x + b[:3] <= np.array([1.2, 1.8, 2.5]),
        x[0] + b[3] <= 1.2,
        cp.square(b[1]) + cp.square(x[1]) <= 1.64,
        cp.square(b[2]) + cp.square(x[2]) <= 4.25,
        cp.square(b[1]) + cp.square(x[2]) <= 4.64,
    )


@known(
    "gkocis; Kocis, Grossmann (1988)",
    1.92309873777,
    [0, 1.5242044049437, 0, 1.1111111111111, 0, 1, 0, 1],
    INTEGER,
)
def gkocis() -> cp.Problem:
    bought, made = box(0, 5, 2), box(0, 5, 2)
    imported, process = cp.Variable(bounds=[0, 5]), cp.Variable(3, boolean=True)
    product = 0.9 * (cp.sum(made) + imported)
    return maximise(
        11 * product
        - np.array([3.5, 1, 1.5]) @ process
        - np.array([1, 1.2]) @ made
        - 1.8 * cp.sum(bought)
        - 7 * imported,
        made == cp.multiply(np.array([1, 1.2]), cp.log(1 + bought)),
        product <= process[0],
        made <= 5 * process[1:],
    )


@known("alan; Manne (1986), a portfolio", 2.925, [0.375, 0, 0.525, 0.1, 1, 0, 1, 1], INTEGER)
def alan() -> cp.Problem:
    x, b = box(0, 1, 4), cp.Variable(4, boolean=True)
    covariance = np.array([[4.0, 3, -1], [3, 6, 1], [-1, 1, 10]])
    return minimise(
        cp.quad_form(x[:3], covariance),
        cp.sum(x) == 1,
        np.array([8, 9, 12, 7]) @ x == 10,
        x <= b,
        cp.sum(b) <= 3,
    )


@known("st_miqp1", 281.0, [1, 1, 1, 0, 0], INTEGER)
def st_miqp1() -> cp.Problem:
    b = cp.Variable(5, boolean=True)
    return minimise(
        50 * cp.sum_squares(b) + np.array([42, 44, 45, 47, 47.5]) @ b,
        np.array([20, 12, 11, 7, 4]) @ b >= 40,
    )


def whole(lower: int, upper: int) -> tuple[cp.Variable, list[cp.Constraint]]:
    """Two whole numbers and their bounds."""
    x = cp.Variable(2, integer=True)
    return x, [x >= lower, x <= upper]


@known("nvs03; Gupta, Ravindran (1985)", 16.0, [4, 2], INTEGER)
def nvs03() -> cp.Problem:
    x, bounds = whole(0, 200)
    return minimise(
        cp.square(x[0] - 8) + cp.square(x[1] - 2),
        0.1 * cp.square(x[0]) <= x[1],
        x[0] / 3 + x[1] <= 4.5,
        *bounds,
    )


@known("nvs04; Gupta, Ravindran (1985)", 0.72, [1, 2], INTEGER)
def nvs04() -> cp.Problem:
    x, bounds = whole(0, 200)
    return minimise(
        100 * cp.square(0.5 + x[1] - cp.square(0.6 + x[0])) + cp.square(0.4 - x[0]), *bounds
    )


@known("nvs06; Gupta, Ravindran (1985)", 1.7703125, [2, 2], INTEGER)
def nvs06() -> cp.Problem:
    x, bounds = whole(1, 200)
    a, b = cp.square(x[0]), cp.square(x[1])
    return minimise(
        0.1 * (a + (1 + b) / a + (100 + a * b) / cp.power(x[0] * x[1], 4)) + 1.2, *bounds
    )


@known("nvs10; Gupta, Ravindran (1985)", -310.8, [2, 7], INTEGER)
def nvs10() -> cp.Problem:
    x, bounds = whole(0, 200)
    a, b, product = cp.square(x[0]), cp.square(x[1]), x[0] * x[1]
    return minimise(
        7 * a + 6 * b - 35 * x[0] - 80.4 * x[1],
        9 * a + 10 * product + 8 * b <= 583,
        6 * a + 8 * product + 6 * b <= 441,
        *bounds,
    )
