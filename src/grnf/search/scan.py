"""Sketches: short vectors that bound distances, and the scan that uses them to skip most rows.

With orthonormal axes V (M x p) and a center c, the sketch of x is

    s(x) = (V' (x - c),  |x - c - V V' (x - c)|),    |s(x) - s(y)| <= |x - y|,

since the residual of x - y is at least as long as the difference of the lengths of the residuals. Principal
axes make the bound sharp: a few of them hold almost all variance of the vectors of a collection. In floating
point

    |s~(x) - s~(y)|  <=  L |x - y| + e(x) + e(y),    e(x) = (2^-24 + 16 M d 2^-53) (|x| + |c|),

where L^2 = 1 + E (1 + E) and E = |V'V - I| measure how orthonormal V is, the 2^-24 comes from storing s in
single precision, and the rest from M products and sums in double precision, generously counted. Sums of d
squares in single precision are off by (d + 4) 2^-24 of themselves at most, in any order of summation.

Rows are ordered by a tree and stored in blocks. The scan compares a query with the bounding box of each
block, then with the sketches of a block, then with rows, each only if the step before cannot exclude them.
Lower bounds are compared with `_reach(radius)`, which accounts for all rounding, so no hit is missed. The
distances of hits are sums of M squares in double precision.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from grnf._utils.arrays import principal_axes
from grnf._utils.jit import compiled, inner
from grnf.search.whitening import BLOCK
from grnf.typing import FloatArray, IntArray

Sketches = npt.NDArray[np.float32]

SINGLE, DOUBLE = 2.0**-24, 2.0**-53
WIDTH = 256
"""Rows per block, each with a bounding box."""

LANES = 8
TINY = 1e-37
"""Squares in single precision may vanish below this, so no bound is smaller."""


@dataclass(frozen=True, eq=False)
class Sketcher:
    """Sketches of vectors of length M. `axes` (M, p) are orthonormal up to rounding, which is measured."""

    center: FloatArray
    axes: FloatArray

    @classmethod
    def of(cls, X: FloatArray, width: int) -> Sketcher:
        """Return sketches of that width along the principal axes of some rows of X."""
        center, _, axes = principal_axes(X)
        return cls(center, np.ascontiguousarray(axes[:, : max(width - 1, 0)]))

    @property
    def width(self) -> int:
        """d, the length of a sketch."""
        return int(self.axes.shape[1]) + 1

    @cached_property
    def factor(self) -> float:
        """L and the rounding of sums, as one factor of distances and of their squares."""
        M, p = map(int, self.axes.shape)
        defect = float(np.abs(self.axes.T @ self.axes - np.eye(p)).sum()) + M * DOUBLE * p
        return (1 + defect) * (1 + (self.width + 4) * SINGLE) * (1 + 4 * M * DOUBLE)

    def slack(self, *norms: float) -> float:
        """Return the sum of e(x) over vectors of these lengths."""
        M = len(self.center)
        each = SINGLE * (1 + 2.0**-20) + 16 * M * self.width * DOUBLE
        return float(each * (sum(norms) + len(norms) * self._center_norm) * (1 + 2.0**-20))

    @cached_property
    def _center_norm(self) -> float:
        return float(np.linalg.norm(self.center))

    def __call__(self, X: npt.ArrayLike) -> npt.NDArray[np.float32]:
        """Return the sketches of rows, shape (n, d)."""
        X = np.asarray(X)
        out = np.empty((len(X), self.width), np.float32)
        for start in range(0, len(X), BLOCK):
            rest = np.asarray(X[start : start + BLOCK], dtype=np.float64) - self.center
            along = rest @ self.axes
            rest -= along @ self.axes.T
            out[start : start + BLOCK, :-1] = along
            out[start : start + BLOCK, -1] = np.sqrt(np.einsum("ij,ij->i", rest, rest))
        return out


def tree_order(S: Sketches) -> IntArray:
    """Return an order of rows: halved repeatedly along the axis of the largest variance.

    All blocks of WIDTH rows but the last are full.
    """
    order = np.arange(len(S))
    pending = [(0, len(S))]
    while pending:
        start, stop = pending.pop()
        n_blocks = -(-(stop - start) // WIDTH)
        if n_blocks < 2:
            order[start:stop].sort()
            continue
        part = order[start:stop]
        rows = S[part]
        axis = int(np.argmax(rows.var(axis=0, dtype=np.float64)))
        middle = (n_blocks // 2) * WIDTH
        order[start:stop] = part[np.argpartition(rows[:, axis], middle)]
        pending += [(start, start + middle), (start + middle, stop)]
    return order


def arranged(rows: FloatArray, width: int) -> tuple[IntArray, Sketcher, Sketches, Sketches, Sketches]:
    """Return an order of rows, their sketches, and the boxes of the blocks, in that order.

    Sketches are stored axis by axis, shape (n_blocks, d, WIDTH), padded with infinity. The boxes have the
    least and the largest value of each axis in each block, shapes (d, n_blocks).
    """
    sketcher = Sketcher.of(rows, min(width, rows.shape[1] + 1))
    S = sketcher(rows)
    order = tree_order(S)
    blocks = np.full((-(-len(order) // WIDTH), S.shape[1], WIDTH), np.inf, np.float32)
    for number, block in enumerate(blocks):
        own = order[number * WIDTH : (number + 1) * WIDTH]
        block[:, : len(own)] = S[own].T
    high = np.where(np.isinf(blocks), -np.inf, blocks).max(axis=2).astype(np.float32)
    return order, sketcher, blocks, np.ascontiguousarray(blocks.min(axis=2).T), np.ascontiguousarray(high.T)


def longest(rows: FloatArray) -> float:
    """Return the length of the longest row, rounded up."""
    blocks = (np.asarray(rows[i : i + BLOCK], dtype=np.float64) for i in range(0, len(rows), BLOCK))
    return max(float(np.linalg.norm(block, axis=1).max()) for block in blocks) * (1 + 1e-9)


View = tuple[Any, ...]
"""Rows in the order of a tree, for kernels: rows (n, M), sketch (n_blocks, d, WIDTH), numbers (n,), alive,
low and high (d, n_blocks), factor, slack. Of equal distances the smallest number comes first, and rows that
are not alive are left out. Factor and slack are the largest rounding of distances, relative and absolute."""


@inner
def _reach(square, factor, slack):  # type: ignore[no-untyped-def]
    """Return the largest computed square of a sketch distance that a row within `square` can have."""
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
def _bounds(least, most, low, high, out):  # type: ignore[no-untyped-def]
    """Write the squares of the distances from a box, or from a sketch as both of its ends, to all boxes."""
    out[:] = 0
    for axis in range(len(low)):
        first, last, lows, highs = least[axis], most[axis], low[axis], high[axis]
        for box in range(len(out)):
            d = max(max(lows[box] - last, first - highs[box]), np.float32(0))
            out[box] += d * d


@inner
def _sketch_squares(s, block, out, limit):  # type: ignore[no-untyped-def]
    """Write squared distances from a sketch to those of a block. Return False if all exceed the limit."""
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
def _sift(squares, numbers, positions):  # type: ignore[no-untyped-def]
    """Let the first entry of a heap sink to its position. The last in order comes first."""
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
        positions[at], positions[child] = positions[child], positions[at]
        at = child


@inner
def _offer(block, q, s, view, offset, sums, heap):  # type: ignore[no-untyped-def]
    """Put rows of a block that are near enough into the heap. Return how many distances were computed."""
    rows, sketch, numbers, alive, _, _, factor, slack = view
    squares, kept, positions = heap
    limit, computed = _reach(squares[0], factor, slack), 0
    if not _sketch_squares(s, sketch[block], sums, limit):
        return computed
    for i in range(min(WIDTH, len(rows) - block * WIDTH)):
        position = block * WIDTH + i
        if sums[i] > limit or not alive[position]:
            continue
        computed += 1
        square, number = _square(rows[position], q), numbers[position]
        if _after(squares[0], kept[0], square, number):
            squares[0], kept[0], positions[0] = square, number, offset + position
            _sift(squares, kept, positions)
            limit = _reach(squares[0], factor, slack)
    return computed


@compiled
def nearest(q, s, view, offset, heap):  # type: ignore[no-untyped-def]
    """Update a heap of the k nearest rows to a query, which has the sketch s.

    The heap has squares, numbers and positions (to which `offset` is added), the last in order first. Free
    entries have the square infinity. Returns how many distances and blocks of sketches were computed.
    """
    _, _, _, _, low, high, factor, slack = view
    squares, n_blocks = heap[0], low.shape[1]
    bounds, sums = np.empty(n_blocks, np.float32), np.empty(WIDTH, np.float32)
    _bounds(s, s, low, high, bounds)
    computed, blocks = 0, 0
    while squares[0] == np.inf and blocks < n_blocks:
        best = np.argmin(bounds)
        computed += _offer(best, q, s, view, offset, sums, heap)
        bounds[best] = np.inf
        blocks += 1
    if squares[0] == np.inf:
        return computed, blocks
    left = np.flatnonzero(bounds <= _reach(squares[0], factor, slack))
    for block in left[np.argsort(bounds[left], kind="mergesort")]:
        if bounds[block] > _reach(squares[0], factor, slack):
            break
        computed += _offer(block, q, s, view, offset, sums, heap)
        blocks += 1
    return computed, blocks


@compiled
def within(q, s, view, square):  # type: ignore[no-untyped-def]
    """Return the positions of rows whose squared distance to a query is at most `square`, and the squares."""
    rows, sketch, _, alive, low, high, factor, slack = view
    bounds, sums = np.empty(low.shape[1], np.float32), np.empty(WIDTH, np.float32)
    _bounds(s, s, low, high, bounds)
    limit = _reach(square, factor, slack)
    positions, squares, size = np.empty(64, np.int64), np.empty(64), 0
    near: Any = np.flatnonzero(bounds <= limit)
    for block in near:
        if not _sketch_squares(s, sketch[block], sums, limit):
            continue
        for i in range(min(WIDTH, len(rows) - block * WIDTH)):
            position = block * WIDTH + i
            if sums[i] > limit or not alive[position]:
                continue
            value = _square(rows[position], q)
            if value <= square:
                if size == len(positions):
                    positions = np.concatenate((positions, np.empty_like(positions)))
                    squares = np.concatenate((squares, np.empty_like(squares)))
                positions[size], squares[size] = position, value
                size += 1
    return positions[:size], squares[:size]
