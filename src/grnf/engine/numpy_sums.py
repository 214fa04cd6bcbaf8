"""U_B for any activation that is a function of NumPy arrays: for those without a compiled kernel."""

from __future__ import annotations

from collections.abc import Callable
from itertools import combinations
from typing import Any

import numpy as np

from grnf.engine.coefficients import Coefficients
from grnf.engine.projection import terms
from grnf.engine.rows import add_heads
from grnf.engine.statistics import Neighbors, Statistics
from grnf.typing import FloatArray, IntArray

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
            n = int(s.sizes[g])
            degrees = np.diff(near.ptr[s.node_ptr[g] : s.node_ptr[g + 1] + 1])
            own = slice(near.ptr[s.node_ptr[g]], near.ptr[s.node_ptr[g + 1]])
            value_of = np.zeros((n, n), np.int64)
            value_of[np.repeat(np.arange(n), degrees), near.node[own]] = near.value[own] + 1
            step = max(1, ENTRIES // n ** min(B, 2))
            for start in range(0, len(c.bias), step):
                nodes, edges = terms(s, near, c, scale[g], g, start, min(start + step, len(c.bias)))
                U = _sum(function, nodes, edges, value_of)
                add_heads(U, scale[g] ** B, c.head, c.segments, start, out[g])


def _sum(
    function: Callable[[FloatArray], FloatArray], nodes: FloatArray, edges: FloatArray, value_of: IntArray
) -> FloatArray:
    """Return the sum over tuples of distinct nodes, as arrays with an axis for each."""
    B, n, width = nodes.shape
    edges = np.concatenate([np.zeros((len(edges), 1, width), edges.dtype), edges], axis=1)  # value 0
    U, every = np.zeros(width), np.arange(n)
    for first in np.array_split(every, min(n, 1 + n**B * width // ENTRIES)):
        v = np.ix_(first, *[every] * (B - 1))
        t: Any = sum(row[own] for row, own in zip(nodes, v, strict=True))
        distinct = np.ones(t.shape[:-1], np.bool_)
        for edge, (i, j) in zip(edges, combinations(v, 2), strict=True):
            t = t + edge[value_of[i, j]]
            distinct &= i != j
        U += function(t[distinct]).sum(axis=0)
    return U
