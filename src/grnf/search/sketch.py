"""Short vectors whose distances are never larger than those of the rows, and an order of them in blocks.

With orthonormal axes V (M x p) and a center c, the sketch of x is

    s(x) = (V' (x - c),  |x - c - V V' (x - c)|),    |s(x) - s(y)| <= |x - y|,

since the rest of x - y is at least as long as the difference of the lengths of the rests. Principal axes make
it sharp: a few of them hold almost all variance of the vectors of a collection. In floating point

    |s~(x) - s~(y)|  <=  L |x - y| + e(x) + e(y),    e(x) = (2^-24 + 16 M d 2^-53) (|x| + |c|),

where L^2 = 1 + E (1 + E) and E = |V'V - I| say how orthonormal V is, the 2^-24 comes from storing s in single
precision, and the rest from M products and sums in double precision, generously counted. Sums of d squares
in single precision are off by (d + 4) 2^-24 of themselves at most, in any order of summation.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from grnf._utils.arrays import principal_axes
from grnf.search.scan import WIDTH
from grnf.search.whitening import BLOCK
from grnf.typing import FloatArray, IntArray

__all__ = ["Sketcher", "blocks_of", "boxes_of", "tree_order"]

Sketches = npt.NDArray[np.float32]

SINGLE, DOUBLE = 2.0**-24, 2.0**-53
BLOCKS = 1024
"""Blocks that are filled at a time."""


@dataclass(frozen=True, eq=False)
class Sketcher:
    """Sketches of vectors of length M.

    Parameters
    ----------
    center : array, shape (M,)
    axes : array, shape (M, p)
        Orthonormal columns, to rounding; what they lack of it is measured.

    Examples
    --------
    >>> sketcher = Sketcher(np.zeros(3), np.eye(3)[:, :1])
    >>> sketcher(np.array([[2.0, 3.0, 4.0]]))
    array([[2., 5.]], dtype=float32)
    """

    center: FloatArray
    axes: FloatArray

    @classmethod
    def of(cls, X: FloatArray, width: int) -> Sketcher:
        """Return sketches of that width whose axes are the principal ones of some of the rows of X."""
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
    """Return sketches in blocks, axis by axis: shape (n_blocks, d, WIDTH), padded with infinity."""
    n_full, rest = divmod(len(order), WIDTH)
    blocks = np.full((n_full + (rest > 0), S.shape[1], WIDTH), np.inf, np.float32)
    for start in range(0, n_full, BLOCKS):
        some = order[start * WIDTH : min(start + BLOCKS, n_full) * WIDTH]
        blocks[start : start + len(some) // WIDTH] = S[some].reshape(-1, WIDTH, S.shape[1]).transpose(0, 2, 1)
    if rest:
        blocks[-1, :, :rest] = S[order[n_full * WIDTH :]].T
    return blocks


def boxes_of(blocks: Sketches) -> tuple[Sketches, Sketches]:
    """Return the least and the largest value of each axis in each block, shapes (d, n_blocks)."""
    low = blocks.min(axis=2)
    high = np.where(np.isinf(blocks), -np.inf, blocks).max(axis=2)
    return np.ascontiguousarray(low.T), np.ascontiguousarray(high.T.astype(np.float32))
