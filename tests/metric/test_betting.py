"""Betting intervals: the capital by its definition, coverage for every number of terms, and lengths."""

import math

import numpy as np
import pytest

from grnf.metric import distance
from grnf.metric.betting import C, betting_interval


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
    lengths = {method: np.ptp(estimate.squared_interval(0.05, method)) for method in ("betting", "bernstein")}
    assert lengths["betting"] < 0.6 * lengths["bernstein"]
    assert estimate.squared_interval() == estimate.squared_interval(0.05, "betting")


def test_extremes():
    assert betting_interval(np.zeros(10), 0.05)[0] == 0
    assert betting_interval(np.ones(10), 0.05)[1] == 1
    low, high = betting_interval(np.array([0.5]), 0.05)
    assert low < 0.5 < high


def test_estimates_without_terms_have_the_next_best_interval():
    from grnf.metric import DistanceEstimate

    estimate = DistanceEstimate(0.1, 0.01, 100, 4.0)
    assert estimate.interval() == estimate.interval(method="bernstein")
    with pytest.raises(ValueError, match="terms are not known"):
        estimate.interval(method="betting")
