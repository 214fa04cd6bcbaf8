"""Graphs given by arcs: if every arc has its reverse, the graph is undirected, and each edge is kept once."""

from __future__ import annotations

import numpy as np

from grnf._utils.jit import compiled, inner
from grnf.typing import BoolArray, FloatArray, IntArray

__all__ = ["without_reverses"]


@compiled
def without_reverses(
    node_ptr: IntArray,
    arc_ptr: IntArray,
    tails: IntArray,
    heads: IntArray,
    values: FloatArray,
    edge_ptr: IntArray,
    edges: IntArray,
    kept: IntArray,
    directed: BoolArray,
) -> None:
    """Write the edges of each graph in its own numbering: one of each two arcs, if all have their reverses.

    It works for arcs sorted by their ends, in pairs, and for edges that are followed by their reverses.
    In other orders all arcs are kept and the graph is `directed`. `kept` lists the arcs that are kept.
    """
    n_edges, most = 0, 0
    for g in range(len(directed)):
        most = max(most, node_ptr[g + 1] - node_ptr[g])
    start, lower = np.empty(most + 1, np.int64), np.empty(len(tails), np.int64)
    for g in range(len(directed)):
        first, arcs = node_ptr[g], slice(arc_ptr[g], arc_ptr[g + 1])
        begins = start[: node_ptr[g + 1] - first + 1]
        both = _both_ways(first, tails[arcs], heads[arcs], values[arcs], begins, lower)
        directed[g] = not both
        for e in range(arc_ptr[g], arc_ptr[g + 1]):
            if not both or tails[e] <= heads[e]:
                edges[n_edges, 0], edges[n_edges, 1] = tails[e] - first, heads[e] - first
                kept[n_edges] = e
                n_edges += 1
        edge_ptr[g + 1] = n_edges


@inner
def _both_ways(
    first: int, tails: IntArray, heads: IntArray, values: FloatArray, start: IntArray, lower: IntArray
) -> bool:
    """Whether the arcs down from each node come in the order of those up to it, with equal values.

    `start` and `lower` are scratch. Nodes are numbered from `first` on.
    """
    n_upper = n_lower = 0
    start[:] = 0
    for e in range(len(tails)):
        if tails[e] > heads[e]:
            start[tails[e] - first + 1] += 1
            n_lower += 1
        elif tails[e] < heads[e]:
            n_upper += 1
    if n_lower != n_upper:
        return False
    for i in range(len(start) - 1):
        start[i + 1] += start[i]
    for e in range(len(tails)):
        if tails[e] > heads[e]:
            lower[start[tails[e] - first]] = e
            start[tails[e] - first] += 1
    for i in range(len(start) - 1, 0, -1):  # back from the ends to the beginnings
        start[i] = start[i - 1]
    start[0] = 0
    for e in range(len(tails)):
        i, j = tails[e], heads[e]
        if i < j:
            place = start[j - first]
            start[j - first] += 1
            back = lower[min(place, n_lower - 1)]
            if place == n_lower or tails[back] != j or heads[back] != i:  # past the arcs down from j
                return False
            for f in range(values.shape[1]):
                if values[e, f] != values[back, f]:
                    return False
    return True
