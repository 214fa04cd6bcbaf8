import numpy as np
import pytest
from sklearn.base import clone
from sklearn.metrics import roc_auc_score
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.model_selection import ShuffleSplit
from sklearn.svm import SVC

from grnf import GRNFClassifier, GRNFRegressor
from grnf.estimators import kernel_model
from grnf.estimators.histograms import LabelSets
from grnf.estimators.kernel_model import (
    Distances,
    KernelClassifier,
    KernelInput,
    KernelRegressor,
    climb,
    kernel_matrix,
    missing,
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
    units = [(1 - K) / np.median(1 - K[above]) for K in X.sets.kernels(X.sets)]
    np.testing.assert_allclose(by_labels, np.mean(units, axis=0), rtol=1e-3, atol=1e-5)
    again = distances(X[np.arange(7)])
    for found, own in zip(again, distances(X), strict=True):
        np.testing.assert_allclose(found, own[:7], atol=1e-4)
    for found, whole in zip(distances.restricted(np.array([3, 5]))(X), distances(X), strict=True):
        np.testing.assert_array_equal(found, whole[:, [3, 5]])


def test_a_rare_value_does_not_make_a_sample_unlike_all_others():
    X = np.random.default_rng(0).normal(size=(400, 5)).astype(np.float32)
    X[:, 4] = np.arange(400) == 7  # 20 deviations
    _, by_vectors = Distances(KernelInput(X), [5])(KernelInput(X))
    assert np.median(by_vectors[8]) == pytest.approx(1, abs=0.5)
    assert np.median(by_vectors[7]) < 6


def test_missing_labels_of_pandas():
    y = np.array([pd.NA, None, float("nan"), "a", True, 1], dtype=object)
    assert missing(y).tolist() == [True, True, True, False, False, False]


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
    table = found.cv_results_
    for params, score in zip(table["params"], table["mean_test_score"], strict=True):
        k = rbf_kernel(scaled(X), gamma=params["gamma"])
        parts = []
        for a, b in folds:
            model = SVC(C=params["C"], kernel="precomputed").fit(k[np.ix_(a, a)], y[a])
            parts.append(np.mean(model.decision_function(k[np.ix_(b, a)]).argmax(axis=1) == y[b]))
        assert score == pytest.approx(np.mean(parts), abs=0.01)
    assert len(table["params"]) > 2
    assert found.best_score_ == table["mean_test_score"].max()


def test_the_search_climbs_and_stays_if_nothing_is_better():
    start = {"wl_weight": 0.5, "gamma": 0.3, "C": 10.0}
    mean = lambda settings: -abs(np.log(settings["gamma"] / 3.0))  # noqa: E731
    assert climb(mean, start, "gamma", [0.1, 0.3, 1.0, 3.0, 10.0])["gamma"] == 3.0
    assert climb(mean, start, "C", [1.0, 10.0, 100.0]) == start  # equal everywhere


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
        lonely = KernelClassifier(random_state=0).fit(given, [0, 1, 1, 1])  # too few for cross-validation
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


def test_wrong_settings():
    for wrong, message in (({"C": -1}, "C must be numbers > 0"), ({"wl_weight": 2.0}, "from 0 to 1")):
        with pytest.raises(ValueError, match=message):
            KernelClassifier(**wrong).fit(*blobs(30))


def test_rank_score():
    generator = np.random.default_rng(0)
    y = generator.integers(3, size=50)
    values = generator.normal(size=(50, 3)).round(1)  # with ties
    expected = [roc_auc_score(y == c, values[:, c]) for c in range(3)]
    assert rank_score(values, y) == pytest.approx(np.mean(expected))
    assert rank_score(values[:, 1], (y == 1).astype(int)) == pytest.approx(expected[1])
    assert rank_score(values[:, 0], np.zeros(50, dtype=int)) == 0.5


def rings():
    """Cycles of carbon with one atom of nitrogen or oxygen in them."""
    graphs = [nx.cycle_graph(5 + index % 7) for index in range(80)]
    for index, graph in enumerate(graphs):
        nx.set_node_attributes(graph, "C", "symbol")
        graph.nodes[0]["symbol"] = "NO"[index % 2]
    return graphs, np.arange(80) % 2


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
        linear = GRNFClassifier(16, lifts=lifts, estimator="linear", scoring="roc_auc", random_state=0)
        assert linear.fit(graphs, y).score(graphs, y) > 0.9


def test_vectors_do_not_depend_on_the_fold():
    graphs, y = rings()
    first, other = (
        GRNFClassifier(16, random_state=0).fit(graphs[rows], y[rows]).transform(graphs[60:])
        for rows in (slice(60), slice(20, None))
    )
    np.testing.assert_allclose(other[:, :16], first[:, :16], atol=1e-7)


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


def test_weights_and_missing_targets():
    """Ridge regression by its definition, on the samples that have a target. To an SVM, 2 is a copy."""
    X, y = blobs(60, classes=2)
    weight = np.where(np.arange(60) < 30, 2.0, 1.0)
    K = rbf_kernel(scaled(X), gamma=0.5)
    model = KernelClassifier([3, 3], C=2.0, gamma=0.5, cv=[])
    Y = np.column_stack([y, X[:, 0] > 0]).astype(float)
    Y[40:, 1] = np.nan
    found = clone(model).fit(X, Y, weight).decision_function(X)
    for target, rows in ((0, np.arange(60)), (1, np.arange(40))):
        truth = np.where(Y[rows, target] > 0, 1.0, -1.0)
        mean = np.average(truth, weights=weight[rows])
        a = np.linalg.solve(K[np.ix_(rows, rows)] + np.diag(1 / (2 * weight[rows])), truth - mean)
        np.testing.assert_allclose(found[:, target], K[:, rows] @ a + mean, atol=1e-3)
    copies = np.r_[np.arange(30), np.arange(60)]
    machine = SVC(C=2.0, kernel="precomputed", tol=1e-6).fit(K[np.ix_(copies, copies)], y[copies])
    found = model.fit(X, y, weight).decision_function(X)
    np.testing.assert_allclose(found, machine.decision_function(K[:, copies]), atol=5e-3)


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
