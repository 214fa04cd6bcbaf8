"""Positions of graphs on a map, such that neighbors stay near each other.

All layouts start with exact nearest neighbors. t-SNE (scikit-learn) for small collections, UMAP (an extra)
for large ones, the first two principal axes if it is not installed.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from importlib.util import find_spec
from typing import Any

import numpy as np
from scipy.spatial import cKDTree

from grnf._utils.arrays import principal_axes
from grnf.typing import FloatArray, IntArray

__all__ = [
    "LAYOUTS",
    "NEIGHBORS",
    "ONTO",
    "choose_layout",
    "neighbor_recall",
    "positions_of_layout",
    "positions_onto",
]

LAYOUTS = ("auto", "tsne", "umap", "pca")
SMALL = 5_000
"""Graphs up to which t-SNE is the default."""

NEIGHBORS = 15
"""Neighbors that UMAP gets, and over which neighborhood preservation is counted."""

PERPLEXITY = 30
ONTO = 5


@dataclass(frozen=True)
class Layout:
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
    wanted = int(3 * _perplexity(n)) + 1 if name == "tsne" else 0
    return Layout(name, words[name], max(0, min(max(wanted, NEIGHBORS), n - 1)))


def _perplexity(n: int) -> float:
    return min(PERPLEXITY, (n - 1) / 4)


def positions_of_layout(
    layout: Layout, rows: FloatArray, near: IntArray, distances: FloatArray, seed: int
) -> FloatArray:
    """Return positions, shape (n, 2), centered, the farthest coordinate at 1.

    `near` and `distances`, of shape (n, k), are the nearest others of each row, nearest first.
    """
    start = _principal(rows)
    if layout.name == "pca" or len(rows) < 6:
        return _framed(start)
    start = start / (float(start[:, 0].std()) or 1.0)
    own = np.arange(len(rows))[:, np.newaxis]
    near = np.concatenate([own, near], axis=1)  # each graph itself comes first
    distances = np.concatenate([np.zeros(own.shape), np.maximum(distances, 1e-12)], axis=1)
    made = _tsne if layout.name == "tsne" else _umap
    return _framed(made(rows, start, near, distances, seed))


def _principal(rows: FloatArray) -> FloatArray:
    """Return the first two principal components, signs fixed."""
    if len(rows) < 2:
        return np.zeros((len(rows), 2))
    mean, _, axes = principal_axes(rows)
    axes = axes[:, :2] * np.sign(axes[np.abs(axes).argmax(axis=0), np.arange(axes.shape[1])])[:2]
    if axes.shape[1] < 2:
        axes = np.column_stack([axes, np.zeros(len(axes))])
    return np.asarray((rows - mean) @ axes)


def _tsne(
    rows: FloatArray, start: FloatArray, near: IntArray, distances: FloatArray, seed: int
) -> FloatArray:
    from scipy.sparse import csr_matrix
    from sklearn.manifold import TSNE

    n, k = near.shape
    graph = csr_matrix((distances.ravel(), near.ravel(), np.arange(0, n * k + 1, k)), shape=(n, n))
    init = (1e-4 * start).astype(np.float32)
    tsne = TSNE(perplexity=_perplexity(len(rows)), metric="precomputed", init=init, random_state=seed)
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Precomputed sparse input was not sorted")
        return np.asarray(tsne.fit_transform(graph))


def _umap(
    rows: FloatArray, start: FloatArray, near: IntArray, distances: FloatArray, seed: int
) -> FloatArray:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of what it imports, and that a fixed seed means one thread
        from umap import UMAP

        k = min(NEIGHBORS, near.shape[1] - 1)
        umap = UMAP(
            n_neighbors=k,
            precomputed_knn=(near[:, :k], distances[:, :k].astype(np.float32), None),
            init=10 * start,
            random_state=seed,
            force_approximation_algorithm=True,
        )
        return np.asarray(umap.fit_transform(rows))


def _framed(positions: Any) -> FloatArray:
    """Center a map, and bring it into [-1, 1] with one scale."""
    positions = np.asarray(positions, dtype=np.float64)
    if not len(positions):
        return np.zeros((0, 2))
    positions = positions - (positions.min(axis=0) + positions.max(axis=0)) / 2
    return np.asarray(positions / max(float(np.abs(positions).max()), 1e-12))


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
