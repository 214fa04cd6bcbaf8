"""Some of the features w_1 .. w_M, ready to be evaluated on pieces of a batch."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Self

import numpy as np

from grnf.engine import Channels, Piece, pieces
from grnf.engine.rows import first_not_finite, place
from grnf.errors import GraphError
from grnf.graphs import GraphBatch, null_graph
from grnf.law import Draw
from grnf.typing import FloatArray, IntArray

if TYPE_CHECKING:
    from grnf.features.embedding import FeatureMap

__all__ = ["Stretch"]

ROWS = 128
"""Graphs to which rho_i is applied at once: their rows stay in the cache."""


class Stretch:
    """Features that are drawn and evaluated together.

    Parameters
    ----------
    owner : FeatureMap
        Whose activations, engine and weights are used.
    draw : Draw
        The features: hidden draws, each with as many heads as the owner wants.
    node_width, edge_width : int
        Numbers of attributes of the graphs.
    """

    def __init__(self, owner: FeatureMap, draw: Draw, node_width: int, edge_width: int) -> None:
        self.draw, self.heads = draw, owner.heads
        self.activation, self.engine = owner.activation, owner.engine
        self.node_width, self.edge_width = node_width, edge_width
        self.by_direction: dict[tuple[bool, bool], Channels] = {}
        size = self.heads * len(draw)
        self.null: FloatArray = np.zeros(size)
        self.weight: FloatArray = np.ones(size)  # for now: psi as it is
        if owner.center:
            self.null = self._of_null(self.place_features, size)
        self.weight = np.sqrt(owner.squared_weights(draw))

    def prepared_for(self, parts: list[Piece], *, hidden: bool = False) -> Self:
        """Bring the parameters into shape before threads ask for them."""
        for directed in {piece.directed for piece in parts}:
            self._channels(directed, hidden or self.heads > 1)
        return self

    def place_features(self, batch: GraphBatch, piece: Piece, out: FloatArray) -> None:
        """Write the columns of z that belong to these features, for the graphs of a piece, to their rows.

        Saturated features differ from the null graph's by little: that little would be lost if rho_i were
        rounded before the difference is taken.
        """
        sums, columns = self._sums(batch, piece, hidden=self.heads > 1)
        places = columns if self.heads == 1 else np.arange(len(self.weight))
        null, weight = self.null[places], self.weight[places]
        for start in range(0, len(sums), ROWS):
            some = sums[start : start + ROWS]
            psi = self.activation(some if self.heads == 1 else self._through_heads(some, columns))
            place(psi, null, weight, piece.members[start : start + ROWS], places, out)

    def place_hidden_sums(self, batch: GraphBatch, piece: Piece, out: FloatArray) -> None:
        """Write what the heads multiply, laid out as `Engine.hidden_channels` says, to the graphs' rows."""
        sums, columns = self._sums(batch, piece, hidden=True)
        place(sums, np.zeros(len(columns)), np.ones(len(columns)), piece.members, columns, out)

    def null_hidden_sums(self) -> FloatArray:
        """Return the hidden sums of the null graph."""
        return self._of_null(self.place_hidden_sums, sum(group.invariant.size for group in self.draw.groups))

    def _of_null(self, place_into: Callable[..., None], width: int) -> FloatArray:
        null = GraphBatch.from_graphs([null_graph(self.node_width, self.edge_width)])
        out = np.empty((1, width))
        place_into(null, pieces(null)[0], out)
        return np.asarray(out[0])

    def _through_heads(self, sums: FloatArray, columns: IntArray) -> FloatArray:
        """Return the sums of every head from those of the hidden channels."""
        hidden = np.empty_like(sums)
        hidden[:, columns] = sums
        result = np.empty((len(hidden), len(self.draw), self.heads))
        start = 0
        for group in self.draw.groups:
            theta = group.heads  # m, R, Bell(k) F_h + 1
            m, _, size = theta.shape
            U = hidden[:, start : start + m * (size - 1)].reshape(len(hidden), m, size - 1)
            through = np.matmul(U.transpose(1, 0, 2), theta[:, :, :-1].transpose(0, 2, 1))  # m, graphs, R
            result[:, group.features] = (through + theta[:, np.newaxis, :, -1]).transpose(1, 0, 2)
            start += m * (size - 1)
        return result.reshape(len(hidden), -1)

    def _sums(self, batch: GraphBatch, piece: Piece, hidden: bool) -> tuple[FloatArray, IntArray]:
        """Return the sums of the graphs of a piece, and where their columns belong."""
        channels = self._channels(piece.directed, hidden)
        sums = self.engine.piece_sums(batch, piece, channels)
        bad = first_not_finite(sums)
        if bad >= 0:
            raise GraphError(
                f"graph {piece.members[bad]}: its features overflow {np.dtype(self.engine.dtype).name}; "
                "scale the attributes, or use dtype='float64' or normalize=True"
            )
        return sums, channels.columns

    def _channels(self, directed: bool, hidden: bool) -> Channels:
        key = directed, hidden
        if key not in self.by_direction:
            make = self.engine.hidden_channels if hidden else self.engine.channels
            self.by_direction[key] = make(self.draw, self.node_width, directed)
        return self.by_direction[key]
