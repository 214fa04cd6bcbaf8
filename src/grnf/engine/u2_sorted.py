"""U_2 for large graphs and piecewise-linear activations: O(n log n + |E|) per channel, exact.

Over all pairs as if there were no edges, sum_ij relu(a_i + b_j) needs only sorted a and sorted b: as a_i
grows, the set of b_j above -a_i grows, and its size and sum are kept. ramp(x) = relu(x) - relu(x - 1). Then
the pairs of a node with itself are taken away and those with an edge corrected.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from grnf.engine.coefficients import Coefficients
from grnf.engine.jit import compiled
from grnf.engine.rows import RAMP, activate, add_heads, evaluate, project
from grnf.engine.statistics import Statistics
from grnf.typing import FloatArray

__all__ = ["pair_sums", "transpose", "u2_sorted"]


def u2_sorted(
    s: Statistics, c: Coefficients, code: int, tile: int, scale: FloatArray, graph: int, out: FloatArray
) -> None:
    """out[graph, feature] += head u^2 U_2 for one graph; scale[graph] = u."""
    weight = s.node_weight[s.node_ptr[graph] : s.node_ptr[graph + 1]]
    ab, columns = np.empty((0, 0), c.bias.dtype), np.empty((0, 0), c.bias.dtype)
    for start in range(0, len(c.bias), tile):
        stop = min(start + tile, len(c.bias))
        if ab.shape[1] != 2 * (stop - start):  # kept from tile to tile: fresh memory is slow
            ab = np.empty((len(weight), 2 * (stop - start)), c.bias.dtype)
            columns = np.empty(ab.shape[::-1], c.bias.dtype)
        pairs = _tile(s, c, scale[graph], graph, start, ab)
        transpose(ab, columns)
        U = _all_pairs(code, columns, weight)
        _correct(code, s, graph, ab, pairs, U)
        add_heads(U, scale[graph] ** 2, c.head, c.segments, start, out[graph])


def pair_sums(code: int, a: FloatArray, b: FloatArray, weight: FloatArray) -> FloatArray:
    """Return sum_ij w_i w_j rho(a_i + b_j) of each channel, for rows a_i, b_j; rho: relu or ramp."""
    width = a.shape[1]
    columns = np.empty((2 * width, len(a)), a.dtype)
    transpose(a, columns[:width])
    transpose(b, columns[width:])
    return _all_pairs(code, columns, weight)


def _all_pairs(code: int, columns: npt.NDArray[Any], weight: npt.NDArray[Any]) -> FloatArray:
    """Return the sum over all pairs; `columns` has a row per channel of a, then of b, and is overwritten."""
    if (weight == 1).all():
        columns.sort(axis=1)
        weights = weight[np.newaxis]  # one row for all
    else:
        order = np.argsort(columns, axis=1)
        columns, weights = np.take_along_axis(columns, order, axis=1), weight[order]
    half = len(columns) // 2
    wx, wy = (weights, weights) if len(weights) == 1 else (weights[:half], weights[half:])
    U = _merge(columns[:half], wx, columns[half:], wy, 0.0)
    if code == RAMP:
        U -= _merge(columns[:half], wx, columns[half:], wy, -1.0)
    return U


@compiled
def transpose(a: FloatArray, out: FloatArray) -> None:
    """Set out[h, i] = a[i, h], reading a row by row: faster than numpy."""
    for first in range(0, a.shape[0], 64):
        last = min(first + 64, a.shape[0])
        for h in range(a.shape[1]):
            for i in range(first, last):
                out[h, i] = a[i, h]


@compiled
def _merge(x: FloatArray, wx: FloatArray, y: FloatArray, wy: FloatArray, shift: float) -> FloatArray:
    """Return sum_ij wx_i wy_j relu(x_i + y_j + shift) of each row, both sorted ascending."""
    U = np.zeros(len(x))
    for h in range(len(x)):
        u, v = h % len(wx), h % len(wy)
        j = y.shape[1]
        mass = total = result = 0.0
        for i in range(x.shape[1]):
            xi = x[h, i] + shift
            while j > 0 and xi + y[h, j - 1] > 0:
                j -= 1
                mass += wy[v, j]
                total += wy[v, j] * y[h, j]
            result += wx[u, i] * (xi * mass + total)
        U[h] = result
    return U


@compiled
def _tile(s: Statistics, c: Coefficients, u: float, g: int, start: int, ab: FloatArray) -> FloatArray:
    """Write rows [a_i | b_i] of some channels to ab; return the coefficients of edges."""
    width = ab.shape[1] // 2
    stop = start + width
    shared, constant = np.empty((1, width), c.bias.dtype), np.zeros(2 * width, c.bias.dtype)
    both = np.empty((c.nodes.shape[2], 2 * width), c.bias.dtype)
    both[:, :width] = evaluate(c.nodes[:, 0], u, start, stop)
    both[:, width:] = evaluate(c.nodes[:, 1], u, start, stop)
    project(s.totals, g, len(shared), evaluate(c.totals, u, start, stop), c.bias[start:stop], shared)
    constant[:width] = shared[0]
    project(s.nodes, s.node_ptr[g], len(ab), both, constant, ab)
    return evaluate(c.pairs[:, 0], u, start, stop)


@compiled
def _correct(code: int, s: Statistics, g: int, ab: FloatArray, pairs: FloatArray, U: FloatArray) -> None:
    """U += sum over edges of rho(a_i + b_j + e) - rho(a_i + b_j), less sum_i rho(a_i + b_i).

    A pair {i, j} is met once, for both of its orders, so that far rows are fetched once.
    """
    width, columns = len(U), s.pairs.shape[1]
    half = columns // 2 if s.directed else 0
    zeros, values = np.zeros(width, ab.dtype), np.zeros((2, columns), ab.dtype)
    edge, partial = np.zeros((2, width), ab.dtype), np.zeros(width, ab.dtype)
    zero, one = ab.dtype.type(0), ab.dtype.type(1)
    for i in range(len(ab)):
        mine = ab[i]
        a, b = mine[:width], mine[width:]
        for h in range(width):
            partial[h] = a[h] + b[h]
        activate(code, partial)
        for h in range(width):
            U[h] -= s.node_weight[s.node_ptr[g] + i] * partial[h]
    partial[:] = 0
    last = known = np.int64(-1)
    for pair in range(s.pair_ptr[g], s.pair_ptr[g + 1]):
        i = s.pair_nodes[pair, 0]
        if i != last:  # short sums in single precision, long ones in double
            last = i
            for h in range(width):
                U[h] += partial[h]
            partial[:] = 0
        if known < 0 or not _same(s.pairs[pair], s.pairs[known]):
            known = np.int64(pair)
            for f in range(columns):
                values[0, f], values[1, f] = s.pairs[pair, f], s.pairs[pair, (f + half) % columns]
            project(values, 0, 2, pairs, zeros, edge)
        w, mine, other = s.pair_weight[pair], ab[i], ab[s.pair_nodes[pair, 1]]
        a, b, c, d = mine[:width], mine[width:], other[:width], other[width:]
        if code == RAMP:
            for h in range(width):
                x, y = a[h] + d[h], c[h] + b[h]
                there = min(max(x + edge[0, h], zero), one) - min(max(x, zero), one)
                back = min(max(y + edge[1, h], zero), one) - min(max(y, zero), one)
                partial[h] += w * (there + back)
        else:
            for h in range(width):
                x, y = a[h] + d[h], c[h] + b[h]
                there, back = (
                    max(x + edge[0, h], zero) - max(x, zero),
                    max(y + edge[1, h], zero) - max(y, zero),
                )
                partial[h] += w * (there + back)
    for h in range(width):
        U[h] += partial[h]


@compiled
def _same(a: FloatArray, b: FloatArray) -> bool:
    for f in range(len(a)):  # noqa: SIM110 numba knows no generators
        if a[f] != b[f]:
            return False
    return True
