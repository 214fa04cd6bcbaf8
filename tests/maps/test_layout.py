"""Places of graphs on a map."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from grnf import GRNF
from grnf.datasets import make_sbm
from grnf.maps.layout import choose_layout, laid_out, neighbors_kept, placed_onto
from grnf.maps.neighbors import nearest_others
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
    places = laid_out(layout, Z, near, far, seed=3)
    assert np.abs(places).max() == pytest.approx(1)
    assert np.array_equal(places, laid_out(layout, Z, near, far, seed=3))
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
    assert neighbors_kept(places, near).tolist() == wanted


def test_many_graphs_at_one_place():
    assert neighbors_kept(np.zeros((9, 2)), np.tile(np.arange(3), (9, 1))).shape == (9,)


def test_new_graphs_stand_among_their_nearest():
    old = np.array([[0.0, 0.0], [1.0, 0.0], [0.0, 1.0]])
    places = placed_onto(old, np.array([[1, 0, 2], [2, 1, 0]]), np.array([[0.0, 0.3, 0.4], [0.1, 0.1, 0.1]]))
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
