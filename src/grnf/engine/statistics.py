"""Statistics of a batch of graphs that the sums read: rows of nodes, pairs with an edge, totals, neighbors.

For each node x_i, and D_i, R_i, C_i of the edge channels, for each pair i < j with an edge A_ij and A_ji,
for each graph the sums over its nodes. On node channels D = R = C = x, so one column serves. On undirected
graphs R = C and A_ij = A_ji, so the second copy is left out. Nodes with equal rows may be grouped to one.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from grnf._utils.arrays import ragged_indices
from grnf._utils.jit import compiled, inner
from grnf.engine.counting import counting_sort, integers_below, sort_by_keys
from grnf.graphs import GraphBatch, edge_channels
from grnf.typing import BoolArray, FloatArray, IntArray, ShortArray


class Statistics(NamedTuple):
    """Arrays of a batch of graphs that are all directed or all undirected.

    `nodes` has columns [x | D | R] for undirected and [x | D | R | C] for directed graphs, `pairs` rows
    A_ij (undirected) or [A_ij | A_ji] (directed), `totals` columns [sum x | sum D | sum R]. A row of `nodes`
    stands for `node_weight` equal nodes, a row of `pairs` for `pair_weight` equal pairs of nodes. `sizes` are
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
    batch: GraphBatch, graphs: IntArray, directed: bool, adjacency_channel: bool, dtype: Any
) -> Statistics:
    """Compute the statistics of some graphs of a batch. Channels of categories follow on those of numbers."""
    width = batch.edge_width + batch.edge_codes.values.shape[1]
    adjacency = edge_channels(width, adjacency_channel) - width
    node_categories, edge_categories = len(batch.node_codes.keys), len(batch.edge_codes.keys)
    n_node, n_edge = batch.node_width + node_categories, adjacency + batch.edge_width + edge_categories
    sizes = batch.sizes[graphs]
    n_edges = int((batch.edge_ptr[graphs + 1] - batch.edge_ptr[graphs]).sum())
    node_ptr, pair_ptr = np.zeros((2, len(graphs) + 1), np.int64)
    np.cumsum(sizes, out=node_ptr[1:])
    sums = np.zeros((node_ptr[-1], (3 if directed else 2) * n_edge))
    pair_nodes, pair_sums = np.empty((n_edges, 2), np.int64), np.zeros((n_edges, sums.shape[1] - n_edge))
    nodes = np.zeros((node_ptr[-1], n_node + sums.shape[1]), dtype)
    totals = np.empty((len(graphs), n_node + 2 * n_edge), dtype)
    edges = np.ascontiguousarray(batch.edges)
    _sum_edges(
        graphs, batch.edge_ptr, edges, batch.edge_attr, batch.edge_codes.values, edge_categories, adjacency,
        directed, node_ptr, sums, pair_ptr, pair_nodes, pair_sums,
    )  # fmt: skip
    _join_nodes(
        graphs, batch.node_ptr, batch.node_attr, batch.node_codes.values, node_categories,
        node_ptr, sums, nodes, np.empty(totals.shape[1]), totals,
    )  # fmt: skip
    n_pairs = pair_ptr[-1]
    pairs = pair_sums[:n_pairs].astype(dtype)
    node_weight, pair_weight = np.ones(len(nodes), dtype), np.ones(n_pairs, dtype)
    return Statistics(
        directed, sizes, node_ptr, nodes, node_weight,
        pair_ptr, pair_nodes[:n_pairs], pairs, pair_weight, totals,
    )  # fmt: skip


def folded(s: Statistics) -> Statistics:
    """Return directed graphs as undirected ones if every arc has an equal one the other way round."""
    F = s.pairs.shape[1] // 2
    if not s.directed or not np.array_equal(s.pairs[:, :F], s.pairs[:, F:]):
        return s
    nodes, pairs = np.ascontiguousarray(s.nodes[:, :-F]), np.ascontiguousarray(s.pairs[:, :F])
    return s._replace(directed=False, nodes=nodes, pairs=pairs)


def attribute_gradients(
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
    d_values = own[i, x + F :] + d_nodes[j, x + 2 * F :]
    d_values[loop] += own[i[loop], x : x + F]
    n, pair_first = len(s.nodes), np.repeat(s.node_ptr[:-1], np.diff(s.pair_ptr))
    keys = (s.pair_nodes[:, 0] + pair_first) * n + s.pair_nodes[:, 1] + pair_first
    place = np.searchsorted(keys, np.minimum(i, j) * n + np.maximum(i, j))[~loop]
    there = (i < j)[~loop, np.newaxis]
    d_values[~loop] += np.where(there, d_pairs[place, :F], d_pairs[place, F:])
    d_edge_attr[rows] += d_values[:, F - batch.edge_width :]


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
    """Sum repeated edges. Write D, R (and C) into `sums` and the pairs i < j, sorted, into the rest."""
    numbers = adjacency + attr.shape[1]
    F = numbers + categories
    n_pairs = 0
    for position in range(len(graphs)):
        first_edge, last_edge = edge_ptr[graphs[position]], edge_ptr[graphs[position] + 1]
        first_node, n = node_ptr[position], node_ptr[position + 1] - node_ptr[position]
        bits, last = 0, np.int64(-1)
        while n >> bits:
            bits += 1
        keys, order = _in_order(edges, first_edge, last_edge, bits)
        for place in range(len(keys)):
            e, key = first_edge + order[place], keys[place]
            i, j = key >> bits + 1, key >> 1 & (1 << bits) - 1
            if i != j and key >> 1 != last:
                last = key >> 1
                pair_nodes[n_pairs, 0], pair_nodes[n_pairs, 1] = i, j
                n_pairs += 1
            shift = F if directed and key & 1 else 0
            if key & 1:
                i, j = j, i
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
                    pairs[n_pairs - 1, shift + f] += v
                    if not directed:
                        sums[first_node + j, F + f] += v
        pair_ptr[position + 1] = n_pairs


@inner
def _in_order(edges: IntArray, first: int, last: int, bits: int) -> tuple[IntArray, IntArray]:
    """Sort edges by [smaller node, larger node, whether it is first] as one number. Return it, and which."""
    keys, order, disorder = np.empty(last - first, np.int64), integers_below(last - first), False
    for k in range(last - first):
        i, j = edges[first + k, 0], edges[first + k, 1]
        keys[k] = (min(i, j) << bits | max(i, j)) << 1 | (i > j)
        disorder |= k > 0 and keys[k] < keys[k - 1]
    if disorder:
        sort_by_keys(keys, order)
    return keys, order


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
    """Write [x | sums] to nodes and add up the first columns to totals. `total` is scratch."""
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


VALUES_SEARCHED = 16
"""Values of edges among which a new one is looked for. A graph with more has continuous edge attributes."""


class Neighbors(NamedTuple):
    """Neighbors of all nodes (rows of `Statistics.nodes`) of a batch.

    Node i has the entries ptr[i] .. ptr[i + 1] - 1: the other end (in the graph's own numbers), how many such
    pairs there are, and the value of the edge as a row of the graph's values (`back`: of the edge the other
    way round). Graph g has the values value_ptr[g] .. value_ptr[g + 1] - 1. Entries of a node ascend by
    value.
    """

    ptr: IntArray
    node: IntArray
    weight: FloatArray
    value: IntArray
    back: IntArray
    value_ptr: IntArray
    values: FloatArray


def neighbors(s: Statistics, searched: int = VALUES_SEARCHED, left_out: BoolArray | None = None) -> Neighbors:
    """List the neighbors of every node. A pair {i, j} is in the lists of both.

    With searched = 0 every entry has a value of its own: for the pair e, those of its two ways are the values
    2 e and 2 e + 1. Graphs that nobody has a use for may be left out.
    """
    n_entries = 2 * len(s.pairs)
    node, value, back = np.zeros((3, n_entries), np.int64)
    near = Neighbors(
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
    _list_neighbors(
        s.node_ptr, s.pair_ptr, s.pair_nodes, s.pairs, s.pair_weight, half, searched, left_out, *near
    )
    return near


@compiled
def _list_neighbors(
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
    """Fill the arrays of `Neighbors`. `half`: half the columns of pairs of directed graphs, or else 0."""
    columns = pairs.shape[1]
    n_values = 0
    for g in range(len(pair_ptr) - 1):
        first_pair, first_node, first_value = pair_ptr[g], node_ptr[g], n_values
        n_entries, n = 2 * (pair_ptr[g + 1] - first_pair), node_ptr[g + 1] - first_node
        if left_out[g]:
            value_ptr[g + 1], ptr[first_node + n] = n_values, 2 * pair_ptr[g + 1]
            continue
        source, kind = np.zeros(n_entries, np.int64), np.zeros(n_entries, np.int64)
        for entry in range(n_entries):
            e, back = first_pair + entry // 2, entry % 2
            source[entry] = pair_nodes[e, back]
            for f in range(columns):
                shifted = f + back * half
                values[n_values, f] = pairs[e, shifted if shifted < columns else shifted - columns]
            match = n_values
            for v in range(first_value, min(n_values, first_value + searched)):
                same = True
                for f in range(columns):
                    same = same and values[v, f] == values[n_values, f]
                if same:
                    match = v
                    break
            kind[entry] = match - first_value
            n_values = max(n_values, match + 1)
        order = integers_below(n_entries)
        if n_values > first_value + 1:
            order = counting_sort(order, kind, n_values - first_value)
        order = counting_sort(order, source, n)
        for position in range(n_entries):
            entry, place = order[position], 2 * first_pair + position
            e = first_pair + entry // 2
            node[place] = pair_nodes[e, 1 - entry % 2]
            weight[place] = pair_weight[e]
            value[place] = kind[entry]
            back_value[place] = kind[entry ^ 1]
            ptr[first_node + source[entry] + 1] = place + 1
        value_ptr[g + 1] = n_values
    for i in range(len(ptr) - 1):
        ptr[i + 1] = max(ptr[i + 1], ptr[i])


NODES_TRIED = 256
"""Nodes of a graph among which equal ones are looked for before the search is given up."""

FACTOR = np.uint64(0x9E3779B97F4A7C15)
"""Rows are hashed with its odd multiples."""

Bits = npt.NDArray[np.uint32] | npt.NDArray[np.uint64]


def _bits(rows: FloatArray) -> Bits:
    """Return numbers as integers with the same bits."""
    return rows.view(np.uint32) if rows.dtype == np.float32 else rows.view(np.uint64)


def grouped(s: Statistics) -> Statistics:
    """Return the same graphs with one row per class of nodes and of pairs, and their multiplicities."""
    half, dtype = s.pairs.shape[1] // 2 if s.directed else 0, s.nodes.dtype
    factors = np.arange(1, 2 * max(s.nodes.shape[1], s.pairs.shape[1]), 2, dtype=np.uint64) * FACTOR
    node_ptr, pair_ptr = np.zeros((2, len(s.node_ptr)), np.int64)
    node_rows, node_weight = np.empty(len(s.nodes), np.int64), np.zeros(len(s.nodes), dtype)
    pair_rows, pair_weight = np.empty(len(s.pairs), np.int64), np.zeros(len(s.pairs), dtype)
    pair_nodes = np.empty((len(s.pairs), 2), np.int64)
    _group_nodes(
        s.node_ptr, _bits(s.nodes), s.pair_ptr, s.pair_nodes, _bits(s.pairs),
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
    """Find the classes graph by graph: the first row of each, and how many rows it has.

    Rows of pairs are numbered from 1, and negative if the two halves (A_ij, A_ji) are to be swapped.
    """
    n_pairs = out_pair_ptr[0]
    for g in range(len(node_ptr) - 1):
        first, n = out_ptr[g], node_ptr[g + 1] - node_ptr[g]
        class_of = np.zeros(n, np.int64)
        n_own = _number(node_bits[node_ptr[g] : node_ptr[g + 1]], factors, class_of, out_rows[first:])
        out_ptr[g + 1] = first + n_own
        for i in range(first, first + n_own):
            out_rows[i] += node_ptr[g]
        for i in range(n):
            out_weight[first + class_of[i]] += 1
        start, stop = pair_ptr[g], pair_ptr[g + 1]
        if n_own == n:  # every class has one node, and every pair is single
            for e in range(start, stop):
                out_pair_rows[n_pairs], out_pair_weight[n_pairs] = e + 1, 1
                out_pair_nodes[n_pairs, 0], out_pair_nodes[n_pairs, 1] = pair_nodes[e, 0], pair_nodes[e, 1]
                n_pairs += 1
        elif half == 0 and n_own * n_own <= 4 * (stop - start) and _all_equal(pair_bits, start, stop):
            n_pairs = _count_pairs(
                class_of, n_own, pair_nodes, start, stop,
                n_pairs, out_pair_rows, out_pair_weight, out_pair_nodes,
            )  # fmt: skip
        else:
            n_pairs = _group_pairs(
                class_of, n_own, pair_nodes, pair_bits, start, stop, half, factors,
                n_pairs, out_pair_rows, out_pair_weight, out_pair_nodes,
            )  # fmt: skip
        out_pair_ptr[g + 1] = n_pairs


def class_numbers(s: Statistics) -> IntArray:
    """Return the class of every row of `nodes`, numbered in each graph in the order in which they come."""
    result = np.zeros(len(s.nodes), np.int64)
    factors = np.arange(1, 2 * s.nodes.shape[1], 2, dtype=np.uint64) * FACTOR
    _number_all(s.node_ptr, _bits(s.nodes), factors, result)
    return result


@compiled
def _number_all(node_ptr: IntArray, rows: Bits, factors: Bits, out: IntArray) -> None:
    firsts = np.zeros(len(rows), np.int64)
    for g in range(len(node_ptr) - 1):
        own = slice(node_ptr[g], node_ptr[g + 1])
        _number(rows[own], factors, out[own], firsts)


@inner
def _number(rows: Bits, factors: Bits, class_of: IntArray, firsts: IntArray) -> int:
    """Write the class of equal rows that each row is of, and the first row of each. Return their number."""
    n_classes, columns = 0, rows.shape[1]
    table = _empty_table(len(rows))
    for i in range(len(rows)):
        if i >= NODES_TRIED and n_classes == i:  # no two alike so far: continuous attributes
            class_of[i], firsts[i] = i, i
            n_classes += 1
            continue
        key = np.uint64(0)
        for f in range(columns):
            key += np.uint64(rows[i, f]) * factors[f]
        at = mixed(key) & np.uint64(len(table) - 1)
        while table[at] >= 0:
            first, difference = firsts[table[at]], rows.dtype.type(0)
            for f in range(columns):
                difference |= rows[i, f] ^ rows[first, f]
            if difference == 0:
                break
            at = (at + np.uint64(1)) & np.uint64(len(table) - 1)
        if table[at] < 0:
            table[at], firsts[n_classes] = n_classes, i
            n_classes += 1
        class_of[i] = table[at]
    return n_classes


@inner
def _count_pairs(
    class_of: IntArray,
    n_classes: int,
    pair_nodes: IntArray,
    start: int,
    stop: int,
    n_pairs: int,
    out_rows: IntArray,
    out_weight: FloatArray,
    out_nodes: IntArray,
) -> int:
    """Write the classes of pairs of a graph whose edges all have one value: they are counted in a table."""
    counts = np.zeros(n_classes * n_classes, np.int64)
    for e in range(start, stop):
        one, other = class_of[pair_nodes[e, 0]], class_of[pair_nodes[e, 1]]
        counts[min(one, other) * n_classes + max(one, other)] += 1
    for low in range(n_classes):
        for high in range(low, n_classes):
            count = counts[low * n_classes + high]
            if count:
                out_rows[n_pairs], out_weight[n_pairs] = start + 1, count
                out_nodes[n_pairs, 0], out_nodes[n_pairs, 1] = low, high
                n_pairs += 1
    return n_pairs


@inner
def _group_pairs(
    class_of: IntArray,
    n_classes: int,
    pair_nodes: IntArray,
    pair_bits: Bits,
    start: int,
    stop: int,
    half: int,
    factors: Bits,
    n_pairs: int,
    out_rows: IntArray,
    out_weight: FloatArray,
    out_nodes: IntArray,
) -> int:
    """Write the classes of pairs of a graph, by the classes of their ends and their values."""
    table = _empty_table(stop - start)
    for e in range(start, stop):
        low, high = class_of[pair_nodes[e, 0]], class_of[pair_nodes[e, 1]]
        shift = 0
        if low > high:
            low, high, shift = high, low, half
        row, key = pair_bits[e], np.uint64(low * (n_classes + 1) + high) * FACTOR
        for f in range(len(row)):
            key += np.uint64(row[f + shift if f < len(row) - shift else f + shift - len(row)]) * factors[f]
        at = mixed(key) & np.uint64(len(table) - 1)
        while table[at] >= 0:
            known = table[at]
            source = out_rows[known]
            other = half if source < 0 else 0
            if (
                out_nodes[known, 0] == low
                and out_nodes[known, 1] == high
                and equal_rows(row, pair_bits[abs(source) - 1], shift ^ other)
            ):
                break
            at = (at + np.uint64(1)) & np.uint64(len(table) - 1)
        if table[at] < 0:
            table[at] = n_pairs
            out_rows[n_pairs] = -(e + 1) if shift else e + 1
            out_nodes[n_pairs, 0], out_nodes[n_pairs, 1] = low, high
            n_pairs += 1
        out_weight[table[at]] += 1
    return n_pairs


@inner
def _empty_table(count: int) -> ShortArray:
    """Return a hash table for `count` entries: a power of two, at least twice as large, filled with -1."""
    size = 4
    while size < 2 * count:
        size *= 2
    table = np.zeros(size, np.int32)
    for place in range(size):
        table[place] = -1
    return table


@inner
def mixed(key: np.uint64) -> np.uint64:
    """Spread the differences of keys over all bits."""
    key ^= key >> np.uint64(32)
    key *= np.uint64(0xFF51AFD7ED558CCD)
    return key ^ (key >> np.uint64(32))


@inner
def equal_rows(a: npt.NDArray[Any], b: npt.NDArray[Any], shift: int) -> bool:
    """Whether two rows are equal, one of them with its halves swapped when shift is half its length."""
    for f in range(len(a)):  # noqa: SIM110 numba knows no generators
        if a[f + shift if f < len(a) - shift else f + shift - len(a)] != b[f]:
            return False
    return True


@inner
def _all_equal(rows: Bits, start: int, stop: int) -> bool:
    """Whether some rows are all equal."""
    for row in range(start + 1, stop):
        for f in range(rows.shape[1]):
            if rows[row, f] != rows[start, f]:
                return False
    return True
