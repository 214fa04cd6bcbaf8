"""From a batch of graphs to what the primitives read: node statistics, pairs that carry an edge, totals.

For each node x_i, and D_i, R_i, C_i of the edge channels; for each pair i < j with an edge A_ij and A_ji;
for each graph the sums over its nodes. On node channels D = R = C = x, so one column serves; on undirected
graphs R = C and A_ij = A_ji, so the second copy is left out.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from grnf._utils.arrays import ragged_indices
from grnf._utils.jit import compiled, inner
from grnf.engine.counting import counted, counting_sort
from grnf.graphs import GraphBatch
from grnf.typing import FloatArray, IntArray, ShortArray

__all__ = ["Source", "Statistics", "attribute_slopes", "folded", "statistics"]


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


def statistics(of: Source, directed: bool) -> Statistics:
    """Compute the statistics of graphs."""
    graphs, dtype = of.graphs, of.like.dtype
    n_node = of.node_attr.shape[1] + of.node_categories
    n_edge = of.adjacency + of.edge_attr.shape[1] + of.edge_categories
    sizes = of.node_ptr[graphs + 1] - of.node_ptr[graphs]
    n_edges = int((of.edge_ptr[graphs + 1] - of.edge_ptr[graphs]).sum())
    node_ptr, pair_ptr = np.zeros((2, len(graphs) + 1), np.int64)
    np.cumsum(sizes, out=node_ptr[1:])
    sums = np.zeros((node_ptr[-1], (3 if directed else 2) * n_edge))
    pair_nodes, pair_sums = np.empty((n_edges, 2), np.int64), np.zeros((n_edges, sums.shape[1] - n_edge))
    nodes = np.zeros((node_ptr[-1], n_node + sums.shape[1]), dtype)
    totals = np.empty((len(graphs), n_node + 2 * n_edge), dtype)
    _sum_edges(
        graphs, of.edge_ptr, of.edges, of.edge_attr, of.edge_codes, of.edge_categories, of.adjacency,
        directed, node_ptr, sums, pair_ptr, pair_nodes, pair_sums,
    )  # fmt: skip
    _join_nodes(
        graphs, of.node_ptr, of.node_attr, of.node_codes, of.node_categories,
        node_ptr, sums, nodes, np.empty(totals.shape[1]), totals,
    )  # fmt: skip
    pairs = pair_sums[: pair_ptr[-1]].astype(dtype)
    weights = np.ones(len(nodes), dtype), np.ones(len(pairs), dtype)
    return Statistics(
        directed,
        sizes,
        node_ptr,
        nodes,
        weights[0],
        pair_ptr,
        pair_nodes[: len(pairs)],
        pairs,
        weights[1],
        totals,
    )


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
def _sum_edges(
    graphs: IntArray,
    edge_ptr: IntArray,
    edges: IntArray,
    attr: FloatArray,
    codes: IntArray,
    categories: int,
    adjacency: int,
    directed: bool,
    node_ptr: IntArray,
    sums: FloatArray,
    pair_ptr: IntArray,
    pair_nodes: IntArray,
    pairs: FloatArray,
) -> None:
    """Sum repeated edges; write D, R (and C) into `sums` and the pairs i < j, sorted, into the rest."""
    numbers = adjacency + attr.shape[1]
    F = numbers + categories
    found = 0
    for position in range(len(graphs)):
        first_edge, last_edge = edge_ptr[graphs[position]], edge_ptr[graphs[position] + 1]
        first_node, n = node_ptr[position], node_ptr[position + 1] - node_ptr[position]
        rows = _in_order(edges, first_edge, last_edge, n)
        last_low = last_high = np.int64(-1)
        for place in range(last_edge - first_edge):
            e = first_edge + place
            i, j = edges[e, 0], edges[e, 1]
            if len(rows):
                i, j = np.int64(rows[place, 0]), np.int64(rows[place, 1])
                e = first_edge + np.int64(rows[place, 2])
            low, high = min(i, j), max(i, j)
            if low != high and (low != last_low or high != last_high):
                last_low, last_high = low, high
                pair_nodes[found, 0], pair_nodes[found, 1] = low, high
                found += 1
            shift = F if directed and i > j else 0
            for column in range(numbers + codes.shape[1]):
                f, v = column, 1.0
                if column >= numbers:
                    f = numbers + codes[e, column - numbers]
                    if f < numbers:  # no category
                        continue
                elif column >= adjacency:
                    v = attr[e, column - adjacency]
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
def _in_order(edges: IntArray, first: int, last: int, n: int) -> ShortArray:
    """Return [i, j, which edge] sorted by the smaller node, then by the larger one; no rows if they are so.

    Most files list them so.
    """
    disorder = False
    for e in range(first + 1, last):
        i, j, low, high = edges[e, 0], edges[e, 1], edges[e - 1, 0], edges[e - 1, 1]
        low, high = min(low, high), max(low, high)
        if min(i, j) < low or (min(i, j) == low and max(i, j) < high):
            disorder = True
            break
    rows = np.zeros((last - first if disorder else 0, 3), np.uint32)  # half the memory to fetch
    if not disorder:
        return rows
    start = np.zeros(n + 1, np.int64)
    for e in range(first, last):
        start[min(edges[e, 0], edges[e, 1]) + 1] += 1
    for node in range(n):
        start[node + 1] += start[node]
    for e in range(first, last):  # into buckets of equal smaller nodes, a row in one line of the cache
        i, j = edges[e, 0], edges[e, 1]
        place = start[min(i, j)]
        rows[place, 0], rows[place, 1], rows[place, 2] = i, j, e - first
        start[min(i, j)] += 1
    steps, bucket = 0, 0
    for place in range(1, len(rows)):  # few in each: moved to their places
        i, j, e = rows[place, 0], rows[place, 1], rows[place, 2]
        low, high, at = min(i, j), max(i, j), place
        if min(rows[place - 1, 0], rows[place - 1, 1]) != low:
            bucket = place
        while at > bucket and max(rows[at - 1, 0], rows[at - 1, 1]) > high:
            rows[at, 0], rows[at, 1], rows[at, 2] = rows[at - 1, 0], rows[at - 1, 1], rows[at - 1, 2]
            at -= 1
        rows[at, 0], rows[at, 1], rows[at, 2] = i, j, e
        steps += place - at
        if steps > MOVES * len(rows):  # many: sorted by both
            _sort_by_both(edges, first, n, rows)
            break
    return rows


@inner
def _sort_by_both(edges: IntArray, first: int, n: int, rows: ShortArray) -> None:
    lows, highs = np.zeros(len(rows), np.int64), np.zeros(len(rows), np.int64)
    for k in range(len(rows)):
        lows[k] = min(edges[first + k, 0], edges[first + k, 1])
        highs[k] = max(edges[first + k, 0], edges[first + k, 1])
    order = counting_sort(counting_sort(counted(len(rows)), highs, n), lows, n)
    for place in range(len(rows)):
        e = order[place]
        rows[place, 0], rows[place, 1], rows[place, 2] = edges[first + e, 0], edges[first + e, 1], e


@compiled
def _join_nodes(
    graphs: IntArray,
    source_ptr: IntArray,
    attr: FloatArray,
    codes: IntArray,
    categories: int,
    node_ptr: IntArray,
    sums: FloatArray,
    nodes: FloatArray,
    total: FloatArray,
    totals: FloatArray,
) -> None:
    """Write [x | sums] to nodes and add up the first columns to totals; `total` is scratch."""
    numbers, width = attr.shape[1], attr.shape[1] + categories
    for position in range(len(graphs)):
        shift = source_ptr[graphs[position]] - node_ptr[position]
        for f in range(len(total)):
            total[f] = 0
        for i in range(node_ptr[position], node_ptr[position + 1]):
            for f in range(numbers):
                nodes[i, f] = attr[i + shift, f]
                total[f] += attr[i + shift, f]
            for column in range(codes.shape[1]):
                code = codes[i + shift, column]
                if code >= 0:
                    nodes[i, numbers + code] = 1
                    total[numbers + code] += 1
            for f in range(sums.shape[1]):
                nodes[i, width + f] = sums[i, f]
            for f in range(width, len(total)):
                total[f] += sums[i, f - width]
        for f in range(len(total)):
            totals[position, f] = total[f]
