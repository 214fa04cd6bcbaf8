"""Permutation tests of equal distributions, over several feature views.

Given the graphs, all ways to divide them among the samples are equally likely if the samples have the same
distribution (in pairs: all ways to swap partners). The observed division is in the first column next to B
that are drawn, so (1 + #{T_b >= T}) / (1 + B) is below alpha with probability at most alpha: for any
statistic T, any number of graphs and of features.

For weights w that sum to 0, for example 1 / m on one sample and -1 / n on the other,

    energy distance   2 mean d(x, y) - mean d(x, x') - mean d(y, y') = - w' D w,
    MMD^2             mean k(x, x') + mean k(y, y') - 2 mean k(x, y) = w' K w,
    means             |mean x - mean y|^2 = |w' Z|^2,

so the values of all divisions are one product of a matrix of distances with a matrix of weights. Distances
are computed in tiles, and only for pairs i <= j: each tile stays in the cache until it is multiplied, and
memory stays small for any number of graphs. All statistics are at least 0, and 0 if both samples hold the
same graphs equally often.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import cached_property, partial
from math import comb, prod
from typing import Any, TypeAlias

import numpy as np
from scipy.special import gammaincc, logsumexp
from scipy.stats import binomtest

from grnf._utils.random import draw_seed
from grnf._utils.result_tables import html_table
from grnf._utils.rules import Bool, Int, OneOf, checked
from grnf._version import __version__
from grnf.collection import Collection
from grnf.errors import GraphError, GrnfWarning
from grnf.stats.descriptor import GraphDescriptor
from grnf.stats.pooling import AXES, PooledRows, distances, pooled_rows, pooled_views
from grnf.typing import BoolArray, FloatArray, IntArray

STATISTICS = ("energy", "mmd", "linear")
WIDTHS = (0.5, 1.0, 2.0)
"""Widths of Gaussian kernels, in medians of the distances."""

PLAIN_WEIGHT = 2.0
"""Weight of plain vectors relative to whitened axes, which need many graphs."""

TILE = 384
"""Rows and columns of distances that are held at a time."""

SINGLE_PRECISION = 1024
"""Graphs from which products have single precision: rounding is then 1e-3 of the changes by permutations."""

SAMPLE = 512
"""Rows for the typical distance."""

COLUMNS = 1024
"""Divisions of the graphs that are held at a time."""

MOST = 1000
"""Graphs of each sample that error bars, and the means of witnesses, are taken over."""

BOOTSTRAPS = 400
GROUPS = 16
"""Groups of features, each of which is left out once."""

Kernel: TypeAlias = Callable[[FloatArray], FloatArray]


@dataclass(frozen=True)
class ViewStatistic:
    """One of the statistics of a test.

    Parameters
    ----------
    view : str
    axes : int, optional
        Number of whitened axes, or None for plain vectors.
    width : float, optional
        Of the Gaussian kernel, in medians of the distances.
    statistic, pvalue : float
        Its value, and its p-value by itself.
    """

    view: str
    axes: int | None
    width: float | None
    statistic: float
    pvalue: float

    def __str__(self) -> str:
        text = "plain vectors" if self.axes is None else f"{self.axes} axes"
        return f"{self.view}, {text}" + ("" if self.width is None else f", width {self.width:g}")


@dataclass(frozen=True)
class PermutationTestResult:
    """Whether samples have the same distribution, how far they are apart, and which graphs show it.

    Parameters
    ----------
    statistic : float
        All statistics together: the logarithm of the weighted sum of their p^(-1/2).
    pvalue : float
        Its p-value. It is at most alpha with probability at most alpha if the samples have the same
        distribution, for any sizes and any number of features.
    views : list of ViewStatistic
        Each statistic by itself.
    strongest : ViewStatistic
        The one with the largest effect.
    sizes : tuple of int
    n_resamples : int
        Permutations.
    protocol : dict
        All settings that are needed to repeat the test.
    effect : Effect, optional
        For two samples: the energy distance, with error bars over graphs and over features.
    witnesses_x, witnesses_y : list of Witness
        For two samples: the graphs that are most typical of a sample and least of the other.

    Examples
    --------
    >>> random = np.random.default_rng(0)
    >>> result = two_sample_test(random.normal(size=(30, 3)), random.normal(1, size=(30, 3)), random_state=0)
    >>> result.pvalue, result.sizes, result.strongest.view
    (0.001, (30, 30), 'vectors')
    >>> result.to_dict()["pvalue"]  # with all settings, for JSON
    0.001
    """

    statistic: float
    pvalue: float
    views: list[ViewStatistic] = field(repr=False)
    strongest: ViewStatistic
    sizes: tuple[int, ...]
    n_resamples: int
    protocol: dict[str, Any] = field(repr=False)
    effect: Effect | None = None
    witnesses_x: list[Witness] = field(default_factory=list)
    witnesses_y: list[Witness] = field(default_factory=list)

    def _repr_html_(self) -> str:
        columns = ["view", "axes", "width", "statistic", "pvalue"]
        return html_table(columns, map(vars, self.views), str(self))

    def to_dict(self) -> dict[str, Any]:
        """Return plain values, for JSON.

        Returns
        -------
        dict
        """
        return {**asdict(self), "sizes": list(self.sizes), "strongest": str(self.strongest)}

    def __str__(self) -> str:
        lines = [
            f"samples of {', '.join(f'{n:,}' for n in self.sizes)} graphs",
            f"p = {self.pvalue:.4g} ({self.n_resamples:,} permutations)",
            f"largest effect: {self.strongest}",
        ]
        if self.effect is not None:
            lines.append(str(self.effect))
        for side, typical in (("first", self.witnesses_x), ("second", self.witnesses_y)):
            if typical:
                names = ", ".join(witness.id for witness in typical)
                lines.append(f"typical of the {side} sample and not of the other: {names}")
        return "\n".join(lines)


def two_sample_test(
    X: Any,
    Y: Any,
    *,
    views: Any = "auto",
    statistic: str = "energy",
    axes: Sequence[int] = AXES,
    n_resamples: int = 999,
    paired: bool = False,
    n_components: int = 512,
    n_witnesses: int = 5,
    ids: tuple[Sequence[str], Sequence[str]] | None = None,
    random_state: Any = None,
) -> PermutationTestResult:
    """Test whether two collections have the same distribution.

    One permutation test combines several feature views of the graphs, as plain vectors and along whitened
    axes of the pooled sample. Its p-value is valid for any sizes and any number of features.

    Parameters
    ----------
    X, Y : collections of graphs of any kind, arrays of vectors, shape (n, M), or dicts from view to array
    views : "auto", transformer, or dict of transformers, default="auto"
        Make vectors of graphs, as in `GraphDescriptor`.
    statistic : "energy", "mmd" or "linear", default="energy"
        Energy distance, MMD^2 with Gaussian kernels of several widths, or distances of mean vectors, whose
        cost is linear in the number of graphs.
    axes : sequence of int, default=(8, 16, 32, 64)
        Numbers of whitened axes to test, in addition to plain vectors. At most a third of the number of
        graphs. Empty: plain vectors only.
    n_resamples : int, default=999
        Permutations.
    paired : bool, default=False
        Graph i of X belongs to graph i of Y (for example before and after): partners are swapped.
    n_components : int, default=512
        Features of each view.
    n_witnesses : int, default=5
    ids : pair of sequences of str, optional
        Names of the graphs. By default their own, or their numbers.
    random_state : int, numpy Generator or RandomState, optional
        Of features, permutations and bootstrap samples.

    Returns
    -------
    PermutationTestResult

    Examples
    --------
    >>> from grnf.datasets import make_sbm
    >>> graphs, y = make_sbm(60, random_state=0)
    >>> one = [graph for graph, label in zip(graphs, y) if label == 0]
    >>> two = [graph for graph, label in zip(graphs, y) if label == 1]
    >>> two_sample_test(one, two, n_components=64, random_state=0).pvalue
    0.001
    >>> two_sample_test(one, one, n_components=64, random_state=0).pvalue
    1.0
    """
    seed = draw_seed(random_state)
    descriptor = GraphDescriptor(n_components, views=views, random_state=seed)
    samples, pooled = pooled_views([X, Y], ("X", "Y"), descriptor, ids)
    settings: dict[str, Any] = {"axes": axes, "n_resamples": n_resamples, "paired": paired, "seed": seed}
    n_witnesses = checked(n_witnesses, "n_witnesses", Int(0))
    return compare_samples(samples, pooled, descriptor, n_witnesses, statistic=statistic, **settings)


def k_sample_test(
    samples: Sequence[Any],
    *,
    views: Any = "auto",
    statistic: str = "energy",
    axes: Sequence[int] = AXES,
    n_resamples: int = 999,
    n_components: int = 512,
    random_state: Any = None,
) -> PermutationTestResult:
    """Test whether several collections have the same distribution.

    The statistics are sums over the samples of n_g times their distances from the pooled sample.

    Parameters
    ----------
    samples : sequence of samples
        Each as X in `two_sample_test`.
    views : "auto", transformer, or dict of transformers, default="auto"
    statistic : "energy", "mmd" or "linear", default="energy"
    axes : sequence of int, default=(8, 16, 32, 64)
    n_resamples : int, default=999
    n_components : int, default=512
    random_state : int, numpy Generator or RandomState, optional
        As in `two_sample_test`.

    Returns
    -------
    PermutationTestResult

    Examples
    --------
    >>> random = np.random.default_rng(0)
    >>> samples = [random.normal(shift, size=(20, 3)) for shift in (0, 0, 2)]
    >>> k_sample_test(samples, random_state=0).pvalue
    0.001
    """
    if len(samples) < 2:
        raise GraphError(f"a test needs at least two samples, got {len(samples)}")
    seed = draw_seed(random_state)
    descriptor = GraphDescriptor(n_components, views=views, random_state=seed)
    names = [f"samples[{number}]" for number in range(len(samples))]
    collections, pooled = pooled_views(samples, names, descriptor)
    settings: dict[str, Any] = {"statistic": statistic, "axes": axes, "n_resamples": n_resamples}
    return permutation_test(pooled, tuple(map(len, collections)), descriptor, seed=seed, **settings)[0]


def compare_samples(
    samples: Sequence[Collection],
    pooled: dict[str, FloatArray],
    descriptor: GraphDescriptor,
    n_witnesses: int = 5,
    *,
    seed: int = 0,
    **settings: Any,
) -> PermutationTestResult:
    """Test two samples that `pooled_views` returned. The settings are parameters of `two_sample_test`."""
    sizes = tuple(map(len, samples))
    result, rows, division = permutation_test(pooled, sizes, descriptor, seed=seed, **settings)
    strongest = rows[result.strongest.view]
    axes = result.strongest.axes
    space = strongest.coordinates if axes is None else strongest.whitened[:, :axes]
    first, second = witnesses(space, division.labels, division.order, samples, n_witnesses)
    view, Z = next(iter(pooled.items()))
    effect = effect_of(view, Z, sizes, result.protocol["paired"], seed)
    return replace(result, effect=effect, witnesses_x=first, witnesses_y=second)


def permutation_test(
    views: Mapping[str, FloatArray],
    sizes: tuple[int, ...],
    descriptor: Any = None,
    *,
    statistic: str = "energy",
    axes: Sequence[int] = AXES,
    n_resamples: int = 999,
    paired: bool = False,
    seed: int = 0,
) -> tuple[PermutationTestResult, dict[str, PooledRows], Divisions]:
    """Test samples of these sizes, whose pooled vectors are given by view, those of the first sample first.

    Returns the result, the rows that were compared, by view, and the divisions.
    """
    checked(statistic, "statistic", OneOf(*STATISTICS))
    n_resamples = checked(n_resamples, "n_resamples", Int(1))
    axes = [checked(number, "axes", Int(1)) for number in axes]
    if checked(paired, "paired", Bool()) and sizes[0] != sizes[1]:
        raise GraphError(f"paired=True needs as many graphs in Y as in X, got {sizes}")
    if (least := smallest_possible(sizes, n_resamples, paired)) > 0.05:
        text = f"with {' and '.join(map(str, sizes))} graphs and {n_resamples} permutations no p-value "
        warnings.warn(f"{text}below {least:.2g} is possible", GrnfWarning, stacklevel=4)
    divisions = Divisions(sizes, n_resamples, seed, paired)
    axes_only = getattr(descriptor, "axes_only_", ())
    rows = {name: pooled_rows(Z[divisions.order], axes, name in axes_only) for name, Z in views.items()}
    keys = [key for name, own in rows.items() for key in _keys(name, own, statistic)]
    columns, rounding = [], np.zeros(0)
    for weights in divisions.weights():
        parts = [pooled_statistics(own, statistic, weights) for own in rows.values()]
        columns.append(np.concatenate([T for T, _ in parts]))
        rounding = np.concatenate([error for _, error in parts])
    T = np.concatenate(columns, axis=1)
    emphasis = np.array([PLAIN_WEIGHT if number is None else 1.0 for _, number, _ in keys])
    combined, pvalue, pvalues, strongest = combined_pvalue(T, rounding, emphasis)
    values = zip(keys, np.maximum(T[:, 0], 0.0).tolist(), pvalues.tolist(), strict=True)
    statistics = [ViewStatistic(*key, value, p) for key, value, p in values]
    made = {"views": {name: f"vectors of length {Z.shape[1]}" for name, Z in views.items()}}
    protocol = {
        "version": __version__,
        "statistic": statistic,
        "axes": axes,
        "paired": paired,
        "random_state": seed,
        "n_resamples": n_resamples,
        "sizes": list(sizes),
        "descriptor": descriptor.protocol() if hasattr(descriptor, "views_") else made,
    }
    result = PermutationTestResult(
        combined, pvalue, statistics, statistics[strongest], sizes, n_resamples, protocol
    )
    return result, rows, divisions


def _keys(view: str, rows: PooledRows, statistic: str) -> list[tuple[str, int | None, float | None]]:
    """Return view, axes and width of the statistics of a view, in the order of `pooled_statistics`."""
    widths: tuple[float | None, ...] = WIDTHS if statistic == "mmd" else (None,)
    spaces = (*((None,) if rows.plain else ()), *rows.numbers)
    return [(view, axes, width) for axes in spaces for width in widths]


def pooled_statistics(rows: PooledRows, statistic: str, weights: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return the values of all statistics for all weights, and by how much equal ones may differ by rounding.

    Weights, of shape (contrasts, N, divisions), sum to 0 over the N graphs. Values are summed over contrasts.
    """
    if statistic == "linear":
        plain = [(rows.coordinates, (rows.coordinates.shape[1],))] if rows.plain else []
        T = np.concatenate([_means(*space, weights) for space in [*plain, (rows.whitened, rows.numbers)]])
        return T, 1e-11 * np.maximum(T.max(axis=1), 1e-300)
    kernels = _kernels(rows, statistic)
    N = len(rows.coordinates)
    dtype: Any = np.float64 if N <= SINGLE_PRECISION else np.float32
    T = np.zeros((len(kernels), weights.shape[2]))
    contrasts = [np.ascontiguousarray(weight, dtype) for weight in weights]
    for i in range(0, N, TILE):
        for j in range(i, N, TILE):
            some, others = slice(i, i + TILE), slice(j, j + TILE)
            both = 1 if i == j else 2  # the pairs (j, i) in addition to (i, j)
            blocks = [squares.astype(dtype) for squares in rows.squares(some, others)]
            for number, (space, function, level, _) in enumerate(kernels):
                block = function(blocks[space])
                block -= dtype(level)
                for weight in contrasts:
                    product = block @ weight[others]
                    T[number] += both * np.einsum("ij,ij->j", weight[some], product, dtype=np.float64)
    size = float((np.abs(weights[:, :, 0]).sum(axis=1) ** 2).sum())
    return T, 4 * float(np.finfo(dtype).eps) * np.array([spread for *_, spread in kernels]) * size


def _means(Z: FloatArray, numbers: tuple[int, ...], weights: FloatArray) -> FloatArray:
    """Return |w' Z|^2 over the first so many columns of Z, for all weights."""
    if not Z.shape[1]:
        return np.zeros((len(numbers), weights.shape[2]))
    running = np.cumsum(sum((weight.T @ Z) ** 2 for weight in weights), axis=1)
    return np.ascontiguousarray(running[:, [number - 1 for number in numbers]].T)


def _kernels(rows: PooledRows, statistic: str) -> list[tuple[int, Kernel, float, float]]:
    """Return for each statistic its space, its function of squared distances, and a level and a spread.

    The level, a typical value, is subtracted: this changes nothing but rounding, since weights sum to 0.
    """
    some = np.unique(np.linspace(0, len(rows.coordinates) - 1, SAMPLE).astype(np.int64))
    shown = replace(rows, coordinates=rows.coordinates[some], whitened=rows.whitened[some])
    kernels = []
    for space, squares in enumerate(shown.squares(slice(None), slice(None))):
        apart = squares[np.triu_indices(len(squares), 1)]
        apart = apart if len(apart) else np.zeros(1)
        functions: list[Kernel] = [lambda squares: np.asarray(-np.sqrt(squares))]
        if statistic == "mmd":
            median = float(np.median(apart[apart > 0])) if (apart > 0).any() else 1.0
            functions = [partial(_gaussian, -0.5 / (width**2 * median)) for width in WIDTHS]
        for function in functions:
            values = function(apart)
            level = float(values.mean())
            kernels.append((space, function, level, float(np.abs(values - level).mean())))
    return kernels


def _gaussian(scale: float, squares: FloatArray) -> FloatArray:
    return np.asarray(np.exp(scale * squares))


@dataclass(frozen=True)
class Divisions:
    """A pooled sample in random order, and random ways to divide it among the samples.

    The order is drawn first, so that nothing that is learned from the pool afterwards (axes, scales, subsets)
    can depend on which graph came from which sample. In the pool the graphs of the first sample come first.
    With `paired`, only partners are swapped.
    """

    sizes: tuple[int, ...]
    n_resamples: int
    seed: int
    paired: bool = False

    @cached_property
    def order(self) -> IntArray:
        """Positions in the pool, shuffled."""
        return np.random.default_rng([self.seed, 0]).permutation(sum(self.sizes))

    @property
    def labels(self) -> IntArray:
        """The sample of each graph, in the shuffled order."""
        return np.repeat(np.arange(len(self.sizes)), self.sizes)[self.order]

    def weights(self) -> Iterator[FloatArray]:
        """Yield weights, shape (samples or 1, N, divisions), some at a time. The first is the observed one.

        The weights of sample g are 1 / n_g on its own graphs less 1 / N on all, times sqrt(n_g). For two
        samples one difference of means is enough. They sum to 0 over the graphs.
        """
        random, labels = np.random.default_rng([self.seed, 1]), self.labels
        left, first = self.n_resamples, True
        while first or left:
            count = min(left, COLUMNS - first)
            if self.paired:
                swapped = random.random((count, self.sizes[0])) < 0.5
                divided = np.where(swapped[:, self.order % self.sizes[0]], 1 - labels, labels)
            else:
                divided = random.permuted(np.tile(labels, (count, 1)), axis=1)
            if first:
                divided = np.concatenate([labels[np.newaxis], divided])
            left, first = left - count, False
            yield self._weights(divided.T)

    def _weights(self, divided: IntArray) -> FloatArray:
        if len(self.sizes) == 2:
            return np.where(divided == 0, 1 / self.sizes[0], -1 / self.sizes[1])[np.newaxis]
        groups = [(group, n) for group, n in enumerate(self.sizes) if n]
        return np.stack([np.sqrt(n) * ((divided == group) / n - 1 / len(divided)) for group, n in groups])


def combined_pvalue(
    T: FloatArray, rounding: FloatArray, weights: FloatArray
) -> tuple[float, float, FloatArray, int]:
    """Combine statistics by the mean of p^(-1/2): small p-values count most, and several count more than one.

    See Vovk and Wang, Combining p-values via averaging, 2020. Counted p-values have many ties, so here each
    is taken from the gamma distribution that has the mean and the variance of its row (statistics are sums of
    squares of Gaussians, nearly). How well it fits does not matter to the level: the mean is compared with
    those of the permutations, which are computed in the same way.

    T, of shape (statistics, 1 + B), has the observed values in the first column. Values that differ by at
    most `rounding` are equal. Returns the combined statistic, its p-value, the p-value of each statistic, and
    which has the smallest.

    Examples
    --------
    >>> T = np.array([[3.0, 1.0, 2.0, 0.0], [1.0, 1.0, 1.0, 1.0]])
    >>> combined_pvalue(T, np.full(2, 1e-9), np.ones(2))[1:]
    (0.25, array([0.25, 1.  ]), 0)
    """
    T = np.where(np.abs(T - T[:, :1]) <= rounding[:, np.newaxis], T[:, :1], T)
    logs = _log_p(T)
    together = logsumexp(-logs / 2, b=weights[:, np.newaxis], axis=0)
    single = (T[:, :1] <= T).mean(axis=1)
    return float(together[0]), float((together >= together[0]).mean()), single, int(logs[:, 0].argmin())


def _log_p(T: FloatArray) -> FloatArray:
    mean, variance = T.mean(axis=1, keepdims=True), T.var(axis=1, keepdims=True)
    constant: BoolArray = (variance <= 0) | (mean <= 0)
    shape = np.divide(mean**2, variance, out=np.ones_like(mean), where=~constant)
    scale = np.divide(variance, mean, out=np.ones_like(mean), where=~constant)
    with np.errstate(divide="ignore"):  # log 0: no value could be larger
        logs = np.log(gammaincc(shape, np.maximum(T, 0) / scale))
    return np.asarray(np.where(constant, 0.0, logs))


def smallest_possible(sizes: Sequence[int], n_resamples: int, paired: bool = False) -> float:
    """Return the smallest p-value that samples of these sizes can have."""
    ways: int
    if paired:
        ways = 2 ** min(sizes[0], 1000)
    else:
        ways = prod(comb(sum(sizes[: number + 1]), n) for number, n in enumerate(sizes))
    equal = 2 if paired or (len(sizes) == 2 and sizes[0] == sizes[1]) else 1
    return float(max(1 / (1 + n_resamples), min(equal / ways, 1.0)))


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
    low, high = binomtest(successes, n).proportion_ci(0.95, "wilson")
    return Score(successes / n, float(low), float(high))


def bootstrap_counts(n: int, resamples: int, random: np.random.Generator) -> FloatArray:
    """Return how often each of n graphs is in each bootstrap sample, shape (n, resamples)."""
    return random.multinomial(n, np.full(n, 1 / n), size=resamples).T.astype(np.float64)


def percentile_score(value: float, resampled: FloatArray) -> Score:
    """Return a value with the interval that contains it and 95 % of the resampled ones."""
    low, high = np.quantile(resampled, [0.025, 0.975])
    return Score(value, float(min(low, value)), float(max(high, value)))


def energy_score(D: FloatArray, of_x: FloatArray, of_y: FloatArray) -> Score:
    """Return the energy distance of two samples with its interval by counts of bootstrap samples."""
    return percentile_score(_energy_of_all(D, len(of_x)), energy_distance(D, of_x, of_y))


def _energy_of_all(D: FloatArray, m: int) -> float:
    """Return the energy distance of the first m graphs from the others."""
    return float(energy_distance(D, np.ones((m, 1)), np.ones((len(D) - m, 1)))[0])


def energy_distance(D: FloatArray, of_x: FloatArray, of_y: FloatArray) -> FloatArray:
    """Return 2 mean d(x, y) - mean d(x, x') - mean d(y, y') for each column of counts, without bias.

    D has distances, those of the first sample first, or -k for MMD^2 with a kernel k. The counts, of shapes
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
    """Return the energy distance of pooled vectors, or of a random subset of many, with error bars."""
    random = np.random.default_rng([seed, 2])
    m, n = sizes
    first = random.permutation(m)[:MOST]
    second = first if paired else random.permutation(n)[:MOST]
    X, Y = Z[first].astype(np.float64), Z[m + second].astype(np.float64)
    X, Y = X - X.mean(axis=0), Y - X.mean(axis=0)  # distances stay, rounding gets less
    both = np.concatenate([X, Y])
    D = distances(both, both)
    of_x = bootstrap_counts(len(X), BOOTSTRAPS, random)
    of_y = of_x if paired else bootstrap_counts(len(Y), BOOTSTRAPS, random)
    score = energy_score(D, of_x, of_y)
    between = float(D[: len(X), len(X) :].mean())
    share = score.value / (2 * between) if between > 0 else 0.0
    error, used = _feature_error(both, D, len(X)), (len(X), len(Y))
    return Effect(view, score.value, score.low, score.high, error, share, used)


def _feature_error(both: FloatArray, D: FloatArray, m: int) -> float:
    """Return the jackknife error of the energy distance over groups of features, every G-th one in each."""
    M = both.shape[1]
    G = min(GROUPS, M)
    values = []
    for start in range(G):
        group = both[:, start::G]
        rest = np.maximum(D**2 - distances(group, group) ** 2, 0) * (M / max(M - group.shape[1], 1))
        values.append(_energy_of_all(np.sqrt(rest), m))
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
