"""Short vectors whose distances are never larger than those of the rows they stand for.

With orthonormal axes V (M x p) and a centre c, the sketch of x is

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

from grnf._utils.axes import principal_axes
from grnf.typing import FloatArray

__all__ = ["Sketcher"]

SINGLE, DOUBLE = 2.0**-24, 2.0**-53
ROWS = 8192
"""Rows that are converted to double precision at a time."""


@dataclass(frozen=True, eq=False)
class Sketcher:
    """Sketches of vectors of length M.

    Parameters
    ----------
    centre : array, shape (M,)
    axes : array, shape (M, p)
        Orthonormal columns, to rounding; what they lack of it is measured.

    Examples
    --------
    >>> sketcher = Sketcher(np.zeros(3), np.eye(3)[:, :1])
    >>> sketcher(np.array([[2.0, 3.0, 4.0]]))
    array([[2., 5.]], dtype=float32)
    """

    centre: FloatArray
    axes: FloatArray

    @classmethod
    def of(cls, X: FloatArray, width: int) -> Sketcher:
        """Return sketches of that width whose axes are the principal ones of some of the rows of X."""
        centre, _, axes = principal_axes(X)
        return cls(centre, np.ascontiguousarray(axes[:, : max(width - 1, 0)]))

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
        M = len(self.centre)
        each = SINGLE * (1 + 2.0**-20) + 16 * M * self.width * DOUBLE
        return float(each * (sum(norms) + len(norms) * self._centre_norm) * (1 + 2.0**-20))

    @cached_property
    def _centre_norm(self) -> float:
        return float(np.linalg.norm(self.centre))

    def __call__(self, X: npt.ArrayLike) -> npt.NDArray[np.float32]:
        """Return the sketches of rows, shape (n, d)."""
        X = np.asarray(X)
        out = np.empty((len(X), self.width), np.float32)
        for start in range(0, len(X), ROWS):
            rest = np.asarray(X[start : start + ROWS], dtype=np.float64) - self.centre
            along = rest @ self.axes
            rest -= along @ self.axes.T
            out[start : start + ROWS, :-1] = along
            out[start : start + ROWS, -1] = np.sqrt(np.einsum("ij,ij->i", rest, rest))
        return out
