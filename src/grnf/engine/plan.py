"""Which primitive does what, and in which pieces.

A piece is a set of graphs, all directed or all undirected, small enough for its memory and worth a thread's
while. Within a piece every graph takes the path that its size and the activation allow:

    U_1   u1                         nodes grouped
    U_2   u2, or u2_sorted           nodes grouped; sorted for relu and ramp where many classes are left
    U_3   u3, or u3_sorted           twins grouped; sorted for relu and ramp on large sparse graphs
    U_B   ub                         O(n^B), for small graphs
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from grnf.basis import stirling
from grnf.engine.coefficients import Coefficients, coefficients, single_channels
from grnf.engine.grouping import grouped
from grnf.engine.low import u1_and_u2
from grnf.engine.neighbours import neighbours
from grnf.engine.rows import RAMP, RELU, fitting_tile
from grnf.engine.statistics import Statistics, statistics
from grnf.engine.twins import twins
from grnf.engine.u1 import u1
from grnf.engine.u2_sorted import u2_sorted
from grnf.engine.u3 import u3
from grnf.engine.u3_sorted import u3_sorted
from grnf.engine.ub import ub
from grnf.graphs import GraphBatch
from grnf.law import Draw
from grnf.typing import FloatArray, IntArray

__all__ = ["Channels", "Engine", "Piece", "estimated_seconds", "pieces"]

TILE = 1024
"""Hidden channels that U_1 and U_2 treat at once."""

TRIPLES_TILE = 256
"""Hidden channels that U_3 treats at once, if its table of pairs of nodes fits the cache."""

SORTED_TILE, SORTED_ENTRIES = 16, 2**16
"""Hidden channels of the sorted paths, and entries of a tile: many channels of small graphs; of large ones
so many that a row of single precision is one line of the cache."""

SORTED_FROM = 384
"""Classes of nodes from which sorting beats the loop over pairs; see the benchmark "crossing"."""

SMALLEST_PIECE = 200_000
"""Pairs of nodes below which a piece is not worth a thread's while."""

LARGEST_PIECE = 512
"""Graphs in one piece: bounds its memory."""

ROUNDS, SHRINKING = 5, 0.6
"""Pieces for each worker, and how much cheaper those of the next round are: few in all, since workers queue
for the interpreter between loops, and small ones at the end, so that none waits long for the last one."""


TERMS_PER_SECOND, SMOOTH_PER_SECOND, TUPLES_PER_SECOND = 1e10, 1e9, 2e8
"""Rough rates of one thread: relu and ramp, other activations, and the general U_B; to warn of long runs."""


class Piece(NamedTuple):
    """Graphs that are treated together, in ascending size."""

    members: IntArray
    directed: bool


@dataclass(frozen=True)
class Channels:
    """A stretch of features, ready for the engine: in its own order, which `columns` tells."""

    draw: Draw
    by_blocks: dict[int, Coefficients]
    columns: IntArray
    bias: FloatArray


class Engine(NamedTuple):
    """How H_k(rho_e(F_{2,k}(A))) is computed."""

    hidden_code: int
    basis: str
    normalize: bool
    adjacency_channel: bool
    dtype: type[np.floating[Any]]
    group: bool = True

    def channels(self, draw: Draw, node_width: int, directed: bool) -> Channels:
        """Bring drawn parameters into the form that the primitives read."""
        return Channels(
            draw,
            coefficients(draw, node_width=node_width, directed=directed, basis=self.basis, dtype=self.dtype),
            np.concatenate([group.features for group in draw.groups]),
            np.concatenate([group.invariant_bias for group in draw.groups]),
        )

    def hidden_channels(self, draw: Draw, node_width: int, directed: bool) -> Channels:
        """Leave the heads out, so that `piece_sums` returns the sums U of each hidden channel by itself.

        They stand one group of the draw after the other, and within it as in `OrderDraw.invariant`.
        """
        by_blocks = self.channels(draw, node_width, directed).by_blocks
        single, columns = single_channels(draw, by_blocks)
        return Channels(draw, single, columns, np.zeros(len(columns)))

    def hidden_sums(self, batch: GraphBatch, draw: Draw) -> FloatArray:
        """Return the sums before rho_i of every graph and feature: shape (n_graphs, M), float64."""
        out = np.empty((len(batch), len(draw)))
        parts = pieces(batch)
        for directed in {piece.directed for piece in parts}:
            channels = self.channels(draw, batch.node_width, directed)
            for piece in parts:
                if piece.directed == directed:
                    sums = self.piece_sums(batch, piece, channels)
                    out[piece.members[:, np.newaxis], channels.columns] = sums
        return out

    def piece_sums(self, batch: GraphBatch, piece: Piece, channels: Channels) -> FloatArray:
        """Return the sums before rho_i of the graphs of a piece: shape (n_members, M), float64.

        Column i belongs to the feature channels.columns[i]: those of one order stand side by side.
        """
        s = statistics(
            batch,
            piece.members,
            directed=piece.directed,
            adjacency_channel=self.adjacency_channel,
            dtype=self.dtype,
        )
        scale = 1.0 / np.maximum(s.sizes, 1) if self.normalize else np.ones(len(s.sizes))
        sums = np.tile(channels.bias, (len(s.sizes), 1))
        few = grouped(s) if self.group else s
        self._nodes_and_pairs(few, channels.by_blocks, scale, sums)
        for B, c in channels.by_blocks.items():
            if B == 3:
                self._triples(s, c, scale, sums)
            elif B > 3:
                tile = fitting_tile(16, B * B * int(s.sizes.max()) ** 2, np.dtype(self.dtype).itemsize)
                ub(s, c, self.hidden_code, tile, scale, np.arange(len(scale)), sums)
        return sums

    def _nodes_and_pairs(
        self, s: Statistics, by_blocks: dict[int, Coefficients], scale: FloatArray, sums: FloatArray
    ) -> None:
        code, classes = self.hidden_code, np.diff(s.node_ptr)
        by_sorting = (classes >= SORTED_FROM) & (code in (RELU, RAMP))
        if 2 not in by_blocks or by_sorting.all():
            u1(s, by_blocks[1], code, TILE, scale, np.arange(len(scale)), sums)
        else:
            largest = int(classes[~by_sorting].max())
            tiles = TILE, fitting_tile(TILE, 2 * largest, np.dtype(self.dtype).itemsize)
            u1_and_u2(s, neighbours(s), by_blocks[1], by_blocks[2], code, tiles, scale, ~by_sorting, sums)
        for graph in np.flatnonzero(by_sorting) if 2 in by_blocks else ():
            tile = max(SORTED_TILE, min(128, SORTED_ENTRIES // max(int(classes[graph]), 1)))
            u2_sorted(s, by_blocks[2], code, tile, scale, int(graph), sums)

    def _triples(self, s: Statistics, c: Coefficients, scale: FloatArray, sums: FloatArray) -> None:
        near, n_edges = neighbours(s), np.diff(s.pair_ptr)
        few = twins(s, near) if self.group else s
        classes = np.diff(few.node_ptr)
        cost = _sorted_triples_cost(s.sizes.astype(float), n_edges)
        by_sorting = (cost < classes**3.0) & (self.hidden_code in (RELU, RAMP))
        (small,) = np.nonzero(~by_sorting)
        if len(small):
            u3(few, neighbours(few), c, self.hidden_code, TRIPLES_TILE, scale, small, sums)
        for graph in np.flatnonzero(by_sorting):
            u3_sorted(s, near, c, self.hidden_code, SORTED_TILE, scale, int(graph), sums)


def pieces(batch: GraphBatch, n_jobs: int = 1) -> list[Piece]:
    """Cut a batch into pieces, the costly ones first; a few for each worker where they are worth it."""
    sizes = batch.sizes
    cost = sizes**2 + (8 + batch.node_width) * sizes + 8 * np.diff(batch.edge_ptr) + 100
    limits = _limits(int(cost.sum()), n_jobs)
    found: list[tuple[int, Piece]] = []
    for directed in (False, True):
        (members,) = np.nonzero(batch.directed == directed)
        if not len(members):
            continue
        members = members[np.argsort(sizes[members], kind="stable")]
        found += [(int(cost[some].sum()), Piece(some, directed)) for some in _cut(members, cost, limits)]
    return [piece for _, piece in sorted(found, key=lambda item: -item[0])]


def _limits(total: int, n_jobs: int) -> FloatArray:
    """Return the costs, added up, at which pieces end: as many for each worker, ever smaller ones."""
    rounds = ROUNDS
    while rounds > 1 and _shares(rounds, n_jobs)[-1] * total < SMALLEST_PIECE:
        rounds -= 1
    return np.asarray(np.cumsum(_shares(rounds, n_jobs))[:-1] * total)


def _shares(rounds: int, n_jobs: int) -> FloatArray:
    shares = np.repeat(SHRINKING ** np.arange(rounds), n_jobs)
    return np.asarray(shares / shares.sum())


def _cut(members: IntArray, cost: IntArray, limits: FloatArray) -> list[IntArray]:
    """Cut where the costs reach another limit, and wherever there are too many graphs."""
    shares = np.searchsorted(limits, np.cumsum(cost[members]))
    found = []
    for some in np.split(members, np.flatnonzero(np.diff(shares)) + 1):
        found += [some[i : i + LARGEST_PIECE] for i in range(0, len(some), LARGEST_PIECE)]
    return found


def estimated_seconds(batch: GraphBatch, orders: IntArray, hidden_channels: int, code: int) -> float:
    """Estimate how long features of these orders take on one thread, from terms and rough rates.

    Only what can grow out of hand is counted: U_3 and beyond, and U_2 where it cannot be sorted.
    """
    n, edges = batch.sizes.astype(float), np.diff(batch.edge_ptr)
    linear = code in (RELU, RAMP)
    terms = {2: np.zeros_like(n) if linear else n**2, 3: n**3}
    if linear:
        terms[3] = np.minimum(terms[3], _sorted_triples_cost(n, edges))
    seconds = 0.0
    for k, count in zip(*np.unique(orders, return_counts=True), strict=True):
        for B in range(2, int(k) + 1):
            tuples = terms[B] if B in terms else np.prod([np.maximum(n - i, 0) for i in range(B)], axis=0)
            rate = TUPLES_PER_SECOND if B > 3 else TERMS_PER_SECOND if linear else SMOOTH_PER_SECOND
            seconds += float(count) * hidden_channels * stirling(int(k), B) * float(tuples.sum()) / rate
    return seconds


def _sorted_triples_cost(n: FloatArray, edges: IntArray) -> FloatArray:
    """Return the cost of the sorted path of U_3 in terms of the vector loop.

    One step of a merge costs about as much as 12 such terms, a correction as much as 3.
    """
    return 24.0 * n**2 + 36.0 * edges * n
