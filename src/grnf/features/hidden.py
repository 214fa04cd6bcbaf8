"""U: the hidden sums of graphs, what theta_H multiplies. The costly part of a feature, and reusable."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from grnf.typing import FloatArray, IntArray


@dataclass(frozen=True, eq=False)
class HiddenGroup:
    """Hidden sums of the features of order k.

    `features` are the numbers of the hidden draws. `sums`, of shape (n_graphs, m, Bell(k) F_h), has U of each
    partition of the k indices and each hidden channel, channels fastest: theta_0 + theta_H . U is what rho_i
    is applied to. `null` is the same of the null graph.
    """

    k: int
    features: IntArray
    sums: FloatArray
    null: FloatArray


@dataclass(frozen=True, eq=False)
class HiddenSums:
    """Hidden sums of some graphs at M hidden draws, as `grnf.GRNF.hidden_sums` returns them.

    `groups` has one group per order, orders ascending. `weights` are p / p-bar of each hidden draw
    (k, theta_F). `scale` is the standard deviation of theta_H and theta_0 under the target P.
    `largest_weight` bounds p / p-bar over all draws there can be; it is infinite if no bound is known.

    Examples
    --------
    >>> from grnf import GRNF, Graph
    >>> grnf = GRNF(64, random_state=0).fit([Graph(3, [(0, 1)])])
    >>> U = grnf.hidden_sums([Graph(3, [(0, 1)]), Graph(4, [])])
    >>> len(U), U.n_features, [group.sums.shape for group in U.groups]
    (2, 64, [(2, 41, 4), (2, 23, 8)])
    """

    groups: tuple[HiddenGroup, ...]
    weights: FloatArray
    scale: float
    largest_weight: float = 1.0

    def __len__(self) -> int:
        return len(self.groups[0].sums)

    @property
    def n_features(self) -> int:
        """M, the number of hidden draws."""
        return len(self.weights)

    def take(self, graphs: Any) -> HiddenSums:
        """Return the hidden sums of some of the graphs, by index, mask or slice."""
        groups = tuple(replace(group, sums=group.sums[graphs]) for group in self.groups)
        return replace(self, groups=groups)

    @staticmethod
    def joined(parts: Sequence[HiddenSums]) -> HiddenSums:
        """Put stretches of hidden draws, all of the same graphs, one after the other."""
        starts = np.cumsum([0, *(part.n_features for part in parts)])
        by_order: dict[int, list[tuple[int, HiddenGroup]]] = {}
        for start, part in zip(starts, parts, strict=False):
            for group in part.groups:
                by_order.setdefault(group.k, []).append((int(start), group))
        groups = tuple(
            HiddenGroup(
                k,
                np.concatenate([start + group.features for start, group in parts_of_order]),
                np.concatenate([group.sums for _, group in parts_of_order], axis=1),
                np.concatenate([group.null for _, group in parts_of_order]),
            )
            for k, parts_of_order in sorted(by_order.items())
        )
        return replace(parts[0], groups=groups, weights=np.concatenate([part.weights for part in parts]))
