"""z(g): the embedding, plain, bounded-order and weighted by the one formula sqrt(p / (M p-bar))."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from grnf.activations import Activation, get_activation
from grnf.basis import check_basis
from grnf.engine import Engine
from grnf.engine.statistics import edge_channels
from grnf.errors import GraphError
from grnf.graphs import GraphBatch, null_graph
from grnf.law import Draw, ParameterLaw, importance_weights
from grnf.typing import FloatArray

__all__ = ["FeatureMap"]


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
    n_jobs : int, optional
        Threads, as in joblib.
    """

    target: ParameterLaw
    proposal: ParameterLaw
    n_components: int
    seed: int
    hidden_activation: Activation = get_activation("relu")  # noqa: RUF009
    activation: Activation = get_activation("tanh")  # noqa: RUF009
    basis: str = "indicator"
    adjacency_channel: bool = True
    normalize: bool = True
    center: bool = True
    dtype: type[np.floating[Any]] = np.float32
    n_jobs: int | None = None

    def __post_init__(self) -> None:
        check_basis(self.basis)

    def __call__(self, batch: GraphBatch) -> FloatArray:
        """Embed every graph of the batch: shape (n_graphs, M)."""
        Z = np.empty((len(batch), self.n_components), dtype=self.dtype)
        channels = batch.node_width + edge_channels(batch.edge_width, self.adjacency_channel)
        for draw in self.proposal.chunks(self.n_components, channels=channels, seed=self.seed):
            Z[:, draw.start : draw.start + len(draw)] = self.features(batch, draw)
        return Z

    def features(self, batch: GraphBatch, draw: Draw) -> FloatArray:
        """Return the columns of z that belong to one stretch of features."""
        weight = np.sqrt(importance_weights(self.target, self.proposal, draw) / self.n_components)
        psi = self._psi(batch, draw)
        if self.center:
            null = GraphBatch.from_graphs([null_graph(batch.node_width, batch.edge_width)])
            psi -= self._psi(null, draw)
        return psi * weight

    def _psi(self, batch: GraphBatch, draw: Draw) -> FloatArray:
        engine = Engine(
            hidden_code=self.hidden_activation.code,
            basis=self.basis,
            normalize=self.normalize,
            adjacency_channel=self.adjacency_channel,
            dtype=self.dtype,
            n_jobs=self.n_jobs,
        )
        sums = engine.hidden_sums(batch, draw)
        if not np.isfinite(sums).all():
            graph = int(np.flatnonzero(~np.isfinite(sums).all(axis=1))[0])
            raise GraphError(
                f"graph {graph}: its features overflow {np.dtype(self.dtype).name}; "
                "scale the attributes, or use dtype='float64' or normalize=True"
            )
        return self.activation(sums)

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
