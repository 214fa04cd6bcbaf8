"""Counting sort: stable, linear, for keys 0 .. n - 1."""

from __future__ import annotations

import numpy as np

from grnf._utils.jit import inner
from grnf.typing import IntArray

__all__ = ["counted", "counting_sort"]


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
def counted(n: int) -> IntArray:
    """Return 0 .. n - 1."""
    numbers = np.empty(n, np.int64)
    for i in range(n):
        numbers[i] = i
    return numbers
