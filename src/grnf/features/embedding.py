"""z(g): the embedding, plain, bounded-order and weighted by the one formula sqrt(p / (M p-bar))."""

from __future__ import annotations

import math
import warnings
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np

from grnf.activations import Activation, get_activation
from grnf.basis import bell, check_basis
from grnf.engine import Engine, Piece, estimated_seconds, pieces
from grnf.engine.plan import LARGEST_PIECE
from grnf.engine.statistics import edge_channels
from grnf.errors import CostWarning
from grnf.features.hidden import HiddenGroup, HiddenSums
from grnf.features.stretch import Stretch
from grnf.features.workers import n_workers, run
from grnf.graphs import GraphBatch
from grnf.law import Draw, ParameterLaw, effective_sample_size, hidden_weights, importance_weights
from grnf.progress import progress
from grnf.typing import FloatArray, IntArray

__all__ = ["FeatureMap"]

COEFFICIENT_BYTES = 128
"""Memory that a drawn coefficient takes at its peak, on its way from the draw to the engine."""

LONG = 600.0
"""Seconds of estimated work from which a warning comes first."""


@dataclass(frozen=True)
class FeatureMap:
    """z(g) = [ sqrt(p(w_m) / (M p-bar(w_m))) psi(g; w_m) ] for m = 1 .. M, with w_m drawn from p-bar.

    |z(g1) - z(g2)|^2 is an unbiased estimate of d_P(g1, g2)^2 (restricted to the support of p-bar), and with
    `center`, z(g1) . z(g2) of kappa_P(g1, g2).

    Parameters
    ----------
    target, proposal : ParameterLaw
        P, whose distance is meant, and P-bar, from which features are drawn.
    n_components : int
        M, the length of z.
    seed : int
        Defines the sequence w_1, w_2, ...
    hidden_activation, activation : Activation
        rho_e and rho_i.
    basis : "indicator" or "overlapping"
    adjacency_channel, normalize, center : bool
    dtype : numpy floating type
        Of the arithmetic and of the result.
    max_memory : int
        Bytes that may be used beside the graphs and their vectors.
    n_jobs : int, optional
        Threads, as in joblib.
    heads : int, default=1
        R: the M features are M / R hidden draws (k, theta_F), each with R heads (theta_H, theta_0).
    chosen : array of int, optional
        Which of the infinite sequence of hidden draws to use, ascending; by default the first ones.
    weights : array, shape (M,), optional
        Squared weights of the features, in place of p / (M p-bar): a fitted law on the chosen features.
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
    max_memory: int = 2**30
    n_jobs: int | None = None
    heads: int = 1
    chosen: IntArray | None = None
    weights: FloatArray | None = None

    def __post_init__(self) -> None:
        check_basis(self.basis)
        n_workers(self.n_jobs)
        if self.n_components % self.heads:
            raise ValueError(
                f"n_components must be a multiple of heads, so that every hidden draw has all its heads; "
                f"got n_components={self.n_components} and heads={self.heads}"
            )

    @property
    def n_hidden(self) -> int:
        """M / R, the number of hidden draws: of independent terms in an estimate."""
        return self.n_components // self.heads

    @property
    def engine(self) -> Engine:
        """How hidden sums are computed."""
        return Engine(
            self.hidden_activation.code, self.basis, self.normalize, self.adjacency_channel, self.dtype
        )

    def __call__(self, batch: GraphBatch) -> FloatArray:
        """Embed every graph of the batch: shape (n_graphs, M).

        With many graphs the workers share the graphs, with few they share the features.
        """
        Z = np.empty((len(batch), self.n_components), dtype=self.dtype)
        workers = n_workers(self.n_jobs)
        parts = pieces(batch, workers)
        share_features = len(parts) < workers
        stretches = self._stretches(batch, workers if share_features else 1)
        self._warn_if_long(batch, workers)
        with progress(len(batch) * self.n_components, f"embedding {len(batch)} graphs") as advance:

            def fill(piece: Piece, stretch: Stretch) -> None:
                first, size = self.heads * stretch.draw.start, self.heads * len(stretch.draw)
                stretch.place_features(batch, piece, Z[:, first : first + size])
                advance(len(piece.members) * size)

            def fill_all(start: int, size: int) -> None:
                stretch = self._stretch(start, size, batch).prepared_for(parts)
                for piece in parts:
                    fill(piece, stretch)

            if share_features:
                run([partial(fill_all, *stretch) for stretch in stretches], workers)
            else:
                for start, size in stretches:
                    stretch = self._stretch(start, size, batch).prepared_for(parts)
                    run([partial(fill, piece, stretch) for piece in parts], workers)
        return Z

    def hidden_sums(self, batch: GraphBatch, beside: int = 0) -> Iterator[HiddenSums]:
        """Yield the hidden sums of all graphs, some hidden draws at a time, within `max_memory`.

        With the hidden sums of so many graphs `beside`, they come in the same stretches as those.
        """
        n_graphs = len(batch) + beside
        workers, parts = n_workers(self.n_jobs), pieces(batch, n_workers(self.n_jobs))
        self._warn_if_long(batch, workers)
        most = self.max_memory // (32 * self._width * n_graphs)
        for start, size in self._stretches(batch, 1, n_graphs, most):
            stretch = self._stretch(start, size, batch).prepared_for(parts, hidden=True)
            null = stretch.null_hidden_sums()
            sums = np.empty((len(batch), len(null)))

            def fill(piece: Piece, stretch: Stretch = stretch, sums: FloatArray = sums) -> None:
                stretch.place_hidden_sums(batch, piece, sums)

            run([partial(fill, piece) for piece in parts], workers)
            yield self._split(stretch.draw, sums, null)

    def squared_weights(self, draw: Draw) -> FloatArray:
        """Return the squared weights of drawn features: p / (M p-bar), or those of a fitted law."""
        if self.weights is not None:
            return self.weights[draw.start : draw.start + len(draw)]
        return importance_weights(self.target, self.proposal, draw) / self.n_components

    def effective_sample_size(self, channels: int) -> float:
        """Return how many features of equal weight are worth as much as these M under importance sampling."""
        target, proposal = self.target, self.proposal
        if target.coefficients == proposal.coefficients:
            orders, counts = np.unique(proposal.orders_of(self.n_hidden, seed=self.seed), return_counts=True)
            ratio = [target.orders.probability(int(k)) / proposal.orders.probability(int(k)) for k in orders]
            return effective_sample_size(np.repeat(ratio, self.heads * counts))
        settings: dict[str, Any] = {"channels": channels, "seed": self.seed, "heads": self.heads}
        most = self.max_memory // (2 * COEFFICIENT_BYTES)
        stretches = proposal.stretches(self.n_hidden, **settings, max_coefficients=most)
        draws = (proposal.sample(size, start=start, **settings) for start, size in stretches)
        return effective_sample_size(
            np.concatenate([importance_weights(target, proposal, draw) for draw in draws])
        )

    def _split(self, draw: Draw, sums: FloatArray, null: FloatArray) -> HiddenSums:
        """Cut hidden sums, laid out as `Engine.hidden_channels` says, into the groups of the draw."""
        target, proposal = self.target, self.proposal
        groups, start = [], 0
        for group in draw.groups:
            m, width = len(group.features), group.invariant[0].size
            cut = slice(start, start + m * width)
            U = sums[:, cut].reshape(len(sums), m, width)
            groups.append(HiddenGroup(group.k, group.features, U, null[cut].reshape(m, width)))
            start += m * width
        return HiddenSums(
            tuple(groups),
            hidden_weights(target, proposal, draw),
            next(iter(target.coefficients.probabilities))
            if not target.coefficients.random_scale
            else math.nan,
            self.largest_weight(),
        )

    def largest_weight(self) -> float:
        """Bound p / p-bar over all features that can be drawn; infinite if no bound is known."""
        target, proposal = self.target.orders, self.proposal.orders
        drawn = [k for k in range(1, 64) if proposal.probability(k) > 0]
        orders = max(target.probability(k) / proposal.probability(k) for k in drawn)
        return orders * self.proposal.coefficients.largest_ratio(self.target.coefficients)

    @property
    def _width(self) -> int:
        """Hidden channels of a feature, on average, rounded up."""
        sample = self.proposal.orders_of(min(self.n_hidden, 1024), seed=self.seed)
        return math.ceil(self.proposal.hidden_channels * np.mean([bell(int(k)) for k in sample]))

    def _stretches(
        self, batch: GraphBatch, at_least: int, n_graphs: int | None = None, most: int | None = None
    ) -> list[tuple[int, int]]:
        """Cut the hidden draws so that the coefficients, and the sums of a piece, keep within the memory."""
        entries = 1 if self.heads == 1 else self.heads + self._width
        n_rows = min(n_graphs or len(batch), LARGEST_PIECE)
        most_features = max(64, self.max_memory // (4 * 16 * entries * n_rows))
        if most is not None:
            most_features = max(64, min(most_features, most))
        if at_least > 1:
            most_features = min(most_features, max(64, -(-self.n_hidden // at_least)))
        return self.proposal.stretches(
            self.n_hidden,
            channels=self._channels(batch),
            seed=self.seed,
            max_coefficients=self.max_memory // (2 * COEFFICIENT_BYTES * at_least),
            max_features=most_features,
            heads=self.heads,
        )

    def _stretch(self, start: int, size: int, batch: GraphBatch) -> Stretch:
        """Draw a stretch of features; one that holds them all is kept for the next call."""
        key = (batch.node_width, batch.edge_width)
        kept = self.__dict__.get("_kept")
        if kept is not None and kept[0] == key and size == self.n_hidden:
            return kept[1]  # type: ignore[no-any-return]
        chosen = np.arange(start, start + size) if self.chosen is None else self.chosen[start : start + size]
        settings = {"channels": self._channels(batch), "seed": self.seed, "heads": self.heads}
        draw = self.proposal.select(chosen, start=start, **settings)
        stretch = Stretch(self, draw, batch.node_width, batch.edge_width)
        if size == self.n_hidden:
            self.__dict__["_kept"] = (key, stretch)
        return stretch

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in self.__dict__.items() if name != "_kept"}

    def _channels(self, batch: GraphBatch) -> int:
        return batch.node_width + edge_channels(batch.edge_width, self.adjacency_channel)

    def _warn_if_long(self, batch: GraphBatch, workers: int) -> None:
        sample = self.proposal.orders_of(min(self.n_hidden, 4096), seed=self.seed)
        seconds = estimated_seconds(batch, sample, self.proposal.hidden_channels, self.hidden_activation.code)
        seconds *= self.n_hidden / len(sample) / workers
        if seconds > LONG:
            warnings.warn(
                f"this will take about {_spelled(seconds)}: order {sample.max()} on graphs of up to "
                f"{batch.sizes.max()} nodes. Fewer orders, drawn as proposal=law.restricted_to({{1, 2}}), "
                "smaller graphs or fewer components take less",
                CostWarning,
                stacklevel=4,
            )

    def guarantee(self, edge_width: int) -> tuple[bool, str]:
        """Whether d_P is a metric on graphs by Theorem 1, and why (not)."""
        if not self.hidden_activation.squashing:
            return False, (
                f"the hidden activation {self.hidden_activation.name} is not squashing; ramp and sigmoid are"
            )
        for name, law in (("target", self.target), ("proposal", self.proposal)):
            if not law.full_support:
                return False, (
                    f"the {name} law {law.orders!r} does not reach every order k; ShiftedPoisson does. "
                    "Graphs that differ only in larger patterns are at distance 0"
                )
        if edge_width and not self.adjacency_channel:
            return False, "without the adjacency channel an edge whose attributes are 0 is no edge"
        return True, (
            f"the law has full support, {self.hidden_activation.name} is squashing and continuous, "
            f"{self.activation.name} continuous and not constant: d_P is a metric (Theorem 1)"
        )


def _spelled(seconds: float) -> str:
    """Return a duration in the unit that a person would use."""
    for unit, length in (("days", 86400.0), ("hours", 3600.0), ("minutes", 60.0)):
        if seconds >= 2 * length:
            return f"{seconds / length:.0f} {unit}"
    return f"{seconds:.0f} seconds"
