"""Which primitive does what, and in which pieces.

A piece is a set of graphs, all directed or all undirected, small enough for its memory and worth a thread's
while. Within a piece every graph takes the path that its size and the activation allow:

    U_1   u1                         nodes grouped
    U_2   u2, or u2_sorted           nodes grouped; sorted for relu and ramp where many classes are left
    U_3   u3, or u3_sorted           sorted for relu and ramp on large sparse graphs
    U_B   ub                         O(n^B), for small graphs
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from grnf.basis import stirling
from grnf.engine.coefficients import Coefficients, coefficients
from grnf.engine.grouping import grouped
from grnf.engine.neighbours import neighbours
from grnf.engine.rows import RAMP, RELU
from grnf.engine.statistics import Statistics, statistics
from grnf.engine.u1 import u1
from grnf.engine.u2 import u2
from grnf.engine.u2_sorted import u2_sorted
from grnf.engine.u3 import u3
from grnf.engine.u3_sorted import u3_sorted
from grnf.engine.ub import ub
from grnf.graphs import GraphBatch
from grnf.law import Draw
from grnf.typing import FloatArray, IntArray

__all__ = ["Channels", "Engine", "Piece", "n_terms", "pieces"]

TILE = 512
"""Hidden channels that U_1 and U_2 treat at once."""

SORTED_TILE = 16
"""Hidden channels of the sorted paths: a row of single precision is one line of the cache."""

TABLE_BYTES = 2**20
"""Memory of the tables of U_3 and U_B, and of the rows of U_2: they are to stay in the second-level cache."""

SORTED_FROM = 192
"""Classes of nodes from which sorting beats the loop over pairs; measured by benchmarks/crossing.py."""

SMALLEST_PIECE = 200_000
"""Pairs of nodes below which a piece is not worth a thread's while."""

LARGEST_PIECE = 512
"""Graphs in one piece: bounds its memory."""


class Piece(NamedTuple):
    """Graphs that are treated together, in ascending size."""

    members: IntArray
    directed: bool


@dataclass(frozen=True)
class Channels:
    """A stretch of features, ready for the engine."""

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

    def hidden_sums(self, batch: GraphBatch, draw: Draw) -> FloatArray:
        """Return the sums before rho_i of every graph and feature: shape (n_graphs, M), float64."""
        out = np.empty((len(batch), len(draw)))
        for piece in pieces(batch):
            channels = self.channels(draw, batch.node_width, piece.directed)
            out[piece.members] = self.piece_sums(batch, piece, channels)
        return out

    def piece_sums(self, batch: GraphBatch, piece: Piece, channels: Channels) -> FloatArray:
        """Return the sums before rho_i of the graphs of a piece: shape (n_members, M), float64."""
        s = statistics(
            batch.take(piece.members),
            directed=piece.directed,
            adjacency_channel=self.adjacency_channel,
            dtype=self.dtype,
        )
        scale = 1.0 / np.maximum(s.sizes, 1) if self.normalize else np.ones(len(s.sizes))
        sums = np.tile(channels.bias, (len(s.sizes), 1))
        few = grouped(s) if self.group else s
        for B, c in channels.by_blocks.items():
            if B == 1:
                u1(few, c, self.hidden_code, TILE, scale, np.arange(len(scale)), sums)
            elif B == 2:
                self._pairs(few, c, scale, sums)
            elif B == 3:
                self._triples(s, c, scale, sums)
            else:
                tile = _tile(16, B * B * int(s.sizes.max()) ** 2, self.dtype)
                ub(s, c, self.hidden_code, tile, scale, np.arange(len(scale)), sums)
        result = np.empty_like(sums)
        result[:, channels.columns] = sums
        return result

    def _pairs(self, s: Statistics, c: Coefficients, scale: FloatArray, sums: FloatArray) -> None:
        near, classes = neighbours(s), np.diff(s.node_ptr)
        by_sorting = (classes >= SORTED_FROM) & (self.hidden_code in (RELU, RAMP))
        (small,) = np.nonzero(~by_sorting)
        if len(small):
            tile = _tile(TILE, 2 * int(classes[small].max()), self.dtype)
            u2(s, near, c, self.hidden_code, tile, scale, small, sums)
        for graph in np.flatnonzero(by_sorting):
            u2_sorted(s, near, c, self.hidden_code, SORTED_TILE, scale, int(graph), sums)

    def _triples(self, s: Statistics, c: Coefficients, scale: FloatArray, sums: FloatArray) -> None:
        near, n_edges = neighbours(s), np.diff(s.pair_ptr)
        # one step of a merge costs about as much as 12 terms of the vector loop, a correction as much as 3
        cost = 24.0 * s.sizes**2 + 36.0 * n_edges * s.sizes
        by_sorting = (cost < s.sizes**3.0) & (self.hidden_code in (RELU, RAMP))
        (small,) = np.nonzero(~by_sorting)
        if len(small):
            tile = _tile(256, int(s.sizes[small].max()) ** 2, self.dtype)
            u3(s, near, c, self.hidden_code, tile, scale, small, sums)
        for graph in np.flatnonzero(by_sorting):
            u3_sorted(s, near, c, self.hidden_code, SORTED_TILE, scale, int(graph), sums)


def pieces(batch: GraphBatch, n_jobs: int = 1) -> list[Piece]:
    """Cut a batch into pieces, the costly ones first, at least a few for each worker where they are worth it."""
    cost = batch.sizes**2 + 8 * np.diff(batch.edge_ptr) + 100
    share = max(SMALLEST_PIECE, int(cost.sum()) // (8 * n_jobs))
    found: list[tuple[int, Piece]] = []
    for directed in (False, True):
        (members,) = np.nonzero(batch.directed == directed)
        members = members[np.argsort(batch.sizes[members], kind="stable")]
        found += [(int(cost[some].sum()), Piece(some, directed)) for some in _cut(members, cost, share)]
    return [piece for _, piece in sorted(found, key=lambda item: -item[0])]


def _cut(members: IntArray, cost: IntArray, share: int) -> Iterator[IntArray]:
    start = 0
    spent = 0
    for position, graph in enumerate(members):
        if position > start and (spent + cost[graph] > share or position - start >= LARGEST_PIECE):
            yield members[start:position]
            start, spent = position, 0
        spent += int(cost[graph])
    if start < len(members):
        yield members[start:]


def n_terms(batch: GraphBatch, draw: Draw) -> dict[int, float]:
    """Return the number of terms of each U_B: tuples of distinct nodes times hidden channels."""
    sizes = batch.sizes.astype(float)
    terms: dict[int, float] = {}
    for group in draw.groups:
        for B in range(1, group.k + 1):
            tuples = np.prod([np.maximum(sizes - i, 0) for i in range(B)], axis=0).sum()
            channels = len(group.features) * group.hidden_channels * stirling(group.k, B)
            terms[B] = terms.get(B, 0.0) + float(tuples) * channels
    return terms


def _tile(largest: int, entries: int, dtype: type[np.floating[Any]]) -> int:
    """Return how many channels fit the cache if each has so many entries: a multiple of 16 if any."""
    fitting = TABLE_BYTES // (max(entries, 1) * np.dtype(dtype).itemsize)
    return min(largest, max(16, fitting - fitting % 16))
