"""The nearest normal graphs: of rows, without the copy that a graph is of itself."""

from __future__ import annotations

from typing import Any

import numpy as np

from grnf.typing import FloatArray, IntArray

__all__ = ["NearestNormal"]

EQUAL = 1e-6
"""Rows are copies if their distance is below this share of their lengths."""

ROWS = 4096


class NearestNormal:
    """Rows of normal graphs, and the nearest of them.

    Parameters
    ----------
    rows : array, shape (n, d)

    Examples
    --------
    >>> normal = NearestNormal(np.array([[0.0], [1.0], [5.0]]))
    >>> normal.mean_distance(np.array([[0.0], [2.0]]), 2)
    array([3. , 1.5])
    >>> normal.nearest(np.array([[4.5]]))
    (array([2]), array([0.5]))
    """

    def __init__(self, rows: FloatArray) -> None:
        self.rows = np.asarray(rows, dtype=np.float64)
        self.length = float(np.sqrt(np.einsum("ij,ij->i", self.rows, self.rows).max(initial=0.0)))

    def mean_distance(self, rows: FloatArray, k: int) -> FloatArray:
        """Return the mean distance to the k nearest; one that is equal does not count.

        Wants more than k rows.
        """
        found = np.empty(len(rows))
        for start, distances, _ in self._found(rows, k + 1):
            own = np.sqrt(
                np.einsum("ij,ij->i", *[rows[start : start + len(distances)].astype(np.float64)] * 2)
            )
            copy = distances[:, 0] <= EQUAL * (self.length + own)
            chosen = np.where(copy[:, None], distances[:, 1:], distances[:, :-1])
            found[start : start + len(distances)] = chosen.mean(axis=1)
        return found

    def nearest(self, rows: FloatArray) -> tuple[IntArray, FloatArray]:
        """Return the place of the nearest row, and its distance."""
        places, far = np.empty(len(rows), dtype=np.int64), np.empty(len(rows))
        for start, distances, which in self._found(rows, 1):
            stop = start + len(distances)
            places[start:stop], far[start:stop] = which[:, 0], distances[:, 0]
        return places, far

    def _found(self, rows: FloatArray, k: int) -> Any:
        from sklearn.neighbors import NearestNeighbors

        index = NearestNeighbors(n_neighbors=k, algorithm="brute").fit(self.rows)
        for start in range(0, len(rows), ROWS):
            yield start, *index.kneighbors(np.asarray(rows[start : start + ROWS], dtype=np.float64))
