"""Which primitive does what, and in which pieces."""

from __future__ import annotations

import numpy as np

from grnf.engine.coefficients import coefficients
from grnf.engine.statistics import statistics
from grnf.engine.u1 import u1
from grnf.engine.u2 import u2
from grnf.engine.ub import ub
from grnf.graphs import GraphBatch
from grnf.law import Draw
from grnf.typing import FloatArray

__all__ = ["hidden_sums"]

TILE = 128
"""Hidden channels that U_1 and U_2 treat at once: rows of half a kilobyte, tables that fit the cache."""

TABLE_BYTES = 2**26
"""Memory that the tables of U_B may take per tile of channels."""


def hidden_sums(
    batch: GraphBatch,
    draw: Draw,
    *,
    hidden_code: int,
    basis: str,
    normalize: bool,
    adjacency_channel: bool,
    dtype: type[np.floating],
) -> FloatArray:
    """Return H_k(rho_e(F_{2,k}(A))) of every graph and feature, before rho_i: shape (n_graphs, M)."""
    out = np.zeros((len(batch), len(draw)))
    for group in draw.groups:
        out[:, group.features] = group.invariant_bias
    for directed in (False, True):
        (members,) = np.nonzero(batch.directed == directed)
        if len(members) == 0:
            continue
        some = batch if len(members) == len(batch) else batch.take(members)
        s = statistics(some, directed=directed, adjacency_channel=adjacency_channel, dtype=dtype)
        scale = 1.0 / np.maximum(s.sizes, 1) if normalize else np.ones(len(some))
        order = np.argsort(s.sizes, kind="stable")  # coefficients depend on n: equal sizes in a row
        part = np.zeros((len(some), len(draw)))
        channels = coefficients(
            draw, node_width=batch.node_width, directed=directed, basis=basis, dtype=dtype
        )
        for B, c in channels.items():
            if B == 1:
                u1(s, c, hidden_code, TILE, scale, order, part)
            elif B == 2:
                u2(s, c, hidden_code, TILE, scale, order, part)
            else:
                largest = int(s.sizes.max(initial=0))
                row_bytes = B * B * largest**2 * np.dtype(dtype).itemsize
                ub(s, c, hidden_code, max(1, min(16, TABLE_BYTES // max(row_bytes, 1))), scale, order, part)
        out[members] += part
    return out
