import numpy as np
import pytest
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.model_selection import ShuffleSplit
from sklearn.svm import SVC, SVR

from grnf.estimators.kernel_machine import KernelSVC, KernelSVR


def blobs(n=90, classes=3, seed=0):
    generator = np.random.default_rng(seed)
    y = np.arange(n) % classes
    X = generator.normal(size=(n, 6))
    X[:, :3] += 1.5 * y[:, np.newaxis]
    X[:, 3:] *= 1000
    return X, y


def scaled(X):
    """The same scaling, said plainly."""
    Z = (X - X.mean(axis=0)) / X.std(axis=0)
    parts = []
    for part in (Z[:, :3], Z[:, 3:]):
        D = ((part[:, np.newaxis] - part) ** 2).sum(axis=2)
        parts.append(part / np.sqrt(2 * np.median(D[np.triu_indices(len(D), 1)])))
    return np.hstack(parts)


@pytest.mark.parametrize("classes", [2, 3])
def test_is_the_machine_of_scikit_learn_on_scaled_blocks(classes):
    X, y = blobs(classes=classes)
    names = np.array(["a", "b", "c"])[y]
    found = KernelSVC([3, 3], C=2.0, gamma=0.5).fit(X, names)
    Z = scaled(X)
    expected = SVC(C=2.0, kernel="precomputed").fit(rbf_kernel(Z, gamma=0.5), y)
    decisions = expected.decision_function(rbf_kernel(Z, gamma=0.5))
    np.testing.assert_allclose(found.decision_function(X), decisions, rtol=1e-3, atol=1e-3)
    assert found.classes_.tolist() == ["a", "b", "c"][:classes]
    assert np.mean(found.predict(X) == names) == np.mean(expected.predict(rbf_kernel(Z, gamma=0.5)) == y)


def test_regression_is_that_of_scikit_learn_too():
    X, _ = blobs()
    y = 100 + 7 * X[:, 0]
    found = KernelSVR([3, 3], C=2.0, gamma=0.5).fit(X, y)
    Z, target = scaled(X), (y - y.mean()) / y.std()
    expected = SVR(C=2.0, kernel="precomputed", epsilon=0.05).fit(rbf_kernel(Z, gamma=0.5), target)
    values = expected.predict(rbf_kernel(Z, gamma=0.5)) * y.std() + y.mean()
    np.testing.assert_allclose(found.predict(X), values, rtol=1e-3)


def test_chooses_by_cross_validation():
    X, y = blobs()
    folds = list(ShuffleSplit(4, test_size=0.3, random_state=1).split(X))
    found = KernelSVC([3, 3], C=[0.01, 1, 10], gamma=[0.1, 1], cv=folds).fit(X, y)
    K = {gamma: rbf_kernel(scaled(X), gamma=gamma) for gamma in (0.1, 1)}
    scores = {}
    for params, score in zip(found.cv_results_["params"], found.cv_results_["mean_test_score"], strict=True):
        k = K[params["gamma"]]
        parts = []
        for a, b in folds:
            machine = SVC(C=params["C"], kernel="precomputed").fit(k[np.ix_(a, a)], y[a])
            parts.append(machine.decision_function(k[np.ix_(b, a)]).argmax(axis=1) == y[b])
        assert score == pytest.approx(np.mean([part.mean() for part in parts]), abs=0.01)
        scores[params["C"], params["gamma"]] = score
    assert len(scores) == 6
    assert found.best_score_ == max(scores.values())
    assert scores[found.best_params_["C"], found.best_params_["gamma"]] == found.best_score_
    assert found.cv_results_["params"][found.best_index_] == found.best_params_


def test_probabilities_are_calibrated():
    generator = np.random.default_rng(0)
    X = generator.normal(size=(600, 2))
    chance = 1 / (1 + np.exp(-2 * X[:, 0]))
    y = (generator.random(600) < chance).astype(int)
    P = KernelSVC().fit(X[:300], y[:300]).predict_proba(X[300:])
    np.testing.assert_allclose(P.sum(axis=1), 1)
    assert np.abs(P[:, 1] - chance[300:]).mean() < 0.08


def test_odd_inputs():
    X, y = blobs(30)
    X = np.hstack([X, np.full((30, 1), 0.1)])  # a constant column has no say
    with_constant = KernelSVC([3, 4], C=1.0, gamma=1.0).fit(X, y)
    without = KernelSVC([3, 3], C=1.0, gamma=1.0).fit(X[:, :6], y)
    np.testing.assert_allclose(
        with_constant.decision_function(X), without.decision_function(X[:, :6]), rtol=1e-4
    )
    lonely = KernelSVC().fit(X[:4], [0, 1, 1, 1])  # a class of one cannot be cross-validated
    assert lonely.predict_proba(X[:4]).shape == (4, 2)
    np.testing.assert_allclose(lonely.predict_proba(X[:4]).sum(axis=1), 1)
    same = KernelSVC().fit(np.ones((10, 3)), [0, 1] * 5)
    assert same.predict(np.ones((2, 3))).shape == (2,)
    with pytest.raises(ValueError, match="one class"):
        KernelSVC().fit(X, np.zeros(30))
    with pytest.raises(ValueError, match="add up"):
        KernelSVC([3, 3]).fit(X, y)
    with pytest.raises(ValueError, match="> 0"):
        KernelSVC(C=-1).fit(X, y)
    with pytest.raises(ValueError, match="finite"):
        KernelSVR().fit(X, np.full(30, np.nan))
    assert KernelSVR().fit(X[:1], [3.0]).predict(X[:2]).tolist() == [3.0, 3.0]
