"""Which graph stands on which side, as it was and shuffled; p-values by counting, of several statistics.

Given the graphs, all ways to share them out among the samples are equally likely if the samples come from
one law (in pairs: all ways to swap partners). What was observed stands in the first column beside B ways
that are drawn, so (1 + #{T_b >= T}) / (1 + B) is below alpha with probability alpha at most: whatever T is,
for any number of graphs and of features.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import comb, prod

import numpy as np
from scipy.special import gammaincc, logsumexp

from grnf.typing import BoolArray, FloatArray, IntArray

__all__ = ["PValues", "Shuffled", "p_values_of", "smallest_possible"]

COLUMNS = 1024
"""Ways to share out the graphs that are held at a time."""


@dataclass(frozen=True)
class Shuffled:
    """A pooled sample in random order, and the ways to share it out.

    The order is drawn first, so that nothing that is learnt from the pool afterwards (axes, scales, subsets)
    can know which graph came from where.

    Parameters
    ----------
    sizes : tuple of int
        Of the samples; the pool has the first sample first.
    permutations : int
        B.
    seed : int
    paired : bool
        Graph i of the first sample belongs to graph i of the second: only partners are swapped.
    """

    sizes: tuple[int, ...]
    permutations: int
    seed: int
    paired: bool = False

    @property
    def order(self) -> IntArray:
        """Places in the pool, shuffled."""
        return self._generator(0).permutation(sum(self.sizes))

    @property
    def labels(self) -> IntArray:
        """The sample of each graph, in the shuffled order."""
        return np.repeat(np.arange(len(self.sizes)), self.sizes)[self.order]

    def contrasts(self) -> Iterator[FloatArray]:
        """Yield weights, shape (samples or 1, N, ways), some ways at a time; the very first is what was seen.

        The weights of sample g are 1 / n_g on its own graphs less 1 / N on all, times sqrt(n_g); of two
        samples one difference of means is enough. They sum to 0 over the graphs.
        """
        random, labels = self._generator(1), self.labels
        partner = self._partners() if self.paired else None
        left, first = self.permutations, True
        while first or left:
            count = min(left, COLUMNS - first)
            if partner is None:
                ways = random.permuted(np.tile(labels, (count, 1)), axis=1)
            else:
                swapped = random.random((count, self.sizes[0])) < 0.5
                ways = np.where(swapped[:, partner], 1 - labels, labels)
            if first:
                ways = np.concatenate([labels[np.newaxis], ways])
            left, first = left - count, False
            yield self._weights(ways.T)

    def _partners(self) -> IntArray:
        return self.order % self.sizes[0]

    def _weights(self, ways: IntArray) -> FloatArray:
        N = len(ways)
        if len(self.sizes) == 2:
            return np.where(ways == 0, 1 / self.sizes[0], -1 / self.sizes[1])[np.newaxis]
        return np.stack(
            [np.sqrt(n) * ((ways == group) / n - 1 / N) for group, n in enumerate(self.sizes) if n]
        )

    def _generator(self, stream: int) -> np.random.Generator:
        return np.random.default_rng([self.seed, stream])


@dataclass(frozen=True, eq=False)
class PValues:
    """P-values of several statistics, and the one of all of them together.

    Parameters
    ----------
    p_value : float
        Of the mean of all p-values to the power -1/2, calibrated by the same shuffles.
    p_values : array
        Of each statistic by itself.
    loudest : int
        The statistic that speaks loudest.
    """

    p_value: float
    p_values: FloatArray
    loudest: int


def p_values_of(T: FloatArray, rounding: FloatArray, weights: FloatArray) -> PValues:
    """Return p-values of statistics T, shape (statistics, 1 + B), what was seen first.

    Together they are the mean of p^(-1/2): small ones count most, and several together count more than the
    smallest by itself (Vovk and Wang, Combining p-values via averaging, 2020). P-values that are counted have
    many ties, so here each is taken from the gamma law that has the mean and the variance of its row
    (statistics are sums of squares of Gaussians, nearly). How well that law fits does not matter to the
    level: the mean is compared with those of the shuffles, which are found in the same way.

    Parameters
    ----------
    T : array
    rounding : array, shape (statistics,)
        By how much values of T that are equal may differ.
    weights : array, shape (statistics,)
        In the mean.

    Examples
    --------
    >>> T = np.array([[3.0, 1.0, 2.0, 0.0], [1.0, 1.0, 1.0, 1.0]])
    >>> found = p_values_of(T, np.full(2, 1e-9), np.ones(2))
    >>> found.p_value, found.p_values, found.loudest
    (0.25, array([0.25, 1.  ]), 0)
    """
    T = np.where(np.abs(T - T[:, :1]) <= rounding[:, np.newaxis], T[:, :1], T)
    logs = _log_p(T)
    together = logsumexp(-logs / 2, b=weights[:, np.newaxis], axis=0)
    by_itself = (T[:, :1] <= T).mean(axis=1)
    return PValues(float((together >= together[0]).mean()), by_itself, int(logs[:, 0].argmin()))


def _log_p(T: FloatArray) -> FloatArray:
    mean, variance = T.mean(axis=1, keepdims=True), T.var(axis=1, keepdims=True)
    constant: BoolArray = (variance <= 0) | (mean <= 0)
    shape = np.divide(mean**2, variance, out=np.ones_like(mean), where=~constant)
    scale = np.divide(variance, mean, out=np.ones_like(mean), where=~constant)
    with np.errstate(divide="ignore"):  # the logarithm of 0 says that nothing could be louder
        logs = np.log(gammaincc(shape, np.maximum(T, 0) / scale))
    return np.asarray(np.where(constant, 0.0, logs))


def smallest_possible(sizes: Sequence[int], permutations: int, paired: bool = False) -> float:
    """Return the smallest p-value that can come out.

    Examples
    --------
    >>> smallest_possible([2, 2], 999), smallest_possible([50, 50], 999)
    (0.3333333333333333, 0.001)
    """
    ways: int
    if paired:
        ways = 2 ** min(sizes[0], 1000)
    else:
        ways = prod(comb(sum(sizes[: place + 1]), n) for place, n in enumerate(sizes))
    alike = 2 if paired or (len(sizes) == 2 and sizes[0] == sizes[1]) else 1
    return float(max(1 / (1 + permutations), min(alike / ways, 1.0)))
