"""P: the law of w = (k, theta_F, theta_H).

One seed defines an infinite sequence w_1, w_2, ... Features are drawn in pages of PAGE, each from its own
counter-based stream, so any chunk of the sequence can be drawn alone: the first 512 features of M = 10,000
are the features of M = 512, whatever the chunks in which they are drawn. What is drawn beside the features
(strata, scales, further heads) has streams of its own, so it changes no number of a plain draw; and so has
every channel, by its key (see `grnf.graphs.channels`): its coefficients are the same whatever other channels
there are. This is the law of independent coefficients with a channel for each category that may ever come.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from grnf._utils.random import channel_normals, page_generator
from grnf._utils.rules import Instance, Int, Rule, checked
from grnf.basis import bell
from grnf.errors import OrderTooLargeError
from grnf.law.coefficients import CoefficientLaw, Gaussian
from grnf.law.draw import Draw, OrderDraw, n_head_parameters, n_parameters
from grnf.law.orders import OrderLaw, as_order_law
from grnf.typing import FloatArray, IntArray, Keys

__all__ = ["LAW_RULES", "Law", "ParameterLaw", "parameter_law"]

PAGE = 64
"""Features per random stream. A constant of the format: changing it changes every drawn number."""

REVERSED = np.array([int(f"{i:06b}"[::-1], 2) for i in range(PAGE)])
"""0 .. PAGE - 1 with their bits reversed."""

STRATA, SCALES, HEADS, CHANNELS = 1, 2, 3, 4
"""Streams of a page beside that of its features."""

LARGEST_FEATURE = 100_000_000
"""Coefficients that one feature may have: 800 MB. Orders beyond are refused."""


class ParameterLaw:
    """The law P of w: an order from p(k), then all coefficients independently from p(theta).

    Parameters
    ----------
    orders : OrderLaw or dict from order to probability
    coefficients : Gaussian or ScaleMixture, default=Gaussian(1.0)
    hidden_channels : int, default=4
        F_h, the number of hidden channels.
    stratified : bool, default=False
        Spread the orders evenly: the 64 features of a page take theirs from the 64 strata of the law, one
        each, so that every page has the same mixture of orders up to one feature per order. Each feature
        alone has the law p(k) as before, so estimates stay unbiased, and their variance cannot grow.

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
        coefficients: CoefficientLaw | None = None,
        hidden_channels: int = 4,
        stratified: bool = False,
    ) -> None:
        self.orders = as_order_law(orders)
        self.coefficients = Gaussian() if coefficients is None else coefficients
        self.hidden_channels: int = checked(hidden_channels, "hidden_channels", Int(1))
        self.stratified = bool(stratified)
        self._last_orders: tuple[tuple[int, int] | None, IntArray] = (None, np.empty(0, dtype=np.int64))

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
            The keys of the F channels of the graphs; a number F stands for the keys 0 .. F - 1.
        seed : int
        start : int, default=0
        heads : int, default=1
            R: so many theta_H, theta_0 for each theta_F. The first of them is that of ``heads=1``.
        """
        chosen = np.arange(start, start + n_features)
        return self.select(chosen, channels=channels, seed=seed, start=start, heads=heads)

    def select(
        self, chosen: IntArray, *, channels: int | Keys, seed: int, start: int = 0, heads: int = 1
    ) -> Draw:
        """Draw the features of these numbers, which must ascend; they become start, start + 1, ...

        Examples
        --------
        >>> law = ParameterLaw({1: 2/3, 2: 1/3})
        >>> law.select(np.array([4, 1000]), channels=1, seed=0).orders
        array([2, 1])
        """
        keys = np.arange(channels, dtype=np.uint64) if isinstance(channels, int) else channels
        parts: dict[int, list[OrderDraw]] = {}
        orders = np.empty(len(chosen), dtype=np.int64)
        for page in np.unique(chosen // PAGE):
            places = np.arange(*np.searchsorted(chosen, [page * PAGE, (page + 1) * PAGE]))
            wanted = chosen[places] - page * PAGE
            for group in self._sample_page(seed, int(page), int(wanted[-1]) + 1, keys, heads):
                kept = np.flatnonzero(np.isin(group.features, wanted))
                if len(kept):
                    found = places[np.searchsorted(wanted, group.features[kept])]
                    orders[found] = group.k
                    parts.setdefault(group.k, []).append(group.take(kept, found))
        return Draw(start, orders, tuple(_joined(parts[k]) for k in sorted(parts)))

    def orders_of(self, n_features: int, *, seed: int) -> IntArray:
        """Return the orders k of w_1 .. w_M without drawing their coefficients."""
        n_pages = -(-n_features // PAGE)
        last = self._last_orders  # they are asked for with every batch of graphs
        if last[0] != (n_pages, seed):
            pages = [self._page_orders(page_generator(seed, b), seed, b) for b in range(n_pages)]
            last = self._last_orders = (n_pages, seed), np.concatenate(pages)
        return last[1][:n_features].copy()

    def restricted_to(self, orders: Iterable[int]) -> ParameterLaw:
        """Return the law given that k lies in `orders`: the proposal of the bounded-order map.

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

        Examples
        --------
        >>> ParameterLaw({1: 1.0}).mean_parameters(np.array([1, 1]), channels=1)
        29.0
        """
        present, counts = np.unique(orders, return_counts=True)
        hidden = self.hidden_channels
        sizes = [
            n_parameters(int(k), channels, hidden) + (heads - 1) * n_head_parameters(int(k), hidden)
            for k in present
        ]
        return float(np.average(sizes, weights=counts))

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
        config = {
            "orders": self.orders.to_config(),
            "coefficients": self.coefficients.to_config(),
            "hidden_channels": self.hidden_channels,
        }
        return {**config, "stratified": True} if self.stratified else config

    @staticmethod
    def from_config(config: Mapping[str, Any]) -> ParameterLaw:
        """Make the law again from what `to_config` returned."""
        return ParameterLaw(
            OrderLaw.from_config(config["orders"]),
            CoefficientLaw.from_config(config["coefficients"]),
            int(config["hidden_channels"]),
            bool(config.get("stratified", False)),
        )

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_last_orders": (None, np.empty(0, dtype=np.int64))}

    def __repr__(self) -> str:
        inside = f"{self.orders!r}, {self.coefficients!r}, hidden_channels={self.hidden_channels}"
        return f"ParameterLaw({inside}{', stratified=True' if self.stratified else ''})"

    def _page_orders(self, generator: np.random.Generator, seed: int, page: int) -> IntArray:
        """Draw the orders of a page, the first numbers of its stream.

        Stratified: feature i takes its order from the stratum whose number is i with its bits reversed and
        a random shift, so that the first 2, 4, 8, .. features of a page are spread evenly too.
        """
        uniform = generator.random(PAGE)
        if self.stratified:
            shift = int(page_generator(seed, page, STRATA).integers(PAGE))
            uniform = ((REVERSED ^ shift) + uniform) / PAGE
        return self.orders.quantile(uniform)

    def _sample_page(self, seed: int, page: int, count: int, keys: Keys, heads: int) -> list[OrderDraw]:
        """Draw the first `count` features of a page, one group per order."""
        generator = page_generator(seed, page)
        all_orders = self._page_orders(generator, seed, page)
        orders = all_orders[:count]
        hidden, channels = self.hidden_channels, len(keys)
        for k in np.unique(orders):
            size = n_parameters(int(k), channels, hidden)
            if size > LARGEST_FEATURE:
                raise OrderTooLargeError(
                    f"a feature of order {k} was drawn from {self.orders!r}; on {channels} channels it has "
                    f"{size:.2g} coefficients. Draw from fewer orders and correct for it, for example "
                    "proposal=law.restricted_to({1, 2, 3}) (the bounded-order map)."
                )
        scales = self.coefficients.scales(page_generator(seed, page, SCALES).random(PAGE)[:count])
        # what is drawn for a feature follows on what is drawn for those before it, so that more change none
        linear = _Places([bell(int(k) + 2) * hidden for k in orders])
        rest = _Places([n_parameters(int(k), 0, hidden) for k in orders])
        more = _Places([n_head_parameters(int(k), hidden) for k in all_orders])
        of_channels = np.ascontiguousarray(channel_normals(seed, page, CHANNELS, keys, linear.total).T)
        biases = generator.standard_normal(rest.total)
        heads_drawn = page_generator(seed, page, HEADS).standard_normal((heads - 1, more.total))
        groups = []
        for k in np.unique(orders):
            (members,) = np.nonzero(orders == k)
            scale = scales[members, np.newaxis]
            places, others = linear.of(members), rest.of(members)
            width = places.shape[1] * channels
            theta = np.empty((len(members), width + others.shape[1]))
            np.multiply(of_channels[places].reshape(len(members), width), scale, out=theta[:, :width])
            np.multiply(biases[others], scale, out=theta[:, width:])
            drawn = heads_drawn[:, more.of(members)].swapaxes(0, 1)
            more_heads = scale[:, np.newaxis] * drawn if heads > 1 else None
            groups.append(OrderDraw(int(k), members, theta, channels, hidden, more_heads))
        return groups


class _Places:
    """Where the numbers of each feature of a page stand in a stream: one after the other."""

    def __init__(self, sizes: list[int]) -> None:
        self._sizes, self._ends = sizes, np.cumsum(sizes)
        self.total = int(self._ends[-1])

    def of(self, members: IntArray) -> IntArray:
        """Return the places of the numbers of features of one order, a row for each."""
        size = self._sizes[members[0]]
        return np.asarray((self._ends[members] - size)[:, np.newaxis] + np.arange(size))


def _joined(groups: list[OrderDraw]) -> OrderDraw:
    """Put features of one order, drawn in several pages, into one group."""
    first = groups[0]
    more = [group.more_heads for group in groups if group.more_heads is not None]
    return OrderDraw(
        first.k,
        np.concatenate([group.features for group in groups]),
        np.concatenate([group.theta for group in groups]),
        first.channels,
        first.hidden_channels,
        np.concatenate(more) if more else None,
    )


Law = OrderLaw | ParameterLaw | Mapping[int, float] | tuple[float, ...]

LAW_RULES: tuple[Rule | str, ...] = (
    Instance("a dict {order: probability} or a law of grnf.law", OrderLaw, ParameterLaw, Mapping, tuple),
    "For one order k alone write {k: 1.0}",
)


def parameter_law(law: Law, hidden_channels: int, name: str, stratified: bool = False) -> ParameterLaw:
    """Return the whole law that `law` stands for; `name` is what users call it.

    Examples
    --------
    >>> parameter_law({1: 1.0}, 4, "orders")
    ParameterLaw(Categorical({1: 1}), Gaussian(1), hidden_channels=4)
    """
    if not isinstance(law, ParameterLaw):
        return ParameterLaw(as_order_law(law), Gaussian(), hidden_channels, stratified)
    if law.hidden_channels != hidden_channels:
        raise ValueError(
            f"{name} is a law with {law.hidden_channels} hidden channels, "
            f"but hidden_channels={hidden_channels}"
        )
    return ParameterLaw(law.orders, law.coefficients, hidden_channels, law.stratified or stratified)
