"""Graphs as the blend of kernels sees them, and the distances between them: by colours, and by numbers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from grnf.estimators.histograms import Sets, SetsKernel
from grnf.estimators.kernel_machine import FOR_SCALE, column_scale, squared_distances
from grnf.typing import FloatArray, IntArray

__all__ = ["Described", "Distances"]


class Described(NamedTuple):
    """Graphs as a machine sees them: columns of numbers, and sets of colours."""

    numbers: FloatArray
    sets: Sets

    def take(self, rows: IntArray) -> Described:
        """Return some of them."""
        return Described(self.numbers[rows], self.sets.take(rows))


class Distances:
    """Squared distances of samples to those it was made of, by colours and by numbers, in units of medians.

    By colours it is the mean of 1 - K over the kernels of the sets, each in units of its median.
    """

    def __init__(self, X: Described, widths: Sequence[int]) -> None:
        self.mean, self.factor = column_scale(X.numbers, widths)
        self.rows = (X.numbers - self.mean) * self.factor
        self.colours = SetsKernel(X.sets)
        self.medians: list[float] = []

    def own(self) -> tuple[FloatArray, FloatArray]:
        """Return the distances between the samples it was made of, and learn the units from them."""
        kernels = self.colours()
        n = len(self.rows)
        some = np.unique(np.linspace(0, n - 1, min(n, FOR_SCALE)).astype(int))
        self.medians = [_median(1 - K[np.ix_(some, some)]) for K in kernels]
        return self._mean(kernels), squared_distances(self.rows, self.rows)

    def __call__(self, X: Described) -> tuple[FloatArray, FloatArray]:
        """Return the distances of some samples to those it was made of, one row each."""
        rows = (X.numbers - self.mean) * self.factor
        return self._mean(self.colours(X.sets)), squared_distances(rows, self.rows)

    def restrict(self, rows: IntArray) -> None:
        """Keep distances to some samples only; the units stay."""
        self.rows = self.rows[rows]
        self.colours.restrict(rows)

    def _mean(self, kernels: list[FloatArray]) -> FloatArray:
        mean = np.zeros_like(kernels[0])
        for K, median in zip(kernels, self.medians, strict=True):
            mean += (1 - K) / np.float32(median * len(kernels))
        return np.asarray(np.maximum(mean, 0, out=mean))


def _median(distances: FloatArray) -> float:
    above = distances[np.triu_indices(len(distances), 1)]
    return float(np.median(above)) or 1.0 if len(above) else 1.0
