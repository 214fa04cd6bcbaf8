"""The sums of all features (before rho_i) as an operator of torch: the engine forward, its derivatives back.

On any device: tensors come to the processor, where the loops are, and the result goes back. The operator is one
node for `torch.compile`, and keeps nothing for the way back but its inputs: rows are multiplied out again there.
"""

from __future__ import annotations

from collections import OrderedDict
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor

from grnf.basis import bell
from grnf.engine import Channels, Coefficients, Engine, Piece, Schedule, theta_slopes
from grnf.engine.rows import place
from grnf.errors import GraphError
from grnf.graphs import GraphBatch, edge_channels
from grnf.law import OrderDraw
from grnf.nn.inputs import Inputs
from grnf.typing import FloatArray, IntArray

__all__ = ["Settings", "feature_sums"]

KEPT = 8
"""Layers whose coefficients are kept in the form that the loops read, until their theta change."""


class Settings(NamedTuple):
    """What is computed, in the words that an operator may take."""

    orders: list[int]
    hidden_channels: int
    code: int
    basis: str
    normalize: bool
    adjacency_channel: bool
    hidden: bool

    def width(self, thetas: list[Tensor]) -> int:
        """Return the number of sums: of features, or of all their hidden channels."""
        if not self.hidden:
            return sum(len(theta) for theta in thetas)
        counts = [bell(k) * len(theta) for k, theta in zip(self.orders, thetas, strict=True)]
        return self.hidden_channels * sum(counts)


def feature_sums(inputs: Inputs, thetas: list[Tensor], settings: Settings) -> Tensor:
    """Return theta_0 + theta_H . U of every graph and feature, one order after the other; double precision.

    With `settings.hidden` it is U of every hidden channel, laid out as in `grnf.law.OrderDraw.invariant`.
    """
    x, arcs, values, batch, n_graphs = inputs
    return _sums(x, arcs, values, batch, thetas, n_graphs, *settings)  # type: ignore[no-any-return]


class _Work:
    """One call: its graphs and its coefficients, as the engine takes them."""

    def __init__(
        self,
        x: Tensor,
        arcs: Tensor,
        values: Tensor,
        batch: Tensor,
        thetas: list[Tensor],
        n_graphs: int,
        settings: Settings,
    ) -> None:
        self.settings, self.thetas, self.node_width = settings, thetas, x.shape[1]
        double = x.dtype == torch.float64
        self.engine = Engine(
            settings.code,
            settings.basis,
            settings.normalize,
            settings.adjacency_channel,
            np.float64 if double else np.float32,
        )
        self.graphs, self.node_order, self.edge_order = _batch(x, arcs, values, batch, n_graphs)
        self.schedule = Schedule(n_jobs=torch.get_num_threads())
        self.pieces = self.schedule.pieces(self.graphs)
        channels = self.node_width + edge_channels(self.graphs.edge_width, settings.adjacency_channel)
        self.groups, self._channels = _kept(thetas, settings, self.engine, channels)

    def channels(self, directed: bool) -> Channels:
        """Return the coefficients for directed or for undirected graphs."""
        if directed not in self._channels:
            self._channels[directed] = self.engine.channels(
                self.groups, self.node_width, directed, self.settings.hidden
            )
        return self._channels[directed]

    def sums(self) -> FloatArray:
        """Return the sums of all graphs."""
        columns = self.channels(True).columns
        out, zeros, ones = (
            np.empty((len(self.graphs), len(columns))),
            np.zeros(len(columns)),
            np.ones(len(columns)),
        )

        def fill(piece: Piece) -> None:
            sums = self.engine.piece_sums(self.graphs, piece, self.channels)
            place(sums, zeros, ones, piece.members, columns, out)

        self.schedule.run([partial(fill, piece) for piece in self.pieces])
        return out

    def slopes(
        self, d: FloatArray, of_x: bool, of_values: bool, of_theta: bool
    ) -> tuple[FloatArray, FloatArray, list[FloatArray]]:
        """Return the derivatives of x, of the values of edges and of theta; empty where not asked for."""
        graphs, columns = self.graphs, self.channels(True).columns
        d_x = np.zeros(graphs.node_attr.shape) if of_x or of_values else None
        d_values = np.zeros(graphs.edge_attr.shape) if of_values else None
        found: list[Any] = [None] * len(self.pieces)  # added up in order: the same bits with the same threads

        def fill(place: int, piece: Piece) -> None:
            found[place] = self.engine.piece_slopes(
                graphs,
                piece,
                self.channels,
                d[piece.members[:, np.newaxis], columns].astype(self.engine.dtype),
                d_node_attr=d_x,
                d_edge_attr=d_values,
                of_coefficients=of_theta,
            )

        self.schedule.run([partial(fill, *task) for task in enumerate(self.pieces)])
        none = np.empty(0)
        return (
            d_x[np.argsort(self.node_order)] if of_x and d_x is not None else none,
            d_values[np.argsort(self.edge_order)] if d_values is not None else none,
            self._theta_slopes(found, d) if of_theta else [none for _ in self.thetas],
        )

    def _theta_slopes(
        self, found: list[tuple[bool, dict[int, Coefficients]]], d: FloatArray
    ) -> list[FloatArray]:
        result = [np.zeros(tuple(theta.shape)) for theta in self.thetas]
        for directed in (False, True):
            parts = [slopes for kind, slopes in found if kind == directed]
            if not parts:
                continue
            total = {}
            for B, first in parts[0].items():
                arrays = zip(*(part[B][:-1] for part in parts), strict=True)
                total[B] = Coefficients(*map(sum, arrays), first.segments)  # type: ignore[call-overload]
                if self.settings.hidden:  # heads are not here
                    total[B].head[:] = 0
            slopes = theta_slopes(
                self.groups, total, node_width=self.node_width, directed=directed, basis=self.settings.basis
            )
            for out, part in zip(result, slopes, strict=True):
                out += part
        if not self.settings.hidden:
            for out, group in zip(result, self.groups, strict=True):
                out[:, -1] += d[:, group.features].sum(axis=0)
        return result


def _batch(
    x: Tensor, arcs: Tensor, values: Tensor, batch: Tensor, n_graphs: int
) -> tuple[GraphBatch, IntArray, IntArray]:
    """Return the graphs as the engine takes them, and the order in which their nodes and arcs stand there."""
    number, ends = batch.cpu().numpy(), arcs.cpu().numpy()
    node_order, edge_order = np.arange(len(number)), np.arange(ends.shape[1])
    if (np.diff(number) < 0).any():
        node_order = np.argsort(number, kind="stable")
        ends, number = np.argsort(node_order)[ends], number[node_order]
    node_ptr = np.searchsorted(number, np.arange(n_graphs + 1))
    graph = number[ends]
    if not np.array_equal(graph[0], graph[1]):
        raise GraphError("edge_index joins nodes of two graphs of the batch")
    if (np.diff(graph[0]) < 0).any():
        edge_order = np.argsort(graph[0], kind="stable")
        ends, graph = ends[:, edge_order], graph[:, edge_order]
    return (
        GraphBatch(
            node_ptr,
            np.searchsorted(graph[0], np.arange(n_graphs + 1)),
            np.ascontiguousarray((ends - node_ptr[graph]).T),
            x.double().cpu().numpy()[node_order],
            values.double().cpu().numpy()[edge_order],
            np.ones(n_graphs, dtype=np.bool_),
        ),
        node_order,
        edge_order,
    )


_cache: OrderedDict[Any, tuple[list[Tensor], tuple[OrderDraw, ...], dict[bool, Channels]]] = OrderedDict()


def _kept(
    thetas: list[Tensor], settings: Settings, engine: Engine, channels: int
) -> tuple[tuple[OrderDraw, ...], dict[bool, Channels]]:
    """Return theta as a draw, and the place of its coefficients: kept as long as theta are the same numbers."""
    key = tuple(theta.data_ptr() for theta in thetas), str(settings), engine.dtype, channels
    known = _cache.get(key)
    if known is not None and all(map(torch.equal, known[0], thetas)):
        return known[1:]
    groups, start = [], 0
    for k, theta in zip(settings.orders, thetas, strict=True):
        features = np.arange(start, start + len(theta))
        start += len(theta)
        groups.append(OrderDraw(k, features, theta.double().cpu().numpy(), channels, settings.hidden_channels))
    _cache[key] = [theta.detach().clone() for theta in thetas], tuple(groups), {}
    while len(_cache) > KEPT:
        _cache.popitem(last=False)
    return _cache[key][1:]


_ARGUMENTS = (
    "Tensor x, Tensor arcs, Tensor values, Tensor batch, Tensor[] thetas, int n_graphs, "
    "int[] orders, int hidden_channels, int code, str basis, bool normalize, bool adjacency_channel, bool hidden"
)


def _forward(
    x: Tensor, arcs: Tensor, values: Tensor, batch: Tensor, thetas: list[Tensor], n_graphs: int, *settings: Any
) -> Tensor:
    work = _Work(x, arcs, values, batch, thetas, n_graphs, Settings(*settings))
    return torch.from_numpy(work.sums()).to(x.device)


def _backward(
    x: Tensor,
    arcs: Tensor,
    values: Tensor,
    batch: Tensor,
    thetas: list[Tensor],
    n_graphs: int,
    *settings_and_wishes: Any,
) -> list[Tensor]:
    *settings, d, of_x, of_values, of_theta = settings_and_wishes
    work = _Work(x, arcs, values, batch, thetas, n_graphs, Settings(*settings))
    d_x, d_values, d_thetas = work.slopes(d.double().cpu().numpy(), of_x, of_values, of_theta)
    like = (x, values, *thetas)
    return [torch.from_numpy(one).to(other) for one, other in zip((d_x, d_values, *d_thetas), like, strict=True)]


_sums = torch.library.custom_op("grnf::sums", _forward, mutates_args=(), schema=f"({_ARGUMENTS}) -> Tensor")
_slopes = torch.library.custom_op(
    "grnf::slopes",
    _backward,
    mutates_args=(),
    schema=f"({_ARGUMENTS}, Tensor d, bool of_x, bool of_values, bool of_theta) -> Tensor[]",
)


@_sums.register_fake
def _shape_of_sums(x, arcs, values, batch, thetas, n_graphs, *settings):  # type: ignore[no-untyped-def]  # noqa: ARG001
    return x.new_empty(n_graphs, Settings(*settings).width(thetas), dtype=torch.float64)


@_slopes.register_fake
def _shapes_of_slopes(x, arcs, values, batch, thetas, *rest):  # type: ignore[no-untyped-def]  # noqa: ARG001
    of_x, of_values, of_theta = rest[-3:]
    wanted = [(x, of_x), (values, of_values), *((theta, of_theta) for theta in thetas)]
    return [torch.empty_like(one) if asked else one.new_empty(0) for one, asked in wanted]


def _keep(ctx, inputs, output):  # type: ignore[no-untyped-def]  # noqa: ARG001
    x, arcs, values, batch, thetas, *ctx.settings = inputs
    ctx.save_for_backward(x, arcs, values, batch, *thetas)


def _chain(ctx, d):  # type: ignore[no-untyped-def]
    x, arcs, values, batch, *thetas = ctx.saved_tensors
    of_x, _, of_values, _, of_thetas = ctx.needs_input_grad[:5]
    wishes = of_x, of_values, any(of_thetas)
    d_x, d_values, *d_thetas = _slopes(x, arcs, values, batch, thetas, *ctx.settings, d, *wishes)
    found = [one if asked else None for one, asked in zip(d_thetas, of_thetas, strict=True)]
    return d_x if of_x else None, None, d_values if of_values else None, None, found, *(None for _ in ctx.settings)


_sums.register_autograd(_chain, setup_context=_keep)
