"""Some of the features w_1 .. w_M, ready to be evaluated on pieces of a batch."""

from __future__ import annotations

from typing import TYPE_CHECKING, Self

import numpy as np

from grnf.engine import Channels, Piece, pieces
from grnf.errors import GraphError
from grnf.graphs import GraphBatch, null_graph
from grnf.law import Draw
from grnf.typing import FloatArray

if TYPE_CHECKING:
    from grnf.features.embedding import FeatureMap

__all__ = ["Stretch"]


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
        self.weight = np.sqrt(owner.squared_weights(draw))
        self.node_width, self.edge_width = node_width, edge_width
        self.by_direction: dict[tuple[bool, bool], Channels] = {}
        self.null: FloatArray | float = 0.0
        if owner.center:
            self.null = self._psi(*self._null_piece())

    def prepared_for(self, parts: list[Piece], *, hidden: bool = False) -> Self:
        """Bring the parameters into shape before threads ask for them."""
        for directed in {piece.directed for piece in parts}:
            self._channels(directed, hidden or self.heads > 1)
        return self

    def features(self, batch: GraphBatch, piece: Piece) -> FloatArray:
        """Return the columns of z that belong to these features, for the graphs of a piece, in float64.

        Saturated features differ from the null graph's by little: that little is lost if rho_i is rounded.
        """
        Z = self._psi(batch, piece)
        Z -= self.null  # in place: fresh memory is what two threads would queue for
        Z *= self.weight
        return Z

    def hidden_sums(self, batch: GraphBatch, piece: Piece) -> FloatArray:
        """Return what the heads multiply, laid out as `Engine.hidden_channels` says."""
        return self._sums(batch, piece, hidden=True)

    def null_hidden_sums(self) -> FloatArray:
        """Return the hidden sums of the null graph, one row."""
        return self.hidden_sums(*self._null_piece())

    def _psi(self, batch: GraphBatch, piece: Piece) -> FloatArray:
        if self.heads == 1:
            return self.activation(self._sums(batch, piece, hidden=False))
        hidden = self._sums(batch, piece, hidden=True)
        result = np.empty((len(hidden), len(self.draw), self.heads))
        start = 0
        for group in self.draw.groups:
            theta = group.heads  # m, R, Bell(k) F_h + 1
            m, _, size = theta.shape
            U = hidden[:, start : start + m * (size - 1)].reshape(len(hidden), m, size - 1)
            sums = np.matmul(U.transpose(1, 0, 2), theta[:, :, :-1].transpose(0, 2, 1))  # m, graphs, R
            result[:, group.features] = (sums + theta[:, np.newaxis, :, -1]).transpose(1, 0, 2)
            start += m * (size - 1)
        return self.activation(result.reshape(len(hidden), -1))

    def _sums(self, batch: GraphBatch, piece: Piece, hidden: bool) -> FloatArray:
        sums = self.engine.piece_sums(batch, piece, self._channels(piece.directed, hidden))
        with np.errstate(invalid="ignore", over="ignore"):
            quick = np.isfinite(sums.sum(axis=1)).all()  # one number a row, mostly all there is to look at
        if not quick:
            finite = np.isfinite(sums).all(axis=1)
            if finite.all():
                return sums
            graph = piece.members[np.flatnonzero(~finite)].min()
            raise GraphError(
                f"graph {graph}: its features overflow {np.dtype(self.engine.dtype).name}; "
                "scale the attributes, or use dtype='float64' or normalize=True"
            )
        return sums

    def _channels(self, directed: bool, hidden: bool) -> Channels:
        key = directed, hidden
        if key not in self.by_direction:
            make = self.engine.hidden_channels if hidden else self.engine.channels
            self.by_direction[key] = make(self.draw, self.node_width, directed)
        return self.by_direction[key]

    def _null_piece(self) -> tuple[GraphBatch, Piece]:
        null = GraphBatch.from_graphs([null_graph(self.node_width, self.edge_width)])
        return null, pieces(null)[0]
