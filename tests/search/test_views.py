"""An index of several views."""

import numpy as np
import pytest

from grnf import GRNFClassifier
from grnf.datasets import make_sbm
from grnf.search import GraphIndex, GraphViews
from guests import guest

GRAPHS, LABELS = make_sbm(20, random_state=0)


def test_squared_distances_are_means_over_views(tmp_path):
    views = GraphViews(16).fit(GRAPHS)
    Z = GRNFClassifier(16, lifts="recipe", random_state=0).fit(GRAPHS, LABELS).transform(GRAPHS)
    parts = Z.reshape(len(GRAPHS), len(views.views_), 16)
    expected = np.square(parts - parts[3]).sum(axis=2).mean(axis=1)
    index = GraphIndex(views).add(GRAPHS)
    hits = index.search(GRAPHS[3:4], k=20)
    order = [int(name) for name in hits.ids[0]]
    np.testing.assert_allclose(np.square(hits.distances[0]), expected[order], rtol=1e-4, atol=1e-9)
    index.save(tmp_path / "views.index")
    again = GraphIndex.open(tmp_path / "views.index")
    assert again.search(GRAPHS[3:4], k=20).ids == hits.ids
    np.testing.assert_array_equal(again.transformer.transform(GRAPHS), views.transform(GRAPHS))


@pytest.mark.parametrize("lifts", ["recipe", "auto"])
def test_saved_views_make_the_same_vectors_of_new_graphs(tmp_path, lifts):
    graphs = ["CCO", "c1ccccc1N", "CC(=O)[O-]", "C"]
    guest("rdkit")
    views = GraphViews(8, lifts=lifts, random_state=3).fit(graphs[:3])
    views.save(tmp_path / "v.json")
    again = GraphViews.load(tmp_path / "v.json")
    np.testing.assert_array_equal(again.transform([*graphs, "CCBr"]), views.transform([*graphs, "CCBr"]))


def test_what_cannot_be_saved_or_read_is_said(tmp_path):
    with pytest.raises(ValueError, match="only the views"):
        GraphViews(4, lifts=None).fit(GRAPHS).save(tmp_path / "v.json")
    GraphViews(4).fit(GRAPHS).save(tmp_path / "v.json")
    text = (tmp_path / "v.json").read_text()
    for wrong in (
        text[:-20],
        text.replace("grnf-views", "other"),
        text.replace('"learnt"', '"taught"'),
        "[]",
    ):
        (tmp_path / "v.json").write_text(wrong)
        with pytest.raises(ValueError, match="damaged"):
            GraphViews.load(tmp_path / "v.json")
