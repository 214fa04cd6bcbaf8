"""PyTorch Geometric objects, read through their attributes: torch is not imported here."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from grnf._utils.arrays import offsets
from grnf.errors import GraphError, GrnfWarning
from grnf.io.batch import RawBatch, RawColumn
from grnf.io.from_arrays import present, raw_from_arcs
from grnf.io.raw import RawGraph
from grnf.typing import BoolArray, IntArray

__all__ = ["block_of_pyg", "raw_from_pyg"]

USED = {"x", "edge_index", "edge_attr", "edge_weight", "y", "num_nodes", "batch", "ptr"}


def raw_from_pyg(data: Any) -> RawGraph:
    """Convert a PyTorch Geometric `Data`: x, edge_attr, edge_weight (the column "weight") and y.

    An undirected graph, which PyG stores with both arcs of every edge, is recognised and stored once. Nodes
    without edges count, also the last ones, where `num_nodes` or x tells of them. Other attributes of nodes
    and edges are not used, and a warning says so.
    """
    if hasattr(data, "to_data_list"):
        raise GraphError("a Batch holds several graphs; pass it alone, or batch.to_data_list()")
    edge_index = getattr(data, "edge_index", None)
    if edge_index is None:
        if hasattr(data, "node_types"):
            raise GraphError("a graph with several types of nodes must be made one by to_homogeneous()")
        if getattr(data, "adj_t", None) is not None:
            raise GraphError("data has adj_t but no edge_index; leave out the transform ToSparseTensor")
        edge_index = []
    x = getattr(data, "x", None)
    _say_what_is_not_used(data)
    return raw_from_arcs(
        edge_index,
        present(x=x),
        present(weight=getattr(data, "edge_weight", None), edge_attr=getattr(data, "edge_attr", None)),
        n_nodes=data.num_nodes if x is None or "num_nodes" in data else None,
        y=_target(getattr(data, "y", None)),
    )


def block_of_pyg(graphs: Sequence[Any]) -> RawBatch:
    """Convert many `Data` at once, as `raw_from_pyg` does; a `GraphError` if they must go one by one."""
    stores = [data.to_dict() for data in graphs]
    for store in stores:
        if not all(name in USED or name.endswith(("_mask", "_index")) for name in store):
            raise GraphError("attributes that are not used: each graph is to say so")
    node_columns = _together(stores, {"x": "x"})
    edge_columns = _together(stores, {"edge_weight": "weight", "edge_attr": "edge_attr"})
    index = [store.get("edge_index") for store in stores]
    if any(
        arcs is None or arcs.dim() != 2 or arcs.shape[0] != 2 or arcs.is_floating_point() for arcs in index
    ):
        raise GraphError("an edge_index of another shape")
    n_arcs = np.array([arcs.shape[1] for arcs in index], dtype=np.int64)
    n_nodes = np.array([_n_nodes(data, store) for data, store in zip(graphs, stores, strict=True)], np.int64)
    arcs = _joined(index, axis=1).T.astype(np.int64)
    for columns, counts in ((node_columns, n_nodes), (edge_columns, n_arcs)):
        if any(len(column.values) != counts.sum() for column in columns.values()):
            raise GraphError("rows that do not fit")
    owner = np.repeat(np.arange(len(graphs)), n_arcs)
    ends = n_nodes[owner][:, np.newaxis]
    if len(arcs) and (arcs.min() < 0 or (arcs >= ends).any()):
        raise GraphError("an arc that names a node outside")
    undirected = _undirected(arcs, edge_columns, owner, n_nodes)
    kept = np.flatnonzero(~undirected[owner] | (arcs[:, 0] <= arcs[:, 1]))
    return RawBatch(
        offsets(n_nodes),
        offsets(np.bincount(owner[kept], minlength=len(graphs))),
        np.ascontiguousarray(arcs[kept]),
        node_columns,
        {name: RawColumn(column.values[kept]) for name, column in edge_columns.items()},
        ~undirected,
        [None] * len(graphs),
        [_target(store.get("y")) for store in stores],
    )


def _n_nodes(data: Any, store: Mapping[str, Any]) -> int:
    x = store.get("x")
    if x is None or "num_nodes" in store:
        return int(data.num_nodes)
    return len(x)


def _together(stores: list[dict[str, Any]], names: Mapping[str, str]) -> dict[str, RawColumn]:
    """Return attributes that all graphs have, or none; under their names as columns."""
    columns = {}
    for name, column in names.items():
        tensors = [store.get(name) for store in stores]
        if all(tensor is None for tensor in tensors):
            continue
        values = _joined(tensors)  # fails where one is missing, or has another width
        if values.dtype.kind not in "biuf" or values.ndim not in (1, 2):
            raise GraphError(f"{name} of another shape")
        columns[column] = RawColumn(values)
    return columns


def _joined(tensors: list[Any], axis: int = 0) -> Any:
    """Put tensors one behind the other; arrays are joined by numpy."""
    torch = sys.modules.get("torch")
    if torch is None or not all(hasattr(tensor, "detach") for tensor in tensors):
        return np.concatenate([np.asarray(tensor) for tensor in tensors], axis=axis)
    whole = torch.cat(tensors, dim=axis).detach().cpu()
    return (whole.double() if whole.is_floating_point() else whole).numpy()


def _undirected(
    arcs: IntArray, columns: Mapping[str, RawColumn], owner: IntArray, n_nodes: IntArray
) -> BoolArray:
    """Tell which graphs have each arc in both directions, with equal attributes."""
    first = offsets(n_nodes)
    there, back = (arcs + first[owner][:, np.newaxis]).T
    total = int(first[-1])
    if total >= 2**31:
        raise GraphError("too many nodes for one block")
    forth, reverse = there * total + back, back * total + there
    values = [part for column in columns.values() for part in column.values.reshape(len(arcs), -1).T]
    order, other = np.lexsort((*values, forth)), np.lexsort((*values, reverse))
    same = forth[order] == reverse[other]
    for part in values:
        one, two = part[order], part[other]
        same &= (one == two) | ((one != one) & (two != two))
    lacking = np.bincount(owner[order][~same], minlength=len(n_nodes))
    return np.asarray(lacking == 0)


def _target(y: Any) -> Any:
    """Return a target of one number as that number, others as an array."""
    if not hasattr(y, "detach"):
        return y
    return y.item() if y.numel() == 1 else y.detach().cpu().numpy()


def _say_what_is_not_used(data: Any) -> None:
    names = {*data.node_attrs(), *data.edge_attrs()} - USED
    unused = sorted(name for name in names if not name.endswith(("_mask", "_index")))
    if unused:
        warnings.warn(
            f"of the PyG data the attributes {', '.join(unused)} are not used; to use one, append it to "
            "x or edge_attr",
            GrnfWarning,
            stacklevel=2,
        )
