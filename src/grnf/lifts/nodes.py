"""Lifts of nodes: degrees, sizes, means of neighbors, triangles, random walks."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import Any, Literal

import numpy as np
import scipy.sparse as sp

from grnf._utils.rules import Bool, Int, OneOf, param
from grnf.graphs import GraphBatch
from grnf.lifts.attributes import signed_log
from grnf.lifts.base import DIRECTION, Direction, NodeLift, adjacency, adjacency_matrices, graph_sums
from grnf.typing import FloatArray

BLOCK = 256
"""Walks that are followed at a time in a graph too large for a dense matrix."""


@dataclass(eq=False, repr=False)
class Degree(NodeLift):
    """Adds the degree of each node. Repeated edges count each time, self-loops once.

    Parameters
    ----------
    log : bool, default=True
        Add log(1 + degree), whose scale suits graphs of any density.
    direction : "any", "out" or "in", default="any"
        Which arcs of directed graphs count.

    Examples
    --------
    >>> from grnf import Graph
    >>> Degree(log=False).fit_transform([Graph(3, [(0, 1), (1, 2)])]).node_attr.ravel()
    array([1., 2., 1.])
    """

    log: bool = param(True, Bool())
    _: KW_ONLY
    direction: Direction = param("any", DIRECTION)

    def node_columns(self, batch: GraphBatch) -> FloatArray:
        """Return the degree of each node."""
        degree = adjacency(batch, self.direction).sum(axis=1)
        return np.asarray(np.log1p(degree) if self.log else degree)[:, np.newaxis]


class Size(NodeLift):
    """Adds log(1 + number of nodes) and log(1 + number of edges) of its graph to each node.

    A normalized map takes means over nodes and hardly depends on sizes without these channels.

    Examples
    --------
    >>> from grnf import Graph
    >>> np.exp(Size().fit_transform([Graph(2, [(0, 1)])]).node_attr).round()
    array([[3., 2.],
           [3., 2.]])
    """

    def node_columns(self, batch: GraphBatch) -> FloatArray:
        """Return numbers of nodes and edges, on each node of a graph."""
        counts = np.column_stack([batch.sizes, np.diff(batch.edge_ptr)])
        return np.repeat(np.log1p(counts), batch.sizes, axis=0)


@dataclass(eq=False, repr=False)
class Pool(NodeLift):
    """Adds to each node a statistic of every node attribute over its graph.

    Parameters
    ----------
    kind : "mean" or "count", default="mean"
        The mean; or the size of the sum, sign(s) log(1 + |s|), which for one-hot categories counts them.

    Examples
    --------
    >>> from grnf import Graph
    >>> Pool("mean").fit_transform([Graph(2, [], [[1.0], [3.0]])]).node_attr
    array([[1., 2.],
           [3., 2.]])
    """

    kind: Literal["mean", "count"] = param("mean", OneOf("mean", "count"))

    def node_columns(self, batch: GraphBatch) -> FloatArray:
        """Return the statistics of a graph on each of its nodes."""
        sizes = batch.sizes
        sums = graph_sums(batch.node_attr, np.repeat(np.arange(len(batch)), sizes), len(batch))
        pooled = sums / np.maximum(sizes, 1)[:, np.newaxis] if self.kind == "mean" else signed_log(sums)
        return np.repeat(pooled, sizes, axis=0)


@dataclass(eq=False, repr=False)
class Propagate(NodeLift):
    """Adds the attributes of neighbors, hop by hop: A^h x after h hops.

    Every hop adds as many channels as there are node attributes. Graphs without node attributes get
    nothing: put `Degree` first.

    Parameters
    ----------
    hops : int, default=2
    kind : "mean" or "sum", default="mean"
        Mean over neighbors (0 for a node that has none) or their sum.
    direction : "any", "out" or "in", default="any"
        Which arcs of directed graphs lead to a neighbor.

    Examples
    --------
    >>> from grnf import Graph
    >>> path = Graph(3, [(0, 1), (1, 2)], [[0.0], [1.0], [4.0]])
    >>> Propagate(hops=2).fit_transform([path]).node_attr
    array([[0., 1., 2.],
           [1., 2., 1.],
           [4., 1., 2.]])
    """

    hops: int = param(2, Int(1))
    kind: Literal["mean", "sum"] = param("mean", OneOf("mean", "sum"))
    _: KW_ONLY
    direction: Direction = param("any", DIRECTION)

    def node_columns(self, batch: GraphBatch) -> FloatArray:
        """Return the attributes after each hop."""
        step = adjacency(batch, self.direction)
        scale = np.ones(step.shape[0])
        if self.kind == "mean":
            scale = 1 / np.maximum(step.sum(axis=1), 1)
        values: Any = batch.node_attr
        hops = []
        for _ in range(self.hops):
            values = scale[:, np.newaxis] * (step @ values)
            hops.append(values)
        return np.hstack(hops)


class Triangles(NodeLift):
    """Adds log(1 + number of triangles) through each node, and its clustering coefficient.

    Direction, repetition and self-loops are ignored. The coefficient is the share of pairs of neighbors
    that are neighbors themselves, 0 for fewer than two neighbors.

    Examples
    --------
    >>> from grnf import Graph
    >>> kite = Graph(4, [(0, 1), (1, 2), (2, 0), (2, 3)])
    >>> Triangles().fit_transform([kite]).node_attr[:, 1].round(3)
    array([1.   , 1.   , 0.333, 0.   ])
    """

    def node_columns(self, batch: GraphBatch) -> FloatArray:
        """Return triangles and clustering coefficients."""
        degree, triangles = degrees_and_triangles(batch)
        clustering = 2 * triangles / np.maximum(degree * (degree - 1), 1)
        return np.column_stack([np.log1p(triangles), clustering])


@dataclass(eq=False, repr=False)
class RandomWalk(NodeLift):
    """Adds the probabilities that a random walk returns to its node after 1, 2, .. steps.

    A step follows a random edge. Repeated edges count each time. A walk ends at a node without edges.

    Parameters
    ----------
    steps : int, default=4
    direction : "any", "out" or "in", default="any"
        Which arcs of directed graphs a walk may follow.

    Examples
    --------
    >>> from grnf import Graph
    >>> RandomWalk(3).fit_transform([Graph(3, [(0, 1), (1, 2), (2, 0)])]).node_attr[0]
    array([0.  , 0.5 , 0.25])
    """

    steps: int = param(4, Int(1))
    _: KW_ONLY
    direction: Direction = param("any", DIRECTION)

    def node_columns(self, batch: GraphBatch) -> FloatArray:
        """Return the probabilities of return."""
        columns = np.zeros((batch.node_ptr[-1], self.steps))
        for rows, A in adjacency_matrices(batch, direction=self.direction):
            scale = 1 / np.maximum(A.sum(axis=1), 1)[:, np.newaxis]
            if isinstance(A, np.ndarray):
                columns[rows] = self._dense(scale * A)
            else:
                columns[rows] = self._by_blocks(A.multiply(scale).tocsr())
        return columns

    def _dense(self, step: Any) -> FloatArray:
        """Return the diagonals of the powers. diag(P^(s+t)) needs P^s and P^t only."""
        columns = np.empty((len(step), self.steps))
        columns[:, 0] = np.diag(step)
        power = step
        for t in range(2, self.steps + 1):
            low, power = power, power @ step if t % 2 else power
            columns[:, t - 1] = (low * power.T).sum(axis=1)
        return columns

    def _by_blocks(self, step: Any) -> FloatArray:
        size = step.shape[0]
        columns = np.empty((size, self.steps))
        for start in range(0, size, BLOCK):
            nodes = np.arange(start, min(start + BLOCK, size))
            walks = np.zeros((size, len(nodes)))
            walks[nodes, nodes - start] = 1
            for t in range(self.steps):
                walks = step @ walks
                columns[nodes, t] = walks[nodes, nodes - start]
        return columns


def degrees_and_triangles(batch: GraphBatch) -> tuple[FloatArray, FloatArray]:
    """Return degree and number of triangles of each node, without direction, repetition, self-loops."""
    degree, triangles = np.zeros((2, batch.node_ptr[-1]))
    for rows, A in adjacency_matrices(batch, simple=True):
        degree[rows] = A.sum(axis=1)
        triangles[rows] = _sparse_triangles(A) if sp.issparse(A) else (A * (A @ A)).sum(axis=1) / 2
    return degree, triangles


def _sparse_triangles(A: Any) -> FloatArray:
    """Count triangles from the node of least degree on: the pairs of a hub's neighbors are never listed."""
    degree = np.diff(A.indptr)
    i, j = np.repeat(np.arange(len(degree)), degree), A.indices
    up = (degree[i] < degree[j]) | ((degree[i] == degree[j]) & (i < j))
    later = sp.csr_array((A.data[up], (i[up], j[up])), shape=A.shape)
    ends, middle = (later @ later).multiply(later), (later.T.tocsr() @ later).multiply(later)
    return np.asarray(ends.sum(axis=1) + ends.sum(axis=0) + middle.sum(axis=1))
