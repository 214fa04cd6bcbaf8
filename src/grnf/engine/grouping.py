"""Equal nodes grouped: nodes with equal statistics give equal terms, so one of each class stands for all.

Exact, and the main path for graphs without continuous attributes: classes are then pairs of label and degree.
Pairs that carry an edge are grouped likewise, by the classes of their ends and their values.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from grnf._utils.jit import compiled, inner
from grnf.engine.statistics import Statistics
from grnf.typing import FloatArray, IntArray, ShortArray

__all__ = ["class_numbers", "grouped"]

TRIED = 256
"""Nodes of a graph among which equal ones are looked for before the search is given up."""

FACTOR = np.uint64(0x9E3779B97F4A7C15)
"""Rows are hashed with its odd multiples."""

Bits = npt.NDArray[np.uint32] | npt.NDArray[np.uint64]


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

    Rows of pairs are numbered from 1, and negative where the two halves (A_ij, A_ji) are to be swapped.
    """
    found = out_pair_ptr[0]
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
        if n_own == n:  # every node stands for itself, and so does every pair
            for e in range(start, stop):
                out_pair_rows[found], out_pair_weight[found] = e + 1, 1
                out_pair_nodes[found, 0], out_pair_nodes[found, 1] = pair_nodes[e, 0], pair_nodes[e, 1]
                found += 1
        elif half == 0 and n_own * n_own <= 4 * (stop - start) and _all_equal(pair_bits, start, stop):
            found = _count_pairs(
                class_of, n_own, pair_nodes, start, stop,
                found, out_pair_rows, out_pair_weight, out_pair_nodes,
            )  # fmt: skip
        else:
            found = _group_pairs(
                class_of, n_own, pair_nodes, pair_bits, start, stop, half, factors,
                found, out_pair_rows, out_pair_weight, out_pair_nodes,
            )  # fmt: skip
        out_pair_ptr[g + 1] = found


def class_numbers(s: Statistics, bits: Bits) -> IntArray:
    """Return the class of every row of `nodes`, numbered in each graph in the order in which they come."""
    found = np.zeros(len(s.nodes), np.int64)
    factors = np.arange(1, 2 * s.nodes.shape[1], 2, dtype=np.uint64) * FACTOR
    _number_all(s.node_ptr, s.nodes.view(bits.dtype), factors, found)
    return found


@compiled
def _number_all(node_ptr: IntArray, rows: Bits, factors: Bits, out: IntArray) -> None:
    firsts = np.zeros(len(rows), np.int64)
    for g in range(len(node_ptr) - 1):
        own = slice(node_ptr[g], node_ptr[g + 1])
        _number(rows[own], factors, out[own], firsts)


@inner
def _number(rows: Bits, factors: Bits, class_of: IntArray, firsts: IntArray) -> int:
    """Write the class of equal rows that each row is of, and the first row of each; return their number."""
    n_classes, columns = 0, rows.shape[1]
    table = _empty_table(len(rows))
    for i in range(len(rows)):
        if i >= TRIED and n_classes == i:  # no two alike so far: continuous attributes
            class_of[i], firsts[i] = i, i
            n_classes += 1
            continue
        key = np.uint64(0)
        for f in range(columns):
            key += np.uint64(rows[i, f]) * factors[f]
        at = _mixed(key) & np.uint64(len(table) - 1)
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
    found: int,
    out_rows: IntArray,
    out_weight: FloatArray,
    out_nodes: IntArray,
) -> int:
    """Write the classes of pairs of one graph whose edges all have one value: they are counted in a table."""
    counts = np.zeros(n_classes * n_classes, np.int64)
    for e in range(start, stop):
        one, other = class_of[pair_nodes[e, 0]], class_of[pair_nodes[e, 1]]
        counts[min(one, other) * n_classes + max(one, other)] += 1
    for low in range(n_classes):
        for high in range(low, n_classes):
            count = counts[low * n_classes + high]
            if count:
                out_rows[found], out_weight[found] = start + 1, count
                out_nodes[found, 0], out_nodes[found, 1] = low, high
                found += 1
    return found


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
    found: int,
    out_rows: IntArray,
    out_weight: FloatArray,
    out_nodes: IntArray,
) -> int:
    """Write the classes of pairs of one graph, by the classes of their ends and their values."""
    table = _empty_table(stop - start)
    for e in range(start, stop):
        low, high = class_of[pair_nodes[e, 0]], class_of[pair_nodes[e, 1]]
        shift = 0
        if low > high:
            low, high, shift = high, low, half
        row, key = pair_bits[e], np.uint64(low * (n_classes + 1) + high) * FACTOR
        for f in range(len(row)):
            key += np.uint64(row[f + shift if f < len(row) - shift else f + shift - len(row)]) * factors[f]
        at = _mixed(key) & np.uint64(len(table) - 1)
        while table[at] >= 0:
            known = table[at]
            source = out_rows[known]
            other = half if source < 0 else 0
            if (
                out_nodes[known, 0] == low
                and out_nodes[known, 1] == high
                and _equal(row, pair_bits[abs(source) - 1], shift ^ other)
            ):
                break
            at = (at + np.uint64(1)) & np.uint64(len(table) - 1)
        if table[at] < 0:
            table[at] = found
            out_rows[found] = -(e + 1) if shift else e + 1
            out_nodes[found, 0], out_nodes[found, 1] = low, high
            found += 1
        out_weight[table[at]] += 1
    return found


@inner
def _empty_table(count: int) -> ShortArray:
    """Return a hash table for so many entries: a power of two, at least twice as large, filled with -1."""
    size = 4
    while size < 2 * count:
        size *= 2
    table = np.zeros(size, np.int32)
    for place in range(size):
        table[place] = -1
    return table


@inner
def _mixed(key: np.uint64) -> np.uint64:
    """Spread the differences of keys over all bits."""
    key ^= key >> np.uint64(32)
    key *= np.uint64(0xFF51AFD7ED558CCD)
    return key ^ (key >> np.uint64(32))


@inner
def _equal(a: Bits, b: Bits, shift: int) -> bool:
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
