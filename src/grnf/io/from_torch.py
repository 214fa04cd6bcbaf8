"""Graphs as arrays by name: PyTorch Geometric data, dictionaries and tuples. torch is not imported here."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from grnf._utils.arrays import offsets
from grnf.errors import GraphError, GrnfWarning
from grnf.io.from_arrays import as_numbers, checked_arcs, merged_arcs
from grnf.io.raw import RawBatch, RawColumn, column_of_arrays
from grnf.typing import IntArray

__all__ = ["batch_from_dicts", "batch_from_pyg", "batch_from_tuples"]

USED = {"x", "edge_index", "edge_attr", "edge_weight", "y", "num_nodes", "adj_t", "batch", "ptr"}
OTHER_NAMES = {"node_feat": "x", "edge_feat": "edge_attr"}
"""Names that dictionaries of OGB and Hugging Face use."""


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

    node_feat and edge_feat are other names of x and edge_attr.
    """
    stores = [{OTHER_NAMES.get(name, name): graph[name] for name in graph} for graph in graphs]
    for store in stores:
        if "edge_index" not in store:
            raise GraphError(f"a dict must have the key 'edge_index', got {list(store)!r:.200}")
    _warn_of_unused({name for store in stores for name in store})
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
            [None] * len(stores),
            [_target(store.get("y")) for store in stores],
        )
    )


def _n_nodes(store: Mapping[str, Any], arcs: Any) -> int:
    x = store.get("x")
    if store.get("num_nodes") is not None:
        return int(store["num_nodes"])
    if x is None or getattr(x, "shape", None) == ():
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
        arrays = [None if tensor is None else as_numbers(tensor, name) for tensor in tensors]
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
        return np.concatenate([as_numbers(tensor, name) for tensor in tensors], axis=axis)
    return as_numbers(torch.cat(tensors, dim=axis), name)


def _target(y: Any) -> Any:
    """Return a target with a single number as that number, other tensors as arrays."""
    y = y.detach().cpu().numpy() if hasattr(y, "detach") else y
    return y.item() if isinstance(y, np.ndarray) and y.size == 1 else y


def _warn_of_unused(given: set[str]) -> None:
    names = sorted(name for name in given - USED if not name.endswith(("_mask", "_index")))
    if names:
        warnings.warn(
            f"the attributes {', '.join(names)} are not used. To use one, append it to x or edge_attr",
            GrnfWarning,
            stacklevel=3,
        )
