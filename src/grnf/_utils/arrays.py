"""Index arithmetic for items stored one group after the other, principal axes of vectors, ranks of scores."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from grnf.errors import GraphError
from grnf.typing import FloatArray, IntArray


def offsets(counts: Any) -> IntArray:
    """Return where groups of these sizes begin, and at the end their total size."""
    ptr = np.zeros(len(counts) + 1, dtype=np.int64)
    np.cumsum(counts, out=ptr[1:])
    return ptr


def ragged_indices(ptr: IntArray, index: IntArray) -> IntArray:
    """Return the positions of the items of the groups `index`, one group after the other."""
    counts = ptr[index + 1] - ptr[index]
    starts = np.repeat(ptr[index] - offsets(counts)[:-1], counts)
    return starts + np.arange(len(starts))


def positions_of(indices: npt.ArrayLike, count: int) -> IntArray:
    """Return which of `count` items are selected by numbers (negative ones from the end) or by a mask."""
    index = np.asarray(indices)
    positions: IntArray = np.arange(count)[index if index.size else index.astype(np.int64)]
    return positions


SAMPLE = 32_768
"""Rows from which principal axes are computed."""


def row_sample(X: FloatArray, most: int = SAMPLE) -> FloatArray:
    """Return at most `most` evenly spaced rows in double precision."""
    n = len(X)
    rows: IntArray = np.arange(n) if n <= most else np.linspace(0, n - 1, most).astype(np.int64)
    return np.asarray(X[rows], dtype=np.float64)


def principal_axes(X: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return the mean, the variances along the principal axes, descending, and the axes as columns."""
    sample = row_sample(X)
    mean = sample.mean(axis=0)
    sample -= mean
    count, width = sample.shape
    if 3 * count >= width:
        variances, axes = np.linalg.eigh(sample.T @ sample / count)
        return mean, np.maximum(variances[::-1], 0), np.ascontiguousarray(axes[:, ::-1])
    axes, rows = np.linalg.qr(sample.T, mode="complete")  # the first `count` axes span the rows
    some, turned = np.linalg.eigh(rows[:count] @ rows[:count].T / count)
    axes[:, :count] = axes[:, :count] @ turned[:, ::-1]
    variances = np.zeros(width)
    variances[:count] = np.maximum(some[::-1], 0)
    return mean, variances, axes


def conformal_pvalues(calibration: FloatArray, scores: FloatArray) -> FloatArray:
    """Return (1 + #{s_i >= s}) / (1 + n) for each score s among n scores of held-out reference graphs.

    The probability that a reference graph has a p-value of at most u is at most u, for any distribution of
    the scores, if the held-out graphs had no part in the making of the score.
    """
    ordered = np.sort(np.asarray(calibration, dtype=np.float64))
    if not len(ordered):
        raise GraphError("no held-out scores: a p-value needs at least one reference graph to compare with")
    at_least = len(ordered) - np.searchsorted(ordered, scores, side="left")
    return np.asarray((1 + at_least) / (1 + len(ordered)))
