"""Error bars: shares by Wilson, values over graphs by bootstrap, values over features by jackknife."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import sqrt
from statistics import NormalDist
from typing import Any

import numpy as np

from grnf.typing import FloatArray, IntArray

__all__ = ["Interval", "drawn_counts", "energy_distance", "jackknife_error", "percentiles", "wilson"]

GROUPS = 16
"""Groups of features, each of which is left out once."""


@dataclass(frozen=True)
class Interval:
    """A value with its interval."""

    value: float
    low: float
    high: float

    def __str__(self) -> str:
        return f"{self.value:.4g} [{self.low:.4g}, {self.high:.4g}]"


def wilson(successes: int, n: int, level: float = 0.95) -> Interval:
    """Return a share with Wilson's interval.

    Examples
    --------
    >>> print(wilson(9, 10))
    0.9 [0.5958, 0.9821]
    >>> print(wilson(0, 0))
    nan [0, 1]
    """
    if n == 0:
        return Interval(float("nan"), 0.0, 1.0)
    z = NormalDist().inv_cdf(0.5 + level / 2)
    share = successes / n
    middle = (share + z**2 / (2 * n)) / (1 + z**2 / n)
    half = z / (1 + z**2 / n) * sqrt(share * (1 - share) / n + z**2 / (4 * n**2))
    low, high = (0.0 if successes == 0 else middle - half), (1.0 if successes == n else middle + half)
    return Interval(share, low, high)


def drawn_counts(n: int, resamples: int, random: np.random.Generator) -> FloatArray:
    """Return how often each of n graphs is in each bootstrap sample, shape (n, resamples)."""
    return random.multinomial(n, np.full(n, 1 / n), size=resamples).T.astype(np.float64)


def percentiles(value: float, resampled: FloatArray, level: float = 0.95) -> Interval:
    """Return a value with the interval that holds so large a part of the resampled ones, and the value."""
    low, high = np.quantile(resampled, [0.5 - level / 2, 0.5 + level / 2])
    return Interval(value, float(min(low, value)), float(max(high, value)))


def energy_distance(D: Any, of_x: FloatArray, of_y: FloatArray) -> FloatArray:
    """Return 2 mean d(x, y) - mean d(x, x') - mean d(y, y') for each column of counts, without bias.

    Pairs of a graph with itself, or with its own copy in a resample, do not count.

    Parameters
    ----------
    D : array, shape (m + n, m + n)
        Distances, those of the first sample first; or -k for MMD^2 with a kernel k.
    of_x, of_y : arrays, shapes (m, resamples), (n, resamples)
        How often each graph counts.

    Examples
    --------
    >>> D = np.array([[0.0, 2.0, 5.0], [2.0, 0.0, 5.0], [5.0, 5.0, 0.0]])
    >>> energy_distance(D, np.ones((2, 1)), np.ones((1, 1)))  # 2 * 5 - 2; of one graph there is no pair
    array([8.])
    """
    m = len(of_x)
    between = np.einsum("ib,ib->b", of_x, D[:m, m:] @ of_y) / (of_x.sum(axis=0) * of_y.sum(axis=0))
    return np.asarray(2 * between - _within(D[:m, :m], of_x) - _within(D[m:, m:], of_y))


def _within(D: FloatArray, counts: FloatArray) -> FloatArray:
    pairs = counts.sum(axis=0) ** 2 - (counts**2).sum(axis=0)
    own = np.diagonal(D) @ counts**2
    total = np.einsum("ib,ib->b", counts, D @ counts) - own
    return np.asarray(np.divide(total, pairs, out=np.zeros_like(total), where=pairs > 0))


def jackknife_error(values: Sequence[float] | FloatArray) -> float:
    """Return the standard error of a value from what it is with each group left out.

    Examples
    --------
    >>> round(jackknife_error([1.0, 2.0, 3.0]), 4)
    1.1547
    """
    found = np.asarray(values, dtype=np.float64)
    G = len(found)
    return float(np.sqrt((G - 1) / G * ((found - found.mean()) ** 2).sum())) if G > 1 else float("nan")


def feature_groups(M: int) -> list[IntArray]:
    """Return the columns of each group: every G-th one, so that groups are alike."""
    G = min(GROUPS, M)
    return [np.arange(start, M, G) for start in range(G)]
