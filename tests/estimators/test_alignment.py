import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import minimize

from grnf.estimators.alignment import aligned_weights, sparse_weights, target_matrix


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


@given(
    st.lists(st.one_of(st.floats(0, 1e6), st.sampled_from([0.0, 1.0, 2.0])), min_size=1, max_size=40),
    st.floats(1e-3, 100),
)
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
        (None, "auto", "needs labels"),
        ([1, 2], "auto", "3 graphs, y of shape"),
        ([1, 1, 1], "auto", "one class only"),
        ([0.5, 0.5, 0.5], "regression", "constant"),
        ([0.5, np.nan, 1.0], "auto", r"NaN or infinity at \[1\]"),
        (["a", "b", "c"], "regression", "must hold numbers"),
        ([1, 2, 3], "ranking", "task must be"),
    ],
)
def test_bad_targets_are_refused(y, task, message):
    with pytest.raises(ValueError, match=message):
        target_matrix(y, task, 3)
