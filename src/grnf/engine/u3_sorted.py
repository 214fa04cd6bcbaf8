"""U_3 for large sparse graphs and piecewise-linear activations: O(n^2 + n |E|) per channel, exact.

Over all triples as if there were no edges, sum_ijk relu(a_i + b_j + c_k) takes one merge of sorted b and
sorted c for each i. Triples with equal nodes are taken away by inclusion and exclusion, each a sum over
pairs. Then every triple with an edge is corrected; a triple with several is met at the first of the slots
(1,2), (1,3), (2,3).
"""

from __future__ import annotations

import numpy as np

from grnf.engine.coefficients import Coefficients
from grnf.engine.jit import compiled
from grnf.engine.neighbours import Neighbours
from grnf.engine.rows import RAMP, activate, add_heads
from grnf.engine.statistics import Statistics
from grnf.engine.u2_sorted import pair_sums, transpose
from grnf.engine.u3 import triple_terms
from grnf.typing import FloatArray, IntArray

__all__ = ["u3_sorted"]


def u3_sorted(
    s: Statistics,
    near: Neighbours,
    c: Coefficients,
    code: int,
    tile: int,
    scale: FloatArray,
    graph: int,
    out: FloatArray,
) -> None:
    """out[graph, feature] += head u^3 U_3 for one graph, its nodes not grouped; scale[graph] = u."""
    for start in range(0, len(c.bias), tile):
        stop = min(start + tile, len(c.bias))
        (x, y, z), edges = triple_terms(s, near, c, scale[graph], graph, start, stop)
        U = _triple_sums(code, x, y, z)
        for first, second in ((x + y, z), (x + z, y), (y + z, x)):
            U -= pair_sums(code, first, second, s.node_weight[: len(x)])
        same = x + y + z
        for row in same:
            activate(code, row)
        U += 2 * same.sum(axis=0, dtype=np.float64)
        _correct(code, near, s.node_ptr[graph], x, y, z, edges, U)
        add_heads(U, scale[graph] ** 3, c.head, c.segments, start, out[graph])


def _triple_sums(code: int, x: FloatArray, y: FloatArray, z: FloatArray) -> FloatArray:
    """Return sum_ijk rho(x_i + y_j + z_k) of each channel."""
    columns = np.empty((3, x.shape[1], x.shape[0]), x.dtype)
    for source, out in zip((x, y, z), columns, strict=True):
        transpose(source, out)
    a, b, c = columns
    b.sort(axis=1)
    c.sort(axis=1)
    U = _merge_all(a, b, c, 0.0)
    if code == RAMP:
        U -= _merge_all(a, b, c, -1.0)
    return U


@compiled
def _merge_all(x: FloatArray, y: FloatArray, z: FloatArray, shift: float) -> FloatArray:
    """Return sum_ijk relu(x_i + y_j + z_k + shift) of each row; y and z sorted ascending."""
    n = x.shape[1]
    U = np.zeros(len(x))
    for h in range(len(x)):
        for i in range(n):
            k = n
            total = result = 0.0
            for j in range(n):
                base = x[h, i] + shift + y[h, j]
                while k > 0 and base + z[h, k - 1] > 0:
                    k -= 1
                    total += z[h, k]
                result += base * (n - k) + total
            U[h] += result
    return U


@compiled
def _correct(
    code: int,
    near: Neighbours,
    first: int,
    x: FloatArray,
    y: FloatArray,
    z: FloatArray,
    edges: FloatArray,
    U: FloatArray,
) -> None:
    """U += sum over triples with an edge of rho(with edges) - rho(without)."""
    n, width = x.shape
    mine, other = np.full(n, -1), np.full(n, -1)  # value of the edge to each node, or -1
    partial = np.zeros(width, x.dtype)
    with_edges, without = np.empty(width, x.dtype), np.empty(width, x.dtype)
    for i in range(n):
        _mark(near, first + i, near.value, mine)
        for entry in range(near.ptr[first + i], near.ptr[first + i + 1]):
            j, value = near.node[entry], near.value[entry]
            # an edge between i in slot 1 and j in slot 2; any node k in slot 3
            _mark(near, first + j, near.value, other)
            for k in range(n):
                if k != i and k != j:
                    for h in range(width):
                        without[h] = x[i, h] + y[j, h] + z[k, h]
                        with_edges[h] = without[h] + edges[0, value, h]
                    _add_if(with_edges, edges[1], mine[k])
                    _add_if(with_edges, edges[2], other[k])
                    _add_difference(code, with_edges, without, partial)
            # an edge between i in slot 1 and j in slot 3; k in slot 2 is not joined to slot 1
            _mark(near, first + j, near.back, other)
            for k in range(n):
                if k != i and k != j and mine[k] < 0:
                    for h in range(width):
                        without[h] = x[i, h] + y[k, h] + z[j, h]
                        with_edges[h] = without[h] + edges[1, value, h]
                    _add_if(with_edges, edges[2], other[k])
                    _add_difference(code, with_edges, without, partial)
            # an edge between i in slot 2 and j in slot 3; k in slot 1 is joined to neither
            for k in range(n):
                if k != i and k != j and mine[k] < 0 and other[k] < 0:
                    for h in range(width):
                        without[h] = x[k, h] + y[i, h] + z[j, h]
                        with_edges[h] = without[h] + edges[2, value, h]
                    _add_difference(code, with_edges, without, partial)
            _unmark(near, first + j, other)
            for h in range(width):
                U[h] += partial[h]
            partial[:] = 0
        _unmark(near, first + i, mine)


@compiled
def _mark(near: Neighbours, i: int, values: IntArray, marks: IntArray) -> None:
    """Write the values of the edges of node i at its neighbours."""
    for entry in range(near.ptr[i], near.ptr[i + 1]):
        marks[near.node[entry]] = values[entry]


@compiled
def _unmark(near: Neighbours, i: int, marks: IntArray) -> None:
    for entry in range(near.ptr[i], near.ptr[i + 1]):
        marks[near.node[entry]] = -1


@compiled
def _add_if(row: FloatArray, edges: FloatArray, value: int) -> None:
    if value >= 0:
        for h in range(len(row)):
            row[h] += edges[value, h]


@compiled
def _add_difference(code: int, x: FloatArray, y: FloatArray, partial: FloatArray) -> None:
    """Partial += rho(x) - rho(y), rho: relu or ramp."""
    zero, one = x.dtype.type(0), x.dtype.type(1)
    if code == RAMP:
        for h in range(len(x)):
            partial[h] += min(max(x[h], zero), one) - min(max(y[h], zero), one)
    else:
        for h in range(len(x)):
            partial[h] += max(x[h], zero) - max(y[h], zero)
