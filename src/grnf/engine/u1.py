"""U_1 = sum over nodes of rho_e( t(v) )."""

from __future__ import annotations

import numpy as np

from grnf.engine.coefficients import Coefficients
from grnf.engine.jit import kernel
from grnf.engine.rows import add_activated, add_product, polynomial
from grnf.engine.statistics import Statistics
from grnf.typing import FloatArray, IntArray

__all__ = ["u1"]


@kernel
def u1(
    s: Statistics, c: Coefficients, code: int, tile: int, scale: FloatArray, order: IntArray, out: FloatArray
) -> None:
    """out[g, feature] += head u U_1 for every graph g in `order`; scale[g] = u."""
    H = len(c.bias)
    dtype = c.bias.dtype
    for start in range(0, H, tile):
        stop = min(start + tile, H)
        nodes = np.empty((c.nodes.shape[2], stop - start), dtype)
        totals = np.empty((c.totals.shape[1], stop - start), dtype)
        constant = np.empty(stop - start, dtype)
        t = np.empty(stop - start, dtype)
        U = np.empty(stop - start, dtype)
        known = np.nan
        for g in order:
            if s.sizes[g] == 0:
                continue
            if scale[g] != known:
                known = scale[g]
                polynomial(c.nodes[:, 0], known, start, stop, nodes)
                polynomial(c.totals, known, start, stop, totals)
            constant[:] = c.bias[start:stop]
            add_product(s.totals[g], totals, constant)
            U[:] = 0
            for i in range(s.node_ptr[g], s.node_ptr[g + 1]):
                t[:] = 0
                add_product(s.nodes[i], nodes, t)
                add_activated(code, 1.0, t, constant, U)
            for h in range(stop - start):
                out[g, c.feature[start + h]] += c.head[start + h] * scale[g] * U[h]
