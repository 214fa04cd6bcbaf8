"""The features of the authors' code at the time of the paper (v0.1.0), as laws of this library.

That code differs from the definition in four ways. It has the overlapping basis; its identity and
transposition terms at order 2 are always 0; it divides what stands on the diagonal by n too, though nothing
is summed there; and at order 2 its bias reaches the diagonal alone.
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np

from grnf.activations import get_activation
from grnf.basis.partitions import positions
from grnf.engine import Schedule
from grnf.features import Embedder, FeatureMap
from grnf.graphs import GraphBatch
from grnf.law import ParameterLaw
from grnf.law.parameters import Draw, OrderDraw
from grnf.typing import FloatArray, IntArray

__all__ = ["ORDERS", "FirstVersion", "WithoutEdgeTerms", "first_version_features"]

ORDERS = {1: 2 / 3, 2: 1 / 3}
"""p(k) of the paper's experiments."""

EDGE_TERMS = ((0, 1, 0, 1), (0, 1, 1, 0))
"""out_ij = A_ij and out_ij = A_ji."""

DIAGONAL_AND_ROW = {
    1: (((0, 0, 0), (0, 0, 1)),),
    2: (((0, 0, 0, 0), (0, 0, 0, 1)), ((0, 1, 0, 0), (0, 1, 0, 2)), ((0, 1, 1, 1), (0, 1, 1, 2))),
}
"""Terms that place A_ii somewhere, each with the term that places sum_j A_ij there."""


class WithoutEdgeTerms(ParameterLaw):
    """A law whose identity and transposition terms at order 2 are 0.

    With the overlapping basis no term of order 2 then sees which nodes are joined, only how many edges each
    has; in the indicator basis other terms see it too.
    """

    def select(self, chosen: IntArray, **settings: Any) -> Draw:
        """Draw the features of these numbers, and change them."""
        draw = super().select(chosen, **settings)
        groups = (replace(group, theta=group.theta.copy()) for group in draw.groups)
        return replace(draw, groups=tuple(self._changed(group) for group in groups))

    def _changed(self, group: OrderDraw) -> OrderDraw:
        if group.k == 2:
            for term in EDGE_TERMS:
                group.equivariant[:, positions(4)[term]] = 0
        return group


class FirstVersion(WithoutEdgeTerms):
    """The law of v0.1.0, for the overlapping basis and normalized maps of graphs without self-loops.

    On a node channel A is diagonal, so sum_j A_ij is A_ii, and a normalized map divides the former by n: a
    diagonal term divided by n is a row term. On the edge channel, the last one, the diagonal is 0.
    """

    def _changed(self, group: OrderDraw) -> OrderDraw:
        theta = super()._changed(group).equivariant
        for diagonal, row in DIAGONAL_AND_ROW[group.k]:
            moved, kept = positions(group.k + 2)[diagonal], positions(group.k + 2)[row]
            theta[:, kept, :, :-1] += theta[:, moved, :, :-1]
            theta[:, moved] = 0
        if group.k == 2:
            group.equivariant_bias[:, positions(2)[0, 1]] = 0
        return group


def first_version_features(
    graphs: GraphBatch, n_components: int, seed: int, hidden_channels: int = 4
) -> FloatArray:
    """Return the features as v0.1.0 has them: without rho_i, not centred, not divided by sqrt(M)."""
    law = FirstVersion(ORDERS, hidden_channels=hidden_channels)
    features = FeatureMap(
        law,
        law,
        n_components,
        seed,
        basis="overlapping",
        activation=get_activation("identity"),
        center=False,
    )
    return np.asarray(
        Embedder(features, Schedule(n_jobs=-1))(graphs) * math.sqrt(n_components), dtype=np.float32
    )
