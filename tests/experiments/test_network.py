"""The dense part: it learns, it stops, and networks trained side by side do not touch each other."""

import numpy as np
import pytest
from experiments.network import NetworkSettings, train_networks

from experiments import network
from grnf.datasets import Fold

QUICK = NetworkSettings(hidden=16, max_steps=200, patience=100, batch_size=32, learning_rate=0.01)


@pytest.fixture
def problem():
    """Two classes that a product of two columns tells apart, so that a hidden layer is needed."""
    generator = np.random.default_rng(0)
    Z = generator.standard_normal((300, 6)).astype(np.float32)
    y = (Z[:, 0] * Z[:, 1] > 0).astype(np.int64)
    order = generator.permutation(300)
    return Z, y, Fold(order[:200], order[200:250], order[250:])


def test_learns_what_needs_a_hidden_layer(problem):
    Z, y, fold = problem
    (network,) = train_networks(Z[np.newaxis], y, fold, [1e-4], QUICK, seed=0)
    assert network.validation > 0.85
    assert network.test > 0.8


def test_learns_nothing_where_there_is_nothing(problem):
    Z, y, fold = problem
    noise = np.random.default_rng(1).permutation(y)
    runs = train_networks(np.stack([Z] * 8), noise, fold, [1e-4] * 8, QUICK, seed=0)
    assert np.mean([run.test for run in runs]) == pytest.approx(0.5, abs=0.12)


def test_test_labels_are_not_used_for_training(problem):
    Z, y, fold = problem
    wrong = y.copy()
    wrong[fold.test] = 1 - y[fold.test]
    (network,) = train_networks(Z[np.newaxis], y, fold, [1e-4], QUICK, seed=0)
    (other,) = train_networks(Z[np.newaxis], wrong, fold, [1e-4], QUICK, seed=0)
    assert other.validation == network.validation
    assert other.epoch == network.epoch
    assert other.test == pytest.approx(1 - network.test)


def test_heads_side_by_side_are_independent(problem):
    Z, y, fold = problem
    first = train_networks(np.stack([Z, Z]), y, fold, [1e-4, 1e-4], QUICK, seed=3)
    second = train_networks(np.stack([Z, Z[:, ::-1]]), y, fold, [1e-4, 1.0], QUICK, seed=3)
    assert first[0] == second[0]
    assert first[1] != second[1]


def test_strong_decay_leaves_nothing(problem):
    Z, y, fold = problem
    weak, strong = train_networks(np.stack([Z, Z]), y, fold, [1e-4, 10.0], QUICK, seed=0)
    assert weak.validation > strong.validation


def test_early_stopping_and_constant_columns(problem):
    Z, y, fold = problem
    Z = np.hstack([Z, np.ones((300, 1), dtype=np.float32)])
    patient = NetworkSettings(hidden=4, max_steps=100_000, patience=30, batch_size=200)
    (network,) = train_networks(
        Z[np.newaxis], y, fold, [0.1], patient, seed=0
    )  # ends long before 100,000 steps
    assert 1 <= network.epoch < 5000


def test_the_error_without_torch_says_what_to_install(problem, monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "torch", None)
    with pytest.raises(ImportError, match=r"grnf\[torch\]"):
        network._torch()
