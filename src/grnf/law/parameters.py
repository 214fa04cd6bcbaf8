"""P, the distribution of w = (k, theta_F, theta_H), and samples W = (w_1 .. w_M), gathered by order."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from grnf._utils.random import fill_normals, uniforms
from grnf._utils.rules import Instance, Int, Rule, checked
from grnf.basis import bell
from grnf.errors import OrderTooLargeError, invalid
from grnf.law.distributions import (
    CoefficientLaw,
    Gaussian,
    OrderLaw,
    Restricted,
    ScaleMixture,
    as_order_law,
    scales_of,
    unsaved,
)
from grnf.typing import FloatArray, IntArray, Keys


def normal_mixture(law: CoefficientLaw) -> ScaleMixture:
    """Return a distribution whose density is known, or raise an error."""
    if scales_of(law) is None or not isinstance(law, ScaleMixture):
        cure = "Use the same coefficients in orders and proposal, or Gaussian and ScaleMixture of grnf.law"
        raise invalid("coefficients", "have a known density to be weighted", type(law).__name__, cure)
    return law


def n_parameters(k: int, channels: int, hidden_channels: int) -> int:
    """Return the number of coefficients of a feature of order k.

    F_{2,k} has Bell(k + 2) matrices of shape (F_h, F) and Bell(k) biases of length F_h. H_k has Bell(k)
    vectors of length F_h and one bias.
    """
    return bell(k + 2) * hidden_channels * channels + 2 * bell(k) * hidden_channels + 1


def n_head_parameters(k: int, hidden_channels: int) -> int:
    """Return the number of coefficients of a head H_k: Bell(k) vectors of length F_h and one bias."""
    return bell(k) * hidden_channels + 1


@dataclass(frozen=True, eq=False)
class OrderDraw:
    """The drawn features of order k, in the shapes of the paper.

    `features` are the numbers of these among w_1 .. w_M. `theta` has all coefficients, one row per feature;
    the arrays below are views of it. `channels` and `hidden_channels` are F and F_h. `more_heads`, of shape
    (m, R - 1, n_head_parameters), are further theta_H, theta_0 on the same hidden draws theta_F.
    """

    k: int
    features: IntArray
    theta: FloatArray
    channels: int
    hidden_channels: int
    more_heads: FloatArray | None = None

    @property
    def equivariant(self) -> FloatArray:
        """theta_F, linear part: shape (m, Bell(k + 2), F_h, F)."""
        stop = bell(self.k + 2) * self.hidden_channels * self.channels
        shape = len(self.theta), bell(self.k + 2), self.hidden_channels, self.channels
        return self.theta[:, :stop].reshape(shape)

    @property
    def equivariant_bias(self) -> FloatArray:
        """theta_F, bias: shape (m, Bell(k), F_h)."""
        return self._tail(2, 1)

    @property
    def invariant(self) -> FloatArray:
        """theta_H, linear part: shape (m, Bell(k), F_h)."""
        return self._tail(1, 0)

    @property
    def invariant_bias(self) -> FloatArray:
        """theta_H, bias theta_0: shape (m,)."""
        return self.theta[:, -1]

    @property
    def heads(self) -> FloatArray:
        """All R heads, shape (m, R, n_head_parameters): Bell(k) F_h coefficients, then theta_0."""
        first = self.theta[:, np.newaxis, -n_head_parameters(self.k, self.hidden_channels) :]
        return first if self.more_heads is None else np.concatenate([first, self.more_heads], axis=1)

    def with_head(self, head: int) -> OrderDraw:
        """Return the same hidden draws with one of their heads alone."""
        size = n_head_parameters(self.k, self.hidden_channels)
        theta = np.concatenate([self.theta[:, :-size], self.heads[:, head]], axis=1)
        return replace(self, theta=theta, more_heads=None)

    def take(self, members: IntArray, features: IntArray) -> OrderDraw:
        """Return some of the features, renumbered."""
        more = None if self.more_heads is None else self.more_heads[members]
        return replace(self, features=features, theta=self.theta[members], more_heads=more)

    def _tail(self, start: int, stop: int) -> FloatArray:
        size, last = bell(self.k) * self.hidden_channels, self.theta.shape[1] - 1
        rows = self.theta[:, last - start * size : last - stop * size]
        return rows.reshape(-1, bell(self.k), self.hidden_channels)


@dataclass(frozen=True, eq=False)
class Draw:
    """Features w_start .. w_(start + M - 1), gathered by order. Each is a hidden draw with one head or more.

    `start` is the position of the first feature in the infinite sequence that a seed defines, and `orders`
    has the k of each feature. `groups` has the coefficients, one group per order that occurs, orders
    ascending. `OrderDraw.features` counts from 0 within this draw.
    """

    start: int
    orders: IntArray
    groups: tuple[OrderDraw, ...]

    def __len__(self) -> int:
        return len(self.orders)

    @property
    def n_heads(self) -> int:
        """R, the number of heads of each hidden draw."""
        more = self.groups[0].more_heads if self.groups else None
        return 1 if more is None else 1 + more.shape[1]

    def feature(self, m: int, head: int = 0) -> OrderDraw:
        """Return w_m alone, with one of its heads."""
        for group in self.groups:
            (position,) = np.nonzero(group.features == m)
            if len(position):
                return group.take(position, group.features[position]).with_head(head)
        raise IndexError(f"feature {m} of {len(self)}")


N_STRATA = 64
"""Consecutive features that take their orders from different strata, if the law is stratified."""

REVERSED = np.array([int(f"{i:06b}"[::-1], 2) for i in range(N_STRATA)])
"""0 .. N_STRATA - 1 with their bits reversed."""

ORDERS, STRATA, SCALES, CHANNELS, BIASES, HEADS = range(6)
"""Random streams, one for each kind of number that a feature has."""

LARGEST_FEATURE = 100_000_000
"""Coefficients that one feature may have: 800 MB. Orders beyond are refused."""


class ParameterLaw:
    """The law P of w: an order from p(k), then all coefficients independently from p(theta).

    Parameters
    ----------
    orders : OrderLaw or dict from order to probability
    coefficients : CoefficientLaw, default=Gaussian(1.0)
    hidden_channels : int, default=4
        F_h, the number of hidden channels.
    stratified : bool, default=False
        Spread the orders evenly: 64 consecutive features take theirs from the 64 strata of the law, one each,
        so that their mixture of orders is always the same, up to one feature per order. Each feature alone
        has the law p(k) as before, so estimates stay unbiased, and their variance cannot grow.

    Examples
    --------
    >>> law = ParameterLaw({1: 2/3, 2: 1/3})
    >>> draw = law.sample(5, channels=1, seed=0)
    >>> draw.orders
    array([1, 2, 2, 2, 2])
    >>> law.log_density(draw).shape
    (5,)
    >>> law = ParameterLaw({1: 0.5, 2: 0.5})
    >>> draw = law.sample(4, channels=2, seed=0)
    >>> draw.orders, law.orders_of(4, seed=0)
    (array([1, 2, 2, 2]), array([1, 2, 2, 2]))
    >>> law.log_density(draw).round(1)
    array([ -69.9, -196.4, -210.1, -193.6])
    >>> law.mean_parameters(draw.orders, channels=2)
    115.0
    >>> law.select(np.array([1, 3]), channels=2, seed=0).orders
    array([2, 2])
    >>> ParameterLaw.from_config(law.to_config()).orders == law.orders
    True
    """

    def __init__(
        self,
        orders: OrderLaw | Mapping[int, float],
        coefficients: CoefficientLaw | None = None,
        hidden_channels: int = 4,
        stratified: bool = False,
    ) -> None:
        self.orders = as_order_law(orders)
        self.coefficients = Gaussian() if coefficients is None else coefficients
        self.hidden_channels: int = checked(hidden_channels, "hidden_channels", Int(1))
        self.stratified = bool(stratified)

    @property
    def full_support(self) -> bool:
        """Whether supp(P) is all of W, as Theorem 1 asks."""
        return self.orders.full_support and self.coefficients.full_support

    def sample(
        self, n_features: int, *, channels: int | Keys, seed: int, start: int = 0, heads: int = 1
    ) -> Draw:
        """Draw features w_start .. w_(start + n_features - 1) of the sequence that the seed defines.

        Parameters
        ----------
        n_features : int
        channels : array of uint64, or int
            The keys of the F channels of the graphs. A number F stands for the keys 0 .. F - 1.
        seed : int
        start : int, default=0
        heads : int, default=1
            R, the number of theta_H, theta_0 for each theta_F. The first of them is that of ``heads=1``.

        Returns
        -------
        Draw
        """
        chosen = np.arange(start, start + n_features)
        return self.select(chosen, channels=channels, seed=seed, start=start, heads=heads)

    def select(
        self, chosen: IntArray, *, channels: int | Keys, seed: int, start: int = 0, heads: int = 1
    ) -> Draw:
        """Draw the features of these numbers. They become start, start + 1, ...

        Parameters
        ----------
        chosen : array of int
            Numbers of features in the sequence that the seed defines.
        channels : array of uint64, or int
        seed : int
        start : int, default=0
        heads : int, default=1
            As in `sample`.

        Returns
        -------
        Draw
        """
        keys = np.arange(channels, dtype=np.uint64) if isinstance(channels, int) else channels
        orders = self._orders(chosen, seed)
        groups = []
        for k in np.unique(orders).tolist():
            (members,) = np.nonzero(orders == k)
            groups.append(self._sample_group(k, members, chosen[members], keys, seed, heads))
        return Draw(start, orders, tuple(groups))

    def orders_of(self, n_features: int, *, seed: int) -> IntArray:
        """Return the orders k of w_1 .. w_M without drawing their coefficients.

        Parameters
        ----------
        n_features : int
        seed : int

        Returns
        -------
        array of int, shape (n_features,)
        """
        return self._orders(np.arange(n_features), seed)

    def restricted_to(self, orders: Iterable[int]) -> ParameterLaw:
        """Return the law given that k lies in `orders`: the proposal of the bounded-order map.

        Parameters
        ----------
        orders : iterable of int

        Returns
        -------
        ParameterLaw

        Examples
        --------
        >>> ParameterLaw({1: 0.5, 2: 0.25, 3: 0.25}).restricted_to({1, 2}).orders.probability(1)
        0.6666666666666666
        """
        return ParameterLaw(
            self.orders.restricted_to(orders), self.coefficients, self.hidden_channels, self.stratified
        )

    def mean_parameters(self, orders: IntArray, channels: int, heads: int = 1) -> float:
        """Return how many coefficients a feature has on average over these orders, with R heads each.

        Parameters
        ----------
        orders : array of int
        channels : int
        heads : int, default=1

        Returns
        -------
        float
        """
        present, counts = np.unique(orders, return_counts=True)
        hidden = self.hidden_channels
        sizes = [
            n_parameters(int(k), channels, hidden) + (heads - 1) * n_head_parameters(int(k), hidden)
            for k in present
        ]
        return float(np.average(sizes, weights=counts))

    def log_density(self, draw: Draw) -> FloatArray:
        """Return log p(w_m) of each feature, the density being with respect to counting x Lebesgue.

        Parameters
        ----------
        draw : Draw
            As `sample` returns it.

        Returns
        -------
        array, shape (n_features,)
        """
        result = np.empty(len(draw))
        for group in draw.groups:
            p = self.orders.probability(group.k)
            log_p = np.log(p) if p > 0 else -np.inf
            result[group.features] = log_p + normal_mixture(self.coefficients).log_density(group.theta)
        return result

    def to_config(self) -> dict[str, Any]:
        """Return the distribution as plain JSON values. Those defined outside `grnf.law` are refused.

        Returns
        -------
        dict
        """
        parts: list[object] = [self, self.coefficients, self.orders]
        while isinstance(parts[-1], Restricted):
            parts.append(parts[-1].law)
        for part in parts:
            if type(part).__module__ not in (__name__, OrderLaw.__module__):
                raise unsaved(part)
        config = {
            "orders": self.orders.to_config(),
            "coefficients": self.coefficients.to_config(),
            "hidden_channels": self.hidden_channels,
        }
        return {**config, "stratified": True} if self.stratified else config

    @staticmethod
    def from_config(config: Mapping[str, Any]) -> ParameterLaw:
        """Make the law again from what `to_config` returned.

        Parameters
        ----------
        config : dict

        Returns
        -------
        ParameterLaw
        """
        return ParameterLaw(
            OrderLaw.from_config(config["orders"]),
            CoefficientLaw.from_config(config["coefficients"]),
            int(config["hidden_channels"]),
            bool(config.get("stratified", False)),
        )

    def __repr__(self) -> str:
        inside = f"{self.orders!r}, {self.coefficients!r}, hidden_channels={self.hidden_channels}"
        return f"ParameterLaw({inside}{', stratified=True' if self.stratified else ''})"

    def _orders(self, features: IntArray, seed: int) -> IntArray:
        """Draw the orders of these features.

        Stratified: feature i of N_STRATA takes its order from the stratum whose number is i with its bits
        reversed and a random shift, so that the first 2, 4, 8, .. of them are spread evenly too.
        """
        uniform = uniforms(seed, ORDERS, features)
        if self.stratified:
            shift = (uniforms(seed, STRATA, features // N_STRATA) * N_STRATA).astype(np.int64)
            uniform = ((REVERSED[features % N_STRATA] ^ shift) + uniform) / N_STRATA
        return self.orders.quantile(uniform)

    def _sample_group(
        self, k: int, members: IntArray, features: IntArray, keys: Keys, seed: int, heads: int
    ) -> OrderDraw:
        """Draw the coefficients of features of order k, which have the positions `members` in the draw."""
        m, F, hidden = len(members), len(keys), self.hidden_channels
        size = n_parameters(k, F, hidden)
        if size > LARGEST_FEATURE:
            raise OrderTooLargeError(
                f"a feature of order {k}, drawn from {self.orders!r}, has {size:.2g} coefficients on {F} "
                "channels. Draw from fewer orders and correct for it, for example "
                "proposal=law.restricted_to({1, 2, 3}) (the bounded-order map)."
            )
        linear, biases, head = bell(k + 2) * hidden, bell(k) * hidden, n_head_parameters(k, hidden)
        theta: FloatArray = np.empty((size, m))  # in the order in which the engine reads them
        more_heads: FloatArray = np.empty((head, heads - 1, m))
        fill_normals(seed, CHANNELS, features, keys, theta[: linear * F].reshape(linear, F, m))
        numbers = np.arange(heads, dtype=np.uint64)
        fill_normals(seed, BIASES, features, numbers[:1], theta[-head - biases : -head].reshape(biases, 1, m))
        fill_normals(seed, HEADS, features, numbers[:1], theta[-head:].reshape(head, 1, m))
        fill_normals(seed, HEADS, features, numbers[1:], more_heads)
        uniform = uniforms(seed, SCALES, features)
        theta, more_heads = (self.coefficients.sample(array, uniform) for array in (theta, more_heads))
        for array, shape in ((theta, (size, m)), (more_heads, (head, heads - 1, m))):
            if array.shape != shape:
                method = f"{type(self.coefficients).__name__}.sample"
                requirement = f"return an array of shape {shape}, as large as `normal`"
                raise invalid(method, requirement, str(array.shape))
        return OrderDraw(k, members, theta.T, F, hidden, more_heads.transpose(2, 1, 0) if heads > 1 else None)


Law = OrderLaw | ParameterLaw | Mapping[int, float] | tuple[float, ...]

LAW_RULES: tuple[Rule | str, ...] = (
    Instance("a dict {order: probability} or a law of grnf.law", OrderLaw, ParameterLaw, Mapping, tuple),
    "For one order k alone write {k: 1.0}",
)


def parameter_law(law: Law, hidden_channels: int, name: str, stratified: bool = False) -> ParameterLaw:
    """Return the whole distribution that `law` stands for. `name` is what users call it."""
    if not isinstance(law, ParameterLaw):
        return ParameterLaw(as_order_law(law), Gaussian(), hidden_channels, stratified)
    if law.hidden_channels != hidden_channels:
        raise invalid("hidden_channels", f"be {law.hidden_channels}, as in {name}", str(hidden_channels))
    return ParameterLaw(law.orders, law.coefficients, hidden_channels, law.stratified or stratified)
