"""Scores of graphs by a reference collection, and ranks of scores, which are p-values.

Scores of graphs that come from the same distribution, computed by a function that does not know which graph
is which, are exchangeable: each is as likely as any other to be the largest. So a rank is a p-value, for any
score and any number of graphs.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.neighbors import NearestNeighbors

from grnf._utils.arrays import principal_axes
from grnf._utils.jit import compiled
from grnf.typing import FloatArray

STEPS = 2.0**20
"""Scores are compared in steps of this share of their typical size: equal graphs have equal scores, whatever
the rounding of the sums that they came from."""

ANOMALY_SCORES = ("near_few", "near", "length", "rest")
"""Scores that measure how far a graph lies from the reference, not in which direction."""

NEAR_AXES, LENGTH_AXES = 16, 8
"""Axes of `near_few`, and of `length`."""

SMALLEST = 1e-8
"""Axes whose variance is below this share of the largest hold rounding errors."""

NOISE = 1e-6
"""Share of the length of vectors below which nothing is measured: no score has a smaller unit."""

GRAPHS_PER_AXIS = 5


def rounded_scores(scores: FloatArray, scale: FloatArray | float = 1.0) -> FloatArray:
    """Return scores in units of `scale`, rounded, so that those which differ by rounding errors are equal."""
    size = np.where(np.asarray(scale) > 0, scale, 1.0)
    return np.asarray(np.round(np.asarray(scores, dtype=np.float64) / size * STEPS) / STEPS)


def online_pvalues(
    calibration: FloatArray, scores: FloatArray, ties: FloatArray, earlier: int = 0
) -> FloatArray:
    """Return the rank of each score among all before it, ties broken by given random numbers.

    p_t = (#{s_i > s_t} + u_t #{s_i = s_t}) / (n + t) over the n held-out scores and s_1 .. s_t. As long as
    all are exchangeable, p_1, p_2, ... are independent and uniform: exactly, for any distribution and any n.
    Large scores have small p-values. `calibration` (n, J) and `scores` (m, J) are of J kinds. The p-values of
    the `earlier` scores are known. `ties` (m - earlier,) are u_t, uniform on (0, 1).
    """
    above, equal = _counts(np.ascontiguousarray(calibration), np.ascontiguousarray(scores), earlier)
    compared = len(calibration) + 1.0 + np.arange(earlier, len(scores))
    return np.asarray((above + ties[:, None] * equal) / compared[:, None])


@compiled
def _counts(known, scores, earlier):  # type: ignore[no-untyped-def]
    """Count the scores that are larger than each new one, and those equal to it, itself among them."""
    above = np.zeros((len(scores) - earlier, scores.shape[1]))
    equal = np.ones((len(scores) - earlier, scores.shape[1]))
    for t in range(earlier, len(scores)):
        for before in (known, scores[:t]):
            for i in range(len(before)):
                for kind in range(scores.shape[1]):
                    above[t - earlier, kind] += before[i, kind] > scores[t, kind]
                    equal[t - earlier, kind] += before[i, kind] == scores[t, kind]
    return above, equal


def n_kept_axes(variances: FloatArray, n_graphs: int, most: int) -> int:
    """Return the number of principal axes that are more than rounding, and that so many graphs determine."""
    held = int((variances > SMALLEST * variances[0]).sum()) if variances[0] > 0 else 0
    return min(most, held, max(1, n_graphs // GRAPHS_PER_AXIS))


@dataclass(frozen=True, eq=False)
class ReferenceScores:
    """Scores of graphs by a reference collection.

    A row of scores has, in this order,

        near_few, near        mean distance to the nearest graphs of the reference, in 16 axes and in all
        length                distance from the mean of the reference, in 8 axes
        rest                  length of the part outside the axes, which no graph of the reference has
        axis 1, axis 2, ..    coordinate along each axis, in standard deviations of the reference

    `axes` (M, d) are principal axes and `deviations` the standard deviations of the reference along them.
    `known` (n, d) are its whitened graphs, and `units` (4,) typical sizes of the first four scores.
    """

    mean: FloatArray
    axes: FloatArray
    deviations: FloatArray
    known: FloatArray
    units: FloatArray
    n_neighbors: int

    @classmethod
    def learned(cls, Z: FloatArray, n_axes: int, n_neighbors: int) -> ReferenceScores:
        """Learn axes and neighbors from vectors."""
        mean, variances, axes = principal_axes(Z)
        d = max(1, n_kept_axes(variances, len(Z), n_axes))
        deviations = np.sqrt(variances[:d])
        deviations = np.where(deviations > 0, deviations, 1.0)  # a constant collection
        units = np.ones(len(ANOMALY_SCORES))
        scores = cls(mean, axes[:, :d], deviations, np.zeros((0, d)), units, n_neighbors)
        scores = replace(scores, known=scores.coordinates(Z)[0])
        typical = np.median(scores(Z)[:, : len(ANOMALY_SCORES)], axis=0)
        noise = NOISE * (np.linalg.norm(mean) + np.sqrt(variances[0]))
        return replace(scores, units=np.maximum(typical, noise / np.append(np.tile(deviations[0], 3), 1)))

    def coordinates(self, Z: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return whitened coordinates along the axes, and the length of the rest."""
        centered = np.asarray(Z, dtype=np.float64) - self.mean
        along = centered @ self.axes
        rest = centered - along @ self.axes.T
        return along / self.deviations, np.sqrt(np.einsum("ij,ij->i", rest, rest))

    def __call__(self, Z: FloatArray) -> FloatArray:
        """Return rows of scores, shape (n, 4 + d). Equal graphs have equal rows."""
        along, rest = self.coordinates(Z)
        near = [index.kneighbors(along[:, :width])[0].mean(axis=1) for width, index in self._indexes]
        anomaly = np.column_stack([*near, np.linalg.norm(along[:, :LENGTH_AXES], axis=1), rest])
        return np.hstack([rounded_scores(anomaly, self.units), rounded_scores(along)])

    @cached_property
    def _indexes(self) -> list[tuple[int, Any]]:
        brute = NearestNeighbors(n_neighbors=self.n_neighbors, algorithm="brute")
        widths = min(NEAR_AXES, self.known.shape[1]), self.known.shape[1]
        return [(width, clone(brute).fit(self.known[:, :width])) for width in widths]
