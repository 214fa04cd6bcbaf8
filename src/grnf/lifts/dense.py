"""One graph after the other as a matrix, for lifts that need powers, inverses or shortest paths."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from grnf.graphs import GraphBatch
from grnf.lifts.base import adjacency

__all__ = ["dense_blocks"]

LARGEST_DENSE = 2_000
"""Nodes of a graph up to which its matrix is dense; it is a sparse one beyond."""


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
