"""How far two samples are apart, with error bars, and the graphs that show it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.stats import binomtest

from grnf.collection import Collection
from grnf.stats.pooling import distances
from grnf.typing import FloatArray, IntArray

__all__ = [
    "Effect",
    "Score",
    "Witness",
    "bootstrap_counts",
    "effect_of",
    "energy_distance",
    "percentile_score",
    "wilson_score",
    "witnesses",
]

MOST = 1000
"""Graphs of each sample that error bars, and the means of witnesses, are taken over."""

BOOTSTRAPS = 400
GROUPS = 16
"""Groups of features, each of which is left out once."""


@dataclass(frozen=True)
class Score:
    """A value with its 95 % interval, and its value for two halves of the reference if that is known."""

    value: float
    low: float
    high: float
    baseline: float | None = None

    def __str__(self) -> str:
        return f"{self.value:.4g} [{self.low:.4g}, {self.high:.4g}]"


def wilson_score(successes: int, n: int) -> Score:
    """Return a share with Wilson's interval."""
    if n == 0:
        return Score(float("nan"), 0.0, 1.0)
    test = binomtest(successes, n)
    low, high = test.proportion_ci(0.95, "wilson")
    return Score(successes / n, float(low), float(high))


def bootstrap_counts(n: int, resamples: int, random: np.random.Generator) -> FloatArray:
    """Return how often each of n graphs is in each bootstrap sample, shape (n, resamples)."""
    return random.multinomial(n, np.full(n, 1 / n), size=resamples).T.astype(np.float64)


def percentile_score(value: float, resampled: FloatArray) -> Score:
    """Return a value with the interval that contains it and 95 % of the resampled ones."""
    low, high = np.quantile(resampled, [0.025, 0.975])
    return Score(value, float(min(low, value)), float(max(high, value)))


def energy_distance(D: Any, of_x: FloatArray, of_y: FloatArray) -> FloatArray:
    """Return 2 mean d(x, y) - mean d(x, x') - mean d(y, y') for each column of counts, without bias.

    D has distances, those of the first sample first; or -k for MMD^2 with a kernel k. The counts, of shapes
    (m, resamples) and (n, resamples), are how often each graph occurs. Pairs of a graph with itself, or with
    its own copy in a resample, do not count.
    """
    m = len(of_x)
    between = np.einsum("ib,ib->b", of_x, D[:m, m:] @ of_y) / (of_x.sum(axis=0) * of_y.sum(axis=0))
    return np.asarray(2 * between - _within(D[:m, :m], of_x) - _within(D[m:, m:], of_y))


def _within(D: FloatArray, counts: FloatArray) -> FloatArray:
    pairs = counts.sum(axis=0) ** 2 - (counts**2).sum(axis=0)
    own = np.diagonal(D) @ counts**2
    total = np.einsum("ib,ib->b", counts, D @ counts) - own
    return np.asarray(np.divide(total, pairs, out=np.zeros_like(total), where=pairs > 0))


@dataclass(frozen=True)
class Effect:
    """The energy distance 2 mean d(x, y) - mean d(x, x') - mean d(y, y'), estimated without bias.

    Parameters
    ----------
    view : str
        The view whose distances are compared.
    value : float
    low, high : float
        95 % bootstrap interval over graphs.
    feature_error : float
        Standard error over features (jackknife).
    share : float
        The value over 2 mean d(x, y): 0 for equal distributions, 1 for two graphs n times each.
    n : tuple of int
        Graphs that were used.
    """

    view: str
    value: float
    low: float
    high: float
    feature_error: float
    share: float
    n: tuple[int, int]

    def __str__(self) -> str:
        bars = Score(self.value, self.low, self.high)
        return (
            f"energy distance ({self.view}): {bars}, +- {self.feature_error:.2g} over features; "
            f"{100 * max(self.share, 0.0):.2g} % of the largest possible value"
        )


@dataclass(frozen=True)
class Witness:
    """A graph that is typical of its sample, and how much nearer it is to its own than to the other."""

    index: int
    id: str
    score: float


def effect_of(view: str, Z: FloatArray, sizes: Sequence[int], paired: bool, seed: int) -> Effect:
    """Return the energy distance of pooled vectors, with error bars; of a random subset if there are many."""
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
    of_x = bootstrap_counts(len(X), BOOTSTRAPS, random)
    of_y = of_x if paired else bootstrap_counts(len(Y), BOOTSTRAPS, random)
    bars = percentile_score(value, energy_distance(D, of_x, of_y))
    between = float(D[: len(X), len(X) :].mean())
    return Effect(
        view,
        value,
        bars.low,
        bars.high,
        _feature_error(both, D, ones),
        value / (2 * between) if between > 0 else 0.0,
        (len(X), len(Y)),
    )


def _feature_error(both: FloatArray, D: FloatArray, ones: tuple[FloatArray, FloatArray]) -> float:
    """Return the jackknife error of the energy distance over groups of features, every G-th one in each."""
    M = both.shape[1]
    G = min(GROUPS, M)
    values = []
    for start in range(G):
        group = both[:, start::G]
        rest = np.maximum(D**2 - distances(group, group) ** 2, 0) * (M / max(M - group.shape[1], 1))
        values.append(float(energy_distance(np.sqrt(rest), *ones)[0]))
    return float(np.sqrt((G - 1) * np.var(values))) if G > 1 else float("nan")


def witnesses(
    space: FloatArray, labels: IntArray, order: IntArray, samples: Sequence[Collection], count: int
) -> tuple[list[Witness], list[Witness]]:
    """Return the graphs of each sample that are nearest to their own and farthest from the other.

    The score is the mean distance to the other sample less that to the own one, less half the difference of
    the means within the samples: its mean over a sample is half the energy distance. `space` has the rows of
    the pooled sample, shuffled, `labels` the sample of each row and `order` its position in the pool.
    """
    sides = [np.flatnonzero(labels == side) for side in (0, 1)]
    own = [_own_means(space[rows]) for rows in sides]
    typical = []
    for side in (0, 1):
        rows, others = sides[side], sides[1 - side][:MOST]
        score = distances(space[rows], space[others]).mean(axis=1) - own[side]
        score += (own[side].mean() - own[1 - side].mean()) / 2
        best = np.argsort(-score, kind="stable")[:count]
        numbers, names = order[rows[best]] - side * len(samples[0]), samples[side].ids
        pairs = zip(numbers.tolist(), score[best].tolist(), strict=True)
        typical.append([Witness(number, names[number], value) for number, value in pairs])
    return typical[0], typical[1]


def _own_means(rows: FloatArray) -> FloatArray:
    """Return the mean distance of each graph to the others of its sample."""
    some = rows[:MOST]
    count = np.full(len(rows), len(some)) - (np.arange(len(rows)) < len(some))  # not with itself
    return np.asarray(distances(rows, some).sum(axis=1) / np.maximum(count, 1))
