"""Where does a list of graphs change? A scan over all splits, calibrated by permutations, then of the parts.

For each split of n rows into the first k and the rest,

    T(k) = k (n - k) / n |mean of the first - mean of the rest|^2

in whitened axes: in few of them, in all, and in numbers that say how far out a graph lies (a law may spread
without moving). Each scan is compared with those of permuted lists, and the smallest of the p-values is
taken, calibrated by the same permutations. If the list has no change at all, the chance of finding one is at
most alpha, exactly, for any law and any n. Parts are scanned in the same way; their ends were chosen by
looking at the data, so later p-values are approximate.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from grnf._utils.arrays import principal_axes
from grnf._utils.random import draw_seed, page_generator
from grnf._utils.rules import Int, Real, checked
from grnf.collection import vectors_of
from grnf.estimators import GRNF
from grnf.stats.betting import TEMPER, likely_interval
from grnf.stats.conformal import rounded_scores
from grnf.stats.stream_scores import GRAPHS_PER_AXIS, SMALLEST
from grnf.typing import FloatArray, IntArray

__all__ = ["ChangePoint", "change_points"]

FEW, MOST_AXES = 8, 32
COVERAGE = 0.95

BYTES = 2**26
"""Of the permuted rows that are held at a time."""


@dataclass(frozen=True)
class ChangePoint:
    """A change in a list of graphs.

    Parameters
    ----------
    index, id : int, str
        The first graph after the change.
    p_value : float
        Of "no change between `segment[0]` and `segment[1]`".
    interval : (int, int)
        First and last graph that may be the first one after the change, with a probability of about 95 %.
    segment : (int, int)
        The part of the list that was scanned: the graphs from the first number up to, not with, the second.
    """

    index: int
    id: str
    p_value: float
    interval: tuple[int, int]
    segment: tuple[int, int]


def change_points(
    X: Any,
    *,
    transformer: Any = None,
    alpha: float = 0.05,
    min_size: int = 5,
    n_permutations: int = 999,
    ids: Sequence[str] | None = None,
    random_state: Any = 0,
) -> list[ChangePoint]:
    """Find the places where a list of graphs changes, in order.

    Parameters
    ----------
    X : collection of graphs of any kind, or array of vectors, shape (n, M)
        In their order in time.
    transformer : GRNF or another object with `transform`, optional
        Makes vectors of graphs; by default GRNF as it is.
    alpha : float, default=0.05
        Chance of finding a change where there is none.
    min_size : int, default=5
        Graphs between changes, at least.
    n_permutations : int, default=999
        p-values are multiples of 1 / (n_permutations + 1).
    ids : sequence of str, optional
    random_state : int, numpy Generator or RandomState, default=0

    Examples
    --------
    >>> from grnf import GRNF
    >>> from grnf.datasets import make_sbm
    >>> graphs = make_sbm(60, random_state=0)[0] + make_sbm(60, n_nodes=16, random_state=0)[0]
    >>> [point.index for point in change_points(graphs, transformer=GRNF(64, random_state=0))]
    [60]
    """
    alpha = checked(alpha, "alpha", Real(1))
    min_size = checked(min_size, "min_size", Int(1))
    count = checked(n_permutations, "n_permutations", Int(1))
    if 1 / (1 + count) > alpha:
        raise ValueError(f"n_permutations={count} has no p-value of alpha={alpha:g} or less: take more")
    seed = draw_seed(random_state)
    given = vectors_of(X, GRNF(random_state=seed) if transformer is None else transformer, ids=ids)
    names, (rows, groups) = given.ids, _rows(given.vectors)
    found: list[ChangePoint] = []
    waiting = [(0, len(rows))]
    while waiting:
        start, stop = waiting.pop()
        if stop - start < 2 * min_size:
            continue
        p, split, low, high = _scan(rows[start:stop], groups, min_size, count, (seed, start, stop))
        if p > alpha:
            continue
        place = start + split
        found.append(ChangePoint(place, names[place], p, (start + low, start + high), (start, stop)))
        waiting += [(start, place), (place, stop)]
    return sorted(found, key=lambda point: point.index)


def _rows(Z: FloatArray) -> tuple[FloatArray, list[slice]]:
    """Return whitened numbers of each graph, and which of them make up a scan.

    They are learnt from all graphs together, whatever their order, so permutations stay exact.
    """
    mean, variances, axes = principal_axes(Z)
    held = int((variances > SMALLEST * variances[0]).sum()) if variances[0] > 0 else 0
    d = min(MOST_AXES, held, max(1, len(Z) // GRAPHS_PER_AXIS))
    if d == 0:
        return np.zeros((len(Z), 1)), [slice(0, 1)]
    centred = np.asarray(Z, dtype=np.float64) - mean
    along = centred @ axes[:, :d] / np.sqrt(variances[:d])
    far = np.column_stack([np.linalg.norm(along[:, :FEW], axis=1), np.linalg.norm(along, axis=1)])
    spread = far.std(axis=0)
    far = (far - far.mean(axis=0)) / np.where(spread > 0, spread, 1.0)
    groups = [slice(2, 2 + d), slice(0, 1), slice(1, 2)] + ([slice(2, 2 + FEW)] if d > FEW else [])
    return rounded_scores(np.hstack([far, along])), groups


def _scan(
    rows: FloatArray, groups: list[slice], min_size: int, count: int, key: tuple[int, int, int]
) -> tuple[float, int, int, int]:
    """Return the p-value of the best split, the split, and its interval."""
    statistics = _statistics(rows[None], groups, min_size)[0]
    largest = [statistics.max(axis=1)]
    seed, start, stop = key
    generator = page_generator(seed, start, stream=3, channel=stop)
    at_a_time = max(1, BYTES // rows.nbytes)
    for first in range(0, count, at_a_time):
        orders = np.array([generator.permutation(len(rows)) for _ in range(min(at_a_time, count - first))])
        largest.extend(_statistics(rows[orders], groups, min_size).max(axis=2))
    p_of_groups = _ranks(np.array(largest)) / (1 + count)
    smallest = p_of_groups.min(axis=1)
    p = float((smallest <= smallest[0]).mean())
    best = statistics[int(np.lexsort((-statistics.max(axis=1), p_of_groups[0]))[0])]
    split, low, high = likely_interval(TEMPER * best / 2, COVERAGE)
    return p, min_size + split, min_size + low, min_size + high


def _statistics(rows: FloatArray, groups: list[slice], min_size: int) -> FloatArray:
    """Return T(k) of each list and each group for k = min_size .. n - min_size, shape (lists, groups, k)."""
    n = rows.shape[1]
    k = np.arange(min_size, n - min_size + 1)
    sums = np.cumsum(rows, axis=1)
    total = sums[:, -1:]
    apart = sums[:, k - 1] - (k / n)[:, None] * total  # k (n - k) / n times the difference of means
    weight = n / (k * (n - k))
    squares = apart**2
    found = [squares[:, :, group].sum(axis=2) * weight for group in groups]
    return rounded_scores(np.stack(found, axis=1))


def _ranks(values: FloatArray) -> IntArray:
    """Return for each entry of each column how many are at least as large."""
    found = np.empty(values.shape, dtype=np.int64)
    for column in range(values.shape[1]):
        ordered = np.sort(values[:, column])
        found[:, column] = len(ordered) - np.searchsorted(ordered, values[:, column], side="left")
    return found
