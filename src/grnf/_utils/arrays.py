"""Index arithmetic for items stored one group after the other."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from grnf.typing import IntArray

__all__ = ["offsets", "positions_of", "ragged_indices"]


def offsets(counts: Any) -> IntArray:
    """Return where groups of these sizes begin, and at the end their total size.

    Examples
    --------
    >>> offsets([2, 0, 3])
    array([0, 2, 2, 5])
    """
    ptr = np.zeros(len(counts) + 1, dtype=np.int64)
    np.cumsum(counts, out=ptr[1:])
    return ptr


def ragged_indices(ptr: IntArray, index: IntArray) -> IntArray:
    """Return the positions of the items of the groups `index`, one group after the other.

    Examples
    --------
    >>> ragged_indices(np.array([0, 2, 2, 5]), np.array([2, 0]))
    array([2, 3, 4, 0, 1])
    """
    counts = ptr[index + 1] - ptr[index]
    starts = np.repeat(ptr[index] - offsets(counts)[:-1], counts)
    return starts + np.arange(len(starts))


def positions_of(indices: npt.ArrayLike, count: int) -> IntArray:
    """Return which of `count` items are selected by numbers (negative ones from the end) or by a mask.

    Examples
    --------
    >>> positions_of([-1, 0], 3), positions_of([True, False, True], 3), positions_of([], 3)
    (array([2, 0]), array([0, 2]), array([], dtype=int64))
    """
    index = np.asarray(indices)
    found: IntArray = np.arange(count)[index if index.size else index.astype(np.int64)]
    return found
