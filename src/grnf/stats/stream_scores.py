"""What of a graph is watched: its place along the principal axes of a reference, and how strange it is there.

A row of scores has, in this order,

    near_few, near    mean distance to the k nearest graphs of the reference, in the first axes and in all
    length            distance from the mean of the reference, in the first few axes
    rest              length of what lies outside the axes: what no graph of the reference has
    axis 1, axis 2, ..    where it lies along each axis, in standard deviations of the reference
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from grnf._utils.arrays import principal_axes
from grnf.errors import GraphError
from grnf.stats.conformal import rounded_scores
from grnf.typing import FloatArray

__all__ = ["STRANGE", "Scores"]

STRANGE = ("near_few", "near", "length", "rest")
"""Scores that say how strange a graph is, not where it lies."""

MANY, FEW = 16, 8
"""Axes of `near_few`, and of `length`."""

SMALLEST = 1e-8
"""Axes whose variance is below this share of the largest hold rounding errors."""

NOISE = 1e-6
"""Share of the length of vectors below which nothing is measured: no score has a smaller unit."""

GRAPHS_PER_AXIS = 5
ARRAYS = ("mean", "axes", "deviations", "known", "units")
ROWS = 4096
"""Graphs whose distances to all of the reference are held at a time."""


@dataclass(frozen=True, eq=False)
class Scores:
    """Scores by a reference collection.

    Parameters
    ----------
    mean : array, shape (M,)
    axes : array, shape (M, d)
        Principal axes, orthonormal.
    deviations : array, shape (d,)
        Standard deviations of the reference along them.
    known : array, shape (n, d)
        The graphs of the reference in these axes, whitened.
    units : array, shape (4,)
        Typical sizes of the first four scores.
    n_neighbors : int
        k.
    """

    mean: FloatArray
    axes: FloatArray
    deviations: FloatArray
    known: FloatArray
    units: FloatArray
    n_neighbors: int

    @classmethod
    def learned(cls, Z: FloatArray, n_axes: int, n_neighbors: int) -> Scores:
        """Learn axes and neighbours from vectors.

        Examples
        --------
        >>> Z = np.arange(40.0).reshape(20, 2) % 7
        >>> Scores.learned(Z, n_axes=8, n_neighbors=3)(Z[:5]).shape
        (5, 6)
        """
        if len(Z) < n_neighbors:
            raise GraphError(
                f"{len(Z)} graphs for the {n_neighbors} nearest: give more graphs, or a smaller n_neighbors"
            )
        mean, variances, axes = principal_axes(Z)
        held = int((variances > SMALLEST * variances[0]).sum()) if variances[0] > 0 else 1
        d = max(1, min(n_axes, held, len(Z) // GRAPHS_PER_AXIS))
        deviations = np.sqrt(variances[:d])
        deviations = np.where(deviations > 0, deviations, 1.0)  # a constant collection
        plain = cls(mean, axes[:, :d], deviations, np.zeros((0, d)), np.ones(len(STRANGE)), n_neighbors)
        known = cls(mean, axes[:, :d], deviations, plain.places(Z)[0], plain.units, n_neighbors)
        usual = np.median(known(Z)[:, : len(STRANGE)], axis=0)
        noise = (
            NOISE * (np.linalg.norm(mean) + np.sqrt(variances[0])) / np.append(np.tile(deviations[0], 3), 1)
        )
        units = np.maximum(usual, noise)
        return cls(mean, axes[:, :d], deviations, known.known, units, n_neighbors)

    @property
    def n_axes(self) -> int:
        """How many axes there are, d."""
        return int(self.axes.shape[1])

    def places(self, Z: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return where graphs lie along the axes, and the length of the rest."""
        centred = np.asarray(Z, dtype=np.float64) - self.mean
        along = centred @ self.axes
        rest = centred - along @ self.axes.T
        return along / self.deviations, np.sqrt(np.einsum("ij,ij->i", rest, rest))

    def __call__(self, Z: FloatArray) -> FloatArray:
        """Return rows of scores, shape (n, 4 + d); equal graphs have equal rows."""
        along, rest = self.places(Z)
        near = [np.zeros(0), np.zeros(0)]
        for start in range(0, len(Z), ROWS):
            some = along[start : start + ROWS]
            for place, (width, index) in enumerate(self._indexes):
                distances, _ = index.kneighbors(some[:, :width])
                near[place] = np.append(near[place], distances.mean(axis=1))
        strange = np.column_stack([*near, np.linalg.norm(along[:, :FEW], axis=1), rest])
        return np.hstack([rounded_scores(strange, self.units), rounded_scores(along)])

    @cached_property
    def _indexes(self) -> list[tuple[int, Any]]:
        from sklearn.neighbors import NearestNeighbors

        widths = [min(MANY, self.n_axes), self.n_axes]
        return [
            (width, NearestNeighbors(n_neighbors=self.n_neighbors, algorithm="brute").fit(self._known(width)))
            for width in widths
        ]

    def _known(self, width: int) -> FloatArray:
        if len(self.known):
            return self.known[:, :width]
        return np.zeros((self.n_neighbors, width))

    def arrays(self) -> dict[str, npt.NDArray[Any]]:
        """Return what was learnt, by name."""
        return {name: getattr(self, name) for name in ARRAYS}

    @classmethod
    def restored(cls, arrays: Mapping[str, npt.NDArray[Any]], n_neighbors: int) -> Scores:
        """Return the scores that `arrays` were made of."""
        return cls(**{name: np.asarray(arrays[name]) for name in ARRAYS}, n_neighbors=n_neighbors)
