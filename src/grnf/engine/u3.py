"""U_3 = sum over ordered triples of distinct nodes of rho_e( t(v_1, v_2, v_3) ), triple by triple.

Nodes may stand for classes of twins, see `twins`; a class of one node is a node.
"""

from __future__ import annotations

import numpy as np

from grnf.engine.coefficients import Coefficients
from grnf.engine.jit import compiled
from grnf.engine.neighbours import Neighbours
from grnf.engine.rows import RELU, activate, add_heads, evaluate, fitting_tile, project
from grnf.engine.statistics import Statistics
from grnf.typing import FloatArray, IntArray

__all__ = ["triple_terms", "u3"]


@compiled
def u3(
    s: Statistics,
    near: Neighbours,
    c: Coefficients,
    code: int,
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
            nodes, edges = triple_terms(s, near, c, scale[g], g, start, stop)
            U = np.zeros(stop - start, np.float64)
            _add_triples(code, near, s.node_ptr[g], weight, nodes, edges, U)
            add_heads(U, scale[g] ** 3, c.head, c.segments, start, out[g])


@compiled
def triple_terms(
    s: Statistics, near: Neighbours, c: Coefficients, u: float, g: int, start: int, stop: int
) -> tuple[FloatArray, FloatArray]:
    """Return what nodes add in slots 1, 2, 3: (3, n, channels); and what the values of edges add between
    slots (1, 2), (1, 3), (2, 3): (3, values, channels). What all triples share rides on slot 1.
    """  # noqa: D205
    dtype, width = c.bias.dtype, stop - start
    first, n = s.node_ptr[g], s.node_ptr[g + 1] - s.node_ptr[g]
    n_values = near.value_ptr[g + 1] - near.value_ptr[g]
    nodes, edges = np.empty((3, n, width), dtype), np.empty((3, n_values, width), dtype)
    constant, zeros = np.empty((1, width), dtype), np.zeros(width, dtype)
    project(s.totals, g, len(constant), evaluate(c.totals, u, start, stop), c.bias[start:stop], constant)
    for p in range(3):
        project(s.nodes, first, n, evaluate(c.nodes[:, p], u, start, stop), constant[0], nodes[p])
        constant[:] = 0
        coefficient = evaluate(c.pairs[:, p], u, start, stop)
        project(near.values, near.value_ptr[g], n_values, coefficient, zeros, edges[p])
    return nodes, edges


@compiled
def _add_triples(
    code: int,
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
            slot = 1 if code == RELU and waiting >= 0 else 0
            for k in range(n):
                weight[slot, k] = pairs * (size[k] - (i == k) - (j == k))
            for h in range(width):
                base[slot, h] = nodes[0, i, h] + nodes[1, j, h] + second[j, h]
            if code != RELU:
                _add_last(code, base[0], last[j], third, weight[0], row, partial)
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
    code: int,
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
            activate(code, row)
            for h in range(len(base)):
                partial[h] += w * row[h]
