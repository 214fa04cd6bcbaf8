"""The choice of the kernel that computes each sum.

Within a piece every graph takes the path that its size and the activation allow:

    U_1   node_sums            nodes grouped
    U_2   pair_sums            nodes grouped, sorted for relu and ramp if many classes are left
    U_B   type_sums            types of tuples counted, if there are few
          tuple_sums           otherwise
    all   add_sums_in_numpy    activations without a compiled kernel

and the same for derivatives.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from grnf._utils.jit import compiled
from grnf.activations import Activation
from grnf.engine import costs, schedule
from grnf.engine.coefficients import Channels, Coefficients, channels, hidden_channels
from grnf.engine.costs import EDGE_STEP, falling, met_along_edges, most_types, walked
from grnf.engine.numpy_sums import add_sums_in_numpy
from grnf.engine.pair_sums import (
    node_and_pair_sums,
    node_sum_gradients,
    pair_sum_gradients,
    sorted_pair_sum_gradients,
    sorted_pair_sums,
)
from grnf.engine.projection import Gradients
from grnf.engine.rows import RAMP, RELU, ActivationCode
from grnf.engine.schedule import Piece, Schedule, fitting_tile
from grnf.engine.statistics import (
    VALUES_SEARCHED,
    Neighbors,
    Statistics,
    attribute_gradients,
    class_numbers,
    folded,
    grouped,
    neighbors,
    statistics,
)
from grnf.engine.triple_types import Members
from grnf.engine.tuple_sums import tuple_sum_gradients, tuple_sums
from grnf.engine.tuple_types import list_types
from grnf.engine.twins import twins as group_twins
from grnf.engine.type_sums import type_sum_gradients, type_sums
from grnf.graphs import GraphBatch
from grnf.law.parameters import Draw, OrderDraw
from grnf.typing import BoolArray, FloatArray, IntArray

ChannelsOf = Callable[[bool], Channels]
"""The channels for directed or for undirected graphs."""


@dataclass
class Prepared:
    """What the sums of a piece and their derivatives share: statistics, also with equal nodes grouped.

    Neighbors of the latter are listed when they are first asked for, except for `large` graphs, whose pairs
    are sorted.
    """

    rows: Statistics
    few: Statistics
    large: BoolArray

    @cached_property
    def near(self) -> Neighbors:
        """The neighbors of all rows of `few`."""
        return neighbors(self.few, left_out=self.large)


class Engine(NamedTuple):
    """How H_k(rho_e(F_{2,k}(A))) is computed."""

    activation: Activation
    basis: str
    normalize: bool
    adjacency_channel: bool
    dtype: type[np.floating[Any]]
    group: bool = True

    @property
    def linear(self) -> bool:
        """Whether rho_e is relu or ramp, whose sums can be sorted."""
        return self.activation.code in (RELU, RAMP)

    def channels(
        self, groups: tuple[OrderDraw, ...], node_width: int, directed: bool, hidden: bool = False
    ) -> Channels:
        """Bring drawn parameters into the form that the kernels read. `hidden` leaves the heads out."""
        result = channels(
            groups, node_width=node_width, directed=directed, basis=self.basis, dtype=self.dtype
        )
        return hidden_channels(groups, result) if hidden else result

    def sums(self, batch: GraphBatch, draw: Draw) -> FloatArray:
        """Return the sums before rho_i of every graph and feature: shape (n_graphs, M), float64."""
        by_direction = {
            directed: self.channels(draw.groups, len(batch.channels().node), directed)
            for directed in (False, True)
        }
        out = np.empty((len(batch), len(draw)))
        for piece in Schedule().pieces(batch):
            sums = self.piece_sums(batch, piece, by_direction.__getitem__)
            out[piece.members[:, np.newaxis], by_direction[False].columns] = sums
        return out

    def prepare(self, batch: GraphBatch, piece: Piece) -> Prepared:
        """Compute the statistics of a piece."""
        s = folded(self.statistics(batch, piece))
        few = grouped(s) if self.group and self.activation.code is not None else s
        return Prepared(s, few, self.linear & (np.diff(few.node_ptr) >= costs.SORTED_FROM))

    def piece_sums(
        self, batch: GraphBatch, piece: Piece, channels_of: ChannelsOf, prepared: Prepared | None = None
    ) -> FloatArray:
        """Return the sums before rho_i of the graphs of a piece: shape (n_members, M), float64.

        Column i belongs to the feature channels.columns[i]: those of the same order are consecutive.
        """
        of = prepared or self.prepare(batch, piece)
        given, scale = channels_of(of.rows.directed), self._scale(of.rows.sizes)
        by_slots = given.by_slots
        sums = np.empty((len(scale), len(given.bias)))
        if self.activation.code is None:
            sums[:] = given.bias
            add_sums_in_numpy(of.rows, of.near, by_slots, self.activation.function, scale, sums)
            return sums
        if prepared is None and max(by_slots) < 3:
            of.rows = of.few  # what it was is let go: memory that is used again at once need not be fetched
        c2 = by_slots.get(2)
        near = None if c2 is None else of.near
        small = np.diff(of.few.node_ptr)[~of.large]
        tile = self._tile(schedule.TILE, 2 * int(small.max(initial=1)))
        left_out = of.large | (of.few.sizes < 2)
        node_and_pair_sums(of.few, near, by_slots[1], c2, self._rho, left_out, tile, scale, given.bias, sums)
        if c2 is not None:
            self._sorted_pairs(of.few, c2, scale, np.flatnonzero(of.large), sums)
        near = neighbors(of.rows) if max(by_slots) > 2 else None
        for B, c in by_slots.items():
            if B > 2 and near is not None:
                self._higher(B, of.rows, near, c, scale, (type_sums, tuple_sums), sums)
        return sums

    def piece_gradients(
        self,
        batch: GraphBatch,
        piece: Piece,
        channels_of: ChannelsOf,
        d_sums: FloatArray,
        *,
        d_node_attr: FloatArray | None = None,
        d_edge_attr: FloatArray | None = None,
        of_coefficients: bool = False,
        prepared: Prepared | None = None,
    ) -> tuple[bool, dict[int, Coefficients]]:
        """Go back: from the derivatives of the sums, shape (n_members, M) in the order of their columns.

        Adds to those of the attributes that are given, and returns those of the coefficients, with whether
        they are of the channels for directed graphs. What was `prepared` for the sums serves again, except
        for derivatives of edges, which need both arcs of each.
        """
        of_statistics = d_node_attr is not None
        group = self.group and not of_statistics  # equal nodes differ in their derivatives
        searched = VALUES_SEARCHED if d_edge_attr is None else 0
        if searched:
            of = prepared or self.prepare(batch, piece)
            s, few = of.rows, of.few if group else of.rows
        else:
            s = few = self.statistics(batch, piece)
        near = of.near if searched and few is of.few and not of.large.any() else neighbors(few, searched)
        given, scale = channels_of(s.directed), self._scale(s.sizes)
        d = few.nodes, near.values, few.totals
        d_nodes, d_values, d_totals = (np.zeros_like(array) for array in d)
        result = {}
        for B, c in given.by_slots.items():
            result[B] = c.zeros() if of_coefficients else c
            out = Gradients(d_nodes, d_values, d_totals, result[B], of_statistics, of_coefficients)
            if B < 3:
                self._low_gradients(B, few, near, c, scale, d_sums, out)
            else:
                adjacent = near if few is s else neighbors(s, searched)
                kernels = type_sum_gradients, tuple_sum_gradients
                self._higher(B, s, adjacent, c, scale, kernels, d_sums, out, by_types=group)
        if d_node_attr is not None:
            there, back = d_values[0 : 2 * len(s.pairs) : 2], d_values[1 : 2 * len(s.pairs) : 2]
            d_pairs = there + np.roll(back, back.shape[1] // 2, axis=1)
            attribute_gradients(
                batch, piece.members, s, (d_nodes, d_pairs, d_totals), d_node_attr, d_edge_attr
            )
        return bool(s.directed), result

    @property
    def _rho(self) -> ActivationCode:
        return (0,) * (self.activation.code or 0)

    def statistics(self, batch: GraphBatch, piece: Piece) -> Statistics:
        """Return the statistics of the graphs of a piece."""
        return statistics(batch, piece.members, piece.directed, self.adjacency_channel, self.dtype)

    def _scale(self, sizes: IntArray) -> FloatArray:
        return 1.0 / np.maximum(sizes, 1) if self.normalize else np.ones(len(sizes))

    def _tile(self, largest: int, entries: int) -> int:
        return fitting_tile(largest, entries, np.dtype(self.dtype).itemsize)

    def _sorted_pairs(
        self, s: Statistics, c: Coefficients, scale: FloatArray, graphs: IntArray, sums: FloatArray
    ) -> None:
        for graph in graphs:
            classes = int(s.node_ptr[graph + 1] - s.node_ptr[graph])
            tile = max(schedule.SORTED_TILE, min(128, schedule.SORTED_ENTRIES // max(classes, 1)))
            sorted_pair_sums(s, c, self._rho, tile, scale, int(graph), sums)

    def _higher(
        self,
        B: int,
        s: Statistics,
        near: Neighbors,
        c: Coefficients,
        scale: FloatArray,
        kernels: tuple[Callable[..., None], Callable[..., None]],
        *to: Any,
        by_types: bool | None = None,
    ) -> None:
        """Sum over types of tuples in graphs in which that is cheaper, over all tuples in the others."""
        left = np.full(len(scale), True)
        if self.group if by_types is None else by_types:
            left = self._by_types(B, s, near, c, scale, kernels[0], *to)
        if left.any():
            kernels[1](s, near, c, self._rho, scale, np.flatnonzero(left), *to)

    def _by_types(
        self,
        B: int,
        s: Statistics,
        near: Neighbors,
        c: Coefficients,
        scale: FloatArray,
        kernel: Callable[..., None],
        *to: Any,
    ) -> BoolArray:
        """Sum over types of tuples if that is cheaper. Return the graphs that are left."""
        cost, steps = falling(s.sizes.astype(float), B), met_along_edges(np.diff(near.ptr), s.node_ptr)
        along = (steps < walked(B, *_counts(s))) & (B == 3)
        left = np.full(len(scale), True)
        for on in (False, True):
            if (along if on else ~along).any():
                rows, few, adjacent, of = self._classes(s, near, twins=not on)
                if not on:
                    walk = walked(B, *_counts(rows))
                    along &= EDGE_STEP * steps < walk
                most = most_types(cost, steps if on else walk, len(c.bias))
                most[along != on] = 0
                first = 0
                while first < len(scale):
                    types = list_types(of, s.sizes, B, most, on, first, schedule.TYPES_HELD)
                    left[first : first + len(types.done)] &= ~types.done
                    kernel(few, adjacent, types, c, self._rho, scale, first, *to)
                    first += len(types.done)
        return left

    def _classes(
        self, s: Statistics, near: Neighbors, *, twins: bool
    ) -> tuple[Statistics, Statistics, Neighbors, Members]:
        """Find the classes of equal nodes, of single ones or of twins as one.

        Returns one row per node or class of twins, one row per class of equal nodes, the neighbors of the
        former, and what is to be counted.
        """
        rows = group_twins(s, near) if twins else s
        adjacent = neighbors(rows) if twins else near
        class_of = class_numbers(rows)
        graph_of = np.repeat(np.arange(len(s.sizes)), np.diff(rows.node_ptr))
        ptr = np.zeros_like(rows.node_ptr)
        np.maximum.at(ptr[1:], graph_of, class_of + 1)
        n_classes, ptr = ptr[1:].copy(), np.cumsum(ptr)
        first = np.empty(ptr[-1], np.int64)
        first[(ptr[graph_of] + class_of)[::-1]] = np.arange(len(class_of))[::-1]
        few = rows._replace(
            node_ptr=ptr, nodes=rows.nodes[first], node_weight=np.ones_like(rows.node_weight[first])
        )
        size = rows.node_weight.astype(np.int64)
        lists = adjacent.ptr, adjacent.node, adjacent.value, adjacent.back, adjacent.value_ptr
        return rows, few, adjacent, Members(rows.node_ptr, n_classes, class_of, size, *lists)

    def _low_gradients(
        self,
        B: int,
        s: Statistics,
        near: Neighbors,
        c: Coefficients,
        scale: FloatArray,
        d_sums: FloatArray,
        out: Gradients,
    ) -> None:
        rho, classes = self._rho, np.diff(s.node_ptr)
        by_sorting = (classes >= costs.SORTED_GRADIENTS_FROM) & self.linear & (B == 2)
        (small,) = np.nonzero(~by_sorting)
        tile = self._tile(schedule.GRADIENTS_TILE, 4 * int(classes[small].max(initial=1)))
        kernel = node_sum_gradients if B == 1 else pair_sum_gradients
        kernel(s, near, c, rho, tile, scale, small, d_sums, out)
        for graph in np.flatnonzero(by_sorting):
            sorted_pair_sum_gradients(s, near, c, rho, schedule.SORTED_TILE, scale, int(graph), d_sums, out)


def _counts(s: Statistics) -> tuple[IntArray, IntArray]:
    """Return how many rows and pairs each graph has."""
    return np.diff(s.node_ptr), np.diff(s.pair_ptr)


def place_outputs(
    outputs_of: Callable[[FloatArray], FloatArray],
    sums: FloatArray,
    null: FloatArray,
    weight: FloatArray,
    rows: IntArray,
    columns: IntArray,
    out: FloatArray,
) -> None:
    """Set out[rows, columns] = (psi - null) * weight, psi = outputs_of(sums), a few at a time.

    Saturated features differ from the null graph's by little: that little would be lost if rho_i were
    rounded before the difference is taken.
    """
    for start in range(0, len(sums), schedule.OUTPUTS):
        some = slice(start, start + schedule.OUTPUTS)
        place(outputs_of(sums[some]), null, weight, rows[some], columns, out)


@compiled
def place(
    values: FloatArray,
    shift: FloatArray,
    factor: FloatArray,
    rows: IntArray,
    columns: IntArray,
    out: FloatArray,
) -> None:
    """Set out[rows, columns] = (values - shift) * factor. Numpy would hold the interpreter lock."""
    for i in range(len(rows)):
        source, target = values[i], out[rows[i]]
        for j in range(len(columns)):
            target[columns[j]] = (source[j] - shift[j]) * factor[j]
