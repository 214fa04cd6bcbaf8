"""U_B for any B: sum over tuples of B distinct nodes of rho_e( t(v_1 .. v_B) ). For small graphs: O(n^B)."""

from __future__ import annotations

import numpy as np

from grnf.engine.coefficients import Coefficients
from grnf.engine.jit import kernel
from grnf.engine.rows import add_activated, add_product, polynomial
from grnf.engine.statistics import Statistics
from grnf.typing import FloatArray, IntArray

__all__ = ["ub"]


@kernel
def ub(
    s: Statistics, c: Coefficients, code: int, tile: int, scale: FloatArray, order: IntArray, out: FloatArray
) -> None:
    """out[g, feature] += head u^B U_B for every graph g in `order`; scale[g] = u."""
    H = len(c.bias)
    B, Q = c.nodes.shape[1], c.pairs.shape[1]
    dtype = c.bias.dtype
    for start in range(0, H, tile):
        stop = min(start + tile, H)
        width = stop - start
        nodes = np.empty((B, c.nodes.shape[2], width), dtype)
        pairs = np.empty((Q, c.pairs.shape[2], width), dtype)
        totals = np.empty((c.totals.shape[1], width), dtype)
        row = np.empty(width, dtype)
        U = np.empty(width, np.float64)
        known = np.nan
        for g in order:
            n = s.sizes[g]
            if n < B:
                continue
            if scale[g] != known:
                known = scale[g]
                for p in range(B):
                    polynomial(c.nodes[:, p], known, start, stop, nodes[p])
                for q in range(Q):
                    polynomial(c.pairs[:, q], known, start, stop, pairs[q])
                polynomial(c.totals, known, start, stop, totals)
            row[:] = c.bias[start:stop]
            add_product(s.totals[g], totals, row)
            node_terms = _node_terms(s, g, nodes, row)
            edge_terms = _edge_terms(s, g, pairs, B)
            U[:] = 0
            _sum_tuples(node_terms, edge_terms, code, U)
            for h in range(width):
                out[g, c.feature[start + h]] += c.head[start + h] * scale[g] ** B * U[h]


@kernel
def _node_terms(s: Statistics, g: int, nodes: FloatArray, constant: FloatArray) -> FloatArray:
    """Return what node i adds in slot p, shape (B, n, channels); the constant rides on slot 0."""
    B, n, width = nodes.shape[0], s.sizes[g], nodes.shape[2]
    terms = np.zeros((B, n, width), nodes.dtype)
    for p in range(B):
        for i in range(n):
            if p == 0:
                terms[p, i] = constant
            add_product(s.nodes[s.node_ptr[g] + i], nodes[p], terms[p, i])
    return terms


@kernel
def _edge_terms(s: Statistics, g: int, pairs: FloatArray, B: int) -> FloatArray:
    """Return what an edge between i in slot p and j in slot q > p adds: (B, B, n, n, channels)."""
    n, width = s.sizes[g], pairs.shape[2]
    terms = np.zeros((B, B, n, n, width), pairs.dtype)
    columns = pairs.shape[1]
    half = columns // 2
    directed = s.nodes.shape[1] > s.totals.shape[1]
    swapped = np.empty(columns, pairs.dtype)
    slot = 0
    for p in range(B):
        for q in range(p + 1, B):
            for e in range(s.pair_ptr[g], s.pair_ptr[g + 1]):
                i, j = s.pair_nodes[e]
                swapped[:] = s.pairs[e]
                add_product(swapped, pairs[slot], terms[p, q, i, j])
                if directed:
                    swapped[:half] = s.pairs[e, half:]
                    swapped[half:] = s.pairs[e, :half]
                add_product(swapped, pairs[slot], terms[p, q, j, i])
            slot += 1
    return terms


@kernel
def _sum_tuples(node_terms: FloatArray, edge_terms: FloatArray, code: int, U: FloatArray) -> None:
    """Walk over all tuples of distinct nodes, keeping the partial sums of every prefix of the tuple."""
    B, n, width = node_terms.shape
    prefix = np.zeros((B + 1, width), node_terms.dtype)
    nothing = np.zeros(width, node_terms.dtype)
    partial = np.zeros(width, node_terms.dtype)
    v = np.full(B, -1)
    used = np.zeros(n, np.bool_)
    depth = 0
    while depth >= 0:
        if v[depth] >= 0:
            used[v[depth]] = False
        v[depth] += 1
        while v[depth] < n and used[v[depth]]:
            v[depth] += 1
        if v[depth] == n:
            v[depth] = -1
            depth -= 1
            if depth == B - 2:
                U += partial
                partial[:] = 0
            continue
        node = v[depth]
        prefix[depth + 1] = prefix[depth]
        prefix[depth + 1] += node_terms[depth, node]
        for p in range(depth):
            prefix[depth + 1] += edge_terms[p, depth, v[p], node]
        if depth == B - 1:
            add_activated(code, 1.0, prefix[B], nothing, partial)
        else:
            used[node] = True
            depth += 1
