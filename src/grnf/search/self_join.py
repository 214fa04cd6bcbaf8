"""The self-join of an index: all pairs of rows within a radius, or the nearest rows of every row.

Both are exact in the sense of `grnf.search.scan`: a distance is the root of a sum of squares of differences
in double precision, always added in the same order, and a pair is near if that sum is at most the square of
the radius. Bounds by boxes and sketches exclude the other pairs, with all rounding accounted for. A block of
256 rows is compared with another block while both are in the cache.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from functools import partial
from threading import Lock
from typing import Any

import numpy as np

from grnf._utils.arrays import principal_axes
from grnf._utils.jit import compiled
from grnf._utils.running import n_workers, progress, run
from grnf.search.scan import WIDTH, View, _bounds, _offer, _reach, _sketch_squares, _square, arranged, longest
from grnf.search.segments import AXES
from grnf.typing import BoolArray, FloatArray, IntArray

PAIRS = 2**20
"""Pairs that a thread holds at most."""

LONGEST, VARIANCE = 64, 0.98
"""Largest length of a sketch for a join, and the share of variance that shorter ones must hold."""

SAMPLED = 8
"""Blocks whose time gives the estimated time of all."""

Consumer = Callable[[IntArray, IntArray, FloatArray], None]


@compiled
def _pairs(block, start, view, square, pairs):  # type: ignore[no-untyped-def]
    """Write the near pairs of a block and the blocks from `start` on.

    Returns their number and the block to continue with: if there is no room for all pairs with that block.
    """
    rows, sketch, _, _, low, high, factor, slack = view
    first, second, squares = pairs
    n, n_blocks, size = len(rows), low.shape[1], 0
    between, box = np.empty(n_blocks, np.float32), np.empty(1, np.float32)
    sums = np.empty(WIDTH, np.float32)
    own, offset = np.ascontiguousarray(sketch[block].T), block * WIDTH
    queries = rows[offset : offset + WIDTH].astype(np.float64)
    limit = _reach(square, factor, slack)
    _bounds(low[:, block], high[:, block], low, high, between)
    for other in range(start, n_blocks):
        if between[other] > limit:
            continue
        if size + WIDTH * WIDTH > len(first):
            return size, other
        for i in range(len(queries)):
            s = own[i]
            _bounds(s, s, low[:, other : other + 1], high[:, other : other + 1], box)
            if box[0] > limit or not _sketch_squares(s, sketch[other], sums, limit):
                continue
            for position in range(other * WIDTH, min((other + 1) * WIDTH, n)):
                if sums[position - other * WIDTH] > limit or position <= offset + i:
                    continue
                value = _square(rows[position], queries[i])
                if value <= square:
                    first[size], second[size], squares[size] = offset + i, position, value
                    size += 1
    return size, n_blocks


@compiled
def _nearest(block, chosen, view, heaps):  # type: ignore[no-untyped-def]
    """Fill the heaps of the chosen rows of a block with their nearest rows, themselves included."""
    rows, sketch, _, _, low, high, factor, slack = view
    squares, kept, positions = heaps
    between, box = np.empty(low.shape[1], np.float32), np.empty(1, np.float32)
    sums = np.empty(WIDTH, np.float32)
    own, offset = np.ascontiguousarray(sketch[block].T), block * WIDTH
    queries = rows[offset : offset + WIDTH].astype(np.float64)
    _bounds(low[:, block], high[:, block], low, high, between)
    between[block] = -1
    for other in np.argsort(between, kind="mergesort"):
        if between[other] > _reach(squares[chosen, 0].max(), factor, slack):
            break
        for i in np.flatnonzero(chosen):
            s = own[i]
            _bounds(s, s, low[:, other : other + 1], high[:, other : other + 1], box)
            if box[0] <= _reach(squares[i, 0], factor, slack):
                _offer(other, queries[i], s, view, 0, sums, (squares[i], kept[i], positions[i]))


@compiled
def _approach(picked, view, squares):  # type: ignore[no-untyped-def]
    """Lower the squared distance of each row to the nearest picked row by that to another one."""
    rows, sketch, numbers, _, low, high, factor, slack = view
    bounds, sums = np.empty(low.shape[1], np.float32), np.empty(WIDTH, np.float32)
    q, s = rows[picked].astype(np.float64), sketch[picked // WIDTH, :, picked % WIDTH].copy()
    _bounds(s, s, low, high, bounds)
    for block in range(len(bounds)):
        own = numbers[block * WIDTH : (block + 1) * WIDTH]
        limit = _reach(max(squares[own].max(), 0.0), factor, slack)
        if bounds[block] > limit or not _sketch_squares(s, sketch[block], sums, limit):
            continue
        for i in range(len(own)):
            if squares[own[i]] > 0 and sums[i] <= _reach(squares[own[i]], factor, slack):
                squares[own[i]] = min(squares[own[i]], _square(rows[block * WIDTH + i], q))


class SelfJoin:
    """Rows, shape (n, M), in the order of a tree, to be compared with each other by `n_jobs` threads."""

    def __init__(self, rows: FloatArray, n_jobs: int | None = None) -> None:
        self.n_rows, self._workers = len(rows), n_workers(n_jobs)
        _, variances, _ = principal_axes(rows)
        shares = np.cumsum(variances) / max(variances.sum(), np.finfo(float).tiny)
        width = int(np.clip(np.searchsorted(shares, VARIANCE) + 2, AXES, LONGEST))
        self.order, sketcher, blocks, low, high = arranged(rows, width)
        self.n_blocks, norm = len(blocks), longest(rows)
        alive, rounding = np.ones(self.n_rows, np.uint8), (sketcher.factor, sketcher.slack(norm, norm))
        self._view: View = (rows[self.order], blocks, self.order, alive, low, high, *rounding)

    def each(self, radius: float, consume: Consumer) -> None:
        """Call a function with all pairs of rows up to a distance, some at a time, and their squares.

        The function is called by one thread at a time. Each pair occurs once.
        """
        lock = Lock()
        kernel: Any = _pairs

        def compare(block: int, advance: Callable[[float], None]) -> None:
            pairs = np.empty(PAIRS, np.int64), np.empty(PAIRS, np.int64), np.empty(PAIRS)
            other = block
            while other < self.n_blocks:
                size, other = kernel(block, other, self._view, radius * radius, pairs)
                first, second = self.order[pairs[0][:size]], self.order[pairs[1][:size]]
                with lock:
                    consume(first, second, pairs[2][:size])
            advance(self.n_blocks - block)

        total = self.n_blocks * (self.n_blocks + 1) / 2
        with progress(total, "comparing all pairs") as advance:
            run([partial(compare, block, advance) for block in range(self.n_blocks)], self._workers)

    def estimate(self, radius: float) -> tuple[float, float]:
        """Return the expected seconds of `each`, and the expected number of pairs, from some blocks."""
        kernel: Any = _pairs
        pairs = np.empty(PAIRS, np.int64), np.empty(PAIRS, np.int64), np.empty(PAIRS)
        found, compared = 0, 0
        kernel(0, self.n_blocks, self._view, 0.0, pairs)  # compiles
        start = time.thread_time()
        for block in np.linspace(0, self.n_blocks - 1, SAMPLED + 1).astype(int)[:-1]:
            size, other = kernel(block, block, self._view, radius * radius, pairs)
            found, compared = found + size, compared + other - block
        scale = self.n_blocks * (self.n_blocks + 1) / 2 / max(compared, 1)
        return (time.thread_time() - start) * scale / self._workers, found * scale

    def pairs(self, radius: float) -> tuple[IntArray, IntArray, FloatArray]:
        """Return all pairs of rows (first < second) up to a distance, and their distances, sorted by rows."""
        found: list[tuple[Any, ...]] = [(np.empty(0, np.int64), np.empty(0, np.int64), np.empty(0))]

        def keep(i: IntArray, j: IntArray, squares: FloatArray) -> None:
            found.append((np.minimum(i, j), np.maximum(i, j), np.sqrt(squares)))

        self.each(radius, keep)
        first, second, distances = (np.concatenate(parts) for parts in zip(*found, strict=True))
        order = np.lexsort((second, first))
        return first[order], second[order], distances[order]

    def nearest(
        self, n_neighbors: int, queries: BoolArray | None = None, among: BoolArray | None = None
    ) -> tuple[FloatArray, IntArray]:
        """Return distances and numbers of the nearest other rows of each row, of equal ones the first.

        `queries` and `among` are masks of the rows that are searched for, and among which. If these are too
        few, the distance is infinite and the number is -1.
        """
        chosen = np.ones(self.n_rows, np.bool_) if queries is None else queries
        order, view = self.order, self._view
        if among is not None:
            view = (*view[:3], among[order].astype(np.uint8), *view[4:])
        shape = self.n_rows, n_neighbors
        distances, neighbors = np.full(shape, np.inf), np.full(shape, -1)
        kernel: Any = _nearest

        def search(block: int, advance: Callable[[float], None]) -> None:
            own = order[block * WIDTH : (block + 1) * WIDTH]
            shape = len(own), n_neighbors + 1
            heaps = np.full(shape, np.inf), np.full(shape, -1), np.empty(shape, np.int64)
            kernel(block, chosen[own], view, heaps)
            squares, numbers = heaps[:2]
            squares[numbers == own[:, np.newaxis]] = np.inf  # itself, of which copies may come first
            sorting = np.lexsort((numbers, squares))[:, :n_neighbors]
            distances[own] = np.sqrt(np.take_along_axis(squares, sorting, axis=1))
            neighbors[own] = np.take_along_axis(numbers, sorting, axis=1)
            advance(1)

        blocks = [b for b in range(self.n_blocks) if chosen[order[b * WIDTH : (b + 1) * WIDTH]].any()]
        with progress(len(blocks), "searching neighbors") as advance:
            run([partial(search, block, advance) for block in blocks], self._workers)
        neighbors[np.isinf(distances)] = -1
        return distances[chosen], neighbors[chosen]

    def usual_distance(self) -> float:
        """Return the median distance to the nearest other row, of the rows of some blocks."""
        queries = np.zeros(self.n_rows, np.bool_)
        for block in np.linspace(0, self.n_blocks - 1, 2 * SAMPLED).astype(int):
            queries[self.order[block * WIDTH : (block + 1) * WIDTH]] = True
        return float(np.median(self.nearest(1, queries)[0])) if self.n_rows > 1 else 0.0

    def diverse(self, count: int, first: Sequence[int]) -> tuple[IntArray, FloatArray]:
        """Return rows, each the farthest from those before it, and its distance to the nearest of them.

        Of equal distances, the first row is chosen. The rows of `first` come first.
        """
        squares, kernel = np.full(self.n_rows, np.inf), _approach
        at = np.empty(self.n_rows, np.int64)
        at[self.order] = np.arange(self.n_rows)
        picked, distances = np.empty(count, np.int64), np.empty(count)
        with progress(count, "picking") as advance:
            for number in range(count):
                row = int(first[number]) if number < len(first) else int(np.argmax(squares))
                picked[number], distances[number] = row, np.sqrt(max(squares[row], 0.0))
                kernel(at[row], self._view, squares)
                squares[row] = -1.0
                advance(1)
        return picked, distances
