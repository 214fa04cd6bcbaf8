"""An order of sketches in which neighbours stand in blocks, and the box around each block."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from grnf.search.loops import WIDTH
from grnf.typing import IntArray

__all__ = ["blocks_of", "boxes_of", "tree_order"]

Sketches = npt.NDArray[np.float32]

BLOCKS = 1024
"""Blocks that are filled at a time."""


def tree_order(S: Sketches) -> IntArray:
    """Return an order of rows: halved again and again along the axis of the largest variance.

    All blocks of WIDTH rows but the last are full.

    Examples
    --------
    >>> tree_order(np.array([[3.0], [1.0], [2.0]], dtype=np.float32))
    array([0, 1, 2])
    """
    order = np.arange(len(S))
    waiting = [(0, len(S))]
    while waiting:
        start, stop = waiting.pop()
        n_blocks = -(-(stop - start) // WIDTH)
        if n_blocks < 2:
            order[start:stop].sort()
            continue
        part = order[start:stop]
        rows = S[part]
        axis = int(np.argmax(rows.var(axis=0, dtype=np.float64)))
        middle = (n_blocks // 2) * WIDTH
        order[start:stop] = part[np.argpartition(rows[:, axis], middle)]
        waiting += [(start, start + middle), (start + middle, stop)]
    return order


def blocks_of(S: Sketches, order: IntArray) -> Sketches:
    """Return sketches in blocks, axis by axis: shape (n_blocks, d, WIDTH), filled up by infinity."""
    n_full, rest = divmod(len(order), WIDTH)
    blocks = np.full((n_full + (rest > 0), S.shape[1], WIDTH), np.inf, np.float32)
    for start in range(0, n_full, BLOCKS):
        some = order[start * WIDTH : min(start + BLOCKS, n_full) * WIDTH]
        blocks[start : start + len(some) // WIDTH] = S[some].reshape(-1, WIDTH, S.shape[1]).transpose(0, 2, 1)
    if rest:
        blocks[-1, :, :rest] = S[order[n_full * WIDTH :]].T
    return blocks


def boxes_of(blocks: Sketches) -> tuple[Sketches, Sketches]:
    """Return the least and largest value of each axis in each block, shapes (d, n_blocks)."""
    low = blocks.min(axis=2)
    high = np.where(np.isinf(blocks), -np.inf, blocks).max(axis=2)
    return np.ascontiguousarray(low.T), np.ascontiguousarray(high.T.astype(np.float32))
