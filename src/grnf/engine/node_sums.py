"""U_1 = sum over nodes of rho_e( t(v) ): a product, an activation, a sum; and its derivative."""

from __future__ import annotations

import numpy as np

from grnf._utils.jit import compiled, inner
from grnf.engine.coefficients import Coefficients
from grnf.engine.neighbours import Neighbours
from grnf.engine.projection import Slopes, finish_tape, start_tape
from grnf.engine.rows import (
    RAMP,
    RELU,
    Activation,
    activate,
    activate_with_slope,
    add_heads,
    evaluate,
    project,
)
from grnf.engine.schedule import NODES
from grnf.engine.statistics import Statistics
from grnf.typing import FloatArray, IntArray

__all__ = ["add_node_sums", "node_sum_slopes"]


@inner
def _sum_sparse_rows(
    rho: Activation,
    X: FloatArray,
    matrix: FloatArray,
    constant: FloatArray,
    weight: FloatArray,
    U: FloatArray,
) -> bool:
    """U += sum_i weight_i rho(constant + X_i @ matrix) where rows of X have two entries that are not 0.

    As with one label and a degree. Two rows at a time, none of them stored. Returns False, with nothing done,
    for rows with more entries and for activations other than relu and ramp.
    """
    if len(rho) != RELU and len(rho) != RAMP:
        return False
    column, value = np.zeros(2 * len(X) + 2, np.int64), np.zeros(2 * len(X) + 2, X.dtype)
    for i in range(len(X)):
        used = 0
        for f in range(X.shape[1]):
            if X[i, f] != 0:
                if used == 2:
                    return False
                column[2 * i + used], value[2 * i + used] = f, X[i, f]
                used += 1
    zero, top = X.dtype.type(0), X.dtype.type(1 if len(rho) == RAMP else np.inf)
    for i in range(0, len(X), 2):
        w0, w1 = weight[i], weight[i + 1] if i + 1 < len(X) else zero
        x0, x1, y0, y1 = value[2 * i], value[2 * i + 1], value[2 * i + 2], value[2 * i + 3]
        a0, a1 = matrix[column[2 * i]], matrix[column[2 * i + 1]]
        b0, b1 = matrix[column[2 * i + 2]], matrix[column[2 * i + 3]]
        for h in range(len(U)):
            low = min(max(constant[h] + (x0 * a0[h] + x1 * a1[h]), zero), top)
            high = min(max(constant[h] + (y0 * b0[h] + y1 * b1[h]), zero), top)
            U[h] = (U[h] + w0 * low) + w1 * high
    return True


@inner
def _sum_rows(
    rho: Activation, t: FloatArray, constant: FloatArray, weight: FloatArray, U: FloatArray
) -> None:
    """U += sum_i weight_i rho(t_i + constant). The rows of t are overwritten."""
    zero, one = t.dtype.type(0), t.dtype.type(1)
    for i in range(len(weight)):
        w = weight[i]
        if len(rho) == RELU:
            for h in range(len(U)):
                U[h] += w * max(t[i, h] + constant[h], zero)
        elif len(rho) == RAMP:
            for h in range(len(U)):
                U[h] += w * min(max(t[i, h] + constant[h], zero), one)
        else:
            for h in range(len(U)):
                t[i, h] += constant[h]
            activate(rho, t[i])
            for h in range(len(U)):
                U[h] += w * t[i, h]


@compiled
def add_node_sums(
    rho: Activation,
    rows: FloatArray,
    node_ptr: IntArray,
    node_weight: FloatArray,
    row_totals: FloatArray,
    c_nodes: FloatArray,
    c_totals: FloatArray,
    bias: FloatArray,
    head: FloatArray,
    segments: IntArray,
    tile: int,
    scale: FloatArray,
    first_graph: int,
    last_graph: int,
    sums: FloatArray,
    out: FloatArray,
) -> None:
    """out[g, feature] += head u U_1 for some graphs; scale[g] = u. Graphs of one size stand in a row.

    `sums` is scratch.
    """
    # not 0 and 1 themselves: each would be compiled as a type of its own
    dtype, zero, one = bias.dtype, tile - tile, tile // tile
    for start in range(0, len(bias), tile):
        stop = min(start + tile, len(bias))
        width = stop - start
        t, constant = np.empty((NODES + zero, width), dtype), np.empty((one, width), dtype)
        zeros, partial = np.zeros(width, dtype), np.zeros(width, dtype)
        shared, U, known = bias[start:stop], sums[:width], np.nan
        for g in range(first_graph, last_graph):
            if scale[g] != known:
                known = scale[g]
                nodes = evaluate(c_nodes, zero, known, start, stop)
                totals = evaluate(c_totals, zero, known, start, stop)
            project(row_totals, g, one, totals, shared, constant)
            U[:] = 0
            for first in range(node_ptr[g], node_ptr[g + 1], NODES):
                last = min(first + NODES, node_ptr[g + 1])
                weight = node_weight[first:last]
                partial[:] = 0
                if not _sum_sparse_rows(rho, rows[first:last], nodes, constant[0], weight, partial):
                    project(rows, first, last - first, nodes, zeros, t)
                    _sum_rows(rho, t, constant[0], weight, partial)
                for h in range(width):
                    U[h] += partial[h]
            add_heads(U, known, head, segments, start, out[g])


@compiled
def node_sum_slopes(
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
    """Add the derivatives of u U_1 of these graphs, given those of all features, d_out[g]."""
    slope = np.empty(tile, c.bias.dtype)
    for g in graphs:
        weight = s.node_weight[s.node_ptr[g] : s.node_ptr[g + 1]]
        for start in range(0, len(c.bias), tile):
            tape = start_tape(s, near, c, scale[g], g, start, min(start + tile, len(c.bias)), d_out)
            for i in range(len(weight)):
                row, d = tape.nodes[0, i], tape.d_nodes[0, i]
                activate_with_slope(rho, row, slope[: len(row)])
                for h in range(len(row)):
                    tape.U[h] += weight[i] * row[h]
                    d[h] = weight[i] * slope[h] * tape.dU[h]
            finish_tape(s, near, c, scale[g], g, start, tape, d_out, out)
