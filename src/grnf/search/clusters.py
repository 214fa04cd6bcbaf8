"""Clusters of graphs: all within a radius of a central graph, dense regions, or connected components."""

from __future__ import annotations

import logging
import time
from dataclasses import KW_ONLY, dataclass
from typing import Any, Self

import numpy as np
from scipy.sparse import csr_matrix
from sklearn.base import BaseEstimator, ClusterMixin

from grnf._utils.arrays import row_sample
from grnf._utils.jit import compiled
from grnf._utils.rules import Int, OneOf, checked_parameters, param
from grnf.collection import Collection, vectors_of
from grnf.errors import GraphError
from grnf.estimators import JointFeatures
from grnf.search.self_join import SelfJoin
from grnf.search.whitening import SPACES, checked_radius, space_map
from grnf.typing import FloatArray, IntArray

logger = logging.getLogger("grnf")

MOST_PAIRS = 10**8
"""Pairs of near rows that are stored at most, in about 25 bytes each."""

NOTICE = 20.0
"""Expected seconds of a join from which on they are reported before it starts."""

HDBSCAN_ROWS = 2048
"""Rows whose time gives the expected time of HDBSCAN, which is quadratic."""


def rows_of(X: Any, transformer: Any, space: str, n_jobs: int | None) -> tuple[Collection, FloatArray]:
    """Return graphs or vectors as a collection, and its rows after the map of the space."""
    if transformer is None:
        transformer = JointFeatures(random_state=0, n_jobs=n_jobs)
    collection = vectors_of(X, transformer)
    return collection, space_map(space, collection.vectors)(collection.vectors)


def radius_of(join: SelfJoin, radius: float | None) -> float:
    """Return a radius, by default the median distance to the nearest neighbor."""
    return join.usual_distance() if radius is None else checked_radius(radius)


@dataclass(eq=False, repr=False)
class GraphClusterer(ClusterMixin, BaseEstimator):  # type: ignore[misc]
    """Cluster graphs, or vectors, by their distances.

    Parameters
    ----------
    method : "butina" or "hdbscan", default="butina"
        "butina": the graph with the most neighbors within the radius and these neighbors are the first
        cluster, and so on among the graphs that are left (Butina 1999). Neighbors are counted once, at the
        start. Of graphs with equally many neighbors, the last comes first. The result is that of
        ``rdkit.ML.Cluster.Butina.ClusterData(..., reordering=False)`` on the same distances. "hdbscan":
        `sklearn.cluster.HDBSCAN` on the vectors, whose time is quadratic.
    radius : float, optional
        For "butina". By default the median distance of a graph to its nearest neighbor.
    min_cluster_size : int, default=5
        For "hdbscan".
    transformer : object with `transform`, optional
        Makes vectors of graphs. By default ``JointFeatures(random_state=0)``.
    space : "plain" or "whitened", default="plain"
        As in `GraphIndex`.
    n_jobs : int, optional
        Threads.

    Attributes
    ----------
    labels_ : array of int, shape (n,)
        Cluster of each graph, in the order in which clusters are found; -1 for noise (HDBSCAN).
    representatives_ : array of int, shape (n_clusters,)
        Row of the central graph of each cluster: the one with the most neighbors for Butina's clusters, the
        one nearest to the mean for HDBSCAN.
    sizes_ : array of int, shape (n_clusters,)
    radius_ : float
        The radius that was used.

    Examples
    --------
    >>> from grnf.search import GraphClusterer
    >>> clusterer = GraphClusterer(radius=1.0).fit(np.array([[0.0], [0.9], [1.8], [5.0]]))
    >>> clusterer.labels_, clusterer.representatives_, clusterer.sizes_
    (array([0, 0, 0, 1]), array([1, 3]), array([3, 1]))
    """

    method: str = param("butina", OneOf("butina", "hdbscan"))
    _: KW_ONLY
    radius: float | None = None
    min_cluster_size: int = param(5, Int(2))
    transformer: Any = None
    space: str = param("plain", OneOf(*SPACES))
    n_jobs: int | None = None

    def fit(self, X: Any, y: Any = None) -> Self:  # noqa: ARG002
        """Find the clusters of a collection.

        Parameters
        ----------
        X : collection of graphs of any kind, or array of vectors, shape (n, M)
        y : ignored

        Returns
        -------
        self : GraphClusterer
        """
        settings = checked_parameters(self)
        _, rows = rows_of(X, self.transformer, settings["space"], self.n_jobs)
        if settings["method"] == "butina":
            join = SelfJoin(rows, self.n_jobs)
            self.radius_ = radius_of(join, self.radius)
            self.labels_, self.representatives_ = _butina(join, self.radius_)
        else:
            self.labels_ = _hdbscan(rows, settings["min_cluster_size"], self.n_jobs)
            self.representatives_ = _central(rows, self.labels_)
        self.sizes_ = np.bincount(self.labels_[self.labels_ >= 0], minlength=len(self.representatives_))
        return self


def announce(join: SelfJoin, radius: float) -> float:
    """Report the expected time of a long join before it starts. Return the expected number of pairs."""
    seconds, pairs = join.estimate(radius)
    if seconds > NOTICE:
        logger.info(
            "comparing all pairs of %s graphs takes about %.0f minutes (%.1e pairs within %.4g)",
            f"{join.n_rows:,}", max(1.0, seconds / 60), pairs, radius,
        )  # fmt: skip
    return pairs


def _butina(join: SelfJoin, radius: float) -> tuple[IntArray, IntArray]:
    """Return labels and central rows."""
    n = join.n_rows
    counts = np.zeros(n, np.int64)
    found = [(np.empty(0, np.int32), np.empty(0, np.int32))]
    stored = 0
    _check_room(announce(join, radius) / 2, n, radius)  # the estimate may be too high

    def keep(i: IntArray, j: IntArray, squares: FloatArray) -> None:  # noqa: ARG001
        nonlocal stored
        np.add.at(counts, i, 1)
        np.add.at(counts, j, 1)
        found.append((i.astype(np.int32), j.astype(np.int32)))
        stored += len(i)
        _check_room(stored, n, radius)

    join.each(radius, keep)
    order = np.lexsort((np.arange(n), counts))[::-1]
    rank = np.empty(n, np.int64)
    rank[order] = np.arange(n)
    first, second = (np.concatenate([pair[side] for pair in found]) for side in (0, 1))
    found.clear()
    swapped = rank[first] > rank[second]
    first[swapped], second[swapped] = second[swapped], first[swapped]
    later = csr_matrix((np.ones(len(first), np.bool_), (first, second)), shape=(n, n))
    labels, central = _claim(order, later.indptr, later.indices)
    return labels, central


def _check_room(pairs: float, n: int, radius: float) -> None:
    if pairs > MOST_PAIRS:
        raise GraphError(
            f"more than {MOST_PAIRS:,} pairs of the {n:,} graphs are within radius {radius:.4g}",
            cure="Choose a smaller radius",
        )


@compiled
def _claim(order, ptr, later):  # type: ignore[no-untyped-def]
    """Let each row in order that has no label begin a cluster with its neighbors that have none."""
    labels, central, size = np.full(len(order), -1), np.empty(len(order), np.int64), 0
    for row in order:
        if labels[row] >= 0:
            continue
        labels[row] = size
        for other in later[ptr[row] : ptr[row + 1]]:
            if labels[other] < 0:
                labels[other] = size
        central[size] = row
        size += 1
    return labels, central[:size]


def _hdbscan(rows: FloatArray, min_cluster_size: int, n_jobs: int | None) -> IntArray:
    from sklearn.cluster import HDBSCAN

    if len(rows) < min_cluster_size:
        return np.full(len(rows), -1)
    model = HDBSCAN(min_cluster_size=min_cluster_size, n_jobs=n_jobs, copy=True)
    if len(rows) > 4 * HDBSCAN_ROWS:
        start = time.perf_counter()
        model.fit(row_sample(rows, HDBSCAN_ROWS))
        minutes = (time.perf_counter() - start) * (len(rows) / HDBSCAN_ROWS) ** 2 / 60
        logger.info("HDBSCAN of %s graphs takes about %.0f minutes", f"{len(rows):,}", max(1, minutes))
    labels: IntArray = model.fit(np.asarray(rows, np.float64)).labels_.astype(np.int64)
    return labels


def _central(rows: FloatArray, labels: IntArray) -> IntArray:
    """Return the row of each cluster that is nearest to its mean."""
    central = []
    for label in range(labels.max(initial=-1) + 1):
        own = np.flatnonzero(labels == label)
        members = np.asarray(rows[own], np.float64)
        central.append(own[np.argmin(np.linalg.norm(members - members.mean(axis=0), axis=1))])
    return np.array(central, np.int64)


def components(join: SelfJoin, radius: float) -> IntArray:
    """Return the connected component of each row, if rows up to a distance are connected."""
    parents = np.arange(join.n_rows)
    announce(join, radius)
    join.each(radius, lambda i, j, squares: _unite(parents, i, j))  # noqa: ARG005
    _unite(parents, np.arange(join.n_rows), np.arange(join.n_rows))
    labels: IntArray = np.unique(parents, return_inverse=True)[1]
    return labels


@compiled
def _unite(parents, i, j):  # type: ignore[no-untyped-def]
    """Join the trees of the rows of each pair. The first row of a tree is its root. Paths are shortened."""
    for pair in range(len(i)):
        one, two = i[pair], j[pair]
        while parents[one] != one:
            parents[one] = parents[parents[one]]
            one = parents[one]
        while parents[two] != two:
            parents[two] = parents[parents[two]]
            two = parents[two]
        parents[max(one, two)] = min(one, two)
        parents[i[pair]] = parents[j[pair]] = min(one, two)
