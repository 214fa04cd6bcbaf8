import math

import pytest
from scipy.stats import norm

from grnf.law import Categorical, ShiftedPoisson
from grnf.metric import error_bound, failure_probability, required_dimension, truncation_bias


@pytest.mark.parametrize("eps", [0.01, 0.1, 0.5])
@pytest.mark.parametrize("delta", [0.001, 0.05, 0.5])
def test_the_paper_s_numbers(eps, delta):
    exact = 16 / (delta * eps**2)
    for activation in ("tanh", "sigmoid", "ramp"):
        M = required_dimension(eps, delta, bound="chebyshev", activation=activation)
        assert M == pytest.approx(exact, abs=1)
        assert M >= exact * (1 - 1e-9)
    M = required_dimension(eps, delta, bound="chebyshev", quantity="kernel", activation="sigmoid")
    assert M == math.ceil(1 / (delta * eps**2) * (1 - 1e-12))


def test_hoeffding_for_tanh():
    assert required_dimension(0.1, 0.05) == math.ceil(8 * math.log(2 / 0.05) / 0.1**2) == 2952
    n_pairs = 600 * 599 / 2
    assert required_dimension(0.1, 0.05, n_graphs=600) == math.ceil(8 * math.log(2 * n_pairs / 0.05) / 0.01)
    assert required_dimension(0.1, 0.05, activation="sigmoid") == math.ceil(math.log(40) / 0.02)
    assert required_dimension(0.1, 0.05, quantity="kernel") == math.ceil(5**2 * math.log(40) / 0.02)


def test_clt_uses_the_variance():
    M = required_dimension(0.1, 0.05, bound="clt", variance=0.3)
    assert pytest.approx(norm.ppf(0.975) ** 2 * 0.3 / 0.01, abs=1) == M
    assert required_dimension(0.1, 0.05, bound="chebyshev", variance=0.3) == 600
    assert required_dimension(0.1, 0.05, bound="clt") == math.ceil(norm.ppf(0.975) ** 2 * 4 / 0.01)
    assert required_dimension(0.1, 0.05, bound="clt", activation="relu", variance=1.0) > 0
    assert failure_probability(1, 0.001) == 1.0


@pytest.mark.parametrize("quantity", ["distance", "kernel"])
@pytest.mark.parametrize("bound", ["hoeffding", "chebyshev", "clt"])
@pytest.mark.parametrize("n_graphs", [None, 100])
def test_inverses(bound, quantity, n_graphs):
    settings = {"bound": bound, "quantity": quantity, "n_graphs": n_graphs}
    for eps, delta in ((0.1, 0.05), (0.02, 0.3)):
        M = required_dimension(eps, delta, **settings)
        assert error_bound(M, delta, **settings) <= eps < error_bound(M - 1, delta, **settings)
        assert failure_probability(M, eps, **settings) <= delta < failure_probability(M - 1, eps, **settings)


def test_truncation_bias():
    law = ShiftedPoisson(0.5)
    assert truncation_bias(law, {1, 2}) == pytest.approx(4 * (1 - law.mass({1, 2})))
    assert truncation_bias(law, {1, 2}, activation="sigmoid") == pytest.approx(1 - law.mass({1, 2}))
    assert truncation_bias(Categorical({1: 0.5, 2: 0.5}), {1, 2}) == 0.0


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: required_dimension(0, 0.1), "eps must be a positive number; got 0"),
        (lambda: required_dimension("a", 0.1), "eps must be a positive number; got 'a'"),
        (lambda: required_dimension(0.1, 1), "delta must be a number strictly between 0 and 1; got 1"),
        (
            lambda: required_dimension(0.1, 0.1, bound="markov"),
            "bound must be 'hoeffding', 'chebyshev' or",
        ),
        (lambda: required_dimension(0.1, 0.1, quantity="angle"), "quantity must be 'distance' or 'kernel'"),
        (lambda: required_dimension(0.1, 0.1, activation="relu"), "'relu' is unbounded"),
        (lambda: required_dimension(0.1, 0.1, variance=1.0), "Hoeffding's bound knows no variance"),
        (lambda: required_dimension(0.1, 0.1, n_graphs=1), "n_graphs must be an integer >= 2; got 1"),
        (lambda: error_bound(0, 0.1), "n_components must be an integer >= 1; got 0"),
        (lambda: error_bound(1.5, 0.1), "n_components must be an integer"),
    ],
)
def test_bad_arguments_are_refused(call, message):
    with pytest.raises(ValueError, match=message):
        call()
