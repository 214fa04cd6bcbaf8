"""Estimates of distances and kernels, their intervals, and bounds of the error."""

import math

import numpy as np
import pytest
from scipy.stats import norm

from grnf.law import Categorical, ShiftedPoisson
from grnf.metric import (
    distance,
    error_bound,
    kernel_estimate,
    pairwise_kernels,
    required_dimension,
    truncation_bias,
)
from grnf.metric.betting import C, betting_interval
from grnf.metric.bounds import failure_probability


@pytest.mark.parametrize("heads", [1, 4])
def test_estimates_are_means_of_independent_terms(heads):
    """Features of the same hidden draw are averaged before errors are estimated."""
    z1, z2 = np.random.default_rng(0).normal(size=(2, 100)) / 10
    far, near = distance(z1, z2, heads=heads), kernel_estimate(z1, z2, heads=heads)
    for estimate, mean, products in ((far, far.squared, (z1 - z2) ** 2), (near, near.value, z1 * z2)):
        terms = 100 * products.reshape(-1, heads).mean(axis=1)
        assert estimate.n_components == len(terms) == 100 / heads
        assert mean == pytest.approx(terms.mean())
        assert estimate.standard_error == pytest.approx(terms.std(ddof=1) / math.sqrt(len(terms)))
    assert far.value == pytest.approx(np.linalg.norm(z1 - z2))
    assert near.value == pytest.approx(pairwise_kernels([z1], [z2])[0, 0])
    assert distance(z1 - z2, np.zeros(100), heads=heads) == far  # centred or not
    assert f"{near:.2f}" == f"{near.value:.2f} ± {near.standard_error:.2f}"
    assert f"{distance([0.0, 0.0], [0.3, 0.4]):.2f}" == "0.50 ± 0.07"


def test_bernstein_interval_is_the_formula():
    estimate = distance(np.zeros(1000), np.linspace(0, 0.05, 1000))
    low, high = estimate.squared_interval(0.9, "bernstein")
    log = math.log(4 / 0.1)
    radius = math.sqrt(2 * estimate.standard_error**2 * log) + 7 * 4 * log / (3 * 999)
    assert high - estimate.squared == pytest.approx(radius)
    assert low == pytest.approx(estimate.squared - radius)
    assert estimate.interval(0.9, "bernstein") == (
        pytest.approx(math.sqrt(low)),
        pytest.approx(math.sqrt(high)),
    )


def test_interval_stays_within_what_is_possible():
    assert distance([0.0, 0.0], [0.1, 0.1]).squared_interval(0.95, "bernstein") == (0.0, 4.0)
    assert distance([0.0], [0.1]).squared_interval(0.95, "bernstein") == (0.0, 4.0)
    low, high = distance([0.0, 0.0], [0.1, 0.1]).squared_interval(0.95)
    assert 0 <= low < 0.02 < high <= 4
    assert distance(np.zeros(9), np.zeros(9)).value == 0


def test_smaller_ranges_give_shorter_intervals():
    z = np.full(400, 0.01)
    widths = [np.ptp(distance(0 * z, z, activation=a).squared_interval()) for a in ("sigmoid", "tanh")]
    assert widths[0] < widths[1]


def test_unbounded_terms_need_the_normal_interval():
    estimate = distance(np.zeros(100), np.linspace(0, 1, 100), activation="identity")
    with pytest.raises(ValueError, match="method must be 'clt'"):
        estimate.interval()
    assert estimate.interval(method="clt")[0] > 0
    assert f"{estimate}" == str(estimate) == f"{estimate.value:.4g} ± {estimate.value_error:.4g}"


def test_kernel_intervals_are_the_formulas():
    estimate = kernel_estimate(*np.random.default_rng(0).normal(size=(2, 100)) / 10)
    log = math.log(4 / 0.1)
    radius = math.sqrt(2 * estimate.standard_error**2 * log) + 7 * 5 * log / (3 * 99)  # range of tanh: 2
    assert estimate.interval(0.9, "bernstein") == pytest.approx(
        (max(estimate.value - radius, -1), estimate.value + radius)
    )
    radius = 5 * math.sqrt(math.log(2 / 0.1) / 200)
    low, high = estimate.interval(0.9, "hoeffding")
    assert (low, high) == pytest.approx((max(estimate.value - radius, -1), estimate.value + radius))
    assert kernel_estimate([0.1], [0.1]).interval(method="bernstein") == (-1.0, 4.0)
    with pytest.raises(ValueError, match="'bernstein', 'hoeffding', 'clt' or None, got 't'"):
        estimate.interval(method="t")
    unbounded = kernel_estimate([0.1, 0.2], [0.3, 0.4], activation="identity")
    for method in ("betting", "bernstein", "hoeffding"):
        with pytest.raises(ValueError, match=f"method must be 'clt' .*, got '{method}'. Or pass"):
            unbounded.interval(method=method)
    assert "±" in f"{unbounded}"


def capitals(x, m, delta):
    """Log capitals of the two gamblers, term by term, as the module says it."""
    seen, larger, smaller = [], 0.0, 0.0
    for term in x:
        before = [0.5, *seen]
        means = [math.fsum(before[: t + 1]) / (t + 1) for t in range(1, len(before))]
        variance = (0.25 + sum((a - b) ** 2 for a, b in zip(seen, means, strict=True))) / (len(seen) + 1)
        bet = math.sqrt(2 * math.log(2 / delta) / (len(x) * variance))
        larger += math.log(1 + min(bet, C / m) * (term - m))
        smaller += math.log(1 - min(bet, C / (1 - m)) * (term - m))
        seen.append(term)
    shares = [C / 4**j for j in range(2 + int(math.log(len(x), 16)))]
    constant = [math.prod(1 + share * (term / m - 1) for term in x) for share in shares]
    return math.exp(larger) / 2 + np.mean(constant) / 2, math.exp(smaller)


@pytest.mark.parametrize("n", [1, 2, 7, 40])
def test_the_ends_are_where_the_capital_is_enough(n):
    x = np.random.default_rng(n).beta(1, 4, size=n)
    low, high = betting_interval(x, 0.1)
    assert 0 <= low < x.mean() < high <= 1
    enough = 2 / 0.1
    for m in np.linspace(0.01, 0.99, 50):
        larger, smaller = capitals(x, m, 0.1)
        if m < x.mean():
            assert (larger >= enough) == (m <= low)
        else:
            assert (smaller >= enough) == (m >= high)


LAWS = {
    "rare": lambda generator, size: (generator.random(size) < 0.02).astype(float),
    "skewed": lambda generator, size: generator.beta(0.1, 5, size=size),
    "even": lambda generator, size: generator.random(size),
}
MEANS = {"rare": 0.02, "skewed": 0.1 / 5.1, "even": 0.5}


@pytest.mark.parametrize("n", [1, 8, 64, 512])
@pytest.mark.parametrize("law", LAWS)
def test_coverage_for_every_number_of_terms(law, n):
    """Of 400 intervals at 80 %, more than 111 misses would happen once in 10,000 tests at most."""
    generator = np.random.default_rng(n)
    misses = 0
    for _ in range(400):
        low, high = betting_interval(LAWS[law](generator, n), 0.2)
        misses += not low <= MEANS[law] <= high
    assert misses <= 111


@pytest.mark.parametrize("M", [32, 512, 8192])
def test_shorter_than_bernstein(M):
    z = np.sqrt(np.random.default_rng(0).exponential(0.02, size=M) / M)
    estimate = distance(np.zeros(M), z)
    lengths = {method: np.ptp(estimate.squared_interval(0.95, method)) for method in ("betting", "bernstein")}
    assert lengths["betting"] < 0.6 * lengths["bernstein"]
    assert estimate.squared_interval() == estimate.squared_interval(0.95, "betting")


def test_extremes():
    assert betting_interval(np.zeros(10), 0.05)[0] == 0
    assert betting_interval(np.ones(10), 0.05)[1] == 1
    low, high = betting_interval(np.array([0.5]), 0.05)
    assert low < 0.5 < high


def test_estimates_without_terms_have_the_next_best_interval():
    from grnf.metric import DistanceEstimate

    estimate = DistanceEstimate(0.1, 0.01, 100, 4.0)
    assert estimate.interval() == estimate.interval(method="bernstein")
    with pytest.raises(ValueError, match="estimate without its terms"):
        estimate.interval(method="betting")


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
        (lambda: distance([1.0], [1.0, 2.0]), "equal lengths, got 1 and 2"),
        (
            lambda: distance(*np.ones((2, 12)), heads=5),
            "heads must divide the length 12 of the vectors, got 5",
        ),
        (lambda: distance(np.ones((2, 2)), np.ones((2, 2))), r"z1 must be the vector of a single graph"),
        (lambda: distance([np.nan], [1.0]), "z1 must hold finite numbers, got NaN"),
        (
            lambda: distance([1.0], [1.0]).interval(method="t"),
            "method must be 'betting', 'bernstein', 'clt' or None",
        ),
        (
            lambda: distance([1.0], [1.0]).interval(2.0),
            "confidence must be a number strictly between 0 and 1",
        ),
        (lambda: distance([1.0], [1.0], activation="x"), "the activation must be one of .* got 'x'"),
        (lambda: required_dimension(0, 0.1), "eps must be a positive number, got 0"),
        (lambda: required_dimension("a", 0.1), "eps must be a positive number, got 'a'"),
        (lambda: required_dimension(0.1, 1), "delta must be a number strictly between 0 and 1, got 1"),
        (lambda: required_dimension(0.1, 0.1, bound="markov"), "bound must be 'hoeffding', 'chebyshev' or"),
        (lambda: required_dimension(0.1, 0.1, quantity="angle"), "quantity must be 'distance' or 'kernel'"),
        (lambda: required_dimension(0.1, 0.1, activation="relu"), "activation must be bounded, got 'relu'"),
        (lambda: required_dimension(0.1, 0.1, variance=1.0), "bound must be 'chebyshev' or 'clt' if"),
        (lambda: required_dimension(0.1, 0.1, n_graphs=1), "n_graphs must be an integer >= 2, got 1"),
        (lambda: error_bound(0, 0.1), "n_components must be an integer >= 1, got 0"),
        (lambda: error_bound(1.5, 0.1), "n_components must be an integer"),
    ],
)
def test_bad_arguments_are_refused(call, message):
    with pytest.raises(ValueError, match=message):
        call()
