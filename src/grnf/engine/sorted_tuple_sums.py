"""U_3 and U_4 of relu or ramp by sorting, for large sparse graphs. For derivatives see `tuple_sums`.

U_3 takes O(n^2 + n |E|) per channel. All triples are summed as if there were no edges, with one merge for
each node. Triples with equal nodes are subtracted by inclusion and exclusion, each a sum over pairs. Then
every triple with an edge is corrected, and one with several is met at the first of the slots (1, 2), (1, 3),
(2, 3). U_4 is a sum of n such sums, one for each node in slot 1, whose edges are added to the rows of the
others.
"""

from __future__ import annotations

import numpy as np

from grnf._utils.jit import compiled
from grnf.engine.coefficients import Coefficients
from grnf.engine.projection import terms
from grnf.engine.rows import RAMP, ActivationCode, activate, add_heads
from grnf.engine.sorting import pair_sums, triple_sums
from grnf.engine.statistics import Neighbors, Statistics
from grnf.typing import FloatArray, IntArray

__all__ = ["sorted_tuple_sums"]

NEVER = -1e30
"""Far below anything that a node adds: what it is added to stays below zero, where relu and ramp are 0."""


def sorted_tuple_sums(
    s: Statistics,
    near: Neighbors,
    c: Coefficients,
    rho: ActivationCode,
    tile: int,
    scale: FloatArray,
    graph: int,
    out: FloatArray,
) -> None:
    """out[graph, feature] += head u^B U_B for one graph, B = 3 or 4, scale[graph] = u."""
    B, first, n = c.nodes.shape[1], s.node_ptr[graph], s.sizes[graph]
    for start in range(0, len(c.bias), tile):
        stop = min(start + tile, len(c.bias))
        nodes, edges = terms(s, near, c, scale[graph], graph, start, stop)
        if B == 3:
            U = _triples(rho, near, first, nodes, edges)
        else:
            U = np.zeros(stop - start)
            for v in range(n):
                U += _triples(rho, near, first, _without(near, first, v, nodes, edges), edges[3:])
        add_heads(U, scale[graph] ** B, c.head, c.segments, start, out[graph])


def _triples(
    rho: ActivationCode, near: Neighbors, first: int, nodes: FloatArray, edges: FloatArray
) -> FloatArray:
    """Return U_3 of each channel, given the rows of three slots, and of edges between slots."""
    x, y, z = nodes
    weight = np.ones(len(x), x.dtype)
    U = triple_sums(rho, x, y, z)
    for one, other in ((x + y, z), (x + z, y), (y + z, x)):
        U -= pair_sums(rho, one, other, weight)
    same = x + y + z
    for row in same:
        activate(rho, row)
    U += 2 * same.sum(axis=0, dtype=np.float64)
    _correct(rho, near, first, x, y, z, edges, U)
    return U


@compiled
def _without(near: Neighbors, first: int, v: int, nodes: FloatArray, edges: FloatArray) -> FloatArray:
    """Return the rows of slots 2, 3, 4 if v is in slot 1: where v itself is in them, rho is 0."""
    rows = nodes[1:].copy()
    for p in range(len(rows)):
        for entry in range(near.ptr[first + v], near.ptr[first + v + 1]):
            rows[p, near.node[entry]] += edges[p, near.value[entry]]
        rows[p, v] = NEVER
    for i in range(rows.shape[1]):
        if i != v:
            rows[0, i] += nodes[0, v]
    return rows


@compiled
def _correct(
    rho: ActivationCode,
    near: Neighbors,
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
            # an edge between i in slot 1 and j in slot 2, any node k in slot 3
            _mark(near, first + j, near.value, other)
            for k in range(n):
                if k != i and k != j:
                    for h in range(width):
                        without[h] = x[i, h] + y[j, h] + z[k, h]
                        with_edges[h] = without[h] + edges[0, value, h]
                    _add_if(with_edges, edges[1], mine[k])
                    _add_if(with_edges, edges[2], other[k])
                    _add_difference(rho, with_edges, without, partial)
            # an edge between i in slot 1 and j in slot 3. k in slot 2 is not joined to slot 1
            _mark(near, first + j, near.back, other)
            for k in range(n):
                if k != i and k != j and mine[k] < 0:
                    for h in range(width):
                        without[h] = x[i, h] + y[k, h] + z[j, h]
                        with_edges[h] = without[h] + edges[1, value, h]
                    _add_if(with_edges, edges[2], other[k])
                    _add_difference(rho, with_edges, without, partial)
            # an edge between i in slot 2 and j in slot 3. k in slot 1 is joined to neither
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
def _mark(near: Neighbors, i: int, values: IntArray, marks: IntArray) -> None:
    """Write the values of the edges of node i at its neighbors."""
    for entry in range(near.ptr[i], near.ptr[i + 1]):
        marks[near.node[entry]] = values[entry]


@compiled
def _unmark(near: Neighbors, i: int, marks: IntArray) -> None:
    for entry in range(near.ptr[i], near.ptr[i + 1]):
        marks[near.node[entry]] = -1


@compiled
def _add_if(row: FloatArray, edges: FloatArray, value: int) -> None:
    if value >= 0:
        for h in range(len(row)):
            row[h] += edges[value, h]


@compiled
def _add_difference(rho: ActivationCode, x: FloatArray, y: FloatArray, partial: FloatArray) -> None:
    """Partial += rho(x) - rho(y), rho: relu or ramp."""
    zero, one = x.dtype.type(0), x.dtype.type(1)
    if len(rho) == RAMP:
        for h in range(len(x)):
            partial[h] += min(max(x[h], zero), one) - min(max(y[h], zero), one)
    else:
        for h in range(len(x)):
            partial[h] += max(x[h], zero) - max(y[h], zero)
