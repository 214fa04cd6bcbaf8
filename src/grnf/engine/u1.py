"""U_1 = sum over nodes of rho_e( t(v) ): a product, an activation, a sum."""

from __future__ import annotations

import numpy as np

from grnf.engine.coefficients import Coefficients
from grnf.engine.jit import kernel
from grnf.engine.rows import RAMP, RELU, activate, add_heads, evaluate, project
from grnf.engine.statistics import Statistics
from grnf.typing import FloatArray, IntArray

__all__ = ["u1"]

ROWS = 256
"""Nodes treated at once: their sums are short enough for single precision, their rows for the cache."""


@kernel
def u1(
    s: Statistics, c: Coefficients, code: int, tile: int, scale: FloatArray, graphs: IntArray, out: FloatArray
) -> None:
    """out[g, feature] += head u U_1 for these graphs; scale[g] = u. Graphs of one size stand in a row."""
    H, dtype = len(c.bias), c.bias.dtype
    for start in range(0, H, tile):
        stop = min(start + tile, H)
        t = np.empty((ROWS, stop - start), dtype)
        constant = np.empty((1, stop - start), dtype)
        U, partial = np.empty(stop - start), np.empty(stop - start, dtype)
        known = np.nan
        for g in graphs:
            if scale[g] != known:
                known = scale[g]
                nodes = evaluate(c.nodes[:, 0], known, start, stop)
                totals = evaluate(c.totals, known, start, stop)
            project(s.totals, g, 1, totals, c.bias[start:stop], constant)
            U[:] = 0
            for first in range(s.node_ptr[g], s.node_ptr[g + 1], ROWS):
                last = min(first + ROWS, s.node_ptr[g + 1])
                project(s.nodes, first, last - first, nodes, constant[0], t)
                partial[:] = 0
                sum_rows(code, t, s.node_weight[first:last], partial)
                U += partial
            add_heads(U, known, c.head, c.segments, start, out[g])


@kernel
def sum_rows(code: int, t: FloatArray, weight: FloatArray, U: FloatArray) -> None:
    """U += sum_i weight_i rho(t_i). The rows of t are overwritten."""
    zero, one = t.dtype.type(0), t.dtype.type(1)
    for i in range(len(weight)):
        w = weight[i]
        if code == RELU:
            for h in range(len(U)):
                U[h] += w * max(t[i, h], zero)
        elif code == RAMP:
            for h in range(len(U)):
                U[h] += w * min(max(t[i, h], zero), one)
        else:
            activate(code, t[i])
            for h in range(len(U)):
                U[h] += w * t[i, h]
