"""Types of triples: see `tuple_types`.

Along edges, for sparse graphs: a triple has two edges or three, and is met at the node that both belong to.
Or it has one: it is any edge with any node that has none to it. Or none: these are what is left of all
triples of three classes. So the work grows with the pairs of edges that meet, not with the pairs of nodes.

By rows, for few rows (such as classes of many twins) or rows with many edges: all ordered triples are met.
Those whose first two slots are of one kind, classes and value, come together. The third slot is any row,
counted in a table that has a place for each symbol of the last slot.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from grnf._utils.jit import inner
from grnf.engine.counting import add_to, counted, counting_sort, grown, merged, place_of, roomy
from grnf.typing import IntArray

__all__ = [
    "Form",
    "Members",
    "listed_triples",
    "order_triples",
    "slot_bits",
    "triples_along_edges",
    "triples_of_rows",
]


class Members(NamedTuple):
    """What is counted: the rows of many graphs. Integers alone, so that one loop serves all kinds of numbers.

    Graph g has rows node_ptr[g] .. node_ptr[g + 1] - 1, of n_classes[g] classes; each stands for so many
    nodes, `size`. Neighbours are listed as in `Neighbours`.
    """

    node_ptr: IntArray
    n_classes: IntArray
    classes: IntArray
    size: IntArray
    ptr: IntArray
    node: IntArray
    value: IntArray
    back: IntArray
    value_ptr: IntArray


class Form(NamedTuple):
    """How a type is written: so many slots, bits of a class, bits of a value."""

    slots: int
    class_bits: int
    value_bits: int


@inner
def slot_bits(form: Form, q: int) -> int:
    """Return how many bits slot q has, counted from 0: its class, and the values to the slots before it."""
    return form.class_bits + q * form.value_bits


@inner
def triples_along_edges(near: Members, g: int, form: Form, most: int) -> tuple[IntArray, IntArray]:
    """Count the types of unordered triples of a graph, no nodes grouped; none if they are too many."""
    first, n_classes = near.node_ptr[g], near.n_classes[g]
    classes = near.classes[first : near.node_ptr[g + 1]]
    total = np.zeros(n_classes, np.int64)
    for c in classes:
        total[c] += 1
    n_edges = (near.ptr[first + len(classes)] - near.ptr[first]) // 2
    kinds = min(n_edges, n_classes**2 << form.value_bits)
    if kinds * n_classes > most:
        return np.empty(0, np.int64), np.empty(0, np.int64)
    # of each kind of edge: its number and how many there are; and of each class, nodes that are joined to it
    pairs, number = grown(np.empty(0, np.int64), np.empty(0, np.int64), 0, kinds)
    times, joined = np.zeros(kinds, np.int64), np.zeros((kinds, n_classes), np.int64)
    n_kinds = _number_edges(near, classes, first, form, pairs, number, times, joined)
    keys, counts, filled = _meeting_edges(near, classes, first, form)
    if filled + n_kinds * n_classes > most:
        return np.empty(0, np.int64), np.empty(0, np.int64)
    free = _all_triples(total)
    size = filled + n_kinds * n_classes + n_classes * (n_classes + 1) * (n_classes + 2) // 6
    found, found_counts = np.zeros(size, np.int64), np.zeros(size, np.int64)
    class_mask, place = (1 << form.class_bits) - 1, 0
    bits, last = form.value_bits, slot_bits(form, 2)
    for at in range(len(keys)):
        if keys[at] >= 0:
            prefix = keys[at] >> last
            third, second = keys[at] >> (2 * bits) & class_mask, prefix >> bits & class_mask
            _take(free, prefix >> slot_bits(form, 1), second, third, counts[at])
            found[place], found_counts[place] = keys[at], counts[at]
            place += 1
    for at in range(len(pairs)):
        if pairs[at] >= 0:
            a, b, kind = pairs[at] >> slot_bits(form, 1), pairs[at] >> bits & class_mask, number[at]
            for c in range(n_classes):
                count = times[kind] * total[c] - joined[kind, c]
                _take(free, a, b, c, count)
                found[place], found_counts[place] = pairs[at] << last | c << (2 * bits), count
                place += 1
    for a in range(n_classes):
        for b in range(a, n_classes):
            head = (a << slot_bits(form, 1) | b << bits) << last
            for c in range(b, n_classes):
                found[place], found_counts[place] = head | c << (2 * bits), free[a, b, c]
                place += 1
    return found, found_counts


@inner
def _number_edges(
    near: Members,
    classes: IntArray,
    first: int,
    form: Form,
    pairs: IntArray,
    number: IntArray,
    times: IntArray,
    joined: IntArray,
) -> int:
    """Find the kinds of edges, the lower class first; count them, and nodes at or beside them by class."""
    n_kinds, mark = 0, np.zeros(len(classes), np.bool_)
    for i in range(len(classes)):
        own = range(near.ptr[first + i], near.ptr[first + i + 1])
        for entry in own:
            mark[near.node[entry]] = True
        mark[i] = True
        for entry in own:
            j = near.node[entry]
            if j < i:
                continue
            a, b, value = classes[i], classes[j], near.value[entry] + 1
            if a > b:
                a, b, value = b, a, near.back[entry] + 1
            key = a << slot_bits(form, 1) | b << form.value_bits | value
            place = place_of(pairs, key)
            if pairs[place] < 0:
                pairs[place], number[place] = key, n_kinds
                n_kinds += 1
            kind = number[place]
            times[kind] += 1
            joined[kind, classes[i]] += 1
            for other in own:
                joined[kind, classes[near.node[other]]] += 1
            for other in range(near.ptr[first + j], near.ptr[first + j + 1]):
                if not mark[near.node[other]]:
                    joined[kind, classes[near.node[other]]] += 1
        for entry in own:
            mark[near.node[entry]] = False
        mark[i] = False
    return n_kinds


@inner
def _meeting_edges(
    near: Members, classes: IntArray, first: int, form: Form
) -> tuple[IntArray, IntArray, int]:
    """Count the types of triples with two edges, which meet in the first slot, or with three, met once."""
    keys, counts = grown(np.empty(0, np.int64), np.empty(0, np.int64), 0, 30)
    filled, bits, mark = 0, form.value_bits, np.zeros(len(classes), np.int64)
    for i in range(len(classes)):
        own = range(near.ptr[first + i], near.ptr[first + i + 1])
        for entry in own:
            j = near.node[entry]
            beside = range(near.ptr[first + j], near.ptr[first + j + 1])
            if 2 * (filled + len(own)) > len(keys):
                keys, counts = grown(keys, counts, filled, len(own))
            for other in beside:
                mark[near.node[other]] = near.value[other] + 1
            head = classes[i] << slot_bits(form, 1) | classes[j] << bits | near.value[entry] + 1
            for other in own:
                k = near.node[other]
                if k > j and (i < j or not mark[k]):
                    tail = classes[k] << (2 * bits) | mark[k] << bits | near.value[other] + 1
                    filled += add_to(keys, counts, head << slot_bits(form, 2) | tail, 1)
            for other in beside:
                mark[near.node[other]] = 0
    return keys, counts, filled


@inner
def _all_triples(total: IntArray) -> IntArray:
    """Return how many unordered triples there are of nodes of classes a <= b <= c."""
    n = len(total)
    found = np.zeros((n, n, n), np.int64)
    for a in range(n):
        for b in range(a, n):
            pairs = total[a] * (total[a] - 1) // 2 if a == b else total[a] * total[b]
            for c in range(b, n):
                if c > b:
                    found[a, b, c] = pairs * total[c]
                elif a == b:
                    found[a, b, c] = pairs * (total[a] - 2) // 3
                else:
                    found[a, b, c] = total[a] * (total[b] * (total[b] - 1) // 2)
    return found


@inner
def _take(free: IntArray, a: int, b: int, c: int, count: int) -> None:
    """Take away triples of these classes, in any order."""
    low, high = min(a, b, c), max(a, b, c)
    free[low, a + b + c - low - high, high] -= count


@inner
def order_triples(keys: IntArray, reverse: IntArray, form: Form, new: IntArray) -> None:
    """Write each type of triples in all six orders of its slots."""
    bits, step = form.value_bits, form.class_bits + form.value_bits
    class_mask, value_mask = (1 << form.class_bits) - 1, (1 << bits) - 1
    for entry in range(len(keys)):
        key, place = keys[entry], 6 * entry
        ik, jk, k = key & value_mask, key >> bits & value_mask, key >> 2 * bits & class_mask
        key >>= slot_bits(form, 2)
        ij, j, i = key & value_mask, key >> bits & class_mask, key >> step
        ji, ki, kj = reverse[ij], reverse[ik], reverse[jk]
        # class of slot 1; class of slot 2, value (1, 2); class of slot 3, values (2, 3) and (1, 3)
        new[place] = (((i << step | j << bits | ij) << step | k << bits | jk) << bits) | ik
        new[place + 1] = (((i << step | k << bits | ik) << step | j << bits | kj) << bits) | ij
        new[place + 2] = (((j << step | i << bits | ji) << step | k << bits | ik) << bits) | jk
        new[place + 3] = (((j << step | k << bits | jk) << step | i << bits | ki) << bits) | ji
        new[place + 4] = (((k << step | i << bits | ki) << step | j << bits | ij) << bits) | kj
        new[place + 5] = (((k << step | j << bits | kj) << step | i << bits | ji) << bits) | ki


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
