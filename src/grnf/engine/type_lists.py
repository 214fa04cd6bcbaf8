"""Types of tuples of many graphs, one list after the other: see `tuple_types`."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from grnf._utils.jit import compiled, inner
from grnf.engine.tables import grown, place_of, roomy
from grnf.engine.triple_types import Form, Members, slot_bits
from grnf.engine.tuple_types import Types, count_types, form_of, key_bits
from grnf.typing import BoolArray, IntArray

__all__ = ["TypeLists", "list_types"]

KEY_BITS = 62
"""Bits that a type may have."""


class TypeLists(NamedTuple):
    """The types of some graphs.

    Graph i has the types ptr[i] .. ptr[i + 1] - 1: what each begins with, the number of what its last slot
    says, how many tuples it has; and `symbols` symbol_ptr[i] .. symbol_ptr[i + 1] - 1, what last slots say.
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


@compiled
def list_types(
    of: Members, sizes: IntArray, B: int, most: IntArray, along_edges: bool, first: int, held: int
) -> TypeLists:
    """Count the types of graphs first, first + 1, .. until there are more than `held` in all.

    Those of up to most[g] types are done; and those of fewer than B nodes, which have none.
    """
    ptr, symbol_ptr = np.zeros(len(sizes) - first + 1, np.int64), np.zeros(len(sizes) - first + 1, np.int64)
    done, bits = np.zeros(len(sizes) - first, np.bool_), np.zeros((len(sizes) - first, 2), np.int64)
    prefix = last = counts = symbols = np.empty(0, np.int64)
    item = 0
    while item < len(done) and ptr[item] <= held:
        g = first + item
        done[item] = most[g] > 0 and sizes[g] < B
        ptr[item + 1], symbol_ptr[item + 1] = ptr[item], symbol_ptr[item]
        form = form_of(B, of.n_classes[g], of.value_ptr[g + 1] - of.value_ptr[g])
        different = 1.0  # tuples of different classes have different types
        for slot in range(B):
            different *= of.n_classes[g] - slot
        if most[g] > 0 and not done[item] and different <= most[g] and key_bits(form) <= KEY_BITS:
            types = count_types(of, form, g, most[g], along_edges)
            numbers, said = _last_symbols(types, form)
            done[item] = len(numbers) > 0
            ptr[item + 1] += len(numbers)
            symbol_ptr[item + 1] += len(said)
            bits[item, 0], bits[item, 1] = form.class_bits, form.value_bits
            prefix, last = roomy(prefix, ptr[item + 1]), roomy(last, ptr[item + 1])
            counts, symbols = roomy(counts, ptr[item + 1]), roomy(symbols, symbol_ptr[item + 1])
            shift = form.class_bits + (B - 1) * form.value_bits
            for place in range(len(numbers)):
                at = ptr[item] + place
                prefix[at], last[at] = types.keys[place] >> shift, numbers[place]
                counts[at] = types.counts[place]
            for place in range(len(said)):
                symbols[symbol_ptr[item] + place] = said[place]
        item += 1
    return TypeLists(
        done[:item],
        ptr[: item + 1],
        prefix,
        last,
        counts,
        symbol_ptr[: item + 1],
        symbols,
        bits[:item],
    )


@inner
def _last_symbols(types: Types, form: Form) -> tuple[IntArray, IntArray]:
    """Return the number of what the last slot of each type says, class and values; and what they say."""
    mask = (1 << slot_bits(form, form.slots - 1)) - 1
    dense = mask < 4 * len(types.keys)
    if dense:
        known, number = np.full(mask + 1, -1, np.int64), np.zeros(mask + 1, np.int64)
    else:
        known, number = grown(np.empty(0, np.int64), np.empty(0, np.int64), 0, len(types.keys))
    numbers, symbols = np.empty(len(types.keys), np.int64), np.empty(min(len(types.keys), mask + 1), np.int64)
    found = 0
    for place in range(len(types.keys)):
        symbol = types.keys[place] & mask
        at = np.uint64(symbol) if dense else place_of(known, symbol)
        if known[at] < 0:
            known[at], number[at], symbols[found] = symbol, found, symbol
            found += 1
        numbers[place] = number[at]
    return numbers, symbols[:found]
