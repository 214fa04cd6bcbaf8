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
from grnf.engine.jit import kernel
from grnf.engine.neighbours import Neighbours
from grnf.engine.rows import RAMP, activate, add_heads, evaluate, project
from grnf.engine.statistics import Statistics
from grnf.typing import FloatArray

__all__ = ["pair_sums", "transposed", "u2_sorted"]


def u2_sorted(
    s: Statistics,
    near: Neighbours,
    c: Coefficients,
    code: int,
    tile: int,
    scale: FloatArray,
    graph: int,
    out: FloatArray,
) -> None:
    """out[graph, feature] += head u^2 U_2 for one graph; scale[graph] = u."""
    weight = s.node_weight[s.node_ptr[graph] : s.node_ptr[graph + 1]]
    for start in range(0, len(c.bias), tile):
        stop = min(start + tile, len(c.bias))
        a, b, pairs = _tile(s, c, scale[graph], graph, start, stop)
        U = pair_sums(code, a, b, weight)
        _correct(code, s, near, graph, a, b, pairs, U)
        add_heads(U, scale[graph] ** 2, c.head, c.segments, start, out[graph])


def pair_sums(code: int, a: FloatArray, b: FloatArray, weight: FloatArray) -> FloatArray:
    """Return sum_ij w_i w_j rho(a_i + b_j) of each channel, for rows a_i, b_j; rho: relu or ramp."""
    (x, wx), (y, wy) = _sorted_columns(a, weight), _sorted_columns(b, weight)
    U = _merge(x, wx, y, wy, 0.0)
    if code == RAMP:
        U -= _merge(x, wx, y, wy, -1.0)
    return U


def _sorted_columns(a: FloatArray, weight: FloatArray) -> tuple[npt.NDArray[Any], npt.NDArray[Any]]:
    """Sort each column; return the columns as rows, and their weights (one row for all where they are 1)."""
    columns = transposed(a)
    if (weight == 1).all():
        columns.sort(axis=1)
        return columns, weight[np.newaxis]
    order = np.argsort(columns, axis=1)
    return np.take_along_axis(columns, order, axis=1), weight[order]


@kernel
def transposed(a: FloatArray) -> FloatArray:
    """Return the columns as rows, reading a row by row: a copy, and faster than that of numpy."""
    out = np.empty((a.shape[1], a.shape[0]), a.dtype)
    for first in range(0, a.shape[0], 64):
        last = min(first + 64, a.shape[0])
        for h in range(a.shape[1]):
            for i in range(first, last):
                out[h, i] = a[i, h]
    return out


@kernel
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


@kernel
def _tile(
    s: Statistics, c: Coefficients, u: float, g: int, start: int, stop: int
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return a, b and the coefficients of edges, for some channels."""
    first, count = s.node_ptr[g], s.node_ptr[g + 1] - s.node_ptr[g]
    a = np.empty((count, stop - start), c.bias.dtype)
    b = np.empty((count, stop - start), c.bias.dtype)
    constant = np.empty((1, stop - start), c.bias.dtype)
    zeros = np.zeros(stop - start, c.bias.dtype)
    project(s.totals, g, 1, evaluate(c.totals, u, start, stop), c.bias[start:stop], constant)
    project(s.nodes, first, count, evaluate(c.nodes[:, 0], u, start, stop), constant[0], a)
    project(s.nodes, first, count, evaluate(c.nodes[:, 1], u, start, stop), zeros, b)
    return a, b, evaluate(c.pairs[:, 0], u, start, stop)


@kernel
def _correct(
    code: int,
    s: Statistics,
    near: Neighbours,
    g: int,
    a: FloatArray,
    b: FloatArray,
    pairs: FloatArray,
    U: FloatArray,
) -> None:
    """U += sum over edges of rho(a_i + b_j + e) - rho(a_i + b_j), less sum_i rho(a_i + b_i)."""
    first, width = s.node_ptr[g], len(U)
    zeros = np.zeros(width, a.dtype)
    edge = np.zeros((1, width), a.dtype)
    without, partial = np.empty(width, a.dtype), np.zeros(width, a.dtype)
    known = -1
    for i in range(s.node_ptr[g + 1] - first):
        for h in range(width):
            without[h] = a[i, h] + b[i, h]
        activate(code, without)
        for h in range(width):
            partial[h] = -s.node_weight[first + i] * without[h]
        for entry in range(near.ptr[first + i], near.ptr[first + i + 1]):
            j, w, value = near.node[entry], near.weight[entry], near.value[entry]
            if value != known:
                known = value
                project(near.values, near.value_ptr[g] + value, 1, pairs, zeros, edge)
            for h in range(width):
                without[h] = a[i, h] + b[j, h]
            _add_difference(code, w, without, edge[0], partial)
        for h in range(width):
            U[h] += partial[h]


@kernel
def _add_difference(code: int, w: float, x: FloatArray, e: FloatArray, partial: FloatArray) -> None:
    """Partial += w (rho(x + e) - rho(x)), rho: relu or ramp."""
    zero, one = x.dtype.type(0), x.dtype.type(1)
    if code == RAMP:
        for h in range(len(x)):
            partial[h] += w * (min(max(x[h] + e[h], zero), one) - min(max(x[h], zero), one))
    else:
        for h in range(len(x)):
            partial[h] += w * (max(x[h] + e[h], zero) - max(x[h], zero))
