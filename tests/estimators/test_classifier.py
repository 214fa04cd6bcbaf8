import pickle
from concurrent.futures import ThreadPoolExecutor

import joblib
import numpy as np
import pytest
from sklearn import config_context
from sklearn.base import clone, is_classifier, is_regressor
from sklearn.calibration import CalibratedClassifierCV
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.naive_bayes import GaussianNB
from sklearn.svm import SVC, LinearSVC
from sklearn.utils.estimator_checks import (
    check_no_attributes_set_in_init,
    check_parameters_default_constructible,
)
from threadpoolctl import threadpool_info

from grnf import GRNF, Graph, GraphError, GRNFClassifier, GRNFRegressor, GrnfWarning, ReweightedGRNF
from grnf.datasets import make_delaunay, make_sbm
from grnf.estimators import FeatureViews
from grnf.io import read_tu
from grnf.lifts import Degree, RandomWalk, Triangles
from grnf.testing import assert_invariant
from optional import require

nx = require("networkx")
pd = require("pandas")

SMALL = {"n_components": 32, "random_state": 0}


@pytest.fixture(scope="module")
def sbm():
    return make_sbm(60, random_state=0)


BOTH = {"decision_function", "predict_proba"}


@pytest.mark.parametrize(
    ("estimator", "methods"),
    [
        ("auto", BOTH),
        ("svm", BOTH),
        ("linear", BOTH),
        pytest.param("boosted", BOTH, marks=pytest.mark.slow),
        ("network", {"predict_proba"}),
        ("forest", {"predict_proba"}),
        (LinearSVC(), {"decision_function"}),
        (GaussianNB(), {"predict_proba"}),
    ],
)
def test_estimators_learn_and_have_the_methods_of_scikit_learn(sbm, estimator, methods):
    graphs, y = sbm
    lifts = [Degree(), Triangles(), RandomWalk(6)]
    model = GRNFClassifier(64, lifts=lifts, estimator=estimator, random_state=0)
    unfitted = clone(model)
    for one in (unfitted, model.fit(graphs[:40], y[:40])):
        assert {name for name in BOTH if hasattr(one, name)} == methods
        assert hasattr(one, "predict_log_proba") == ("predict_proba" in methods)
    ours = isinstance(estimator, str)
    assert model.score(graphs[40:], y[40:]) >= (0.8 if ours else 0.5)
    for name in methods:
        assert getattr(model, name)(graphs[40:]).shape == ((20, 2) if name == "predict_proba" else (20,))
    if "predict_proba" in methods:
        P = model.predict_proba(graphs[40:])
        np.testing.assert_allclose(P.sum(axis=1), 1, rtol=1e-6 if ours else 1e-5)
        np.testing.assert_allclose(np.exp(model.predict_log_proba(graphs[40:])), P, rtol=1e-5)
    if estimator in ("auto", "svm", "linear"):
        assert 0.8 <= model.best_score_ <= 1
        assert len(model.cv_results_["params"]) == len(model.cv_results_["mean_test_score"]) > 1
    else:
        assert model.cv_results_ == {}
        assert not hasattr(model, "best_params_")
    if ours and estimator != "linear":  # one name is enough
        return
    assert np.isfinite(cross_val_score(unfitted, graphs, y, cv=2, scoring="roc_auc")).all()
    calibrated = CalibratedClassifierCV(unfitted, cv=2).fit(graphs, y)
    np.testing.assert_allclose(calibrated.predict_proba(graphs[:4]).sum(axis=1), 1)


@pytest.mark.parametrize("estimator", ["auto", "linear", "network", Ridge()])
def test_regression_of_density(estimator):
    graphs, _ = make_delaunay(80, n_nodes=12, random_state=0)
    generator = np.random.default_rng(0)
    graphs = [type(g)(g.n_nodes, g.edges[generator.random(g.n_edges) < generator.random()]) for g in graphs]
    y = np.array([g.n_edges / g.n_nodes for g in graphs])
    model = GRNFRegressor(64, estimator=estimator, random_state=0).fit(graphs[:60], y[:60])
    assert model.score(graphs[60:], y[60:]) > 0.9
    assert model.predict_interval(graphs[60:]).shape == (20, 2)


def test_scikit_learn_manners(sbm):
    graphs, y = sbm
    model = GRNFClassifier(**SMALL)
    assert is_classifier(model)
    assert is_regressor(GRNFRegressor())
    assert repr(clone(model).get_params()) == repr(model.get_params())
    for method in (model.predict, model.predict_set, model.applicability, GRNFRegressor().predict_interval):
        with pytest.raises(NotFittedError):
            method(graphs)
    state = np.random.get_state()[1].tolist()  # noqa: NPY002
    assert model.fit(graphs, y) is model
    assert np.random.get_state()[1].tolist() == state  # noqa: NPY002
    for again in (pickle.loads(pickle.dumps(model)), clone(model).fit(graphs, y)):
        np.testing.assert_array_equal(again.predict_proba(graphs), model.predict_proba(graphs))
    assert_invariant(model.transform, graphs[:4])
    assert cross_val_score(GRNFClassifier(**SMALL), graphs, y, cv=3).mean() > 0.6
    for wrong in (None, y[:-1], np.zeros((60, 2, 2))):
        with pytest.raises(ValueError, match=r"y|label"):
            GRNFClassifier(**SMALL).fit(graphs, wrong)
    with pytest.raises(ValueError, match="continuous"):
        GRNFClassifier(**SMALL).fit(graphs, np.linspace(0, 1, 60))
    with pytest.raises(ValueError, match="estimator must be"):
        GRNFClassifier(estimator="woods", **SMALL).fit(graphs, y)


def test_names_as_classes_and_any_kind_of_graph():
    graphs = [nx.path_graph(n) for n in range(3, 13)] + [nx.cycle_graph(n) for n in range(3, 13)]
    for graph in graphs:
        nx.set_node_attributes(graph, {node: "ab"[node % 2] for node in graph}, "kind")
    y = ["path"] * 10 + ["cycle"] * 10
    model = GRNFClassifier(**SMALL).fit(graphs, y)
    assert set(model.predict(graphs)) == {"path", "cycle"}
    assert model.classes_.tolist() == ["cycle", "path"]
    odd = nx.path_graph(4)
    nx.set_node_attributes(odd, "never seen", "kind")
    assert model.predict([odd]).shape == (1,)
    with pytest.raises(GraphError, match="never seen"):
        GRNFClassifier(handle_unknown="error", **SMALL).fit(graphs, y).predict([odd])


def test_bad_samples(sbm):
    graphs, y = sbm
    bad = [*graphs, "no graph at all("]
    labels = [*y, 0]
    with pytest.raises(GraphError, match=r"X\[60\]"):
        GRNFClassifier(**SMALL).fit(bad, labels)
    with pytest.warns(GrnfWarning, match="1 of 61"):
        model = GRNFClassifier(on_error="nan", **SMALL).fit(bad, labels)
    answers = model.predict(bad)
    assert len(answers) == 61
    assert np.isnan(answers[-1])
    assert np.isnan(model.predict_proba(bad)[-1]).all()
    np.testing.assert_array_equal(answers[:-1], model.predict(graphs))
    for scoring in (None, "roc_auc", "neg_log_loss"):
        model.set_params(scoring=scoring)
        assert model.score(bad, labels) == pytest.approx(model.score(graphs, y))
    with pytest.raises(GraphError, match="none of the 1"):
        model.predict(bad[-1:])
    with pytest.warns(GrnfWarning):
        named = GRNFClassifier(on_error="nan", **SMALL).fit(bad, np.array(["x", "y"])[labels])
    assert named.predict(bad)[-1] is None
    with pytest.raises(ValueError, match="on_error must be 'raise' or 'nan', got 'skip'"):
        GRNFClassifier(on_error="skip").fit(graphs, y)


@pytest.mark.parametrize("estimator", ["auto", "linear", "forest"])
def test_several_targets_with_missing_entries(sbm, estimator):
    graphs, y = sbm
    edges = np.array([graph.n_edges for graph in graphs])
    dense = (edges > np.median(edges)).astype(float)
    Y = np.column_stack([y.astype(float), dense])
    Y[::7, 0] = Y[3::5, 1] = np.nan
    Y[0] = np.nan
    model = GRNFClassifier(estimator=estimator, **SMALL).fit(graphs, Y)
    assert [classes.tolist() for classes in model.classes_] == [[0, 1], [0, 1]]
    guess, P = model.predict(graphs), model.predict_proba(graphs)
    assert guess.shape == (60, 2)
    assert [part.shape for part in P] == [(60, 2)] * 2
    known = ~np.isnan(Y)
    own = [np.mean(guess[known[:, k], k] == Y[known[:, k], k]) for k in range(2)]
    assert model.score(graphs, Y) == pytest.approx(np.mean(own))
    assert np.mean(guess[~known[:, 1], 1] == dense[~known[:, 1]]) > 0.75  # of entries it was not given
    numbers = np.column_stack([edges, 2.0 * edges])
    numbers[::4, 1] = np.nan
    line = GRNFRegressor(estimator=estimator, **SMALL).fit(graphs, numbers)
    assert line.predict(graphs).shape == (60, 2)
    assert line.score(graphs, numbers) > 0.8
    both = line.predict(graphs)[np.arange(60) % 4 > 0]
    np.testing.assert_allclose(both[:, 1], 2 * both[:, 0], rtol=0.1)


@pytest.mark.parametrize("estimator", ["auto", "linear", "forest", "network"])
def test_weights_of_graphs_and_classes(sbm, estimator):
    graphs, y = sbm
    noisy = np.r_[y[:40], 1 - y[40:]]
    weight = np.r_[np.ones(40), np.full(20, 1e-6)]
    model = GRNFClassifier(estimator=estimator, C=10.0, gamma=0.3, **SMALL)
    plain = clone(model).fit(graphs, noisy).predict_proba(graphs)[40:, 1]
    light = clone(model).fit(graphs, noisy, sample_weight=weight).predict_proba(graphs)[40:, 1]
    assert np.mean((light - y[40:]) ** 2) < np.mean((plain - y[40:]) ** 2)
    favored = clone(model).set_params(class_weight={0: 1e-3, 1: 1.0}).fit(graphs, noisy)
    assert favored.predict(graphs).sum() >= clone(model).fit(graphs, noisy).predict(graphs).sum()


def test_metadata_routing_passes_weights(sbm):
    graphs, y = sbm
    weights = np.linspace(0, 1, 60)
    with config_context(enable_metadata_routing=True):
        model = GRNFClassifier(**SMALL).set_fit_request(sample_weight=True)
        model.set_score_request(sample_weight=False)
        scores = cross_val_score(model, graphs, y, cv=2, params={"sample_weight": weights})
    assert np.isfinite(scores).all()


@pytest.mark.parametrize(
    ("y", "message"),
    [
        (np.zeros(60), r"at least two classes, got only \[0.0\]"),
        (np.column_stack([np.arange(60) % 2, np.zeros(60)]), "at least two classes in column 1"),
        (np.full(60, np.nan), "all 60 are missing"),
        (np.array([None] * 60), "all 60 are missing"),
        (np.column_stack([np.arange(60) % 2, np.full(60, np.nan)]), "column 1: all 60 are missing"),
    ],
)
def test_targets_without_anything_to_learn(sbm, y, message):
    for kind in (GRNFClassifier, GRNFRegressor) if "missing" in message else (GRNFClassifier,):
        with pytest.raises(ValueError, match=message):
            kind(**SMALL).fit(sbm[0], y)


def test_constant_numbers_are_predicted(sbm):
    model = GRNFRegressor(**SMALL).fit(sbm[0], np.full(60, 0.1))
    np.testing.assert_allclose(model.predict(sbm[0]), 0.1)
    np.testing.assert_allclose(model.predict_interval(sbm[0][:4]), 0.1, atol=1e-6)
    with pytest.raises(ValueError, match="infinite"):
        model.fit(sbm[0], np.full(60, np.inf))
    with pytest.raises(ValueError, match=r"y must be numbers, or NaN if missing, got .*'>10'"):
        model.fit(sbm[0], [">10", *map(str, range(59))])
    for wrong in (np.ones(59), np.full(60, -1.0), np.full(60, np.nan), np.zeros(60)):
        with pytest.raises(ValueError, match=r"weight|NaN"):
            model.fit(sbm[0], np.arange(60.0), sample_weight=wrong)


@pytest.mark.filterwarnings("ignore:Persisting input arguments")  # took long on a busy computer
def test_memory_keeps_the_vectors_of_fit(sbm, tmp_path, monkeypatch):
    graphs, y = sbm
    embedded = []
    whole = GRNF.fit_transform
    monkeypatch.setattr(GRNF, "fit_transform", lambda grnf, X, _: embedded.append(len(X)) or whole(grnf, X))
    plain = GRNFClassifier(**SMALL).fit(graphs, y)
    model = GRNFClassifier(memory=str(tmp_path), **SMALL)
    search = GridSearchCV(model, {"C": [1.0, 10.0]}, cv=2).fit(graphs, y)
    assert embedded == [60, 30, 30, 60]  # once without memory, then once per fold, and for the last fit
    again = model.set_params(memory=joblib.Memory(str(tmp_path), verbose=0)).fit(graphs, y)
    assert len(embedded) == 4
    np.testing.assert_array_equal(again.predict_proba(graphs), plain.predict_proba(graphs))
    np.testing.assert_array_equal(search.best_estimator_.transform(graphs), plain.transform(graphs))
    with pytest.raises(ValueError, match="memory"):
        GRNFClassifier(memory=3, **SMALL).fit(graphs, y)


def test_results_of_choosing_have_the_form_of_a_grid_search(sbm):
    graphs, y = sbm
    model = GRNFClassifier(lifts=None, C=[1.0, 10.0], gamma=[0.3, 1.0], **SMALL).fit(graphs, y)
    Z = model.transform(graphs)
    search = GridSearchCV(SVC(), {"C": [1.0, 10.0], "gamma": [0.3, 1.0]}, cv=5).fit(Z, y)
    found = pd.DataFrame(model.cv_results_)
    assert {*found.columns} == {name for name in search.cv_results_ if not name.endswith("_time")}
    assert found.params[model.best_index_] == model.best_params_
    assert found.mean_test_score[model.best_index_] == model.best_score_ == found.mean_test_score.max()
    assert found.rank_test_score[model.best_index_] == 1
    splits = found[[f"split{number}_test_score" for number in range(5)]]
    np.testing.assert_allclose(splits.mean(axis=1), found.mean_test_score)
    np.testing.assert_allclose(splits.std(axis=1, ddof=0), found.std_test_score)


@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_output_as_a_table(sbm, library):
    require(library)
    graphs, y = sbm
    for model in (GRNFClassifier(**SMALL), GRNFRegressor(**SMALL), FeatureViews(**SMALL), GRNF(**SMALL)):
        Z = model.fit(graphs, y).transform(graphs)
        table = model.set_output(transform=library).transform(graphs)
        assert list(table.columns) == model.get_feature_names_out().tolist()
        np.testing.assert_array_equal(table.to_numpy(), Z)
    assert list(table.columns[:2]) == ["grnf0", "grnf1"]


@pytest.mark.parametrize("kind", [GRNF, GRNFClassifier, GRNFRegressor, ReweightedGRNF, FeatureViews])
def test_constructors_pass_the_check_of_scikit_learn(kind):
    check_parameters_default_constructible(kind.__name__, kind())
    check_no_attributes_set_in_init(kind.__name__, kind())


@pytest.mark.parametrize("lifts", ["foo", 3, {}, {"a": "foo"}, {"a": 3}, [Degree(), "foo"], [Ridge()]])
def test_wrong_lifts(sbm, lifts):
    with pytest.raises(ValueError, match=r"lifts must be 'auto', None, .*, got (3|'foo'|\{\}|Ridge)"):
        GRNFClassifier(lifts=lifts, **SMALL).fit(*sbm)


def test_threads_that_share_a_model_get_reports_of_their_own(sbm):
    graphs, y = sbm
    with pytest.warns(GrnfWarning, match="1 of 61"):
        model = GRNFClassifier(on_error="nan", **SMALL).fit([*graphs, "no graph"], [*y, 0])
    before = {name: id(value) for name, value in vars(model).items()}
    of_fit = list(model.errors_)

    def work(bad):
        X = [*graphs[:bad], "no graph", *graphs[bad:]]
        for _ in range(10):
            assert [row for row, _ in model.embed(X, on_error="nan").errors] == [bad]
            assert np.flatnonzero(np.isnan(model.predict(X))).tolist() == [bad]

    with ThreadPoolExecutor(2) as pool:
        list(pool.map(work, (3, 40)))
    assert {name: id(value) for name, value in vars(model).items()} == before
    assert model.errors_ == of_fit
    assert of_fit[0][0] == 60


def test_embedding_with_its_report(sbm):
    graphs, y = sbm
    model = GRNFClassifier(grnf_params={"dtype": "float64"}, **SMALL).fit(graphs, y)
    bad = [graphs[0], "no graph", graphs[1]]
    plain = model.transform(graphs[:2])
    whole = model.embed(bad, on_error="nan")
    np.testing.assert_array_equal(whole.vectors[[0, 2]], plain)
    assert np.isnan(whole.vectors[1]).all()
    assert whole.vectors.dtype == plain.dtype == np.float64
    found = model.embed(bad, on_error="skip")
    np.testing.assert_array_equal(found.vectors, plain)
    assert [row for row, _ in found.errors] == [row for row, _ in whole.errors] == [1]
    assert (whole.rows.tolist(), found.rows.tolist()) == ([0, 1, 2], [0, 2])
    with pytest.raises(GraphError, match=r"X\[1\]"):
        model.embed(bad)
    np.testing.assert_array_equal(model.set_params(on_error="nan").transform(bad), whole.vectors)


def test_mutag(shared):
    data = read_tu(shared / "data" / "tu" / "MUTAG.zip")
    accuracy = cross_val_score(GRNFClassifier(256, random_state=0), data.graphs, data.y, cv=5).mean()
    assert accuracy > 0.8  # 0.66 are in the larger class


class Watched(LogisticRegression):
    """Notes how many threads BLAS may use."""

    def fit(self, X, y):
        self.threads_ = blas_threads()
        return super().fit(X, y)

    def predict(self, X):
        self.threads_ = self.threads_ + blas_threads()
        return super().predict(X)


def blas_threads():
    return [found["num_threads"] for found in threadpool_info() if found["user_api"] == "blas"]


def test_blas_keeps_to_the_threads_of_n_jobs():
    graphs, y = make_sbm(20, random_state=0)
    model = GRNFClassifier(16, estimator=Watched()).fit(graphs, y)
    model.predict(graphs)
    assert set(model.estimator_.threads_) == {1}


CHIRAL = [f"C[C@{at}](N)({'C' * n}O)" for n in range(2, 8) for at in ("H", "@H")]
"""Pairs of mirror images."""


@pytest.mark.parametrize("kind", ["smiles", "mols", "frame"])
def test_stereochemistry_of_molecules_is_used(kind):
    chem = require("rdkit.Chem")
    given = {
        "smiles": CHIRAL,
        "mols": [chem.MolFromSmiles(text) for text in CHIRAL],
        "frame": pd.DataFrame({"smiles": CHIRAL}),
    }[kind]
    y = [0, 1] * 6
    model = GRNFClassifier(**SMALL).fit(given, y)
    assert model.predict(given).tolist() == y
    assert model.predict(CHIRAL[1:]).tolist() == y[1:]  # new molecules are read as those of fit
    assert np.abs(np.diff(model.explain(CHIRAL[0]).nodes)).max() > 0
    flat = GRNFClassifier(**SMALL, stereo=False).fit(given, y)
    assert flat.predict(CHIRAL[::2]).tolist() == flat.predict(CHIRAL[1::2]).tolist()
    assert not flat.encoder_.has_stereo


def test_graphs_that_are_encoded_may_be_mixed_with_others(shared):
    mutag = read_tu(shared / "data" / "tu" / "MUTAG.zip")
    graphs, y = mutag.graphs.take(range(60)), mutag.y[:60]
    foreign = Graph(
        2, [(0, 1)], np.eye(2, graphs.node_width), np.eye(1, graphs.edge_width)
    )  # columns without names
    model = GRNFClassifier(**SMALL, on_error="nan").fit(graphs, y)
    one = mutag.graphs[60]
    found = model.explain(one)
    assert found.nodes.shape == (one.n_nodes,)
    mixed = model.predict_proba([one, "no molecule", foreign])
    assert np.array_equal(mixed[0], model.predict_proba([one])[0])
    assert np.isnan(mixed[1:]).all()
    model.on_error = "raise"
    with pytest.raises(GraphError, match="another encoder"):
        model.predict([foreign])


def test_equal_graphs_are_in_their_set():
    pair = [Graph(3, [(0, 1), (1, 2)]), Graph(4, [(0, 1), (1, 2), (2, 3)])]
    model = GRNFClassifier(64, random_state=0).fit(pair * 60, [0, 1] * 60)
    assert model.predict_set(pair).tolist() == [[True, False], [False, True]]
    assert model.applicability(pair).tolist() == [1.0, 1.0]
