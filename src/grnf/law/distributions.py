"""p(k) and p(theta | k): distributions of the hidden order k = 1, 2, ... and of the coefficients.

Both can be extended: subclass `OrderLaw` with `probability`, or `CoefficientLaw` with `sample`.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
from scipy.special import logsumexp

from grnf._utils.rules import Int, Real, checked
from grnf.errors import invalid
from grnf.typing import FloatArray, IntArray


class _Distribution:
    """What distributions of orders and of coefficients share."""

    full_support: bool = False
    """Whether every order, or vector of coefficients, can be drawn, as Theorem 1 requires."""

    def to_config(self) -> dict[str, Any]:
        """Return the distribution as plain JSON values, for `from_config`.

        Returns
        -------
        dict
        """
        raise unsaved(self)

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other) and vars(self) == vars(other)

    def __hash__(self) -> int:
        return hash(type(self))


class OrderLaw(_Distribution, ABC):
    """A probability distribution on the orders k = 1, 2, ...

    A subclass defines `probability`, and sets `full_support` if every order has a positive probability.

    Examples
    --------
    >>> class Even(OrderLaw):
    ...     def probability(self, k):
    ...         return 0.5 ** (k // 2) if k % 2 == 0 else 0.0
    >>> law = Even()
    >>> law.probability(2), law.mass([1, 2, 3, 4]), law.quantile(np.array([0.1, 0.6]))
    (0.5, 0.75, array([2, 4]))
    >>> OrderLaw.from_config(Categorical({1: 0.5, 2: 0.5}).to_config())
    Categorical({1: 0.5, 2: 0.5})
    """

    @abstractmethod
    def probability(self, k: int) -> float:
        """Return p(k).

        Parameters
        ----------
        k : int

        Returns
        -------
        float
        """

    @staticmethod
    def from_config(config: Mapping[str, Any]) -> OrderLaw:
        """Make the distribution again from what `to_config` returned.

        Parameters
        ----------
        config : dict

        Returns
        -------
        OrderLaw
        """
        kind = config.get("law")
        if kind == "categorical":
            return Categorical({int(k): float(p) for k, p in config["probabilities"].items()})
        if kind == "shifted_poisson":
            return ShiftedPoisson(float(config["rate"]))
        if kind == "restricted":
            return OrderLaw.from_config(config["of"]).restricted_to(config["orders"])
        raise ValueError(f"unknown order distribution: {kind!r}")

    def mass(self, orders: Iterable[int]) -> float:
        """Return P(K), the probability that k lies in `orders`.

        Parameters
        ----------
        orders : iterable of int

        Returns
        -------
        float
        """
        return math.fsum(self.probability(k) for k in _checked_orders(orders))

    def restricted_to(self, orders: Iterable[int]) -> Restricted:
        """Return the law of k given that k lies in `orders`: the proposal of the bounded-order map.

        Parameters
        ----------
        orders : iterable of int

        Returns
        -------
        OrderLaw

        Examples
        --------
        >>> ShiftedPoisson(0.5).restricted_to({1, 2})
        ShiftedPoisson(0.5) on k in {1, 2}, mass 0.910
        """
        return Restricted(self, orders)

    def quantile(self, uniform: FloatArray) -> IntArray:
        """Return the orders at these points of the distribution function, which lie in [0, 1).

        Parameters
        ----------
        uniform : array
            Numbers in [0, 1).

        Returns
        -------
        array of int
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
                break  # rounding left the sum slightly below 1
        position = np.searchsorted(cumulative, uniform, side="right")
        return np.array(orders, dtype=np.int64)[np.minimum(position, len(orders) - 1)]


class Categorical(OrderLaw):
    """Finitely many orders with given probabilities. The paper's experiments use {1: 2/3, 2: 1/3}.

    Parameters
    ----------
    probabilities : mapping from order to probability
        Orders are integers >= 1. Probabilities are >= 0 and sum to 1.

    Examples
    --------
    >>> Categorical({1: 2/3, 2: 1/3}).probability(2)
    0.3333333333333333
    """

    def __init__(self, probabilities: Mapping[int, float]) -> None:
        if not isinstance(probabilities, Mapping) or not probabilities:
            raise invalid("probabilities", "be a dict {order: probability}", repr(probabilities))
        orders = _checked_orders(probabilities)
        values = {k: _checked_real(probabilities[k], f"the probability of order {k}") for k in orders}
        if min(values.values()) < 0:
            raise invalid("probabilities", "be >= 0", repr(values))
        total = math.fsum(values.values())
        if abs(total - 1) > 1e-9:
            raise invalid("probabilities", "sum to 1", f"{values}, which sum to {total:.6g}")
        self.probabilities = {k: p for k, p in values.items() if p > 0}

    def probability(self, k: int) -> float:  # noqa: D102
        return self.probabilities.get(k, 0.0)

    def to_config(self) -> dict[str, Any]:  # noqa: D102
        return {"law": "categorical", "probabilities": {str(k): p for k, p in self.probabilities.items()}}

    def __repr__(self) -> str:
        return "Categorical({" + ", ".join(f"{k}: {p:.4g}" for k, p in self.probabilities.items()) + "})"


class ShiftedPoisson(OrderLaw):
    """k = 1 + Poisson(rate): every order has positive probability, so Theorem 1 applies.

    Parameters
    ----------
    rate : float
        The mean of k is 1 + rate.

    Examples
    --------
    >>> law = ShiftedPoisson(0.5)
    >>> law, round(law.probability(1), 4), law.full_support
    (ShiftedPoisson(0.5), 0.6065, True)
    """

    full_support = True

    def __init__(self, rate: float) -> None:
        self.rate = _checked_real(rate, "rate")
        if not 0 < self.rate < 100:
            raise invalid("rate", "lie in (0, 100)", repr(rate))

    def probability(self, k: int) -> float:  # noqa: D102
        if k < 1:
            return 0.0
        return math.exp((k - 1) * math.log(self.rate) - self.rate - math.lgamma(k))

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
            raise invalid("orders", f"have positive probability under {law!r}", f"{set(self.orders)}")

    def probability(self, k: int) -> float:  # noqa: D102
        return self.law.probability(k) / self.total if k in self.orders else 0.0

    def to_config(self) -> dict[str, Any]:  # noqa: D102
        return {"law": "restricted", "of": self.law.to_config(), "orders": list(self.orders)}

    def __repr__(self) -> str:
        inside = ", ".join(map(str, self.orders))
        return f"{self.law!r} on k in {{{inside}}}, mass {self.total:.3f}"


def as_order_law(orders: OrderLaw | Mapping[int, float] | tuple[float, ...]) -> OrderLaw:
    """Return a distribution unchanged, a dict {order: probability} or a tuple as a `Categorical`."""
    if isinstance(orders, OrderLaw):
        return orders
    if isinstance(orders, tuple):
        orders = dict(enumerate(orders, start=1))
    if isinstance(orders, Mapping):
        return Categorical(orders)
    raise invalid(
        "orders",
        "be a dict {order: probability} or a distribution of grnf.law",
        repr(orders),
        "For one order k alone write {k: 1.0}",
    )


def _checked_orders(orders: Iterable[int]) -> list[int]:
    if not isinstance(orders, Iterable) or not (given := list(orders)):
        raise invalid("orders", "be integers >= 1", repr(orders))
    return sorted({checked(k, "an order of the law", Int(1)) for k in given})


def _checked_real(value: Any, what: str) -> float:
    try:
        number = float(value)
    except (TypeError, ValueError):
        raise invalid(what, "be a real number", repr(value)) from None
    if not math.isfinite(number):
        raise invalid(what, "be finite", repr(value))
    return number


class CoefficientLaw(_Distribution, ABC):
    """The distribution of the coefficients of a feature, given its order.

    A subclass defines `sample`. It also sets `full_support` if its density is positive everywhere.

    Examples
    --------
    >>> class Signs(CoefficientLaw):
    ...     def sample(self, normal, uniform):
    ...         return np.sign(normal)
    >>> from grnf import GRNF
    >>> from grnf.law import ParameterLaw
    >>> law = ParameterLaw((2 / 3, 1 / 3), coefficients=Signs())
    >>> GRNF(8, orders=law, random_state=0).fit_transform(["CCO"]).shape
    (1, 8)
    >>> Signs().sample(np.array([0.3, -1.2]), np.array([0.5, 0.5]))
    array([ 1., -1.])
    >>> CoefficientLaw.from_config(Gaussian(2.0).to_config())
    Gaussian(2)
    """

    @abstractmethod
    def sample(self, normal: FloatArray, uniform: FloatArray) -> FloatArray:
        """Return coefficients, made from independent standard normal numbers, entry by entry.

        Entries depend on the seed, the feature and the channel only, so that a vector does not depend on the
        other graphs. A function of each entry keeps this property, and so does a factor per feature.

        Parameters
        ----------
        normal : array, shape (..., m)
            Standard normal numbers, the last axis running over features. The method may overwrite them.
        uniform : array, shape (m,)
            One uniform number in [0, 1) per feature.

        Returns
        -------
        array, of the shape of `normal`
        """

    @staticmethod
    def from_config(config: Mapping[str, Any]) -> CoefficientLaw:
        """Make the distribution again from what `to_config` returned.

        Parameters
        ----------
        config : dict

        Returns
        -------
        CoefficientLaw
        """
        if config.get("law") == "gaussian":
            return Gaussian(float(config["scale"]))
        if config.get("law") == "scale_mixture":
            return ScaleMixture({float(scale): float(p) for scale, p in config["probabilities"]})
        raise ValueError(f"unknown coefficient distribution: {config.get('law')!r}")


class ScaleMixture(CoefficientLaw):
    """One of several standard deviations for each feature, then independent normal coefficients.

    As a proposal it reaches small and large coefficients in one sample. If the scale of the target is among
    its own, the weights p / p-bar stay below the reciprocal of that scale's probability.

    Its density depends on a vector through its length and its number of entries only. So the hidden part of
    a feature and any of its heads can be weighted separately or together.

    Parameters
    ----------
    probabilities : mapping from standard deviation to probability

    Examples
    --------
    >>> ScaleMixture({1.0: 0.75, 3.0: 0.25})
    ScaleMixture({1: 0.75, 3: 0.25})
    >>> mixture = ScaleMixture({1.0: 0.75, 3.0: 0.25})
    >>> mixture.log_density(np.array([[3.0, 4.0]])).round(3)
    array([-6.81])
    >>> mixture.log_density_of(np.array([3.0**2 + 4.0**2]), count=2).round(3)
    array([-6.81])
    """

    full_support = True

    def __init__(self, probabilities: Mapping[float, float]) -> None:
        if not isinstance(probabilities, Mapping) or not probabilities:
            raise invalid("probabilities", "be a dict {scale: probability}", repr(probabilities))
        values = {checked(scale, "scale", Real()): float(p) for scale, p in probabilities.items()}
        total = math.fsum(values.values())
        if not min(values.values()) >= 0 or abs(total - 1) > 1e-9:
            raise invalid("probabilities", "be >= 0 and sum to 1", repr(dict(probabilities)))
        self.probabilities = {scale: p for scale, p in sorted(values.items()) if p > 0}

    def sample(self, normal: FloatArray, uniform: FloatArray) -> FloatArray:  # noqa: D102
        if list(self.probabilities) != [1.0]:
            scales, p = list(self.probabilities), list(self.probabilities.values())
            position = np.searchsorted(np.cumsum(p), uniform, side="right")
            normal *= np.array(scales)[np.minimum(position, len(scales) - 1)]
        return normal

    def log_density(self, theta: FloatArray) -> FloatArray:
        """Return the log density of each row of coefficients.

        Parameters
        ----------
        theta : array, shape (m, n_coefficients)

        Returns
        -------
        array, shape (m,)
        """
        return self.log_density_of(np.square(theta).sum(axis=-1), theta.shape[-1])

    def log_density_of(self, squares: FloatArray, count: int) -> FloatArray:
        """Return the log density of `count` coefficients whose squares sum to `squares`.

        Parameters
        ----------
        squares : array, shape (m,)
            Sums of squares.
        count : int
            Number of coefficients.

        Returns
        -------
        array, shape (m,)
        """
        terms = [
            math.log(p)
            - count * (math.log(scale) + 0.5 * math.log(2 * math.pi))
            - 0.5 * np.asarray(squares) / scale**2
            for scale, p in self.probabilities.items()
        ]
        return np.asarray(logsumexp(terms, axis=0)) if len(terms) > 1 else terms[0]

    def __eq__(self, other: object) -> bool:
        same = isinstance(other, CoefficientLaw) and scales_of(self) == scales_of(other)
        return super().__eq__(other) or (same and scales_of(self) is not None)

    def __hash__(self) -> int:
        return hash(tuple(self.probabilities.items()))

    def to_config(self) -> dict[str, Any]:  # noqa: D102
        return {"law": "scale_mixture", "probabilities": [list(item) for item in self.probabilities.items()]}

    def __repr__(self) -> str:
        inside = ", ".join(f"{scale:g}: {p:.4g}" for scale, p in self.probabilities.items())
        return f"ScaleMixture({{{inside}}})"


class Gaussian(ScaleMixture):
    """Independent normal coefficients with mean 0 and one standard deviation.

    Parameters
    ----------
    scale : float, default=1.0
        Standard deviation.

    Examples
    --------
    >>> Gaussian(2.0)
    Gaussian(2)
    >>> Gaussian(2.0).log_density(np.array([[3.0, 4.0]])).round(3)
    array([-6.349])
    >>> Gaussian(2.0).log_density_of(np.array([25.0]), count=2).round(3)
    array([-6.349])
    """

    def __init__(self, scale: float = 1.0) -> None:
        super().__init__({checked(scale, "scale", Real()): 1.0})

    @property
    def scale(self) -> float:
        """The standard deviation."""
        return float(*self.probabilities)

    def to_config(self) -> dict[str, Any]:  # noqa: D102
        return {"law": "gaussian", "scale": self.scale}

    def __repr__(self) -> str:
        return f"Gaussian({self.scale:g})"


def scales_of(law: CoefficientLaw) -> dict[float, float] | None:
    """Return the probabilities of the standard deviations, or None with a `sample` of its own."""
    if isinstance(law, ScaleMixture) and type(law).sample is ScaleMixture.sample:
        return law.probabilities
    return None


def unsaved(law: object) -> ValueError:
    """Return the error of a distribution that `from_config` could not make again."""
    return ValueError(
        f"{type(law).__name__} cannot be saved, because a file holds only distributions of grnf.law. "
        "Use one of these, or pickle the transformer"
    )
