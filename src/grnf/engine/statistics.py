"""From a batch of graphs to what the primitives read: node statistics, pairs that carry an edge, totals.

For each node x_i, and D_i, R_i, C_i of the edge channels; for each pair i < j with an edge A_ij and A_ji;
for each graph the sums over its nodes. On node channels D = R = C = x, so one column serves; on undirected
graphs R = C and A_ij = A_ji, so the second copy is left out.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from grnf.engine.counting import counted, counting_sort
from grnf.engine.jit import compiled, inlined, inner
from grnf.graphs import GraphBatch
from grnf.graphs.batch import ragged_indices
from grnf.typing import FloatArray, IntArray

__all__ = ["Source", "Statistics", "attribute_slopes", "folded", "gathered", "statistics"]


MOVES = 16
"""Steps for each edge after which moving edges to their places is given up for another sort."""


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


class Source(NamedTuple):
    """Some graphs of a batch, and how their tensors are made, as the loops take them.

    `adjacency` is 1 where the first edge channel is the adjacency; channels of categories follow on those of
    numbers, so many of nodes and of edges; `like` has the type of the arithmetic.
    """

    graphs: IntArray
    node_ptr: IntArray
    node_attr: FloatArray
    edge_ptr: IntArray
    edges: IntArray
    edge_attr: FloatArray
    node_codes: IntArray
    edge_codes: IntArray
    node_categories: int
    edge_categories: int
    adjacency: int
    like: FloatArray


@compiled
def statistics(of: Source, directed: bool) -> Statistics:
    """Compute the statistics of graphs."""
    return gathered(of, directed)


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


@inlined
def gathered(of: Source, directed: bool) -> Statistics:
    """Do what `statistics` says, for other loops."""
    n_graphs, n_node = len(of.graphs), of.node_attr.shape[1] + of.node_categories
    n_edge = of.adjacency + of.edge_attr.shape[1] + of.edge_categories
    sizes, node_ptr = np.zeros(n_graphs, np.int64), np.zeros(n_graphs + 1, np.int64)
    n_edges = 0
    for position in range(n_graphs):
        g = of.graphs[position]
        sizes[position] = of.node_ptr[g + 1] - of.node_ptr[g]
        node_ptr[position + 1] = node_ptr[position] + sizes[position]
        n_edges += of.edge_ptr[g + 1] - of.edge_ptr[g]
    sums = np.zeros((node_ptr[-1], (3 if directed else 2) * n_edge), np.float64)
    pair_ptr = np.zeros(n_graphs + 1, np.int64)
    pair_nodes = np.zeros((n_edges, 2), np.int64)
    pair_sums = np.zeros((n_edges, (2 if directed else 1) * n_edge), np.float64)
    _fill(of, directed, node_ptr, sums, (pair_ptr, pair_nodes, pair_sums))
    nodes = np.zeros((node_ptr[-1], n_node + sums.shape[1]), of.like.dtype)
    totals = np.zeros((n_graphs, n_node + 2 * n_edge), of.like.dtype)
    pairs = np.zeros((pair_ptr[-1], pair_sums.shape[1]), of.like.dtype)
    node_weight, pair_weight = np.zeros(len(nodes), of.like.dtype), np.zeros(len(pairs), of.like.dtype)
    _join(of, node_ptr, sums, nodes, totals)
    for i in range(len(nodes)):
        node_weight[i] = 1
    for e in range(len(pairs)):
        pair_weight[e] = 1
        for f in range(pairs.shape[1]):
            pairs[e, f] = pair_sums[e, f]
    return Statistics(
        directed,
        sizes,
        node_ptr,
        nodes,
        node_weight,
        pair_ptr,
        pair_nodes[: len(pairs)],
        pairs,
        pair_weight,
        totals,
    )


@inner
def _fill(
    of: Source,
    directed: bool,
    node_ptr: IntArray,
    sums: FloatArray,
    found_pairs: tuple[IntArray, IntArray, FloatArray],
) -> None:
    """Sum repeated edges; write D, R (and C) into `sums` and the pairs i < j, sorted, into the rest."""
    pair_ptr, pair_nodes, pairs = found_pairs
    numbers = of.adjacency + of.edge_attr.shape[1]
    F = numbers + of.edge_categories
    found = 0
    for position in range(len(of.graphs)):
        first_edge, last_edge = of.edge_ptr[of.graphs[position]], of.edge_ptr[of.graphs[position] + 1]
        first_node, n = node_ptr[position], node_ptr[position + 1] - node_ptr[position]
        own = of.edges[first_edge:last_edge]
        order = _order(own, n)
        last_low = last_high = np.int64(-1)
        for place in range(len(own)):
            e = order[place] if len(order) else place
            i, j = own[e, 0], own[e, 1]
            low, high = min(i, j), max(i, j)
            if low != high and (low != last_low or high != last_high):
                last_low, last_high = low, high
                pair_nodes[found, 0], pair_nodes[found, 1] = low, high
                found += 1
            shift = F if directed and i > j else 0
            for column in range(numbers + of.edge_codes.shape[1]):
                f, v = column, 1.0
                if column >= numbers:
                    f = numbers + of.edge_codes[first_edge + e, column - numbers]
                    if f < numbers:  # no category
                        continue
                elif column >= of.adjacency:
                    v = of.edge_attr[first_edge + e, column - of.adjacency]
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


@inner
def _order(edges: IntArray, n: int) -> IntArray:
    """Return the order of the edges by their smaller node, then by their larger one; empty if they are in it.

    Most files list them so.
    """
    low, high = np.zeros(len(edges), np.int64), np.zeros(len(edges), np.int64)
    in_order = True
    for e in range(len(edges)):
        low[e], high[e] = min(edges[e, 0], edges[e, 1]), max(edges[e, 0], edges[e, 1])
        if e and (low[e] < low[e - 1] or (low[e] == low[e - 1] and high[e] < high[e - 1])):
            in_order = False
    if in_order:
        return low[:0]
    order = counting_sort(counted(len(edges)), low, n)
    steps = 0
    for place in range(1, len(order)):  # few at each node: moved to their places
        e, at = order[place], place
        while at > 0 and low[order[at - 1]] == low[e] and high[order[at - 1]] > high[e]:
            order[at] = order[at - 1]
            at -= 1
        order[at] = e
        steps += place - at
        if steps > MOVES * len(order):  # many: sorted by both
            return counting_sort(counting_sort(counted(len(edges)), high, n), low, n)
    return order


@inner
def _join(of: Source, node_ptr: IntArray, sums: FloatArray, nodes: FloatArray, totals: FloatArray) -> None:
    """Write [x | sums] to nodes and add up the first columns to totals."""
    numbers, total = of.node_attr.shape[1], np.zeros(totals.shape[1], np.float64)
    width = numbers + of.node_categories
    for position in range(len(of.graphs)):
        shift = of.node_ptr[of.graphs[position]] - node_ptr[position]
        for f in range(len(total)):
            total[f] = 0
        for i in range(node_ptr[position], node_ptr[position + 1]):
            for f in range(numbers):
                nodes[i, f] = of.node_attr[i + shift, f]
                total[f] += of.node_attr[i + shift, f]
            for column in range(of.node_codes.shape[1]):
                code = of.node_codes[i + shift, column]
                if code >= 0:
                    nodes[i, numbers + code] = 1
                    total[numbers + code] += 1
            for f in range(sums.shape[1]):
                nodes[i, width + f] = sums[i, f]
            for f in range(width, len(total)):
                total[f] += sums[i, f - width]
        for f in range(len(total)):
            totals[position, f] = total[f]
