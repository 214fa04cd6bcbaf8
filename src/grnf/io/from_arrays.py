"""Arrays as graphs: adjacency matrices, and lists of arcs with attributes. torch is not imported here."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from grnf._utils.arrays import offsets
from grnf._utils.rules import Int, checked
from grnf.errors import GraphError, GrnfWarning
from grnf.graphs import Graph
from grnf.graphs.graph import LARGEST_SIZE
from grnf.io.raw import RawBatch, RawColumn, RawGraph, column_of_arrays
from grnf.typing import BoolArray, FloatArray, IntArray

USED = {
    *("x", "edge_index", "edge_attr", "edge_weight", "y", "num_nodes", "directed", "graph_id"),
    *("adj_t", "batch", "ptr"),
}
OTHER_NAMES = {"node_feat": "x", "edge_feat": "edge_attr"}
"""Names that dictionaries and files of OGB and Hugging Face use."""


def merged_arcs(batch: RawBatch, directed: Sequence[bool | None] | None = None) -> RawBatch:
    """Return graphs that list an undirected edge in both directions, with each edge once.

    If every arc has its reverse with equal attributes, a graph is undirected. Otherwise it is directed. A
    graph of which `directed` is True keeps all arcs, and one of which it is False is undirected in any case.
    """
    arcs, n_nodes, n_arcs = batch.edges, np.diff(batch.node_ptr), np.diff(batch.edge_ptr)
    owner = np.repeat(np.arange(len(batch)), n_arcs)
    outside = arcs >= n_nodes[owner][:, np.newaxis]
    if len(arcs) and (arcs.min() < 0 or outside.any()):
        wrong = owner[np.flatnonzero((outside | (arcs < 0)).any(axis=1))[0]]
        Graph(int(n_nodes[wrong]), arcs[owner == wrong])  # raises an error that names the node
    values = [part for column in batch.edge_columns.values() for part in _comparable(column)]
    known = [None] * len(batch) if directed is None else directed
    undirected = _undirected(arcs, values, n_nodes, n_arcs) & [each is not True for each in known]
    kept = np.flatnonzero(~undirected[owner] | (arcs[:, 0] <= arcs[:, 1]))
    edge_ptr = offsets(np.bincount(owner[kept], minlength=len(batch)))
    every = np.arange(len(batch))
    return replace(
        batch,
        edge_ptr=edge_ptr,
        edges=arcs[kept],
        edge_columns={name: own.take(kept, every, edge_ptr) for name, own in batch.edge_columns.items()},
        directed=~undirected & [each is not False for each in known],
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
    if str(getattr(matrix, "layout", "")).startswith("torch.sparse"):
        matrix = matrix.detach().cpu().to_sparse_coo().coalesce()
        n = _checked_square(tuple(matrix.shape))
        rows, columns = matrix.indices().numpy()
        return _arcs_of_entries(n, rows, columns, _numbers(matrix.values(), "the adjacency matrix"))
    if not hasattr(matrix, "tocsr"):
        A = _numbers(matrix, "the adjacency matrix")
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
    arcs = _numbers(edge_index, "edge_index")
    if arcs.size == 0:
        return np.empty((0, 2), dtype=np.int64)
    if arcs.ndim != 2 or arcs.shape[0] != 2:
        hint = "; transpose it, one column per arc" if arcs.ndim == 2 and arcs.shape[1] == 2 else ""
        raise GraphError(f"edge_index must have shape (2, n_arcs), got {arcs.shape}{hint}")
    if arcs.dtype.kind not in "iu":
        raise GraphError(f"edge_index must hold integers, the numbers of the nodes, got {arcs.dtype}")
    return np.ascontiguousarray(arcs.T, dtype=np.int64)


def _numbers(values: Any, title: str) -> npt.NDArray[Any]:
    """Return an array or tensor of real numbers as a numpy array, or raise a `GraphError` with the title."""
    if hasattr(values, "detach"):
        tensor = values.detach().cpu().to_dense()
        values = (tensor.double() if tensor.is_floating_point() else tensor).numpy()
    try:
        array = np.asarray(values)
    except ValueError:
        raise GraphError(f"{title} must be an array of numbers with rows of equal length") from None
    if array.dtype.kind == "O" and isinstance(values, list):  # None is a missing number
        with suppress(ArithmeticError, TypeError, ValueError):
            array = array.astype(np.float64)
    if array.dtype.kind not in "biuf":
        raise GraphError(f"{title} must hold real numbers, got {type(values).__name__} of {array.dtype}")
    return array


def batch_from_pyg(graphs: Sequence[Any]) -> RawBatch:
    """Convert PyTorch Geometric `Data`: x, edge_attr, edge_weight (the column "weight") and y.

    An undirected graph, which PyG stores with both arcs of every edge, is recognized and stored once. The
    number of nodes is `num_nodes`, if it is stored, or the number of rows of x. A warning names other
    attributes of nodes and edges, which are not used.
    """
    for kind in set(map(type, graphs)):
        if hasattr(kind, "to_data_list"):
            raise GraphError(
                "must be one graph, got a Batch of several",
                cure="Pass the Batch alone, or batch.to_data_list()",
            )
        if hasattr(kind, "node_types"):
            raise GraphError("a graph with several types of nodes must be made one by to_homogeneous()")
    stores = [data.to_dict() for data in graphs]
    unused: set[str] = set()
    for data, store in zip(graphs, stores, strict=True):
        if not store.keys() <= USED:
            unused |= {*data.node_attrs(), *data.edge_attrs()}
        if store.get("x") is None and "num_nodes" not in store:
            store["num_nodes"] = data.num_nodes
    _warn_of_unused(unused)
    return _batch_from_stores(stores)


def batch_from_dicts(graphs: Sequence[Mapping[str, Any]]) -> RawBatch:
    """Convert dictionaries of arrays with the names of PyTorch Geometric. `edge_index` is required.

    node_feat and edge_feat are other names of x and edge_attr. With `directed`, the direction is known.
    """
    _warn_of_unused({OTHER_NAMES.get(name, name) for graph in graphs for name in graph})
    return batch_from_rows(graphs)


def batch_from_rows(rows: Sequence[Mapping[str, Any]]) -> RawBatch:
    """Convert dictionaries as `batch_from_dicts` does, and leave out values with other names silently."""
    stores = [{OTHER_NAMES.get(name, name): row[name] for name in row} for row in rows]
    for store in stores:
        if "edge_index" not in store:
            raise GraphError(f"a dict must have the key 'edge_index', got {list(store)!r:.200}")
    return _batch_from_stores(stores)


def batch_from_tuples(graphs: Sequence[tuple[Any, ...]]) -> RawBatch:
    """Convert (edge_index, x, edge_attr), the last two optional or None, arranged as in PyTorch Geometric."""
    for arrays in graphs:
        if not 1 <= len(arrays) <= 3:
            raise GraphError(f"a tuple must be (edge_index, x, edge_attr), got {len(arrays)} entries")
    names = ("edge_index", "x", "edge_attr")
    return _batch_from_stores([dict(zip(names, arrays, strict=False)) for arrays in graphs])


def _batch_from_stores(stores: list[dict[str, Any]]) -> RawBatch:
    index = [_edge_index(store) for store in stores]
    n_arcs = np.array([arcs.shape[1] for arcs in index], np.int64)
    n_nodes = np.array(list(map(_n_nodes, stores, index)), np.int64)
    return merged_arcs(
        RawBatch(
            offsets(n_nodes),
            offsets(n_arcs),
            np.ascontiguousarray(_stacked(index, "edge_index", axis=1).T, dtype=np.int64),
            _columns(stores, {"x": "x"}, n_nodes, "node"),
            _columns(stores, {"edge_weight": "weight", "edge_attr": "edge_attr"}, n_arcs, "arc"),
            np.ones(len(stores), np.bool_),
            [None if store.get("graph_id") is None else str(plain_y(store["graph_id"])) for store in stores],
            [plain_y(store.get("y")) for store in stores],
        ),
        [None if store.get("directed") is None else bool(store["directed"]) for store in stores],
    )


def _n_nodes(store: Mapping[str, Any], arcs: Any) -> int:
    x, given = store.get("x"), plain_y(store.get("num_nodes"))
    if given is not None:
        return int(checked(given, "num_nodes", Int(0, LARGEST_SIZE), error=GraphError))
    if x is None or not hasattr(x, "__len__") or getattr(x, "shape", None) == ():
        return int(arcs.max()) + 1 if arcs.shape[1] else 0
    return len(x)


def _edge_index(store: Mapping[str, Any]) -> Any:
    """Return the arcs of a graph, shape (2, n_arcs)."""
    arcs = store.get("edge_index")
    if arcs is None:
        if store.get("adj_t") is not None:
            raise GraphError("data has adj_t but no edge_index. Leave out the transform ToSparseTensor")
        return np.empty((2, 0), np.int64)
    if hasattr(arcs, "detach") and not arcs.is_floating_point() and arcs.ndim == 2 and arcs.shape[0] == 2:
        return arcs
    return checked_arcs(arcs).T


def _columns(
    stores: list[dict[str, Any]], names: Mapping[str, str], counts: IntArray, item: str
) -> dict[str, RawColumn]:
    """Return attributes of nodes or arcs under the names of their columns."""
    columns = {}
    for name, column in names.items():
        tensors = [store.get(name) for store in stores]
        if all(tensor is None for tensor in tensors):
            continue
        if _is_uniform(tensors, counts):
            columns[column] = RawColumn(_stacked(tensors, name))
            continue
        arrays = [None if tensor is None else _numbers(tensor, name) for tensor in tensors]
        for array, count in zip(arrays, counts.tolist(), strict=True):
            if array is not None and (array.ndim not in (1, 2) or len(array) != count):
                raise GraphError(
                    f"{name} must have one row per {item}, shape ({count}, width), got shape {array.shape}"
                )
        columns[column] = column_of_arrays(arrays, counts.tolist(), f"column {column!r}")
    return columns


def _is_uniform(tensors: list[Any], counts: IntArray) -> bool:
    """Whether all graphs have a tensor with the right number of rows and the same width."""
    shapes = [tuple(getattr(tensor, "shape", ())) for tensor in tensors]
    if len({shape[1:] for shape in shapes}) > 1 or not 1 <= len(shapes[0]) <= 2 or () in shapes:
        return False
    return bool([shape[0] for shape in shapes] == counts.tolist())


def _stacked(tensors: Sequence[Any], name: str, axis: int = 0) -> npt.NDArray[Any]:
    """Concatenate tensors or numpy arrays."""
    torch = sys.modules.get("torch")
    if torch is None or not all(hasattr(tensor, "detach") for tensor in tensors):
        return np.concatenate([_numbers(tensor, name) for tensor in tensors], axis=axis)
    return _numbers(torch.cat(tensors, dim=axis), name)


def plain_y(y: Any) -> Any:
    """Return a target with a single number as that number, other tensors as arrays."""
    y = y.detach().cpu().numpy() if hasattr(y, "detach") else y
    while isinstance(y, list) and len(y) == 1:
        y = y[0]
    return y.item() if isinstance(y, np.ndarray) and y.size == 1 else y


def _warn_of_unused(given: set[str]) -> None:
    names = sorted(name for name in given - USED if not name.endswith(("_mask", "_index")))
    if names:
        warnings.warn(
            f"the attributes {', '.join(names)} are not used. To use one, append it to x or edge_attr",
            GrnfWarning,
            stacklevel=3,
        )
