"""The permutation test: statistics of all shuffles at once, and p-values by counting.

Given the graphs, all ways to divide them among the samples are equally likely if the samples have the same
distribution (in pairs: all ways to swap partners). The observed division is in the first column next to B
that are drawn, so (1 + #{T_b >= T}) / (1 + B) is below alpha with probability at most alpha: for any
statistic T, any number of graphs and of features.

For weights w that sum to 0, such as 1 / m on one sample and -1 / n on the other,

    energy distance   2 mean d(x, y) - mean d(x, x') - mean d(y, y') = - w' D w,
    MMD^2             mean k(x, x') + mean k(y, y') - 2 mean k(x, y) = w' K w,
    means             |mean x - mean y|^2 = |w' Z|^2,

so the values of all shuffles are one product of a matrix of distances with a matrix of weights. Distances are
made in tiles, and only for pairs i <= j: each tile stays in the cache until it is multiplied, and memory
stays small for any number of graphs. All statistics are at least 0, and 0 if both samples hold the same
graphs equally often.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate
from math import comb, prod
from typing import Any, NamedTuple

import numpy as np
from scipy.special import gammaincc, logsumexp

from grnf.stats.pooling import PooledRows
from grnf.typing import BoolArray, FloatArray, IntArray

__all__ = [
    "STATISTICS",
    "Member",
    "PValues",
    "Shuffled",
    "distances",
    "members",
    "p_values_of",
    "pooled_statistics",
    "smallest_possible",
]

STATISTICS = ("energy", "mmd", "linear")
WIDTHS = (0.5, 1.0, 2.0)
"""Widths of Gaussian kernels, in medians of the distances."""

TILE = 384
"""Rows and columns of distances that are held at a time."""

MANY = 1024
"""Graphs from which products are made in single precision: rounding is then 1e-3 of what shuffles change."""

SAMPLE = 512
"""Rows that show the typical distance."""

COLUMNS = 1024
"""Divisions of the graphs that are held at a time."""


@dataclass(frozen=True)
class Member:
    """One of the statistics that a test looks at.

    Parameters
    ----------
    view : str
    axes : int, optional
        How many whitened axes; None for the vectors as they are.
    width : float, optional
        Of the Gaussian kernel, in medians of the distances.
    """

    view: str
    axes: int | None
    width: float | None = None

    def __str__(self) -> str:
        text = "as it is" if self.axes is None else f"{self.axes} axes"
        return f"{self.view}, {text}" + ("" if self.width is None else f", width {self.width:g}")


def members(view: str, rows: PooledRows, statistic: str) -> list[Member]:
    """Return the statistics of a view, in the order in which `pooled_statistics` has them."""
    widths: tuple[float | None, ...] = WIDTHS if statistic == "mmd" else (None,)
    sets = (*((None,) if rows.as_it_is else ()), *rows.numbers)
    return [Member(view, axes, width) for axes in sets for width in widths]


def pooled_statistics(rows: PooledRows, statistic: str, weights: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return the values of all members for all weights, and by how much equal ones may differ by rounding.

    Parameters
    ----------
    rows : PooledRows
    statistic : "energy", "mmd" or "linear"
    weights : array, shape (contrasts, N, ways)
        Each sums to 0 over the N graphs; values are summed over contrasts.

    Examples
    --------
    >>> rows = PooledRows(np.array([[0.0], [0.0], [3.0]]), np.empty((3, 0)), ())
    >>> weights = np.array([[[0.5], [0.5], [-1.0]]])
    >>> pooled_statistics(rows, "energy", weights)[0], pooled_statistics(rows, "linear", weights)[0]
    (array([[6.]]), array([[9.]]))
    """
    if statistic == "linear":
        values = []
        if rows.as_it_is:
            values.append(_means(rows.coordinates, (rows.coordinates.shape[1],), weights))
        if rows.numbers:
            values.append(_means(rows.whitened, rows.numbers, weights))
        T = np.concatenate(values)
        return T, 1e-11 * np.maximum(T.max(axis=1), 1e-300)
    maps = _maps(rows, statistic)
    dtype: Any = np.float64 if len(rows.coordinates) <= MANY else np.float32
    T = np.zeros((len(maps), weights.shape[2]))
    turned = [np.ascontiguousarray(weight, dtype) for weight in weights]
    made = _Squares(rows)
    for start, others in _upper_tiles(len(rows.coordinates)):
        some = slice(start, start + TILE)
        both = 1 if others.start == start else 2  # the pairs (j, i) beside (i, j)
        blocks = [squares.astype(dtype) for squares in made.tile(some, others)]
        for place, found in enumerate(maps):
            block = found.transform(blocks[found.kind])
            block -= dtype(found.level)
            for weight in turned:
                product = block @ weight[others]
                T[place] += both * np.einsum("ij,ij->j", weight[some], product, dtype=np.float64)
    size = float((np.abs(weights[:, :, 0]).sum(axis=1) ** 2).sum())
    spread = np.array([found.spread for found in maps])
    return T, 4 * float(np.finfo(dtype).eps) * spread * size


def _means(Z: FloatArray, numbers: tuple[int, ...], weights: FloatArray) -> FloatArray:
    """Return |w' Z|^2 over the first so many columns of Z, for all weights."""
    squares = sum((weight.T @ Z) ** 2 for weight in weights)
    running = np.cumsum(squares, axis=1)
    if not Z.shape[1]:
        return np.zeros((len(numbers), weights.shape[2]))
    return np.ascontiguousarray(running[:, [number - 1 for number in numbers]].T)


class _Map(NamedTuple):
    """What a member makes of squared distances.

    The typical value (`level`) is subtracted, which changes nothing but rounding, since weights sum to 0.
    """

    kind: int
    transform: Callable[[FloatArray], FloatArray]
    level: float
    spread: float


def _maps(rows: PooledRows, statistic: str) -> list[_Map]:
    """Return for each member which squared distances it takes, and what it makes of them."""
    some = np.unique(np.linspace(0, len(rows.coordinates) - 1, SAMPLE).astype(np.int64))
    shown = PooledRows(rows.coordinates[some], rows.whitened[some], rows.numbers, rows.as_it_is)
    found: list[_Map] = []
    for kind, squares in enumerate(_Squares(shown).tile(slice(None), slice(None))):
        apart = squares[np.triu_indices(len(squares), 1)]
        apart = apart if len(apart) else np.zeros(1)
        made: list[Callable[[FloatArray], FloatArray]] = [_energy]
        if statistic == "mmd":
            median = float(np.median(apart[apart > 0])) if (apart > 0).any() else 1.0
            made = [_gaussian(-0.5 / (width**2 * median)) for width in WIDTHS]
        for transform in made:
            values = transform(apart)
            level = float(values.mean())
            found.append(_Map(kind, transform, level, float(np.abs(values - level).mean())))
    return found


def _energy(squares: FloatArray) -> FloatArray:
    return np.asarray(-np.sqrt(squares))


def _gaussian(scale: float) -> Callable[[FloatArray], FloatArray]:
    return lambda squares: np.asarray(np.exp(scale * squares))


def _upper_tiles(N: int) -> list[tuple[int, slice]]:
    """Return the tiles i <= j of a matrix of N rows: where its rows start, and its columns."""
    starts = range(0, N, TILE)
    return [(start, slice(other, other + TILE)) for start in starts for other in starts if other >= start]


class _Product(NamedTuple):
    """Squared distances between rows of X and of Y: left @ right, where at least `least`, else 0."""

    left: FloatArray
    right: FloatArray
    least: float


def _product(X: FloatArray, Y: FloatArray) -> _Product:
    """Return (-2 x, |x|^2, 1) and (y, 1, |y|^2), whose product is |x - y|^2."""
    centre = Y.mean(axis=0) if len(Y) else 0.0  # what is far from 0 is rounded more
    X, Y = X - centre, Y - centre
    x, y = (np.einsum("ij,ij->i", Z, Z) for Z in (X, Y))
    left = np.column_stack([-2 * X, x, np.ones(len(X))])
    right = np.vstack([Y.T, np.ones(len(Y)), y])
    # equal rows are 0 apart, not the root of a rounding error
    return _Product(left, right, 1e-13 * float(x.max(initial=0) + y.max(initial=0)))


class _Squares:
    """Squared distances of a pooled sample: of the vectors as they are, and along the first whitened axes."""

    def __init__(self, rows: PooledRows) -> None:
        self.plain = [_product(rows.coordinates, rows.coordinates)] if rows.as_it_is else []
        cuts = zip((0, *rows.numbers), rows.numbers, strict=False)
        more = [rows.whitened[:, before:number] for before, number in cuts]
        self.added = [_product(axes, axes) for axes in more]

    def tile(self, some: slice, others: slice) -> list[FloatArray]:
        """Return those of some rows to others, one matrix for each set of axes."""
        added = (_between(product, some, others) for product in self.added)
        return [_between(product, some, others) for product in self.plain] + list(accumulate(added, np.add))


def _between(product: _Product, some: slice, others: slice) -> FloatArray:
    squares = product.left[some] @ product.right[:, others]
    squares *= squares >= product.least
    return squares


def distances(X: FloatArray, Y: FloatArray) -> FloatArray:
    """Return the Euclidean distances between rows.

    Examples
    --------
    >>> distances(np.array([[0.0, 0.0]]), np.array([[3.0, 4.0]]))
    array([[5.]])
    """
    return np.asarray(np.sqrt(_between(_product(X, Y), slice(None), slice(None))))


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
