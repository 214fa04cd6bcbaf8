"""U_B for any B: sum over tuples of B distinct nodes of rho_e( t(v_1 .. v_B) ). For small graphs: O(n^B)."""

from __future__ import annotations

import numpy as np

from grnf.engine.coefficients import Coefficients
from grnf.engine.jit import compiled
from grnf.engine.rows import activate, add_heads, evaluate, project
from grnf.engine.statistics import Statistics
from grnf.typing import FloatArray, IntArray

__all__ = ["ub"]


@compiled
def ub(
    s: Statistics, c: Coefficients, code: int, tile: int, scale: FloatArray, graphs: IntArray, out: FloatArray
) -> None:
    """out[g, feature] += head u^B U_B for these graphs, their nodes not grouped; scale[g] = u."""
    H, B = len(c.bias), c.nodes.shape[1]
    for start in range(0, H, tile):
        stop = min(start + tile, H)
        U = np.empty(stop - start, np.float64)
        known = np.nan
        for g in graphs:
            if s.sizes[g] < B:
                continue
            if scale[g] != known:
                known = scale[g]
                nodes = _evaluate_all(c.nodes, known, start, stop)
                pairs = _evaluate_all(c.pairs, known, start, stop)
                totals = evaluate(c.totals, known, start, stop)
            node_terms = _node_terms(s, g, nodes, totals, c.bias[start:stop])
            edge_terms = _edge_terms(s, g, pairs, B)
            U[:] = 0
            _sum_tuples(node_terms, edge_terms, code, U)
            add_heads(U, known**B, c.head, c.segments, start, out[g])


@compiled
def _evaluate_all(coefficient: FloatArray, u: float, start: int, stop: int) -> FloatArray:
    """Evaluate the coefficients of every slot: shape (slots, columns, channels)."""
    out = np.empty((coefficient.shape[1], coefficient.shape[2], stop - start), coefficient.dtype)
    for p in range(coefficient.shape[1]):
        out[p] = evaluate(coefficient[:, p], u, start, stop)
    return out


@compiled
def _node_terms(s: Statistics, g: int, nodes: FloatArray, totals: FloatArray, bias: FloatArray) -> FloatArray:
    """Return what node i adds in slot p, shape (B, n, channels); what all tuples share rides on slot 0."""
    B, n, width = nodes.shape[0], s.sizes[g], nodes.shape[2]
    terms = np.empty((B, n, width), nodes.dtype)
    constant = np.empty((1, width), nodes.dtype)
    project(s.totals, g, len(constant), totals, bias, constant)
    for p in range(B):
        project(s.nodes, s.node_ptr[g], n, nodes[p], constant[0], terms[p])
        constant[:] = 0
    return terms


@compiled
def _edge_terms(s: Statistics, g: int, pairs: FloatArray, B: int) -> FloatArray:
    """Return what an edge between i in slot p and j in slot q > p adds: (B, B, n, n, channels)."""
    n, columns, width = s.sizes[g], pairs.shape[1], pairs.shape[2]
    terms = np.zeros((B, B, n, n, width), pairs.dtype)
    values = np.empty((2, columns), pairs.dtype)
    edge = np.empty((2, width), pairs.dtype)
    zeros = np.zeros(width, pairs.dtype)
    half = columns // 2 if s.directed else 0
    slot = 0
    for p in range(B):
        for q in range(p + 1, B):
            for e in range(s.pair_ptr[g], s.pair_ptr[g + 1]):
                i, j = s.pair_nodes[e, 0], s.pair_nodes[e, 1]
                for f in range(columns):
                    values[0, f] = s.pairs[e, f]
                    values[1, f] = s.pairs[e, (f + half) % columns]
                project(values, 0, 2, pairs[slot], zeros, edge)
                terms[p, q, i, j] = edge[0]
                terms[p, q, j, i] = edge[1]
            slot += 1
    return terms


@compiled
def _sum_tuples(node_terms: FloatArray, edge_terms: FloatArray, code: int, U: FloatArray) -> None:
    """Walk over all tuples of distinct nodes, keeping the partial sums of every prefix of the tuple."""
    B, n, width = node_terms.shape
    prefix = np.zeros((B + 1, width), node_terms.dtype)
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
        for h in range(width):
            prefix[depth + 1, h] = prefix[depth, h] + node_terms[depth, node, h]
        for p in range(depth):
            for h in range(width):
                prefix[depth + 1, h] += edge_terms[p, depth, v[p], node, h]
        if depth == B - 1:
            activate(code, prefix[B])
            for h in range(width):
                partial[h] += prefix[B, h]
        else:
            used[node] = True
            depth += 1
