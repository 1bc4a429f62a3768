"""Further small problems with known optima, in families that a box around few variables leaves out.

Variables may be unbounded and as many as forty. MacMPEC is the collection of Leyffer (2000); the
names of its problems are kept. HS n is problem n of Hock, Schittkowski (1981), ex*_*_* are
those of Floudas et al. (1999), as in :mod:`benchmarks.global_problems`. An optimum "by enumeration"
is the best of finitely many cases. Points that attain the optima are in further_points.json.
"""

from __future__ import annotations

import itertools
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import cvxpy as cp
import numpy as np

from benchmarks.global_problems import GlobalProblem, maximise, minimise

__all__ = ["FAMILIES", "FURTHER", "PLANE", "SCENARIOS", "correlations", "icosahedron"]

sin = cp.nlp.sin
POINTS_FILE = Path(__file__).with_name("further_points.json")
POINTS: dict[str, list[float]] = json.loads(POINTS_FILE.read_text()) if POINTS_FILE.exists() else {}

FURTHER: list[GlobalProblem] = []
FAMILIES: dict[str, str] = {}  # of each problem, by its name


def known(
    family: str, source: str, optimum: float
) -> Callable[[Callable[[], cp.Problem]], Callable[[], cp.Problem]]:
    """Lists a problem."""

    def listed(make: Callable[[], cp.Problem]) -> Callable[[], cp.Problem]:
        name = make.__name__
        FURTHER.append(GlobalProblem(name, source, make, optimum, tuple(POINTS.get(name, ()))))
        FAMILIES[name] = family
        return make

    return listed


def positive(size: int | None = None) -> cp.Variable:
    """Nonnegative variables without an upper bound."""
    return cp.Variable(nonneg=True) if size is None else cp.Variable(size, nonneg=True)


# ----------------------------------------------------------------------------------------------
# complementarity


@known("complementarity", "kth1 of MacMPEC", 0.0)
def kth1() -> cp.Problem:
    z = positive(2)
    return minimise(cp.sum(z), z[0] * z[1] <= 0)


@known("complementarity", "kth2 of MacMPEC", 0.0)
def kth2() -> cp.Problem:
    z = positive(2)
    return minimise(z[0] + cp.square(z[1] - 1), z[0] * z[1] <= 0)


@known("complementarity", "kth3 of MacMPEC", 0.5)
def kth3() -> cp.Problem:
    z = positive(2)
    return minimise(0.5 * cp.square(z[0] - 1) + cp.square(z[1] - 1), z[0] * z[1] <= 0)


@known("complementarity", "jr1 of MacMPEC", 0.5)
def jr1() -> cp.Problem:
    x, y = cp.Variable(), positive()
    return minimise(cp.square(x - 1) + cp.square(y), y - x >= 0, y * (y - x) <= 0)


@known("complementarity", "jr2 of MacMPEC", 0.5)
def jr2() -> cp.Problem:
    x, y = cp.Variable(), positive()
    return minimise(cp.square(y - 1) + cp.square(x), y - x >= 0, y * (y - x) <= 0)


@known("complementarity", "ralph1 of MacMPEC: no multipliers exist", 0.0)
def ralph1() -> cp.Problem:
    x, y = positive(), positive()
    return minimise(2 * x - y, y - x >= 0, y * (y - x) <= 0)


@known("complementarity", "scholtes4 of MacMPEC: no multipliers exist", 0.0)
def scholtes4() -> cp.Problem:
    z = cp.Variable(3)
    return minimise(
        z[0] + z[1] - z[2], z[:2] >= 0, z[0] * z[1] <= 0, z[2] <= 4 * z[0], z[2] <= 4 * z[1]
    )


@known("complementarity", "gauvin of MacMPEC", 20.0)
def gauvin() -> cp.Problem:
    x, y, u = cp.Variable(bounds=[0, 15]), positive(), positive()
    first, second = 4 * (x + 2 * y - 30) + u, 20 - x - y
    return minimise(
        cp.square(x) + cp.square(y - 10), first >= 0, second >= 0, y * first <= 0, u * second <= 0
    )


@known("complementarity", "Outrata, Zowe (1995): stackelberg1 of MacMPEC", -9800 / 3)
def stackelberg1() -> cp.Problem:
    x, y = cp.Variable(bounds=[0, 200]), positive()
    slack = 2 * y + 0.5 * x - 100
    return minimise(0.5 * cp.square(x) + 0.5 * x * y - 95 * x, slack >= 0, y * slack <= 0)


@known("complementarity", "Facchinei, Jiang, Qi (1996): df1 of MacMPEC", 0.0)
def df1() -> cp.Problem:
    x, y = cp.Variable(), positive()
    slack = y - cp.square(x) + 1
    return minimise(
        cp.square(x - 1 - y),
        cp.square(x) <= 2,
        cp.square(x - 1) + cp.square(y - 1) <= 3,
        slack >= 0,
        y * slack <= 0,
    )


@known("complementarity", "De Silva (1978): desilva of MacMPEC", -1.0)
def desilva() -> cp.Problem:
    x, y, multipliers = cp.Variable(2, bounds=[0, 2]), cp.Variable(2), positive(2)
    slack = 0.25 - cp.square(y - 1)
    return minimise(
        cp.sum_squares(x) - 2 * cp.sum(x) + cp.sum_squares(y),
        2 * (y - x) + 2 * cp.multiply(multipliers, y - 1) == 0,
        slack >= 0,
        cp.multiply(multipliers, slack) <= 0,
    )


@known("complementarity", "Outrata (1994): outrata31 of MacMPEC", 3.2077)
def outrata31() -> cp.Problem:
    x, z, w = cp.Variable(bounds=[0, 10]), cp.Variable(2), positive(2)
    slack = cp.hstack([0.333 * z[0] - z[1] + 1 - 0.1 * x, 9 + 0.1 * x - cp.sum_squares(z)])
    return minimise(
        0.5 * cp.square(z[0] - 3) + 0.5 * cp.square(z[1] - 4),
        (1 + 0.2 * x) * z[0] - 3 - 1.333 * x - 0.333 * w[0] + 2 * z[0] * w[1] == 0,
        (1 + 0.1 * x) * z[1] - x + w[0] + 2 * z[1] * w[1] == 0,
        slack >= 0,
        cp.multiply(w, slack) <= 0,
    )


@known("complementarity", "Bard (1991): bard3 of MacMPEC", -12.67871)
def bard3() -> cp.Problem:
    x, y, multipliers = positive(2), positive(2), positive(4)
    first = cp.square(x[0]) - 2 * x[0] + cp.square(x[1]) - 2 * y[0] + y[1] + 3
    slack = cp.hstack([first, x[1] + 3 * y[0] - 4 * y[1] - 4, y])
    return minimise(
        -cp.square(x[0]) - 3 * x[1] - 4 * y[0] + cp.square(y[1]),
        cp.square(x[0]) + 2 * x[1] <= 4,
        2 * y[0] + 2 * multipliers[0] - 3 * multipliers[1] - multipliers[2] == 0,
        -5 - multipliers[0] + 4 * multipliers[1] - multipliers[3] == 0,
        slack >= 0,
        cp.multiply(multipliers, slack) <= 0,
    )


# ----------------------------------------------------------------------------------------------
# nonlinear programs


@known("nonlinear programs", "HS 56", -3.456)
def hs56() -> cp.Problem:
    x, t = cp.Variable(3), cp.Variable(4)
    return minimise(
        -x[0] * x[1] * x[2],
        x == 4.2 * cp.square(sin(t[:3])),
        x[0] + 2 * x[1] + 2 * x[2] == 7.2 * cp.square(sin(t[3])),
    )


@known("nonlinear programs", "HS 61", -143.6461422)
def hs61() -> cp.Problem:
    x = cp.Variable(3)
    return minimise(
        4 * cp.square(x[0]) + 2 * cp.sum_squares(x[1:]) - 33 * x[0] + 16 * x[1] - 24 * x[2],
        3 * x[0] - 2 * cp.square(x[1]) == 7,
        4 * x[0] - cp.square(x[2]) == 11,
    )


@known("nonlinear programs", "HS 63", 961.7151721)
def hs63() -> cp.Problem:
    x = positive(3)
    return minimise(
        1000 - cp.sum_squares(x) - cp.square(x[1]) - x[0] * x[1] - x[0] * x[2],
        np.array([8, 14, 7]) @ x == 56,
        cp.sum_squares(x) == 25,
    )


@known("nonlinear programs", "HS 77", 0.24150513)
def hs77() -> cp.Problem:
    x = cp.Variable(5)
    return minimise(
        cp.square(x[0] - 1)
        + cp.square(x[0] - x[1])
        + cp.square(x[2] - 1)
        + cp.power(x[3] - 1, 4)
        + cp.power(x[4] - 1, 6),
        cp.square(x[0]) * x[3] + sin(x[3] - x[4]) == 2 * 2**0.5,
        x[1] + cp.power(x[2], 4) * cp.square(x[3]) == 8 + 2**0.5,
    )


@known("nonlinear programs", "HS 98, whose published 4.0712463 is no minimum", 3.13580912275)
def hs98() -> cp.Problem:
    x = cp.Variable(6, bounds=[np.zeros(6), np.array([0.31, 0.046, 0.068, 0.042, 0.028, 0.0134])])
    a, _, c, d, e, f = (x[k] for k in range(6))
    first = np.array([17.1, 38.2, 204.2, 212.3, 623.4, 1495.5]) @ x
    second = np.array([17.9, 36.8, 113.9, 169.7, 337.8, 1385.2]) @ x
    third = np.array([0, -273, 0, -70, -819, 0]) @ x
    fourth = np.array([159.9, -311, 0, 587, 391, 2198]) @ x
    return minimise(
        np.array([4.3, 31.8, 63.3, 15.8, 68.5, 4.7]) @ x,
        first - 169 * a * c - 3580 * c * e - 3810 * d * e - 18500 * d * f - 24300 * e * f >= 32.97,
        second - 139 * a * c - 2450 * d * e - 16600 * d * f - 17200 * e * f >= 25.12,
        third + 26000 * d * e >= -124.08,
        fourth - 14000 * a * f >= -173.02,
    )


@known("nonlinear programs", "HS 108", -(3**0.5) / 2)
def hs108() -> cp.Problem:
    x = cp.Variable(9)
    a, b, c, d, e, f, g, h, i = (x[k] for k in range(9))
    within = [(c, d), (e, f), (a, b - i), (a - e, b - f), (a - g, b - h), (c - e, d - f)]
    within += [(c - g, d - h), (g, h - i)]
    return minimise(
        -0.5 * (a * d - b * c + c * i - e * i + e * h - f * g),
        *(cp.square(u) + cp.square(v) <= 1 for u, v in within),
        cp.square(i) <= 1,
        a * d - b * c >= 0,
        c * i >= 0,
        -e * i >= 0,
        e * h - f * g >= 0,
        i >= 0,
    )


@known("nonlinear programs", "HS 111", -47.76109026)
def hs111() -> cp.Problem:
    x = cp.Variable(10, bounds=[-100, 100])
    energies = np.array(
        [-6.089, -17.164, -34.054, -5.914, -24.721, -14.986, -24.1, -10.708, -26.662, -22.179]
    )
    y = cp.exp(x)
    return minimise(
        cp.sum(cp.multiply(y, energies + x - cp.log_sum_exp(x))),
        y[0] + 2 * y[1] + 2 * y[2] + y[5] + y[9] == 2,
        y[3] + 2 * y[4] + y[5] + y[6] == 1,
        y[2] + y[6] + y[7] + 2 * y[8] + y[9] == 1,
    )


@known("nonlinear programs", "HS 114", -1768.80696)
def hs114() -> cp.Problem:
    lower = [1e-5, 1e-5, 1e-5, 1e-5, 1e-5, 85, 90, 3, 1.2, 145]
    upper = [2000, 16000, 120, 5000, 2000, 93, 95, 12, 4, 162]
    x = cp.Variable(10, bounds=[np.array(lower), np.array(upper)])
    p, q, r, s, t, u, v, w, y, z = (x[k] for k in range(10))
    a, b = 0.99, 0.9
    first, second = 35.82 - 0.222 * z, -133 + 3 * v
    third = 1.12 * p + 0.13167 * p * w - 0.00667 * p * cp.square(w)
    fourth = 57.425 + 1.098 * w - 0.038 * cp.square(w) + 0.325 * u
    return minimise(
        5.04 * p + 0.035 * q + 10 * r + 3.36 * t - 0.063 * s * v,
        first >= b * y,
        first <= y / b,
        second >= a * z,
        second <= z / a,
        third >= a * s,
        third <= s / a,
        fourth >= a * v,
        fourth <= v / a,
        1.22 * s == p + t,
        98000 * r == u * (s * y + 1000 * r),
        q + t == p * w,
    )


COLVILLE_A = np.array(
    [
        [-16, 2, 0, 1, 0],
        [0, -2, 0, 4, 2],
        [-3.5, 0, 2, 0, 0],
        [0, -2, 0, -4, -1],
        [0, -9, -2, 1, -2.8],
        [2, 0, -4, 0, 0],
        [-1, -1, -1, -1, -1],
        [-1, -2, -3, -2, -1],
        [1, 2, 3, 4, 5],
        [1, 1, 1, 1, 1],
    ]
)
COLVILLE_B = np.array([-40, -2, -0.25, -4, -4, -1, -40, -60, 5, 1])
COLVILLE_C = np.array(
    [
        [30, -20, -10, 32, -10],
        [-20, 39, -6, -31, 32],
        [-10, -6, 10, -6, -10],
        [32, -31, -6, 39, -20],
        [-10, 32, -10, -20, 30],
    ]
)
COLVILLE_D, COLVILLE_E = np.array([4, 8, 10, 6, 2]), np.array([-15, -27, -36, -18, -12])


@known("nonlinear programs", "HS 86, Colville 1", -32.34867897)
def hs86() -> cp.Problem:
    x = positive(5)
    cubes = COLVILLE_D @ cp.power(x, 3)
    return minimise(
        COLVILLE_E @ x + cp.quad_form(x, COLVILLE_C) + cubes, COLVILLE_A @ x >= COLVILLE_B
    )


@known("nonlinear programs", "HS 117, Colville 2: the dual of HS 86", 32.34867897)
def hs117() -> cp.Problem:
    x, y = positive(10), positive(5)
    return minimise(
        -COLVILLE_B @ x + cp.quad_form(y, COLVILLE_C) + 2 * COLVILLE_D @ cp.power(y, 3),
        2 * COLVILLE_C @ y
        + 3 * cp.multiply(COLVILLE_D, cp.square(y))
        + COLVILLE_E
        - COLVILLE_A.T @ x
        >= 0,
    )


@known("signomial programs", "ex7_2_2: two reactors in series", -0.38881144)
def ex7_2_2() -> cp.Problem:
    x, v = cp.Variable(4, bounds=[0, 1]), cp.Variable(2, bounds=[1e-5, 16])
    return minimise(
        -x[3],
        x[0] + 0.09755988 * x[0] * v[0] == 1,
        x[1] - x[0] + 0.0965841812 * x[1] * v[1] == 0,
        x[2] + x[0] + 0.0391908 * x[2] * v[0] == 1,
        x[3] - x[2] + x[1] - x[0] + 0.03527172 * x[3] * v[1] == 0,
        cp.sqrt(v[0]) + cp.sqrt(v[1]) <= 4,
    )


@known("signomial programs", "ex7_3_1: robust stability", 0.34173955)
def ex7_3_1() -> cp.Problem:
    x, k = cp.Variable(3, bounds=[0, 2000]), cp.Variable(bounds=[0, 10])
    a, b, c = x[0], x[1], x[2]
    centre, width = np.array([800, 4, 6]), np.array([800, 2, 3])
    b2, c2 = cp.square(b), cp.square(c)
    return minimise(
        k,
        10 * b2 * cp.power(c, 3)
        + 10 * cp.power(b, 3) * c2
        + 200 * b2 * c2
        + 100 * cp.power(b, 3) * c
        + 100 * b * cp.power(c, 3)
        + a * b * c2
        + a * b2 * c
        + 1000 * b * c2
        + 8 * a * c2
        + 1000 * b2 * c
        + 8 * a * b2
        + 6 * a * b * c
        - cp.square(a)
        + 60 * a * c
        + 60 * a * b
        - 200 * a
        <= 0,
        cp.abs(x - centre) <= width * k,
    )


@known("signomial programs", "ex7_3_2: robust stability", 1.08986397)
def ex7_3_2() -> cp.Problem:
    x, k = cp.Variable(3, bounds=[0, 10]), cp.Variable(bounds=[0, 10])
    first, second = cp.power(x[0], 4), cp.power(x[1], 4)
    centre, width = np.array([1.4, 1.5, 0.8]), np.array([0.25, 0.2, 0.2])
    return minimise(k, first * second - first - second * x[2] <= 0, cp.abs(x - centre) <= width * k)


@known("signomial programs", "Beightler, Phillips (1976): a box of least cost", 100.0)
def open_box() -> cp.Problem:
    x = positive(3)  # 40 of volume by boxes at 40/xyz a load and sides at 10, 10 and 20
    return minimise(
        40 * cp.inv_pos(x[0] * x[1] * x[2]) + 40 * x[1] * x[2] + 20 * x[0] * x[2] + 10 * x[0] * x[1]
    )


# ----------------------------------------------------------------------------------------------
# pooling


@known("pooling", "Ben-Tal, Eiger, Gershovitz (1994), problem 4; ex5_2_4", -450.0)
def bental4() -> cp.Problem:
    a, b, d = positive(), positive(), cp.Variable(bounds=[0, 50])
    pooled, beside, quality = positive(2), positive(2), cp.Variable(bounds=[1, 3])
    products = pooled + beside
    return minimise(
        6 * a + 16 * b + 15 * d + 10 * cp.sum(beside) - np.array([9, 15]) @ products,
        a + b + d == cp.sum(pooled),
        quality * cp.sum(pooled) == 3 * a + b + d,
        quality * pooled + 2 * beside <= cp.multiply(np.array([2.5, 1.5]), products),
        products <= np.array([100, 200]),
    )


@known("pooling", "Haverly (1978), pooling 1 by shares: the q-formulation", -400.0)
def haverly_by_shares() -> cp.Problem:
    shares, pooled, beside = positive(2), positive(2), positive(2)
    products = pooled + beside
    return minimise(
        6 * shares[0] * cp.sum(pooled)
        + 16 * shares[1] * cp.sum(pooled)
        + 10 * cp.sum(beside)
        - np.array([9, 15]) @ products,
        cp.sum(shares) == 1,
        *(
            3 * shares[0] * pooled[j] + shares[1] * pooled[j] + 2 * beside[j] <= most * products[j]
            for j, most in enumerate((2.5, 1.5))
        ),
        products <= np.array([100, 200]),
    )


# ----------------------------------------------------------------------------------------------
# points on spheres and in squares


def charges(n: int) -> cp.Problem:
    """Least energy of unit charges on the sphere (Thomson 1904)."""
    points = cp.Variable((n, 3))
    i, j = np.triu_indices(n, 1)
    distances = cp.norm(points[i] - points[j], 2, axis=1)
    return minimise(cp.sum(cp.inv_pos(distances)), cp.sum(cp.square(points), axis=1) == 1)


@known("points on spheres", "Thomson (1904), Wales, Ulker (2006): five charges", 6.474691495)
def thomson5() -> cp.Problem:
    return charges(5)


@known("points on spheres", "Wales, Ulker (2006): seven charges", 14.452977414)
def thomson7() -> cp.Problem:
    return charges(7)


@known("points on spheres", "Wales, Ulker (2006): eight charges", 19.675287861)
def thomson8() -> cp.Problem:
    return charges(8)


@known("points on spheres", "Schütte, van der Waerden (1951): seven points", 1.2568704685)
def tammes7() -> cp.Problem:
    points, distance = cp.Variable((7, 3)), cp.Variable(bounds=[0, 2])
    i, j = np.triu_indices(7, 1)
    return maximise(
        distance,
        cp.norm(points[i] - points[j], 2, axis=1) >= distance,
        cp.sum(cp.square(points), axis=1) == 1,
    )


def tammes(n: int) -> cp.Problem:
    """Points of the sphere as far from each other as can be, without bounds, in norms."""
    points, distance = cp.Variable((n, 3)), cp.Variable()
    i, j = np.triu_indices(n, 1)
    apart = [cp.norm(points[a] - points[b]) >= distance for a, b in zip(i, j, strict=True)]
    return maximise(distance, *apart, *(cp.norm(point) == 1 for point in points))


@known("points on spheres", "Schütte, van der Waerden (1951): eight points", 1.2155625241)
def tammes8() -> cp.Problem:
    return tammes(8)


@known("points on spheres", "Fejes Tóth (1943): twelve points", 4 / (10 + 2 * 5**0.5) ** 0.5)
def tammes12() -> cp.Problem:
    return tammes(12)


def scattered(n: int) -> cp.Problem:
    """Points of a unit square, as far from each other as can be."""
    points, distance = cp.Variable((n, 2), bounds=[0, 1]), cp.Variable(bounds=[0, 2])
    i, j = np.triu_indices(n, 1)
    return maximise(distance, cp.norm(points[i] - points[j], 2, axis=1) >= distance)


@known("packing", "Schaer, Meir (1965): five points in a square", 2**-0.5)
def square5() -> cp.Problem:
    return scattered(5)


@known("packing", "Graham, Melissen (1994): six points in a square", 13**0.5 / 6)
def square6() -> cp.Problem:
    return scattered(6)


@known("packing", "Schaer (1965): seven points in a square", 2 * (2 - 3**0.5))
def square7() -> cp.Problem:
    return scattered(7)


# ----------------------------------------------------------------------------------------------
# ratios and quadratics


@known("sums of ratios", "Phuong, Tuy (2003)", 1.9 + 4 / 7)
def phuong_tuy() -> cp.Problem:
    x = positive(3)
    matrix = np.array([[1, 1, -1], [-1, 1, -1], [12, 5, 12], [12, 12, 7], [-6, 1, 1]])
    row = np.array
    return maximise(
        (row([3, 1, -2]) @ x + 0.8) / (row([2, -1, 1]) @ x)
        + (row([4, -2, 1]) @ x) / (row([7, 3, -1]) @ x),
        matrix @ x <= np.array([1, -1, 34.8, 29.1, -4.1]),
        row([2, -1, 1]) @ x >= 1e-3,
        row([7, 3, -1]) @ x >= 1e-3,
    )


@known("sums of ratios", "Kuno (2002)", 4 + 4 / 45 - 1 / 49 + 1 / 45)
def kuno() -> cp.Problem:
    x = positive(3)
    matrix = np.array([[2, 1, 5], [1, 6, 3], [5, 9, 2], [9, 7, 3]])
    above = np.array([[4, 3, 3], [3, 0, 4], [1, 2, 5], [1, 2, 4]]) @ x + 50
    below = np.array([[0, 3, 3], [4, 4, 5], [1, 5, 5], [0, 5, 4]]) @ x + 50
    return maximise(cp.sum(above / below), matrix @ x <= 10)


def icosahedron() -> Any:
    """The adjacency matrix of the icosahedron's graph."""
    golden = (1 + 5**0.5) / 2
    signs = list(itertools.product((-1, 1), repeat=2))
    corners = np.array([np.roll([0, s, t * golden], turn) for turn in range(3) for s, t in signs])
    distances = np.linalg.norm(corners[:, None] - corners[None], axis=2)
    return (np.abs(distances - 2) < 1e-9).astype(float)


@known("max-cut", "Goemans, Williamson (1995); the icosahedron, by enumeration", 20.0)
def cut() -> cp.Problem:
    x = cp.Variable(12)
    i, j = np.nonzero(np.triu(icosahedron()))
    return maximise(0.5 * cp.sum(1 - cp.multiply(x[i], x[j])), cp.square(x) == 1)


@known("max-cut", "the icosahedron in the cube, by enumeration", 20.0)
def cut_in_a_cube() -> cp.Problem:
    x = cp.Variable(12, bounds=[-1, 1])
    i, j = np.nonzero(np.triu(icosahedron()))
    return maximise(0.5 * cp.sum(1 - cp.multiply(x[i], x[j])))


WEIGHTS = np.array([19, 17, 13, 12, 11, 9, 8, 7, 5, 4, 3, 2.0])


@known("max-cut", "Garey, Johnson (1979): a partition into equal halves", 0.0)
def partition() -> cp.Problem:
    x = cp.Variable(12)
    return minimise(cp.square(WEIGHTS @ x), cp.square(x) == 1)


@known("quadratic programs", "Motzkin, Straus (1965): cliques of the icosahedron", 2 / 3)
def motzkin_straus() -> cp.Problem:
    x = positive(12)
    i, j = np.nonzero(np.triu(icosahedron()))
    return maximise(2 * cp.sum(cp.multiply(x[i], x[j])), cp.sum(x) == 1)


@known(
    "quadratic programs",
    "bilinear in a box: a corner, by enumeration",
    -282.0,
)
def corners() -> cp.Problem:
    x = cp.Variable(10, bounds=[0, 1])
    i, j = np.triu_indices(10, 1)
    linear, products = random_quadratic()
    return minimise(linear @ x + products @ cp.multiply(x[i], x[j]))


def random_quadratic() -> tuple[Any, Any]:
    """Coefficients of ten entries, and of their products."""
    rng = np.random.default_rng(3)
    return rng.integers(-50, 51, size=10), rng.integers(-50, 51, size=45)


@known(
    "quadratic programs",
    "Moré, Sorensen (1983): by its secular equation",
    -13.5389611853,
)
def trust_region() -> cp.Problem:
    x = cp.Variable(6)
    curves, slopes = trust_region_data()
    return minimise(curves @ cp.square(x) + slopes @ x, cp.sum_squares(x) <= 4)


def trust_region_data() -> tuple[Any, Any]:
    """Curvatures and slopes of the quadratic."""
    return np.array([-3.0, -1, -0.5, 1, 2, 4]), np.array([0.5, 1, -1, 2, -1, 1])


# ----------------------------------------------------------------------------------------------
# statistics


PLANE = np.array(
    [
        [1.0, 1.0], [2.0, 1.0], [1.0, 2.0], [2.0, 2.5], [8.0, 1.0], [9.0, 2.0],
        [8.0, 3.0], [5.0, 8.0], [4.0, 9.0], [6.0, 9.0], [5.0, 7.0], [9.0, 9.0],
    ]
)  # fmt: skip


def nearest(count: int, norm: bool) -> cp.Problem:
    """Distances of the points of a plane to the nearest of so many centres."""
    centres = [cp.Variable(2) for _ in range(count)]
    size = cp.norm if norm else cp.sum_squares
    terms = [cp.minimum(*(size(centre - point) for centre in centres)) for point in PLANE]
    return minimise(sum(terms))


@known("clustering", "MacQueen (1967), k-means with k = 2, by enumeration", 103.6428571429)
def two_means() -> cp.Problem:
    return nearest(2, norm=False)


@known("clustering", "MacQueen (1967), k-means with k = 3, by enumeration", 23.3541666667)
def three_means() -> cp.Problem:
    return nearest(3, norm=False)


@known("clustering", "Cooper (1963): two facilities, by enumeration", 30.2250295826)
def two_facilities() -> cp.Problem:
    return nearest(2, norm=True)


def correlations() -> Any:
    """Of the thirteen measurements of Forina's wines."""
    from sklearn.datasets import load_wine

    return np.corrcoef(load_wine().data.T)


@known(
    "sparse PCA",
    "d'Aspremont et al. (2007): four of thirteen, by enumeration",
    3.082030768,
)
def sparse_pca() -> cp.Problem:
    x = cp.Variable(13)
    sizes = cp.abs(x)
    return maximise(
        cp.quad_form(x, cp.psd_wrap(correlations())),
        cp.sum_squares(x) <= 1,
        cp.norm1(x) - cp.sum_largest(sizes, 4) <= 0,
    )


@known("low rank", "Lee, Seung (1999), nonnegative factors: exact ones exist", 0.0)
def nonnegative_factors() -> cp.Problem:
    rng = np.random.default_rng(4)
    table = rng.random((6, 2)) @ rng.random((2, 5))
    left, right = cp.Variable((6, 2), nonneg=True), cp.Variable((2, 5), nonneg=True)
    return minimise(cp.sum(cp.kl_div(table, left @ right)))


@known("low rank", "Eckart, Young (1936): the two smallest singular values", 2.5628628488)
def eckart_young() -> cp.Problem:
    table = np.random.default_rng(5).normal(size=(6, 4))
    left, right = cp.Variable((6, 2)), cp.Variable((2, 4))
    return minimise(cp.sum_squares(table - left @ right))


@known("phase retrieval", "Candès, Eldar, Strohmer, Voroninski (2013), real, n = 16", 0.0)
def phase16() -> cp.Problem:
    rng = np.random.default_rng(6)
    B, x = rng.normal(size=(64, 16)), cp.Variable(16)
    return minimise(cp.sum(cp.square(cp.square(B @ x) - (B @ rng.normal(size=16)) ** 2)))


@known("phase retrieval", "the same signal from equations, nearest to a guess", 0.0)
def phase16_equations() -> cp.Problem:
    rng = np.random.default_rng(6)
    B = rng.normal(size=(64, 16))
    signal, x = rng.normal(size=16), cp.Variable(16)
    return minimise(cp.norm1(x - signal), cp.square(B @ x) == (B @ signal) ** 2)


# ----------------------------------------------------------------------------------------------
# sensors, fixed costs, chance constraints


@known("sensors", "Beck, Stoica, Li (2008): one source, distances capped, by a grid", 1.5413720004)
def capped_source() -> cp.Problem:
    rng = np.random.default_rng(7)
    sensors = rng.uniform(0, 10, size=(8, 2))
    measured = np.linalg.norm(sensors - [6.0, 3.0], axis=1) + 0.1 * rng.normal(size=8)
    measured[:3] += [4.0, -2.0, 5.0]
    x = cp.Variable(2)
    misses = [cp.norm(x - s) - d for s, d in zip(sensors, measured, strict=True)]
    return minimise(sum(cp.minimum(cp.square(m), 0.5) for m in misses))


@known("fixed costs", "concave transport costs: a vertex, by enumeration", 81.209161182)
def concave_transport() -> cp.Problem:
    x = cp.Variable((3, 4), nonneg=True)
    costs = np.array([[4, 6, 9, 5], [7, 3, 4, 8], [6, 5, 3, 6.0]])
    return minimise(
        cp.sum(cp.multiply(costs, cp.sqrt(x))),
        cp.sum(x, axis=1) == np.array([20, 30, 25]),
        cp.sum(x, axis=0) == np.array([15, 25, 20, 15]),
    )


@known("fixed costs", "Balinski (1961): a charge for each of six plants, by enumeration", 108.0)
def charges_of_plants() -> cp.Problem:
    x = cp.Variable(6, bounds=[0, 10])
    unit, fixed = np.array([3, 1, 2, 4, 2, 1.5]), np.array([10, 35, 20, 2, 18, 30])
    opened = cp.minimum(x / 1e-2, 1)
    return minimise(unit @ x + fixed @ opened, cp.sum(x) >= 27)


SCENARIOS = np.array(
    [
        [1.0, 2.0], [1.5, 1.2], [2.2, 0.8], [0.7, 2.9], [3.0, 0.5], [1.1, 1.1],
        [0.4, 3.4], [2.0, 2.0], [1.9, 0.9], [0.9, 1.6], [2.6, 1.4], [1.3, 2.4],
    ]
)  # fmt: skip


@known(
    "chance constraints",
    "Charnes, Cooper (1959): two of twelve, by enumeration",
    0.6366412214,
)
def chance() -> cp.Problem:
    x = cp.Variable(2, bounds=[0, 1])
    missed = SCENARIOS @ x - 1
    return maximise(
        cp.sum(x) + 0.3 * x[0], cp.sum_largest(missed, 3) - cp.sum_largest(missed, 2) <= 0
    )


@known("pieces", "the least of three costs, by enumeration", 0.5857142857)
def three_costs() -> cp.Problem:
    x = cp.Variable(4)
    centres = np.array([[1, 2, 0, -1], [-2, 0, 1, 3], [0, -3, 2, 1.0]])
    base = 0.05 * cp.sum_squares(x)
    costs = [cp.sum_squares(x - c) + k for c, k in zip(centres, (0.3, 0.2, 0.25), strict=True)]
    return minimise(cp.minimum(*costs) + base, cp.norm1(x) <= 8)


@known("pieces", "the least of three costs on eight days, by enumeration", 16.942945826)
def daily_costs() -> cp.Problem:
    rng = np.random.default_rng(9)
    x, slopes = cp.Variable(2, bounds=[-3, 3]), rng.normal(size=(8, 3, 2))
    terms = [
        cp.minimum(*(cp.sum_squares(x - 2 * slope) + k / 2 for k, slope in enumerate(day)))
        for day in slopes
    ]
    return minimise(sum(terms))
