"""Arrays: adjacency matrices, dense or sparse, and lists of arcs."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from grnf._utils.arrays import offsets
from grnf.errors import GraphError
from grnf.graphs import Graph
from grnf.io.raw import RawBatch, RawColumn, RawGraph
from grnf.typing import BoolArray, FloatArray, IntArray

__all__ = ["as_numbers", "batch_from_matrices", "checked_arcs", "is_symmetric", "merged_arcs"]


def merged_arcs(batch: RawBatch) -> RawBatch:
    """Return graphs that list an undirected edge in both directions, with each edge once.

    If every arc has its reverse with equal attributes, a graph is undirected. Otherwise it is directed.
    """
    arcs, n_nodes, n_arcs = batch.edges, np.diff(batch.node_ptr), np.diff(batch.edge_ptr)
    owner = np.repeat(np.arange(len(batch)), n_arcs)
    outside = arcs >= n_nodes[owner][:, np.newaxis]
    if len(arcs) and (arcs.min() < 0 or outside.any()):
        wrong = owner[np.flatnonzero((outside | (arcs < 0)).any(axis=1))[0]]
        Graph(int(n_nodes[wrong]), arcs[owner == wrong])  # raises an error that names the node
    values = [part for column in batch.edge_columns.values() for part in _comparable(column)]
    undirected = _undirected(arcs, values, n_nodes, n_arcs)
    kept = np.flatnonzero(~undirected[owner] | (arcs[:, 0] <= arcs[:, 1]))
    edge_ptr = offsets(np.bincount(owner[kept], minlength=len(batch)))
    every = np.arange(len(batch))
    return replace(
        batch,
        edge_ptr=edge_ptr,
        edges=arcs[kept],
        edge_columns={name: own.take(kept, every, edge_ptr) for name, own in batch.edge_columns.items()},
        directed=~undirected,
    )


def _comparable(column: RawColumn) -> Iterable[npt.NDArray[Any]]:
    """Return the numbers of a column, one array per entry. Values on which graphs disagree become codes."""
    values = column.values
    if column.is_mixed:
        values = np.unique([repr(value) for value in values.tolist()], return_inverse=True)[1]
    return values[:, np.newaxis].T if values.ndim == 1 else values.T


def _undirected(
    arcs: IntArray, values: Sequence[npt.NDArray[Any]], n_nodes: IntArray, n_arcs: IntArray
) -> BoolArray:
    """Return which graphs have each arc in both directions, with equal values."""
    first = offsets(n_nodes)
    there, back = (arcs + np.repeat(first[:-1], n_arcs)[:, np.newaxis]).T
    total = int(first[-1])
    if total >= 2**31:
        raise GraphError(f"{total:,} nodes in one list of graphs. At most {2**31 - 1:,} are supported")
    forth, reverse = there * total + back, back * total + there
    if not values:  # sorting numbers is much faster
        same = np.sort(forth, kind="stable") == np.sort(reverse, kind="stable")
    else:
        order, other = np.lexsort((*values, forth)), np.lexsort((*values, reverse))
        same = forth[order] == reverse[other]
        for part in values:
            one, two = part[order], part[other]
            same &= (one == two) | ((one != one) & (two != two))
    if same.all():
        return np.ones(len(n_nodes), np.bool_)
    # Both orders list the arcs graph by graph, so entry i belongs to the same graph as arc i.
    owner = np.repeat(np.arange(len(n_nodes)), n_arcs)
    return np.asarray(np.bincount(owner[~same], minlength=len(n_nodes)) == 0)


def is_symmetric(arcs: IntArray, values: FloatArray) -> bool:
    """Whether each arc has its reverse with equal values, shape (n_arcs, width)."""
    n_nodes = np.array([int(arcs.max(initial=0)) + 1])
    return bool(_undirected(arcs, list(values.T), n_nodes, np.array([len(arcs)]))[0])


def batch_from_matrices(matrices: Sequence[Any]) -> RawBatch:
    """Convert adjacency matrices of numpy, torch and scipy.sparse.

    Entry 0 of a dense matrix means no edge. Every stored entry of a sparse matrix is an edge, also a stored
    0, and an entry stored twice represents the sum, as in scipy. A diagonal entry is a self-loop. A symmetric
    matrix is an undirected graph. If any entry is not 1, the entries are the edge column "weight".
    """
    return merged_arcs(RawBatch.of([_arcs_of_matrix(matrix) for matrix in matrices]))


def _arcs_of_matrix(matrix: Any) -> RawGraph:
    if not hasattr(matrix, "tocsr"):
        A = as_numbers(matrix, "the adjacency matrix")
        n = _checked_square(A.shape)
        rows, columns = np.nonzero(A)
        return _arcs_of_entries(n, rows, columns, A[rows, columns])
    n = _checked_square(matrix.shape)
    A = matrix.tocsr(copy=True)
    if A.dtype.kind not in "biuf":
        raise GraphError(f"the adjacency matrix must hold real numbers, got {A.dtype}")
    A.sum_duplicates()
    A = A.tocoo()
    return _arcs_of_entries(n, A.row, A.col, A.data)


def _arcs_of_entries(n: int, rows: Any, columns: Any, values: Any) -> RawGraph:
    weights = np.asarray(values, dtype=np.float64)
    if not np.isfinite(weights).all():
        entry = int(np.flatnonzero(~np.isfinite(weights))[0])
        raise GraphError(
            f"entry [{rows[entry]}, {columns[entry]}] of the adjacency matrix must be finite, got "
            f"{weights[entry]}",
            cure="Use 0 for no edge",
        )
    arcs = np.column_stack([rows, columns]).astype(np.int64)
    return RawGraph(n, arcs, {}, {"weight": weights} if (weights != 1).any() else {})


def _checked_square(shape: tuple[int, ...]) -> int:
    if len(shape) != 2 or shape[0] != shape[1]:
        hint = ""
        if len(shape) == 2 and shape[0] == 2:
            hint = "; an edge_index goes into a tuple: (edge_index, x, edge_attr)"
        raise GraphError(f"an adjacency matrix must be square, shape (n, n), got shape {shape}{hint}")
    return int(shape[0])


def checked_arcs(edge_index: Any) -> IntArray:
    """Return an edge_index of shape (2, n_arcs) as arcs, shape (n_arcs, 2)."""
    arcs = as_numbers(edge_index, "edge_index")
    if arcs.size == 0:
        return np.empty((0, 2), dtype=np.int64)
    if arcs.ndim != 2 or arcs.shape[0] != 2:
        hint = "; transpose it, one column per arc" if arcs.ndim == 2 and arcs.shape[1] == 2 else ""
        raise GraphError(f"edge_index must have shape (2, n_arcs), got {arcs.shape}{hint}")
    if arcs.dtype.kind not in "iu":
        raise GraphError(f"edge_index must hold integers, the numbers of the nodes, got {arcs.dtype}")
    return np.ascontiguousarray(arcs.T, dtype=np.int64)


def as_numbers(values: Any, title: str) -> npt.NDArray[Any]:
    """Return an array or tensor of real numbers as a numpy array, or raise a `GraphError` with the title."""
    if hasattr(values, "detach"):
        tensor = values.detach().cpu()
        values = (tensor.double() if tensor.is_floating_point() else tensor).numpy()
    try:
        array = np.asarray(values)
    except ValueError:
        raise GraphError(f"{title} must be an array of numbers with rows of equal length") from None
    if array.dtype.kind not in "biuf":
        raise GraphError(f"{title} must hold real numbers, got {type(values).__name__} of {array.dtype}")
    return array
