"""P: the law of w = (k, theta_F, theta_H), and weights p / p-bar between two such laws.

One seed defines an infinite sequence w_1, w_2, ... Features are drawn in blocks of BLOCK, each from its own
counter-based stream, so any stretch of the sequence can be drawn alone: the first 512 features of M = 10,000
are the features of M = 512, whatever the chunks in which they are drawn.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from grnf.errors import OrderTooLargeError
from grnf.law.coefficients import Gaussian
from grnf.law.draw import Draw, OrderDraw, n_parameters
from grnf.law.orders import OrderLaw, as_order_law
from grnf.law.streams import block_generator
from grnf.typing import FloatArray, IntArray

__all__ = ["ParameterLaw", "importance_weights"]

BLOCK = 64
"""Features per random stream. A constant of the format: changing it changes every drawn number."""

LARGEST_FEATURE = 100_000_000
"""Coefficients that one feature may have: 800 MB. Orders beyond are refused."""


class ParameterLaw:
    """The law P of w: an order from p(k), then all coefficients independently from p(theta).

    Parameters
    ----------
    orders : OrderLaw or dict from order to probability
    coefficients : Gaussian, default=Gaussian(1.0)
    hidden_channels : int, default=4
        F_h, the number of hidden channels.

    Examples
    --------
    >>> law = ParameterLaw({1: 2/3, 2: 1/3})
    >>> draw = law.sample(5, channels=1, seed=0)
    >>> draw.orders
    array([1, 1, 1, 1, 2])
    >>> law.log_density(draw).shape
    (5,)
    """

    def __init__(
        self,
        orders: OrderLaw | Mapping[int, float],
        coefficients: Gaussian | None = None,
        hidden_channels: int = 4,
    ) -> None:
        self.orders = as_order_law(orders)
        self.coefficients = Gaussian() if coefficients is None else coefficients
        self.hidden_channels = hidden_channels

    @property
    def full_support(self) -> bool:
        """Whether supp(P) is all of W, as Theorem 1 asks."""
        return self.orders.full_support and self.coefficients.full_support

    def sample(self, n_features: int, *, channels: int, seed: int, start: int = 0) -> Draw:
        """Draw features w_start .. w_(start + n_features - 1) of the sequence that the seed defines.

        Parameters
        ----------
        n_features : int
        channels : int
            F, the number of channels of the graphs.
        seed : int
        start : int, default=0
        """
        parts: dict[int, list[tuple[IntArray, FloatArray]]] = {}
        stop = start + n_features
        orders = np.empty(n_features, dtype=np.int64)
        for block in range(start // BLOCK, -(-stop // BLOCK)):
            skip = max(start - block * BLOCK, 0)
            block_orders, rows = self._sample_block(
                block_generator(seed, block), min(stop - block * BLOCK, BLOCK), channels
            )
            first = block * BLOCK - start
            orders[first + skip : first + len(block_orders)] = block_orders[skip:]
            for k, members, theta in rows:
                kept = members >= skip
                parts.setdefault(k, []).append((members[kept] + first, theta[kept]))
        groups = [
            OrderDraw(
                k,
                np.concatenate([features for features, _ in parts[k]]),
                np.concatenate([theta for _, theta in parts[k]]),
                channels,
                self.hidden_channels,
            )
            for k in sorted(parts)
        ]
        return Draw(start, orders, tuple(group for group in groups if len(group.features)))

    def orders_of(self, n_features: int, *, seed: int) -> IntArray:
        """Return the orders k of w_1 .. w_M without drawing their coefficients."""
        n_blocks = -(-n_features // BLOCK)
        uniform = np.concatenate([block_generator(seed, block).random(BLOCK) for block in range(n_blocks)])
        return self.orders.quantile(uniform[:n_features])

    def stretches(
        self,
        n_features: int,
        *,
        channels: int,
        seed: int,
        max_coefficients: int = 4_000_000,
        max_features: int | None = None,
    ) -> list[tuple[int, int]]:
        """Cut w_1 .. w_M into stretches (start, size) of about `max_coefficients` numbers each.

        Examples
        --------
        >>> ParameterLaw({1: 1.0}).stretches(1000, channels=1, seed=0, max_coefficients=10_000)
        [(0, 320), (320, 320), (640, 320), (960, 40)]
        """
        orders = self.orders_of(min(n_features, 16 * BLOCK), seed=seed)
        size = float(np.mean([n_parameters(int(k), channels, self.hidden_channels) for k in orders]))
        step = BLOCK * max(1, int(max_coefficients / (BLOCK * size)))
        if max_features is not None:
            step = min(step, max(BLOCK, max_features // BLOCK * BLOCK))
        return [(start, min(step, n_features - start)) for start in range(0, n_features, step)]

    def log_density(self, draw: Draw) -> FloatArray:
        """Return log p(w_m) of each feature, the density being with respect to counting x Lebesgue."""
        result = np.empty(len(draw))
        for group in draw.groups:
            p = self.orders.probability(group.k)
            log_p = np.log(p) if p > 0 else -np.inf
            result[group.features] = log_p + self.coefficients.log_density(group.theta)
        return result

    def to_config(self) -> dict[str, Any]:
        """Return the law as plain JSON values."""
        return {
            "orders": self.orders.to_config(),
            "coefficients": self.coefficients.to_config(),
            "hidden_channels": self.hidden_channels,
        }

    @staticmethod
    def from_config(config: Mapping[str, Any]) -> ParameterLaw:
        """Make the law again from what `to_config` returned."""
        return ParameterLaw(
            OrderLaw.from_config(config["orders"]),
            Gaussian.from_config(config["coefficients"]),
            int(config["hidden_channels"]),
        )

    def __repr__(self) -> str:
        return f"ParameterLaw({self.orders!r}, {self.coefficients!r}, hidden_channels={self.hidden_channels})"

    def _sample_block(
        self, generator: np.random.Generator, count: int, channels: int
    ) -> tuple[IntArray, list[tuple[int, IntArray, FloatArray]]]:
        """Draw the first `count` features of a block: orders, then (k, members, coefficients) per order."""
        orders = self.orders.quantile(generator.random(BLOCK))[:count]
        present = {int(k): n_parameters(int(k), channels, self.hidden_channels) for k in np.unique(orders)}
        for k, size in present.items():
            if size > LARGEST_FEATURE:
                raise OrderTooLargeError(
                    f"a feature of order {k} was drawn from {self.orders!r}; on {channels} channels it has "
                    f"{size:.2g} coefficients. Draw from fewer orders and correct for it, for example "
                    "proposal=law.restricted_to({1, 2, 3}) (the bounded-order map)."
                )
        ends = np.cumsum([present[int(k)] for k in orders])
        flat = self.coefficients.sample(generator, int(ends[-1]))
        rows = []
        for k, size in present.items():
            (members,) = np.nonzero(orders == k)
            rows.append((k, members, flat[(ends[members] - size)[:, np.newaxis] + np.arange(size)]))
        return orders, rows


def importance_weights(target: ParameterLaw, proposal: ParameterLaw, draw: Draw) -> FloatArray:
    """Return p(w_m) / p-bar(w_m) for features drawn from the proposal.

    With p-bar = p all weights are 1 (the plain map); with p-bar = p given k in K they are P(K) (the
    bounded-order map); anything else is the weighted map.

    Examples
    --------
    >>> target = ParameterLaw({1: 0.5, 2: 0.5})
    >>> proposal = ParameterLaw(target.orders.restricted_to({1}))
    >>> importance_weights(target, proposal, proposal.sample(3, channels=1, seed=0))
    array([0.5, 0.5, 0.5])
    """
    weights = np.empty(len(draw))
    for group in draw.groups:
        ratio = target.orders.probability(group.k) / proposal.orders.probability(group.k)
        weights[group.features] = ratio
        if target.coefficients != proposal.coefficients:
            difference = target.coefficients.log_density(group.theta) - proposal.coefficients.log_density(
                group.theta
            )
            weights[group.features] *= np.exp(difference)
    return weights
