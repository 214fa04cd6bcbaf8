"""Is a generator of graphs any good? Generated against reference graphs, each score with an interval."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from math import isnan
from typing import Any

import numpy as np

from grnf import __version__
from grnf._utils.axes import principal_axes
from grnf._utils.rules import Int, OneOf, checked
from grnf.collection import Collection
from grnf.errors import GraphError
from grnf.stats.axes import rounding_variance
from grnf.stats.copies import copies_among
from grnf.stats.descriptor import GraphDescriptor
from grnf.stats.intervals import Interval, wilson
from grnf.stats.pooling import pooled_views
from grnf.stats.scores import halves, neighbour_scores, sample_distances
from grnf.stats.tables import Row, table
from grnf.stats.two_sample import TwoSampleResult, pooled_test
from grnf.typing import FloatArray

__all__ = ["Evaluation", "Score", "evaluate", "in_space"]

SIDES = ("generated", "reference")
AXES = 64
SHRINKAGE = 0.01

BETTER = {
    "energy": "lower", "mmd2": "lower", "frechet": "lower",
    "precision": "higher", "recall": "higher", "density": "higher", "coverage": "higher",
    "uniqueness": "higher", "novelty": "higher", "validity": "higher",
}  # fmt: skip
TITLES = {"energy": "energy distance", "mmd2": "MMD^2", "frechet": "Frechet distance"}


@dataclass(frozen=True)
class Score:
    """A score with its interval of 95 %, and what two halves of the reference have in its place."""

    value: float
    low: float
    high: float
    baseline: float | None = None


@dataclass(frozen=True)
class Evaluation:
    """Scores of generated graphs.

    Parameters
    ----------
    scores : dict from name to Score
        energy, mmd2, frechet; precision, recall, density, coverage; of graphs uniqueness and novelty too, and
        validity where a function says what is valid.
    test : TwoSampleResult
        Whether generated and reference graphs come from one law.
    undecided : int
        Generated graphs of which it is undecided whether they are copies; they count as new.
    protocol : dict
        What it takes to repeat the evaluation.
    """

    scores: dict[str, Score]
    test: TwoSampleResult
    undecided: int
    protocol: dict[str, Any] = field(repr=False)

    @property
    def p_value(self) -> float:
        """Of the two-sample test."""
        return self.test.p_value

    def __getitem__(self, name: str) -> Score:
        return self.scores[name]

    def to_dict(self) -> dict[str, Any]:
        """Return what JSON can hold."""
        scores = {
            name: {key: _number(getattr(score, key)) for key in ("value", "low", "high", "baseline")}
            for name, score in self.scores.items()
        }
        return {
            "scores": scores,
            "p_value": self.p_value,
            "undecided": self.undecided,
            "test": self.test.to_dict(),
            "protocol": self.protocol,
        }

    def to_table(self, format: str = "text") -> str:
        """Return the scores as a table: "text", "markdown", "latex", "html" or "csv"."""
        rows = [
            Row(TITLES.get(name, name), BETTER[name], score.value, score.low, score.high, score.baseline)
            for name, score in self.scores.items()
        ]
        return table(rows, self._notes(), format)

    def __str__(self) -> str:
        return self.to_table()

    def _notes(self) -> list[str]:
        sizes, made = self.protocol["sizes"], self.protocol["descriptor"]
        features = f"; M = {made['n_components']} features each" if "n_components" in made else ""
        how = f"{self.test.permutations:,} permutations; loudest: {self.test.loudest}"
        k, seed = self.protocol["k"], self.protocol["random_state"]
        space = f"{self.protocol['space']} space, {self.protocol['axes']} axes"
        notes = [
            f"{sizes[0]:,} generated, {sizes[1]:,} reference graphs",
            f"two-sample test: p = {self.p_value:.4g} ({how})",
            f"views: {', '.join(made['views'])}{features}; {space}; k = {k}; seed {seed}; grnf {__version__}",
        ]
        if self.undecided:
            notes.append(f"{self.undecided:,} generated graphs may be copies (undecided); counted as new")
        return notes


def evaluate(
    generated: Any,
    reference: Any,
    *,
    valid: Callable[[Any], bool] | None = None,
    n_unusable: int = 0,
    views: Any = "auto",
    space: str = "whitened",
    k: int = 5,
    permutations: int = 999,
    resamples: int = 400,
    n_components: int = 512,
    random_state: int = 0,
    names: tuple[str, str] = SIDES,
) -> Evaluation:
    """Compare generated with reference graphs.

    Parameters
    ----------
    generated, reference : collections of graphs of any kind, or arrays of vectors
        Of vectors there is no uniqueness, novelty and validity.
    valid : function of a generated graph, as it was given, to bool, optional
        For the share of valid graphs. The other scores are of all graphs that were given.
    n_unusable : int, default=0
        Generated graphs that could not even be read: they count as invalid.
    views : "auto", transformer, or dict of transformers, default="auto"
        What makes vectors of graphs, as in `GraphDescriptor`.
    space : "whitened" or "plain", default="whitened"
        Where distances are taken: along up to 64 axes of the reference that count alike (down to a hundredth
        of the largest variance), or as the vectors are.
    k : int, default=5
        Nearest neighbours that make a ball.
    permutations, resamples : int, default=999, 400
    n_components : int, default=512
        Features of each view.
    random_state : int, default=0
    names : pair of str, default=("generated", "reference")
        What messages call the collections.

    Examples
    --------
    >>> from grnf.datasets import make_sbm
    >>> graphs, y = make_sbm(120, random_state=0)
    >>> same = evaluate(graphs[:60], graphs[60:], n_components=64)
    >>> one, two = ([g for g, label in zip(graphs, y) if label == side] for side in (0, 1))
    >>> other = evaluate(one, two, n_components=64)
    >>> same["energy"].value < other["energy"].value, same.p_value > 0.05, other.p_value
    (True, True, 0.001)
    """
    checked(space, "space", OneOf("whitened", "plain"))
    n_unusable = checked(n_unusable, "n_unusable", Int(0))
    k, resamples = checked(k, "k", Int(1)), checked(resamples, "resamples", Int(10))
    descriptor = GraphDescriptor(n_components, views=views, random_state=random_state)
    samples, pooled = pooled_views([generated, reference], names, descriptor)
    _check_neighbours(samples, k)
    test = pooled_test(samples, pooled, descriptor, permutations=permutations, random_state=random_state)
    m = len(samples[0])
    sides = [{name: Z[rows] for name, Z in pooled.items()} for rows in (slice(m), slice(m, None))]
    X, Y = in_space(sides[0], sides[1], space)
    bars = _scores(X, Y, k, resamples, random_state)
    scores = _with_baselines(bars, Y, k, random_state)
    undecided = 0
    graphs = samples[0].graphs
    if graphs is not None:
        copies = copies_among(samples[0].batch, samples[1].batch)
        scores["uniqueness"] = _share(wilson(copies.distinct, copies.n))
        scores["novelty"] = _share(wilson(copies.novel, copies.n))
        undecided = copies.undecided
    if valid is not None or n_unusable:
        scores["validity"] = _share(_validity(graphs, valid, n_unusable))
    settings = {"space": space, "axes": int(X.shape[1]), "k": k, "resamples": resamples}
    settings |= {"n_unusable": n_unusable}
    return Evaluation(scores, test, undecided, {**test.protocol, **settings})


def _check_neighbours(samples: Sequence[Collection], k: int) -> None:
    for sample in samples:
        n = len(sample)
        if n <= k:
            raise GraphError(
                f"{sample.name} has {n} graph{'s' * (n != 1)}, and the {k} nearest neighbors of each are "
                f"needed: give more than {k} graphs, or a smaller k"
            )


def in_space(
    generated: Mapping[str, FloatArray], reference: Mapping[str, FloatArray], space: str = "whitened"
) -> tuple[FloatArray, FloatArray]:
    """Return generated and reference rows in the space whose distances are compared, from their views.

    Examples
    --------
    >>> views = {"one": np.arange(12.0).reshape(6, 2)}
    >>> X, Y = in_space(views, views)
    >>> X.shape, bool(np.abs(X - Y).max() < 1e-6)
    ((6, 2), True)
    """
    X, Y = (
        np.hstack([np.asarray(side[view], dtype=np.float64) for view in reference]) / np.sqrt(len(reference))
        for side in (generated, reference)
    )
    if space == "plain":
        return X - Y.mean(axis=0), Y - Y.mean(axis=0)
    mean, variances, axes = _principal_axes(Y)
    unit = max(float(np.finfo(np.asarray(Z).dtype).eps) for Z in reference.values())
    least = rounding_variance(Y, unit)
    if variances[0] <= least:  # the reference is one point: there is nothing to weigh by
        apart = X - mean
        apart[np.einsum("ij,ij->i", apart, apart) <= least] = 0
        return apart, np.zeros_like(Y)
    axes = axes[:, :AXES] / np.sqrt(variances + SHRINKAGE * variances[0])[:AXES]
    return (X - mean) @ axes, (Y - mean) @ axes


def _principal_axes(Y: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return mean, variances and axes; of few long vectors no more axes than there are vectors."""
    if len(Y) >= Y.shape[1]:
        return principal_axes(Y)
    mean = Y.mean(axis=0)
    _, lengths, turned = np.linalg.svd(Y - mean, full_matrices=False)
    return mean, lengths**2 / len(Y), turned.T


def _scores(X: FloatArray, Y: FloatArray, k: int, resamples: int, seed: int) -> dict[str, Interval]:
    return sample_distances(X, Y, resamples, seed) | neighbour_scores(X, Y, k, resamples, seed)


def _with_baselines(found: dict[str, Interval], Y: FloatArray, k: int, seed: int) -> dict[str, Score]:
    first, second = halves(Y, seed)
    base: Mapping[str, Interval] = _scores(first, second, k, 10, seed) if len(first) > k else {}
    return {
        name: Score(bars.value, bars.low, bars.high, base[name].value if name in base else None)
        for name, bars in found.items()
    }


def _share(found: Interval) -> Score:
    return Score(found.value, found.low, found.high)


def _validity(graphs: Any, valid: Callable[[Any], bool] | None, n_unusable: int) -> Interval:
    if graphs is None:
        raise GraphError("valid is a function of graphs; got vectors")
    good = len(graphs) if valid is None else sum(bool(valid(graph)) for graph in graphs)
    return wilson(good, len(graphs) + n_unusable)


def _number(value: float | None) -> float | None:
    return None if value is None or isnan(value) else float(value)
