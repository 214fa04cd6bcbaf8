"""p(k): laws on the hidden order k = 1, 2, ..."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from grnf._utils.rules import Int, checked
from grnf.typing import FloatArray, IntArray

__all__ = ["Categorical", "OrderLaw", "Restricted", "ShiftedPoisson", "as_order_law"]


class OrderLaw(ABC):
    """A probability law on the orders k = 1, 2, ..."""

    @abstractmethod
    def probability(self, k: int) -> float:
        """Return p(k)."""

    @property
    @abstractmethod
    def full_support(self) -> bool:
        """Whether every order k >= 1 has positive probability, as Theorem 1 asks."""

    @abstractmethod
    def to_config(self) -> dict[str, Any]:
        """Return the law as plain JSON values, for `OrderLaw.from_config`."""

    @staticmethod
    def from_config(config: Mapping[str, Any]) -> OrderLaw:
        """Make the law again from what `to_config` returned."""
        kind = config.get("law")
        if kind == "categorical":
            return Categorical({int(k): float(p) for k, p in config["probabilities"].items()})
        if kind == "shifted_poisson":
            return ShiftedPoisson(float(config["rate"]))
        if kind == "restricted":
            return OrderLaw.from_config(config["of"]).restricted_to(config["orders"])
        raise ValueError(f"unknown law of the order: {kind!r}")

    def mass(self, orders: Iterable[int]) -> float:
        """Return P(K), the probability that k lies in `orders`.

        Examples
        --------
        >>> round(ShiftedPoisson(0.5).mass({1, 2}), 3)
        0.91
        """
        return math.fsum(self.probability(k) for k in _checked_orders(orders))

    def restricted_to(self, orders: Iterable[int]) -> Restricted:
        """Return the law of k given that k lies in `orders`: the proposal of the bounded-order map.

        Examples
        --------
        >>> ShiftedPoisson(0.5).restricted_to({1, 2})
        ShiftedPoisson(0.5) on k in {1, 2}, mass 0.910
        """
        return Restricted(self, orders)

    def quantile(self, uniform: FloatArray) -> IntArray:
        """Return the orders at these points of the distribution function, which lie in [0, 1).

        Examples
        --------
        >>> Categorical({1: 2/3, 2: 1/3}).quantile(np.array([0.0, 0.5, 0.7]))
        array([1, 1, 2])
        """
        largest = float(np.max(uniform, initial=0.0))
        orders: list[int] = []
        cumulative: list[float] = []
        total, k = 0.0, 0
        while not cumulative or cumulative[-1] <= largest:
            k += 1
            p = self.probability(k)
            if p > 0:
                total += p
                orders.append(k)
                cumulative.append(total)
            elif k > 10_000 or total > 1 - 1e-12:
                break  # rounding left the sum a hair below 1
        position = np.searchsorted(cumulative, uniform, side="right")
        return np.array(orders, dtype=np.int64)[np.minimum(position, len(orders) - 1)]

    def __eq__(self, other: object) -> bool:
        return isinstance(other, OrderLaw) and self.to_config() == other.to_config()

    def __hash__(self) -> int:
        return hash(repr(self))


class Categorical(OrderLaw):
    """Finitely many orders with given probabilities; the paper's experiments use {1: 2/3, 2: 1/3}.

    Parameters
    ----------
    probabilities : mapping from order to probability
        Orders are integers >= 1; probabilities are >= 0 and sum to 1.

    Examples
    --------
    >>> Categorical({1: 2/3, 2: 1/3}).probability(2)
    0.3333333333333333
    """

    def __init__(self, probabilities: Mapping[int, float]) -> None:
        if not isinstance(probabilities, Mapping) or not probabilities:
            raise ValueError(f"probabilities must be a dict {{order: probability}}; got {probabilities!r}")
        orders = _checked_orders(probabilities)
        values = {k: _checked_real(probabilities[k], f"the probability of order {k}") for k in orders}
        if min(values.values()) < 0:
            raise ValueError(f"probabilities must be >= 0; got {dict(values)}")
        total = math.fsum(values.values())
        if abs(total - 1) > 1e-9:
            raise ValueError(f"probabilities must sum to 1; {dict(values)} sums to {total:.6g}")
        self.probabilities = {k: p for k, p in values.items() if p > 0}

    def probability(self, k: int) -> float:  # noqa: D102
        return self.probabilities.get(k, 0.0)

    @property
    def full_support(self) -> bool:  # noqa: D102
        return False

    def to_config(self) -> dict[str, Any]:  # noqa: D102
        return {"law": "categorical", "probabilities": {str(k): p for k, p in self.probabilities.items()}}

    def __repr__(self) -> str:
        return "Categorical({" + ", ".join(f"{k}: {p:.4g}" for k, p in self.probabilities.items()) + "})"


class ShiftedPoisson(OrderLaw):
    """k = 1 + Poisson(rate): every order has positive probability, so Theorem 1 applies.

    Examples
    --------
    >>> law = ShiftedPoisson(0.5)
    >>> law, round(law.probability(1), 4), law.full_support
    (ShiftedPoisson(0.5), 0.6065, True)
    """

    def __init__(self, rate: float) -> None:
        self.rate = _checked_real(rate, "rate")
        if not 0 < self.rate < 100:
            raise ValueError(f"rate must lie in (0, 100); got {rate!r}")

    def probability(self, k: int) -> float:  # noqa: D102
        if k < 1:
            return 0.0
        return math.exp((k - 1) * math.log(self.rate) - self.rate - math.lgamma(k))

    @property
    def full_support(self) -> bool:  # noqa: D102
        return True

    def to_config(self) -> dict[str, Any]:  # noqa: D102
        return {"law": "shifted_poisson", "rate": self.rate}

    def __repr__(self) -> str:
        return f"ShiftedPoisson({self.rate:g})"


class Restricted(OrderLaw):
    """Another law given that k lies in a finite set: p-bar of the bounded-order map, p / p-bar = P(K)."""

    def __init__(self, law: OrderLaw, orders: Iterable[int]) -> None:
        self.law = law
        self.orders = tuple(_checked_orders(orders))
        self.total = law.mass(self.orders)
        if self.total <= 0:
            raise ValueError(f"{law!r} gives no mass to the orders {set(self.orders)}")

    def probability(self, k: int) -> float:  # noqa: D102
        return self.law.probability(k) / self.total if k in self.orders else 0.0

    @property
    def full_support(self) -> bool:  # noqa: D102
        return False

    def to_config(self) -> dict[str, Any]:  # noqa: D102
        return {"law": "restricted", "of": self.law.to_config(), "orders": list(self.orders)}

    def __repr__(self) -> str:
        inside = ", ".join(map(str, self.orders))
        return f"{self.law!r} on k in {{{inside}}}, mass {self.total:.3f}"


def as_order_law(orders: OrderLaw | Mapping[int, float] | tuple[float, ...]) -> OrderLaw:
    """Return a law unchanged; a dict {order: probability}, or a tuple for 1, 2, .., as a `Categorical`."""
    if isinstance(orders, OrderLaw):
        return orders
    if isinstance(orders, tuple):
        orders = dict(enumerate(orders, start=1))
    if isinstance(orders, Mapping):
        return Categorical(orders)
    raise ValueError(
        f"orders must be a dict {{order: probability}} or a law of grnf.law; got {orders!r}. "
        "For one order k alone write {k: 1.0}."
    )


def _checked_orders(orders: Iterable[int]) -> list[int]:
    if not isinstance(orders, Iterable) or not (found := list(orders)):
        raise ValueError(f"orders must be integers >= 1; got {orders!r}")
    return sorted({checked(k, "an order of the law", Int(1)) for k in found})


def _checked_real(value: Any, what: str) -> float:
    try:
        number = float(value)
    except (TypeError, ValueError):
        raise ValueError(f"{what} must be a real number; got {value!r}") from None
    if not math.isfinite(number):
        raise ValueError(f"{what} must be finite; got {value!r}")
    return number
