"""Types of tuples: what t(v_1 .. v_B) depends on, counted once per graph whatever the number of channels.

The term of a tuple depends on the classes of its nodes (equal statistics) and on the values of the edges
between them. So U_B is a sum over types, each as often as it occurs. Tuples are walked unordered, in the
order of their classes, and without their last node: of that one only neighbors of the others are met one by
one, and all the rest are counted by class. The types of ordered tuples are those of unordered ones, permuted.

A type is one number: fields for the class of slot 1, class of slot 2, value of the edge (1, 2), class of slot
3, values (1, 3), (2, 3), and so on, the first slot on top, so that numbers in ascending order walk through
types by their prefixes. Value 0 means that there is no edge.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from grnf._utils.jit import compiled, inlined, inner
from grnf.engine.counting import (
    add_to,
    counting_sort,
    empty_table,
    integers_below,
    merged,
    place_of,
    with_places,
    with_room,
)
from grnf.engine.triple_types import Form, Members, order_triples, slot_bits, triples_along_edges
from grnf.typing import BoolArray, IntArray

KEY_BITS = 62
"""Bits that a type may have."""


class _Walk(NamedTuple):
    """Where a walk over the prefixes of a graph is, which stops when a table is full and continues later.

    The prefix is at[0] <= at[1] <= .., rows in the order of their classes. times[d] is how often at[d] stands
    before, weight[d] and keys[d] are of the prefix before it. mark[k]: values of the edges from the prefix
    to row k. `depth` has one entry.
    """

    at: IntArray
    times: IntArray
    keys: IntArray
    weight: IntArray
    mark: IntArray
    depth: IntArray


class _Rows(NamedTuple):
    """The rows of a graph in the order of their classes: class, nodes, nodes of later rows of that class.

    And their later neighbors: `node` and `value` from ptr[i] to ptr[i + 1].
    """

    classes: IntArray
    size: IntArray
    after: IntArray
    ptr: IntArray
    node: IntArray
    value: IntArray


@inner
def form_of(slots: int, n_classes: int, n_values: int) -> Form:
    """Return the layout of types for these numbers of classes of nodes and values of edges."""
    class_bits = value_bits = 0
    while n_classes > 1 << class_bits:
        class_bits += 1
    while n_values + 1 > 1 << value_bits:
        value_bits += 1
    return Form(slots, class_bits, value_bits)


@inner
def key_bits(form: Form) -> int:
    """Return how many bits a type has."""
    bits = 0
    for q in range(form.slots):
        bits += slot_bits(form, q)
    return bits


@inner
def _unordered(of: Members, form: Form, g: int, most: int) -> tuple[IntArray, IntArray]:
    """Count the types of unordered tuples, slots by ascending class, in a table, an empty one if too many."""
    first, n, B = of.node_ptr[g], of.node_ptr[g + 1] - of.node_ptr[g], form.slots
    rows, total = _by_class(of, first, n)
    none = np.empty(0, np.int64)
    walk = _Walk(
        np.full(B, -1, np.int64),
        np.zeros(B, np.int64),
        np.zeros(B, np.int64),
        np.ones(B, np.int64),
        np.zeros(n, np.int64),
        np.zeros(1, np.int64),
    )
    keys, counts = empty_table(2 * n + 30)
    prefixes, times = empty_table(n)
    beyond = np.zeros(len(prefixes), np.int64)
    filled = n_prefixes = n - n  # not 0, which would be compiled as a type of its own
    while walk.depth[0] >= 0 and filled <= most:
        filled, n_prefixes = _go_on(
            walk, rows, form, keys, counts, filled, prefixes, times, beyond, n_prefixes
        )
        keys, counts = with_places(keys, counts, filled, 2 * n + 1)
        _, beyond = with_places(prefixes, beyond, n_prefixes, n)
        prefixes, times = with_places(prefixes, times, n_prefixes, n)
    for place in range(len(prefixes)):
        if prefixes[place] >= 0 and filled <= most:
            keys, counts = with_places(keys, counts, filled, len(total))
            filled += _add_later(prefixes[place], times[place], beyond[place], total, form, keys, counts)
    return (keys, counts) if filled <= most else (none, none)


@inner
def _go_on(
    walk: _Walk,
    rows: _Rows,
    form: Form,
    keys: IntArray,
    counts: IntArray,
    filled: int,
    prefixes: IntArray,
    of_prefix: IntArray,
    beyond: IntArray,
    n_prefixes: int,
) -> tuple[int, int]:
    """Walk on until a table is half full, and return how many there are in each.

    Two tables: types met so far, with counts that lack what `_add_later` adds, and prefixes, with the number
    of tuples that are so, and that of nodes of the last class that come later. They are not replaced in the
    loop, which would be compiled to several times its time.
    """
    at, times, weight, mark = walk.at, walk.times, walk.weight, walk.mark
    classes, size, n, bits = rows.classes, rows.size, len(rows.size), form.value_bits
    end, last_bits, last = form.slots - 2, slot_bits(form, form.slots - 1), (form.slots - 1) * bits
    depth = walk.depth[0]
    while depth >= 0:
        if 2 * (filled + 2 * n + 2) > len(keys) or 2 * (n_prefixes + 1) > len(prefixes):
            break
        if at[depth] >= 0:
            _mark(rows, at[depth], -1, depth * bits, mark)
        elif depth > 0:
            at[depth] = at[depth - 1] - 1
        at[depth] += 1
        i = at[depth]
        if i == n:
            at[depth] = -1
            depth -= 1
            continue
        again = times[depth - 1] + 1 if depth > 0 and at[depth - 1] == i else 0
        times[depth] = again
        w = weight[depth] * (size[i] - again) // (again + 1)
        key = walk.keys[depth] << slot_bits(form, depth) | classes[i] << (depth * bits) | mark[i]
        _mark(rows, i, 1, depth * bits, mark)
        if w > 0 and depth < end:
            depth += 1
            walk.keys[depth], weight[depth] = key, w
        elif w > 0:
            # a whole prefix: the last node is any later one, a later neighbor of some, or i once more
            place = place_of(prefixes, key)
            if prefixes[place] < 0:
                prefixes[place] = key
                n_prefixes += 1
            of_prefix[place] += w
            beyond[place] += w * rows.after[i]
            head = key << last_bits
            for p in range(end + 1):
                before = (1 << (p * bits)) - 1
                for entry in range(rows.ptr[at[p]], rows.ptr[at[p] + 1]):
                    k = rows.node[entry]
                    if k > i and mark[k] & before == 0:  # not met before
                        plain = head | classes[k] << last
                        filled += add_to(keys, counts, plain | mark[k], w * size[k])
                        filled += add_to(keys, counts, plain, -w * size[k])
            w = w * (size[i] - again - 1) // (again + 2)
            if w:
                filled += add_to(keys, counts, head | classes[i] << last | mark[i], w)
    walk.depth[0] = depth
    return filled, n_prefixes


@inner
def _add_later(
    prefix: int, times: int, beyond: int, total: IntArray, form: Form, keys: IntArray, counts: IntArray
) -> int:
    """Add the tuples whose last node is any later one, as if it had no edges. Return the new types."""
    bits, filled = (form.slots - 1) * form.value_bits, 0
    own = prefix >> (bits - form.value_bits) & ((1 << form.class_bits) - 1)  # the class of its last node
    for c in range(own, len(total)):
        count = beyond if c == own else times * total[c]
        filled += add_to(keys, counts, prefix << slot_bits(form, form.slots - 1) | c << bits, count)
    return filled


@inner
def _by_class(of: Members, first: int, n: int) -> tuple[_Rows, IntArray]:
    """Return the rows of a graph in the order of their classes, and the number of nodes of each class.

    Values of edges count from 1. A row that stands for joined twins is its own neighbor.
    """
    order = counting_sort(integers_below(n), of.classes[first : first + n], n)
    rank, entries = np.zeros(n, np.int64), of.ptr[first + n] - of.ptr[first]
    rows = _Rows(
        np.zeros(n, np.int64),
        np.zeros(n, np.int64),
        np.zeros(n, np.int64),
        np.zeros(n + 1, np.int64),
        np.zeros(entries, np.int64),
        np.zeros(entries, np.int64),
    )
    for i in range(n):
        rank[order[i]] = i
        rows.classes[i], rows.size[i] = of.classes[first + order[i]], of.size[first + order[i]]
    total = np.zeros(rows.classes[n - 1] + 1, np.int64)
    for i in range(n - 1, -1, -1):
        rows.after[i] = total[rows.classes[i]]
        total[rows.classes[i]] += rows.size[i]
    n_entries = 0
    for i in range(n):
        own = False
        for entry in range(of.ptr[first + order[i]], of.ptr[first + order[i] + 1]):
            k = rank[of.node[entry]]
            if k > i or (k == i and not own):
                own |= k == i
                rows.node[n_entries], rows.value[n_entries] = k, of.value[entry] + 1
                n_entries += 1
        rows.ptr[i + 1] = n_entries
    return rows, total


@inner
def _mark(rows: _Rows, i: int, sign: int, shift: int, mark: IntArray) -> None:
    """Write the values of the edges of row i at its neighbors, or take them away again."""
    for entry in range(rows.ptr[i], rows.ptr[i + 1]):
        mark[rows.node[entry]] += sign * (rows.value[entry] << shift)


@inner
def _reverse(of: Members, g: int) -> IntArray:
    """Return for each value of an edge that of the same edge the other way round, counted from 1."""
    reverse = np.zeros(of.value_ptr[g + 1] - of.value_ptr[g] + 1, np.int64)
    for entry in range(of.ptr[of.node_ptr[g]], of.ptr[of.node_ptr[g + 1]]):
        reverse[of.value[entry] + 1] = of.back[entry] + 1
    return reverse


@inner
def _order_tuples(keys: IntArray, reverse: IntArray, form: Form, new: IntArray) -> None:
    """Write each type in all orders of its slots."""
    B, orders, place = form.slots, _permutations(form.slots), 0
    classes, values = np.zeros(B, np.int64), np.zeros((B, B), np.int64)
    for entry in range(len(keys)):
        read(form, keys[entry], classes, values)
        for q in range(B):
            for p in range(q):
                values[q, p] = reverse[values[p, q]]
        for row in range(len(orders)):
            key = np.int64(0)
            for q in range(B):
                slot = orders[row, q]
                key = key << form.class_bits | classes[slot]
                for p in range(q - 1, -1, -1):
                    key = key << form.value_bits | values[orders[row, p], slot]
            new[place] = key
            place += 1


@inner
def read(form: Form, key: int, classes: IntArray, values: IntArray) -> None:
    """Decode a type: the class of each slot, and the value of the edge of slots p < q."""
    for q in range(form.slots - 1, -1, -1):
        for p in range(q):
            values[p, q] = key & ((1 << form.value_bits) - 1)
            key >>= form.value_bits
        classes[q] = key & ((1 << form.class_bits) - 1)
        key >>= form.class_bits


@inlined
def _factorial(B: int) -> int:
    product = 1
    for slot in range(B):
        product *= slot + 1
    return product


@inner
def _permutations(B: int) -> IntArray:
    """Return all orders of 0 .. B - 1."""
    orders = np.zeros((1, B), np.int64)
    for used in range(1, B):
        more = np.zeros((len(orders) * (used + 1), B), np.int64)
        for row in range(len(more)):
            source, gap = orders[row // (used + 1)], row % (used + 1)
            for place in range(used + 1):
                more[row, place] = used if place == gap else source[place - (place > gap)]
        orders = more
    return orders


class TypeLists(NamedTuple):
    """The types of some graphs.

    Graph i has the types ptr[i] .. ptr[i + 1] - 1: its prefix, the number of the symbol of its last slot,
    how many tuples it has, and `symbols` symbol_ptr[i] .. symbol_ptr[i + 1] - 1 (class and values of a slot).
    `bits` are those of a class and of a value. Those that are not `done` have too many types.
    """

    done: BoolArray
    ptr: IntArray
    prefix: IntArray
    last: IntArray
    counts: IntArray
    symbol_ptr: IntArray
    symbols: IntArray
    bits: IntArray


def list_types(
    of: Members, sizes: IntArray, B: int, most: IntArray, along_edges: bool, first: int, held: int
) -> TypeLists:
    """Count the types of graphs first, first + 1, .. until there are more than `held` in all.

    Those of up to most[g] types are done, and those of fewer than B nodes, which have none. Rows may stand
    for twins. Triples of single nodes may be counted along edges, see `triple_types`.
    """
    unordered = _count_types(of, sizes, B, most, (0,) * along_edges, first, held)
    return _order_types(of, B, first, (0,) * (B != 3), *unordered)


@compiled
def _count_types(
    of: Members,
    sizes: IntArray,
    B: int,
    most: IntArray,
    along_edges: tuple[int, ...],
    first: int,
    held: int,
) -> tuple[BoolArray, IntArray, IntArray, IntArray, IntArray]:
    """Count the types of unordered tuples. Return which graphs are done, pointers, types, counts, bits.

    Along edges if the tuple is not empty. As of activations, what is not needed is not compiled.
    """
    done, bits = np.zeros(len(sizes) - first, np.bool_), np.zeros((len(sizes) - first, 2), np.int64)
    ptr, n_orders, item = np.zeros(len(sizes) - first + 1, np.int64), _factorial(B), 0
    keys = counts = np.empty(0, np.int64)
    while item < len(done) and n_orders * ptr[item] <= held:
        g = first + item
        done[item] = most[g] > 0 and sizes[g] < B
        ptr[item + 1] = ptr[item]
        form = form_of(B, of.n_classes[g], of.value_ptr[g + 1] - of.value_ptr[g])
        different = 1.0  # tuples of different classes have different types
        for slot in range(B):
            different *= of.n_classes[g] - slot
        if most[g] > 0 and not done[item] and different <= most[g] and key_bits(form) <= KEY_BITS:
            if len(along_edges) == 0:
                own, times = _unordered(of, form, g, most[g] // n_orders)
            else:
                own, times = triples_along_edges(of, g, form, most[g] // n_orders)
            bits[item, 0], bits[item, 1], done[item] = form.class_bits, form.value_bits, len(own) > 0
            keys, counts = with_room(keys, ptr[item] + len(own)), with_room(counts, ptr[item] + len(own))
            for place in range(len(own)):
                if times[place] > 0:
                    keys[ptr[item + 1]], counts[ptr[item + 1]] = own[place], times[place]
                    ptr[item + 1] += 1
        item += 1
    return done[:item], ptr[: item + 1], keys, counts, bits[:item]


@compiled
def _order_types(
    of: Members,
    B: int,
    first: int,
    other: tuple[int, ...],
    done: BoolArray,
    ptr: IntArray,
    keys: IntArray,
    counts: IntArray,
    bits: IntArray,
) -> TypeLists:
    """List the types of ordered tuples: those of unordered ones, permuted, sorted and equal ones joined.

    `other` is not empty if tuples are not triples.
    """
    out_ptr, symbol_ptr, n_orders = np.zeros(len(ptr), np.int64), np.zeros(len(ptr), np.int64), _factorial(B)
    size = n_orders * ptr[len(done)]
    prefix, last, out_counts = np.empty(size, np.int64), np.empty(size, np.int64), np.empty(size, np.int64)
    symbols = np.empty(0, np.int64)
    for item in range(len(done)):
        begin, own_symbol = out_ptr[item], symbol_ptr[item]
        out_ptr[item + 1], symbol_ptr[item + 1] = begin, own_symbol
        if ptr[item] == ptr[item + 1]:
            continue
        form, own = Form(B, bits[item, 0], bits[item, 1]), keys[ptr[item] : ptr[item + 1]]
        new, new_counts = np.empty(n_orders * len(own), np.int64), np.empty(n_orders * len(own), np.int64)
        for place in range(len(new)):
            new_counts[place] = counts[ptr[item] + place // n_orders]
        if len(other) == 0:
            order_triples(own, _reverse(of, first + item), form, new)
        else:
            _order_tuples(own, _reverse(of, first + item), form, new)
        types, times = merged(new, new_counts)
        numbers, own_symbols = _last_symbols(types, form)
        shift = slot_bits(form, B - 1)
        for place in range(len(types)):
            prefix[begin + place], last[begin + place] = types[place] >> shift, numbers[place]
            out_counts[begin + place] = times[place]
        symbols = with_room(symbols, own_symbol + len(own_symbols))
        for place in range(len(own_symbols)):
            symbols[own_symbol + place] = own_symbols[place]
        out_ptr[item + 1], symbol_ptr[item + 1] = begin + len(types), own_symbol + len(own_symbols)
    return TypeLists(done, out_ptr, prefix, last, out_counts, symbol_ptr, symbols, bits)


@inner
def _last_symbols(types: IntArray, form: Form) -> tuple[IntArray, IntArray]:
    """Return the number of the symbol of each type's last slot (class and values), and the symbols."""
    mask = (1 << slot_bits(form, form.slots - 1)) - 1
    most = min(len(types), mask + 1)
    known, number = empty_table(most)
    numbers, symbols, n_symbols = np.empty(len(types), np.int64), np.empty(most, np.int64), 0
    for place in range(len(types)):
        symbol = types[place] & mask
        at = place_of(known, symbol)
        if known[at] < 0:
            known[at], number[at], symbols[n_symbols] = symbol, n_symbols, symbol
            n_symbols += 1
        numbers[place] = number[at]
    return numbers, symbols[:n_symbols]
