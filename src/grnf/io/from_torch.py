"""PyTorch Geometric objects, read through their attributes: torch is not imported here."""

from __future__ import annotations

import warnings
from typing import Any

from grnf.errors import GraphError, GrnfWarning
from grnf.io.from_arrays import present, raw_from_arcs
from grnf.io.raw import RawGraph

__all__ = ["raw_from_pyg"]

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
