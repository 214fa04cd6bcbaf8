"""Counting sort, and hash tables of counts. Keys have up to 62 bits, and a free place has the key -1."""

from __future__ import annotations

import numpy as np

from grnf._utils.jit import inner
from grnf.typing import IntArray


@inner
def counting_sort(order: IntArray, keys: IntArray, n_keys: int) -> IntArray:
    """Return `order` rearranged so that keys[order] ascends, equal keys in the order they had."""
    start = np.zeros(n_keys + 1, np.int64)
    for item in order:
        start[keys[item] + 1] += 1
    for key in range(n_keys):
        start[key + 1] += start[key]
    result = np.empty(len(order), np.int64)
    for item in order:
        result[start[keys[item]]] = item
        start[keys[item]] += 1
    return result


@inner
def integers_below(n: int) -> IntArray:
    """Return 0 .. n - 1."""
    numbers = np.empty(n, np.int64)
    for i in range(n):
        numbers[i] = i
    return numbers


@inner
def place_of(keys: IntArray, key: int) -> np.uint64:
    """Return the place of a key in a table at most half full, or the free one where it belongs."""
    mask = np.uint64(len(keys) - 1)
    mixed = np.uint64(key) * np.uint64(0x9E3779B97F4A7C15)
    at = (mixed ^ mixed >> np.uint64(32)) & mask
    while keys[at] != key and keys[at] >= 0:
        at = (at + np.uint64(1)) & mask
    return at


@inner
def add_to(keys: IntArray, counts: IntArray, key: int, amount: int) -> int:
    """Add to the count of a key. Return 1 if it is new."""
    place, new = place_of(keys, key), 0
    if keys[place] < 0:
        keys[place], new = key, 1
    counts[place] += amount
    return new


@inner
def empty_table(more: int) -> tuple[IntArray, IntArray]:
    """Return a table, keys and counts, that is at most half full with so many keys."""
    size = 64
    while size < 2 * (more + 1):
        size *= 2
    return np.full(size, -1, np.int64), np.zeros(size, np.int64)


@inner
def with_places(keys: IntArray, counts: IntArray, filled: int, more: int) -> tuple[IntArray, IntArray]:
    """Return a table, this one if it is large enough, that is at most half full with `more` keys added."""
    if 2 * (filled + more + 1) <= len(keys):
        return keys, counts
    new, new_counts = empty_table(max(filled + more, len(keys) - 1))
    for place in range(len(keys)):
        if keys[place] >= 0:
            add_to(new, new_counts, keys[place], counts[place])
    return new, new_counts


@inner
def merged(keys: IntArray, counts: IntArray) -> tuple[IntArray, IntArray]:
    """Return the different keys, ascending, with the sums of their counts."""
    sort_by_keys(keys, counts)
    last = -1
    for item in range(len(keys)):
        if last >= 0 and keys[item] == keys[last]:
            counts[last] += counts[item]
        else:
            last += 1
            keys[last], counts[last] = keys[item], counts[item]
    return keys[: last + 1], counts[: last + 1]


@inner
def sort_by_keys(keys: IntArray, values: IntArray) -> None:
    """Sort both by the keys, some bits at a time, without the bits that all keys have in common."""
    digit = 8 if len(keys) < 1 << 12 else 11
    varying, mask = np.int64(0), (1 << digit) - 1
    for key in keys:
        varying |= key ^ keys[0]
    other_keys, other_values = np.empty_like(keys), np.empty_like(values)
    start = np.empty(mask + 2, np.int64)
    shift, moved = 0, False
    while varying >> shift:
        if varying >> shift & mask:
            start[:] = 0
            source, source_values = (other_keys, other_values) if moved else (keys, values)
            target, target_values = (keys, values) if moved else (other_keys, other_values)
            for key in source:
                start[(key >> shift & mask) + 1] += 1
            for bits in range(mask + 1):
                start[bits + 1] += start[bits]
            for item in range(len(source)):
                bits = source[item] >> shift & mask
                target[start[bits]] = source[item]
                target_values[start[bits]] = source_values[item]
                start[bits] += 1
            moved = not moved
        shift += digit
    if moved:
        for item in range(len(keys)):
            keys[item], values[item] = other_keys[item], other_values[item]


@inner
def with_room(array: IntArray, size: int) -> IntArray:
    """Return an array with room for `size` entries, at least twice as large if it must grow."""
    if size <= len(array):
        return array
    larger = np.empty(max(size, 2 * len(array), 64), np.int64)
    for place in range(len(array)):
        larger[place] = array[place]
    return larger
