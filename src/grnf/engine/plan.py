"""Which primitive does what, and in which pieces: pieces of graphs, each on one thread."""

from __future__ import annotations

from functools import cache
from typing import Any, NamedTuple

import numpy as np
from joblib import Parallel, delayed

from grnf.engine.coefficients import Coefficients, coefficients
from grnf.engine.grouping import grouped
from grnf.engine.neighbours import neighbours
from grnf.engine.statistics import statistics
from grnf.engine.u1 import u1
from grnf.engine.u2 import u2
from grnf.engine.ub import ub
from grnf.graphs import GraphBatch
from grnf.law import Draw
from grnf.typing import FloatArray, IntArray

__all__ = ["Engine"]

TILE = 128
"""Hidden channels that U_1 and U_2 treat at once: rows of half a kilobyte, tables that fit the cache."""

TABLE_BYTES = 2**26
"""Memory that the tables of U_B may take per tile of channels."""

PIECE = 512
"""Graphs in one piece of work."""


class Engine(NamedTuple):
    """How H_k(rho_e(F_{2,k}(A))) is computed."""

    hidden_code: int
    basis: str
    normalize: bool
    adjacency_channel: bool
    dtype: type[np.floating[Any]]
    n_jobs: int | None = None

    def hidden_sums(self, batch: GraphBatch, draw: Draw) -> FloatArray:
        """Return the sums before rho_i of every graph and feature: shape (n_graphs, M), float64."""

        @cache
        def channels(directed: bool) -> dict[int, Coefficients]:
            return coefficients(
                draw, node_width=batch.node_width, directed=directed, basis=self.basis, dtype=self.dtype
            )

        out = np.empty((len(batch), len(draw)))
        pieces = []
        for directed in (False, True):
            (members,) = np.nonzero(batch.directed == directed)
            members = members[np.argsort(batch.sizes[members], kind="stable")]  # equal sizes in a row
            pieces += [
                (members[i : i + PIECE], directed, channels(directed)) for i in range(0, len(members), PIECE)
            ]
        Parallel(n_jobs=self.n_jobs, require="sharedmem")(
            delayed(self._piece)(batch, members, directed, c, draw, out) for members, directed, c in pieces
        )
        return out

    def _piece(
        self,
        batch: GraphBatch,
        members: IntArray,
        directed: bool,
        channels: dict[int, Coefficients],
        draw: Draw,
        out: FloatArray,
    ) -> None:
        """Write the hidden sums of some graphs, all directed or all undirected, to their rows of `out`."""
        s = statistics(
            batch.take(members), directed=directed, adjacency_channel=self.adjacency_channel, dtype=self.dtype
        )
        scale = 1.0 / np.maximum(s.sizes, 1) if self.normalize else np.ones(len(members))
        few = grouped(s)
        order = np.arange(len(members))
        part = np.empty((len(members), out.shape[1]))
        part[:] = np.concatenate([group.invariant_bias for group in draw.groups])
        for B, c in channels.items():
            if B == 1:
                u1(few, c, self.hidden_code, TILE, scale, order, part)
            elif B == 2:
                u2(few, neighbours(few), c, self.hidden_code, TILE, scale, order, part)
            else:
                row_bytes = B * B * int(s.sizes.max(initial=0)) ** 2 * np.dtype(self.dtype).itemsize
                tile = max(1, min(16, TABLE_BYTES // max(row_bytes, 1)))
                ub(s, c, self.hidden_code, tile, scale, order, part)
        out[members[:, np.newaxis], np.concatenate([group.features for group in draw.groups])] = part
