"""Arrays: adjacency matrices, dense or sparse, and (edge_index, x, edge_attr) tuples."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from grnf.errors import GraphError
from grnf.io.columns import undirected_once
from grnf.io.raw import RawGraph
from grnf.typing import FloatArray, IntArray

__all__ = ["raw_from_arcs", "raw_from_dense", "raw_from_sparse", "raw_from_tuple"]


def raw_from_dense(matrix: Any) -> RawGraph:
    """Convert a dense adjacency matrix: 0 is no edge, an entry on the diagonal is a self-loop.

    A symmetric matrix is an undirected graph. If any entry is neither 0 nor 1, the entries are the edge
    column "weight".

    Examples
    --------
    >>> raw = raw_from_dense([[0.0, 0.5], [0.5, 0.0]])
    >>> raw, raw.edge_columns["weight"]
    (RawGraph(n_nodes=2, n_edges=1, node_columns=[], edge_columns=['weight'], undirected), array([0.5]))
    """
    A = as_numbers(matrix, "the adjacency matrix")
    n = _checked_square(A.shape)
    _check_finite(A)
    rows, columns = np.nonzero(A)
    return _raw_from_entries(n, rows, columns, A[rows, columns])


def raw_from_sparse(matrix: Any) -> RawGraph:
    """Convert a scipy sparse adjacency matrix: every stored entry is an edge, also a stored 0.

    As in scipy, an entry stored twice stands for the sum. Weights and direction as for dense matrices.
    """
    n = _checked_square(matrix.shape)
    A = matrix.tocsr(copy=True)
    if A.dtype.kind not in "biuf":
        raise GraphError(f"the adjacency matrix must hold real numbers; got {A.dtype}")
    A.sum_duplicates()
    A = A.tocoo()
    if not np.isfinite(A.data).all():
        entry = int(np.flatnonzero(~np.isfinite(A.data))[0])
        raise GraphError(_not_finite(A.row[entry], A.col[entry], A.data[entry]))
    return _raw_from_entries(n, A.row, A.col, A.data)


def raw_from_tuple(arrays: tuple[Any, ...]) -> RawGraph:
    """Convert (edge_index, x, edge_attr), the last two optional or None, arranged as in PyTorch Geometric.

    Examples
    --------
    >>> raw_from_tuple(([[0, 1], [1, 0]], [[1.0], [2.0], [3.0]]))
    RawGraph(n_nodes=3, n_edges=1, node_columns=['x'], edge_columns=[], undirected)
    """
    if not 1 <= len(arrays) <= 3:
        raise GraphError(f"a tuple must be (edge_index, x, edge_attr); got {len(arrays)} entries")
    edge_index, x, edge_attr = (*arrays, None, None)[:3]
    return raw_from_arcs(edge_index, present(x=x), present(edge_attr=edge_attr))


def raw_from_arcs(
    edge_index: Any,
    node_columns: dict[str, Any],
    edge_columns: dict[str, Any],
    *,
    n_nodes: int | None = None,
    y: Any = None,
) -> RawGraph:
    """Convert arcs of shape (2, n_arcs), where an undirected edge stands in both directions.

    If every arc has its reverse with equal attributes, the graph is undirected and each edge is kept once;
    otherwise it is directed. The number of nodes is by default that of the rows of node attributes, or if
    there are none one more than the largest node of an arc.
    """
    arcs = _checked_arcs(edge_index)
    nodes = {name: as_numbers(values, name) for name, values in node_columns.items()}
    edges = {name: as_numbers(values, name) for name, values in edge_columns.items()}
    if n_nodes is None and nodes:
        n_nodes = len(next(iter(nodes.values())))
    elif n_nodes is None:
        n_nodes = int(arcs.max()) + 1 if len(arcs) else 0
    for name, column in (*nodes.items(), *edges.items()):
        item, count = ("node", n_nodes) if name in nodes else ("arc", len(arcs))
        if column.ndim not in (1, 2) or len(column) != count:
            raise GraphError(
                f"{name} must have one row per {item}, shape ({count}, width); got shape {column.shape}"
            )
    keep = undirected_once(arcs, _side_by_side(edges, len(arcs)))
    if keep is not None:
        arcs = arcs[keep]
        edges = {name: column[keep] for name, column in edges.items()}
    return RawGraph(n_nodes, arcs, nodes, edges, directed=keep is None, y=y)


def _raw_from_entries(n: int, rows: Any, columns: Any, values: Any) -> RawGraph:
    arcs = np.column_stack([rows, columns]).astype(np.int64)
    weights = np.asarray(values, dtype=np.float64)
    keep = undirected_once(arcs, weights[:, np.newaxis])
    edge_columns = {"weight": weights} if (weights != 1).any() else {}
    if keep is None:
        return RawGraph(n, arcs, {}, edge_columns, directed=True)
    return RawGraph(n, arcs[keep], {}, {name: column[keep] for name, column in edge_columns.items()})


def _checked_square(shape: tuple[int, ...]) -> int:
    if len(shape) != 2 or shape[0] != shape[1]:
        hint = ""
        if len(shape) == 2 and shape[0] == 2:
            hint = "; an edge_index goes into a tuple: (edge_index, x, edge_attr)"
        raise GraphError(f"an adjacency matrix must be square, shape (n, n); got shape {shape}{hint}")
    return int(shape[0])


def _check_finite(A: npt.NDArray[Any]) -> None:
    if not np.isfinite(A).all():
        row, column = (int(index[0]) for index in np.nonzero(~np.isfinite(A)))
        raise GraphError(_not_finite(row, column, A[row, column]))


def _not_finite(row: int, column: int, value: Any) -> str:
    return (
        f"entry [{row}, {column}] of the adjacency matrix is {value}, neither an edge nor no edge; "
        "put 0 where there is no edge"
    )


def _checked_arcs(edge_index: Any) -> IntArray:
    arcs = as_numbers(edge_index, "edge_index")
    if arcs.size == 0:
        return np.empty((0, 2), dtype=np.int64)
    if arcs.ndim != 2 or arcs.shape[0] != 2:
        hint = "; transpose it, one column per arc" if arcs.ndim == 2 and arcs.shape[1] == 2 else ""
        raise GraphError(f"edge_index must have shape (2, n_arcs); got {arcs.shape}{hint}")
    if arcs.dtype.kind not in "iu":
        raise GraphError(f"edge_index must hold integers, the numbers of the nodes; got {arcs.dtype}")
    return np.ascontiguousarray(arcs.T, dtype=np.int64)


def _side_by_side(columns: dict[str, npt.NDArray[Any]], count: int) -> FloatArray:
    flat = [column.reshape(count, -1) for column in columns.values() if column.size]
    return np.hstack([np.empty((count, 0)), *flat])


def present(**columns: Any) -> dict[str, Any]:
    """Return the columns that are not None."""
    return {name: values for name, values in columns.items() if values is not None}


def as_numbers(values: Any, field: str) -> npt.NDArray[Any]:
    """Return an array or tensor of real numbers as a numpy array, or say which field is none."""
    if hasattr(values, "detach"):
        tensor = values.detach().cpu()
        values = (tensor.double() if tensor.is_floating_point() else tensor).numpy()
    try:
        array = np.asarray(values)
    except ValueError:
        raise GraphError(f"{field} must be an array of numbers, rows of one length") from None
    if array.dtype.kind not in "biuf":
        raise GraphError(f"{field} must hold real numbers; got {type(values).__name__} of {array.dtype}")
    return array
