"""Whether vectors tell two graphs apart: by their distance, and by the protocol of BREC."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

import numpy as np

from grnf._utils.random import page_generator
from grnf.graphs import Graph
from grnf.typing import FloatArray

__all__ = [
    "COPIES",
    "OUTPUTS",
    "RIDGE",
    "ROUNDING",
    "WIDER",
    "by_protocol",
    "equal_pairs",
    "relabelled",
    "told_apart",
]

COPIES, OUTPUTS, THRESHOLD, RIDGE = 32, 16, 72.34, 1e-7
"""Of BREC: relabelled copies of each graph, numbers per graph, what T^2 must exceed, what is added to S."""

ROUNDING = 1e-12
"""Distances in double precision up to which two vectors count as equal."""

WIDER = 1e-10
"""Another such bound, to see which answers hang on it."""

Embed: TypeAlias = Callable[[list[Graph]], FloatArray]


def told_apart(Z: FloatArray, other: FloatArray, bound: float = ROUNDING) -> Any:
    """Return which rows of two arrays lie further apart than rounding explains."""
    return np.linalg.norm(Z - other, axis=1) > bound


def equal_pairs(Z: FloatArray) -> int:
    """Return how many pairs of rows are equal, but for rounding.

    Examples
    --------
    >>> equal_pairs(np.array([[0.0], [1.0], [0.0], [1e-15]]))
    3
    """
    from scipy.spatial import KDTree

    places = KDTree(Z)
    return int(places.count_neighbors(places, ROUNDING) - len(Z)) // 2


def relabelled(graph: Graph, copies: int, seed: int, *where: int) -> list[Graph]:
    """Return copies of a graph with their nodes in random order."""
    generator = page_generator(seed, *where)
    return [graph.permuted(generator.permutation(graph.n_nodes)) for _ in range(copies)]


def by_protocol(embed: Embed, pair: Sequence[Graph], seed: int, number: int) -> dict[str, list[bool]]:
    """Test one pair as BREC does: whether it is told apart, and whether reliably, for S and for S + 1e-7 I.

    T^2 = D' pinv(S) D, where D is the mean and S the covariance of the differences between copies of the
    one graph and copies of the other; reliable if it is small between copies of one of the graphs (here
    each in turn).
    """
    one, other = (relabelled(graph, COPIES, seed, 2 * number + i) for i, graph in enumerate(pair))
    again = relabelled(pair[number % 2], COPIES, seed, 1_000_000 + number)
    Z = embed([*one, *other, *again])
    first, second, third = Z[:COPIES], Z[COPIES : 2 * COPIES], Z[2 * COPIES :]
    own = (first, second)[number % 2]
    found: dict[str, list[bool]] = {"told": [], "reliable": []}
    for ridge in (0.0, RIDGE):
        across, inside = _statistic(first - second, ridge), _statistic(own - third, ridge)
        found["told"].append(bool(across > THRESHOLD and not np.isclose(across, inside, atol=1e-6)))
        found["reliable"].append(bool(inside < THRESHOLD))
    return found


def _statistic(differences: FloatArray, ridge: float) -> float:
    mean = differences.mean(axis=0)
    S = np.cov(differences.T) + ridge * np.eye(len(mean))
    return float(mean @ np.linalg.pinv(S, rcond=len(mean) * np.finfo(np.float64).eps, hermitian=True) @ mean)
