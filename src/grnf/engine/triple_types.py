"""Types of triples, counted along edges: see `tuple_types`.

A triple with two or three edges is counted at the node that two of its edges share. A triple with one edge is
any edge together with any node that is adjacent to neither end. Triples without edges are the remaining ones
of their three classes. So the work grows with the pairs of edges that share a node, not with pairs of nodes.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from grnf._utils.jit import inner
from grnf.engine.counting import add_to, empty_table, place_of, with_places
from grnf.typing import IntArray


class Members(NamedTuple):
    """The rows whose tuples are counted. Integers only, so that one kernel serves both precisions.

    Graph g has rows node_ptr[g] .. node_ptr[g + 1] - 1, of n_classes[g] classes. Each stands for
    `size` nodes. Neighbors are listed as in `Neighbors`.
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
    """The layout of a type: number of slots, bits of a class, bits of a value."""

    slots: int
    class_bits: int
    value_bits: int


@inner
def slot_bits(form: Form, q: int) -> int:
    """Return how many bits slot q has, counted from 0: its class, and the values to the slots before it."""
    return form.class_bits + q * form.value_bits


@inner
def triples_along_edges(near: Members, g: int, form: Form, most: int) -> tuple[IntArray, IntArray]:
    """Count the types of unordered triples of a graph, no nodes grouped, or none if they are too many."""
    first, n_classes = near.node_ptr[g], near.n_classes[g]
    classes = near.classes[first : near.node_ptr[g + 1]]
    total = np.zeros(n_classes, np.int64)
    for c in classes:
        total[c] += 1
    n_edges = (near.ptr[first + len(classes)] - near.ptr[first]) // 2
    kinds = min(n_edges, n_classes**2 << form.value_bits)
    if kinds * n_classes > most:
        return np.empty(0, np.int64), np.empty(0, np.int64)
    # of each kind of edge: its number and how many there are, and of each class, nodes that are joined to it
    pairs, number = empty_table(kinds)
    times, joined = np.zeros(kinds, np.int64), np.zeros((kinds, n_classes), np.int64)
    n_kinds = _number_edges(near, classes, first, form, pairs, number, times, joined)
    keys, counts, filled = _meeting_edges(near, classes, first, form)
    if filled + n_kinds * n_classes > most:
        return np.empty(0, np.int64), np.empty(0, np.int64)
    free = _all_triples(total)
    size = filled + n_kinds * n_classes + n_classes * (n_classes + 1) * (n_classes + 2) // 6
    types, types_counts = np.zeros(size, np.int64), np.zeros(size, np.int64)
    class_mask, place = (1 << form.class_bits) - 1, 0
    bits, last = form.value_bits, slot_bits(form, 2)
    for at in range(len(keys)):
        if keys[at] >= 0:
            prefix = keys[at] >> last
            third, second = keys[at] >> (2 * bits) & class_mask, prefix >> bits & class_mask
            _take(free, prefix >> slot_bits(form, 1), second, third, counts[at])
            types[place], types_counts[place] = keys[at], counts[at]
            place += 1
    for at in range(len(pairs)):
        if pairs[at] >= 0:
            a, b, kind = pairs[at] >> slot_bits(form, 1), pairs[at] >> bits & class_mask, number[at]
            for c in range(n_classes):
                count = times[kind] * total[c] - joined[kind, c]
                _take(free, a, b, c, count)
                types[place], types_counts[place] = pairs[at] << last | c << (2 * bits), count
                place += 1
    for a in range(n_classes):
        for b in range(a, n_classes):
            head = (a << slot_bits(form, 1) | b << bits) << last
            for c in range(b, n_classes):
                types[place], types_counts[place] = head | c << (2 * bits), free[a, b, c]
                place += 1
    return types, types_counts


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
    """Find the kinds of edges, the lower class first. Count them, and their ends and neighbors by class."""
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
    keys, counts = empty_table(len(classes))
    filled, bits, mark = 0, form.value_bits, np.zeros(len(classes), np.int64)
    for i in range(len(classes)):
        own = range(near.ptr[first + i], near.ptr[first + i + 1])
        for entry in own:
            j = near.node[entry]
            adjacent = range(near.ptr[first + j], near.ptr[first + j + 1])
            keys, counts = with_places(keys, counts, filled, len(own))
            for other in adjacent:
                mark[near.node[other]] = near.value[other] + 1
            head = classes[i] << slot_bits(form, 1) | classes[j] << bits | near.value[entry] + 1
            for other in own:
                k = near.node[other]
                if k > j and (i < j or not mark[k]):
                    tail = classes[k] << (2 * bits) | mark[k] << bits | near.value[other] + 1
                    filled += add_to(keys, counts, head << slot_bits(form, 2) | tail, 1)
            for other in adjacent:
                mark[near.node[other]] = 0
    return keys, counts, filled


@inner
def _all_triples(total: IntArray) -> IntArray:
    """Return how many unordered triples there are of nodes of classes a <= b <= c."""
    n = len(total)
    count = np.zeros((n, n, n), np.int64)
    for a in range(n):
        for b in range(a, n):
            pairs = total[a] * (total[a] - 1) // 2 if a == b else total[a] * total[b]
            for c in range(b, n):
                if c > b:
                    count[a, b, c] = pairs * total[c]
                elif a == b:
                    count[a, b, c] = pairs * (total[a] - 2) // 3
                else:
                    count[a, b, c] = total[a] * (total[b] * (total[b] - 1) // 2)
    return count


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
        # class of slot 1, then class of slot 2, value (1, 2), then class of slot 3, values (2, 3) and (1, 3)
        new[place] = (((i << step | j << bits | ij) << step | k << bits | jk) << bits) | ik
        new[place + 1] = (((i << step | k << bits | ik) << step | j << bits | kj) << bits) | ij
        new[place + 2] = (((j << step | i << bits | ji) << step | k << bits | ik) << bits) | jk
        new[place + 3] = (((j << step | k << bits | jk) << step | i << bits | ki) << bits) | ji
        new[place + 4] = (((k << step | i << bits | ki) << step | j << bits | ij) << bits) | kj
        new[place + 5] = (((k << step | j << bits | kj) << step | i << bits | ji) << bits) | ki
