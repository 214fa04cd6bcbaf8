"""The nearest graphs of each graph of a map, and positions of graphs that keep them near.

Nearest graphs are exact, and have error bars of d_P and a correspondence of nodes. Layouts
start with them: t-SNE (scikit-learn) for small collections, UMAP (an extra) for large ones, the first two
principal axes if it is not installed.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from importlib.util import find_spec
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from scipy.spatial import cKDTree

from grnf._utils.arrays import principal_axes
from grnf._utils.running import progress
from grnf.edits.comparison import correspondence
from grnf.io.raw import RawGraph
from grnf.metric import DistanceEstimate, distance
from grnf.metric.estimate import ROUNDING, distance_errors, distance_terms, standard_errors
from grnf.search import GraphIndex
from grnf.typing import FloatArray, IntArray

LAYOUTS = ("auto", "tsne", "umap", "pca")
SMALL = 5_000
"""Graphs up to which t-SNE is the default."""

NEIGHBORS = 15
"""Neighbors that UMAP gets, and over which neighborhood preservation is counted."""

PERPLEXITY = 30
ONTO = 5


BETTING_PAIRS = 12_000
"""Pairs up to which intervals come by betting (2.4 ms each on one core); more get those of Bernstein."""

PAIRS = 4_096


class Layout(NamedTuple):
    """A layout by name, its description, and the number of nearest neighbors that it needs."""

    name: str
    words: str
    n_neighbors: int


def choose_layout(name: str, n: int) -> Layout:
    """Return the layout for n graphs."""
    umap = find_spec("umap") is not None
    if name == "umap" and not umap:
        raise ImportError("UMAP is not installed: pip install 'grnf[map]', or choose the layout tsne or pca")
    why = ""
    if n < 6:
        name, why = "pca", " (fewer than 6 graphs)"
    elif name == "auto":
        name = "tsne" if n <= SMALL else "umap" if umap else "pca"
        if name == "pca":
            why = f": more than {SMALL:,} graphs need UMAP, which is not installed (pip install 'grnf[map]')"
    words = {
        "tsne": f"t-SNE of the exact nearest neighbors (perplexity {_perplexity(n):g})",
        "umap": f"UMAP of the exact {min(NEIGHBORS, n - 1)} nearest neighbors",
        "pca": f"the first two principal axes of the vectors{why}",
    }
    needed = int(3 * _perplexity(n)) + 1 if name == "tsne" else 0
    return Layout(name, words[name], max(0, min(max(needed, NEIGHBORS), n - 1)))


def _perplexity(n: int) -> float:
    return min(PERPLEXITY, (n - 1) / 4)


def positions_of_layout(
    layout: Layout, rows: FloatArray, near: IntArray, distances: FloatArray, seed: int
) -> FloatArray:
    """Return positions, shape (n, 2), centered, the farthest coordinate at 1.

    `near` and `distances`, of shape (n, k), are the nearest others of each row, nearest first.
    """
    positions, n = _principal(rows), len(rows)
    if layout.name != "pca":
        start = positions / (float(positions[:, 0].std()) or 1.0)
        near = np.column_stack([np.arange(n), near])  # each graph itself comes first
        distances = np.column_stack([np.zeros(n), np.maximum(distances, 1e-12)])
        made = _tsne if layout.name == "tsne" else _umap
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # imports of UMAP, one thread by a fixed seed, unsorted distances
            positions = np.asarray(made(rows, start, near, distances, seed), dtype=np.float64)
    if not n:
        return np.zeros((0, 2))
    positions = positions - (positions.min(axis=0) + positions.max(axis=0)) / 2
    return np.asarray(positions / max(float(np.abs(positions).max()), 1e-12))


def _principal(rows: FloatArray) -> FloatArray:
    """Return the first two principal components, signs fixed."""
    if len(rows) < 2:
        return np.zeros((len(rows), 2))
    mean, _, axes = principal_axes(rows)
    axes = axes[:, :2] * np.sign(axes[np.abs(axes).argmax(axis=0), np.arange(axes.shape[1])])[:2]
    if axes.shape[1] < 2:
        axes = np.column_stack([axes, np.zeros(len(axes))])
    return np.asarray((rows - mean) @ axes, dtype=np.float64)


def _tsne(rows: FloatArray, start: FloatArray, near: IntArray, distances: FloatArray, seed: int) -> Any:
    from scipy.sparse import csr_matrix
    from sklearn.manifold import TSNE

    n, k = near.shape
    graph = csr_matrix((distances.ravel(), near.ravel(), np.arange(0, n * k + 1, k)), shape=(n, n))
    init = (1e-4 * start).astype(np.float32)
    tsne = TSNE(perplexity=_perplexity(len(rows)), metric="precomputed", init=init, random_state=seed)
    return tsne.fit_transform(graph)


def _umap(rows: FloatArray, start: FloatArray, near: IntArray, distances: FloatArray, seed: int) -> Any:
    from umap import UMAP

    k = min(NEIGHBORS, near.shape[1] - 1)
    umap = UMAP(
        n_neighbors=k,
        precomputed_knn=(near[:, :k], distances[:, :k].astype(np.float32), None),
        init=10 * start,
        random_state=seed,
        force_approximation_algorithm=True,
    )
    return umap.fit_transform(rows)


def neighbor_recall(positions: FloatArray, near: IntArray) -> FloatArray:
    """Return for each graph the share of its nearest graphs that are among as many nearest on the map."""
    n, k = near.shape
    if not n or not k:
        return np.ones(n)
    nearest = np.asarray(cKDTree(positions).query(positions, k=k + 1)[1]).reshape(n, k + 1)
    own = nearest == np.arange(n)[:, np.newaxis]
    own[~own.any(axis=1), -1] = True  # of many points at the same position, it may not be among the nearest
    others = nearest[~own].reshape(n, k)
    return np.array([len(np.intersect1d(a, b)) / k for a, b in zip(others, near, strict=True)])


def positions_onto(old: FloatArray, near: IntArray, distances: FloatArray) -> FloatArray:
    """Return positions of new graphs on an existing map: means of their nearest graphs, weighted by distance.

    `near` and `distances`, of shape (n_new, k), are the nearest graphs of the map of each new graph.
    """
    near, distances = near[:, :ONTO], distances[:, :ONTO]
    smallest = np.maximum(distances[:, :1], 1e-9)
    weights = np.square(smallest / np.maximum(distances, 1e-9))
    weights[(distances[:, 0] == 0)[:, np.newaxis] & (distances > 0)] = 0  # a duplicate has the same position
    weights /= weights.sum(axis=1, keepdims=True)
    return np.asarray(np.einsum("ij,ijk->ik", weights, old[near]))


@dataclass(frozen=True, eq=False)
class Nearest:
    """Rows of the k nearest others of each graph, d_P with error bars, and what these are."""

    rows: npt.NDArray[np.uint32]
    distances: FloatArray
    low: FloatArray
    high: FloatArray
    words: str


@dataclass(frozen=True, eq=False)
class Mappings:
    """Correspondences of graphs with their nearest graphs.

    `lengths`, shape (n, k), are the nodes of the graph, 0 for a pair without correspondence. `images` are the
    nodes of the nearest graph that these correspond to, one pair after the other, 65,535 for none.
    """

    lengths: npt.NDArray[np.uint16]
    images: npt.NDArray[np.uint16]


def nearest_others(
    rows: FloatArray, k: int, space: str, n_jobs: int | None = None
) -> tuple[IntArray, FloatArray]:
    """Return the rows and distances of the k nearest others of each row: exactly, in that space."""
    n = len(rows)
    k = min(k, n - 1)
    if n < 2 or k < 1:
        return np.zeros((n, 0), np.int64), np.zeros((n, 0))
    index = GraphIndex(space=space, n_jobs=n_jobs).add(rows)
    near, far = np.empty((n, k), np.int64), np.empty((n, k))
    with progress(n, "nearest graphs") as advance:
        for start in range(0, n, PAIRS):
            some = slice(start, min(start + PAIRS, n))
            names = [str(row) for row in range(some.start, some.stop)]
            hits = index.search(rows[some], k, ids=names, others=True)
            near[some], far[some] = hits.rows, hits.distances
            advance(len(names))
    return near, far


def precision_of(transformer: Any) -> dict[str, Any] | None:
    """Return what intervals need of the features, or None if a transformer does not estimate d_P."""
    return dict(transformer._precision()) if hasattr(transformer, "_precision") else None


def upper_bounds_of(
    transformer: Any, graphs: Sequence[RawGraph]
) -> Callable[[int, list[int]], FloatArray] | None:
    """Return a function that computes what d_P^2 of a graph and others is at most, if it can be known."""
    if not hasattr(transformer, "_upper_bounds"):
        return None
    return lambda i, others: transformer._upper_bounds([graphs[i]], [graphs[j] for j in others])[0]


def intervals(
    Z: FloatArray,
    near: IntArray,
    distances: FloatArray,
    precision: dict[str, Any] | None,
    confidence: float | None,
    upper: Callable[[int, list[int]], FloatArray] | None = None,
) -> Nearest:
    """Return the nearest graphs with standard errors, or intervals that contain d_P with that probability.

    `upper` computes what d_P^2 of a graph and others is at most. Intervals do not go beyond it.
    """
    n, k = near.shape
    rows = near.astype(np.uint32)
    if precision is None:
        return Nearest(rows, distances, distances, distances, "distances of vectors, without error bars")
    both = np.sort(np.column_stack([np.repeat(np.arange(n), k), near.ravel()]), axis=1)
    pairs, back = np.unique(both, axis=0, return_inverse=True)  # often each is among the nearest of the other
    method, words = _method(precision, len(pairs), confidence)
    ends = np.empty((len(pairs), 2))
    with progress(len(pairs), "error bars") as advance:
        for start in range(0, len(pairs), PAIRS):
            some = pairs[start : start + PAIRS]
            if confidence is None:
                first, second = Z[some[:, 0]], Z[some[:, 1]]
                values = np.linalg.norm(np.subtract(first, second, dtype=np.float64), axis=1)
                heads, exact = precision.get("heads", 1), precision.get("exact", False)
                errors = distance_errors(first, second, heads, exact)
                found: Any = np.stack([np.maximum(values - errors, 0), values + errors], axis=1)
            else:
                estimates: Iterable[DistanceEstimate] = (
                    _estimates(Z, some, precision)
                    if method == "bernstein"
                    else (distance(Z[i], Z[j], **precision) for i, j in some.tolist())
                )
                found = [
                    replace(estimate, upper=bound).interval(confidence, method)
                    for estimate, bound in zip(estimates, _bounds(some, upper), strict=True)
                ]
            ends[start : start + len(some)] = found
            advance(len(some))
    low, high = np.moveaxis(ends[back.ravel()].reshape(n, k, 2), 2, 0)
    return Nearest(rows, distances, low, high, words)


def _method(precision: dict[str, Any], n_pairs: int, confidence: float | None) -> tuple[str | None, str]:
    if precision.get("exact"):
        return None, "exact: the distribution has these features alone"
    if confidence is None:
        return None, "plus or minus one standard error"
    if not np.isfinite(precision["largest_term"]):
        return "clt", "normal approximation"
    if n_pairs <= BETTING_PAIRS:
        return "betting", "valid for every number of features, by betting"
    return "bernstein", "valid for every number of features, by Bernstein's bound (shorter in grnf compare)"


def _bounds(
    pairs: IntArray, upper: Callable[[int, list[int]], FloatArray] | None
) -> list[Callable[[], float] | None]:
    """Return the bounds of pairs, which are sorted, as `DistanceEstimate` takes them."""
    if upper is None:
        return [None] * len(pairs)
    starts = np.flatnonzero(np.diff(pairs[:, 0])) + 1
    groups = np.split(pairs, starts)
    return [partial(float, bound) for own in groups for bound in upper(int(own[0, 0]), own[:, 1].tolist())]


def _estimates(Z: FloatArray, pairs: IntArray, precision: dict[str, Any]) -> Iterator[DistanceEstimate]:
    """Yield estimates without their terms, all at once."""
    terms = distance_terms(Z[pairs[:, 0]], Z[pairs[:, 1]], precision.get("heads", 1))
    count, largest = terms.shape[1], precision["largest_term"]
    rounding = ROUNDING * float(np.finfo(Z.dtype).eps)
    moments = zip(terms.mean(axis=1).tolist(), standard_errors(terms).tolist(), strict=True)
    return (DistanceEstimate(mean, error, count, largest, rounding=rounding) for mean, error in moments)


def pair_mappings(graphs: Sequence[RawGraph], near: IntArray, shown: Sequence[int]) -> Mappings:
    """Return the correspondence of each graph with its nearest graphs, as `grnf.compare` finds it.

    `shown` are the nodes of each graph that are drawn. Pairs with a graph without any are left out.
    """
    lengths = np.zeros(near.shape, np.uint16)
    images = [np.empty(0, np.uint16)]
    with progress(len(near), "correspondence of nearest graphs") as advance:
        for i, others in enumerate(near.tolist()):
            for j, other in enumerate(others):
                if shown[i] and shown[other]:
                    images.append(correspondence(graphs[i], graphs[other]).astype(np.uint16))  # -1: 65,535
                    lengths[i, j] = len(images[-1])
            advance(1)
    return Mappings(lengths, np.concatenate(images))
