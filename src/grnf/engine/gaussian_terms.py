"""E[rho(H) rho(H')] given hidden sums, with control variates, added up over samples for all pairs of graphs.

Given its hidden sums, a sample has normal H and H' with variances c, c' and covariance e. One pass makes
these, the closed form of `Moments`, and the products that a regression on the control variates needs.
"""

from __future__ import annotations

import math

import numpy as np

from grnf._utils.jit import compiled, inner
from grnf.engine.moments import ARC_COSINE, ARCSINES, HALF_PI, arccosine
from grnf.typing import FloatArray

N_SUMS = 13
"""Sums for each pair: a term t, the control variates z = (e, c, c'), six products z z', and z t."""


@compiled
def add_samples(
    kind: int,
    node: float,
    factor: float,
    U: FloatArray,
    V: FloatArray,
    symmetric: bool,
    means: tuple[FloatArray, FloatArray, FloatArray],
    out: FloatArray,
) -> None:
    """Add the sums over samples to `out`, shape (n1, N_SUMS, n2), if `symmetric` from the diagonal on.

    U and V hold hidden sums and theta_0, shapes (samples, width, n1) and (samples, width, n2). `means` are
    those of the control variates, which are taken away. Terms are squared differences.
    """
    width, n2 = U.shape[1], V.shape[2]
    one, two = _variances(kind, node, factor, U), _variances(kind, node, factor, V)
    e, product = np.empty(n2), np.empty(n2)
    for i in range(U.shape[2]):
        first = i if symmetric else 0
        sums, e_mean, c_mean = out[i], means[0][i], means[1][i]
        for m in range(len(U)):
            e[:] = 0
            for w in range(width):
                u, row = U[m, w, i], V[m, w]
                for j in range(first, n2):
                    e[j] += u * row[j]
            _set_products(kind, factor, one[m, 1, i], two[m, 1], e, first, product)
            y, own, others, variances = one[m, 0, i] - c_mean, one[m, 2, i], two[m, 2], two[m, 0]
            for j in range(first, n2):
                t = own + others[j] - 2 * product[j]
                x, z = e[j] - e_mean[j], variances[j] - means[2][j]
                sums[0, j] += t
                sums[1, j] += x
                sums[2, j] += y
                sums[3, j] += z
                sums[4, j] += x * x
                sums[5, j] += x * y
                sums[6, j] += x * z
                sums[7, j] += y * y
                sums[8, j] += y * z
                sums[9, j] += z * z
                sums[10, j] += x * t
                sums[11, j] += y * t
                sums[12, j] += z * t


@inner
def _variances(kind: int, node: float, factor: float, U: FloatArray) -> FloatArray:
    """Return c, what e is multiplied with, and E[rho(H)^2] of each sample and graph."""
    result = np.zeros((len(U), 3, U.shape[2]))
    for m in range(len(U)):
        c, times, own = result[m]
        for w in range(U.shape[1]):
            row = U[m, w]
            for i in range(len(row)):
                c[i] += row[i] * row[i]
        for i in range(len(c)):
            if kind == ARCSINES:
                times[i] = node / math.sqrt(0.5 + node * node * c[i])
            elif kind == ARC_COSINE:
                times[i] = 1 / math.sqrt(c[i])
            else:
                times[i] = 1.0
            own[i] = c[i]
        _set_products(kind, factor, 1.0, times * times, c, 0, own)
        if kind == ARC_COSINE:
            for i in range(len(c)):
                own[i] = 0.5 * c[i]
    return result


@inner
def _set_products(
    kind: int, factor: float, own: float, times: FloatArray, e: FloatArray, first: int, out: FloatArray
) -> None:
    """Set `out` to E[rho(H) rho(H')] of a graph and others, without branches in the loops."""
    if kind == ARCSINES:
        for j in range(first, len(e)):
            out[j] = factor * (HALF_PI - arccosine(min(max(e[j] * (own * times[j]), -1.0), 1.0)))
    elif kind == ARC_COSINE:
        for j in range(first, len(e)):
            both = own * times[j]
            cosine = min(max(e[j] * both, -1.0), 1.0)
            sine = math.sqrt((1 - cosine) * (1 + cosine))
            out[j] = (sine + (math.pi - arccosine(cosine)) * cosine) / (2 * math.pi * both)
    else:
        for j in range(first, len(e)):
            out[j] = factor * e[j]
