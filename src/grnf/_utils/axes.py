"""Principal axes of vectors."""

from __future__ import annotations

import numpy as np

from grnf.typing import FloatArray, IntArray

__all__ = ["principal_axes", "row_sample"]

SAMPLE = 32_768
"""Rows from which principal axes are computed."""


def row_sample(X: FloatArray, most: int = SAMPLE) -> FloatArray:
    """Return at most `most` evenly spaced rows in double precision."""
    n = len(X)
    rows: IntArray = np.arange(n) if n <= most else np.linspace(0, n - 1, most).astype(np.int64)
    return np.asarray(X[rows], dtype=np.float64)


def principal_axes(X: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return the mean, the variances along the principal axes in descending order, and the axes as columns.

    Examples
    --------
    >>> mean, variances, axes = principal_axes(np.array([[1.0, 0.0], [3.0, 0.0], [5.0, 0.0]]))
    >>> mean, variances.round(3)
    (array([3., 0.]), array([2.667, 0.   ]))
    """
    sample = row_sample(X)
    mean = sample.mean(axis=0)
    sample -= mean
    variances, axes = np.linalg.eigh(sample.T @ sample / len(sample))
    return mean, np.maximum(variances[::-1], 0), np.ascontiguousarray(axes[:, ::-1])
