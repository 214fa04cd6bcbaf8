"""U_B for any B: sum over tuples of B distinct nodes of rho_e( t(v_1 .. v_B) ), and its derivative.

For small graphs: O(n^B). The derivative serves from B = 3 on.
"""

from __future__ import annotations

import numpy as np

from grnf.engine.coefficients import Coefficients
from grnf.engine.jit import compiled, inlined
from grnf.engine.neighbours import Neighbours
from grnf.engine.rows import RELU, Activation, activate, activate_with_slope, add_heads
from grnf.engine.statistics import Statistics
from grnf.engine.terms import Slopes, Tape, closed, opened, terms
from grnf.typing import FloatArray, IntArray

__all__ = ["ub", "ub_slopes"]


@compiled
def ub(
    s: Statistics,
    near: Neighbours,
    c: Coefficients,
    rho: Activation,
    tile: int,
    scale: FloatArray,
    graphs: IntArray,
    out: FloatArray,
) -> None:
    """out[g, feature] += head u^B U_B for these graphs, their nodes not grouped; scale[g] = u."""
    B = c.nodes.shape[1]
    for g in graphs:
        if s.sizes[g] < B:
            continue
        value_of = _values(near, s.node_ptr[g], s.sizes[g])
        for start in range(0, len(c.bias), tile):
            stop = min(start + tile, len(c.bias))
            nodes, edges = terms(s, near, c, scale[g], g, start, stop)
            U = np.zeros(stop - start)
            _sum_tuples(rho, nodes, edges, value_of, U)
            add_heads(U, scale[g] ** B, c.head, c.segments, start, out[g])


@compiled
def ub_slopes(
    s: Statistics,
    near: Neighbours,
    c: Coefficients,
    rho: Activation,
    tile: int,
    scale: FloatArray,
    graphs: IntArray,
    d_out: FloatArray,
    out: Slopes,
) -> None:
    """Add the derivatives of u^B U_B of these graphs, given those of all features, d_out[g]."""
    B = c.nodes.shape[1]
    for g in graphs:
        if s.sizes[g] < B:
            continue
        value_of = _values(near, s.node_ptr[g], s.sizes[g])
        for start in range(0, len(c.bias), tile):
            tape = opened(s, near, c, scale[g], g, start, min(start + tile, len(c.bias)), d_out)
            _add_tuple_slopes(rho, value_of, tape)
            closed(s, near, c, scale[g], g, start, tape, d_out, out)


@compiled
def _values(near: Neighbours, first: int, n: int) -> IntArray:
    """Return the value of the edge between any two nodes of a graph, -1 where there is none."""
    value_of = np.full((n, n), -1)
    for i in range(n):
        for entry in range(near.ptr[first + i], near.ptr[first + i + 1]):
            value_of[i, near.node[entry]] = near.value[entry]
    return value_of


@inlined
def _next_tuple(v: IntArray, used: IntArray, depth: int, n: int) -> bool:
    """Move the last node of a tuple of depth + 1 distinct nodes on; False if there is none left."""
    if v[depth] >= 0:
        used[v[depth]] = 0
    v[depth] += 1
    while v[depth] < n and used[v[depth]]:
        v[depth] += 1
    if v[depth] == n:
        v[depth] = -1
        return False
    used[v[depth]] = 1
    return True


@inlined
def _extend(
    nodes: FloatArray, edges: FloatArray, value_of: IntArray, v: IntArray, depth: int, prefix: FloatArray
) -> None:
    """Set prefix[depth + 1] to the terms of the first depth + 1 nodes of a tuple."""
    row, last, node = prefix[depth + 1], prefix[depth], nodes[depth, v[depth]]
    for h in range(len(row)):
        row[h] = last[h] + node[h]
    for p in range(depth):
        value = value_of[v[p], v[depth]]
        if value >= 0:
            edge = edges[_slot(p, depth, len(nodes)), value]
            for h in range(len(row)):
                row[h] += edge[h]


@inlined
def _slot(p: int, q: int, B: int) -> int:
    """Return the number of the pair of slots p < q, in lexicographic order."""
    return p * B - p * (p + 1) // 2 + q - p - 1


@compiled
def _sum_tuples(
    rho: Activation, nodes: FloatArray, edges: FloatArray, value_of: IntArray, U: FloatArray
) -> None:
    """Walk over all tuples of distinct nodes, keeping the partial sums of every prefix of the tuple."""
    B, n, width = nodes.shape
    prefix, partial = np.zeros((B + 1, width), nodes.dtype), np.zeros(width, nodes.dtype)
    v, used = np.full(B, -1), np.zeros(n, np.int64)
    depth = 0
    while depth >= 0:
        if not _next_tuple(v, used, depth, n):
            depth -= 1
            continue
        _extend(nodes, edges, value_of, v, depth, prefix)
        depth += 1
        if depth == B - 1:
            for last in range(n):
                if not used[last]:
                    v[depth] = last
                    _add_last(rho, nodes, edges, value_of, v, prefix, partial)
            for h in range(width):  # short sums in single precision, long ones in double
                U[h] += partial[h]
                partial[h] = 0
            v[depth] = -1
            depth -= 1


@inlined
def _add_last(
    rho: Activation,
    nodes: FloatArray,
    edges: FloatArray,
    value_of: IntArray,
    v: IntArray,
    prefix: FloatArray,
    partial: FloatArray,
) -> None:
    """Add rho of one tuple; most have a last node without an edge to the others, and take one pass."""
    depth, zero = len(nodes) - 1, partial.dtype.type(0)
    if len(rho) == RELU:
        joined = False
        for p in range(depth):
            joined |= value_of[v[p], v[depth]] >= 0
        if not joined:
            last, node = prefix[depth], nodes[depth, v[depth]]
            for h in range(len(partial)):
                partial[h] += max(last[h] + node[h], zero)
            return
    _extend(nodes, edges, value_of, v, depth, prefix)
    row = prefix[depth + 1]
    activate(rho, row)
    for h in range(len(partial)):
        partial[h] += row[h]


@compiled
def _add_tuple_slopes(rho: Activation, value_of: IntArray, tape: Tape) -> None:
    """Add U_B and the derivatives of its rows; those of tuples with one prefix are added up on the way."""
    B, n, width = tape.nodes.shape
    prefix, back = np.zeros((B + 1, width), tape.nodes.dtype), np.zeros((B + 1, width), tape.nodes.dtype)
    v, used = np.full(B, -1), np.zeros(n, np.int64)
    depth = 0
    while depth >= 0:
        if v[depth] >= 0:  # all tuples that begin so are done
            _hand_back(value_of, v, depth, back, tape)
        if not _next_tuple(v, used, depth, n):
            depth -= 1
            continue
        _extend(tape.nodes, tape.edges, value_of, v, depth, prefix)
        if depth == B - 1:
            activate_with_slope(rho, prefix[B], back[B])
            for h in range(width):
                tape.U[h] += prefix[B, h]
                back[B, h] *= tape.dU[h]
        else:
            depth += 1


@compiled
def _hand_back(value_of: IntArray, v: IntArray, depth: int, back: FloatArray, tape: Tape) -> None:
    """Give the derivatives of tuples that begin with v_0 .. v_depth to the last of these, and to the rest."""
    d, before, node = back[depth + 1], back[depth], tape.d_nodes[depth, v[depth]]
    for h in range(len(d)):
        node[h] += d[h]
        before[h] += d[h]
    for p in range(depth):
        value = value_of[v[p], v[depth]]
        if value >= 0:
            edge = tape.d_edges[_slot(p, depth, len(tape.nodes)), value]
            for h in range(len(d)):
                edge[h] += d[h]
    for h in range(len(d)):
        d[h] = 0
