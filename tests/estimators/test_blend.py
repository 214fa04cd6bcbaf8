import networkx as nx
import numpy as np
import pandas as pd
import pytest
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import KFold
from sklearn.svm import SVC

import grnf.estimators.blend as blend
from grnf import GRNFClassifier, GRNFRegressor
from grnf.estimators.blend import BlendClassifier, BlendRegressor
from grnf.estimators.described import Described, Distances
from grnf.estimators.histograms import Sets, SetsKernel
from grnf.estimators.kernel_machine import ranked
from grnf.estimators.search import Search, blended


def described(n=90, classes=3, seed=0):
    """Samples of which the first number, and key 7 of the sets, tell the class."""
    generator = np.random.default_rng(seed)
    y = np.arange(n) % classes
    numbers = generator.normal(size=(n, 5)).astype(np.float32)
    numbers[:, 0] += 2 * y
    graph = np.repeat(np.arange(n), 6)
    keys = generator.integers(100, 140, size=6 * n).astype(np.uint64)
    keys[::6] = 7 + y.astype(np.uint64)
    keys[1::6] = 0
    level = np.tile([0, 0, 0, 1, 1, 1], n)
    pairs = pd.DataFrame({"g": graph, "k": keys, "l": level}).drop_duplicates(["g", "k"])
    sets = Sets(pairs.g.to_numpy(), pairs.k.to_numpy(), pairs.l.to_numpy(), n, 2)
    return Described(numbers, sets), y


@pytest.mark.parametrize("classes", [2, 3])
def test_is_the_machine_of_scikit_learn_on_the_blended_kernel(classes):
    X, y = described(classes=classes)
    names = np.array(["a", "b", "c"])[y]
    found = BlendClassifier(C=2.0, gamma=0.5, colours=0.25).fit(X, names)
    distances = Distances(X, [5])
    by_colours, by_numbers = distances.own()
    K = np.exp(-0.5 * (0.25 * by_colours + 0.75 * by_numbers)).astype(float)
    expected = SVC(C=2.0, kernel="precomputed").fit(K, y)
    np.testing.assert_allclose(
        found.decision_function(X), expected.decision_function(K), rtol=1e-3, atol=1e-3
    )
    assert found.classes_.tolist() == ["a", "b", "c"][:classes]
    np.testing.assert_allclose(found.predict_proba(X).sum(axis=1), 1)


def test_distances_are_in_units_of_their_medians():
    X, _ = described()
    distances = Distances(X, [5])
    by_colours, by_numbers = distances.own()
    above = np.triu_indices(90, 1)
    assert np.median(by_numbers[above]) == pytest.approx(1, rel=1e-3)
    units = [(1 - K) / np.median(1 - K[above]) for K in SetsKernel(X.sets)()]
    np.testing.assert_allclose(by_colours, np.mean(units, axis=0), rtol=1e-3, atol=1e-5)
    again = distances(X.take(np.arange(7)))
    for found, own in zip(again, distances.own(), strict=True):
        np.testing.assert_allclose(found, own[:7], atol=1e-4)
    distances.restrict(np.array([3, 5]))
    assert distances(X)[0].shape == (90, 2)


def test_regression_is_kernel_ridge():
    X, _ = described()
    y = 5 + 3 * X.numbers[:, 0].astype(float)
    found = BlendRegressor(C=10.0, gamma=0.3, colours=0.0).fit(X, y)
    K = np.exp(-0.3 * Distances(X, [5]).own()[1]).astype(float)
    target = (y - y.mean()) / y.std()
    expected = K @ np.linalg.solve(K + np.eye(90) / 10, target) * y.std() + y.mean()
    np.testing.assert_allclose(found.predict(X), expected, rtol=1e-3, atol=1e-3)


def test_chooses_the_side_that_knows():
    X, y = described(200)
    noise = np.random.default_rng(1).normal(size=X.numbers.shape).astype(np.float32)
    found = BlendClassifier().fit(Described(noise, X.sets), y)
    table = pd.DataFrame(found.cv_results_)
    assert found.best_params_["colours"] > 0
    assert found.best_score_ > 0.95
    assert table.mean_test_score[table.param_colours == 0].max() < 0.5
    assert table.mean_test_score.max() == found.best_score_ == table.mean_test_score[found.best_index_]
    assert table.params[found.best_index_] == found.best_params_
    splits = table[[f"split{k}_test_score" for k in range(5)]]
    np.testing.assert_allclose(splits.mean(axis=1), table.mean_test_score)
    assert len(table) < 15  # of 3 * 6 * 6


def test_the_search_climbs_and_stays_where_nothing_is_better():
    X, y = described()
    parts = Distances(X, [5]).own()
    splits = list(KFold(3, shuffle=True, random_state=0).split(y))
    peak = Search(parts, y, splits, None, None)
    peak._scores = lambda config: [-abs(np.log(config[1] / 3.0))]
    start = {"colours": 0.5, "gamma": 0.3, "C": 10.0}
    assert peak.climbed(start, "gamma", [0.1, 0.3, 1.0, 3.0, 10.0])["gamma"] == 3.0
    assert peak.climbed(start, "C", [1.0, 10.0, 100.0]) == start  # equal everywhere
    np.testing.assert_allclose(blended(*parts, 1.0, 2.0), np.exp(-2 * parts[0]), rtol=1e-5)


def test_landmarks_take_over_where_samples_are_many(monkeypatch):
    X, y = described(600)
    whole = BlendClassifier().fit(X, y)
    monkeypatch.setattr(blend, "MOST_ROWS", 100)
    monkeypatch.setattr(blend, "LANDMARKS", 150)
    found = BlendClassifier().fit(X, y)
    fresh, truth = described(300, seed=5)
    assert len(found.support_) == 150
    assert np.mean(found.predict(fresh) == truth) > np.mean(whole.predict(fresh) == truth) - 0.05
    assert np.mean(found.predict(fresh) == truth) > 0.9
    line = BlendRegressor().fit(X, X.numbers[:, 0])
    assert np.corrcoef(line.predict(fresh), fresh.numbers[:, 0])[0, 1] > 0.95


def test_rare_classes():
    X, y = described(60)
    y[:1] = 9  # alone
    found = BlendClassifier().fit(X, y)
    assert found.predict_proba(X).shape == (60, 4)
    X, y = described(4, classes=2)
    lonely = BlendClassifier().fit(X, [0, 1, 1, 1])
    assert not hasattr(lonely, "best_params_")
    np.testing.assert_allclose(lonely.predict_proba(X).sum(axis=1), 1)
    with pytest.raises(ValueError, match="one class"):
        BlendClassifier().fit(X, np.zeros(4))
    with pytest.raises(ValueError, match="from 0 to 1"):
        BlendClassifier(colours=2.0).fit(X, y)
    with pytest.raises(ValueError, match="finite"):
        BlendRegressor().fit(X, np.full(4, np.nan))


def test_ranks():
    generator = np.random.default_rng(0)
    y = generator.integers(3, size=50)
    values = generator.normal(size=(50, 3)).round(1)  # with ties
    expected = np.mean([roc_auc_score(y == c, values[:, c]) for c in range(3)])
    assert ranked(values, y) == pytest.approx(expected)
    assert ranked(values[:, 0], (y == 1).astype(int)) == pytest.approx(roc_auc_score(y == 1, values[:, 0]))
    assert ranked(values[:, 0], np.zeros(50, dtype=int)) == 0.5


def rings(n=80):
    """Cycles of carbon with one atom of nitrogen or oxygen in them."""
    graphs, y = [], []
    for index in range(n):
        graph = nx.cycle_graph(5 + index % 7)
        nx.set_node_attributes(graph, "C", "symbol")
        graph.nodes[0]["symbol"] = "NO"[index % 2]
        graphs.append(graph)
        y.append(index % 2)
    return graphs, np.array(y)


def test_scoring_by_ranks():
    graphs, y = rings()
    rare = np.array([len(graph) == 6 and graph.nodes[0]["symbol"] == "O" for graph in graphs], dtype=int)
    model = GRNFClassifier(16, scoring="roc_auc").fit(graphs, rare)
    expected = roc_auc_score(rare, model.predict_proba(graphs)[:, 1])
    assert model.score(graphs, rare) == pytest.approx(expected)
    assert 0.95 < model.best_score_ <= 1
    for wrong in ("f1", 3):
        with pytest.raises(ValueError, match="scoring must be"):
            GRNFClassifier(16, scoring=wrong).fit(graphs, y)
    with pytest.raises(ValueError, match="scoring must be"):
        GRNFRegressor(16, scoring="roc_auc").fit(graphs, y.astype(float))
    for lifts in (None, "auto"):
        linear = GRNFClassifier(16, lifts=lifts, estimator="linear", scoring="roc_auc").fit(graphs, y)
        assert linear.score(graphs, y) > 0.9


def test_vectors_do_not_depend_on_the_fold():
    graphs, y = rings()
    model = GRNFClassifier(16).fit(graphs[:60], y[:60])
    first = model.transform(graphs[60:])
    from sklearn.base import clone

    other = clone(model).fit(graphs[20:], y[20:])
    np.testing.assert_array_equal(other.transform(graphs[60:])[:, :16], first[:, :16])
    assert model._vectors.computed == 14  # different graphs
    odd = nx.cycle_graph(4)
    nx.set_node_attributes(odd, "never seen", "symbol")
    assert model.predict([odd]).shape == (1,)
