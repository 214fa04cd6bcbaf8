"""Contributions of nodes and edges to predictions."""

from itertools import permutations

import numpy as np
import pytest

from grnf import GraphError, GRNFClassifier, GRNFRegressor
from grnf.estimators.explain import explanation
from grnf.io import RawGraph, to_raw
from grnf.maps.pages import draw_explanation
from optional import require

PATH = RawGraph(3, np.array([[0, 1], [1, 2]]), {"w": np.array([1.0, 2.0, 4.0])})


def weight(graphs):
    """A sum of node weights, squared, and ten for each edge."""
    return [float(g.node_columns["w"].sum()) ** 2 + 10 * len(g.edges) for g in graphs]


def test_contributions_are_shapley_values():
    exact = np.zeros(5)
    orders = list(permutations(range(5)))
    for order in orders:
        value, present = 0.0, set()
        for item in order:
            present.add(item)
            nodes = [v for v in range(3) if v in present]
            edges = [e for e, (a, b) in enumerate([(0, 1), (1, 2)]) if {3 + e, a, b} <= present]
            new = sum([1.0, 2.0, 4.0][v] for v in nodes) ** 2 + 10 * len(edges)
            exact[item] += (new - value) / len(orders)
            value = new
    found = explanation(weight, PATH, None, 400, 0)
    values = np.concatenate([found.nodes, found.edges])
    assert values.sum() == pytest.approx(found.prediction - found.reference)
    assert (found.prediction, found.reference) == (69.0, 0.0)
    errors = np.concatenate([found.node_errors, found.edge_errors])
    assert (np.abs(values - exact) <= 4 * errors + 1e-9).all()


def test_models_explain_what_they_predict():
    require("rdkit")
    smiles = ["C" * n + end for n in range(1, 13) for end in ("C(=O)O", "C")]
    acid = [int(text.endswith("O")) for text in smiles]
    model = GRNFClassifier(32, random_state=0).fit(smiles, acid)
    found = model.explain("CCCCC(=O)O")
    assert found.label == 1
    assert found.prediction == pytest.approx(model.predict_proba(["CCCCC(=O)O"])[0, 1])
    assert found.nodes.sum() + found.edges.sum() == pytest.approx(found.prediction - found.reference)
    assert max(found.nodes[-2:]) > max(found.nodes[:4])
    other = model.explain("CCCCC(=O)O", label=0)
    np.testing.assert_allclose(other.nodes, -found.nodes, atol=1e-6)
    assert len(found.records()) == 7 + 6
    assert draw_explanation(to_raw("CCCCC(=O)O"), found).startswith("<svg")
    with pytest.raises(ValueError, match=r"label must be one of \[0, 1\], got 2"):
        model.explain("CCO", label=2)
    with pytest.raises(GraphError, match="at most 2,000 nodes and edges"):
        model.explain("C" * 1200)


def test_other_graphs_are_drawn():
    graphs = [RawGraph(n, np.array([[i, i + 1] for i in range(n - 1)])) for n in range(2, 22)]
    model = GRNFRegressor(8, random_state=0).fit(graphs, np.arange(20.0))
    drawing = draw_explanation(graphs[5], model.explain(graphs[5], n_orders=2))
    assert drawing.count("<circle") == 7
    assert drawing.count("<line") == 12
