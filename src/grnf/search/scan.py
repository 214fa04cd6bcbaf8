"""The scan of a segment: boxes, then sketches, then rows, each only where the one before leaves a doubt.

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
def _sift(squares, numbers, places, size):  # type: ignore[no-untyped-def]
    """Let the first entry of a heap sink to where it belongs: the last in order stands first."""
    at = 0
    while True:
        child = 2 * at + 1
        if child >= size:
            return
        if child + 1 < size and _after(
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
def _rise(squares, numbers, places, at):  # type: ignore[no-untyped-def]
    while at > 0:
        parent = (at - 1) // 2
        if not _after(squares[at], numbers[at], squares[parent], numbers[parent]):
            return
        squares[at], squares[parent] = squares[parent], squares[at]
        numbers[at], numbers[parent] = numbers[parent], numbers[at]
        places[at], places[parent] = places[parent], places[at]
        at = parent


@inner
def _offer(block, q, s, segment, offset, factor, slack, sums, heap, found):  # type: ignore[no-untyped-def]
    """Put the rows of a block that are near enough into the heap; return its size and rows looked at."""
    rows, sketch, numbers, alive = segment
    squares, kept, places = heap
    size, looked = found
    limit = _reach(squares[0], factor, slack) if size == len(squares) else np.float32(np.inf)
    if not _sketch_squares(s, sketch[block], sums, limit):
        return size, looked
    for i in range(min(WIDTH, len(rows) - block * WIDTH)):
        if sums[i] > limit:
            continue
        place = block * WIDTH + i
        if not alive[place]:
            continue
        looked += 1
        square, number = _square(rows[place], q), numbers[place]
        if size < len(squares):
            squares[size], kept[size], places[size] = square, number, offset + place
            _rise(squares, kept, places, size)
            size += 1
        elif _after(squares[0], kept[0], square, number):
            squares[0], kept[0], places[0] = square, number, offset + place
            _sift(squares, kept, places, size)
        else:
            continue
        if size == len(squares):
            limit = _reach(squares[0], factor, slack)
    return size, looked


@compiled
def nearest(q, s, segment, boxes, factor, slack, offset, heap, size):  # type: ignore[no-untyped-def]
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
        Arrays of length k, of which the first `size` are filled; the last in order stands first.

    Returns
    -------
    (size, rows whose distance was computed, blocks whose sketches were looked at)
    """
    squares = heap[0]
    low, high = boxes
    n_blocks = low.shape[1]
    bounds, sums = np.empty(n_blocks, np.float32), np.empty(WIDTH, np.float32)
    _bounds(s, low, high, bounds)
    found, blocks = (size, 0), 0
    while found[0] < len(squares) and blocks < n_blocks:
        best = np.argmin(bounds)
        found = _offer(best, q, s, segment, offset, factor, slack, sums, heap, found)
        bounds[best] = np.inf
        blocks += 1
    if found[0] < len(squares):
        return found[0], found[1], blocks
    left = np.flatnonzero(bounds <= _reach(squares[0], factor, slack))
    for block in left[np.argsort(bounds[left], kind="mergesort")]:
        if bounds[block] > _reach(squares[0], factor, slack):
            break
        found = _offer(block, q, s, segment, offset, factor, slack, sums, heap, found)
        blocks += 1
    return found[0], found[1], blocks


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
