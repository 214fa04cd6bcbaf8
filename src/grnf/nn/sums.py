"""The sums of all features (before rho_i) as an operator of torch: the engine forward, its derivatives back.

Tensors on any device are copied to the CPU, and the result is copied back. The operator is one node for
`torch.compile`. It keeps its inputs for the way back, and without compilation the statistics of the graphs as
well: rows of hidden channels are made again.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import count
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor, nn

from grnf._utils.running import run
from grnf.activations import ACTIVATIONS
from grnf.basis import bell
from grnf.engine import Channels, Engine, Piece, Schedule, theta_gradients
from grnf.engine.plan import Prepared, place_outputs
from grnf.errors import GraphError
from grnf.graphs import edge_channels
from grnf.law.parameters import OrderDraw, n_head_parameters
from grnf.nn.tensor_graphs import Inputs, as_batch
from grnf.typing import FloatArray, IntArray

Rho = Callable[[FloatArray], FloatArray]

KEPT = 8
"""Layers whose coefficients are kept in the form that the kernels read, until their theta change."""


class Settings(NamedTuple):
    """What is computed, in the words that an operator may take."""

    orders: list[int]
    hidden_channels: int
    activation: str
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


def feature_sums(inputs: Inputs, thetas: list[Tensor], order_of: Tensor, settings: Settings) -> Tensor:
    """Return theta_0 + theta_H . U of every graph and feature, in double precision. `order_of`: k of each.

    With `settings.hidden` it is U of every hidden channel, one order after the other, laid out as in
    `grnf.law.OrderDraw.invariant`.
    """
    x, arcs, values, batch, n_graphs = inputs
    goes_back = torch.is_grad_enabled() and any(one.requires_grad for one in (x, values, *thetas))
    token = next(_tokens) if goes_back and not torch.compiler.is_compiling() else 0
    return _sums(x, arcs, values, batch, order_of, thetas, n_graphs, *settings, token)  # type: ignore[no-any-return]


def frozen_features(
    inputs: Inputs,
    thetas: list[Tensor],
    order_of: Tensor,
    settings: Settings,
    *,
    rho_i: Rho,
    null_sums: Callable[[], Tensor] | None,
    weight: Tensor,
) -> Tensor | None:
    """Return (rho_i(sums) - rho_i(null sums)) * weight in one step, as in `grnf.GRNF`.

    None if torch must see each step: for gradients, for tensors on a device or of another kind, and while
    torch compiles. The sums of the null graph are kept while theta are the same numbers.
    """
    x, arcs, values, batch, n_graphs = inputs
    tensors = (*inputs[:4], order_of, *thetas, weight)
    plain = all(type(one) in (Tensor, nn.Parameter) and one.device.type == "cpu" for one in tensors)
    wanted = torch.is_grad_enabled() and any(one.requires_grad for one in tensors)
    known = weight.dtype in (torch.float32, torch.float64)
    if settings.hidden or wanted or not plain or not known or torch.compiler.is_compiling():
        return None
    arguments = x.detach(), arcs, values.detach(), batch, order_of, thetas, n_graphs, *settings
    factor = weight.detach().double().numpy()
    dtype = np.float32 if weight.dtype == torch.float32 else np.float64
    work = _Work(arguments)
    null: FloatArray = np.zeros(len(factor))
    if null_sums is not None:
        if work.kept.null_sums is None:
            work.kept.null_sums = null_sums().detach().double().numpy()
        null = rho_i(work.kept.null_sums)
    return torch.from_numpy(work.features(rho_i, null, factor, dtype))


class _Work:
    """One call: its graphs and its coefficients, as the engine takes them.

    With `keep`, the statistics of the sums serve for their derivatives.
    """

    def __init__(self, arguments: Sequence[Any], *, keep: bool = False) -> None:
        x, arcs, values, batch, order_of, thetas, n_graphs, *more = arguments
        settings = Settings(*more)
        self.settings, self.thetas, self.node_width = settings, thetas, x.shape[1]
        how = settings.basis, settings.normalize, settings.adjacency_channel
        dtype = np.float64 if x.dtype == torch.float64 else np.float32
        self.engine = Engine(ACTIVATIONS[settings.activation], *how, dtype)
        inputs = Inputs(x, arcs, values, batch, n_graphs)
        self.graphs, self.node_order, self.edge_order = as_batch(inputs)
        self.schedule = Schedule(n_jobs=torch.get_num_threads())
        self.pieces = self.schedule.pieces(self.graphs)
        self.prepared: list[Prepared | None] = [None] * len(self.pieces)
        self.keep = keep
        channels = self.node_width + edge_channels(self.graphs.edge_width, settings.adjacency_channel)
        self.kept = _kept(thetas, order_of, settings, self.engine, channels)

    @property
    def columns(self) -> IntArray:
        """Where the columns of the sums belong, whether graphs are directed or not."""
        made = list(self.kept.channels.values()) or [self.channels(False)]
        return made[0].columns

    def channels(self, directed: bool) -> Channels:
        """Return the coefficients for directed or for undirected graphs."""
        if directed not in self.kept.channels:
            given = self.kept.groups, self.node_width, directed, self.settings.hidden
            self.kept.channels[directed] = self.engine.channels(*given)
        return self.kept.channels[directed]

    def sums(self) -> FloatArray:
        """Return the sums of all graphs."""
        width = self.settings.width(self.thetas)
        return self.features(lambda sums: sums, np.zeros(width), np.ones(width), np.float64)

    def features(self, rho_i: Rho, null: FloatArray, weight: FloatArray, dtype: Any) -> FloatArray:
        """Return (rho_i(sums) - null) * weight of all graphs."""
        out = np.empty((len(self.graphs), self.settings.width(self.thetas)), dtype)

        def fill(place: int, piece: Piece) -> None:
            if self.keep:
                self.prepared[place] = self.engine.prepare(self.graphs, piece)
            sums = self.engine.piece_sums(self.graphs, piece, self.channels, self.prepared[place])
            columns = self.columns
            place_outputs(rho_i, sums, null[columns], weight[columns], piece.members, columns, out)

        run([partial(fill, *task) for task in enumerate(self.pieces)], self.schedule.workers)
        return out

    def gradients(
        self, d: FloatArray, of_x: bool, of_values: bool, of_theta: bool
    ) -> tuple[FloatArray, FloatArray, list[FloatArray]]:
        """Return the derivatives of x, of the values of edges and of theta, empty unless asked for."""
        graphs, columns = self.graphs, self.columns
        d_x = np.zeros(graphs.node_attr.shape) if of_x or of_values else None
        d_values = np.zeros(graphs.edge_attr.shape) if of_values else None
        result: list[Any] = [None] * len(self.pieces)  # added up in order: the same bits with equal threads

        def fill(place: int, piece: Piece) -> None:
            d_sums = d[piece.members[:, np.newaxis], columns].astype(self.engine.dtype)
            result[place] = self.engine.piece_gradients(
                graphs, piece, self.channels, d_sums,
                d_node_attr=d_x, d_edge_attr=d_values, of_coefficients=of_theta,
                prepared=self.prepared[place],
            )  # fmt: skip

        run([partial(fill, *task) for task in enumerate(self.pieces)], self.schedule.workers)
        none = np.empty(0)
        return (
            _back(d_x, self.node_order) if of_x and d_x is not None else none,
            _back(d_values, self.edge_order) if d_values is not None else none,
            self._theta_gradients(result, d) if of_theta else [none for _ in self.thetas],
        )

    def _theta_gradients(self, by_piece: list[Any], d: FloatArray) -> list[FloatArray]:
        result: list[FloatArray] = [np.zeros(theta.shape) for theta in self.thetas]
        for directed in (False, True):
            parts = [gradients for kind, gradients in by_piece if kind == directed]
            for gradients in parts[1:]:
                for B, total in parts[0].items():
                    for out, array in zip(total[:-1], gradients[B][:-1], strict=True):
                        out += array
            if parts:
                shape = {"node_width": self.node_width, "directed": directed}
                all_of = theta_gradients(self.kept.groups, parts[0], **shape, basis=self.settings.basis)
                for out, d_theta in zip(result, all_of, strict=True):
                    out += d_theta
        for out, group in zip(result, self.kept.groups, strict=True):
            if self.settings.hidden:  # heads are not here
                out[:, -n_head_parameters(group.k, group.hidden_channels) :] = 0
            else:
                out[:, -1] += d[:, group.features].sum(axis=0)
        return result


def _back(d: FloatArray, order: IntArray | None) -> FloatArray:
    """Return rows in the order in which they were given."""
    return d if order is None else d[np.argsort(order)]


@dataclass
class _Kept:
    """What depends on the coefficients alone."""

    given: list[Tensor]
    groups: tuple[OrderDraw, ...]
    channels: dict[bool, Channels] = field(default_factory=dict)
    null_sums: FloatArray | None = None


_cache: OrderedDict[Any, _Kept] = OrderedDict()


def _kept(thetas: list[Tensor], order_of: Tensor, settings: Settings, engine: Engine, channels: int) -> _Kept:
    """Return theta as a draw, with what was made of them while they are the same numbers."""
    key = tuple(theta.data_ptr() for theta in thetas), str(settings), engine.dtype, channels
    known = _cache.get(key)
    given = [*thetas, order_of]
    if known is not None and all(map(torch.equal, known.given, given)):
        return known
    groups, order = [], order_of.cpu().numpy()
    for k, theta in zip(settings.orders, thetas, strict=True):
        features = np.flatnonzero(order == k)
        groups.append(
            OrderDraw(k, features, theta.double().cpu().numpy(), channels, settings.hidden_channels)
        )
    _cache[key] = _Kept([one.detach().clone() for one in given], tuple(groups))
    while len(_cache) > KEPT:
        _cache.popitem(last=False)
    return _cache[key]


_ARGUMENTS = (
    "Tensor x, Tensor arcs, Tensor values, Tensor batch, Tensor order_of, Tensor[] thetas, int n_graphs, "
    "int[] orders, int hidden_channels, str activation, str basis, bool normalize, bool adjacency_channel, "
    "bool hidden, int token"
)

_tokens = count(1)
_held: dict[int, _Work] = {}
"""On its way from the operator to the graph of autograd and back: `token` names it, 0 for none."""


def _forward(*arguments: Any) -> Tensor:
    *given, token = arguments
    work = _Work(given, keep=bool(token))
    result = torch.from_numpy(work.sums()).to(given[0].device)
    if token:
        _held[token] = work
    return result


def _backward(*arguments: Any) -> list[Tensor]:
    *given, token, d, of_x, of_values, of_theta = arguments
    work = _held.pop(token, None) or _Work(given)
    d_x, d_values, d_thetas = work.gradients(d.double().cpu().numpy(), of_x, of_values, of_theta)
    result, like = (d_x, d_values, *d_thetas), (given[0], given[2], *given[5])
    return [torch.from_numpy(one).to(other) for one, other in zip(result, like, strict=True)]


_sums = torch.library.custom_op("grnf::sums", _forward, mutates_args=(), schema=f"({_ARGUMENTS}) -> Tensor")
_gradients = torch.library.custom_op(
    "grnf::gradients",
    _backward,
    mutates_args=(),
    schema=f"({_ARGUMENTS}, Tensor d, bool of_x, bool of_values, bool of_theta) -> Tensor[]",
)


@_sums.register_fake
def _shape_of_sums(x, arcs, values, batch, order_of, thetas, n_graphs, *settings):  # type: ignore[no-untyped-def]  # noqa: ARG001
    return x.new_empty(n_graphs, Settings(*settings[:-1]).width(thetas), dtype=torch.float64)


@_gradients.register_fake
def _shapes_of_gradients(x, arcs, values, batch, order_of, thetas, *rest):  # type: ignore[no-untyped-def]  # noqa: ARG001
    of_x, of_values, of_theta = rest[-3:]
    wanted = [(x, of_x), (values, of_values), *((theta, of_theta) for theta in thetas)]
    return [torch.empty_like(one) if asked else one.new_empty(0) for one, asked in wanted]


def _keep(ctx, inputs, output):  # type: ignore[no-untyped-def]  # noqa: ARG001
    x, arcs, values, batch, order_of, thetas, *ctx.settings = inputs
    ctx.work = _held.pop(ctx.settings[-1], None)
    ctx.save_for_backward(x, arcs, values, batch, order_of, *thetas)


def _chain(ctx, d):  # type: ignore[no-untyped-def]
    x, arcs, values, batch, order_of, *thetas = ctx.saved_tensors
    of_x, _, of_values, _, _, of_thetas = ctx.needs_input_grad[:6]
    wishes = of_x, of_values, any(of_thetas)
    if ctx.work is not None:
        _held[ctx.settings[-1]] = ctx.work
    d_x, d_values, *d_thetas = _gradients(x, arcs, values, batch, order_of, thetas, *ctx.settings, d, *wishes)
    result = [one if asked else None for one, asked in zip(d_thetas, of_thetas, strict=True)]
    none = [None for _ in ctx.settings]
    return d_x if of_x else None, None, d_values if of_values else None, None, None, result, *none


def _refuse(ctx, *d):  # type: ignore[no-untyped-def]  # noqa: ARG001
    raise GraphError(
        "the compiled kernels have no second derivatives", cure='Make the layer with path="torch"'
    )


_sums.register_autograd(_chain, setup_context=_keep)
_gradients.register_autograd(_refuse)
