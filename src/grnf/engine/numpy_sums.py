"""U_B for any activation that is a function of NumPy arrays: for those without a compiled kernel."""

from __future__ import annotations

from collections.abc import Callable
from itertools import combinations, permutations

import numpy as np

from grnf.engine.coefficients import Coefficients
from grnf.engine.projection import terms
from grnf.engine.rows import add_heads
from grnf.engine.statistics import Neighbors, Statistics
from grnf.typing import FloatArray, IntArray

__all__ = ["add_sums_in_numpy"]

ENTRIES = 2**20
"""Values of the activation that are held at once."""


def add_sums_in_numpy(
    s: Statistics,
    near: Neighbors,
    by_slots: dict[int, Coefficients],
    function: Callable[[FloatArray], FloatArray],
    scale: FloatArray,
    out: FloatArray,
) -> None:
    """out[g, feature] += head u^B U_B for all B and graphs, their nodes not grouped, scale[g] = u."""
    for B, c in by_slots.items():
        for g in np.flatnonzero(s.sizes >= B).tolist():
            n, first = int(s.sizes[g]), s.node_ptr[g]
            value_of = np.full((n, n), -1)
            for i in range(n):
                own = slice(near.ptr[first + i], near.ptr[first + i + 1])
                value_of[i, near.node[own]] = near.value[own]
            step = max(1, ENTRIES // n ** min(B, 2))
            for start in range(0, len(c.bias), step):
                nodes, edges = terms(s, near, c, scale[g], g, start, min(start + step, len(c.bias)))
                U = _sum(function, nodes, edges, value_of)
                add_heads(U, scale[g] ** B, c.head, c.segments, start, out[g])


def _sum(
    function: Callable[[FloatArray], FloatArray], nodes: FloatArray, edges: FloatArray, value_of: IntArray
) -> FloatArray:
    """Return the sum over tuples of distinct nodes: all but two by a loop, the last two as arrays."""
    B, n, width = nodes.shape
    slot = {pair: number for number, pair in enumerate(combinations(range(B), 2))}
    edges = np.concatenate([edges, np.zeros((len(edges), 1, width), edges.dtype)], axis=1)  # value -1
    U = np.zeros(width)
    for prefix in permutations(range(n), max(B - 2, 0)):
        others = np.setdiff1d(np.arange(n), prefix)
        t = np.zeros(width)
        for p, q in combinations(range(len(prefix)), 2):
            t = t + edges[slot[p, q], value_of[prefix[p], prefix[q]]]
        for p, node in enumerate(prefix):
            t = t + nodes[p, node]
        rows = []
        for q in range(len(prefix), B):
            row = nodes[q, others]
            for p, node in enumerate(prefix):
                row = row + edges[slot[p, q], value_of[node, others]]
            rows.append(row)
        if B == 1:
            U += function(t + rows[0]).sum(axis=0)
        else:
            between = edges[slot[B - 2, B - 1]][value_of[np.ix_(others, others)]]
            pairs = t + rows[0][:, np.newaxis] + rows[1] + between
            U += function(pairs[~np.eye(len(others), dtype=np.bool_)]).sum(axis=0)
    return U
