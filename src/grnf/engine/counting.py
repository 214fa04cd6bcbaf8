"""Counting sort: stable, linear, for keys 0 .. n - 1."""

from __future__ import annotations

import numpy as np

from grnf.engine.jit import compiled
from grnf.typing import IntArray

__all__ = ["counting_sort"]


@compiled
def counting_sort(order: IntArray, keys: IntArray, n_keys: int) -> IntArray:
    """Return `order` rearranged so that keys[order] ascends, equal keys in the order they had."""
    start = np.zeros(n_keys + 1, dtype=np.int64)
    for item in order:
        start[keys[item] + 1] += 1
    for key in range(n_keys):
        start[key + 1] += start[key]
    result = np.empty_like(order)
    for item in order:
        result[start[keys[item]]] = item
        start[keys[item]] += 1
    return result
