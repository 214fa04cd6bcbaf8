"""From a batch of graphs to what the primitives read: node statistics, pairs that carry an edge, totals.

For each node x_i, and D_i, R_i, C_i of the edge channels; for each pair i < j with an edge A_ij and A_ji;
for each graph the sums over its nodes. On node channels D = R = C = x, so one column serves; on undirected
graphs R = C and A_ij = A_ji, so the second copy is left out.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from grnf.engine.counting import counting_sort
from grnf.engine.jit import compiled
from grnf.graphs import GraphBatch, edge_channels
from grnf.graphs.batch import ragged_indices
from grnf.typing import FloatArray, IntArray

__all__ = ["Statistics", "attribute_slopes", "folded", "statistics"]


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


def folded(s: Statistics) -> Statistics:
    """Return directed graphs as undirected ones if every arc has an equal one the other way round."""
    F = s.pairs.shape[1] // 2
    if not s.directed or not np.array_equal(s.pairs[:, :F], s.pairs[:, F:]):
        return s
    nodes, pairs = np.ascontiguousarray(s.nodes[:, :-F]), np.ascontiguousarray(s.pairs[:, :F])
    return s._replace(directed=False, nodes=nodes, pairs=pairs)


def attribute_slopes(
    batch: GraphBatch,
    graphs: IntArray,
    s: Statistics,
    d: tuple[FloatArray, FloatArray, FloatArray],
    d_node_attr: FloatArray,
    d_edge_attr: FloatArray | None,
) -> None:
    """Add the derivatives of attributes, given those of the statistics of these graphs: nodes, pairs, totals.

    Those of edges need the statistics of directed graphs, in which every arc has numbers of its own.
    """
    d_nodes, d_pairs, d_totals = d
    x, F = batch.node_width, (s.totals.shape[1] - batch.node_width) // 2
    graph_of = np.repeat(np.arange(len(graphs)), s.sizes)
    own = d_nodes[:, : x + 2 * F] + d_totals[graph_of]
    d_node_attr[ragged_indices(batch.node_ptr, graphs)] += own[:, :x]
    if d_edge_attr is None:
        return
    rows = ragged_indices(batch.edge_ptr, graphs)
    first = np.repeat(s.node_ptr[:-1], np.diff(batch.edge_ptr)[graphs])
    i, j = (batch.edges[rows] + first[:, np.newaxis]).T
    loop = i == j
    found = own[i, x + F :] + d_nodes[j, x + 2 * F :]
    found[loop] += own[i[loop], x : x + F]
    n, pair_first = len(s.nodes), np.repeat(s.node_ptr[:-1], np.diff(s.pair_ptr))
    keys = (s.pair_nodes[:, 0] + pair_first) * n + s.pair_nodes[:, 1] + pair_first
    place = np.searchsorted(keys, np.minimum(i, j) * n + np.maximum(i, j))[~loop]
    there = (i < j)[~loop, np.newaxis]
    found[~loop] += np.where(there, d_pairs[place, :F], d_pairs[place, F:])
    d_edge_attr[rows] += found[:, F - batch.edge_width :]


@compiled
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


@compiled
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


@compiled
def _in_order(edges: IntArray) -> bool:
    """Whether the edges ascend by their smaller node, then by their larger node; most files list them so."""
    last_low = last_high = np.int64(-1)
    for e in range(len(edges)):
        low, high = min(edges[e, 0], edges[e, 1]), max(edges[e, 0], edges[e, 1])
        if low < last_low or (low == last_low and high < last_high):
            return False
        last_low, last_high = low, high
    return True


@compiled
def _sorted_edges(edges: IntArray, n: int) -> tuple[IntArray, IntArray]:
    """Return the edges sorted by their smaller node, then by their larger node, and which ones they are."""
    low, high = np.empty(len(edges), np.int64), np.empty(len(edges), np.int64)
    for e in range(len(edges)):
        low[e], high[e] = min(edges[e, 0], edges[e, 1]), max(edges[e, 0], edges[e, 1])
    order = counting_sort(counting_sort(np.arange(len(edges)), high, n), low, n)
    ordered = np.empty((len(edges), 2), np.int64)
    for place in range(len(edges)):
        ordered[place, 0], ordered[place, 1] = edges[order[place], 0], edges[order[place], 1]
    return ordered, order


@compiled
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
