"""Some of the features w_1 .. w_M, drawn and ready to be evaluated on pieces of a batch."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial

import numpy as np

from grnf.engine import Channels, Piece, Schedule
from grnf.engine.rows import first_not_finite, place
from grnf.engine.schedule import OUTPUTS
from grnf.errors import GraphError
from grnf.features.hidden import HiddenGroup, HiddenSums
from grnf.features.map import FeatureMap
from grnf.graphs import GraphBatch, null_graph
from grnf.law import hidden_weights, largest_ratio
from grnf.typing import FloatArray, IntArray

__all__ = ["Chunk"]


class Chunk:
    """Features that are drawn and evaluated together.

    Parameters
    ----------
    of : FeatureMap
        Whose features these are.
    start, size : int
        Which of its hidden draws.
    node_width, edge_width : int
        Numbers of attributes of the graphs.
    """

    def __init__(self, of: FeatureMap, start: int, size: int, node_width: int, edge_width: int) -> None:
        self.map, self.widths = of, (node_width, edge_width)
        self.draw = of.draw(of.channels(node_width, edge_width), start, size)
        self.columns = slice(of.heads * start, of.heads * (start + size))
        self._channels: dict[tuple[bool, bool], Channels] = {}
        self._null: FloatArray = np.zeros(of.heads * size)
        self._weight: FloatArray = np.ones(of.heads * size)  # for now: psi as it is
        if of.center:
            self._null = self._of_null(self.place_features, of.heads * size)
        self._weight = np.sqrt(of.squared_weights(self.draw))

    def place_features(self, batch: GraphBatch, piece: Piece, out: FloatArray) -> None:
        """Write the columns of z that belong to these features, for the graphs of a piece, to their rows.

        Saturated features differ from the null graph's by little: that little would be lost if rho_i were
        rounded before the difference is taken.
        """
        heads, activation = self.map.heads, self.map.activation
        sums, columns = self._sums(batch, piece, hidden=heads > 1)
        places = columns if heads == 1 else np.arange(len(self._weight))
        null, weight = self._null[places], self._weight[places]
        for start in range(0, len(sums), OUTPUTS):
            some = sums[start : start + OUTPUTS]
            psi = activation(some if heads == 1 else self._through_heads(some, columns))
            place(psi, null, weight, piece.members[start : start + OUTPUTS], places, out)

    def hidden_sums(self, batch: GraphBatch, pieces: list[Piece], schedule: Schedule) -> HiddenSums:
        """Return what the heads multiply, for all graphs."""
        null = self._of_null(self._place_hidden, sum(group.invariant.size for group in self.draw.groups))
        sums = np.empty((len(batch), len(null)))
        schedule.run([partial(self._place_hidden, batch, piece, sums) for piece in pieces])
        groups, start = [], 0
        for group in self.draw.groups:
            m, width = len(group.features), group.invariant[0].size
            cut = slice(start, start + m * width)
            U = sums[:, cut].reshape(len(sums), m, width)
            groups.append(HiddenGroup(group.k, group.features, U, null[cut].reshape(m, width)))
            start += m * width
        target, proposal = self.map.target, self.map.proposal
        scales = list(target.coefficients.probabilities)
        return HiddenSums(
            tuple(groups),
            hidden_weights(target, proposal, self.draw),
            scales[0] if len(scales) == 1 else math.nan,
            largest_ratio(target, proposal),
        )

    def _place_hidden(self, batch: GraphBatch, piece: Piece, out: FloatArray) -> None:
        """Write the hidden sums, laid out as `engine.hidden_channels` says, to the graphs' rows."""
        sums, columns = self._sums(batch, piece, hidden=True)
        place(sums, np.zeros(len(columns)), np.ones(len(columns)), piece.members, columns, out)

    def _of_null(self, place_into: Callable[..., None], width: int) -> FloatArray:
        null = GraphBatch.from_graphs([null_graph(*self.widths)])
        out = np.empty((1, width))
        place_into(null, Piece(np.zeros(1, np.int64), False), out)
        return np.asarray(out[0])

    def _through_heads(self, sums: FloatArray, columns: IntArray) -> FloatArray:
        """Return the sums of every head from those of the hidden channels."""
        hidden = np.empty_like(sums)
        hidden[:, columns] = sums
        result = np.empty((len(hidden), len(self.draw), self.map.heads))
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
        engine = self.map.engine

        def channels(directed: bool) -> Channels:
            key = directed, hidden  # threads may do this twice, with the same result
            if key not in self._channels:
                self._channels[key] = engine.channels(self.draw.groups, self.widths[0], directed, hidden)
            return self._channels[key]

        sums = engine.piece_sums(batch, piece, channels)
        bad = first_not_finite(sums)
        if bad >= 0:
            raise GraphError(
                f"graph {piece.members[bad]}: its features overflow {np.dtype(engine.dtype).name}; "
                "scale the attributes, or use dtype='float64' or normalize=True"
            )
        return sums, next(iter(self._channels[key].columns for key in self._channels if key[1] == hidden))
