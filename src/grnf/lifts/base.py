"""The base classes of lifts, and the arcs and adjacency matrices of a batch that lifts compute with."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any, Literal, Self, TypeAlias

import numpy as np
import scipy.sparse as sp
from sklearn.utils.validation import check_is_fitted

from grnf._utils.estimator import GraphEstimator
from grnf._utils.rules import OneOf, checked_parameters
from grnf.collection import encode, fit_encode
from grnf.errors import GraphError
from grnf.graphs import GraphBatch, number_keys
from grnf.io.encode import AttributeEncoder
from grnf.io.raw import RawBatch, RawGraph
from grnf.typing import FloatArray, IntArray

MOST_ITEMS = 2_000_000
"""Nodes and edges that are lifted at a time: a bound on memory."""

LARGEST_DENSE = 2_000
"""Nodes of a graph up to which its adjacency matrix is dense. Beyond, it is sparse."""

Direction: TypeAlias = Literal["any", "out", "in"]
DIRECTION = OneOf("any", "out", "in")


class Lift(GraphEstimator, auto_wrap_output_keys=None):  # type: ignore[call-arg]
    """A permutation-equivariant map from graphs to graphs that adds channels and keeps the existing ones.

    `fit` and `transform` take graphs of any kind that `GRNF` takes. `transform` returns a `GraphBatch`.
    Categories are encoded by the vocabulary of `fit`. For other policies put `Encode` first.

    Examples
    --------
    >>> from grnf import Graph
    >>> from grnf.lifts import Degree
    >>> path = Graph(3, [(0, 1), (1, 2)])
    >>> lift = Degree().fit([path])
    >>> lift.transform([path]).node_attr.ravel().round(2)  # log(1 + degree)
    array([0.69, 1.1 , 0.69])
    >>> lift.get_feature_names_out()
    array(['node0'], dtype=object)
    >>> Degree(log=False).set_output(transform="pandas").fit_transform([path]).node_attr.ravel()
    array([1., 2., 1.])
    """

    encoder_: AttributeEncoder

    def fit(self, X: Any, y: Any = None) -> Self:  # noqa: ARG002, D102
        self._fit_encode(X)
        return self

    def transform(self, X: Any) -> GraphBatch:
        """Return the graphs, as a `GraphBatch`, with the channels of this lift after their own."""
        check_is_fitted(self)
        return self._lifted(encode(X, self.encoder_).batch)

    def fit_transform(self, X: Any, y: Any = None, **fit_params: Any) -> GraphBatch:  # noqa: ARG002
        """Fit, then lift the same graphs."""
        return self._lifted(self._fit_encode(X))

    def _column_counts(self) -> dict[str, int]:
        lifted = self._lifted(bare_batch(self.encoder_))
        return {"node": lifted.node_width, "edge": lifted.edge_width}

    def set_output(self, *, transform: Any = None) -> Self:  # noqa: ARG002
        """Do nothing, for pipelines: the output of a lift is always a `GraphBatch`.

        Parameters
        ----------
        transform : ignored

        Returns
        -------
        self : Lift
        """
        return self

    def _fit_encode(self, X: Any) -> GraphBatch:
        checked_parameters(self)
        self.encoder_, samples = fit_encode(X, self._blank_encoder())
        self._fit_batch(samples.batch)
        return samples.batch

    def _blank_encoder(self) -> AttributeEncoder:
        return AttributeEncoder()

    def _fit_batch(self, batch: GraphBatch) -> None:
        """Learn from encoded graphs."""

    def _lifted(self, batch: GraphBatch) -> GraphBatch:
        raise NotImplementedError


class NodeLift(Lift):
    """A lift that adds node attributes: a subclass defines `node_columns`.

    Examples
    --------
    >>> from grnf import Graph
    >>> class Constant(NodeLift):
    ...     def node_columns(self, batch):
    ...         return np.ones((len(batch.node_attr), 1))
    >>> Constant().fit_transform([Graph(2, [(0, 1)])]).node_attr.tolist()
    [[1.0], [1.0]]
    """

    def node_columns(self, batch: GraphBatch) -> FloatArray:
        """Return the new attributes, one row per node of the batch.

        Parameters
        ----------
        batch : GraphBatch

        Returns
        -------
        array, shape (n_nodes, n_columns)
        """
        raise NotImplementedError

    def _lifted(self, batch: GraphBatch) -> GraphBatch:
        columns = np.concatenate([self.node_columns(piece) for piece in pieces(batch)])
        return with_node_columns(batch, columns, type(self).__name__)


class EdgeLift(Lift):
    """A lift that adds edge attributes: a subclass defines `pair_values`.

    With `pairs = "all"` it also adds edges between all pairs with a finite value other than 0. The old
    adjacency is then an edge attribute before the old attributes, which are 0 on new edges.

    Examples
    --------
    >>> from grnf import Graph
    >>> class CommonNeighbors(EdgeLift):
    ...     def pair_values(self, A):
    ...         return A @ A
    >>> CommonNeighbors().fit_transform([Graph(3, [(0, 1), (1, 2), (2, 0)])]).edge_attr.ravel()
    array([1., 1., 1.])
    """

    pairs: str = "edges"
    n_columns: int = 1
    """Attributes that are added."""

    def pair_values(self, A: FloatArray) -> FloatArray:
        """Return a number for each pair of nodes, shape (n, n), or several, shape (n, n, n_columns).

        Parameters
        ----------
        A : array of 0 and 1, shape (n, n)
            Adjacency matrix of a graph without direction, repetition and self-loops.

        Returns
        -------
        array, shape (n, n) or (n, n, n_columns)
        """
        raise NotImplementedError

    def _lifted(self, batch: GraphBatch) -> GraphBatch:
        if batch.edge_codes.values.shape[1]:
            raise GraphError(
                f"{type(self).__name__} may add edges, for which open categories of edges have no value",
                cure="Encode them first, with Encode(handle_unknown='ignore')",
            )
        every_pair = self.pairs == "all"
        edges, counts = [np.empty((0, 2), np.int64)], []
        values = [np.empty((0, batch.edge_width + self.n_columns + every_pair))]
        for piece in pieces(batch):
            for g, (_, A) in enumerate(adjacency_matrices(piece, simple=True)):
                between = self.pair_values(A if isinstance(A, np.ndarray) else A.toarray())
                span = slice(piece.edge_ptr[g], piece.edge_ptr[g + 1])
                pairs, kept = piece.edges[span], piece.edge_attr[span]
                if every_pair:
                    added = self._new_pairs(between, pairs, bool(piece.directed[g]))
                    kept = np.pad(np.column_stack([np.ones(len(pairs)), kept]), ((0, len(added)), (0, 0)))
                    pairs = np.concatenate([pairs, added])
                edges.append(pairs)
                values.append(np.column_stack([kept, between[pairs[:, 0], pairs[:, 1]]]))
                counts.append(len(pairs))
        return replace(
            batch,
            edge_ptr=np.concatenate([[0], np.cumsum(counts)]).astype(np.int64),
            edges=np.concatenate(edges),
            edge_attr=np.concatenate(values),
            edge_keys=None,  # type: ignore[arg-type]
            edge_codes=None,  # type: ignore[arg-type]
        )

    def _new_pairs(self, between: FloatArray, old: IntArray, directed: bool) -> IntArray:
        """Return the pairs of nodes that get an edge, in both directions in a directed graph."""
        added = self._joined(between)
        added[old[:, 0], old[:, 1]] = False
        if not directed:
            added[old[:, 1], old[:, 0]] = False
            added = np.triu(added, 1)
        return np.argwhere(added)

    def _joined(self, between: FloatArray) -> Any:
        return np.isfinite(between) & (between > 0)


def graph_sums(values: FloatArray, owner: IntArray, n_graphs: int) -> FloatArray:
    """Return for each graph the sum of the rows of its nodes or edges. `owner` has the graph of each row."""
    shape = (n_graphs, len(owner))
    member = sp.csr_array((np.ones(len(owner)), (owner, np.arange(len(owner)))), shape=shape)
    return np.asarray(member @ values)


def bare_batch(encoder: AttributeEncoder) -> GraphBatch:
    """Return a batch with a single node with the channels of an encoder, all 0."""
    bare = RawGraph(1, np.empty((0, 2), np.int64))
    batch = encoder.with_policies(handle_missing="zero").encode_batch(RawBatch.of([bare]))[0]
    if encoder.encoded_keys_ is None:
        return batch
    node_keys, edge_keys = encoder.encoded_keys_
    return replace(batch, node_keys=node_keys, edge_keys=edge_keys)


def with_node_columns(batch: GraphBatch, columns: FloatArray, name: str) -> GraphBatch:
    """Return a batch with more node attributes. `name` is the source of their coefficients."""
    keys = number_keys("node", columns.shape[1], f"{name} after {batch.node_width}")  # may come twice
    return replace(
        batch,
        node_attr=np.hstack([batch.node_attr, columns]),
        node_keys=np.concatenate([batch.node_keys, keys]),
    )


def pieces(batch: GraphBatch, most_items: int = MOST_ITEMS) -> Iterator[GraphBatch]:
    """Yield a batch in pieces of so many nodes and edges, or of single graphs that are larger."""
    items = batch.node_ptr + batch.edge_ptr
    if items[-1] <= most_items:
        yield batch
        return
    start = 0
    while start < len(batch):
        stop = max(int(np.searchsorted(items, items[start] + most_items, side="right")) - 1, start + 1)
        yield batch.take(np.arange(start, stop))
        start = stop


def arcs(batch: GraphBatch, direction: str = "any") -> tuple[IntArray, IntArray, IntArray]:
    """Return sources, targets and edge numbers of all arcs, in numbers of nodes over the whole batch.

    An undirected edge is an arc in both directions, a self-loop one arc. With the direction "any", so is a
    directed edge. "out" keeps its direction and "in" turns it round.
    """
    counts = np.diff(batch.edge_ptr)
    ends = batch.edges + np.repeat(batch.node_ptr[:-1], counts)[:, np.newaxis]
    one_way = np.repeat(batch.directed, counts) & (direction != "any")
    forward, backward = np.ones(len(ends), dtype=bool), ends[:, 0] != ends[:, 1]
    if direction == "in":
        forward = ~one_way | ~backward
    else:
        backward &= ~one_way
    numbers = np.concatenate([np.flatnonzero(forward), np.flatnonzero(backward)])
    sources = np.concatenate([ends[forward, 0], ends[backward, 1]])
    targets = np.concatenate([ends[forward, 1], ends[backward, 0]])
    return sources, targets, numbers


def adjacency(batch: GraphBatch, direction: str = "any") -> sp.csr_array:
    """Return the block-diagonal adjacency of all graphs. Repeated edges are summed."""
    sources, targets, _ = arcs(batch, direction)
    n_nodes = int(batch.node_ptr[-1])
    return sp.csr_array((np.ones(len(sources)), (sources, targets)), shape=(n_nodes, n_nodes))


def adjacency_matrices(
    batch: GraphBatch, *, simple: bool = False, direction: str = "any"
) -> Iterator[tuple[slice, Any]]:
    """Yield the nodes and the adjacency matrix of each graph. `simple`: 0 and 1, no self-loops."""
    whole = adjacency(batch, direction)
    if simple:
        whole.setdiag(0)
        whole.eliminate_zeros()
        whole.data[:] = 1
    for start, stop in zip(batch.node_ptr[:-1].tolist(), batch.node_ptr[1:].tolist(), strict=True):
        size = stop - start
        entries = slice(whole.indptr[start], whole.indptr[stop])
        indptr = whole.indptr[start : stop + 1] - whole.indptr[start]
        columns = whole.indices[entries] - start
        if size > LARGEST_DENSE:
            A: Any = sp.csr_array((whole.data[entries], columns, indptr), shape=(size, size))
        else:
            A = np.zeros((size, size))
            A[np.repeat(np.arange(size), np.diff(indptr)), columns] = whole.data[entries]
        yield slice(start, stop), A
