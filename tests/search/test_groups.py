"""The self-join, clusters, splits and diverse subsets, against RDKit, scipy and scikit-learn."""

import numpy as np
import pytest
from scipy.sparse.csgraph import connected_components
from scipy.spatial.distance import cdist
from sklearn.cluster import HDBSCAN
from sklearn.metrics import adjusted_rand_score

from grnf import GRNF, GraphError
from grnf.datasets import make_sbm
from grnf.search import (
    GraphClusterer,
    GraphIndex,
    clusters,
    pick_diverse,
    self_join,
    split_distances,
    split_graphs,
)
from grnf.search.self_join import SelfJoin
from optional import require


def vectors(kind, n=900):
    """Rows with copies, of low and of full rank, far from the origin, or on a grid (many equal distances)."""
    generator = np.random.default_rng(0)
    Z = generator.normal(size=(n, 40))
    if kind == "grid":
        Z = generator.integers(0, 3, size=(n, 4)).astype(float)
    elif kind == "low rank":
        Z = Z[:, :3] @ generator.normal(size=(3, 40)) + 1e-3 * Z
    elif kind == "shifted":
        Z = Z[:, :5].astype(np.float32) + np.float32(100)
    Z[n // 2 : n // 2 + 40] = Z[:40]
    return Z


KINDS = ["full rank", "low rank", "shifted", "grid"]


def distances(Z):
    return cdist(Z.astype(float), Z.astype(float))


def radii(D):
    return [0.0, *np.quantile(D[D > 0], [0.001, 0.05]) * (1 + 1e-12), 2 * D.max()]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("n_jobs", [1, 2])
def test_pairs_and_neighbors_are_those_of_the_distance_matrix(kind, n_jobs, monkeypatch):
    monkeypatch.setattr(self_join, "PAIRS", 2**16)  # so that the kernel is called again for the rest
    Z = vectors(kind)
    D, join = distances(Z), SelfJoin(Z, n_jobs)
    for radius in radii(D):
        first, second, far = join.pairs(radius)
        expected = np.argwhere(np.triu(radius >= D, 1))
        np.testing.assert_array_equal(np.stack([first, second], axis=1), expected)
        np.testing.assert_allclose(far, D[first, second], rtol=1e-12, atol=1e-12)
    np.fill_diagonal(D, np.inf)
    far, rows = join.nearest(7)
    np.testing.assert_allclose(far, np.sort(D, axis=1)[:, :7], rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(np.take_along_axis(D, rows, axis=1), far, rtol=1e-12, atol=1e-12)
    assert join.usual_distance() == pytest.approx(np.median(D.min(axis=1)))


def test_neighbors_between_parts_and_too_few_rows():
    Z = vectors("full rank")
    queries, among = np.arange(900) % 3 == 0, np.arange(900) % 3 == 1
    far, rows = SelfJoin(Z).nearest(2, queries, among)
    D = distances(Z)[queries][:, among]
    np.testing.assert_allclose(far, np.sort(D, axis=1)[:, :2])
    assert among[rows].all()
    far, rows = SelfJoin(Z[:2]).nearest(3)
    assert rows.tolist() == [[1, -1, -1], [0, -1, -1]]
    assert np.isinf(far[:, 1:]).all()


def test_the_expected_work_is_near_the_work():
    join = SelfJoin(vectors("low rank", 6000))
    radius = 2 * join.usual_distance()
    seconds, pairs = join.estimate(radius)
    assert seconds > 0
    assert pairs == pytest.approx(len(join.pairs(radius)[0]), rel=0.5)


@pytest.mark.parametrize("kind", KINDS)
def test_clusters_are_those_of_rdkit(kind):
    butina = require("rdkit.ML.Cluster.Butina")
    Z = vectors(kind, 400)
    D = distances(Z)
    for radius in radii(D):
        found = GraphClusterer(radius=radius, n_jobs=2).fit(Z)
        lower = D[np.tril_indices(len(D), -1)]  # RDKit 2024.9 reads no square matrix
        expected = butina.ClusterData(lower, len(D), radius, isDistData=True, reordering=False)
        labels = np.empty(len(D), int)
        for label, members in enumerate(expected):
            labels[list(members)] = label
        np.testing.assert_array_equal(found.labels_, labels)
        assert found.representatives_.tolist() == [members[0] for members in expected]
        assert found.sizes_.tolist() == [len(members) for members in expected]


def test_clusters_of_graphs_and_by_density(monkeypatch, caplog):
    graphs, _ = make_sbm(60, random_state=0)
    grnf = GRNF(32, random_state=0)
    Z = grnf.fit_transform(graphs)
    found = GraphClusterer(transformer=grnf)
    labels = found.fit_predict(graphs)
    np.testing.assert_array_equal(labels, GraphClusterer(radius=found.radius_).fit(Z).labels_)
    assert len(GraphClusterer().fit(graphs).labels_) == 60
    blobs = vectors("full rank", 300) * 0.01 + np.repeat(np.eye(3, 40), 100, axis=0)
    dense = GraphClusterer("hdbscan", min_cluster_size=10).fit(blobs)
    assert adjusted_rand_score(dense.labels_, HDBSCAN(min_cluster_size=10, copy=True).fit_predict(blobs)) == 1
    assert dense.labels_[dense.representatives_].tolist() == list(range(len(dense.sizes_)))
    monkeypatch.setattr(clusters, "NOTICE", 0.0)
    with caplog.at_level("INFO", logger="grnf"):
        GraphClusterer(radius=1.0).fit(blobs)
    assert "comparing all pairs of 300 graphs takes about 1 minutes" in caplog.text
    monkeypatch.setattr(clusters, "MOST_PAIRS", 10)
    with pytest.raises(GraphError, match="Choose a smaller radius"):
        GraphClusterer(radius=1.0).fit(blobs)
    with pytest.raises(ValueError, match="method"):
        GraphClusterer("kmeans").fit(blobs)


def test_the_join_of_an_index_leaves_out_removed_rows():
    Z = vectors("full rank", 100)
    index = GraphIndex().add(Z[:30]).add(Z[30:]).remove(["3"])
    names, join = index.self_join()
    assert names == [str(row) for row in range(100) if row != 3]
    kept = np.delete(Z, 3, axis=0)
    np.testing.assert_array_equal(join.pairs(8.0)[0], SelfJoin(kept).pairs(8.0)[0])


@pytest.mark.parametrize("kind", KINDS)
def test_components_and_parts_are_far_apart(kind):
    Z = vectors(kind, 500) * (np.arange(40 if kind in KINDS[:2] else Z_WIDTH[kind]) < 4)
    D = distances(Z)
    radius = float(np.quantile(D[D > 0], 0.002)) * (1 + 1e-9)
    join = SelfJoin(Z)
    found = clusters.components(join, radius)
    count, expected = connected_components(radius >= D)
    assert len(set(zip(found.tolist(), expected.tolist(), strict=True))) == count == found.max() + 1
    if count < 3:
        with pytest.raises(GraphError, match=r"part [12] has no graphs, because the largest group has"):
            split_graphs(Z, radius=radius)
        return
    parts = split_graphs(Z, radius=radius)
    between = parts[:, np.newaxis] != parts
    assert D[between].min() > radius
    far, nearest = split_distances(Z, parts)
    assert far.min() == pytest.approx(D[between].min())
    assert (parts[nearest[parts > 0]] < parts[parts > 0]).all()
    assert (nearest[parts == 0] == -1).all()


Z_WIDTH = {"shifted": 5, "grid": 4}


def test_sizes_of_parts(caplog):
    generator = np.random.default_rng(0)
    y = np.repeat([0, 1, 2], [700, 200, 100])
    parts = split_graphs(generator.normal(size=(1000, 2)), (6, 3, 1), by="random", y=y)
    counts = [np.bincount(parts[y == label]).tolist() for label in range(3)]
    np.testing.assert_allclose(counts, [[420, 210, 70], [120, 60, 20], [60, 30, 10]], atol=2)
    numbers = generator.normal(size=1000)
    parts = split_graphs(np.zeros((1000, 1)), (1, 1), by="random", y=numbers)
    assert abs(numbers[parts == 0].mean() - numbers[parts == 1].mean()) < 0.02  # at random: 0.06
    others = split_graphs(np.zeros((1000, 1)), (1, 1), by="random", y=numbers, random_state=1)
    assert (parts != others).any()
    groups = np.repeat(np.arange(50.0), 20)[:, np.newaxis]
    assert np.bincount(split_graphs(groups, by="clusters", radius=0.1)).tolist() == [800, 100, 100]
    large = np.concatenate([np.zeros((90, 1)), np.arange(1.0, 11.0)[:, np.newaxis]])
    with caplog.at_level("INFO", logger="grnf"):
        assert np.bincount(split_graphs(large, (1, 1), radius=0.5)).tolist() == [90, 10]
    assert "parts have 90.0%, 10.0% instead of 50.0%, 50.0%" in caplog.text
    for bad in ((1,), (1, -1), (1, np.nan)):
        with pytest.raises(GraphError, match="at least two positive numbers"):
            split_graphs(groups, bad)
    with pytest.raises(GraphError, match="a value for each of the 1000 graphs, got 3"):
        split_graphs(groups, by="random", y=[1, 2, 3])
    with pytest.raises(GraphError, match="whole numbers"):
        split_distances(groups, [0, 1])


def test_scaffolds_stay_together():
    require("rdkit")
    smiles = ["Cc1ccccc1", "CCc1ccccc1", "Oc1ccccc1", "C1CCNCC1", "CN1CCCCC1", "CCO", "CC"]
    parts = split_graphs(smiles, (3, 2, 2), by="scaffold")
    assert [len(set(parts[part].tolist())) for part in (slice(0, 3), slice(3, 5), slice(5, 7))] == [1, 1, 1]
    assert sorted(np.bincount(parts).tolist()) == [2, 2, 3]
    with pytest.raises(GraphError, match="need molecules"):
        split_graphs(np.eye(3), by="scaffold")


@pytest.mark.parametrize("kind", KINDS)
def test_picks_are_those_of_rdkit(kind):
    pickers = require("rdkit.SimDivFilters.rdSimDivPickers")
    Z = vectors(kind, 600)
    D = distances(Z)
    count = 50 if kind != "grid" else 80  # the grid has 81 different rows
    for first in ([3], [5, 7]):
        rows, far = pick_diverse(Z, count, first=first)
        expected = pickers.MaxMinPicker().LazyPick(
            lambda i, j: float(D[i, j]), len(Z), count, firstPicks=first
        )
        assert rows.tolist() == list(expected)
        least = [D[row, rows[:number]].min() for number, row in enumerate(rows) if number]
        np.testing.assert_allclose(far[1:], least, rtol=1e-9)
    assert sorted(pick_diverse(Z, 600)[0].tolist()) == list(range(600))
    for bad in ([], [1, 1], [600]):
        with pytest.raises(GraphError, match="first must be"):
            pick_diverse(Z, 5, first=bad)
    with pytest.raises(GraphError, match="at most 600"):
        pick_diverse(Z, 601)
