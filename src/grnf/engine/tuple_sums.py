"""U_B for any B: sum over tuples of B distinct nodes of rho_e( t(v_1 .. v_B) ), and its derivative.

For small graphs: O(n^B). The derivative serves from B = 3 on.
"""

from __future__ import annotations

import numpy as np

from grnf._utils.jit import compiled, inlined, inner
from grnf.engine.coefficients import Coefficients
from grnf.engine.counting import integers_below
from grnf.engine.projection import (
    Gradients,
    Tape,
    finish_tape,
    finish_tile,
    matrices,
    projection_of,
    start_tape,
    start_tile,
)
from grnf.engine.rows import ActivationCode, activate, activate_with_derivative, add_heads
from grnf.engine.schedule import TUPLE_GRADIENTS_TILE, TUPLES_TILE, fitting_tile
from grnf.engine.statistics import Neighbors, Statistics
from grnf.engine.type_sums import add_run, slot_of
from grnf.typing import FloatArray, IntArray


@compiled
def tuple_sums(
    s: Statistics,
    near: Neighbors,
    c: Coefficients,
    rho: ActivationCode,
    scale: FloatArray,
    graphs: IntArray,
    out: FloatArray,
) -> None:
    """out[g, feature] += head u^B U_B for these graphs, their nodes not grouped, scale[g] = u."""
    B = c.nodes.shape[1]
    for g in graphs:
        if s.sizes[g] < B:
            continue
        value_of = _values_between(near, s.node_ptr[g], s.sizes[g])
        step = fitting_tile(TUPLES_TILE, B * s.sizes[g], c.bias.itemsize)
        for start in range(0, len(c.bias), step):
            stop = min(start + step, len(c.bias))
            nodes, edges = projection_of(s, near, matrices(c, scale[g], start, stop), g)
            U = np.zeros(stop - start, np.float64)
            _sum_tuples(rho, near, s.node_ptr[g], nodes, edges, value_of, U)
            add_heads(U, scale[g] ** B, c.head, c.segments, start, out[g])


@compiled
def tuple_sum_gradients(
    s: Statistics,
    near: Neighbors,
    c: Coefficients,
    rho: ActivationCode,
    scale: FloatArray,
    graphs: IntArray,
    d_out: FloatArray,
    out: Gradients,
) -> None:
    """Add the derivatives of u^B U_B of these graphs, given those of all features, d_out[g]."""
    B = c.nodes.shape[1]
    for g in graphs:
        if s.sizes[g] < B:
            continue
        value_of = _values_between(near, s.node_ptr[g], s.sizes[g])
        for start in range(0, len(c.bias), TUPLE_GRADIENTS_TILE):
            part = start_tile(c, start, min(start + TUPLE_GRADIENTS_TILE, len(c.bias)))
            tape = start_tape(part, s, near, c, scale[g], g, d_out, out)
            _add_tuple_gradients(rho, value_of, tape)
            finish_tape(part, s, near, c, g, tape, d_out, out)
            finish_tile(part, out)


@inner
def _values_between(near: Neighbors, first: int, n: int) -> IntArray:
    """Return the value of the edge between any two nodes of a graph, counted from 1, 0 if there is none."""
    value_of = np.zeros((n, n), np.int64)
    for i in range(n):
        for entry in range(near.ptr[first + i], near.ptr[first + i + 1]):
            value_of[i, near.node[entry]] = near.value[entry] + 1
    return value_of


@inlined
def _next_tuple(v: IntArray, used: IntArray, depth: int, n: int) -> bool:
    """Move the last node of a tuple of depth + 1 distinct nodes on. Return False if there is none left."""
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
        if value:
            edge = edges[slot_of(p, depth, len(nodes)), value - 1]
            for h in range(len(row)):
                row[h] += edge[h]


@inner
def _copy(source: FloatArray, target: FloatArray) -> None:
    """Set target = source. An assignment of numba would compile the text of an error message for seconds."""
    for i in range(len(source)):
        for h in range(source.shape[1]):
            target[i, h] = source[i, h]


@inner
def _sum_tuples(
    rho: ActivationCode,
    near: Neighbors,
    first: int,
    nodes: FloatArray,
    edges: FloatArray,
    value_of: IntArray,
    U: FloatArray,
) -> None:
    """Walk over all tuples of B - 1 distinct nodes, and add those that begin so at once.

    prefix[d] is what the first d nodes add, last[d, k] what node k in the last slot adds to them.
    """
    B, n, width = nodes.shape
    prefix, last = np.zeros((B, width), nodes.dtype), np.empty((B - 1, n, width), nodes.dtype)
    row, partial, weight = (
        np.zeros(width, nodes.dtype),
        np.zeros(width, nodes.dtype),
        np.zeros(n, nodes.dtype),
    )
    v, used, everyone = np.full(B, -1, np.int64), np.zeros(n, np.int64), integers_below(n)
    _copy(nodes[B - 1], last[0])
    depth = 0
    while depth >= 0:
        if not _next_tuple(v, used, depth, n):
            depth -= 1
            continue
        _extend(nodes, edges, value_of, v, depth, prefix)
        slot, own = (
            slot_of(depth, B - 1, B),
            range(near.ptr[first + v[depth]], near.ptr[first + v[depth] + 1]),
        )
        if depth < B - 2:
            _copy(last[depth], last[depth + 1])
            for entry in own:
                target, edge = last[depth + 1, near.node[entry]], edges[slot, near.value[entry]]
                for h in range(width):
                    target[h] += edge[h]
            depth += 1
            continue
        for k in range(n):
            weight[k] = 1 - used[k]
        for entry in own:
            weight[near.node[entry]] = 0
        add_run(rho, prefix[depth + 1], last[depth], everyone, weight, row, partial)
        for entry in own:
            if not used[near.node[entry]]:
                edge, base = edges[slot, near.value[entry]], last[depth, near.node[entry]]
                for h in range(width):
                    row[h] = prefix[depth + 1, h] + base[h] + edge[h]
                activate(rho, row)
                for h in range(width):
                    partial[h] += row[h]
        for h in range(width):  # short sums in single precision, long ones in double
            U[h] += partial[h]
            partial[h] = 0


@inner
def _add_tuple_gradients(rho: ActivationCode, value_of: IntArray, tape: Tape) -> None:
    """Add U_B and the derivatives of its rows. Those of tuples with one prefix are added up on the way."""
    B, n, width = tape.nodes.shape
    prefix, back = np.zeros((B + 1, width), tape.nodes.dtype), np.zeros((B + 1, width), tape.nodes.dtype)
    v, used = np.full(B, -1, np.int64), np.zeros(n, np.int64)
    depth = 0
    while depth >= 0:
        if v[depth] >= 0:  # all tuples that begin so are done
            _hand_back(value_of, v, depth, back, tape)
        if not _next_tuple(v, used, depth, n):
            depth -= 1
            continue
        _extend(tape.nodes, tape.edges, value_of, v, depth, prefix)
        if depth == B - 1:
            activate_with_derivative(rho, prefix[B], back[B])
            for h in range(width):
                tape.U[h] += prefix[B, h]
                back[B, h] *= tape.dU[h]
        else:
            depth += 1


@inner
def _hand_back(value_of: IntArray, v: IntArray, depth: int, back: FloatArray, tape: Tape) -> None:
    """Give the derivatives of tuples that begin with v_0 .. v_depth to the last of these, and to the rest."""
    d, before, node = back[depth + 1], back[depth], tape.d_nodes[depth, v[depth]]
    for h in range(len(d)):
        node[h] += d[h]
        before[h] += d[h]
    for p in range(depth):
        value = value_of[v[p], v[depth]]
        if value:
            edge = tape.d_edges[slot_of(p, depth, len(tape.nodes)), value - 1]
            for h in range(len(d)):
                edge[h] += d[h]
    for h in range(len(d)):
        d[h] = 0
