"""Rows of a pooled sample whose distances a test looks at: as they are, and along whitened principal axes.

The first one or two axes of vectors of graphs (size, density) hold most of the variance, and hide what
differs along the others. Whitened, all of the first p axes count alike. Axes are learnt from all samples
together, without knowing which graph is whose.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from grnf._utils.axes import principal_axes
from grnf.typing import FloatArray

__all__ = ["AXES", "PooledRows", "pooled_rows", "rounding_variance"]

AXES = (8, 16, 32, 64)
"""Numbers of axes that a test looks at."""

ROUNDING = 64
"""Axes along which vectors vary by less than so many units in the last place vary by rounding alone."""


@dataclass(frozen=True, eq=False)
class PooledRows:
    """Coordinates of a pooled sample along its principal axes, in order of variance.

    Parameters
    ----------
    coordinates : array, shape (N, r)
        Their distances are those of the vectors, up to rounding.
    whitened : array, shape (N, p)
        The first of them, divided by their standard deviations.
    numbers : tuple of int
        How many whitened axes to look at, ascending: p is the last.
    as_it_is : bool
        Whether to look at the coordinates too.
    """

    coordinates: FloatArray
    whitened: FloatArray
    numbers: tuple[int, ...]
    as_it_is: bool = True


def pooled_rows(Z: FloatArray, numbers: Sequence[int] = AXES, axes_only: bool = False) -> PooledRows:
    """Return the rows of a pooled sample Z.

    With nearly as many axes as graphs all graphs would be equally far from each other, so at most a third
    as many are looked at.

    Examples
    --------
    >>> Z = np.arange(60.0).reshape(12, 5) ** 2
    >>> rows = pooled_rows(Z)
    >>> rows.numbers, rows.whitened.std(axis=0).round(6)
    ((2,), array([1., 1.]))
    """
    coordinates, variances = _principal(np.asarray(Z))
    most = min(len(variances), max(len(Z) // 3, 1))
    # a number beyond what there is stands for all there are
    kept = sorted({min(int(number), most) for number in numbers} if most else set())
    p = kept[-1] if kept else 0
    whitened = coordinates[:, :p] / np.sqrt(variances[:p])
    return PooledRows(coordinates, whitened, tuple(kept), not (axes_only and kept))


def _principal(Z: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return coordinates along the principal axes that are more than rounding, and their variances."""
    unit = float(np.finfo(Z.dtype).eps) if Z.dtype.kind == "f" else 0.0
    vectors = Z.astype(np.float64)
    N, M = vectors.shape
    least = rounding_variance(vectors, unit)
    if N <= M:
        vectors -= vectors.mean(axis=0)
        variances, sides = np.linalg.eigh(vectors @ vectors.T / N)
        variances, sides = variances[::-1], sides[:, ::-1]
        rank = _rank(variances, least, N)
        return sides[:, :rank] * np.sqrt(N * variances[:rank]), variances[:rank]
    mean, variances, axes = principal_axes(vectors)
    rank = _rank(variances, least, M)
    return (vectors - mean) @ axes[:, :rank], variances[:rank]


def rounding_variance(vectors: FloatArray, unit: float) -> float:
    """Return the variance along an axis that rounding alone may make; `unit` is that of the last place."""
    return (ROUNDING * unit) ** 2 * float(np.einsum("ij,ij->", vectors, vectors)) / len(vectors)


def _rank(variances: FloatArray, least: float, size: int) -> int:
    floor = max(least, size * float(np.finfo(np.float64).eps) * float(variances[0]))
    return int((variances > floor).sum())
