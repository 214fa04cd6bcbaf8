"""What "near" means in an index: plain vectors, or whitened ones (equal variance in all directions)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from grnf._utils.arrays import principal_axes
from grnf.errors import invalid
from grnf.typing import FloatArray

SpaceMap = Callable[[FloatArray], FloatArray]
SPACES = ("plain", "whitened")
SHRINKAGE = 1e-2
BLOCK = 8192
"""Rows that are converted to double precision at a time."""


@dataclass(frozen=True, eq=False)
class Whitening:
    """z -> V' (z - mean) / sqrt(lambda + s lambda_1): directions have equal variance, down to a share s.

    Mean (M,), variances lambda (M,) and principal axes V (M, M) are those of the reference. s is `shrinkage`.
    """

    mean: FloatArray
    variances: FloatArray
    axes: FloatArray
    shrinkage: float

    def __call__(self, Z: FloatArray) -> FloatArray:
        """Return whitened vectors in single precision."""
        scale = np.sqrt(self.variances + self.shrinkage * self.variances[0])
        axes = self.axes / np.where(scale > 0, scale, 1.0)  # a constant collection has no scale
        rows = np.empty(Z.shape, np.float32)
        for start in range(0, len(Z), BLOCK):
            some = np.asarray(Z[start : start + BLOCK], dtype=np.float64)
            rows[start : start + BLOCK] = (some - self.mean) @ axes
        return rows


def unchanged(Z: FloatArray) -> FloatArray:
    """Return vectors unchanged: the map of the space "plain"."""
    return Z


def space_map(space: str, Z: FloatArray, shrinkage: float = SHRINKAGE) -> SpaceMap:
    """Fit the map of a space to the vectors of a collection. Distances are those after the map."""
    return Whitening(*principal_axes(Z), shrinkage) if space == "whitened" else unchanged


def checked_radius(radius: float) -> float:
    """Return a radius as Python's own number."""
    if not 0 <= radius < np.inf:
        raise invalid("radius", "be a number >= 0", repr(radius))
    return float(radius)
