"""Types of triples of few rows, such as classes of many twins, or of rows with many edges: see `tuple_types`.

All ordered triples are met. Those whose first two slots are of one kind, classes and value, come together;
the third is any row, counted in a table that has a place for each symbol of the last slot.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from grnf._utils.jit import inner
from grnf.engine.counting import counted, counting_sort
from grnf.engine.tables import merged, roomy
from grnf.engine.triple_types import Form, Members, slot_bits
from grnf.typing import IntArray

__all__ = ["listed_triples", "triples_of_rows"]


class _Sorted(NamedTuple):
    """Rows of a graph in the order of their classes: class, nodes, and where the rows of its class end.

    to_first[i, k] and to_second[i, k] are what a last slot k says: its class and its value to a first slot i;
    and its value to a second slot i. A row that stands for joined twins is its own neighbour.
    """

    kind: IntArray
    size: IntArray
    end: IntArray
    to_first: IntArray
    to_second: IntArray


class _Table(NamedTuple):
    """Counts by symbol; the pair of slots that each symbol was last met with; and those met with this one."""

    counts: IntArray
    met: IntArray
    symbols: IntArray


@inner
def triples_of_rows(of: Members, g: int, form: Form, most: int) -> tuple[IntArray, IntArray]:
    """Count the types of ordered triples of rows, those that begin alike together; none if too many."""
    rows, bits = _sorted(of, g, form.value_bits), form.value_bits
    n, n_values, n_symbols = len(rows.kind), of.value_ptr[g + 1] - of.value_ptr[g], 1 << slot_bits(form, 2)
    table = _Table(
        np.zeros(n_symbols, np.int64), np.zeros(n_symbols, np.int64), np.empty(n_symbols, np.int64)
    )
    keys, counts, found, pair = np.empty(64, np.int64), np.empty(64, np.int64), 0, 0
    i = 0
    while i < n and found <= most:
        j = 0
        while j < n and found <= most:
            for value in range(n_values + 1):
                pair += 1
                n_met = _meet(rows, i, j, value << bits, pair, table)
                keys, counts = roomy(keys, found + n_met), roomy(counts, found + n_met)
                head = (rows.kind[i] << slot_bits(form, 1) | rows.kind[j] << bits | value) << slot_bits(
                    form, 2
                )
                for place in range(n_met):
                    symbol = table.symbols[place]
                    if table.counts[symbol] > 0:  # not where a node of the pair is the only one
                        keys[found], counts[found] = head | symbol, table.counts[symbol]
                        table.counts[symbol] = 0
                        found += 1
            j = rows.end[j]
        i = rows.end[i]
    if found > most:
        found = 0
    return keys[:found], counts[:found]


@inner
def listed_triples(of: Members, g: int, form: Form) -> tuple[IntArray, IntArray]:
    """Count the types of the triples of very few rows whose edges have many values: listed, then merged."""
    rows, bits, found = _sorted(of, g, form.value_bits), form.value_bits, 0
    n, size = len(rows.kind), rows.size
    keys, counts = np.empty(n**3, np.int64), np.empty(n**3, np.int64)
    for i in range(n):
        for j in range(n):
            pairs, value = size[i] * (size[j] - (i == j)), rows.to_second[i, j] >> bits
            head = (rows.kind[i] << slot_bits(form, 1) | rows.kind[j] << bits | value) << slot_bits(form, 2)
            for k in range(n):
                count = pairs * (size[k] - (i == k) - (j == k))
                if count > 0:
                    keys[found], counts[found] = head | rows.to_first[i, k] | rows.to_second[j, k], count
                    found += 1
    return merged(keys[:found], counts[:found], 3 * form.class_bits + 3 * bits)


@inner
def _sorted(of: Members, g: int, bits: int) -> _Sorted:
    """Bring the rows of a graph into the order of their classes."""
    first, n = of.node_ptr[g], of.node_ptr[g + 1] - of.node_ptr[g]
    order = counting_sort(counted(n), of.classes[first : first + n], n)
    rank = np.empty(n, np.int64)
    rows = _Sorted(
        np.empty(n, np.int64),
        np.empty(n, np.int64),
        np.empty(n, np.int64),
        np.empty((n, n), np.int64),
        np.zeros((n, n), np.int64),
    )
    for i in range(n - 1, -1, -1):
        row = first + order[i]
        rank[order[i]] = i
        rows.kind[i], rows.size[i] = of.classes[row], of.size[row]
        rows.end[i] = rows.end[i + 1] if i + 1 < n and rows.kind[i] == rows.kind[i + 1] else i + 1
    for i in range(n):
        row = first + order[i]
        for k in range(n):
            rows.to_first[i, k] = rows.kind[k] << 2 * bits
        for entry in range(of.ptr[row], of.ptr[row + 1]):
            k, value = rank[of.node[entry]], of.value[entry] + 1
            rows.to_first[i, k] = rows.kind[k] << 2 * bits | value
            rows.to_second[i, k] = value << bits
    return rows


@inner
def _meet(rows: _Sorted, i: int, j: int, value: int, pair: int, table: _Table) -> int:
    """Count the symbols of all triples whose first slots are of the classes of rows i and j, with this value.

    Returns how many symbols were met.
    """
    n_met, size = 0, rows.size
    for one in range(i, rows.end[i]):
        for other in range(j, rows.end[j]):
            times = size[one] * (size[other] - (one == other))
            if times == 0 or rows.to_second[one, other] != value:
                continue
            first, second = rows.to_first[one], rows.to_second[other]
            for k in range(len(size)):
                symbol = first[k] | second[k]
                if table.met[symbol] != pair:
                    table.met[symbol], table.symbols[n_met] = pair, symbol
                    n_met += 1
                table.counts[symbol] += times * size[k]
            table.counts[first[one] | second[one]] -= times
            table.counts[first[other] | second[other]] -= times
    return n_met
