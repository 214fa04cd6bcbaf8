"""z(g): what is computed, a `FeatureMap`, and how, an `Embedder` with a `Schedule`."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import partial
from itertools import pairwise
from typing import Any

import numpy as np

from grnf._utils.running import no_progress, progress, run
from grnf.activations import Activation, get_activation
from grnf.engine import Channels, Engine, Piece, Schedule
from grnf.engine.costs import SAMPLED_GRAPHS, estimated_seconds
from grnf.engine.plan import place, place_outputs
from grnf.engine.schedule import MOST_CATEGORIES
from grnf.errors import GraphError, invalid
from grnf.features.hidden import HiddenGroup, HiddenSums
from grnf.graphs import GraphBatch
from grnf.law import ParameterLaw, importance_weights
from grnf.law.distributions import scales_of
from grnf.law.parameters import Draw
from grnf.law.weights import hidden_weights, largest_ratio, proposal_sample_size
from grnf.typing import FloatArray, IntArray, Keys

ALONE = Piece(np.zeros(1, np.int64), False)
"""The only graph of a batch."""


@dataclass(frozen=True, eq=False)
class FeatureMap:
    """z(g) = [ sqrt(p(w_m) / (M p-bar(w_m))) psi(g; w_m) ] for m = 1 .. M, with w_m drawn from p-bar.

    |z(g1) - z(g2)|^2 is an unbiased estimate of d_P(g1, g2)^2 (restricted to the support of p-bar), and with
    `center`, z(g1) . z(g2) of kappa_P(g1, g2). With p-bar = p it is the plain map, with p-bar = p given k in
    K the bounded-order map. `grnf.features.Embedder` computes it.

    `target` is P, whose distance is meant, `proposal` is P-bar. `n_components` is M, and `seed` defines the
    sequence w_1, w_2, ... `hidden_activation` and `activation` are rho_e and rho_i. With R `heads`, the M
    features are M / R hidden draws (k, theta_F), each with R heads (theta_H, theta_0). `chosen` are numbers
    of the hidden draws to use, ascending, by default the first ones. `weights` are squared weights of the
    features instead of p / (M p-bar): a distribution fitted to a task.
    """

    target: ParameterLaw
    proposal: ParameterLaw
    n_components: int
    seed: int
    hidden_activation: Activation = field(default_factory=lambda: get_activation("relu"))
    activation: Activation = field(default_factory=lambda: get_activation("tanh"))
    basis: str = "indicator"
    adjacency_channel: bool = True
    normalize: bool = True
    center: bool = True
    dtype: type[np.floating[Any]] = np.float32
    heads: int = 1
    chosen: IntArray | None = None
    weights: FloatArray | None = None

    def __post_init__(self) -> None:
        if self.n_components % self.heads:
            requirement = "be a multiple of heads, so that every hidden sample has all its heads"
            found = f"n_components={self.n_components} and heads={self.heads}"
            raise invalid("n_components", requirement, found)

    @property
    def n_hidden(self) -> int:
        """M / R, the number of hidden draws: of independent terms in an estimate."""
        return self.n_components // self.heads

    @property
    def engine(self) -> Engine:
        """The settings of the kernels."""
        return Engine(self.hidden_activation, self.basis, self.normalize, self.adjacency_channel, self.dtype)

    def hidden_orders(self) -> IntArray:
        """Return the order k of each hidden draw."""
        if self.chosen is None:
            return self.proposal.orders_of(self.n_hidden, seed=self.seed)
        return self.proposal.orders_of(int(self.chosen[-1]) + 1, seed=self.seed)[self.chosen]

    def draw(self, channels: Keys, start: int = 0, size: int | None = None) -> Draw:
        """Return the hidden draws start .. start + size - 1, with all their heads, by default all of them.

        `channels` are the keys of the channels of the tensors.
        """
        stop = self.n_hidden if size is None else start + size
        chosen = np.arange(start, stop) if self.chosen is None else self.chosen[start:stop]
        return self.proposal.select(chosen, channels=channels, seed=self.seed, start=start, heads=self.heads)

    def squared_weights(self, draw: Draw) -> FloatArray:
        """Return the squared weights of drawn features: p / (M p-bar), or those of a fitted law."""
        if self.weights is not None:
            return self.weights[draw.start : draw.start + len(draw)]
        if self.target is self.proposal:  # the plain map
            return np.full(self.heads * len(draw), 1 / self.n_components)
        return importance_weights(self.target, self.proposal, draw) / self.n_components


@dataclass
class Embedder:
    """Graphs in, vectors out: computes a map within a schedule of memory and threads."""

    map: FeatureMap
    schedule: Schedule = field(default_factory=Schedule)
    _kept: Chunk | None = field(default=None, init=False, repr=False, compare=False)

    def __call__(self, batch: GraphBatch) -> FloatArray:
        """Embed every graph of the batch: shape (n_graphs, M).

        With many graphs the workers share the graphs, with few they share the features. If there are too
        many categories to hold all their coefficients, graphs are embedded in parts, each with the
        categories that occur in it.
        """
        parts = self.schedule.by_categories(batch)
        if parts is not None:
            return self._in_parts(batch, parts)
        batch, Z = self._with_kept_keys(batch), np.empty((len(batch), self.map.n_components), self.map.dtype)
        schedule, M = self.schedule, self.map.n_components
        pieces = schedule.pieces(batch)
        share_features = len(pieces) < schedule.workers
        width, at_least = len(batch.channels(self.map.adjacency_channel)), schedule.workers
        chunks = self._chunks(width, len(batch), at_least=at_least if share_features else 1)
        self._warn_if_long(batch)
        with progress(len(batch) * M, f"embedding {len(batch)} graphs") as advance:

            def fill(piece: Piece, chunk: Chunk) -> None:
                chunk.place_features(batch, piece, Z[:, chunk.columns])
                advance(len(piece.members) * (chunk.columns.stop - chunk.columns.start))

            def fill_all(start: int, size: int) -> None:
                chunk = self._chunk(start, size, batch)
                for piece in pieces:
                    fill(piece, chunk)

            if share_features:
                run([partial(fill_all, *chunk) for chunk in chunks], schedule.workers)
            else:
                for start, size in chunks:
                    chunk = self._chunk(start, size, batch)
                    run([partial(fill, piece, chunk) for piece in pieces], schedule.workers)
        return Z

    def _in_parts(self, batch: GraphBatch, parts: list[IntArray]) -> FloatArray:
        """Embed graphs some at a time, with those categories alone that occur in them."""
        Z = np.empty((len(batch), self.map.n_components), dtype=self.map.dtype)
        self._warn_if_long(batch)
        own = Schedule(self.schedule.max_memory // self.schedule.workers)
        with progress(len(batch), f"embedding {len(batch)} graphs") as advance, no_progress():

            def fill(members: IntArray) -> None:
                try:
                    Z[members] = Embedder(self.map, own)(batch.take(members).with_used_codes())
                except GraphError as error:
                    at = None if error.index is None else int(members[error.index])
                    raise error.located(index=at) from None
                advance(len(members))

            run([partial(fill, members) for members in parts], self.schedule.workers)
        return Z

    def hidden_sums(self, batch: GraphBatch, with_graphs: int = 0) -> Iterator[HiddenSums]:
        """Yield the hidden sums of all graphs, some hidden draws at a time, within the memory.

        With the hidden sums of so many graphs `with_graphs`, they come in the same chunks as those.
        """
        pieces = self.schedule.pieces(batch)
        self._warn_if_long(batch)
        channels = len(batch.channels(self.map.adjacency_channel))
        for start, size in self._chunks(channels, len(batch) + with_graphs, keep_hidden=True):
            yield self._chunk(start, size, batch).hidden_sums(batch, pieces, self.schedule)

    def effective_sample_size(self, channels: Keys) -> float:
        """Return how many features of equal weight are worth as much as these M under importance sampling."""
        of = self.map
        if of.target is of.proposal:
            return float(of.n_components)

        def draws() -> Iterator[Draw]:
            return (of.draw(channels, *chunk) for chunk in self._chunks(len(channels), 1))

        orders = np.repeat(of.proposal.orders_of(of.n_hidden, seed=of.seed), of.heads)
        return proposal_sample_size(of.target, of.proposal, draws, orders)

    def _chunks(self, channels: int, n_graphs: int, **needs: Any) -> list[tuple[int, int]]:
        of = self.map
        needs = {"seed": of.seed, "channels": channels, "heads": of.heads, "n_graphs": n_graphs, **needs}
        return self.schedule.chunks(of.proposal, of.n_hidden, **needs)

    def _chunk(self, start: int, size: int, batch: GraphBatch) -> Chunk:
        """Draw a chunk of features. One that holds them all is kept for the next call."""
        if size < self.map.n_hidden:
            return Chunk(self.map, start, size, batch)
        kept = self._kept
        if kept is None or not kept.is_for(batch):
            kept = self._kept = Chunk(self.map, start, size, batch)
        return kept

    def _with_kept_keys(self, batch: GraphBatch) -> GraphBatch:
        """Add the categories of earlier calls, so that their coefficients need not be drawn again.

        Categories are sorted by key, so those that a graph does not have do not change its vector.
        """
        if self._kept is None:
            return batch
        node, edge = self._kept.category_keys
        if len(node) + len(edge) > MOST_CATEGORIES:
            return batch
        return batch.with_codes_among(node, edge)

    def _warn_if_long(self, batch: GraphBatch) -> None:
        of = self.map
        self.schedule.warn_if_long(batch, of.proposal, of.n_hidden, seed=of.seed, linear=of.engine.linear)

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_kept": None}


class Chunk:
    """The hidden draws start .. start + size - 1 of a map, for the channels that a batch has."""

    def __init__(self, of: FeatureMap, start: int, size: int, batch: GraphBatch) -> None:
        self.map, self.keys = of, batch.channels(of.adjacency_channel)
        self.category_keys = batch.node_codes.keys, batch.edge_codes.keys
        self._null_graph = batch.null()
        self.draw = of.draw(self.keys.all, start, size)
        self.columns = slice(of.heads * start, of.heads * (start + size))
        self._channels: dict[tuple[bool, bool], Channels] = {}
        self._null: FloatArray = np.zeros(of.heads * size)
        self._weight: FloatArray = np.ones(of.heads * size)  # for now: plain psi
        if of.center:
            sums, columns = self._sums(self._null_graph, ALONE, hidden=of.heads > 1)
            self._null[self._places(columns)] = self._outputs(sums, columns)[0]
        self._weight = np.sqrt(of.squared_weights(self.draw))

    def is_for(self, batch: GraphBatch) -> bool:
        """Whether these are the channels of the graphs."""
        return all(map(np.array_equal, self.keys, batch.channels(self.map.adjacency_channel)))

    def place_features(self, batch: GraphBatch, piece: Piece, out: FloatArray) -> None:
        """Write the columns of z that belong to these features, for the graphs of a piece, to their rows."""
        sums, columns = self._sums(batch, piece, hidden=self.map.heads > 1)
        places, outputs = self._places(columns), partial(self._outputs, columns=columns)
        place_outputs(outputs, sums, self._null[places], self._weight[places], piece.members, places, out)

    def _places(self, columns: IntArray) -> IntArray:
        """Return which feature each column of the outputs belongs to."""
        return columns if self.map.heads == 1 else np.arange(len(self._weight))

    def _outputs(self, sums: FloatArray, columns: IntArray) -> FloatArray:
        """Return psi of each graph."""
        through = sums if self.map.heads == 1 else self._through_heads(sums, columns)
        return self.map.activation.function(through)

    def hidden_sums(self, batch: GraphBatch, pieces: list[Piece], schedule: Schedule) -> HiddenSums:
        """Return what the heads multiply, for all graphs."""
        rows = np.empty((1 + len(batch), sum(group.invariant.size for group in self.draw.groups)))
        null, sums = rows[0], rows[1:]
        self._place_hidden(self._null_graph, ALONE, rows[:1])
        run([partial(self._place_hidden, batch, piece, sums) for piece in pieces], schedule.workers)
        groups, start = [], 0
        for group in self.draw.groups:
            m, width = len(group.features), group.invariant[0].size
            cut = slice(start, start + m * width)
            U = sums[:, cut].reshape(len(sums), m, width)
            groups.append(HiddenGroup(group.k, group.features, U, null[cut].reshape(m, width)))
            start += m * width
        target, proposal = self.map.target, self.map.proposal
        scales = list(scales_of(target.coefficients) or [])
        return HiddenSums(
            tuple(groups),
            hidden_weights(target, proposal, self.draw),
            scales[0] if len(scales) == 1 else math.nan,
            largest_ratio(target, proposal),
        )

    def _place_hidden(self, batch: GraphBatch, piece: Piece, out: FloatArray) -> None:
        """Write the hidden sums, in the layout of `engine.hidden_channels`, to the graphs' rows."""
        sums, columns = self._sums(batch, piece, hidden=True)
        place(sums, np.zeros(len(columns)), np.ones(len(columns)), piece.members, columns, out)

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
                self._channels[key] = engine.channels(self.draw.groups, len(self.keys.node), directed, hidden)
            return self._channels[key]

        sums = engine.piece_sums(batch, piece, channels)
        finite = np.isfinite(sums).all(axis=1)
        if not finite.all():
            raise GraphError(
                f"its features overflow {np.dtype(engine.dtype).name}",
                index=int(piece.members[finite.argmin()]),
                cure="Scale the attributes, or use dtype='float64' or normalize=True",
            )
        return sums, next(iter(self._channels[key].columns for key in self._channels if key[1] == hidden))


def affordable_orders(features: FeatureMap, batch: GraphBatch, seconds: float) -> list[int] | None:
    """Return the orders 1 .. k that the features of a graph may have to take at most `seconds`.

    By the estimate for one thread, on the mean over the graphs of the batch. The lowest order is always kept.
    None if all orders that are drawn can be afforded.
    """
    drawn = np.unique(features.hidden_orders()).tolist()
    for last, more in pairwise(drawn):
        kept = [k for k in range(1, more + 1) if features.proposal.orders.probability(k) > 0]
        orders = features.proposal.restricted_to(kept).orders_of(features.n_hidden, seed=features.seed)
        linear, width = features.engine.linear, features.proposal.hidden_channels
        cost = estimated_seconds(batch, orders, width, linear, SAMPLED_GRAPHS)
        if cost > seconds * max(len(batch), 1):
            return [k for k in kept if k <= last]
    return None
