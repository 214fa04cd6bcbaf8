"""z of many graphs: what a `FeatureMap` says, done as a `Schedule` says."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np

from grnf.engine import Piece, Schedule
from grnf.features.chunk import Chunk
from grnf.features.hidden import HiddenSums
from grnf.features.map import FeatureMap
from grnf.graphs import GraphBatch
from grnf.law import Draw, proposal_sample_size
from grnf.typing import FloatArray

__all__ = ["Embedder"]


@dataclass
class Embedder:
    """Graphs in, vectors out.

    Parameters
    ----------
    map : FeatureMap
        What is computed.
    schedule : Schedule
        How: memory and threads.
    """

    map: FeatureMap
    schedule: Schedule = field(default_factory=Schedule)
    _kept: Chunk | None = field(default=None, init=False, repr=False, compare=False)

    def __call__(self, batch: GraphBatch) -> FloatArray:
        """Embed every graph of the batch: shape (n_graphs, M).

        With many graphs the workers share the graphs, with few they share the features.
        """
        schedule, M = self.schedule, self.map.n_components
        Z = np.empty((len(batch), M), dtype=self.map.dtype)
        pieces = schedule.pieces(batch)
        share_features = len(pieces) < schedule.workers
        chunks = self._chunks(batch, at_least=schedule.workers if share_features else 1)
        self._warn_if_long(batch)
        with schedule.progress(len(batch) * M, f"embedding {len(batch)} graphs") as advance:

            def fill(piece: Piece, chunk: Chunk) -> None:
                chunk.place_features(batch, piece, Z[:, chunk.columns])
                advance(len(piece.members) * (chunk.columns.stop - chunk.columns.start))

            def fill_all(start: int, size: int) -> None:
                chunk = self._chunk(start, size, batch)
                for piece in pieces:
                    fill(piece, chunk)

            if share_features:
                schedule.run([partial(fill_all, *chunk) for chunk in chunks])
            else:
                for start, size in chunks:
                    chunk = self._chunk(start, size, batch)
                    schedule.run([partial(fill, piece, chunk) for piece in pieces])
        return Z

    def hidden_sums(self, batch: GraphBatch, beside: int = 0) -> Iterator[HiddenSums]:
        """Yield the hidden sums of all graphs, some hidden draws at a time, within the memory.

        With the hidden sums of so many graphs `beside`, they come in the same chunks as those.
        """
        pieces = self.schedule.pieces(batch)
        self._warn_if_long(batch)
        for start, size in self._chunks(batch, n_graphs=len(batch) + beside, keep_hidden=True):
            yield self._chunk(start, size, batch).hidden_sums(batch, pieces, self.schedule)

    def effective_sample_size(self, node_width: int, edge_width: int) -> float:
        """Return how many features of equal weight are worth as much as these M under importance sampling."""
        of, channels = self.map, self.map.channels(node_width, edge_width)

        def draws() -> Iterator[Draw]:
            needs: dict[str, Any] = {"seed": of.seed, "channels": channels, "heads": of.heads, "n_graphs": 1}
            for start, size in self.schedule.chunks(of.proposal, of.n_hidden, **needs):
                yield of.draw(channels, start, size)

        orders = np.repeat(of.proposal.orders_of(of.n_hidden, seed=of.seed), of.heads)
        return proposal_sample_size(of.target, of.proposal, draws, orders)

    def _chunks(self, batch: GraphBatch, **needs: Any) -> list[tuple[int, int]]:
        of = self.map
        needs = {"n_graphs": len(batch), **needs}
        channels = of.channels(batch.node_width, batch.edge_width)
        return self.schedule.chunks(
            of.proposal, of.n_hidden, seed=of.seed, channels=channels, heads=of.heads, **needs
        )

    def _chunk(self, start: int, size: int, batch: GraphBatch) -> Chunk:
        """Draw a chunk of features; one that holds them all is kept for the next call."""
        widths, kept = (batch.node_width, batch.edge_width), self._kept
        if size < self.map.n_hidden:
            return Chunk(self.map, start, size, *widths)
        if kept is None or kept.widths != widths:
            kept = self._kept = Chunk(self.map, start, size, *widths)
        return kept

    def _warn_if_long(self, batch: GraphBatch) -> None:
        of = self.map
        self.schedule.warn_if_long(batch, of.proposal, of.n_hidden, seed=of.seed, linear=of.engine.linear)

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_kept": None}
