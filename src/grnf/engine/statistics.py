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
    batch: GraphBatch, *, directed: bool, adjacency_channel: bool, dtype: type[np.floating[Any]]
) -> Statistics:
    """Compute the statistics of a batch whose graphs are all directed or all undirected."""
    values = batch.edge_attr
    if edge_channels(batch.edge_width, adjacency_channel) > batch.edge_width:
        values = np.hstack([np.ones((len(batch.edges), 1)), values])
    n_edge, n_node = values.shape[1], batch.node_width
    nodes = np.zeros((batch.node_ptr[-1], n_node + (3 if directed else 2) * n_edge))
    nodes[:, :n_node] = batch.node_attr
    pair_ptr = np.zeros(len(batch) + 1, dtype=np.int64)
    pair_nodes = np.empty((len(batch.edges), 2), dtype=np.int64)
    pairs = np.zeros((len(batch.edges), (2 if directed else 1) * n_edge))
    _fill(
        batch.node_ptr, batch.edge_ptr, np.ascontiguousarray(batch.edges), values, directed,
        nodes[:, n_node:], pair_ptr, pair_nodes, pairs,
    )  # fmt: skip
    n_pairs = pair_ptr[-1]
    totals = _segment_sums(nodes[:, : n_node + 2 * n_edge], batch.node_ptr)
    return Statistics(
        directed,
        batch.sizes,
        batch.node_ptr,
        nodes.astype(dtype),
        np.ones(len(nodes), dtype),
        pair_ptr,
        pair_nodes[:n_pairs],
        pairs[:n_pairs].astype(dtype),
        np.ones(n_pairs, dtype),
        totals.astype(dtype),
    )


@kernel
def _fill(
    node_ptr: IntArray,
    edge_ptr: IntArray,
    edges: IntArray,
    values: FloatArray,
    directed: bool,
    sums: FloatArray,
    pair_ptr: IntArray,
    pair_nodes: IntArray,
    pairs: FloatArray,
) -> None:
    """Sum repeated edges; write D, R (and C) into `sums` and the pairs i < j, sorted, into the rest."""
    F = values.shape[1]
    found = 0
    for g in range(len(node_ptr) - 1):
        first_node, n = node_ptr[g], node_ptr[g + 1] - node_ptr[g]
        order = _sorted_edges(edges[edge_ptr[g] : edge_ptr[g + 1]], n)
        last_low = np.int64(-1)
        last_high = np.int64(-1)
        for position in order:
            e = edge_ptr[g] + position
            i, j = edges[e, 0], edges[e, 1]
            for f in range(F):
                v = values[e, f]
                sums[first_node + i, F + f] += v
                if i == j:
                    sums[first_node + i, f] += v
                if directed:
                    sums[first_node + j, 2 * F + f] += v
                elif i != j:
                    sums[first_node + j, F + f] += v
            if i == j:
                continue
            low: Any = min(i, j)
            high: Any = max(i, j)
            if low != last_low or high != last_high:
                last_low, last_high = low, high
                pair_nodes[found, 0], pair_nodes[found, 1] = low, high
                found += 1
            shift = F if directed and i > j else 0
            for f in range(F):
                pairs[found - 1, shift + f] += values[e, f]
        pair_ptr[g + 1] = found


@kernel
def _sorted_edges(edges: IntArray, n: int) -> IntArray:
    """Return the order that sorts edges by (smaller node, larger node)."""
    low, high = np.empty(len(edges), np.int64), np.empty(len(edges), np.int64)
    for e in range(len(edges)):
        low[e], high[e] = min(edges[e, 0], edges[e, 1]), max(edges[e, 0], edges[e, 1])
    return counting_sort(counting_sort(np.arange(len(edges)), high, n), low, n)


@kernel
def _segment_sums(values: FloatArray, ptr: IntArray) -> FloatArray:
    """Return the sum of the rows of each graph."""
    result = np.zeros((len(ptr) - 1, values.shape[1]))
    for g in range(len(ptr) - 1):
        for i in range(ptr[g], ptr[g + 1]):
            for f in range(values.shape[1]):
                result[g, f] += values[i, f]
    return result
