"""U_2 = sum over ordered pairs of distinct nodes of rho_e( t(v_1, v_2) )."""

from __future__ import annotations

import numpy as np

from grnf.engine.coefficients import Coefficients
from grnf.engine.jit import kernel
from grnf.engine.rows import add_activated, add_product, polynomial
from grnf.engine.statistics import Statistics
from grnf.typing import FloatArray, IntArray

__all__ = ["u2"]


@kernel
def u2(
    s: Statistics, c: Coefficients, code: int, tile: int, scale: FloatArray, order: IntArray, out: FloatArray
) -> None:
    """out[g, feature] += head u^2 U_2 for every graph g in `order`; scale[g] = u.

    All pairs first, as if there were no edges; then each pair that carries an edge is corrected.
    """
    H = len(c.bias)
    dtype = c.bias.dtype
    largest = 0
    for g in order:
        largest = max(largest, s.sizes[g])
    half = c.pairs.shape[2] // 2
    directed = c.nodes.shape[2] > s.totals.shape[1]
    for start in range(0, H, tile):
        stop = min(start + tile, H)
        width = stop - start
        nodes = np.empty((2, c.nodes.shape[2], width), dtype)
        pairs = np.empty((c.pairs.shape[2], width), dtype)
        totals = np.empty((c.totals.shape[1], width), dtype)
        first = np.empty((largest, width), dtype)
        second = np.empty((largest, width), dtype)
        row = np.empty(width, dtype)
        partial = np.empty(width, dtype)
        U = np.empty(width, np.float64)
        swapped = np.empty(c.pairs.shape[2], dtype)
        known = np.nan
        for g in order:
            n, offset = s.sizes[g], s.node_ptr[g]
            if n < 2:
                continue
            if scale[g] != known:
                known = scale[g]
                for p in range(2):
                    polynomial(c.nodes[:, p], known, start, stop, nodes[p])
                polynomial(c.pairs[:, 0], known, start, stop, pairs)
                polynomial(c.totals, known, start, stop, totals)
            row[:] = c.bias[start:stop]
            add_product(s.totals[g], totals, row)
            for i in range(n):
                first[i] = row
                add_product(s.nodes[offset + i], nodes[0], first[i])
                second[i] = 0
                add_product(s.nodes[offset + i], nodes[1], second[i])
            U[:] = 0
            for i in range(n):
                partial[:] = 0
                for j in range(n):
                    if j != i:
                        add_activated(code, 1.0, first[i], second[j], partial)
                U += partial
            partial[:] = 0
            for e in range(s.pair_ptr[g], s.pair_ptr[g + 1]):
                i, j = s.pair_nodes[e]
                add_activated(code, -1.0, first[i], second[j], partial)
                add_activated(code, -1.0, first[j], second[i], partial)
                row[:] = first[i]
                add_product(s.pairs[e], pairs, row)
                add_activated(code, 1.0, row, second[j], partial)
                row[:] = first[j]
                if directed:
                    swapped[:half] = s.pairs[e, half:]
                    swapped[half:] = s.pairs[e, :half]
                    add_product(swapped, pairs, row)
                else:
                    add_product(s.pairs[e], pairs, row)
                add_activated(code, 1.0, row, second[i], partial)
            U += partial
            for h in range(width):
                out[g, c.feature[start + h]] += c.head[start + h] * scale[g] * scale[g] * U[h]
