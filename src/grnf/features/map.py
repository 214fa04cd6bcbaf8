"""z(g) as a value: what is computed, and nothing about how."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from grnf.activations import Activation, get_activation
from grnf.basis import check_basis
from grnf.engine import Engine
from grnf.graphs import edge_channels
from grnf.law import Draw, ParameterLaw, importance_weights
from grnf.typing import FloatArray, IntArray

__all__ = ["FeatureMap"]


@dataclass(frozen=True, eq=False)
class FeatureMap:
    """z(g) = [ sqrt(p(w_m) / (M p-bar(w_m))) psi(g; w_m) ] for m = 1 .. M, with w_m drawn from p-bar.

    |z(g1) - z(g2)|^2 is an unbiased estimate of d_P(g1, g2)^2 (restricted to the support of p-bar), and with
    `center`, z(g1) . z(g2) of kappa_P(g1, g2). With p-bar = p it is the plain map, with p-bar = p given k in
    K the bounded-order map. `grnf.features.Embedder` computes it.

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
    heads: int = 1
    chosen: IntArray | None = None
    weights: FloatArray | None = None

    def __post_init__(self) -> None:
        check_basis(self.basis)
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
        """What the loops must know."""
        return Engine(
            self.hidden_activation.code, self.basis, self.normalize, self.adjacency_channel, self.dtype
        )

    def channels(self, node_width: int, edge_width: int) -> int:
        """F, the number of channels of the tensors of graphs with so many attributes."""
        return node_width + edge_channels(edge_width, self.adjacency_channel)

    def hidden_orders(self) -> IntArray:
        """Return the order k of each hidden draw."""
        if self.chosen is None:
            return self.proposal.orders_of(self.n_hidden, seed=self.seed)
        return self.proposal.orders_of(int(self.chosen[-1]) + 1, seed=self.seed)[self.chosen]

    def draw(self, channels: int, start: int = 0, size: int | None = None) -> Draw:
        """Return the hidden draws start .. start + size - 1, with all their heads; by default all of them."""
        stop = self.n_hidden if size is None else start + size
        chosen = np.arange(start, stop) if self.chosen is None else self.chosen[start:stop]
        return self.proposal.select(chosen, channels=channels, seed=self.seed, start=start, heads=self.heads)

    def squared_weights(self, draw: Draw) -> FloatArray:
        """Return the squared weights of drawn features: p / (M p-bar), or those of a fitted law."""
        if self.weights is not None:
            return self.weights[draw.start : draw.start + len(draw)]
        return importance_weights(self.target, self.proposal, draw) / self.n_components
