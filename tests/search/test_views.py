"""An index of several views."""

import numpy as np
import pytest

from grnf import GRNFClassifier
from grnf.datasets import make_sbm
from grnf.errors import GraphError
from grnf.search import GraphIndex, GraphViews

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
    with pytest.raises(GraphError, match="knows vectors only"):
        GraphIndex.open(tmp_path / "views.index").search(GRAPHS[:1])
    again = GraphIndex.open(tmp_path / "views.index", transformer=views)
    assert again.search(GRAPHS[3:4], k=20).ids == hits.ids
