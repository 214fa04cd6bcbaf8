"""From tensors to the graphs that the engine takes."""

from __future__ import annotations

import numpy as np
from torch import Tensor

from grnf.engine.arcs import owners, without_reverses
from grnf.errors import GraphError
from grnf.graphs import GraphBatch
from grnf.typing import IntArray

__all__ = ["as_batch"]


def as_batch(
    x: Tensor, arcs: Tensor, values: Tensor, batch: Tensor, n_graphs: int, once: bool
) -> tuple[GraphBatch, IntArray | None, IntArray | None]:
    """Return the graphs, and the order in which their nodes and arcs stand there; None: as they were given.

    With `once`, edges that are given by two arcs are kept as one.
    """
    # one layout: kernels are compiled again for another
    number, ends = (np.ascontiguousarray(one.cpu().numpy()) for one in (batch, arcs))
    node_attr, edge_attr = (np.ascontiguousarray(one.double().cpu().numpy()) for one in (x, values))
    node_order, edge_order, n_arcs = None, None, ends.shape[1]
    if (number[1:] < number[:-1]).any():
        node_order = np.argsort(number, kind="stable")
        inside = ends.size == 0 or (ends.min() >= 0 and ends.max() < len(number))
        ends, number = np.argsort(node_order)[ends] if inside else ends, number[node_order]
        node_attr = node_attr[node_order]
    if len(number) and (number[0] < 0 or number[-1] >= n_graphs):
        raise GraphError(
            f"batch holds numbers from {number[0]} to {number[-1]}, but there are {n_graphs} graphs "
            "(batch_size)"
        )
    graph = np.empty(n_arcs, np.int64)
    wrong, in_order = owners(number, ends[0], ends[1], graph)
    if wrong >= 0:
        _refuse(arcs.cpu().numpy(), wrong, len(number))
    if not in_order:
        edge_order = np.argsort(graph, kind="stable")
        ends, graph, edge_attr = ends[:, edge_order], graph[edge_order], edge_attr[edge_order]
    numbers = np.arange(n_graphs + 1)
    node_ptr, arc_ptr = np.searchsorted(number, numbers), np.searchsorted(graph, numbers)
    if once:
        edge_ptr, directed = np.zeros(n_graphs + 1, np.int64), np.ones(n_graphs, np.bool_)
        edges, kept = np.empty((n_arcs, 2), np.int64), np.empty(n_arcs, np.int64)
        without_reverses(node_ptr, arc_ptr, ends[0], ends[1], edge_attr, edge_ptr, edges, kept, directed)
        kept, edges = kept[: edge_ptr[-1]], edges[: edge_ptr[-1]]
        edge_attr = edge_attr[kept]
        edge_order = kept if edge_order is None else edge_order[kept]
    else:
        edge_ptr, directed = arc_ptr, np.ones(n_graphs, np.bool_)
        edges = np.ascontiguousarray(ends.T - node_ptr[graph][:, np.newaxis])
    return GraphBatch(node_ptr, edge_ptr, edges, node_attr, edge_attr, directed), node_order, edge_order


def _refuse(ends: IntArray, wrong: int, n: int) -> None:
    """Say what is wrong with an arc."""
    if ends.min() < 0 or ends.max() >= n:
        raise GraphError(f"edge_index names nodes from {ends.min()} to {ends.max()}, but there are {n} nodes")
    raise GraphError(
        f"edge_index[:, {wrong}] = {ends[:, wrong].tolist()} joins nodes of two graphs; in a "
        "batch the nodes of each graph are numbered on from those before it"
    )
