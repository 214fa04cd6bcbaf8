"""PyTorch Geometric graphs, read through their attributes: torch is not imported here."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from grnf._utils.arrays import offsets
from grnf.errors import GraphError, GrnfWarning
from grnf.io.from_arrays import as_numbers, check_rows, checked_arcs, merged_arcs
from grnf.io.raw import RawBatch, RawColumn, column_of_arrays
from grnf.typing import IntArray

__all__ = ["batch_from_pyg"]

USED = {"x", "edge_index", "edge_attr", "edge_weight", "y", "num_nodes", "batch", "ptr"}


def batch_from_pyg(graphs: Sequence[Any]) -> RawBatch:
    """Convert PyTorch Geometric `Data`: x, edge_attr, edge_weight (the column "weight") and y.

    An undirected graph, which PyG stores with both arcs of every edge, is recognized and stored once. The
    number of nodes is `num_nodes`, if it is stored, or the number of rows of x. A warning names other
    attributes of nodes and edges, which are not used.
    """
    for kind in set(map(type, graphs)):
        if hasattr(kind, "to_data_list"):
            raise GraphError("a Batch holds several graphs; pass it alone, or batch.to_data_list()")
        if hasattr(kind, "node_types"):
            raise GraphError("a graph with several types of nodes must be made one by to_homogeneous()")
    stores = [data.to_dict() for data in graphs]
    index = [_edge_index(store) for store in stores]
    n_arcs = np.array([arcs.shape[1] for arcs in index], np.int64)
    n_nodes = np.array([_n_nodes(data, store) for data, store in zip(graphs, stores, strict=True)], np.int64)
    _warn_of_unused(graphs, stores)
    batch = RawBatch(
        offsets(n_nodes),
        offsets(n_arcs),
        np.ascontiguousarray(_stacked(index, axis=1).T, dtype=np.int64),
        _columns(stores, {"x": "x"}, n_nodes, "node"),
        _columns(stores, {"edge_weight": "weight", "edge_attr": "edge_attr"}, n_arcs, "arc"),
        np.ones(len(graphs), np.bool_),
        [None] * len(graphs),
        [_target(store.get("y")) for store in stores],
    )
    return merged_arcs(batch)


def _n_nodes(data: Any, store: Mapping[str, Any]) -> Any:
    x = store.get("x")
    if x is None or "num_nodes" in store:
        return data.num_nodes
    return x.shape[0] if hasattr(x, "shape") else len(x)


def _edge_index(store: Mapping[str, Any]) -> Any:
    """Return the arcs of a graph, shape (2, n_arcs)."""
    arcs = store.get("edge_index")
    if arcs is None:
        if store.get("adj_t") is not None:
            raise GraphError("data has adj_t but no edge_index; leave out the transform ToSparseTensor")
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
            columns[column] = RawColumn(_stacked(tensors))
            continue
        arrays = [None if tensor is None else as_numbers(tensor, name) for tensor in tensors]
        for array, count in zip(arrays, counts.tolist(), strict=True):
            check_rows({} if array is None else {name: array}, item, count)
        columns[column] = column_of_arrays(arrays, counts.tolist(), f"column {column!r}")
    return columns


def _is_uniform(tensors: list[Any], counts: IntArray) -> bool:
    """Whether all graphs have a tensor with the right number of rows and the same width."""
    shapes = [tuple(getattr(tensor, "shape", ())) for tensor in tensors]
    if len({shape[1:] for shape in shapes}) > 1 or not 1 <= len(shapes[0]) <= 2 or () in shapes:
        return False
    return bool([shape[0] for shape in shapes] == counts.tolist())


def _stacked(tensors: Sequence[Any], axis: int = 0) -> npt.NDArray[Any]:
    """Concatenate tensors; numpy concatenates arrays."""
    torch = sys.modules.get("torch")
    if torch is None or not all(hasattr(tensor, "detach") for tensor in tensors):
        return np.concatenate([as_numbers(tensor, "the array") for tensor in tensors], axis=axis)
    return as_numbers(torch.cat(tensors, dim=axis), "the tensor")


def _target(y: Any) -> Any:
    """Return a target with a single number as that number, others as an array."""
    if not hasattr(y, "detach"):
        return y
    return y.item() if y.numel() == 1 else y.detach().cpu().numpy()


def _warn_of_unused(graphs: Sequence[Any], stores: list[dict[str, Any]]) -> None:
    unused: set[str] = set()
    for data, store in zip(graphs, stores, strict=True):
        if not store.keys() <= USED:
            unused |= {*data.node_attrs(), *data.edge_attrs()} - USED
    names = sorted(name for name in unused if not name.endswith(("_mask", "_index")))
    if names:
        warnings.warn(
            f"of the PyG data the attributes {', '.join(names)} are not used; to use one, append it to "
            "x or edge_attr",
            GrnfWarning,
            stacklevel=2,
        )
