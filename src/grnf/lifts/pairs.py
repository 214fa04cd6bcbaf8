"""Edge channels from the whole graph: distances and resistances between nodes."""

from __future__ import annotations

from typing import Any, ClassVar, Literal

import numpy as np
import scipy.sparse as sp
from scipy.sparse.csgraph import connected_components, shortest_path

from grnf._utils.rules import Int, OneOf, Table
from grnf.errors import GraphError
from grnf.graphs import GraphBatch
from grnf.lifts.base import Lift, dense_blocks, pieces
from grnf.typing import FloatArray, IntArray

__all__ = ["Distance", "PairLift", "Resistance"]


class PairLift(Lift):
    """A lift that adds edge attributes, and with `pairs="all"` edges between all connected nodes.

    With new edges the adjacency of the result is no longer that of the graph; so the old one stands as an
    edge attribute of its own, before the old attributes, which are 0 on new edges.
    """

    pairs: str

    def _lifted(self, batch: GraphBatch) -> GraphBatch:
        if batch.edge_codes.values.shape[1]:
            raise GraphError(
                f"{type(self).__name__} adds edges, for which open categories of edges have no value: encode "
                "them with handle_unknown='ignore' or handle_unknown='error'"
            )
        done = [self._piece(piece) for piece in pieces(batch)]
        counts = np.concatenate([np.diff(piece.edge_ptr) for piece in done])
        return GraphBatch(
            node_ptr=batch.node_ptr,
            edge_ptr=np.concatenate([[0], np.cumsum(counts)]).astype(np.int64),
            edges=np.concatenate([piece.edges for piece in done]),
            node_attr=batch.node_attr,
            edge_attr=np.concatenate([piece.edge_attr for piece in done]),
            directed=batch.directed,
            node_keys=batch.node_keys,
            node_codes=batch.node_codes,
        )

    def _piece(self, batch: GraphBatch) -> GraphBatch:
        edges, values, counts = [np.empty((0, 2), np.int64)], [np.empty((0, self._width(batch)))], []
        blocks = {rows.start: A for rows, A in dense_blocks(batch, simple=True)}
        for g, size in enumerate(batch.sizes):
            span = slice(batch.edge_ptr[g], batch.edge_ptr[g + 1])
            old = batch.edges[span]
            new = np.empty((0, 2), dtype=np.int64)
            between: FloatArray = np.zeros((0, 0, self._n_columns()))
            if size:
                between = self._between(blocks[int(batch.node_ptr[g])])
                if self.pairs == "all":
                    new = self._new_pairs(between, old, bool(batch.directed[g]))
            both = np.concatenate([old, new])
            columns = [batch.edge_attr[span]]
            if self.pairs == "all":
                columns = [np.ones((len(old), 1)), *columns]
            kept = np.hstack(columns)
            kept = np.vstack([kept, np.zeros((len(new), kept.shape[1]))])
            edges.append(both)
            values.append(np.column_stack([kept, between[both[:, 0], both[:, 1]]]))
            counts.append(len(both))
        return GraphBatch(
            node_ptr=batch.node_ptr,
            edge_ptr=np.concatenate([[0], np.cumsum(counts)]).astype(np.int64),
            edges=np.concatenate(edges),
            node_attr=batch.node_attr,
            edge_attr=np.concatenate(values),
            directed=batch.directed,
        )

    def _width(self, batch: GraphBatch) -> int:
        return batch.edge_width + self._n_columns() + (self.pairs == "all")

    def _n_columns(self) -> int:
        """Return how many attributes are added."""
        return 1

    def _new_pairs(self, between: FloatArray, old: IntArray, directed: bool) -> IntArray:
        """Return the pairs of connected nodes that have no edge, both ways in a directed graph."""
        wanted = self._wanted(between)
        wanted[old[:, 0], old[:, 1]] = False
        if not directed:
            wanted[old[:, 1], old[:, 0]] = False
            wanted = np.triu(wanted, 1)
        return np.argwhere(wanted)

    def _wanted(self, between: FloatArray) -> Any:
        """Return which pairs get an edge."""
        return np.isfinite(between) & (between > 0)

    def _between(self, A: Any) -> FloatArray:
        """Return a number (or a vector) for each pair of nodes; infinite: there is nothing to add."""
        raise NotImplementedError


class Distance(PairLift):
    """Adds edges between nodes up to `cutoff` steps apart, and the number of steps as an edge attribute.

    The old adjacency stands as an edge attribute too, before the old attributes, which are 0 on new edges:
    nothing is lost. The direction of edges is ignored on the way; nodes that are not connected get no edge;
    self-loops have distance 0.

    Parameters
    ----------
    cutoff : int, optional
        Longest distance; None: any. The number of edges grows with it, up to n^2 / 2.

    Examples
    --------
    >>> from grnf import Graph
    >>> lifted = Distance().fit_transform([Graph(3, [(0, 1), (1, 2)])])
    >>> lifted.edges.tolist(), lifted.edge_attr.tolist()  # columns: old adjacency, distance
    ([[0, 1], [1, 2], [0, 2]], [[1.0, 1.0], [1.0, 1.0], [0.0, 2.0]])
    """

    pairs = "all"

    _rules: ClassVar[Table] = {"cutoff": [Int(1), OneOf(None)]}

    def __init__(self, cutoff: int | None = None) -> None:
        self.cutoff = cutoff

    def _between(self, A: Any) -> FloatArray:
        steps = np.asarray(shortest_path(sp.csr_array(A), method="D", directed=False, unweighted=True))
        if self.cutoff is not None:
            steps[steps > self.cutoff] = np.inf
        return steps


class Resistance(PairLift):
    """Adds the effective resistance between the two ends of each edge, all edges being resistors of 1 ohm.

    It is 1 for a bridge and near 0 inside a dense part; an edge belongs to a random spanning tree with this
    probability. Direction and repetition of edges are ignored; self-loops have resistance 0.

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

    _rules: ClassVar[Table] = {"pairs": [OneOf("edges", "all")]}

    def __init__(self, pairs: Literal["edges", "all"] = "edges") -> None:
        self.pairs = pairs

    def _between(self, A: Any) -> FloatArray:
        dense = A if isinstance(A, np.ndarray) else A.toarray()
        _, part = connected_components(sp.csr_array(dense), directed=False)
        same = part[:, np.newaxis] == part
        # L + J / n_part is the inverse of L^+ + J / n_part on each part, and J drops out of the differences.
        counts = np.bincount(part)[part]
        G = np.linalg.inv(np.diag(dense.sum(axis=1)) - dense + same / counts)
        diagonal = np.diag(G)
        resistance = np.maximum(diagonal[:, np.newaxis] + diagonal - G - G.T, 0)
        resistance[~same] = np.inf
        np.fill_diagonal(resistance, 0.0)
        return np.asarray(resistance)
