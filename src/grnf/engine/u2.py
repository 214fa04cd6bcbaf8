"""U_2 = sum over ordered pairs of distinct nodes of rho_e( t(v_1, v_2) ).

t(i, j) = a_i + b_j, plus e(i, j) where the pair carries an edge. So: all pairs as if there were no edges,
less those of a node with itself, then a correction for each pair that carries an edge.
"""

from __future__ import annotations

import numpy as np

from grnf.engine.coefficients import Coefficients
from grnf.engine.jit import kernel
from grnf.engine.rows import RAMP, RELU, activate, add_heads, evaluate, project
from grnf.engine.statistics import Statistics
from grnf.typing import FloatArray, IntArray

__all__ = ["add_diagonal", "add_edges", "u2"]


@kernel
def u2(
    s: Statistics, c: Coefficients, code: int, tile: int, scale: FloatArray, graphs: IntArray, out: FloatArray
) -> None:
    """out[g, feature] += head u^2 U_2 for these graphs; scale[g] = u. Graphs of one size stand in a row."""
    H, dtype = len(c.bias), c.bias.dtype
    largest = 0
    for g in graphs:
        largest = max(largest, s.node_ptr[g + 1] - s.node_ptr[g])
    for start in range(0, H, tile):
        stop = min(start + tile, H)
        a = np.empty((largest, stop - start), dtype)
        b = np.empty((largest, stop - start), dtype)
        constant = np.empty((1, stop - start), dtype)
        zeros = np.zeros(stop - start, dtype)
        U = np.empty(stop - start, np.float64)
        known = np.nan
        for g in graphs:
            if s.sizes[g] < 2:
                continue
            if scale[g] != known:
                known = scale[g]
                first_nodes = evaluate(c.nodes[:, 0], known, start, stop)
                second_nodes = evaluate(c.nodes[:, 1], known, start, stop)
                pairs = evaluate(c.pairs[:, 0], known, start, stop)
                totals = evaluate(c.totals, known, start, stop)
            first, count = s.node_ptr[g], s.node_ptr[g + 1] - s.node_ptr[g]
            project(s.totals, g, 1, totals, c.bias[start:stop], constant)
            project(s.nodes, first, count, first_nodes, constant[0], a)
            project(s.nodes, first, count, second_nodes, zeros, b)
            U[:] = 0
            weight = s.node_weight[first : first + count]
            if code == RELU:
                _add_pairs_relu(a, b, weight, U)
            elif code == RAMP:
                _add_pairs_ramp(a, b, weight, U)
            else:
                _add_pairs(code, a, b, weight, U)
            add_diagonal(code, a, b, weight, U)
            add_edges(code, s, g, a, b, pairs, U)
            add_heads(U, known * known, c.head, c.feature, start, out[g])


@kernel
def _add_pairs_relu(a: FloatArray, b: FloatArray, weight: FloatArray, U: FloatArray) -> None:
    """U += sum_ij w_i w_j relu(a_i + b_j), as sum_ij w_i w_j (max(a_i, -b_j) + b_j): an add less per pair.

    Two rows of a against four of b at a time: each entry that is loaded serves two or four pairs.
    """
    n, width = len(weight), len(U)
    partial = np.empty((2, width), a.dtype)
    total = np.zeros(width, a.dtype)
    mass = 0.0
    for j in range(n):
        mass += weight[j]
        for h in range(width):
            total[h] += weight[j] * b[j, h]
            b[j, h] = -b[j, h]
    for i in range(0, n, 2):
        other = min(i + 1, n - 1)
        partial[:] = 0
        j = 0
        while j + 4 <= n:
            w0, w1, w2, w3 = weight[j], weight[j + 1], weight[j + 2], weight[j + 3]
            for h in range(width):
                x, y = a[i, h], a[other, h]
                b0, b1, b2, b3 = b[j, h], b[j + 1, h], b[j + 2, h], b[j + 3, h]
                partial[0, h] += (w0 * max(x, b0) + w1 * max(x, b1)) + (w2 * max(x, b2) + w3 * max(x, b3))
                partial[1, h] += (w0 * max(y, b0) + w1 * max(y, b1)) + (w2 * max(y, b2) + w3 * max(y, b3))
            j += 4
        while j < n:
            w0 = weight[j]
            for h in range(width):
                b0 = b[j, h]
                partial[0, h] += w0 * max(a[i, h], b0)
                partial[1, h] += w0 * max(a[other, h], b0)
            j += 1
        second = weight[other] if other > i else weight[other] * 0
        for h in range(width):
            U[h] += weight[i] * partial[0, h] + second * partial[1, h]
    for h in range(width):
        U[h] += mass * total[h]
    for j in range(n):
        for h in range(width):
            b[j, h] = -b[j, h]


@kernel
def _add_pairs_ramp(a: FloatArray, b: FloatArray, weight: FloatArray, U: FloatArray) -> None:
    """U += sum_ij w_i w_j clip(a_i + b_j, 0, 1), four rows of b at a time."""
    n, width = len(weight), len(U)
    zero, one = a.dtype.type(0), a.dtype.type(1)
    partial = np.empty(width, a.dtype)
    for i in range(n):
        partial[:] = 0
        j = 0
        while j + 4 <= n:
            w0, w1, w2, w3 = weight[j], weight[j + 1], weight[j + 2], weight[j + 3]
            for h in range(width):
                x = a[i, h]
                low = w0 * min(max(x + b[j, h], zero), one) + w1 * min(max(x + b[j + 1, h], zero), one)
                high = w2 * min(max(x + b[j + 2, h], zero), one) + w3 * min(max(x + b[j + 3, h], zero), one)
                partial[h] += low + high
            j += 4
        while j < n:
            w0 = weight[j]
            for h in range(width):
                partial[h] += w0 * min(max(a[i, h] + b[j, h], zero), one)
            j += 1
        for h in range(width):
            U[h] += weight[i] * partial[h]


@kernel
def _add_pairs(code: int, a: FloatArray, b: FloatArray, weight: FloatArray, U: FloatArray) -> None:
    """U += sum_ij w_i w_j rho(a_i + b_j)."""
    row = np.empty(len(U), a.dtype)
    partial = np.empty(len(U), a.dtype)
    for i in range(len(weight)):
        partial[:] = 0
        for j in range(len(weight)):
            for h in range(len(U)):
                row[h] = a[i, h] + b[j, h]
            activate(code, row)
            for h in range(len(U)):
                partial[h] += weight[j] * row[h]
        for h in range(len(U)):
            U[h] += weight[i] * partial[h]


@kernel
def add_diagonal(code: int, a: FloatArray, b: FloatArray, weight: FloatArray, U: FloatArray) -> None:
    """U -= sum_i w_i rho(a_i + b_i): the pairs of a node with itself."""
    row = np.empty(len(U), a.dtype)
    for i in range(len(weight)):
        for h in range(len(U)):
            row[h] = a[i, h] + b[i, h]
        activate(code, row)
        for h in range(len(U)):
            U[h] -= weight[i] * row[h]


@kernel
def add_edges(
    code: int, s: Statistics, g: int, a: FloatArray, b: FloatArray, pairs: FloatArray, U: FloatArray
) -> None:
    """U += sum over pairs with an edge, in both orders, of rho(a_i + b_j + e(i, j)) - rho(a_i + b_j)."""
    width, columns = len(U), pairs.shape[0]
    zero = a.dtype.type(0)
    zeros = np.zeros(width, a.dtype)
    values = np.zeros((2, columns), a.dtype)
    edge = np.zeros((2, width), a.dtype)
    rows = np.empty((2, width), a.dtype)
    half = columns // 2 if s.directed else 0
    for e in range(s.pair_ptr[g], s.pair_ptr[g + 1]):
        same = True
        for f in range(columns):
            same = same and values[0, f] == s.pairs[e, f]
        if not same:  # without edge attributes all pairs are the same: e(i, j) is computed once
            for f in range(columns):
                values[0, f] = s.pairs[e, f]
                values[1, f] = s.pairs[e, (f + half) % columns]
            project(values, 0, 2, pairs, zeros, edge)
        i, j, w = s.pair_nodes[e, 0], s.pair_nodes[e, 1], s.pair_weight[e]
        if code == RELU:
            for h in range(width):
                x, y = a[i, h] + b[j, h], a[j, h] + b[i, h]
                there = max(x + edge[0, h], zero) - max(x, zero)
                back = max(y + edge[1, h], zero) - max(y, zero)
                U[h] += w * (there + back)
        else:
            for there in range(2):
                for h in range(width):
                    rows[0, h] = a[i, h] + b[j, h]
                    rows[1, h] = rows[0, h] + edge[there, h]
                activate(code, rows[0])
                activate(code, rows[1])
                for h in range(width):
                    U[h] += w * (rows[1, h] - rows[0, h])
                i, j = j, i
