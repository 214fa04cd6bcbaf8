"""GRNFOutlierDetector: scikit-learn's contract, p-values, nearest normal graphs, and odd input."""

import pickle

import numpy as np
import pytest
from scipy.stats import binomtest
from sklearn.base import clone, is_outlier_detector
from sklearn.covariance import EllipticEnvelope
from sklearn.ensemble import IsolationForest
from sklearn.exceptions import NotFittedError
from sklearn.neighbors import LocalOutlierFactor
from sklearn.svm import OneClassSVM
from sklearn.utils.estimator_checks import check_outliers_fit_predict, check_outliers_train

from grnf import GRNF, Graph, GraphError
from grnf.datasets import make_sbm
from grnf.stats import GRNFOutlierDetector

DETECTORS = [
    "neighbors",
    IsolationForest(n_estimators=20, random_state=0),
    LocalOutlierFactor(n_neighbors=5, novelty=True),
    OneClassSVM(),
    EllipticEnvelope(random_state=0),
]


def detector_of(*arguments, **settings):
    return GRNFOutlierDetector(*arguments, **{"random_state": 0, **settings})


def normal(seed, n, shift=0.0, d=4):
    return np.random.default_rng(seed).normal(size=(n, d)) + shift


@pytest.mark.parametrize("detector", DETECTORS, ids=str)
def test_any_detector(detector):
    found = detector_of(detector=detector).fit(normal(0, 200))
    usual, other = normal(1, 100), normal(2, 20, shift=6)
    assert found.score_samples(other).max() < np.median(found.score_samples(usual))
    assert (found.predict(other) == -1).all()
    assert (found.predict(usual) == 1).mean() > 0.85
    assert np.array_equal(found.decision_function(usual), found.score_samples(usual) - found.offset_)
    assert np.array_equal(found.predict(usual) == -1, found.decision_function(usual) < 0)
    assert (found.pvalues(other) <= 0.05).all()
    copy = pickle.loads(pickle.dumps(found))
    assert np.array_equal(copy.score_samples(usual), found.score_samples(usual))


def test_the_contract_of_scikit_learn():
    detector = detector_of()
    assert is_outlier_detector(detector)
    check_outliers_fit_predict("GRNFOutlierDetector", detector)
    check_outliers_train("GRNFOutlierDetector", detector)
    assert clone(detector).get_params() == detector.get_params()
    with pytest.raises(NotFittedError):
        detector.predict(normal(0, 3))
    assert detector.fit(normal(0, 50)) is detector
    assert np.array_equal(clone(detector).fit_predict(normal(0, 50)), detector.predict(normal(0, 50)))


def test_contamination_draws_the_line():
    Z = normal(0, 200)
    for share in (0.05, 0.1, 0.5):
        assert (detector_of(contamination=share).fit_predict(Z) == -1).mean() == pytest.approx(share)


@pytest.mark.parametrize("ties", [False, True])
def test_p_values_keep_their_level(ties):
    small = 0
    for seed in range(200):
        Z = normal(seed, 31, d=2)
        Z = Z[np.random.default_rng(seed).integers(0, 31, 31)] if ties else Z  # some graphs occur repeatedly
        detector = detector_of(random_state=seed).fit(Z[:30])
        small += int(detector.pvalues(Z[30:])[0] <= 0.25)
    assert binomtest(small, 200, 0.25, alternative="greater").pvalue > 0.01
    assert small > 10


def test_judging_new_graphs():
    reference, usual, other = normal(0, 400), normal(1, 90), normal(2, 10, shift=7)
    detector = detector_of().fit(reference, ids=[f"r{i}" for i in range(400)])
    found = detector.detect(np.concatenate([other, usual]), fdr=0.2)
    assert found.outliers[:10].all()
    assert found.outliers[10:].mean() < 0.1
    assert np.array_equal(found.scores, -detector.score_samples(np.concatenate([other, usual])))
    rows = detector._map(reference)
    for place in (0, 50):
        far = np.linalg.norm(rows - detector._map(np.concatenate([other, usual])[place : place + 1]), axis=1)
        good = detector.predict(reference) == 1
        assert found.nearest[place] == f"r{np.flatnonzero(good)[far[good].argmin()]}"
        assert found.distances[place] == pytest.approx(far[good].min(), rel=1e-5)
    record = next(found.records())
    assert list(record) == found.columns
    assert record["outlier"] is True


def test_judging_among_themselves():
    far = np.random.default_rng(1).normal(size=(12, 4))
    Z = np.concatenate([normal(0, 300), 9 * far / np.linalg.norm(far, axis=1, keepdims=True)])
    detector = detector_of()
    found = detector.fit_detect(Z)
    assert set(np.argsort(-found.scores)[:12]) == set(range(300, 312))
    assert found.pvalues[300:].max() < 0.1
    assert found.needed is None
    assert found.outliers[:300].sum() == 0
    assert all(name != own for name, own in zip(found.nearest, found.ids, strict=True))
    assert detector.offset_ < 0
    flagged = detector_of(contamination=12 / 312).fit_detect(Z).outliers
    assert np.flatnonzero(flagged).tolist() == list(range(300, 312))
    with pytest.raises(GraphError, match="take fewer folds"):
        detector.fit_detect(normal(0, 20), n_folds=30)


@pytest.mark.parametrize("space", ["plain", "whitened"])
def test_how_many_reference_graphs_a_false_discovery_rate_needs(space):
    """49 reference scores cannot give 1 of 10 graphs a p-value of 0.01, and 99 can."""
    new = np.concatenate([normal(1, 9) / 9, np.full((1, 4), 9.0)])
    for count, needed in ((49, 99), (99, None)):
        count *= 1 if space == "plain" else 2
        found = detector_of(space=space).fit(normal(0, count)).detect(new)
        assert (found.needed, found.outliers[-1]) == (needed, needed is None)


def test_graphs_of_any_kind_and_bad_ones():
    graphs, _ = make_sbm(80, n_nodes=8, random_state=0)
    star = Graph(40, [(0, leaf) for leaf in range(1, 40)])
    detector = detector_of(GRNF(32, random_state=0), on_error="nan").fit([*graphs, "no graph"])
    assert [row for row, _ in detector.errors_] == [80]
    found = detector.detect([star, "no graph", graphs[0]], ids=["s", "b", "g"])
    assert (found.ids, np.isnan(found.pvalues).tolist()) == (["s", "b", "g"], [False, True, False])
    assert found.errors[0][0] == 1
    assert list(found.records())[1]["score"] is None
    nothing = detector.detect(["no graph"])
    assert (nothing.outliers.tolist(), nothing.nearest) == ([False], [None])
    answers = detector.predict(iter([star, "no graph"]))
    assert answers[0] == -1
    assert np.isnan(answers[1])
    with pytest.raises(GraphError, match=r"X\[1\]: "):
        detector.set_params(on_error="raise").predict([star, "no graph"])


def test_a_constant_collection():
    detector = detector_of().fit(np.ones((40, 3)))
    assert (detector.predict(np.ones((5, 3))) == 1).all()
    assert (detector.pvalues(np.ones((5, 3))) == 1).all()
    assert detector.predict(np.full((1, 3), 2.0)).tolist() == [-1]


@pytest.mark.parametrize(
    ("X", "settings", "what"),
    [
        (np.zeros((0, 3)), {}, "empty"),
        ([], {}, "empty"),
        (np.ones((1, 3)), {}, "at least two graphs that can be used are needed, got 1"),
        (normal(0, 8), {"n_neighbors": 8}, "the reference has 8 graphs.* n_neighbors=8 needs more"),
        (np.array([[0.0], [np.nan], [1.0]]), {}, r"X\[1\]: .* NaN"),
        (normal(0, 30), {"detector": "best"}, "detector must be"),
        (normal(0, 30), {"detector": LocalOutlierFactor(n_neighbors=5)}, "novelty=True"),
        *((normal(0, 200), {"contamination": wrong}, "contamination must be") for wrong in (0, 0.6, "some")),
    ],
)
def test_collections_and_parameters_that_are_refused(X, settings, what):
    with pytest.raises(ValueError, match=what):
        detector_of(**settings).fit(X)


def test_refusals():
    detector = detector_of().fit(normal(0, 30))
    with pytest.raises(GraphError, match="X: vectors have length 3, expected length 4"):
        detector.predict(normal(0, 2, d=3))
    with pytest.raises(GraphError, match="Give vectors, or a transformer"):
        detector.predict([Graph(2, [])])
    with pytest.raises(ValueError, match="fdr must be"):
        detector.detect(normal(0, 2), fdr=1.5)
