"""Lifts of edges: distances, resistances and closed walks between nodes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import scipy.sparse as sp
from scipy.sparse.csgraph import connected_components, shortest_path

from grnf._utils.jit import compiled
from grnf._utils.rules import Int, OneOf, param
from grnf.graphs import GraphBatch
from grnf.lifts.base import EdgeLift, adjacency_matrices, with_node_columns
from grnf.typing import FloatArray


@dataclass(eq=False, repr=False)
class Distance(EdgeLift):
    """Adds edges between nodes up to `cutoff` steps apart, and the number of steps as an edge attribute.

    The old adjacency is kept as an edge attribute before the old attributes, which are 0 on new edges. The
    direction of edges is ignored. Nodes that are not connected get no edge, and self-loops have distance 0.

    Parameters
    ----------
    cutoff : int, optional
        Longest distance, None for any. The number of edges grows with it, up to n^2 / 2.

    Examples
    --------
    >>> from grnf import Graph
    >>> lifted = Distance().fit_transform([Graph(3, [(0, 1), (1, 2)])])
    >>> lifted.edges.tolist(), lifted.edge_attr.tolist()  # columns: old adjacency, distance
    ([[0, 1], [1, 2], [0, 2]], [[1.0, 1.0], [1.0, 1.0], [0.0, 2.0]])
    """

    pairs = "all"

    cutoff: int | None = param(None, Int(1), OneOf(None))

    def pair_values(self, A: FloatArray) -> FloatArray:
        """Return numbers of steps, or infinite if there is no path within the cutoff."""
        steps = np.asarray(shortest_path(sp.csr_array(A), method="D", directed=False, unweighted=True))
        if self.cutoff is not None:
            steps[steps > self.cutoff] = np.inf
        return steps


@dataclass(eq=False, repr=False)
class Resistance(EdgeLift):
    """Adds the effective resistance between the two ends of each edge, all edges being resistors of 1 ohm.

    It is 1 for a bridge and near 0 inside a dense part. An edge belongs to a random spanning tree with this
    probability. Direction and repetition of edges are ignored. Self-loops have resistance 0.

    Parameters
    ----------
    pairs : "edges" or "all", default="edges"
        "all" adds edges between all connected nodes, and keeps the old adjacency as an edge attribute before
        the old attributes, which are 0 on new edges.

    Examples
    --------
    >>> from grnf import Graph
    >>> kite = Graph(4, [(0, 1), (1, 2), (2, 0), (2, 3)])
    >>> Resistance().fit_transform([kite]).edge_attr.ravel().round(3)
    array([0.667, 0.667, 0.667, 1.   ])
    """

    pairs: Literal["edges", "all"] = param("edges", OneOf("edges", "all"))

    def pair_values(self, A: FloatArray) -> FloatArray:
        """Return resistances, or infinite between parts that are not connected."""
        _, part = connected_components(sp.csr_array(A), directed=False)
        same = part[:, np.newaxis] == part
        # L + J / n_part is the inverse of L^+ + J / n_part on each part, and J drops out of the differences.
        counts = np.bincount(part)[part]
        G = np.linalg.inv(np.diag(A.sum(axis=1)) - A + same / counts)
        diagonal = np.diag(G)
        resistance = np.maximum(diagonal[:, np.newaxis] + diagonal - G - G.T, 0)
        resistance[~same] = np.inf
        np.fill_diagonal(resistance, 0.0)
        return np.asarray(resistance)


@dataclass(eq=False, repr=False)
class ClosedWalks(EdgeLift):
    """Adds numbers of closed walks among the neighbors of each node, and of both ends of each edge.

    To each node: log(1 + number of closed walks of 2, 3, .. `steps` steps) inside the graph of its neighbors.
    To each edge (or pair of nodes): the same inside the graph of the common neighbors of its ends, and of the
    neighbors of only one end. They distinguish graphs that WL labels and triangles do not, such as
    strongly regular graphs, and change little if a graph changes little, unlike `Individualize`. Direction,
    repetition and self-loops are ignored.

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
    >>> np.expm1(lifted.node_attr[0]).round()  # in a square of neighbors: 2, 3, 4 steps
    array([ 8.,  0., 32.])
    """

    steps: int = param(6, Int(2))
    pairs: Literal["edges", "all"] = param("edges", OneOf("edges", "all"))

    def _lifted(self, batch: GraphBatch) -> GraphBatch:
        columns = np.zeros((batch.node_ptr[-1], self.steps - 1))
        for rows, A in adjacency_matrices(batch, simple=True):
            every = np.arange(A.shape[0])
            dense = A if isinstance(A, np.ndarray) else A.toarray()
            columns[rows] = np.log1p(_closed_walks(dense, every, every, True, self.steps))
        return with_node_columns(super()._lifted(batch), columns, type(self).__name__)

    @property
    def n_columns(self) -> int:  # type: ignore[override]
        """Attributes that are added to an edge."""
        return 2 * (self.steps - 1)

    def pair_values(self, A: FloatArray) -> FloatArray:
        """Return the numbers of closed walks for edges, or for all pairs."""
        between = np.zeros((*A.shape, self.n_columns))
        u, v = np.triu_indices(len(A), 1) if self.pairs == "all" else np.nonzero(np.triu(A, 1))
        walks = np.hstack([_closed_walks(A, u, v, both, self.steps) for both in (True, False)])
        between[u, v] = between[v, u] = np.log1p(walks)
        return between

    def _joined(self, between: FloatArray) -> Any:
        return ~np.eye(len(between), dtype=np.bool_)


@compiled
def _closed_walks(A: Any, u: Any, v: Any, both: bool, steps: int) -> FloatArray:
    """Count closed walks of 2, 3, .. steps among the neighbors of both u[i] and v[i], or of either.

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
def _product(left: Any, sparse: Any) -> Any:
    """Multiply by a matrix of zeros and ones from the right."""
    size = left.shape[0]
    result = np.zeros((size, size))
    for q in range(size):
        for r in range(size):
            if sparse[q, r] != 0:
                for p in range(size):
                    result[r, p] += left[q, p]
    return result
