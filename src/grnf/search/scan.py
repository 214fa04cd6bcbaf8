"""The scan of a segment: boxes, then sketches, then rows, each only if the one before leaves a doubt.

A sketch is a short vector whose distances are never larger than those of the rows (`sketch.py`). What is here
compares lower bounds with `reach(radius)`, which makes up for every rounding on the way, so nothing that
belongs to the answer is passed over. Distances of the answer are sums of M squares in double precision.
"""

from __future__ import annotations

import numpy as np

from grnf._utils.jit import compiled, inner

__all__ = ["WIDTH", "nearest", "within"]

WIDTH = 256
"""Rows per block; a box is known of each."""

LANES = 8
TINY = 1e-37
"""Squares in single precision may vanish below this, so no bound is smaller."""


@inner
def _reach(square, factor, slack):  # type: ignore[no-untyped-def]
    """Return up to which computed square of a sketch distance a row may be as near as `square` says."""
    reach = np.sqrt(square) * factor + slack
    return np.float32(reach * reach * factor + TINY)


@inner
def _square(row, q):  # type: ignore[no-untyped-def]
    """Return |row - q|^2: sums in eight lanes, always in the same order."""
    lanes = np.zeros(LANES)
    whole = len(q) - len(q) % LANES
    for start in range(0, whole, LANES):
        for lane in range(LANES):
            d = row[start + lane] - q[start + lane]
            lanes[lane] += d * d
    total = 0.0
    for i in range(whole, len(q)):
        d = row[i] - q[i]
        total += d * d
    for lane in range(LANES):
        total += lanes[lane]
    return total


@inner
def _bounds(s, low, high, out):  # type: ignore[no-untyped-def]
    """Write the squares of the distances from a sketch to all boxes."""
    out[:] = 0
    for axis in range(len(s)):
        at, lows, highs = s[axis], low[axis], high[axis]
        for box in range(len(out)):
            d = max(max(lows[box] - at, at - highs[box]), np.float32(0))
            out[box] += d * d


@inner
def _sketch_squares(s, block, out, limit):  # type: ignore[no-untyped-def]
    """Write the squares of the distances from a sketch to those of a block; False if all exceed the limit."""
    out[:] = 0
    for axis in range(len(s)):
        at, column = s[axis], block[axis]
        for i in range(WIDTH):
            d = column[i] - at
            out[i] += d * d
        if axis % 4 == 3:
            least = out[0]
            for i in range(WIDTH):
                least = min(least, out[i])
            if least > limit:
                return False
    return True


@inner
def _after(d1, n1, d2, n2):  # type: ignore[no-untyped-def]
    return d1 > d2 or (d1 == d2 and n1 > n2)


@inner
def _sift(squares, numbers, places):  # type: ignore[no-untyped-def]
    """Let the first entry of a heap sink to its place: the last in order comes first."""
    at = 0
    while True:
        child = 2 * at + 1
        if child >= len(squares):
            return
        if child + 1 < len(squares) and _after(
            squares[child + 1], numbers[child + 1], squares[child], numbers[child]
        ):
            child += 1
        if not _after(squares[child], numbers[child], squares[at], numbers[at]):
            return
        squares[at], squares[child] = squares[child], squares[at]
        numbers[at], numbers[child] = numbers[child], numbers[at]
        places[at], places[child] = places[child], places[at]
        at = child


@inner
def _offer(block, q, s, segment, factor, slack, offset, sums, heap):  # type: ignore[no-untyped-def]
    """Put the rows of a block that are near enough into the heap; return how many rows were computed."""
    rows, sketch, numbers, alive = segment
    squares, kept, places = heap
    limit, looked = _reach(squares[0], factor, slack), 0
    if not _sketch_squares(s, sketch[block], sums, limit):
        return looked
    for i in range(min(WIDTH, len(rows) - block * WIDTH)):
        place = block * WIDTH + i
        if sums[i] > limit or not alive[place]:
            continue
        looked += 1
        square, number = _square(rows[place], q), numbers[place]
        if _after(squares[0], kept[0], square, number):
            squares[0], kept[0], places[0] = square, number, offset + place
            _sift(squares, kept, places)
            limit = _reach(squares[0], factor, slack)
    return looked


@compiled
def nearest(q, s, segment, boxes, factor, slack, offset, heap):  # type: ignore[no-untyped-def]
    """Bring the rows of a segment that are among the k nearest to a query into a heap.

    Parameters
    ----------
    q, s : arrays, shapes (M,) and (d,)
        The query in double precision, and its sketch.
    segment : (rows, sketch, numbers, alive)
        Shapes (n, M), (n_blocks, d, WIDTH), (n,) and (n,); of equal distances the smallest number wins.
    boxes : (low, high)
        Shapes (d, n_blocks).
    factor, slack : float
        How far rounding may have moved a sketch distance: in proportion, and by an amount.
    offset : int
        What is added to the places of rows.
    heap : (squares, numbers, places)
        Arrays of length k, the last in order first; free entries have the square infinity.

    Returns
    -------
    (rows whose distance was computed, blocks whose sketches were compared)
    """
    squares = heap[0]
    low, high = boxes
    n_blocks = low.shape[1]
    bounds, sums = np.empty(n_blocks, np.float32), np.empty(WIDTH, np.float32)
    _bounds(s, low, high, bounds)
    looked, blocks = 0, 0
    while squares[0] == np.inf and blocks < n_blocks:
        best = np.argmin(bounds)
        looked += _offer(best, q, s, segment, factor, slack, offset, sums, heap)
        bounds[best] = np.inf
        blocks += 1
    if squares[0] == np.inf:
        return looked, blocks
    left = np.flatnonzero(bounds <= _reach(squares[0], factor, slack))
    for block in left[np.argsort(bounds[left], kind="mergesort")]:
        if bounds[block] > _reach(squares[0], factor, slack):
            break
        looked += _offer(block, q, s, segment, factor, slack, offset, sums, heap)
        blocks += 1
    return looked, blocks


@compiled
def within(q, s, segment, boxes, factor, slack, square):  # type: ignore[no-untyped-def]
    """Return the places of the rows whose squared distance to a query is at most `square`, and the squares.

    Parameters are those of `nearest`.
    """
    rows, sketch, _, alive = segment
    low, high = boxes
    bounds, sums = np.empty(low.shape[1], np.float32), np.empty(WIDTH, np.float32)
    _bounds(s, low, high, bounds)
    limit = _reach(square, factor, slack)
    places, squares, size = np.empty(64, np.int64), np.empty(64), 0
    for block in np.flatnonzero(bounds <= limit):
        if not _sketch_squares(s, sketch[block], sums, limit):
            continue
        for i in range(WIDTH):
            place = block * WIDTH + i
            if place >= len(rows):
                break
            if sums[i] > limit or not alive[place]:
                continue
            found = _square(rows[place], q)
            if found <= square:
                if size == len(places):
                    places = np.concatenate((places, np.empty_like(places)))
                    squares = np.concatenate((squares, np.empty_like(squares)))
                places[size], squares[size] = place, found
                size += 1
    return places[:size], squares[:size]
