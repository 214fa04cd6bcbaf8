"""From a batch of graphs to what the primitives read: node statistics, pairs that carry an edge, totals.

For each node x_i, and D_i, R_i, C_i of the edge channels; for each pair i < j with an edge A_ij and A_ji;
for each graph the sums over its nodes. On node channels D = R = C = x, so one column serves; on undirected
graphs R = C and A_ij = A_ji, so the second copy is left out.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from grnf.engine.counting import counting_sort
from grnf.engine.jit import kernel
from grnf.graphs import GraphBatch
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


def edge_channels(edge_width: int, adjacency_channel: bool) -> int:
    """Return the number of edge channels of the tensor A."""
    return edge_width + 1 if adjacency_channel or edge_width == 0 else edge_width


def statistics(
    batch: GraphBatch,
    graphs: IntArray,
    *,
    directed: bool,
    adjacency_channel: bool,
    dtype: type[np.floating[Any]],
) -> Statistics:
    """Compute the statistics of some graphs of a batch, which are all directed or all undirected."""
    n_node, n_edge = batch.node_width, edge_channels(batch.edge_width, adjacency_channel)
    adjacency = n_edge - batch.edge_width  # 1 where the first edge channel is the adjacency
    node_ptr = _offsets(np.diff(batch.node_ptr)[graphs])
    n_edges = int(np.diff(batch.edge_ptr)[graphs].sum())
    sums = np.zeros((node_ptr[-1], (3 if directed else 2) * n_edge))
    pair_ptr = np.zeros(len(graphs) + 1, dtype=np.int64)
    pair_nodes = np.empty((n_edges, 2), dtype=np.int64)
    pairs = np.zeros((n_edges, (2 if directed else 1) * n_edge))
    _fill(
        graphs, node_ptr, batch.edge_ptr, batch.edges, batch.edge_attr, adjacency, directed,
        sums, (pair_ptr, pair_nodes, pairs),
    )  # fmt: skip
    nodes = np.empty((node_ptr[-1], n_node + sums.shape[1]), dtype)
    totals = np.zeros((len(graphs), n_node + 2 * n_edge))
    _join(graphs, batch.node_ptr, batch.node_attr, node_ptr, sums, nodes, totals)
    n_pairs = pair_ptr[-1]
    return Statistics(
        directed,
        np.diff(node_ptr),
        node_ptr,
        nodes,
        np.ones(len(nodes), dtype),
        pair_ptr,
        pair_nodes[:n_pairs],
        pairs[:n_pairs].astype(dtype),
        np.ones(n_pairs, dtype),
        totals.astype(dtype),
    )


def _offsets(counts: IntArray) -> IntArray:
    return np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)


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
        order = _sorted_edges(edges[first_edge:last_edge], n)
        last_low = last_high = np.int64(-1)
        for place in order:
            e = first_edge + place
            i, j = edges[e, 0], edges[e, 1]
            low, high = min(i, j), max(i, j)
            if low != high and (low != last_low or high != last_high):
                last_low, last_high = low, high
                pair_nodes[found, 0], pair_nodes[found, 1] = low, high
                found += 1
            shift = F if directed and i > j else 0
            for f in range(F):
                v = 1.0 if f < adjacency else edge_attr[e, f - adjacency]
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


@kernel
def _sorted_edges(edges: IntArray, n: int) -> IntArray:
    """Return the order that sorts edges by (smaller node, larger node).

    By the smaller node all at once; the edges of one smaller node are few, and sorted where they stand.
    """
    low = np.empty(len(edges), np.int64)
    for e in range(len(edges)):
        low[e] = min(edges[e, 0], edges[e, 1])
    order = counting_sort(np.arange(len(edges)), low, n)
    start = 0
    while start < len(order):
        stop = start + 1
        while stop < len(order) and low[order[stop]] == low[order[start]]:
            stop += 1
        if stop - start > FEW:
            some = order[start:stop]
            high = np.empty(stop - start, np.int64)
            for k in range(stop - start):
                high[k] = max(edges[some[k], 0], edges[some[k], 1])
            order[start:stop] = some[np.argsort(high, kind="mergesort")]
        else:
            _insertion_sort(order, start, stop, edges)
        start = stop
    return order


@kernel
def _insertion_sort(order: IntArray, start: int, stop: int, edges: IntArray) -> None:
    """Sort a few edges by their larger node, equal ones in the order they had."""
    for k in range(start + 1, stop):
        e = order[k]
        high = max(edges[e, 0], edges[e, 1])
        place = k
        while place > start and max(edges[order[place - 1], 0], edges[order[place - 1], 1]) > high:
            order[place] = order[place - 1]
            place -= 1
        order[place] = e
