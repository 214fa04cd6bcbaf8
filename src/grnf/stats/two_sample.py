"""Do two collections of graphs differ? One permutation test over several views and numbers of axes."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np

from grnf._utils.rules import Bool, Int, OneOf, checked
from grnf._version import __version__
from grnf.collection import Collection
from grnf.errors import GraphError, GrnfWarning
from grnf.stats.descriptor import GraphDescriptor
from grnf.stats.effect import Effect, Witness, effect_of, witnesses
from grnf.stats.permutations import (
    STATISTICS,
    Member,
    Shuffled,
    members,
    p_values_of,
    pooled_statistics,
    smallest_possible,
)
from grnf.stats.pooling import AXES, pooled_rows, pooled_views
from grnf.typing import FloatArray

__all__ = [
    "KSampleResult",
    "PooledTest",
    "TwoSampleResult",
    "k_sample_test",
    "pooled_test",
    "two_sample_test",
]

AS_IT_IS = 2.0
"""How much vectors as they are count beside those along axes, which few graphs do not show well."""


@dataclass(frozen=True)
class KSampleResult:
    """Whether samples come from one law.

    Parameters
    ----------
    p_value : float
        Of all statistics together. Below alpha with probability alpha at most if the samples come from one
        law, for any sizes and any number of features.
    statistics : list of (Member, float, float)
        Each statistic that was looked at, its value and its p-value by itself.
    loudest : Member
        The one that speaks loudest.
    sizes : tuple of int
    permutations : int
    protocol : dict
        What it takes to repeat the test.
    """

    p_value: float
    statistics: list[tuple[Member, float, float]] = field(repr=False)
    loudest: Member
    sizes: tuple[int, ...]
    permutations: int
    protocol: dict[str, Any] = field(repr=False)

    def to_dict(self) -> dict[str, Any]:
        """Return what JSON can hold."""
        return {
            "p_value": self.p_value,
            "sizes": list(self.sizes),
            "permutations": self.permutations,
            "loudest": str(self.loudest),
            "statistics": [
                {**asdict(member), "value": value, "p_value": p} for member, value, p in self.statistics
            ],
            "protocol": self.protocol,
        }

    def __str__(self) -> str:
        lines = [
            f"samples of {', '.join(f'{n:,}' for n in self.sizes)} graphs",
            f"p = {self.p_value:.4g} ({self.permutations:,} permutations)",
            f"speaks loudest: {self.loudest}",
        ]
        return "\n".join(lines)


@dataclass(frozen=True)
class TwoSampleResult(KSampleResult):
    """Whether two samples come from one law, how far they are apart, and which graphs show it.

    Parameters
    ----------
    effect : Effect
        The energy distance between the samples, with error bars over graphs and over features.
    witnesses_x, witnesses_y : list of Witness
        The graphs that are most typical of one sample and least of the other.
    """

    effect: Effect
    witnesses_x: list[Witness]
    witnesses_y: list[Witness]

    def to_dict(self) -> dict[str, Any]:
        """Return what JSON can hold."""
        found = {
            "effect": asdict(self.effect),
            "witnesses_x": [asdict(witness) for witness in self.witnesses_x],
            "witnesses_y": [asdict(witness) for witness in self.witnesses_y],
        }
        return super().to_dict() | found

    def __str__(self) -> str:
        lines = [super().__str__(), str(self.effect)]
        for side, found in (("first", self.witnesses_x), ("second", self.witnesses_y)):
            if found:
                names = ", ".join(witness.id for witness in found)
                lines.append(f"typical of the {side} sample and not of the other: {names}")
        return "\n".join(lines)


def two_sample_test(
    X: Any,
    Y: Any,
    *,
    views: Any = "auto",
    statistic: str = "energy",
    axes: Sequence[int] = AXES,
    permutations: int = 999,
    paired: bool = False,
    n_components: int = 512,
    n_witnesses: int = 5,
    ids: tuple[Sequence[str], Sequence[str]] | None = None,
    random_state: int = 0,
) -> TwoSampleResult:
    """Test whether two collections come from one law.

    Several views of the graphs, as they are and along whitened axes of the pooled sample, are looked at in
    one permutation test: its p-value holds for any sizes and any number of features.

    Parameters
    ----------
    X, Y : collections of graphs of any kind; arrays of vectors, shape (n, M); or dicts from view to array
    views : "auto", transformer, or dict of transformers, default="auto"
        What makes vectors of graphs, as in `GraphDescriptor`.
    statistic : "energy", "mmd" or "linear", default="energy"
        Energy distance; MMD^2 with Gaussian kernels of several widths; or distances of mean vectors, whose
        cost is linear in the number of graphs.
    axes : sequence of int, default=(8, 16, 32, 64)
        Numbers of whitened axes to look at, beside the vectors as they are; at most a third of the number of
        graphs. Empty: the vectors as they are only.
    permutations : int, default=999
    paired : bool, default=False
        Graph i of X belongs to graph i of Y (before and after, say): partners are swapped, not shuffled.
    n_components : int, default=512
        Features of each view.
    n_witnesses : int, default=5
    ids : pair of sequences of str, optional
        What the graphs are called; by default as they call themselves, or by their numbers.
    random_state : int, default=0
        Of features, permutations and resamples.

    Examples
    --------
    >>> from grnf.datasets import make_sbm
    >>> graphs, y = make_sbm(60, random_state=0)
    >>> one = [graph for graph, label in zip(graphs, y) if label == 0]
    >>> two = [graph for graph, label in zip(graphs, y) if label == 1]
    >>> two_sample_test(one, two, n_components=64).p_value
    0.001
    >>> two_sample_test(one, one, n_components=64).p_value
    1.0
    """
    descriptor = GraphDescriptor(n_components, views=views, random_state=random_state)
    samples, pooled = pooled_views([X, Y], ("X", "Y"), descriptor, ids)
    settings: dict[str, Any] = {"statistic": statistic, "axes": axes, "permutations": permutations}
    settings |= {"paired": paired, "random_state": random_state}
    n_witnesses = checked(n_witnesses, "n_witnesses", Int(0))
    return pooled_test(samples, pooled, descriptor, n_witnesses=n_witnesses, **settings)


def k_sample_test(
    samples: Sequence[Any],
    *,
    views: Any = "auto",
    statistic: str = "energy",
    axes: Sequence[int] = AXES,
    permutations: int = 999,
    n_components: int = 512,
    random_state: int = 0,
) -> KSampleResult:
    """Test whether several collections come from one law.

    Parameters are those of `two_sample_test`; the statistics are sums over the samples of their distances
    from the pooled sample, n_g times.

    Examples
    --------
    >>> random = np.random.default_rng(0)
    >>> samples = [random.normal(shift, size=(20, 3)) for shift in (0, 0, 2)]
    >>> k_sample_test(samples).p_value
    0.001
    """
    samples = list(samples)
    if len(samples) < 2:
        raise GraphError(f"a test needs at least two samples, got {len(samples)}")
    descriptor = GraphDescriptor(n_components, views=views, random_state=random_state)
    names = [f"samples[{place}]" for place in range(len(samples))]
    found, pooled = pooled_views(samples, names, descriptor)
    settings: dict[str, Any] = {"statistic": statistic, "axes": axes, "permutations": permutations}
    test = PooledTest(pooled, tuple(map(len, found)), descriptor, random_state=random_state, **settings)
    return KSampleResult(**test.found)


def pooled_test(
    samples: Sequence[Collection],
    pooled: dict[str, FloatArray],
    descriptor: GraphDescriptor,
    *,
    n_witnesses: int = 5,
    **settings: Any,
) -> TwoSampleResult:
    """Test two samples that `pooled_views` returned; the settings are parameters of `two_sample_test`."""
    sizes = tuple(map(len, samples))
    test = PooledTest(pooled, sizes, descriptor, **settings)
    member: Member = test.found["loudest"]
    rows = test.rows[member.view]
    space = rows.coordinates if member.axes is None else rows.whitened[:, : member.axes]
    first, second = witnesses(space, test.shuffled.labels, test.shuffled.order, samples, n_witnesses)
    view, Z = next(iter(pooled.items()))
    protocol = test.found["protocol"]
    effect = effect_of(view, Z, sizes, protocol["paired"], protocol["random_state"])
    return TwoSampleResult(**test.found, effect=effect, witnesses_x=first, witnesses_y=second)


class PooledTest:
    """The permutation test over all views of pooled samples; `found` has its results.

    Parameters
    ----------
    views : dict from name to array, shape (N, M)
        Vectors of all samples, those of the first sample first.
    sizes : tuple of int
    descriptor : GraphDescriptor, optional
        What made the vectors.
    statistic, axes, permutations, paired, random_state
        As in `two_sample_test`.
    """

    def __init__(
        self,
        views: Mapping[str, FloatArray],
        sizes: tuple[int, ...],
        descriptor: GraphDescriptor | None = None,
        *,
        statistic: str = "energy",
        axes: Sequence[int] = AXES,
        permutations: int = 999,
        paired: bool = False,
        random_state: int = 0,
    ) -> None:
        checked(statistic, "statistic", OneOf(*STATISTICS))
        permutations = checked(permutations, "permutations", Int(1))
        axes = [checked(number, "axes", Int(1)) for number in axes]
        seed = checked(random_state, "random_state", Int(0))
        if checked(paired, "paired", Bool()) and sizes[0] != sizes[1]:
            raise GraphError(f"paired=True needs as many graphs in Y as in X; got {sizes}")
        least = smallest_possible(sizes, permutations, paired)
        if least > 0.05:
            text = f"with {' and '.join(map(str, sizes))} graphs and {permutations} permutations no p-value "
            warnings.warn(f"{text}below {least:.2g} is possible", GrnfWarning, stacklevel=4)
        self.shuffled = Shuffled(sizes, permutations, seed, paired)
        order, axes_only = self.shuffled.order, getattr(descriptor, "axes_only_", ())
        self.rows = {name: pooled_rows(Z[order], axes, name in axes_only) for name, Z in views.items()}
        looked_at = [member for name, rows in self.rows.items() for member in members(name, rows, statistic)]
        T, rounding = self._values(statistic)
        weights = np.array([AS_IT_IS if member.axes is None else 1.0 for member in looked_at])
        p_value, p_values, loudest = p_values_of(T, rounding, weights)
        made = {"views": {name: f"vectors of length {Z.shape[1]}" for name, Z in views.items()}}
        if descriptor is not None and hasattr(descriptor, "views_"):
            made = descriptor.protocol()
        self.found: dict[str, Any] = {
            "p_value": p_value,
            "statistics": [
                (member, float(max(value, 0.0)), float(p))
                for member, value, p in zip(looked_at, T[:, 0], p_values, strict=True)
            ],
            "loudest": looked_at[loudest],
            "sizes": sizes,
            "permutations": permutations,
            "protocol": {
                "version": __version__,
                "statistic": statistic,
                "axes": axes,
                "paired": paired,
                "random_state": seed,
                "permutations": permutations,
                "sizes": list(sizes),
                "descriptor": made,
            },
        }

    def _values(self, statistic: str) -> tuple[FloatArray, FloatArray]:
        """Return the statistics for all shuffles, what was seen first, and by how much they are rounded."""
        found, rounding = [], np.zeros(0)
        for weights in self.shuffled.contrasts():
            parts = [pooled_statistics(rows, statistic, weights) for rows in self.rows.values()]
            found.append(np.concatenate([T for T, _ in parts]))
            rounding = np.concatenate([error for _, error in parts])
        return np.concatenate(found, axis=1), rounding
