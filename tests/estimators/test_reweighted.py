import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import minimize
from sklearn.base import clone
from sklearn.linear_model import Ridge
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.svm import SVC

from grnf import GRNF, Graph, ReweightedGRNF, null_graph
from grnf.datasets import make_delaunay, make_sbm
from grnf.errors import GrnfWarning
from grnf.estimators.reweighted import aligned_weights, sparse_weights, target_matrix
from grnf.features import psi_of_graph
from grnf.law import ShiftedPoisson
from grnf.metric import pairwise_distances
from grnf.testing import check_graph_transformer
from random_graphs import cycle


@pytest.mark.parametrize("settings", [{}, {"radius": 3.0, "center": False, "dtype": "float64"}])
def test_scikit_learn_contract(settings):
    check_graph_transformer(ReweightedGRNF(8, n_candidates=100, random_state=0, **settings))


@pytest.fixture(scope="module")
def data():
    return make_delaunay(60, random_state=0)


def test_fit_solves_the_alignment_problem_on_the_drawn_features(data):
    graphs, y = data
    fitted = ReweightedGRNF(20, n_candidates=300, dtype="float64", random_state=3).fit(graphs, y)
    Z = GRNF(300, dtype="float64", random_state=3).fit_transform(graphs) * np.sqrt(300)
    Y = target_matrix(y, "classification", len(y))
    scores = np.einsum("ij,im,jm->m", Y @ Y.T, Z, Z)
    np.testing.assert_allclose(fitted.scores_, scores, rtol=1e-8, atol=1e-10)
    weights, radius = sparse_weights(scores, 20)
    np.testing.assert_array_equal(fitted.chosen_, np.flatnonzero(weights))
    np.testing.assert_allclose(fitted.weights_, weights[fitted.chosen_], rtol=1e-6)
    assert fitted.radius_ == pytest.approx(radius)
    assert fitted.dropped_ == pytest.approx(0, abs=1e-12)
    expected = Z[:, fitted.chosen_] * np.sqrt(fitted.weights_)
    np.testing.assert_allclose(fitted.transform(graphs), expected, rtol=1e-9, atol=1e-12)


def test_memory_and_workers_change_nothing(data):
    graphs, y = data
    settings = {"n_candidates": 2000, "dtype": "float64", "random_state": 3}
    one = ReweightedGRNF(16, **settings).fit(graphs, y)
    two = ReweightedGRNF(16, **settings, max_memory="1MB", n_jobs=2).fit(graphs, y)
    np.testing.assert_array_equal(one.chosen_, two.chosen_)
    np.testing.assert_allclose(one.transform(graphs), two.transform(graphs), rtol=1e-10, atol=1e-12)


def test_a_radius_of_ones_own_drops_the_smallest_weights(data):
    graphs, y = data
    fitted = ReweightedGRNF(20, n_candidates=300, radius=0.5, random_state=3).fit(graphs, y)
    assert (fitted.n_components_, fitted.radius_) == (20, 0.5)
    assert 0 < fitted.dropped_ < 1
    assert fitted.weights_.sum() == pytest.approx(1)
    whole = ReweightedGRNF(300, n_candidates=300, radius=0.5, random_state=3).fit(graphs, y)
    assert whole.dropped_ == pytest.approx(0, abs=1e-12)
    assert 300 * np.square(whole.weights_).sum() - 1 == pytest.approx(0.5)


def test_few_fitted_features_tell_more_than_few_drawn_ones():
    """Class separation in the fitted kernel, on graphs that the fit has not seen."""
    graphs, y = make_delaunay(160, random_state=1)
    accuracy = {}
    for seed in range(4):
        for grnf in (ReweightedGRNF(4, n_candidates=512, random_state=seed), GRNF(4, random_state=seed)):
            model = make_pipeline(grnf, SVC(C=100, gamma="scale")).fit(graphs[:80], y[:80])
            accuracy[type(grnf), seed] = model.score(graphs[80:], y[80:])
    fitted, plain = (np.mean([accuracy[kind, seed] for seed in range(4)]) for kind in (ReweightedGRNF, GRNF))
    assert fitted > plain + 0.1


def test_regression(data):
    graphs, _ = data
    density = np.array([graph.n_edges / graph.n_nodes + 0.123 for graph in graphs])
    model = make_pipeline(ReweightedGRNF(8, n_candidates=256, random_state=0), Ridge(1e-6))
    assert cross_val_score(model, graphs, density, cv=3).shape == (3,)
    fitted = ReweightedGRNF(8, n_candidates=256, random_state=0).fit(graphs, density)
    scaled = clone(fitted).fit(graphs, 5 * density - 3)
    np.testing.assert_array_equal(fitted.chosen_, scaled.chosen_)
    counts = np.arange(len(graphs))
    other = ReweightedGRNF(8, n_candidates=256, task="regression", random_state=0).fit(graphs, counts)
    assert not np.array_equal(other.chosen_, fitted.chosen_)


def test_distance_and_kernel_are_those_of_the_vectors(data):
    graphs, y = data
    settings = {"n_candidates": 128, "dtype": "float64", "random_state": 0}
    for center in (True, False):
        grnf = ReweightedGRNF(12, center=center, **settings).fit(graphs, y)
        Z = grnf.transform(graphs[:6])
        estimate = grnf.distance(graphs[0], graphs[1])
        assert float(estimate) == estimate.value == pytest.approx(np.linalg.norm(Z[0] - Z[1]))
        assert (estimate.standard_error, estimate.exact) == (0.0, True)
        for method in ("bernstein", "clt"):
            assert estimate.interval(0.01, method) == pytest.approx((estimate.value, estimate.value))
        assert f"{estimate:.3f}" == f"{estimate.value:.3f}"
        K = grnf.pairwise_kernels(graphs[:6])
        similarity = grnf.kernel(graphs[0], graphs[1])
        assert float(similarity) == pytest.approx(K[0, 1])
        assert similarity.interval(method="hoeffding") == (similarity.value, similarity.value)
        d2 = np.diag(K)[:, np.newaxis] + np.diag(K) - 2 * K
        np.testing.assert_allclose(np.sqrt(np.maximum(d2, 0)), pairwise_distances(Z), atol=1e-7)
        np.testing.assert_allclose(grnf.pairwise_kernels(graphs[:6], graphs[2:4]), K[:, 2:4], rtol=1e-10)


def test_what_was_drawn_is_visible(data):
    graphs, y = data
    grnf = ReweightedGRNF(6, n_candidates=128, dtype="float64", random_state=0).fit(graphs, y)
    draw = grnf.random_weights_
    np.testing.assert_array_equal(draw.orders, grnf.orders_)
    np.testing.assert_array_equal(grnf.orders_, grnf.proposal_law_.orders_of(128, seed=0)[grnf.chosen_])
    psi = psi_of_graph(graphs[0], draw, normalize=True) - psi_of_graph(null_graph(2), draw, normalize=True)
    np.testing.assert_allclose(grnf.transform(graphs[:1])[0], np.sqrt(grnf.weights_) * psi, rtol=1e-9)
    assert not hasattr(ReweightedGRNF(), "orders_")


def test_save_and_load(data, tmp_path):
    graphs, y = data
    orders = ShiftedPoisson(0.3).restricted_to({1, 2})
    grnf = ReweightedGRNF(12, n_candidates=256, orders=orders).fit(graphs, y)
    grnf.save(tmp_path / "grnf.json")
    again = ReweightedGRNF.load(tmp_path / "grnf.json")
    np.testing.assert_array_equal(again.transform(graphs), grnf.transform(graphs))
    again.save(tmp_path / "again.json")
    assert (tmp_path / "again.json").read_text() == (tmp_path / "grnf.json").read_text()
    with pytest.raises(ValueError, match="holds a ReweightedGRNF, not a GRNF: load it with ReweightedGRNF"):
        GRNF.load(tmp_path / "grnf.json")
    state = json.loads((tmp_path / "grnf.json").read_text())
    for damage in ({"weights": [1.0]}, {"chosen": state["fitted"]["chosen"][::-1]}, {"radius": "wide"}):
        (tmp_path / "bad.json").write_text(json.dumps({**state, "fitted": {**state["fitted"], **damage}}))
        with pytest.raises(ValueError, match="is damaged"):
            ReweightedGRNF.load(tmp_path / "bad.json")


def test_works_in_grid_search_and_with_bad_samples():
    graphs, y = make_sbm(40, random_state=0)
    model = make_pipeline(ReweightedGRNF(8, n_candidates=128, random_state=0), SVC())
    grid = {"reweightedgrnf__n_components": [4, 8], "svc__C": [1, 10]}
    assert GridSearchCV(model, grid, cv=3).fit(graphs, y).predict(graphs[:5]).shape == (5,)
    plain = ReweightedGRNF(8, n_candidates=128, random_state=0).fit(graphs, y)
    kept = clone(plain).set_params(on_error="nan").fit([*graphs, "no graph"], [*y, 1])
    np.testing.assert_array_equal(kept.chosen_, plain.chosen_)
    assert [row for row, _ in kept.errors_] == [40]


def test_fewer_candidates_than_features_are_refused():
    with pytest.raises(ValueError, match="must be at least n_components, got 4 candidates, 8 to keep"):
        ReweightedGRNF(8, n_candidates=4).fit([cycle(3), Graph(2, [])], [0, 1])


def convex_solution(v, radius):
    """The same problem by a general solver."""
    M = len(v)
    result = minimize(
        lambda q: -q @ v,
        np.full(M, 1 / M),
        jac=lambda q: -v,
        bounds=[(0, 1)] * M,
        constraints=[
            {"type": "eq", "fun": lambda q: q.sum() - 1, "jac": lambda q: np.ones_like(q)},
            {"type": "ineq", "fun": lambda q: radius - (M * (q @ q) - 1), "jac": lambda q: -2 * M * q},
        ],
        method="SLSQP",
        options={"ftol": 1e-14, "maxiter": 1000},
    )
    q = np.maximum(result.x, 0)
    return q / q.sum()


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("radius", [0.05, 0.5, 2.0])
def test_weights_are_those_of_a_convex_solver(seed, radius):
    generator = np.random.default_rng(seed)
    v = generator.exponential(size=int(generator.integers(2, 30))) ** 2
    q = aligned_weights(v, radius)
    oracle = convex_solution(v, radius)
    assert len(v) * oracle @ oracle - 1 <= radius + 1e-6
    assert q @ v == pytest.approx(oracle @ v, rel=1e-5)


SCORES = st.floats(0, 1e6, allow_subnormal=False) | st.sampled_from([0.0, 1.0, 2.0])


@given(st.lists(SCORES, min_size=1, max_size=40), st.floats(1e-3, 100))
def test_weights_are_feasible_and_optimal(scores, radius):
    """Feasible, and on the boundary of the ball or all on the largest scores."""
    v = np.array(scores)
    M, q = len(v), aligned_weights(scores, radius)
    assert (q >= 0).all()
    assert q.sum() == pytest.approx(1)
    assert M * q @ q - 1 <= radius * (1 + 1e-6) + 1e-6
    assert q @ v >= v.mean() * (1 - 1e-9)
    on_top = np.isclose(q[v == v.max()].sum(), 1)
    assert on_top or M * q @ q - 1 == pytest.approx(radius, rel=1e-4, abs=1e-6)
    order = np.argsort(v)
    assert (np.diff(q[order]) >= -1e-9).all()  # a larger score never weighs less


def test_sparse_weights_solve_the_problem_for_their_own_radius():
    v = np.random.default_rng(0).exponential(size=200)
    for kept in (1, 5, 50, 199):
        q, radius = sparse_weights(v, kept)
        assert np.count_nonzero(q) == kept
        np.testing.assert_allclose(q, aligned_weights(v, radius), atol=1e-8)
        more, _ = sparse_weights(v, kept + 1)
        assert np.count_nonzero(more) == kept + 1
        # in any smaller ball more features are needed
        assert np.count_nonzero(aligned_weights(v, 0.99 * radius) > 1e-12) >= kept + (kept > 1)
    np.testing.assert_allclose(sparse_weights(v, 200)[0], v / v.sum())


def test_ties_and_constants():
    np.testing.assert_allclose(sparse_weights([1.0, 1.0, 1.0], 2)[0], [0.5, 0.5, 0])
    np.testing.assert_allclose(sparse_weights([0.0, 0.0], 5)[0], [0.5, 0.5])
    np.testing.assert_allclose(aligned_weights([2.0, 2.0, 2.0], 0.1), [1 / 3] * 3)
    np.testing.assert_allclose(aligned_weights([2.0, 2.0, 0.0], 5.0), [0.5, 0.5, 0])
    np.testing.assert_allclose(aligned_weights([2.0, 3.0, 0.0], 2.0), [0, 1, 0])  # the ball holds every law


def test_target_of_classes_does_not_depend_on_names_or_order():
    a = target_matrix(["x", "y", "x", "z"], "auto", 4)
    b = target_matrix([5, 1, 5, 3], "auto", 4)
    np.testing.assert_allclose(a @ a.T, b @ b.T, atol=1e-14)
    np.testing.assert_allclose(a.sum(axis=0), 0, atol=1e-14)
    assert target_matrix([True, False, True, False], "auto", 4).shape == (4, 2)


def test_numbers_are_a_regression():
    values = np.array([0.5, 1.25, 7.0])
    np.testing.assert_allclose(target_matrix(values, "auto", 3), target_matrix(3 * values + 1, "auto", 3))
    assert target_matrix([1, 2, 4], "regression", 3).shape == (3, 1)
    assert target_matrix(np.arange(6).reshape(3, 2) / 4, "auto", 3).shape == (3, 2)


@pytest.mark.parametrize(
    ("y", "task", "message"),
    [
        (None, "auto", "one label for each"),
        ([1, 2], "auto", r"each of 3 graphs, got shape \(2,\)"),
        ([1, 1, 1], "auto", "at least two classes"),
        ([0.5, 0.5, 0.5], "regression", "constant"),
        ([0.5, np.nan, 1.0], "auto", r"NaN or infinity at \[1\]"),
        (["a", "b", "c"], "regression", "must have numbers"),
        ([1, 2, 3], "ranking", "task must be"),
    ],
)
def test_bad_targets_are_refused(y, task, message):
    with pytest.raises(ValueError, match=message):
        target_matrix(y, task, 3)


def test_distance_0_of_different_graphs_is_a_warning():
    triangles = Graph(6, [(0, 1), (1, 2), (2, 0), (3, 4), (4, 5), (5, 3)])
    hexagon = Graph(6, [(0, 1), (1, 2), (2, 3), (3, 4), (4, 5), (5, 0)])
    grnf = GRNF(64, random_state=0).fit([triangles])
    with pytest.warns(GrnfWarning, match="not isomorphic"):
        assert grnf.distance(triangles, hexagon).value < 1e-6
    assert grnf.distance(hexagon, hexagon.permuted([3, 1, 5, 0, 4, 2])).value < 1e-6  # without a warning
