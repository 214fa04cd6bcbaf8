"""Feature views: fitted together, saved, in an index and in a model."""

import json

import numpy as np
import pytest
from sklearn.decomposition import PCA
from sklearn.pipeline import make_pipeline

from grnf import GRNF, GraphError, GRNFClassifier
from grnf.datasets import make_delaunay, make_sbm
from grnf.estimators import FeatureViews
from grnf.estimators.views import lifted_views
from grnf.lifts import Degree, Propagate, Standardize, WeisfeilerLehman
from grnf.search import GraphIndex
from optional import require

GRAPHS, LABELS = make_sbm(20, random_state=0)


def test_squared_distances_are_means_over_views(tmp_path):
    views = FeatureViews(16, random_state=0).fit(GRAPHS)
    Z = GRNFClassifier(16, random_state=0).fit(GRAPHS, LABELS).transform(GRAPHS)
    parts = np.stack([Z[:, :16], Z[:, -16:]])  # the map and the labels; counts are in between
    expected = np.square(parts - parts[:, 3:4]).sum(axis=2).mean(axis=0)
    index = GraphIndex(views).add(GRAPHS)
    hits = index.search(GRAPHS[3:4], n_neighbors=20)
    order = [int(name) for name in hits.ids[0]]
    np.testing.assert_allclose(np.square(hits.distances[0]), expected[order], rtol=1e-4, atol=1e-9)
    index.save(tmp_path / "views.index")
    again = GraphIndex.load(tmp_path / "views.index")
    assert again.search(GRAPHS[3:4], n_neighbors=20).ids == hits.ids
    np.testing.assert_array_equal(again.transformer.transform(GRAPHS), views.transform(GRAPHS))


def test_fit_transform_and_calls_give_the_same_vectors():
    views = FeatureViews(8, random_state=0)
    first = views(GRAPHS)
    np.testing.assert_array_equal(first, views(GRAPHS))
    np.testing.assert_array_equal(first, FeatureViews(8, random_state=0).fit(GRAPHS).transform(GRAPHS))
    by_view = FeatureViews(8, random_state=0).fit_transform_views(GRAPHS, ["labels"])
    np.testing.assert_allclose(by_view["labels"] / np.sqrt(2), first[:, 8:], rtol=1e-6)
    assert list(views.transform_views(GRAPHS, ["map"])) == ["map"]
    assert "Propagate() -> Size() -> GRNF(n_components=8" in views.protocol()["views"]["map"]


OWN = {
    "plain": GRNF(8, random_state=1),
    "scaled": make_pipeline(Standardize(), WeisfeilerLehman(1, 4), GRNF(8, random_state=2)),
}


@pytest.mark.parametrize("views", ["auto", OWN, GRNF(8, random_state=0)])
def test_saved_views_make_the_same_vectors_of_new_graphs(tmp_path, views):
    require("rdkit")
    graphs = ["CCO", "c1ccccc1N", "CC(=O)[O-]", "C"]
    for train, new in ((graphs[:3], [*graphs, "CCBr"]), [make_delaunay(6, random_state=0)[0]] * 2):
        fitted = FeatureViews(8, views=views, random_state=3).fit(train)
        fitted.save(tmp_path / "v.json")
        again = FeatureViews.load(tmp_path / "v.json")
        np.testing.assert_array_equal(again.transform(new), fitted.transform(new))
        assert FeatureViews.from_json(again.to_json()).to_json() == fitted.to_json()


def test_views_that_cannot_be_saved_or_read(tmp_path):
    odd = {"plain": make_pipeline(GRNF(8, random_state=0), PCA(2))}
    with pytest.raises(ValueError, match="a step PCA cannot be saved"):
        FeatureViews(views=odd).fit(GRAPHS).save(tmp_path / "v.json")
    text = FeatureViews(4).fit(make_delaunay(6, random_state=0)[0]).to_json()
    state = json.loads(text)
    state["views"]["map"][0]["fitted"]["node_mean_"]["array"] *= 2
    wrong = ["[]", text[:-20], text.replace("grnf-views", "other"), text.replace('"fitted"', '"x"')]
    for damaged in [*wrong, text.replace("Standardize", "object"), json.dumps(state)]:
        with pytest.raises(ValueError, match=r"the text.* (damaged|not JSON|not saved feature views)"):
            FeatureViews.from_json(damaged)


def test_wrong_views():
    class Short(GRNF):
        def transform(self, X):
            return super().transform(X)[1:]

    for views in ("foo", {"a": 3}, {}):
        with pytest.raises(ValueError, match="views must be 'auto'"):
            FeatureViews(views=views).fit(GRAPHS)
    with pytest.raises(GraphError, match="view 'given' must return one row per graph"):
        FeatureViews(views=Short(4)).fit(GRAPHS).transform(GRAPHS)


def test_lifts_are_views():
    def steps(lifts):
        views = lifted_views(lifts, GRNF(8))
        return {name: [type(step).__name__ for _, step in view.steps] for name, view in views.items()}

    assert steps(None) == steps([]) == {"plain": ["GRNF"]}
    assert steps(Degree()) == {"lifted": ["Degree", "GRNF"]}
    assert steps([Degree(), Propagate()]) == {"lifted": ["Degree", "Propagate", "GRNF"]}
    assert steps({"a": Degree(), "b": []}) == {"a": ["Degree", "GRNF"], "b": ["GRNF"]}
    model = GRNFClassifier(16, lifts={"a": [Degree()], "b": []}).fit(GRAPHS, LABELS)
    assert model.transform(GRAPHS).shape == (20, 32)
