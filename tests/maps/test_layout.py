"""Positions of graphs on a map, neighbors with intervals, and marked nodes."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from grnf import GRNF, map_graphs
from grnf.datasets import make_sbm
from grnf.edits.comparison import correspondence
from grnf.io.raw import raw_from_graph
from grnf.maps import layout as layouts
from grnf.maps.layout import (
    choose_layout,
    intervals,
    nearest_others,
    neighbor_recall,
    pair_mappings,
    positions_of_layout,
    positions_onto,
    precision_of,
    upper_bounds_of,
)
from grnf.metric import distance
from optional import require


def two_groups(n=60, width=8):
    rng = np.random.default_rng(0)
    Z = rng.normal(size=(n, width)).astype(np.float32)
    Z[n // 2 :, 0] += 40
    return Z


@pytest.mark.parametrize("name", ["tsne", "umap", "pca"])
def test_groups_stay_groups_and_seeds_fix_places(name):
    if name == "umap":
        require("umap")
    Z = two_groups()
    layout = choose_layout(name, len(Z))
    near, far = nearest_others(Z, layout.n_neighbors, "plain")
    places = positions_of_layout(layout, Z, near, far, seed=3)
    assert np.abs(places).max() == pytest.approx(1)
    assert np.array_equal(places, positions_of_layout(layout, Z, near, far, seed=3))
    own = [places[:30], places[30:]]
    apart = np.linalg.norm(own[0].mean(axis=0) - own[1].mean(axis=0))
    assert apart > 2 * max(group.std(axis=0).max() for group in own)


def test_which_layout_is_taken(monkeypatch):
    monkeypatch.setattr("grnf.maps.layout.find_spec", lambda name: None)
    assert choose_layout("auto", 5_000).name == "tsne"
    large = choose_layout("auto", 5_001)
    assert large.name == "pca"
    assert "grnf[map]" in large.words
    with pytest.raises(ImportError, match=r"grnf\[map\]"):
        choose_layout("umap", 100)
    monkeypatch.setattr("grnf.maps.layout.find_spec", lambda name: object())
    assert choose_layout("auto", 5_001).name == "umap"


@given(st.integers(2, 14), st.integers(1, 5), st.integers(0, 10**6))
def test_neighbors_kept_are_counted_right(n, k, seed):
    rng = np.random.default_rng(seed)
    k = min(k, n - 1)
    places = rng.normal(size=(n, 2))
    near = np.array([rng.permutation(np.delete(np.arange(n), i))[:k] for i in range(n)])
    far = np.linalg.norm(places[:, None] - places, axis=-1)
    np.fill_diagonal(far, np.inf)
    wanted = [len(set(np.argsort(far[i])[:k]) & set(near[i])) / k for i in range(n)]
    assert neighbor_recall(places, near).tolist() == wanted


def test_many_graphs_at_one_place():
    assert neighbor_recall(np.zeros((9, 2)), np.tile(np.arange(3), (9, 1))).shape == (9,)


def test_new_graphs_stand_among_their_nearest():
    old = np.array([[0.0, 0.0], [1.0, 0.0], [0.0, 1.0]])
    places = positions_onto(
        old, np.array([[1, 0, 2], [2, 1, 0]]), np.array([[0.0, 0.3, 0.4], [0.1, 0.1, 0.1]])
    )
    assert places[0] == pytest.approx(old[1])  # a copy
    assert places[1] == pytest.approx(old.mean(axis=0))


@pytest.mark.parametrize("space", ["plain", "whitened"])
def test_nearest_others_are_those_of_a_look_at_all(space):
    graphs, _ = make_sbm(40, random_state=0)
    Z = GRNF(32, random_state=0).fit_transform(graphs)
    near, far = nearest_others(Z, 5, space)
    if space == "plain":
        D = np.linalg.norm(Z[:, None].astype(float) - Z, axis=-1)
        np.fill_diagonal(D, np.inf)
        assert far == pytest.approx(np.sort(D, axis=1)[:, :5], abs=1e-6)
    assert (near != np.arange(40)[:, None]).all()
    assert nearest_others(Z[:1], 5, space)[0].shape == (1, 0)


GRAPHS = [raw_from_graph(graph) for graph in make_sbm(12, random_state=0)[0]]
T = GRNF(64, heads=2, random_state=0).fit(GRAPHS)
Z = T.transform(GRAPHS)
NEAR = nearest_others(Z, 3, "plain")


@pytest.mark.parametrize(("method", "pairs"), [("betting", 10**6), ("bernstein", 0)])
def test_intervals_are_those_of_single_pairs(monkeypatch, method, pairs):
    monkeypatch.setattr(layouts, "BETTING_PAIRS", pairs)
    plain = intervals(Z, *NEAR, precision_of(T), 0.9)
    found = intervals(Z, *NEAR, precision_of(T), 0.9, upper_bounds_of(T, GRAPHS))
    for i, j in np.ndindex(found.high.shape):
        estimate = T.distance(GRAPHS[i], GRAPHS[NEAR[0][i, j]])
        ends = estimate.interval(0.9, method)  # with the bound in closed form
        assert (found.low[i, j], found.high[i, j]) == pytest.approx(ends, abs=1e-6)
        ends = replace(estimate, upper=None).interval(0.9, method)
        assert (plain.low[i, j], plain.high[i, j]) == pytest.approx(ends, abs=1e-6)
    assert (found.high < 0.5 * plain.high).all()
    assert "every number of features" in found.words


def test_intervals_of_maps_have_the_upper_bound():
    found = map_graphs(GRAPHS, transformer=T, layout="pca", n_neighbors=3, confidence=0.9).nearest
    expected = intervals(Z, *NEAR, precision_of(T), 0.9, upper_bounds_of(T, GRAPHS))
    np.testing.assert_allclose(found.high, expected.high, atol=1e-6)


def test_error_bars_are_those_of_single_pairs():
    found = intervals(Z, *NEAR, precision_of(T), None)
    for i, j in np.ndindex(found.high.shape):
        estimate = distance(Z[i], Z[NEAR[0][i, j]], **T._precision())
        ends = estimate.value - estimate.value_error, estimate.value + estimate.value_error
        assert (found.low[i, j], found.high[i, j]) == pytest.approx(ends, abs=1e-9)
    assert "standard error" in found.words


def test_unbounded_features_have_approximate_intervals():
    grnf = GRNF(64, activation="relu", random_state=0).fit(GRAPHS)
    Y = grnf.transform(GRAPHS)
    assert (
        intervals(Y, *nearest_others(Y, 2, "plain"), precision_of(grnf), 0.95).words == "normal approximation"
    )


def test_mappings_are_correspondences_of_drawn_pairs():
    shown = [0 if i == 0 else g.n_nodes for i, g in enumerate(GRAPHS)]
    found = pair_mappings(GRAPHS, NEAR[0], shown)
    assert (found.lengths[0] == 0).all()
    assert (found.lengths[NEAR[0] == 0] == 0).all()
    ends = np.cumsum([0, *found.lengths.ravel().tolist()])
    for at, (i, j) in enumerate(np.ndindex(NEAR[0].shape)):
        images = found.images[ends[at] : ends[at + 1]]
        if len(images):
            other = GRAPHS[NEAR[0][i, j]]
            kept = images[images != 65_535]
            assert (len(images), len(set(kept.tolist()))) == (GRAPHS[i].n_nodes, len(kept))
            assert np.array_equal(images, correspondence(GRAPHS[i], other).astype(np.uint16))
