"""How far two samples are apart, with error bars, and the graphs that show it.

Shares have Wilson's interval, values over graphs that of the bootstrap, and values over features that of the
jackknife.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import sqrt
from statistics import NormalDist
from typing import Any

import numpy as np

from grnf.collection import Collection
from grnf.stats.permutations import distances
from grnf.typing import FloatArray, IntArray

__all__ = [
    "Effect",
    "Interval",
    "Witness",
    "drawn_counts",
    "effect_of",
    "energy_distance",
    "jackknife_error",
    "percentiles",
    "wilson",
    "witnesses",
]

MOST = 1000
"""Graphs of each sample that error bars, and the means of witnesses, are taken over."""

RESAMPLES = 400
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


@dataclass(frozen=True)
class Effect:
    """The energy distance 2 mean d(x, y) - mean d(x, x') - mean d(y, y'), estimated without bias.

    Parameters
    ----------
    view : str
        The view whose distances are compared, as they are.
    value : float
    low, high : float
        Bootstrap interval over graphs, of 95 %.
    feature_error : float
        Standard error over features: what other random features would change.
    share : float
        The value over 2 mean d(x, y): 0 for samples of one law, 1 for two graphs n times each.
    n : tuple of int
        Graphs that were looked at.
    """

    view: str
    value: float
    low: float
    high: float
    feature_error: float
    share: float
    n: tuple[int, int]

    def __str__(self) -> str:
        bars = Interval(self.value, self.low, self.high)
        return (
            f"energy distance ({self.view}): {bars}, +- {self.feature_error:.2g} over features; "
            f"{100 * max(self.share, 0.0):.2g} % of what it can be"
        )


@dataclass(frozen=True)
class Witness:
    """A graph that is typical of its sample, and how much nearer it is to its own than to the other."""

    index: int
    id: str
    score: float


def effect_of(view: str, Z: FloatArray, sizes: Sequence[int], paired: bool, seed: int) -> Effect:
    """Return the energy distance of pooled vectors, with error bars; over some graphs, if there are many."""
    random = np.random.default_rng([seed, 2])
    m, n = sizes
    first = random.permutation(m)[:MOST]
    second = first if paired else random.permutation(n)[:MOST]
    X, Y = Z[first].astype(np.float64), Z[m + second].astype(np.float64)
    X, Y = X - X.mean(axis=0), Y - X.mean(axis=0)  # distances stay, rounding gets less
    both = np.concatenate([X, Y])
    D = distances(both, both)
    ones = np.ones((len(X), 1)), np.ones((len(Y), 1))
    value = float(energy_distance(D, *ones)[0])
    of_x = drawn_counts(len(X), RESAMPLES, random)
    of_y = of_x if paired else drawn_counts(len(Y), RESAMPLES, random)
    bars = percentiles(value, energy_distance(D, of_x, of_y))
    between = float(D[: len(X), len(X) :].mean())
    return Effect(
        view,
        value,
        bars.low,
        bars.high,
        jackknife_error(_left_out(both, D, ones)),
        value / (2 * between) if between > 0 else 0.0,
        (len(X), len(Y)),
    )


def _left_out(both: FloatArray, D: FloatArray, ones: tuple[FloatArray, FloatArray]) -> list[float]:
    """Return the energy distance without each group of features, on the scale of all."""
    M = both.shape[1]
    values = []
    for group in feature_groups(M):
        rest = np.maximum(D**2 - distances(both[:, group], both[:, group]) ** 2, 0)
        rest *= M / max(M - len(group), 1)
        values.append(float(energy_distance(np.sqrt(rest), *ones)[0]))
    return values


def witnesses(
    space: FloatArray, labels: IntArray, order: IntArray, samples: Sequence[Collection], count: int
) -> tuple[list[Witness], list[Witness]]:
    """Return the graphs of each sample that are nearest to their own and farthest from the other.

    The score is the mean distance to the other sample less that to the own one, less half the difference of
    the means within the samples: its mean over a sample is half the energy distance.

    Parameters
    ----------
    space : array, shape (N, p)
        Rows of the pooled sample, shuffled.
    labels, order : arrays
        The sample of each row, and its place in the pool.
    """
    sides = [np.flatnonzero(labels == side) for side in (0, 1)]
    own = [_own_means(space[rows]) for rows in sides]
    found = []
    for side in (0, 1):
        rows, others = sides[side], sides[1 - side][:MOST]
        score = distances(space[rows], space[others]).mean(axis=1) - own[side]
        score += (own[side].mean() - own[1 - side].mean()) / 2
        best = np.argsort(-score, kind="stable")[:count]
        places = order[rows[best]] - side * len(samples[0])
        names = samples[side].ids
        found.append(
            [
                Witness(int(place), names[place], float(value))
                for place, value in zip(places, score[best], strict=True)
            ]
        )
    return found[0], found[1]


def _own_means(rows: FloatArray) -> FloatArray:
    """Return the mean distance of each graph to the others of its sample."""
    some = rows[:MOST]
    company = np.full(len(rows), len(some)) - (np.arange(len(rows)) < len(some))  # not with itself
    return np.asarray(distances(rows, some).sum(axis=1) / np.maximum(company, 1))
