"""Scores of generated against reference graphs: distances of distributions, nearest neighbors, duplicates."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

import numpy as np

from grnf.graphs import GraphBatch
from grnf.stats.effect import Interval, drawn_counts, energy_distance, percentiles, wilson
from grnf.stats.permutations import distances
from grnf.symmetry import Certificate, certificates
from grnf.typing import BoolArray, FloatArray

__all__ = [
    "Copies",
    "copies_among",
    "frechet_distance",
    "halves",
    "in_their_span",
    "neighbour_scores",
    "sample_distances",
]

MOST = 2000
"""Graphs of each side over which pairs are taken; more are sampled."""

ROWS = 1024
"""Rows of distances that are held at a time."""


def sample_distances(X: FloatArray, Y: FloatArray, resamples: int, seed: int) -> dict[str, Interval]:
    """Return energy distance, MMD^2 (Gaussian kernel) and Frechet distance, with bootstrap intervals.

    The first two have no bias; the width of the kernel is the median distance within Y.

    Parameters
    ----------
    X, Y : arrays, shapes (m, p), (n, p)
        Generated and reference vectors.
    """
    random = np.random.default_rng([seed, 3])
    some, others = X[random.permutation(len(X))[:MOST]], Y[random.permutation(len(Y))[:MOST]]
    both = np.concatenate([some, others])
    D = distances(both, both)
    counts = drawn_counts(len(some), resamples, random), drawn_counts(len(others), resamples, random)
    found = {"energy": _with_bars(D, *counts)}
    inside = D[len(some) :, len(some) :]
    apart = inside[np.triu_indices(len(inside), 1)]
    width = float(np.median(apart[apart > 0])) if (apart > 0).any() else 1.0
    found["mmd2"] = _with_bars(-np.exp(-0.5 * (D / width) ** 2), *counts)
    X, Y = in_their_span(X, Y)
    draws = [
        frechet_distance(X[random.integers(len(X), size=len(X))], Y[random.integers(len(Y), size=len(Y))])
        for _ in range(min(resamples, 100))
    ]
    # a resample has fewer distinct graphs, and so a larger distance: the excess is taken off
    value = frechet_distance(X, Y)
    found["frechet"] = percentiles(value, np.maximum(np.array(draws) - np.mean(draws) + value, 0))
    return found


def _with_bars(D: FloatArray, of_x: FloatArray, of_y: FloatArray) -> Interval:
    value = float(energy_distance(D, np.ones((len(of_x), 1)), np.ones((len(of_y), 1)))[0])
    return percentiles(value, energy_distance(D, of_x, of_y))


def in_their_span(X: FloatArray, Y: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return the rows along the axes in which they differ at all: no more than there are rows.

    Distances stay what they are; what is done to covariances takes the cube of the number of axes.
    """
    both = np.concatenate([X, Y])
    both -= both.mean(axis=0)
    few = len(both) < both.shape[1]
    squares, axes = np.linalg.eigh(both @ both.T if few else both.T @ both)
    kept = squares > np.finfo(np.float64).eps * len(squares) * squares[-1]
    along = axes[:, kept] * np.sqrt(squares[kept]) if few else both @ axes[:, kept]
    return along[: len(X)], along[len(X) :]


def frechet_distance(X: FloatArray, Y: FloatArray) -> float:
    """Return |mean - mean'|^2 + tr(S + S' - 2 (S S')^(1/2)) of the normal laws fitted to two samples.

    Examples
    --------
    >>> X = np.array([[0.0], [2.0]])
    >>> frechet_distance(X, X + 3.0)
    9.0
    """
    shift = X.mean(axis=0) - Y.mean(axis=0)
    S, R = _covariance(X), _covariance(Y)
    values, axes = np.linalg.eigh(S)
    root = (axes * np.sqrt(np.maximum(values, 0))) @ axes.T
    cross = np.sqrt(np.maximum(np.linalg.eigvalsh(root @ R @ root), 0)).sum()
    return float(max(shift @ shift + np.trace(S) + np.trace(R) - 2 * cross, 0.0))


def _covariance(X: FloatArray) -> FloatArray:
    centred = X - X.mean(axis=0)
    return np.asarray(centred.T @ centred / max(len(X) - 1, 1))


def neighbour_scores(X: FloatArray, Y: FloatArray, k: int, resamples: int, seed: int) -> dict[str, Interval]:
    """Return precision, recall, density and coverage of generated vectors X for reference vectors Y.

    Balls reach from each graph to the k-th nearest of its own side. Precision: the share of generated graphs
    in a ball of the reference. Recall: the share of reference graphs in a ball of the generated ones.
    Density: in how many balls a generated graph is, over k. Coverage: the share of balls of the reference
    that hold a generated graph. Shares have Wilson's interval, density that of the bootstrap.

    Examples
    --------
    >>> Y = np.arange(12.0)[:, np.newaxis]
    >>> found = neighbour_scores(Y[:6] + 0.1, Y, k=2, resamples=100, seed=0)
    >>> found["precision"].value, found["recall"].value
    (1.0, 0.6666666666666666)
    """
    near = _radii(Y, k)
    balls, covered = _inside(X, Y, near)
    recalled = _inside(Y, X, _radii(X, k))[0] > 0
    random = np.random.default_rng([seed, 4])
    density = balls / k
    drawn = density @ drawn_counts(len(X), resamples, random) / len(X)
    return {
        "precision": wilson(int((balls > 0).sum()), len(X)),
        "recall": wilson(int(recalled.sum()), len(Y)),
        "density": percentiles(float(density.mean()), drawn),
        "coverage": wilson(int(covered.sum()), len(Y)),
    }


def _inside(X: FloatArray, Y: FloatArray, radii: FloatArray) -> tuple[FloatArray, BoolArray]:
    """Return in how many balls around Y each of X is, and which balls hold any of X."""
    balls, covered = np.zeros(len(X)), np.zeros(len(Y), np.bool_)
    for start in range(0, len(X), ROWS):
        held = distances(X[start : start + ROWS], Y) <= radii
        balls[start : start + ROWS] = held.sum(axis=1)
        covered |= held.any(axis=0)
    return balls, covered


def _radii(X: FloatArray, k: int) -> FloatArray:
    """Return the distance of each row to its k-th nearest other row."""
    radii = np.empty(len(X))
    for start in range(0, len(X), ROWS):
        D = distances(X[start : start + ROWS], X)
        D[np.arange(len(D)), np.arange(start, start + len(D))] = 0  # the row itself comes first
        radii[start : start + ROWS] = np.partition(D, k, axis=1)[:, k]
    return radii


def halves(Y: FloatArray, seed: int) -> tuple[FloatArray, FloatArray]:
    """Return two halves of a sample at random: what a perfect generator would make, and a reference.

    Examples
    --------
    >>> first, second = halves(np.arange(5.0), seed=0)
    >>> len(first), sorted([*first.tolist(), *second.tolist()])
    (2, [0.0, 1.0, 2.0, 3.0, 4.0])
    """
    order = np.random.default_rng([seed, 5]).permutation(len(Y))
    return Y[order[: len(Y) // 2]], Y[order[len(Y) // 2 :]]


@dataclass(frozen=True)
class Copies:
    """What certificates say about generated graphs.

    Parameters
    ----------
    n : int
        Generated graphs.
    distinct : int
        Classes of isomorphic graphs among them.
    novel : int
        Graphs that are isomorphic to no graph of the reference.
    undecided : int
        Graphs that may be isomorphic to another one, which was not decided: they count as distinct and novel.
    """

    n: int
    distinct: int
    novel: int
    undecided: int


def copies_among(generated: GraphBatch, reference: GraphBatch) -> Copies:
    """Count classes of isomorphic graphs, attributes and directions included. Columns must be the same.

    Examples
    --------
    >>> from grnf import Graph
    >>> path, triangle = Graph(3, [(0, 1), (1, 2)]), Graph(3, [(0, 1), (1, 2), (2, 0)])
    >>> one = GraphBatch.from_graphs([path, path.permuted([1, 0, 2]), triangle])
    >>> copies_among(one, GraphBatch.from_graphs([triangle]))
    Copies(n=3, distinct=2, novel=2, undecided=0)
    """
    made, known = _certificates(generated, reference)
    forms = {certificate.form for certificate in known}
    unclear: dict[int, set[bytes]] = {}
    for certificate in (*made, *known):
        unclear.setdefault(certificate.value, set()).add(certificate.form)
    novel = [certificate for certificate in made if certificate.form not in forms]
    undecided = sum(_in_doubt(certificate, unclear) for certificate in made)
    return Copies(len(made), len({certificate.form for certificate in made}), len(novel), undecided)


def _in_doubt(certificate: Certificate, unclear: dict[int, set[bytes]]) -> bool:
    """Whether there is another form of the same value, and the tree was not finished."""
    return not certificate.finished and len(unclear[certificate.value]) > 1


def _certificates(*batches: GraphBatch) -> list[list[Certificate]]:
    """Return the certificates of the graphs of each batch, of as many levels as it takes.

    Most graphs are told apart by level 0; only those that are not are looked at again.
    """
    found = [certificates(batch, depth=0) for batch in batches]
    times = Counter(certificate.value for batch in found for certificate in batch)
    for batch, firsts in zip(batches, found, strict=True):
        again = [i for i, one in enumerate(firsts) if times[one.value] > 1 and not one.finished]
        for i, certificate in zip(again, certificates(batch.take(again)), strict=True):
            firsts[i] = certificate
    return found
