"""What all lifts share: graphs of any kind in, a `GraphBatch` with more channels out, piece by piece."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any, ClassVar, Self

import numpy as np
import scipy.sparse as sp
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from grnf._utils.rules import OneOf, Table, checked_parameters
from grnf.collection import encode, fit_encode
from grnf.graphs import GraphBatch, number_keys
from grnf.io.encode import AttributeEncoder
from grnf.typing import FloatArray, IntArray

__all__ = ["DIRECTION", "Lift", "NodeLift", "adjacency", "arcs", "dense_blocks", "pieces"]

MOST_ITEMS = 2_000_000
"""Nodes and edges that are lifted at a time: a bound on memory."""

LARGEST_DENSE = 2_000
"""Nodes of a graph up to which its matrix is dense; it is a sparse one beyond."""

DIRECTION = OneOf("any", "out", "in")


class Lift(TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """A permutation-equivariant map from graphs to graphs that adds channels and keeps the old ones.

    `fit` and `transform` take graphs of any kind that `GRNF` takes; `transform` returns a `GraphBatch`.
    Categories are encoded by the vocabulary of `fit`; for other policies put `Encode` first.
    """

    encoder_: AttributeEncoder
    _rules: ClassVar[Table] = {}

    def fit(self, X: Any, y: Any = None) -> Self:  # noqa: ARG002
        """Learn the attributes of nodes and edges, and what else the lift needs to know."""
        self._fit_first(X)
        return self

    def transform(self, X: Any) -> GraphBatch:
        """Return the graphs with the channels of this lift after their own."""
        check_is_fitted(self)
        return self._lifted(encode(X, self.encoder_).batch)

    def fit_transform(self, X: Any, y: Any = None, **fit_params: Any) -> GraphBatch:  # noqa: ARG002
        """Fit, then lift the same graphs."""
        return self._lifted(self._fit_first(X))

    def _fit_first(self, X: Any) -> GraphBatch:
        checked_parameters(self, self._rules)
        self.encoder_, found = fit_encode(X, self._blank_encoder())
        self._fit_batch(found.batch)
        return found.batch

    def _blank_encoder(self) -> AttributeEncoder:
        return AttributeEncoder()

    def _fit_batch(self, batch: GraphBatch) -> None:
        """Learn from encoded graphs."""

    def _lifted(self, batch: GraphBatch) -> GraphBatch:
        raise NotImplementedError

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.two_d_array = False
        return tags


class NodeLift(Lift):
    """A lift that adds node attributes."""

    def _lifted(self, batch: GraphBatch) -> GraphBatch:
        columns = np.concatenate([self._columns(piece) for piece in pieces(batch)])
        name = f"{type(self).__name__} after {batch.node_width}"  # a lift may come twice in a chain
        keys = number_keys("node", columns.shape[1], name)
        return replace(
            batch,
            node_attr=np.hstack([batch.node_attr, columns]),
            node_keys=np.concatenate([batch.node_keys, keys]),
        )

    def _columns(self, batch: GraphBatch) -> FloatArray:
        """Return the new node attributes, one row per node."""
        raise NotImplementedError


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
    directed edge; "out" keeps its direction and "in" turns it round.
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
    """Return the block-diagonal adjacency of all graphs; repeated edges are summed."""
    sources, targets, _ = arcs(batch, direction)
    n_nodes = int(batch.node_ptr[-1])
    return sp.csr_array((np.ones(len(sources)), (sources, targets)), shape=(n_nodes, n_nodes))


def dense_blocks(
    batch: GraphBatch, *, simple: bool = False, direction: str = "any"
) -> Iterator[tuple[slice, Any]]:
    """Yield the nodes and the adjacency of each graph that has nodes; `simple`: 0 and 1, no self-loops."""
    everything = adjacency(batch, direction)
    if simple:
        everything.setdiag(0)
        everything.eliminate_zeros()
        everything.data[:] = 1
    for start, stop in zip(batch.node_ptr[:-1], batch.node_ptr[1:], strict=True):
        if stop == start:
            continue
        rows = slice(int(start), int(stop))
        entries = slice(everything.indptr[start], everything.indptr[stop])
        size = int(stop - start)
        indptr = everything.indptr[start : stop + 1] - everything.indptr[start]
        columns = everything.indices[entries] - start
        if size > LARGEST_DENSE:
            yield rows, type(everything)((everything.data[entries], columns, indptr), shape=(size, size))
        else:
            A = np.zeros((size, size))
            A[np.repeat(np.arange(size), np.diff(indptr)), columns] = everything.data[entries]
            yield rows, A
