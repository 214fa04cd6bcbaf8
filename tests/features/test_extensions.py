"""Distributions and activations of users, against the definition."""

import numpy as np
import pytest

from grnf import GRNF, Activation, GraphBatch
from grnf.activations import ACTIVATIONS
from grnf.engine import Engine
from grnf.features import psi_of_graph
from grnf.law import CoefficientLaw, Gaussian, OrderLaw, ParameterLaw
from random_graphs import random_graph

BUMP = Activation("bump", lambda x: np.exp(-(x**2)), low=0.0, high=1.0)


class Signs(CoefficientLaw):
    def sample(self, normal, uniform):
        return np.sign(normal) * (1 + (uniform > 0.5))


class OtherGaussian(Gaussian):
    def sample(self, normal, uniform):
        return normal + 5.0


class Geometric(OrderLaw):
    def probability(self, k):
        return 0.5**k if 1 <= k <= 2 else 0.5 * (k == 3) / 2


def some_graphs():
    generator = np.random.default_rng(0)
    return [random_graph(generator, n, 1, 1, directed) for n in (4, 0, 1, 6) for directed in (False, True)]


@pytest.mark.parametrize("heads", [1, 2])
@pytest.mark.parametrize("orders", [{1: 0.4, 2: 0.3, 3: 0.3}, Geometric()])
@pytest.mark.parametrize("coefficients", [Signs(), OtherGaussian()])
def test_coefficients_of_a_user_are_those_of_the_features(coefficients, orders, heads):
    law, graphs = ParameterLaw(orders, coefficients, hidden_channels=2), some_graphs()
    settings = {"heads": heads, "hidden_channels": 2, "center": False, "dtype": "float64", "random_state": 1}
    Z = GRNF(8 * heads, orders=law, **settings).fit_transform(graphs)
    draw = law.sample(8, channels=GraphBatch.from_graphs(graphs).channels().all, seed=1)
    for group in draw.groups:
        values = {-2.0, -1.0, 1.0, 2.0}
        assert (
            set(group.theta.ravel()) <= values if isinstance(coefficients, Signs) else group.theta.mean() > 4
        )
    expected = [psi_of_graph(graph, draw, normalize=True) for graph in graphs]
    np.testing.assert_allclose(Z[:, ::heads] * np.sqrt(8 * heads), expected, rtol=1e-9, atol=1e-9)


def test_what_needs_a_density_is_refused():
    law, graphs = ParameterLaw({1: 1.0}, OtherGaussian()), some_graphs()
    with pytest.raises(ValueError, match="must have a known density to be weighted, got OtherGaussian"):
        GRNF(8, orders=ParameterLaw({1: 1.0}), proposal=law).fit(graphs)
    grnf = GRNF(8, orders=law, random_state=0).fit(graphs)
    assert grnf.largest_term_ == 4.0  # no weights: the squared range of tanh
    with pytest.raises(ValueError, match="theta_H must be Gaussian with a single scale"):
        grnf.marginal_kernel(graphs)
    with pytest.raises(ValueError, match="OtherGaussian cannot be saved"):
        grnf.to_json()
    with pytest.raises(ValueError, match=r"Wrong.sample must return an array of shape"):
        ParameterLaw({1: 1.0}, type("Wrong", (CoefficientLaw,), {"sample": lambda *_: np.ones(2)})()).sample(
            4, channels=1, seed=0
        )


@pytest.mark.parametrize("basis", ["indicator", "overlapping"])
@pytest.mark.parametrize("k", [1, 2, 3, 4])
def test_an_activation_of_a_user_is_the_definition(k, basis):
    graphs = some_graphs()
    draw = ParameterLaw({k: 1.0}, hidden_channels=2).sample(
        3, channels=GraphBatch.from_graphs(graphs).channels().all, seed=k
    )
    settings = {"basis": basis, "normalize": True}
    sums = Engine(BUMP, adjacency_channel=True, dtype=np.float64, **settings).sums(
        GraphBatch.from_graphs(graphs), draw
    )
    expected = [
        psi_of_graph(graph, draw, hidden_activation=BUMP, activation="identity", **settings)
        for graph in graphs
    ]
    np.testing.assert_allclose(sums, expected, rtol=1e-10, atol=1e-10)


@pytest.mark.parametrize("heads", [1, 3])
def test_numpy_and_kernels_agree(heads):
    """The same function under another name takes the path of NumPy; outer activations need no kernel."""
    own = Activation("own", np.tanh, -1.0, 1.0)
    settings = {"orders": {1: 0.4, 2: 0.3, 3: 0.3}, "heads": heads, "random_state": 0, "dtype": "float64"}
    found, expected = (
        GRNF(12, hidden_activation=rho, activation=rho, **settings).fit_transform(some_graphs())
        for rho in (own, ACTIVATIONS["tanh"])
    )
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-12)


def test_save_refuses_an_activation_of_a_user(tmp_path):
    graphs = some_graphs()
    grnf = GRNF(8, activation=BUMP, random_state=0).fit(graphs)
    with pytest.raises(ValueError, match="activation=bump cannot be saved"):
        grnf.save(tmp_path / "grnf.json")
    same = GRNF(8, activation=ACTIVATIONS["erf"], random_state=0).fit(graphs)
    assert GRNF.from_json(same.to_json()).activation == "erf"
