"""U_3 = sum over ordered triples of distinct nodes of rho_e( t(v_1, v_2, v_3) ). Its derivative: see `ub`.

Triple by triple: nodes may stand for classes of twins, see `twins`; a class of one node is a node. By
sorting, for large sparse graphs and relu or ramp, in O(n^2 + n |E|) per channel: all triples as if there were
no edges, one merge for each node; triples with equal nodes are taken away by inclusion and exclusion, each a
sum over pairs; then every triple with an edge is corrected, and one with several is met at the first of the
slots (1, 2), (1, 3), (2, 3).
"""

from __future__ import annotations

import numpy as np

from grnf.engine.coefficients import Coefficients
from grnf.engine.jit import compiled
from grnf.engine.neighbours import Neighbours
from grnf.engine.rows import RAMP, RELU, Activation, activate, add_heads
from grnf.engine.schedule import fitting_tile
from grnf.engine.sorting import pair_sums, triple_sums
from grnf.engine.statistics import Statistics
from grnf.engine.terms import terms
from grnf.typing import FloatArray, IntArray

__all__ = ["u3", "u3_sorted"]


@compiled
def u3(
    s: Statistics,
    near: Neighbours,
    c: Coefficients,
    rho: Activation,
    tile: int,
    scale: FloatArray,
    graphs: IntArray,
    out: FloatArray,
) -> None:
    """out[g, feature] += head u^3 U_3 for these graphs, with one row per class of twins; scale[g] = u.

    `tile` is the most channels treated at once; of large graphs so many that a table of pairs of nodes stays
    in the cache.
    """
    H, itemsize = len(c.bias), c.bias.itemsize
    for g in graphs:
        if s.sizes[g] < 3:
            continue
        weight = s.node_weight[s.node_ptr[g] : s.node_ptr[g + 1]]
        step = fitting_tile(tile, len(weight) ** 2, itemsize)
        for start in range(0, H, step):
            stop = min(start + step, H)
            nodes, edges = terms(s, near, c, scale[g], g, start, stop)
            U = np.zeros(stop - start, np.float64)
            _add_triples(rho, near, s.node_ptr[g], weight, nodes, edges, U)
            add_heads(U, scale[g] ** 3, c.head, c.segments, start, out[g])


@compiled
def _add_triples(
    rho: Activation,
    near: Neighbours,
    first: int,
    size: FloatArray,
    nodes: FloatArray,
    edges: FloatArray,
    U: FloatArray,
) -> None:
    """U += sum over triples of rho(a_i + b_j + c_k + e_12(i, j) + e_13(i, k) + e_23(j, k)).

    Classes i, j, k stand for size_i (size_j - [i = j]) (size_k - [i = k] - [j = k]) triples. For the ReLU as
    max(-base, x) + base, with base for what i and j add and x for the rest: one operation less per triple.
    """
    n, width = nodes.shape[1], nodes.shape[2]
    last = np.empty((n, n, width), nodes.dtype)  # c_k + e_23(j, k)
    second, third = np.zeros((n, width), nodes.dtype), np.zeros((n, width), nodes.dtype)  # e_12, e_13 of i
    base, row = np.zeros((2, width), nodes.dtype), np.empty(width, nodes.dtype)  # 0 times it must be 0
    weight, partial = np.empty((2, n), nodes.dtype), np.zeros(width, nodes.dtype)
    others = size.sum() - 2
    for j in range(n):
        last[j] = 0
        _set_edges(near, first + j, edges[2], last[j])
        last[j] += nodes[2]
    for i in range(n):
        _set_edges(near, first + i, edges[0], second)
        _set_edges(near, first + i, edges[1], third)
        waiting = -1  # a j whose row waits for the next: the ReLU takes two at once
        for j in range(n):
            pairs = size[i] * (size[j] - (i == j))
            if pairs == 0:
                continue
            slot = 1 if len(rho) == RELU and waiting >= 0 else 0
            for k in range(n):
                weight[slot, k] = pairs * (size[k] - (i == k) - (j == k))
            for h in range(width):
                base[slot, h] = nodes[0, i, h] + nodes[1, j, h] + second[j, h]
            if len(rho) != RELU:
                _add_last(rho, base[0], last[j], third, weight[0], row, partial)
            else:
                for h in range(width):
                    partial[h] += (pairs * others) * base[slot, h]
                    base[slot, h] = -base[slot, h]
                if slot == 1:
                    _add_last_two(base, last[waiting], last[j], third, weight, partial)
                waiting = j if slot == 0 else -1
            if j % 16 == 15:  # short sums in single precision, long ones in double
                _move(partial, U)
        if waiting >= 0:
            weight[1] = 0
            _add_last_two(base, last[waiting], last[waiting], third, weight, partial)
        _move(partial, U)
        for entry in range(near.ptr[first + i], near.ptr[first + i + 1]):
            second[near.node[entry]] = 0
            third[near.node[entry]] = 0


@compiled
def _move(partial: FloatArray, U: FloatArray) -> None:
    """U += partial; partial = 0."""
    for h in range(len(U)):
        U[h] += partial[h]
        partial[h] = 0


@compiled
def _set_edges(near: Neighbours, i: int, edges: FloatArray, out: FloatArray) -> None:
    """Write what the edges of node i add to the rows of its neighbours."""
    for entry in range(near.ptr[i], near.ptr[i + 1]):
        target, edge = out[near.node[entry]], edges[near.value[entry]]
        for h in range(len(target)):
            target[h] = edge[h]


@compiled
def _add_last_two(
    base: FloatArray, x: FloatArray, y: FloatArray, third: FloatArray, weight: FloatArray, partial: FloatArray
) -> None:
    """Add sum_k w_0k max(base_0, x_k + third_k) + w_1k max(base_1, y_k + third_k) to partial."""
    n, width = len(x), len(partial)
    for k in range(0, n - n % 4, 4):
        w0, w1, w2, w3 = weight[0, k], weight[0, k + 1], weight[0, k + 2], weight[0, k + 3]
        v0, v1, v2, v3 = weight[1, k], weight[1, k + 1], weight[1, k + 2], weight[1, k + 3]
        for h in range(width):
            t0, t1, t2, t3 = third[k, h], third[k + 1, h], third[k + 2, h], third[k + 3, h]
            p, q = base[0, h], base[1, h]
            low = (partial[h] + w0 * max(p, x[k, h] + t0)) + w1 * max(p, x[k + 1, h] + t1)
            low = (low + w2 * max(p, x[k + 2, h] + t2)) + w3 * max(p, x[k + 3, h] + t3)
            low = (low + v0 * max(q, y[k, h] + t0)) + v1 * max(q, y[k + 1, h] + t1)
            partial[h] = (low + v2 * max(q, y[k + 2, h] + t2)) + v3 * max(q, y[k + 3, h] + t3)
    for k in range(n - n % 4, n):
        w0, v0 = weight[0, k], weight[1, k]
        for h in range(width):
            t0 = third[k, h]
            low = partial[h] + w0 * max(base[0, h], x[k, h] + t0)
            partial[h] = low + v0 * max(base[1, h], y[k, h] + t0)


@compiled
def _add_last(
    rho: Activation,
    base: FloatArray,
    last: FloatArray,
    third: FloatArray,
    weight: FloatArray,
    row: FloatArray,
    partial: FloatArray,
) -> None:
    """Add sum_k w_k rho(base + last_k + third_k) to partial. `row` is scratch."""
    for k in range(len(last)):
        w = weight[k]
        if w != 0:
            for h in range(len(base)):
                row[h] = base[h] + (last[k, h] + third[k, h])
            activate(rho, row)
            for h in range(len(base)):
                partial[h] += w * row[h]


def u3_sorted(
    s: Statistics,
    near: Neighbours,
    c: Coefficients,
    rho: Activation,
    tile: int,
    scale: FloatArray,
    graph: int,
    out: FloatArray,
) -> None:
    """out[graph, feature] += head u^3 U_3 for one graph, its nodes not grouped; scale[graph] = u."""
    for start in range(0, len(c.bias), tile):
        stop = min(start + tile, len(c.bias))
        (x, y, z), edges = terms(s, near, c, scale[graph], graph, start, stop)
        U = triple_sums(rho, x, y, z)
        for first, second in ((x + y, z), (x + z, y), (y + z, x)):
            U -= pair_sums(rho, first, second, s.node_weight[: len(x)])
        same = x + y + z
        for row in same:
            activate(rho, row)
        U += 2 * same.sum(axis=0, dtype=np.float64)
        _correct(rho, near, s.node_ptr[graph], x, y, z, edges, U)
        add_heads(U, scale[graph] ** 3, c.head, c.segments, start, out[graph])


@compiled
def _correct(
    rho: Activation,
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
                    _add_difference(rho, with_edges, without, partial)
            # an edge between i in slot 1 and j in slot 3; k in slot 2 is not joined to slot 1
            _mark(near, first + j, near.back, other)
            for k in range(n):
                if k != i and k != j and mine[k] < 0:
                    for h in range(width):
                        without[h] = x[i, h] + y[k, h] + z[j, h]
                        with_edges[h] = without[h] + edges[1, value, h]
                    _add_if(with_edges, edges[2], other[k])
                    _add_difference(rho, with_edges, without, partial)
            # an edge between i in slot 2 and j in slot 3; k in slot 1 is joined to neither
            for k in range(n):
                if k != i and k != j and mine[k] < 0 and other[k] < 0:
                    for h in range(width):
                        without[h] = x[k, h] + y[i, h] + z[j, h]
                        with_edges[h] = without[h] + edges[2, value, h]
                    _add_difference(rho, with_edges, without, partial)
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
def _add_difference(rho: Activation, x: FloatArray, y: FloatArray, partial: FloatArray) -> None:
    """Partial += rho(x) - rho(y), rho: relu or ramp."""
    zero, one = x.dtype.type(0), x.dtype.type(1)
    if len(rho) == RAMP:
        for h in range(len(x)):
            partial[h] += min(max(x[h], zero), one) - min(max(y[h], zero), one)
    else:
        for h in range(len(x)):
            partial[h] += max(x[h], zero) - max(y[h], zero)
