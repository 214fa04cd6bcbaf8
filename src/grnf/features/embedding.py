"""z(g): the embedding, plain, bounded-order and weighted by the one formula sqrt(p / (M p-bar))."""

from __future__ import annotations

import warnings
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Self

import numpy as np

from grnf.activations import Activation, get_activation
from grnf.basis import check_basis
from grnf.engine import Channels, Engine, Piece, estimated_seconds, pieces
from grnf.engine.rows import place_rows
from grnf.engine.statistics import edge_channels
from grnf.errors import CostWarning, GraphError
from grnf.features.workers import n_workers, run
from grnf.graphs import GraphBatch, null_graph
from grnf.law import Draw, ParameterLaw, importance_weights
from grnf.progress import progress
from grnf.typing import FloatArray

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
        M.
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

    def __post_init__(self) -> None:
        check_basis(self.basis)
        n_workers(self.n_jobs)

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

            def fill(piece: Piece, stretch: _Stretch) -> None:
                columns = slice(stretch.draw.start, stretch.draw.start + len(stretch.draw))
                place_rows(stretch.features(batch, piece), piece.members, Z[:, columns])
                advance(len(piece.members) * len(stretch.draw))

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

    def _stretches(self, batch: GraphBatch, at_least: int) -> list[tuple[int, int]]:
        """Cut the features so that the coefficients, and the sums of a piece, keep within the memory."""
        most_features = max(64, self.max_memory // (4 * 16 * min(len(batch), 512)))
        if at_least > 1:
            most_features = min(most_features, max(64, -(-self.n_components // at_least)))
        return self.proposal.stretches(
            self.n_components,
            channels=self._channels(batch),
            seed=self.seed,
            max_coefficients=self.max_memory // (2 * COEFFICIENT_BYTES * at_least),
            max_features=most_features,
        )

    def _stretch(self, start: int, size: int, batch: GraphBatch) -> _Stretch:
        """Draw a stretch of features; one that holds them all is kept for the next call."""
        key = (batch.node_width, batch.edge_width)
        kept = self.__dict__.get("_kept")
        if kept is not None and kept[0] == key and size == self.n_components:
            return kept[1]  # type: ignore[no-any-return]
        draw = self.proposal.sample(size, channels=self._channels(batch), seed=self.seed, start=start)
        stretch = _Stretch(self, draw, batch.node_width, batch.edge_width)
        if size == self.n_components:
            self.__dict__["_kept"] = (key, stretch)
        return stretch

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in self.__dict__.items() if name != "_kept"}

    def _channels(self, batch: GraphBatch) -> int:
        return batch.node_width + edge_channels(batch.edge_width, self.adjacency_channel)

    def _warn_if_long(self, batch: GraphBatch, workers: int) -> None:
        sample = self.proposal.orders_of(min(self.n_components, 4096), seed=self.seed)
        seconds = estimated_seconds(batch, sample, self.proposal.hidden_channels, self.hidden_activation.code)
        seconds *= self.n_components / len(sample) / workers
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


class _Stretch:
    """Some of the features w_1 .. w_M, ready to be evaluated on pieces of a batch."""

    def __init__(self, owner: FeatureMap, draw: Draw, node_width: int, edge_width: int) -> None:
        self.draw = draw
        self.activation, self.engine = owner.activation, owner.engine
        weights = importance_weights(owner.target, owner.proposal, draw)
        self.weight = np.sqrt(weights / owner.n_components)
        self.node_width = node_width
        self.by_direction: dict[bool, Channels] = {}
        self.null: FloatArray | float = 0.0
        if owner.center:
            null = GraphBatch.from_graphs([null_graph(node_width, edge_width)])
            self.null = self._psi(null, pieces(null)[0])

    def prepared_for(self, parts: list[Piece]) -> Self:
        """Bring the parameters into shape before threads ask for them."""
        for directed in {piece.directed for piece in parts}:
            self._channels(directed)
        return self

    def features(self, batch: GraphBatch, piece: Piece) -> FloatArray:
        """Return the columns of z that belong to these features, for the graphs of a piece, in float64.

        Saturated features differ from the null graph's by little: that little is lost if rho_i is rounded.
        """
        return (self._psi(batch, piece) - self.null) * self.weight

    def _psi(self, batch: GraphBatch, piece: Piece) -> FloatArray:
        sums = self.engine.piece_sums(batch, piece, self._channels(piece.directed))
        finite = np.isfinite(sums).all(axis=1)
        if not finite.all():
            graph = piece.members[np.flatnonzero(~finite)].min()
            raise GraphError(
                f"graph {graph}: its features overflow {np.dtype(self.engine.dtype).name}; "
                "scale the attributes, or use dtype='float64' or normalize=True"
            )
        return self.activation(sums)

    def _channels(self, directed: bool) -> Channels:
        if directed not in self.by_direction:
            self.by_direction[directed] = self.engine.channels(self.draw, self.node_width, directed)
        return self.by_direction[directed]


def _spelled(seconds: float) -> str:
    """Return a duration in the unit that a person would use."""
    for unit, length in (("days", 86400.0), ("hours", 3600.0), ("minutes", 60.0)):
        if seconds >= 2 * length:
            return f"{seconds / length:.0f} {unit}"
    return f"{seconds:.0f} seconds"
