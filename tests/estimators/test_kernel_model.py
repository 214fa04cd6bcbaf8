import numpy as np
import pytest
from sklearn.metrics import roc_auc_score
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.model_selection import KFold, ShuffleSplit
from sklearn.svm import SVC

from grnf import GRNFClassifier, GRNFRegressor
from grnf.estimators import kernel_model
from grnf.estimators.histograms import LabelSets, SetsKernel
from grnf.estimators.kernel_model import (
    Distances,
    KernelClassifier,
    KernelInput,
    KernelRegressor,
    Search,
    kernel_matrix,
    rank_score,
)
from optional import require

nx = require("networkx")
pd = require("pandas")


def samples(n=90, classes=3, seed=0):
    """Samples whose class follows from the first column, and from key 7 .. of the sets."""
    generator = np.random.default_rng(seed)
    y = np.arange(n) % classes
    vectors = generator.normal(size=(n, 5)).astype(np.float32)
    vectors[:, 0] += 2 * y
    graph = np.repeat(np.arange(n), 6)
    keys = generator.integers(100, 140, size=6 * n).astype(np.uint64)
    keys[::6] = 7 + y.astype(np.uint64)
    keys[1::6] = 0
    level = np.tile([0, 0, 0, 1, 1, 1], n)
    pairs = pd.DataFrame({"g": graph, "k": keys, "l": level}).drop_duplicates(["g", "k"])
    sets = LabelSets(pairs.g.to_numpy(), pairs.k.to_numpy(), pairs.l.to_numpy(), n, 2)
    return KernelInput(vectors, sets), y


def blobs(n=90, classes=3, seed=0):
    """Vectors alone, with two views on different scales."""
    generator = np.random.default_rng(seed)
    y = np.arange(n) % classes
    X = generator.normal(size=(n, 6))
    X[:, :3] += 1.5 * y[:, np.newaxis]
    X[:, 3:] *= 1000
    return X, y


def scaled(X):
    """The scaling of two views, written out."""
    Z = (X - X.mean(axis=0)) / X.std(axis=0)
    parts = []
    for part in (Z[:, :3], Z[:, 3:]):
        D = ((part[:, np.newaxis] - part) ** 2).sum(axis=2)
        parts.append(part / np.sqrt(2 * np.median(D[np.triu_indices(len(D), 1)])))
    return np.hstack(parts)


@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("labels", [True, False])
def test_classification_is_that_of_scikit_learn(classes, labels):
    if labels:
        X, y = samples(classes=classes)
        by_labels, by_vectors = Distances(X, [5])(X)
        K = np.exp(-0.5 * (0.25 * by_labels + 0.75 * by_vectors)).astype(float)
        model = KernelClassifier(C=2.0, gamma=0.5, wl_weight=0.25)
    else:
        X, y = blobs(classes=classes)
        K = rbf_kernel(scaled(X), gamma=0.5)
        model = KernelClassifier([3, 3], C=2.0, gamma=0.5)
    names = np.array(["a", "b", "c"])[y]
    found = model.fit(X, names)
    expected = SVC(C=2.0, kernel="precomputed").fit(K, y)
    np.testing.assert_allclose(
        found.decision_function(X), expected.decision_function(K), rtol=1e-3, atol=1e-3
    )
    assert found.classes_.tolist() == ["a", "b", "c"][:classes]
    assert np.mean(found.predict(X) == names) == np.mean(expected.predict(K) == y)
    np.testing.assert_allclose(found.predict_proba(X).sum(axis=1), 1)


def test_distances_are_in_units_of_their_medians():
    X, _ = samples()
    distances = Distances(X, [5])
    by_labels, by_vectors = distances(X)
    above = np.triu_indices(90, 1)
    assert np.median(by_vectors[above]) == pytest.approx(1, rel=1e-3)
    units = [(1 - K) / np.median(1 - K[above]) for K in SetsKernel(X.sets)()]
    np.testing.assert_allclose(by_labels, np.mean(units, axis=0), rtol=1e-3, atol=1e-5)
    again = distances(X[np.arange(7)])
    for found, own in zip(again, distances(X), strict=True):
        np.testing.assert_allclose(found, own[:7], atol=1e-4)
    for found, whole in zip(distances.restricted(np.array([3, 5]))(X), distances(X), strict=True):
        np.testing.assert_array_equal(found, whole[:, [3, 5]])


def test_regression_is_kernel_ridge():
    X, _ = samples()
    y = 5 + 3 * X.vectors[:, 0].astype(float)
    K = np.exp(-0.3 * Distances(X, [5])(X)[1]).astype(float)
    target = (y - y.mean()) / y.std()
    expected = K @ np.linalg.solve(K + np.eye(90) / 10, target) * y.std() + y.mean()
    for given, weight in ((X, 0.0), (X.vectors, None)):
        found = KernelRegressor(C=10.0, gamma=0.3, wl_weight=weight).fit(given, y)
        np.testing.assert_allclose(found.predict(given), expected, rtol=1e-3, atol=1e-3)


def test_chooses_the_distance_that_tells_the_classes():
    X, y = samples(200)
    noise = np.random.default_rng(1).normal(size=X.vectors.shape).astype(np.float32)
    found = KernelClassifier(random_state=0).fit(KernelInput(noise, X.sets), y)
    table = pd.DataFrame(found.cv_results_)
    assert found.best_params_["wl_weight"] > 0
    assert found.best_score_ > 0.95
    assert table.mean_test_score[table.param_wl_weight == 0].max() < 0.5
    assert table.mean_test_score.max() == found.best_score_ == table.mean_test_score[found.best_index_]
    assert table.params[found.best_index_] == found.best_params_
    assert len(table) < 15  # of 3 * 6 * 6
    alone = KernelClassifier(random_state=0).fit(noise, y)
    assert list(alone.best_params_) == ["gamma", "C"]
    assert "param_wl_weight" not in alone.cv_results_


def test_scores_are_those_of_cross_validation():
    X, y = blobs()
    folds = list(ShuffleSplit(4, test_size=0.3, random_state=1).split(X))
    found = KernelClassifier([3, 3], C=[0.01, 1, 10], gamma=[0.1, 1], cv=folds).fit(X, y)
    K = {gamma: rbf_kernel(scaled(X), gamma=gamma) for gamma in (0.1, 1)}
    table = found.cv_results_
    for params, score in zip(table["params"], table["mean_test_score"], strict=True):
        k = K[params["gamma"]]
        parts = []
        for a, b in folds:
            model = SVC(C=params["C"], kernel="precomputed").fit(k[np.ix_(a, a)], y[a])
            parts.append(np.mean(model.decision_function(k[np.ix_(b, a)]).argmax(axis=1) == y[b]))
        assert score == pytest.approx(np.mean(parts), abs=0.01)
    assert len(table["params"]) > 2
    assert found.best_score_ == table["mean_test_score"].max()


def test_the_search_climbs_and_stays_if_nothing_is_better():
    X, y = samples()
    parts = Distances(X, [5])(X)
    splits = list(KFold(3, shuffle=True, random_state=0).split(y))
    peak = Search(parts, y, splits, None, None)
    peak._scores = lambda _, gamma, __: [-abs(np.log(gamma / 3.0))]
    start = {"wl_weight": 0.5, "gamma": 0.3, "C": 10.0}
    assert peak.climb(start, "gamma", [0.1, 0.3, 1.0, 3.0, 10.0])["gamma"] == 3.0
    assert peak.climb(start, "C", [1.0, 10.0, 100.0]) == start  # equal everywhere
    np.testing.assert_allclose(kernel_matrix(*parts, 1.0, 2.0), np.exp(-2 * parts[0]), rtol=1e-5)


def test_landmarks_for_many_samples(monkeypatch):
    X, y = samples(600)
    whole = KernelClassifier(random_state=0).fit(X, y)
    every = KernelClassifier(random_state=0, kernel_memory=1).fit(X, y)
    assert every.model_ == "600 landmarks"  # fewer samples than the smallest subset
    assert np.mean(every.predict(X) == y) > 0.9
    monkeypatch.setattr(kernel_model, "LANDMARKS", 150)
    found = KernelClassifier(random_state=0, kernel_memory=1e5).fit(X, y)
    fresh, truth = samples(300, seed=5)
    assert len(found.support_) == 150
    assert np.mean(found.predict(fresh) == truth) > np.mean(whole.predict(fresh) == truth) - 0.05
    assert np.mean(found.predict(fresh) == truth) > 0.9
    for given, new in ((X, fresh), (X.vectors, fresh.vectors)):
        line = KernelRegressor(random_state=0, kernel_memory=1e5).fit(given, X.vectors[:, 0])
        assert np.corrcoef(line.predict(new), fresh.vectors[:, 0])[0, 1] > 0.95


def test_probabilities_are_calibrated():
    generator = np.random.default_rng(0)
    X = generator.normal(size=(600, 2))
    chance = 1 / (1 + np.exp(-2 * X[:, 0]))
    y = (generator.random(600) < chance).astype(int)
    P = KernelClassifier(random_state=0).fit(X[:300], y[:300]).predict_proba(X[300:])
    np.testing.assert_allclose(P.sum(axis=1), 1)
    assert np.abs(P[:, 1] - chance[300:]).mean() < 0.08


def test_rare_classes_and_odd_inputs():
    X, y = samples(60)
    y[:1] = 9  # alone
    assert KernelClassifier(random_state=0).fit(X, y).predict_proba(X).shape == (60, 4)
    few, _ = samples(4, classes=2)
    for given in (few, few.vectors):
        lonely = KernelClassifier(random_state=0).fit(
            given, [0, 1, 1, 1]
        )  # a class of one cannot be cross-validated
        assert not hasattr(lonely, "best_params_")
        np.testing.assert_allclose(lonely.predict_proba(given).sum(axis=1), 1)
    X, y = blobs(30)
    constant = np.hstack([X, np.full((30, 1), 0.1)])
    decisions = [
        KernelClassifier(views, C=1.0, gamma=1.0).fit(given, y).decision_function(given)
        for views, given in (([3, 3], X), ([3, 4], constant))
    ]
    np.testing.assert_allclose(*decisions, rtol=1e-4)  # a constant column has no weight
    same = KernelClassifier(random_state=0).fit(np.ones((10, 3)), [0, 1] * 5)
    assert same.predict(np.ones((2, 3))).shape == (2,)
    assert KernelRegressor(random_state=0).fit(X[:1], [3.0]).predict(X[:2]).tolist() == [3.0, 3.0]


@pytest.mark.parametrize(
    ("model", "y", "message"),
    [
        (KernelClassifier(random_state=0), np.zeros(30), "at least two classes"),
        (KernelClassifier([3, 4]), None, "add up"),
        (KernelClassifier(C=-1), None, "C must be numbers > 0"),
        (KernelClassifier(wl_weight=2.0), None, "from 0 to 1"),
        (KernelRegressor(random_state=0), np.full(30, np.nan), "finite"),
    ],
)
def test_wrong_settings(model, y, message):
    X, labels = blobs(30)
    with pytest.raises(ValueError, match=message):
        model.fit(X, labels if y is None else y)


def test_rank_score():
    generator = np.random.default_rng(0)
    y = generator.integers(3, size=50)
    values = generator.normal(size=(50, 3)).round(1)  # with ties
    expected = np.mean([roc_auc_score(y == c, values[:, c]) for c in range(3)])
    assert rank_score(values, y) == pytest.approx(expected)
    assert rank_score(values[:, 0], (y == 1).astype(int)) == pytest.approx(
        roc_auc_score(y == 1, values[:, 0])
    )
    assert rank_score(values[:, 0], np.zeros(50, dtype=int)) == 0.5


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
    model = GRNFClassifier(16, scoring="roc_auc", random_state=0).fit(graphs, rare)
    expected = roc_auc_score(rare, model.predict_proba(graphs)[:, 1])
    assert model.score(graphs, rare) == pytest.approx(expected)
    assert 0.95 < model.best_score_ <= 1
    for wrong in ("no_such_score", 3):
        with pytest.raises(ValueError, match="scoring must be"):
            GRNFClassifier(16, scoring=wrong).fit(graphs, y)
    with pytest.raises(ValueError, match="scoring must be"):
        GRNFRegressor(16, scoring="roc_auc").fit(graphs, y.astype(float))
    assert GRNFClassifier(16, random_state=0).fit(graphs, rare).estimator_.scoring_ == "roc_auc"
    for lifts in (None, "auto"):
        linear = GRNFClassifier(16, lifts=lifts, estimator="linear", scoring="roc_auc", random_state=0).fit(
            graphs, y
        )
        assert linear.score(graphs, y) > 0.9


def test_vectors_do_not_depend_on_the_fold():
    graphs, y = rings()
    first, other = (
        GRNFClassifier(16, random_state=0).fit(graphs[rows], y[rows]).transform(graphs[60:])
        for rows in (slice(60), slice(20, None))
    )
    np.testing.assert_allclose(other[:, :16], first[:, :16], atol=1e-7)
    odd = nx.cycle_graph(4)
    nx.set_node_attributes(odd, "never seen", "symbol")
    assert GRNFClassifier(16, random_state=0).fit(graphs, y).predict([odd]).shape == (1,)


@pytest.mark.parametrize("scoring", ["f1", "neg_log_loss", "average_precision"])
def test_any_scorer_selects_settings(scoring):
    X, y = np.random.default_rng(0).normal(size=(60, 3)), np.arange(60) % 2
    X[:, 0] += 2 * y
    model = KernelClassifier(scoring=scoring, random_state=0).fit(X, y)
    assert model.best_score_ == max(model.cv_results_["mean_test_score"])
    assert KernelClassifier(random_state=0).fit(X, y).scoring_ == "accuracy"  # balanced
    numbers = KernelRegressor(scoring="neg_mean_absolute_error", random_state=0).fit(X, 100 * X[:, 0])
    assert -200 < numbers.best_score_ < 0


def test_landmarks_include_rare_classes(monkeypatch):
    monkeypatch.setattr(kernel_model, "LANDMARKS", 100)
    X, y = np.random.default_rng(0).normal(size=(900, 3)), (np.arange(900) % 30 == 0).astype(int)
    X[:, 0] += 2 * y
    model = KernelClassifier(random_state=0, kernel_memory=9e5).fit(X, y)
    assert model.model_ == "180 landmarks"
    assert y[model.support_].sum() == 30
    assert model.predict_proba(X)[:, 1].mean() < 0.1  # calibrated for the shares of all samples
    Y = np.column_stack([y, np.arange(900) % 2]).astype(float)
    Y[::3, 1] = np.nan
    several = KernelClassifier(random_state=0, kernel_memory=9e5).fit(X, Y)
    assert y[several.support_].sum() == 30
    assert roc_auc_score(y, several.decision_function(X)[:, 0]) > 0.9


def test_weights_count_like_copies():
    X, y = blobs(60, classes=2)
    weight = np.where(np.arange(60) < 30, 2.0, 1.0)
    columns = np.column_stack([y, X[:, 0] > 0])
    K = rbf_kernel(scaled(X), gamma=0.5)
    copies = np.r_[np.arange(30), np.arange(60)]
    twice = K[np.ix_(copies, copies)]
    found = KernelClassifier([3, 3], C=2.0, gamma=0.5, cv=[]).fit(X, columns, weight).decision_function(X)
    truth = np.where(columns[copies], 1.0, -1.0)
    weights = np.linalg.solve(twice + np.eye(90) / 2, truth - truth.mean(axis=0))
    np.testing.assert_allclose(found, K[:, copies] @ weights + truth.mean(axis=0), atol=1e-3)
    machine = SVC(C=2.0, kernel="precomputed", tol=1e-6).fit(twice, y[copies])
    found = KernelClassifier([3, 3], C=2.0, gamma=0.5, cv=[]).fit(X, y, weight)
    np.testing.assert_allclose(found.decision_function(X), machine.decision_function(K[:, copies]), atol=5e-3)


def test_ridge_with_missing_targets_is_ridge_on_the_others():
    X, y = blobs(60, classes=2)
    Y = np.column_stack([y, X[:, 0] > 0]).astype(float)
    Y[20:, 1] = np.nan
    model = KernelClassifier([3, 3], C=2.0, gamma=0.5, cv=[]).fit(X, Y)
    K = rbf_kernel(scaled(X), gamma=0.5)
    for target, rows in ((0, np.arange(60)), (1, np.arange(20))):
        truth = np.where(Y[rows, target] > 0, 1.0, -1.0)
        weights = np.linalg.solve(K[np.ix_(rows, rows)] + np.eye(len(rows)) / 2, truth - truth.mean())
        expected = K[:, rows] @ weights + truth.mean()
        np.testing.assert_allclose(model.decision_function(X)[:, target], expected, atol=1e-3)


@pytest.mark.parametrize("classes", [2, 3])
def test_all_samples_may_be_support_vectors(classes):
    """A narrow kernel makes every sample a support vector. They are sorted by class, the samples are not."""
    X, y = blobs(classes=classes)
    model = KernelClassifier(gamma=1000.0, C=10.0).fit(X, y)
    assert len(model.support_) == len(X)
    assert model.score(X, y) == 1


def test_rounding_of_features_is_not_amplified():
    X, _ = samples(200)
    generator = np.random.default_rng(1)
    nearly_constant = 1 + 1e-5 * generator.normal(size=(200, 3))
    X = KernelInput(np.hstack([X.vectors, nearly_constant]).astype(np.float32), X.sets)
    model = KernelRegressor(C=1e4, gamma=0.1, wl_weight=0.5).fit(X, generator.normal(size=200))
    by_labels, by_vectors = model.distances_(X)
    exact = np.exp(-0.1 * (0.5 * by_labels.astype(np.float64) + 0.5 * by_vectors))
    np.testing.assert_allclose(kernel_matrix(by_labels, by_vectors, 0.5, 0.1), exact, rtol=1e-12)
    rounded = X.vectors + 1e-7 * generator.choice([-1, 1], X.vectors.shape)
    moved = model.predict(KernelInput(rounded.astype(np.float32), X.sets))
    np.testing.assert_allclose(moved, model.predict(X), atol=1e-5)
