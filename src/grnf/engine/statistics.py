"""From a batch of graphs to what the primitives read: node statistics, pairs that carry an edge, totals.

For each node x_i, and D_i, R_i, C_i of the edge channels; for each pair i < j with an edge A_ij and A_ji;
for each graph the sums over its nodes. On node channels D = R = C = x, so one column serves; on undirected
graphs R = C and A_ij = A_ji, so the second copy is left out.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from grnf.engine.jit import kernel
from grnf.graphs import GraphBatch, edge_channels
from grnf.typing import FloatArray, IntArray

__all__ = ["Statistics", "edge_channels", "statistics"]


FEW = 32
"""Edges of one node up to which insertion sort is used."""


class Statistics(NamedTuple):
    """Arrays of one batch of graphs that are all directed or all undirected.

    `nodes` has columns [x | D | R] for undirected and [x | D | R | C] for directed graphs, `pairs` rows
    A_ij (undirected) or [A_ij | A_ji] (directed), `totals` columns [sum x | sum D | sum R]. A row of `nodes`
    stands for `node_weight` equal nodes, a row of `pairs` for `pair_weight` equal pairs of nodes; `sizes` are
    the true numbers of nodes.
    """

    directed: bool
    sizes: IntArray
    node_ptr: IntArray
    nodes: FloatArray
    node_weight: FloatArray
    pair_ptr: IntArray
    pair_nodes: IntArray
    pairs: FloatArray
    pair_weight: FloatArray
    totals: FloatArray


def statistics(
    batch: GraphBatch,
    graphs: IntArray,
    *,
    directed: bool,
    adjacency_channel: bool,
    dtype: type[np.floating[Any]],
) -> Statistics:
    """Compute the statistics of some graphs of a batch, which are all directed or all undirected."""
    adjacency = edge_channels(batch.edge_width, adjacency_channel) - batch.edge_width
    return _statistics(
        graphs, batch.node_ptr, batch.node_attr, batch.edge_ptr, batch.edges, batch.edge_attr, adjacency,
        directed, np.empty(0, dtype),
    )  # fmt: skip


@kernel
def _statistics(
    graphs: IntArray,
    batch_ptr: IntArray,
    node_attr: FloatArray,
    edge_ptr: IntArray,
    edges: IntArray,
    edge_attr: FloatArray,
    adjacency: int,
    directed: bool,
    like: FloatArray,
) -> Statistics:
    """Do all of it in one compiled call, so that threads do not wait for each other in between.

    `adjacency` is 1 where the first edge channel is the adjacency; `like` has the type of the result.
    """
    n_graphs, n_node, n_edge = len(graphs), node_attr.shape[1], adjacency + edge_attr.shape[1]
    sizes, node_ptr = np.empty(n_graphs, np.int64), np.zeros(n_graphs + 1, np.int64)
    n_edges = 0
    for position in range(n_graphs):
        g = graphs[position]
        sizes[position] = batch_ptr[g + 1] - batch_ptr[g]
        node_ptr[position + 1] = node_ptr[position] + sizes[position]
        n_edges += edge_ptr[g + 1] - edge_ptr[g]
    sums = np.zeros((node_ptr[-1], (3 if directed else 2) * n_edge))
    pair_ptr = np.zeros(n_graphs + 1, np.int64)
    pair_nodes = np.empty((n_edges, 2), np.int64)
    pairs = np.zeros((n_edges, (2 if directed else 1) * n_edge))
    _fill(
        graphs, node_ptr, edge_ptr, edges, edge_attr, adjacency, directed,
        sums, (pair_ptr, pair_nodes, pairs),
    )  # fmt: skip
    nodes = np.empty((node_ptr[-1], n_node + sums.shape[1]), like.dtype)
    totals = np.zeros((n_graphs, n_node + 2 * n_edge))
    _join(graphs, batch_ptr, node_attr, node_ptr, sums, nodes, totals)
    n_pairs = pair_ptr[-1]
    return Statistics(
        directed,
        sizes,
        node_ptr,
        nodes,
        np.ones(len(nodes), like.dtype),
        pair_ptr,
        pair_nodes[:n_pairs],
        pairs[:n_pairs].astype(like.dtype),
        np.ones(n_pairs, like.dtype),
        totals.astype(like.dtype),
    )


@kernel
def _fill(
    graphs: IntArray,
    node_ptr: IntArray,
    edge_ptr: IntArray,
    edges: IntArray,
    edge_attr: FloatArray,
    adjacency: int,
    directed: bool,
    sums: FloatArray,
    found_pairs: tuple[IntArray, IntArray, FloatArray],
) -> None:
    """Sum repeated edges; write D, R (and C) into `sums` and the pairs i < j, sorted, into the rest."""
    pair_ptr, pair_nodes, pairs = found_pairs
    F = adjacency + edge_attr.shape[1]
    found = 0
    for position in range(len(graphs)):
        first_edge, last_edge = edge_ptr[graphs[position]], edge_ptr[graphs[position] + 1]
        first_node, n = node_ptr[position], node_ptr[position + 1] - node_ptr[position]
        own = edges[first_edge:last_edge]
        in_order, order = _in_order(own), np.empty(0, np.int64)
        if not in_order:
            own, order = _sorted_edges(own, n)
        last_low = last_high = np.int64(-1)
        for place in range(len(own)):
            e = place if in_order else order[place]
            i, j = own[place, 0], own[place, 1]
            low, high = min(i, j), max(i, j)
            if low != high and (low != last_low or high != last_high):
                last_low, last_high = low, high
                pair_nodes[found, 0], pair_nodes[found, 1] = low, high
                found += 1
            shift = F if directed and i > j else 0
            for f in range(F):
                v = 1.0 if f < adjacency else edge_attr[first_edge + e, f - adjacency]
                sums[first_node + i, F + f] += v
                if directed:
                    sums[first_node + j, 2 * F + f] += v
                if i == j:
                    sums[first_node + i, f] += v
                else:
                    pairs[found - 1, shift + f] += v
                    if not directed:
                        sums[first_node + j, F + f] += v
        pair_ptr[position + 1] = found


@kernel
def _in_order(edges: IntArray) -> bool:
    """Whether the edges ascend by their smaller node, then by their larger node; most files list them so."""
    last_low = last_high = np.int64(-1)
    for e in range(len(edges)):
        low, high = min(edges[e, 0], edges[e, 1]), max(edges[e, 0], edges[e, 1])
        if low < last_low or (low == last_low and high < last_high):
            return False
        last_low, last_high = low, high
    return True


@kernel
def _sorted_edges(edges: IntArray, n: int) -> tuple[IntArray, IntArray]:
    """Return the edges sorted by their smaller node, then by their larger node, and which ones they are."""
    start = np.zeros(n + 2, np.int64)
    for e in range(len(edges)):
        start[min(edges[e, 0], edges[e, 1]) + 2] += 1
    for node in range(n):
        start[node + 2] += start[node + 1]
    packed, order = np.empty(len(edges), np.int64), np.empty(len(edges), np.int64)
    for e in range(len(edges)):
        i, j = edges[e, 0], edges[e, 1]
        place = start[min(i, j) + 1]
        packed[place], order[place] = 2 * max(i, j) + (i > j), e  # the larger node; whether it came first
        start[min(i, j) + 1] += 1
    ordered = np.empty_like(edges)
    for low in range(n):
        first, last = start[low], start[low + 1]
        if last - first > FEW:
            _merge_sort(packed[first:last], order[first:last])
        else:
            _insertion_sort(packed[first:last], order[first:last])
        for place in range(first, last):
            high, turned = packed[place] >> 1, packed[place] & 1
            ordered[place, turned], ordered[place, 1 - turned] = low, high
    return ordered, order


@kernel
def _merge_sort(packed: IntArray, order: IntArray) -> None:
    """Sort many edges by their larger node, equal ones in the order they had."""
    unsorted, unsorted_order, keys = packed.copy(), order.copy(), np.empty_like(packed)
    for k in range(len(packed)):
        keys[k] = packed[k] >> 1
    by_larger = np.argsort(keys, kind="mergesort")
    for k in range(len(packed)):
        packed[k], order[k] = unsorted[by_larger[k]], unsorted_order[by_larger[k]]


@kernel
def _insertion_sort(packed: IntArray, order: IntArray) -> None:
    """Sort a few edges by their larger node, equal ones in the order they had."""
    for k in range(1, len(packed)):
        value, e = packed[k], order[k]
        place = k
        while place > 0 and packed[place - 1] >> 1 > value >> 1:
            packed[place], order[place] = packed[place - 1], order[place - 1]
            place -= 1
        packed[place], order[place] = value, e


@kernel
def _join(
    graphs: IntArray,
    batch_ptr: IntArray,
    node_attr: FloatArray,
    node_ptr: IntArray,
    sums: FloatArray,
    nodes: FloatArray,
    totals: FloatArray,
) -> None:
    """Write [x | sums] to nodes and add up the first columns to totals."""
    width = node_attr.shape[1]
    for position in range(len(graphs)):
        shift = batch_ptr[graphs[position]] - node_ptr[position]
        for i in range(node_ptr[position], node_ptr[position + 1]):
            for f in range(width):
                nodes[i, f] = node_attr[i + shift, f]
                totals[position, f] += node_attr[i + shift, f]
            for f in range(sums.shape[1]):
                nodes[i, width + f] = sums[i, f]
            for f in range(width, totals.shape[1]):
                totals[position, f] += sums[i, f - width]
