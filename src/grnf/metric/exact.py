"""The distance and the kernel without sampling: infinitely many hidden channels, by Gaussian integrals.

The hidden sums U of a graph have second moments in closed form (`grnf.engine.moments`). So with normal
theta_H and theta_0 of variance s^2, for every number F_h of hidden channels,

    E[H H'] = s^2 (1 + F_h sum_pi K_pi(g, g')).

With infinitely many hidden channels, theta_H scaled such that these moments stay those of F_h, the pair
(H, H') is normal at each order k. Then E[rho_i(H) rho_i(H')] is a Gaussian integral again
(`gaussian_product`), and

    d^2 = sum_k p(k) E_k[(rho_i(H) - rho_i(H'))^2]

needs no sampling, no M and no seed. It is close to d_P^2 of F_h hidden channels, but not equal to it. Under
the conditions of Theorem 1 it is a metric.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

import numpy as np

from grnf._utils.rules import Int, checked
from grnf.activations import Activation, get_activation
from grnf.engine import Engine
from grnf.engine.moments import MOST_TYPES, GraphTypes, graph_types, partition_groups, second_moments
from grnf.errors import GraphError, OrderTooLargeError, invalid
from grnf.features import FeatureMap
from grnf.graphs import Graph, GraphBatch, check_graphs
from grnf.law import OrderLaw, ParameterLaw
from grnf.law.distributions import scales_of
from grnf.law.parameters import parameter_law
from grnf.metric.estimate import DistanceEstimate
from grnf.metric.marginal import MOMENTS, gaussian_product
from grnf.typing import FloatArray

LIPSCHITZ = {"erf": 2 / math.sqrt(math.pi), "sigmoid": 0.25}
"""The largest slope of the outer activations for which it is not 1."""

ROUNDING = 64 * np.finfo(np.float64).eps
"""Squared distances below this share of kappa(g, g) + kappa(h, h) are rounding, and set to 0."""

MAX_ORDER = 3
AFFORDABLE_TYPES = 3000
"""Types of tuples up to which intervals use a closed form: some hundredths of a second for a pair."""
MOST_ENTRIES = 2**27
"""Entries of the tables of attributes of all graphs: nodes times channels. 1 GB."""
ROWS = 256
"""Rows of a kernel matrix that are treated at once."""


@dataclass(frozen=True)
class ExactMetric:
    """The distance and the kernel of infinitely many hidden channels.

    Parameters
    ----------
    law : ParameterLaw
        The distribution of orders and coefficients, with F_h. Coefficients must be Gaussian, or a mixture of
        Gaussian scales.
    hidden_activation : Activation
        rho_e: relu, erf, tanh, sigmoid or identity.
    activation : Activation
        rho_i: the same.
    basis : "indicator" or "overlapping"
    normalize, adjacency_channel : bool
    max_order : int, default=3
        K: orders above it are left out. `truncation` bounds the error.
    max_types : int, default=200,000
        Types of tuples that a graph may have.
    """

    law: ParameterLaw
    hidden_activation: Activation = field(default_factory=lambda: get_activation("relu"))
    activation: Activation = field(default_factory=lambda: get_activation("tanh"))
    basis: str = "indicator"
    normalize: bool = True
    adjacency_channel: bool = True
    max_order: int = MAX_ORDER
    max_types: int = MOST_TYPES

    def __post_init__(self) -> None:
        checked(self.max_order, "max_order", Int(1))
        if scales_of(self.law.coefficients) is None:
            name = type(self.law.coefficients).__name__
            raise invalid("coefficients", "be Gaussian or ScaleMixture for a closed form", name)
        for role, rho in (("hidden_activation", self.hidden_activation), ("activation", self.activation)):
            if rho.name not in MOMENTS:
                names = ", ".join(map(repr, MOMENTS))
                raise invalid(role, f"be one of {names} for a closed form", repr(rho.name))
        if not self.orders:
            raise invalid("max_order", f"reach an order of {self.law.orders!r}", str(self.max_order))

    @classmethod
    def of_map(cls, of: FeatureMap, max_order: int = MAX_ORDER) -> ExactMetric:
        """Return the limit of the metric that a feature map estimates."""
        rhos = of.hidden_activation, of.activation
        return cls(of.target, *rhos, of.basis, of.normalize, of.adjacency_channel, max_order)

    @property
    def orders(self) -> list[int]:
        """The orders k that are used."""
        return [k for k in range(1, self.max_order + 1) if self.law.orders.probability(k) > 0]

    @property
    def scales(self) -> dict[float, float]:
        """The standard deviations of the coefficients, with their probabilities."""
        return scales_of(self.law.coefficients) or {}

    @property
    def truncation(self) -> float:
        """(range of rho_i)^2 P(k > max_order): how much higher orders may add to a squared distance."""
        rest = max(0.0, 1 - self.law.orders.mass(self.orders))
        return self.activation.spread**2 * rest if rest > 1e-12 else 0.0

    def kernel(self, X: GraphBatch, Y: GraphBatch | None = None) -> FloatArray:
        """Return kappa of all pairs, centered such that the null graph has kernel 0 with all graphs."""
        K, _, _ = self._products(X, Y, with_null=True)
        return np.asarray(K[:-1, :-1] - K[:-1, -1:] - K[-1:, :-1] + K[-1, -1])

    def squared_distances(self, X: GraphBatch, Y: GraphBatch | None = None) -> FloatArray:
        """Return d^2 of all pairs, at least 0."""
        K, own, other = self._products(X, Y)
        largest = own[:, np.newaxis] + other
        squares = largest - 2 * K
        return np.where(squares > ROUNDING * largest, squares, 0.0)

    def lipschitz_bounds(self, X: GraphBatch, Y: GraphBatch | None = None) -> FloatArray:
        """Return L^2 E[(H - H')^2] >= d_P^2 of all pairs, valid for every number of hidden channels."""
        slope = LIPSCHITZ.get(self.activation.name, 1.0) ** 2
        total: FloatArray = np.array(self.truncation)
        for weight, e, c1, c2 in self.covariances(X, Y):
            total = total + weight * slope * np.maximum(c1[:, np.newaxis] + c2 - 2 * e, 0)
        return total

    def types(
        self, batch: GraphBatch, B: int, with_null: bool = False, orbits: bool = True
    ) -> list[GraphTypes]:
        """Return the types of tuples of B nodes of each graph, and of the null graph after them."""
        channels = batch.channels(self.adjacency_channel)
        width, n_nodes = len(channels.node) + 3 * len(channels.edge), int(batch.sizes.sum())
        if n_nodes * width > MOST_ENTRIES:
            needed, most = (f"{8e-9 * entries:.1f} GB" for entries in (n_nodes * width, MOST_ENTRIES))
            raise GraphError(
                f"{n_nodes:,} nodes with {width:,} attribute channels (a channel for each category) need "
                f"up to {needed} for a closed form, more than {most}",
                cure="Pass fewer graphs at a time, merge rare categories, or use the estimates of GRNF",
            )
        engine = Engine(
            self.hidden_activation, self.basis, self.normalize, self.adjacency_channel, np.float64
        )
        result = []
        for graphs in (batch, batch.null())[: 1 + with_null]:
            types = dict(graph_types(engine, graphs, B, self.max_types, orbits))
            result += [types[g] for g in range(len(graphs))]
        return result

    def _products(
        self, X: GraphBatch, Y: GraphBatch | None, with_null: bool = False
    ) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Return E[rho_i(H) rho_i(H')] of all pairs, and of each graph of X and of Y with itself."""
        n1, n2 = len(X) + with_null, len(X if Y is None else Y) + with_null
        K, own, other = np.zeros((n1, n2)), np.zeros(n1), np.zeros(n2)
        name = self.activation.name
        for weight, e, c1, c2 in self.covariances(X, Y, with_null):
            for start in range(0, n1, ROWS):
                some = slice(start, start + ROWS)
                K[some] += weight * gaussian_product(name, c1[some, np.newaxis], c2[np.newaxis], e[some])
            own += weight * gaussian_product(name, c1, c1, c1)
            other += weight * gaussian_product(name, c2, c2, c2)
        return K, own, other

    def covariances(
        self, X: GraphBatch, Y: GraphBatch | None, with_null: bool = False
    ) -> Iterator[tuple[float, FloatArray, FloatArray, FloatArray]]:
        """Yield p(k) p(scale), the covariances of H of all pairs, and the variances of both sides."""
        X, Y = with_same_channels(X, Y)
        types: dict[int, list[list[GraphTypes]]] = {}
        for k in self.orders:
            for scale, p in self.scales.items():
                sums = [np.array(0.0)] * 3
                for multiplicity, form in partition_groups(k, self.basis):
                    if form.slots not in types:
                        sides = [batch for batch in (X, Y) if batch is not None]
                        types[form.slots] = [self.types(batch, form.slots, with_null) for batch in sides]
                    moments = partial(
                        second_moments,
                        node_width=len(X.channels().node),
                        form=form,
                        moments=MOMENTS[self.hidden_activation.name],
                        variance=scale**2,
                        normalize=self.normalize,
                    )
                    parts = [moments(*types[form.slots])]
                    if Y is None:
                        parts += [np.diagonal(parts[0])] * 2
                    else:
                        parts += [np.array([moments([g])[0, 0] for g in side]) for side in types[form.slots]]
                    factor = multiplicity * self.law.hidden_channels
                    sums = [total + factor * part for total, part in zip(sums, parts, strict=True)]
                e, c1, c2 = (scale**2 * (1 + total) for total in sums)
                yield self.law.orders.probability(k) * p, e, c1, c2


def upper_bounds(of: FeatureMap, X: GraphBatch, Y: GraphBatch) -> FloatArray:
    """Return L^2 E[(H - H')^2] >= d_P^2 of all pairs, or infinity without a cheap closed form."""
    unknown = np.full((len(X), len(Y)), np.inf)
    names = {of.hidden_activation.name, of.activation.name}
    if not names <= MOMENTS.keys() or scales_of(of.target.coefficients) is None:
        return unknown
    if not any(of.target.orders.probability(k) > 0 for k in range(1, MAX_ORDER + 1)):
        return unknown
    metric = replace(ExactMetric.of_map(of), max_types=AFFORDABLE_TYPES)
    try:
        return metric.lipschitz_bounds(X, Y)
    except (GraphError, OrderTooLargeError):
        if unknown.size == 1:
            return unknown
    pairs = [[upper_bounds(of, X.take([i]), Y.take([j]))[0, 0] for j in range(len(Y))] for i in range(len(X))]
    return np.array(pairs)


def exact_kernel(
    X: Sequence[Graph] | GraphBatch,
    Y: Sequence[Graph] | GraphBatch | None = None,
    *,
    orders: OrderLaw | ParameterLaw | Mapping[int, float] | None = None,
    hidden_channels: int = 4,
    hidden_activation: str = "relu",
    activation: str = "tanh",
    basis: str = "indicator",
    normalize: bool = True,
    adjacency_channel: bool = True,
    max_order: int = MAX_ORDER,
) -> FloatArray:
    """Compute the kernel of all pairs of graphs without sampling.

    It is exact for infinitely many hidden channels, whose second moments are those of `hidden_channels`. The
    kernel kappa_P of finitely many hidden channels, which `GRNF` estimates, differs a little.

    Parameters
    ----------
    X, Y : sequences of Graph, or GraphBatch
        Y defaults to X.
    orders : dict or distribution of `grnf.law`, default={1: 2/3, 2: 1/3}
        p(k). Coefficients are Gaussian, or a `ScaleMixture`.
    hidden_channels : int, default=4
        F_h.
    hidden_activation, activation : "relu", "erf", "tanh", "sigmoid" or "identity"
        rho_e and rho_i. The closed form of tanh and sigmoid is good to 2e-7.
    basis : "indicator" or "overlapping", default="indicator"
    normalize, adjacency_channel : bool, default=True
        As in `grnf.GRNF`.
    max_order : int, default=3
        Orders above it are left out, see `truncation_bias` for the error.

    Returns
    -------
    array, shape (n1, n2)

    Examples
    --------
    >>> path, star = Graph(4, [(0, 1), (1, 2), (2, 3)]), Graph(4, [(0, 1), (0, 2), (0, 3)])
    >>> exact_kernel([path, star]).round(4)
    array([[0.2367, 0.2344],
           [0.2344, 0.2334]])
    """
    settings: dict[str, Any] = {"basis": basis, "normalize": normalize, "max_order": max_order}
    settings["adjacency_channel"] = adjacency_channel
    metric = _metric(orders, hidden_channels, hidden_activation, activation, **settings)
    return metric.kernel(*_batches(X, Y))


def exact_distances(
    X: Sequence[Graph] | GraphBatch, Y: Sequence[Graph] | GraphBatch | None = None, **settings: Any
) -> FloatArray:
    """Compute the distance of all pairs of graphs without sampling.

    Squares that are zero up to rounding are 0.

    Parameters
    ----------
    X, Y : sequences of Graph, or GraphBatch
        Y defaults to X.
    **settings : optional
        `orders`, `hidden_channels` and the other settings of `exact_kernel`.

    Returns
    -------
    array, shape (n1, n2)

    Examples
    --------
    >>> hexagon = Graph(6, [(i, (i + 1) % 6) for i in range(6)])
    >>> triangles = Graph(6, [(0, 1), (1, 2), (2, 0), (3, 4), (4, 5), (5, 3)])
    >>> for k in (2, 3):
    ...     print(f"{exact_distances([hexagon], [triangles], orders={k: 1.0})[0, 0]:.4f}")
    0.0000
    0.0171
    """
    return np.sqrt(_metric(**settings).squared_distances(*_batches(X, Y)))


def exact_distance(g: Graph, h: Graph, **settings: Any) -> DistanceEstimate:
    """Compute the distance of two graphs without sampling.

    Parameters
    ----------
    g, h : Graph
    **settings : optional
        `orders`, `hidden_channels` and the other settings of `exact_kernel`.

    Returns
    -------
    DistanceEstimate
        Its standard error is 0.

    Examples
    --------
    >>> path, star = Graph(4, [(0, 1), (1, 2), (2, 3)]), Graph(4, [(0, 1), (0, 2), (0, 3)])
    >>> print(f"{exact_distance(path, star):.4f}")
    0.0339
    """
    D = exact_distances([g], [h], **settings)
    return DistanceEstimate(float(D[0, 0]) ** 2, 0.0, 1, math.inf, exact=True)


def _metric(
    orders: OrderLaw | ParameterLaw | Mapping[int, float] | None = None,
    hidden_channels: int = 4,
    hidden_activation: str = "relu",
    activation: str = "tanh",
    **settings: Any,
) -> ExactMetric:
    law = parameter_law({1: 2 / 3, 2: 1 / 3} if orders is None else orders, hidden_channels, "orders")
    return ExactMetric(law, get_activation(hidden_activation), get_activation(activation), **settings)


def with_same_channels(X: GraphBatch, Y: GraphBatch | None) -> tuple[GraphBatch, GraphBatch | None]:
    """Return both sides with the categories of either."""
    if Y is None:
        return X, None
    keys = X.node_codes.keys, X.edge_codes.keys
    return X.with_codes_among(Y.node_codes.keys, Y.edge_codes.keys), Y.with_codes_among(*keys)


def _batches(
    X: Sequence[Graph] | GraphBatch, Y: Sequence[Graph] | GraphBatch | None
) -> tuple[GraphBatch, GraphBatch | None]:
    first = check_graphs(X)
    if Y is None:
        return first, None
    second = check_graphs(Y, node_width=first.node_width, edge_width=first.edge_width, caller="Y")
    return first, second
