"""What comes before the sums of every order, and U_1 and U_2 themselves: the loops that Python calls for it.

Statistics, classes of equal nodes, neighbours, sums: a call or two each. The arrays that the loops fill are
made here, by numpy, and passed one by one: numba compiles every kind of array that a loop makes, a tuple of
arrays costs as much as all that is done with it, and a loop around all of these would be to compile each of
them twice. Only the sums depend on the activation.
"""

from __future__ import annotations

import numpy as np

from grnf._utils.jit import compiled
from grnf.engine.coefficients import Coefficients
from grnf.engine.grouping import FACTOR, Bits, group
from grnf.engine.neighbours import SEARCHED, Neighbours, list_neighbours
from grnf.engine.rows import RELU, Activation, add_heads, evaluate, project
from grnf.engine.schedule import GRAPHS, NODES, TILE, fitting_tile
from grnf.engine.statistics import Source, Statistics, join_nodes, sum_edges
from grnf.engine.u1 import sum_rows, sum_sparse_rows
from grnf.engine.u2 import add_pairs
from grnf.typing import BoolArray, FloatArray, IntArray

__all__ = ["grouped", "low", "neighbours", "statistics"]


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


def grouped(s: Statistics, bits: Bits) -> Statistics:
    """Return the same graphs with one row per class of nodes and of pairs, and their multiplicities."""
    half, dtype = s.pairs.shape[1] // 2 if s.directed else 0, s.nodes.dtype
    factors = np.arange(1, 2 * max(s.nodes.shape[1], s.pairs.shape[1]), 2, dtype=np.uint64) * FACTOR
    node_ptr, pair_ptr = np.zeros((2, len(s.node_ptr)), np.int64)
    node_rows, node_weight = np.empty(len(s.nodes), np.int64), np.zeros(len(s.nodes), dtype)
    pair_rows, pair_weight = np.empty(len(s.pairs), np.int64), np.zeros(len(s.pairs), dtype)
    pair_nodes = np.empty((len(s.pairs), 2), np.int64)
    _group_nodes(
        s.node_ptr, s.nodes.view(bits.dtype), s.pair_ptr, s.pair_nodes, s.pairs.view(bits.dtype),
        half, factors, node_ptr, node_rows, node_weight, pair_ptr, pair_rows, pair_weight, pair_nodes,
    )  # fmt: skip
    n_nodes, n_pairs = node_ptr[-1], pair_ptr[-1]
    pairs, rows = s.pairs.take(np.abs(pair_rows[:n_pairs]) - 1, axis=0), pair_rows[:n_pairs]
    if half:
        pairs[rows < 0] = np.roll(pairs[rows < 0], half, axis=1)
    return s._replace(
        node_ptr=node_ptr,
        nodes=s.nodes.take(node_rows[:n_nodes], axis=0),
        node_weight=node_weight[:n_nodes],
        pair_ptr=pair_ptr,
        pair_nodes=pair_nodes[:n_pairs],
        pairs=pairs,
        pair_weight=pair_weight[:n_pairs],
    )


def neighbours(s: Statistics, searched: int = SEARCHED, left_out: BoolArray | None = None) -> Neighbours:
    """List the neighbours of every node; a pair {i, j} stands in the lists of both.

    With searched = 0 every entry has a value of its own: for the pair e, those of its two ways are the values
    2 e and 2 e + 1. Graphs that nobody has a use for may be left out.
    """
    n_entries = 2 * len(s.pairs)
    node, value, back = np.zeros((3, n_entries), np.int64)
    near = Neighbours(
        np.zeros(len(s.nodes) + 1, np.int64),
        node,
        np.zeros(n_entries, s.pairs.dtype),
        value,
        back,
        np.zeros(len(s.pair_ptr), np.int64),
        np.zeros((n_entries, s.pairs.shape[1]), s.pairs.dtype),
    )
    if left_out is None:
        left_out = np.zeros(len(s.sizes), np.bool_)
    half = s.pairs.shape[1] // 2 if s.directed else 0
    _list_neighbours(
        s.node_ptr, s.pair_ptr, s.pair_nodes, s.pairs, s.pair_weight, half, searched, left_out, *near
    )
    return near


def low(
    s: Statistics,
    c1: Coefficients,
    c2: Coefficients | None,
    rho: Activation,
    large: BoolArray,
    scale: FloatArray,
    bias: FloatArray,
    out: FloatArray,
) -> None:
    """out[g, feature] = bias + head u U_1 + head u^2 U_2; scale[g] = u.

    U_2 of `large` graphs is left out, and of all of them where it has no channels.
    """
    nodes, U = (s.nodes, s.node_ptr, s.node_weight, s.totals), np.empty(TILE)
    edges = None if c2 is None else neighbours(s, left_out=large)
    left_out, tile = large | (s.sizes < 2), TILE
    if not large.all():
        tile = fitting_tile(TILE, 2 * int(np.diff(s.node_ptr)[~large].max()), c1.bias.itemsize)
    for first in range(0, len(scale), GRAPHS):  # so few that their sums stay in the cache
        last = min(first + GRAPHS, len(scale))
        out[first:last] = bias
        _u1(rho, *nodes, c1.nodes, c1.totals, c1.bias, c1.head, c1.segments, TILE, scale, first, last, U, out)
        if c2 is not None and edges is not None:
            _u2(
                rho, *nodes, edges.ptr, edges.node, edges.weight, edges.value, edges.value_ptr, edges.values,
                left_out, c2.nodes, c2.pairs, c2.totals, c2.bias, c2.head, c2.segments,
                tile, scale, first, last, U, out,
            )  # fmt: skip


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
    sum_edges(
        graphs, edge_ptr, edges, attr, codes, categories, adjacency, directed,
        node_ptr, sums, pair_ptr, pair_nodes, pairs,
    )  # fmt: skip


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
    join_nodes(graphs, source_ptr, attr, codes, categories, node_ptr, sums, nodes, total, totals)


@compiled
def _group_nodes(
    node_ptr: IntArray,
    node_bits: Bits,
    pair_ptr: IntArray,
    pair_nodes: IntArray,
    pair_bits: Bits,
    half: int,
    factors: Bits,
    out_ptr: IntArray,
    out_rows: IntArray,
    out_weight: FloatArray,
    out_pair_ptr: IntArray,
    out_pair_rows: IntArray,
    out_pair_weight: FloatArray,
    out_pair_nodes: IntArray,
) -> None:
    group(
        node_ptr, node_bits, pair_ptr, pair_nodes, pair_bits, half, factors,
        out_ptr, out_rows, out_weight, out_pair_ptr, out_pair_rows, out_pair_weight, out_pair_nodes,
    )  # fmt: skip


@compiled
def _list_neighbours(
    node_ptr: IntArray,
    pair_ptr: IntArray,
    pair_nodes: IntArray,
    pairs: FloatArray,
    pair_weight: FloatArray,
    half: int,
    searched: int,
    left_out: BoolArray,
    ptr: IntArray,
    node: IntArray,
    weight: FloatArray,
    value: IntArray,
    back_value: IntArray,
    value_ptr: IntArray,
    values: FloatArray,
) -> None:
    list_neighbours(
        node_ptr, pair_ptr, pair_nodes, pairs, pair_weight, half, searched, left_out,
        ptr, node, weight, value, back_value, value_ptr, values,
    )  # fmt: skip


@compiled
def _u1(
    rho: Activation,
    rows: FloatArray,
    node_ptr: IntArray,
    node_weight: FloatArray,
    row_totals: FloatArray,
    c_nodes: FloatArray,
    c_totals: FloatArray,
    bias: FloatArray,
    head: FloatArray,
    segments: IntArray,
    tile: int,
    scale: FloatArray,
    first_graph: int,
    last_graph: int,
    sums: FloatArray,
    out: FloatArray,
) -> None:
    """out[g, feature] += head u U_1 for some graphs; scale[g] = u. Graphs of one size stand in a row.

    `sums` is scratch.
    """
    dtype, zero, one = bias.dtype, tile - tile, tile // tile  # 0 and 1: see `_u2`
    for start in range(0, len(bias), tile):
        stop = min(start + tile, len(bias))
        width = stop - start
        t, constant = np.empty((NODES + zero, width), dtype), np.empty((one, width), dtype)
        zeros, partial = np.zeros(width, dtype), np.zeros(width, dtype)
        shared, U, known = bias[start:stop], sums[:width], np.nan
        for g in range(first_graph, last_graph):
            if scale[g] != known:
                known = scale[g]
                nodes = evaluate(c_nodes, zero, known, start, stop)
                totals = evaluate(c_totals, zero, known, start, stop)
            project(row_totals, g, one, totals, shared, constant)
            U[:] = 0
            for first in range(node_ptr[g], node_ptr[g + 1], NODES):
                last = min(first + NODES, node_ptr[g + 1])
                weight = node_weight[first:last]
                partial[:] = 0
                if not sum_sparse_rows(rho, rows[first:last], nodes, constant[0], weight, partial):
                    project(rows, first, last - first, nodes, zeros, t)
                    sum_rows(rho, t, constant[0], weight, partial)
                for h in range(width):
                    U[h] += partial[h]
            add_heads(U, known, head, segments, start, out[g])


@compiled
def _u2(
    rho: Activation,
    rows: FloatArray,
    node_ptr: IntArray,
    node_weight: FloatArray,
    row_totals: FloatArray,
    ptr: IntArray,
    others: IntArray,
    weights: FloatArray,
    value: IntArray,
    value_ptr: IntArray,
    values: FloatArray,
    left_out: BoolArray,
    c_nodes: FloatArray,
    c_pairs: FloatArray,
    c_totals: FloatArray,
    bias: FloatArray,
    head: FloatArray,
    segments: IntArray,
    tile: int,
    scale: FloatArray,
    first_graph: int,
    last_graph: int,
    sums: FloatArray,
    out: FloatArray,
) -> None:
    """out[g, feature] += head u^2 U_2 for some graphs; scale[g] = u. Graphs of one size stand in a row.

    `sums` is scratch.
    """
    # not 0 and 1 themselves: each would be compiled as a type of its own
    dtype, zero, one = bias.dtype, tile - tile, tile // tile
    largest = zero
    for g in range(first_graph, last_graph):
        if not left_out[g]:
            largest = max(largest, node_ptr[g + 1] - node_ptr[g])
    for start in range(0, len(bias), tile):
        stop = min(start + tile, len(bias))
        width = stop - start
        a, b = np.empty((largest, width), dtype), np.empty((largest, width), dtype)
        constant, scratch = np.empty((one, width), dtype), np.empty((one + one, width), dtype)
        zeros, shared, U, known = np.zeros(width, dtype), bias[start:stop], sums[:width], np.nan
        for g in range(first_graph, last_graph):
            if left_out[g]:
                continue
            if scale[g] != known:
                known = scale[g]
                first_nodes = evaluate(c_nodes, zero, known, start, stop)
                second_nodes = evaluate(c_nodes, one, known, start, stop)
                if len(rho) == RELU:
                    for f in range(len(second_nodes)):
                        for h in range(width):
                            second_nodes[f, h] = -second_nodes[f, h]
                pairs = evaluate(c_pairs, zero, known, start, stop)
                totals = evaluate(c_totals, zero, known, start, stop)
            first, count = node_ptr[g], node_ptr[g + 1] - node_ptr[g]
            project(row_totals, g, one, totals, shared, constant)
            project(rows, first, count, first_nodes, constant[0], a)
            project(rows, first, count, second_nodes, zeros, b)
            n_values = value_ptr[g + 1] - value_ptr[g]
            edge = np.empty((n_values, width), dtype)
            project(values, value_ptr[g], n_values, pairs, zeros, edge)
            U[:] = 0
            weight = node_weight[first : first + count]
            add_pairs(rho, a, b, weight, ptr, others, weights, value, first, edge, zeros, scratch, U)
            add_heads(U, known * known, head, segments, start, out[g])
