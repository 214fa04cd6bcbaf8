"""Equal nodes grouped: nodes with equal statistics give equal terms, so one of each class stands for all.

Exact, and the main path for graphs without continuous attributes: classes are then pairs of label and degree.
Pairs that carry an edge are grouped likewise, by the classes of their ends and their values.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from grnf.engine.jit import compiled, inlined, inner
from grnf.engine.statistics import Statistics
from grnf.typing import FloatArray, IntArray

__all__ = ["Bits", "class_numbers", "classed", "grouped"]

TRIED = 256
"""Nodes of a graph among which equal ones are looked for before the search is given up."""

Bits = npt.NDArray[np.uint32] | npt.NDArray[np.uint64]


@compiled
def grouped(s: Statistics, bits: Bits) -> Statistics:
    """Return the same graphs with one row per class of nodes and of pairs, and their multiplicities."""
    return classed(s, bits)


@inlined
def classed(s: Statistics, bits: Bits) -> Statistics:
    """Do what `grouped` says, for other loops: find the classes, then copy one row of each."""
    node_bits, pair_bits = s.nodes.view(bits.dtype), s.pairs.view(bits.dtype)
    node_ptr, pair_ptr = np.zeros(len(s.node_ptr), np.int64), np.zeros(len(s.pair_ptr), np.int64)
    node_rows, pair_rows = np.zeros(len(s.nodes), np.int64), np.zeros(len(s.pairs), np.int64)
    node_weight, pair_weight = np.zeros(len(s.nodes), s.nodes.dtype), np.zeros(len(s.pairs), s.nodes.dtype)
    pair_nodes = np.zeros((len(s.pairs), 2), np.int64)
    columns = s.pairs.shape[1]
    half = columns // 2 if s.directed else 0
    _group(
        s.node_ptr, node_bits, s.pair_ptr, s.pair_nodes, pair_bits, half,
        (node_ptr, node_rows, node_weight), (pair_ptr, pair_rows, pair_weight, pair_nodes),
    )  # fmt: skip
    n_nodes, n_pairs = node_ptr[-1], pair_ptr[-1]
    nodes = np.zeros((n_nodes, s.nodes.shape[1]), s.nodes.dtype)
    for i in range(n_nodes):
        for f in range(nodes.shape[1]):
            nodes[i, f] = s.nodes[node_rows[i], f]
    pairs = np.zeros((n_pairs, columns), s.nodes.dtype)
    for e in range(n_pairs):
        shift = half if pair_rows[e] < 0 else 0  # the halves swapped
        for f in range(columns):
            source = f + shift if f + shift < columns else f + shift - columns
            pairs[e, f] = s.pairs[abs(pair_rows[e]) - 1, source]
    return Statistics(
        s.directed,
        s.sizes,
        node_ptr,
        nodes,
        node_weight[:n_nodes],
        pair_ptr,
        pair_nodes[:n_pairs],
        pairs,
        pair_weight[:n_pairs],
        s.totals,
    )


@inner
def _group(
    node_ptr: IntArray,
    node_bits: Bits,
    pair_ptr: IntArray,
    pair_nodes: IntArray,
    pair_bits: Bits,
    half: int,
    node_out: tuple[IntArray, IntArray, FloatArray],
    pair_out: tuple[IntArray, IntArray, FloatArray, IntArray],
) -> None:
    """Find the classes graph by graph: the first row of each, and how many rows it has.

    Rows of pairs are numbered from 1, and negative where the two halves (A_ij, A_ji) are to be swapped.
    """
    out_ptr, out_rows, out_weight = node_out
    out_pair_ptr, out_pair_rows, out_pair_weight, out_pair_nodes = pair_out
    n_classes = n_pair_classes = int(np.int64(0))  # a plain 0 would be compiled as a type of its own
    factors = _factors(node_bits.shape[1])
    for g in range(len(node_ptr) - 1):
        first = n_classes
        n = node_ptr[g + 1] - node_ptr[g]
        class_of = np.zeros(n, np.int64)
        firsts = out_rows[first:]
        n_classes += _number(node_bits[node_ptr[g] : node_ptr[g + 1]], factors, class_of, firsts)
        for i in range(first, n_classes):
            out_rows[i] += node_ptr[g]
        for i in range(n):
            out_weight[first + class_of[i]] += 1
        out_ptr[g + 1] = n_classes

        own = slice(pair_ptr[g], pair_ptr[g + 1])
        n_own = n_classes - first
        if n_own == n:  # every node stands for itself, and so does every pair
            for e in range(pair_ptr[g], pair_ptr[g + 1]):
                out_pair_rows[n_pair_classes], out_pair_weight[n_pair_classes] = e + 1, 1
                out_pair_nodes[n_pair_classes, 0] = pair_nodes[e, 0]
                out_pair_nodes[n_pair_classes, 1] = pair_nodes[e, 1]
                n_pair_classes += 1
        elif half == 0 and n_own**2 <= 4 * (own.stop - own.start) and _all_equal(pair_bits[own]):
            n_pair_classes = _count_pairs(class_of, n_own, pair_nodes, own, n_pair_classes, pair_out)
        else:
            n_pair_classes = _group_pairs(
                class_of, n_own, pair_nodes, pair_bits, own, half, n_pair_classes, pair_out
            )
        out_pair_ptr[g + 1] = n_pair_classes


@compiled
def class_numbers(s: Statistics, bits: Bits) -> IntArray:
    """Return the class of every row of `nodes`, numbered in each graph in the order in which they come."""
    found, firsts = np.zeros(len(s.nodes), np.int64), np.zeros(len(s.nodes), np.int64)
    rows, factors = s.nodes.view(bits.dtype), _factors(s.nodes.shape[1])
    for g in range(len(s.node_ptr) - 1):
        own = slice(s.node_ptr[g], s.node_ptr[g + 1])
        _number(rows[own], factors, found[own], firsts)
    return found


@inner
def _factors(count: int) -> Bits:
    """Return odd numbers to hash rows with."""
    factors = np.zeros(count, np.uint64)
    for f in range(count):
        factors[f] = (np.uint64(2 * f + 1) * np.uint64(0x9E3779B97F4A7C15)) | np.uint64(1)
    return factors


@inner
def _number(rows: Bits, factors: Bits, class_of: IntArray, firsts: IntArray) -> int:
    """Write the class of equal rows that each row is of, and the first row of each; return their number."""
    n_classes = int(np.int64(0))  # a plain 0 would be compiled as a type of its own
    table = _empty_table(len(rows))
    for i in range(len(rows)):
        if i >= TRIED and n_classes == i:  # no two alike so far: continuous attributes
            class_of[i], firsts[i] = i, i
            n_classes += 1
            continue
        at = _hash_row(rows[i], factors) & np.uint64(len(table) - 1)
        while table[at] >= 0 and not _equal_rows(rows[i], rows[firsts[table[at]]]):
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
    own: slice,
    found: int,
    pair_out: tuple[IntArray, IntArray, FloatArray, IntArray],
) -> int:
    """Write the classes of pairs of one graph whose edges all have one value: they are counted in a table."""
    _, out_rows, out_weight, out_nodes = pair_out
    counts = np.zeros((n_classes, n_classes), np.int64)
    for e in range(own.start, own.stop):
        one, other = class_of[pair_nodes[e, 0]], class_of[pair_nodes[e, 1]]
        counts[min(one, other), max(one, other)] += 1
    for low in range(n_classes):
        for high in range(low, n_classes):
            if counts[low, high]:
                out_rows[found], out_weight[found] = own.start + 1, counts[low, high]
                out_nodes[found, 0], out_nodes[found, 1] = low, high
                found += 1
    return found


@inner
def _group_pairs(
    class_of: IntArray,
    n_classes: int,
    pair_nodes: IntArray,
    pair_bits: Bits,
    own: slice,
    half: int,
    found: int,
    pair_out: tuple[IntArray, IntArray, FloatArray, IntArray],
) -> int:
    """Write the classes of pairs of one graph, by the classes of their ends and their values."""
    _, out_rows, out_weight, out_nodes = pair_out
    table = _empty_table(own.stop - own.start)
    for e in range(own.start, own.stop):
        low, high = class_of[pair_nodes[e, 0]], class_of[pair_nodes[e, 1]]
        shift = 0
        if low > high:
            low, high, shift = high, low, half
        key = np.uint64(low * (n_classes + 1) + high)
        at = _hash(pair_bits[e], shift, key) & np.uint64(len(table) - 1)
        while table[at] >= 0:
            known = table[at]
            source = out_rows[known]
            other = half if source < 0 else 0
            if (
                out_nodes[known, 0] == low
                and out_nodes[known, 1] == high
                and _equal(pair_bits[e], pair_bits[abs(source) - 1], shift ^ other)
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
def _empty_table(count: int) -> IntArray:
    """Return a hash table for so many entries: a power of two, at least twice as large, filled with -1."""
    size = 4
    while size < 2 * count:
        size *= 2
    table = np.zeros(size, np.int64)
    for place in range(size):
        table[place] = -1
    return table


@inner
def _hash_row(row: Bits, factors: Bits) -> np.uint64:
    """Hash a row, in steps that vectorise."""
    value = np.uint64(0)
    for f in range(len(row)):
        value += np.uint64(row[f]) * factors[f]
    value ^= value >> np.uint64(32)
    value *= np.uint64(0xFF51AFD7ED558CCD)
    return value ^ (value >> np.uint64(32))


@inner
def _equal_rows(a: Bits, b: Bits) -> bool:
    """Whether two rows are equal, in steps that vectorise."""
    difference = a.dtype.type(0)
    for f in range(len(a)):
        difference |= a[f] ^ b[f]
    return bool(difference == 0)


@inner
def _all_equal(rows: Bits) -> bool:
    """Whether all rows are equal."""
    for row in range(1, len(rows)):  # noqa: SIM110 numba knows no generators
        if not _equal_rows(rows[0], rows[row]):
            return False
    return True


@inner
def _hash(row: Bits, shift: int, seed: np.uint64) -> np.uint64:
    """Hash a row whose halves are swapped when shift is half its length."""
    value = seed * np.uint64(0x9E3779B97F4A7C15)
    for f in range(len(row)):
        bits = np.uint64(row[f + shift if f < len(row) - shift else f + shift - len(row)])
        if bits != 0:  # one-hot rows are mostly 0
            value ^= bits + np.uint64(f) * np.uint64(0x9E3779B97F4A7C15)
            value *= np.uint64(0xFF51AFD7ED558CCD)
            value ^= value >> np.uint64(32)
    return value


@inner
def _equal(a: Bits, b: Bits, shift: int) -> bool:
    """Whether two rows are equal, one of them with its halves swapped when shift is half its length."""
    for f in range(len(a)):  # noqa: SIM110 numba knows no generators
        if a[f + shift if f < len(a) - shift else f + shift - len(a)] != b[f]:
            return False
    return True
