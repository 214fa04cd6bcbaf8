"""Walks: how likely is a walker to be back where it began, and how many ways are there around."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, ClassVar, Literal

import numpy as np

from grnf._utils.jit import compiled
from grnf._utils.rules import Int, OneOf, Table
from grnf.graphs import GraphBatch, number_keys
from grnf.lifts.base import DIRECTION, NodeLift, dense_blocks
from grnf.lifts.pairs import PairLift
from grnf.typing import FloatArray

__all__ = ["ClosedWalks", "RandomWalk"]

BLOCK = 256
"""Walks that are followed at a time in a graph too large for a dense matrix."""


class RandomWalk(NodeLift):
    """Adds the probabilities that a random walk is back at its node after 1, 2, .. steps.

    A step goes along a random edge, repeated edges counting each time; a walker without an edge is lost.

    Parameters
    ----------
    steps : int, default=4
    direction : "any", "out" or "in", default="any"
        Which arcs of directed graphs a walker may take.

    Examples
    --------
    >>> from grnf import Graph
    >>> RandomWalk(3).fit_transform([Graph(3, [(0, 1), (1, 2), (2, 0)])]).node_attr[0]
    array([0.  , 0.5 , 0.25])
    """

    _rules: ClassVar[Table] = {"steps": [Int(1)], "direction": [DIRECTION]}

    def __init__(self, steps: int = 4, *, direction: Literal["any", "out", "in"] = "any") -> None:
        self.steps = steps
        self.direction = direction

    def _columns(self, batch: GraphBatch) -> FloatArray:
        columns = np.zeros((batch.node_ptr[-1], self.steps))
        A: Any
        for rows, A in dense_blocks(batch, direction=self.direction):
            scale = 1 / np.maximum(A.sum(axis=1), 1)
            if not isinstance(A, np.ndarray):
                columns[rows] = self._by_blocks(A.multiply(scale[:, np.newaxis]).tocsr())
            else:
                columns[rows] = self._dense(scale[:, np.newaxis] * A)
        return columns

    def _dense(self, step: Any) -> FloatArray:
        """Return the diagonals of the powers; diag(P^(s+t)) needs P^s and P^t only."""
        columns = np.empty((len(step), self.steps))
        low = power = step
        for t in range(1, self.steps + 1):
            if t == 1:
                columns[:, 0] = np.diag(step)
            elif t % 2 == 0:
                columns[:, t - 1] = (power * power.T).sum(axis=1)
            else:
                low, power = power, power @ step
                columns[:, t - 1] = (low * power.T).sum(axis=1)
        return columns

    def _by_blocks(self, step: Any) -> FloatArray:
        size = step.shape[0]
        columns = np.empty((size, self.steps))
        for start in range(0, size, BLOCK):
            nodes = np.arange(start, min(start + BLOCK, size))
            walkers = np.zeros((size, len(nodes)))
            walkers[nodes, nodes - start] = 1
            for t in range(self.steps):
                walkers = step @ walkers
                columns[nodes, t] = walkers[nodes, nodes - start]
        return columns


class ClosedWalks(PairLift):
    """Adds how many closed walks there are among the neighbours of each node, and between those of two nodes.

    To each node: log(1 + number of closed walks of 2, 3, .. `steps` steps inside the graph of its
    neighbours). To each edge (or pair of nodes): the same inside the graph of the nodes that neighbour both
    ends, and of those that neighbour one of them only. These see what colours and triangles do not
    (strongly regular graphs, for one), and change little where a graph changes little: a smooth companion
    of `Individualize`. Direction, repetition and self-loops are ignored.

    Parameters
    ----------
    steps : int, default=6
        Longest walk.
    pairs : "edges" or "all", default="edges"
        "all" adds edges between all nodes, and keeps the old adjacency as an edge attribute before
        the old attributes, which are 0 on new edges.

    Examples
    --------
    >>> from grnf import Graph
    >>> wheel = Graph(5, [(0, 1), (0, 2), (0, 3), (0, 4), (1, 2), (2, 3), (3, 4), (4, 1)])
    >>> lifted = ClosedWalks(steps=4).fit_transform([wheel])
    >>> np.expm1(lifted.node_attr[0]).round()  # in a square of neighbours: 2, 3, 4 steps
    array([ 8.,  0., 32.])
    """

    _rules: ClassVar[Table] = {"steps": [Int(2)], "pairs": [OneOf("edges", "all")]}

    def __init__(self, steps: int = 6, pairs: Literal["edges", "all"] = "edges") -> None:
        self.steps = steps
        self.pairs = pairs

    def _lifted(self, batch: GraphBatch) -> GraphBatch:
        columns = np.zeros((batch.node_ptr[-1], self.steps - 1))
        for rows, A in dense_blocks(batch, simple=True):
            everyone = np.arange(A.shape[0])
            columns[rows] = np.log1p(_closed_walks(_matrix(A), everyone, everyone, True, self.steps))
        keys = number_keys("node", columns.shape[1], f"{type(self).__name__} after {batch.node_width}")
        return replace(
            super()._lifted(batch),
            node_attr=np.hstack([batch.node_attr, columns]),
            node_keys=np.concatenate([batch.node_keys, keys]),
        )

    def _n_columns(self) -> int:
        return 2 * (self.steps - 1)

    def _between(self, A: Any) -> FloatArray:
        dense = _matrix(A)
        between = np.zeros((*dense.shape, self._n_columns()))
        u, v = np.triu_indices(len(dense), 1) if self.pairs == "all" else np.nonzero(np.triu(dense, 1))
        walks = np.hstack([_closed_walks(dense, u, v, both, self.steps) for both in (True, False)])
        between[u, v] = between[v, u] = np.log1p(walks)
        return between

    def _wanted(self, between: FloatArray) -> Any:
        return ~np.eye(len(between), dtype=np.bool_)


def _matrix(A: Any) -> FloatArray:
    return A if isinstance(A, np.ndarray) else np.asarray(A.toarray())


@compiled
def _closed_walks(A: Any, u: Any, v: Any, both: bool, steps: int) -> FloatArray:
    """Count closed walks of 2, 3, .. steps among the neighbors of both u[i] and v[i], or of one only.

    Neither u[i] nor v[i] counts as one of those nodes. With u = v and `both` these are the neighbors of a
    node.
    """
    n = A.shape[0]
    counts = np.zeros((len(u), steps - 1))
    members = np.empty(n, np.int64)
    for i in range(len(u)):
        size = 0
        for w in range(n):
            if w != u[i] and w != v[i]:
                one, other = A[u[i], w] > 0, A[v[i], w] > 0
                if (one and other) if both else (one != other):
                    members[size] = w
                    size += 1
        step = np.empty((size, size))
        for p in range(size):
            for q in range(size):
                step[p, q] = A[members[p], members[q]]
        low, high = step, step
        for t in range(2, steps + 1):  # tr P^(s + t) needs P^s and P^t only
            if t % 2 == 1:
                low, high = high, _product(high, step)
            else:
                low = high
            for p in range(size):
                for q in range(size):
                    counts[i, t - 2] += low[p, q] * high[q, p]
    return counts


@compiled
def _product(one: Any, sparse: Any) -> Any:
    """Multiply by a matrix of zeros and ones from the right."""
    size = one.shape[0]
    found = np.zeros((size, size))
    for q in range(size):
        for r in range(size):
            if sparse[q, r] != 0:
                for p in range(size):
                    found[r, p] += one[q, p]
    return found
