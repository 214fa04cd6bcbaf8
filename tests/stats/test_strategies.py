"""Conformal p-values are uniform, bets on them are fair, and wealth follows its recursion."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.integrate import quad
from scipy.stats import kstest, spearmanr

from grnf import GraphError
from grnf._utils.arrays import conformal_pvalues
from grnf.stats.conformal import ANOMALY_SCORES, ReferenceScores, online_pvalues, rounded_scores
from grnf.stats.strategies import (
    N_DIRECTIONS,
    PAYOFFS,
    SHIFTS,
    Strategies,
    entering_share,
    log_payoffs,
    log_wealth,
)


def total(wealth):
    """The logarithm of the wealth in all bets together."""
    return np.logaddexp.reduce(wealth, axis=-1)


@pytest.mark.parametrize("both_sides", [False, True])
def test_every_bet_has_expectation_one(both_sides):
    def mean(bet):
        def payoff(p):
            return float(np.exp(log_payoffs(np.array(p), both_sides)[bet]))

        near = np.array([1e-12, 1e-8, 1e-5, 1e-3, *(1 / PAYOFFS)])
        ends = np.unique([0, *near, 0.5, *(1 - near[1:]), 1])
        return sum(quad(payoff, a, b)[0] for a, b in pairwise(ends))

    for bet in range((1 + both_sides) * (len(SHIFTS) + len(PAYOFFS))):
        assert mean(bet) == pytest.approx(1, abs=1e-5)


def test_wealth_follows_its_recursion():
    generator = np.random.default_rng(0)
    payoffs, entering = generator.uniform(0.1, 3, size=(20, 2, 3)), generator.uniform(0, 1, size=20)
    entering[7:9] = 0
    held = expected = generator.uniform(0, 1, size=(2, 3))
    with np.errstate(divide="ignore"):
        found = np.exp(log_wealth(np.log(payoffs), np.log(entering), np.log(held)))
    for t in range(20):
        expected = (expected + entering[t] / 3) * payoffs[t]
        assert found[t] == pytest.approx(expected)
    assert np.exp(total(np.log(found))) == pytest.approx(found.sum(axis=-1))


def test_nothing_overflows():
    payoffs = log_payoffs(np.full(20_000, 1e-300), True)
    wealth = total(log_wealth(payoffs, np.zeros(20_000), np.full(payoffs.shape[1], -np.inf)))
    assert np.isfinite(wealth).all()
    assert wealth[-1] > 1e5
    lost = log_payoffs(np.full(20_000, 1 - 1e-12), False)
    low = total(log_wealth(lost, np.full(20_000, -np.inf), np.zeros(lost.shape[1])))
    assert -np.inf < low[-1] < -1e4


def test_shares_never_exceed_the_whole():
    assert sum(entering_share(t, t + 1) for t in range(1000)) == pytest.approx(entering_share(0, 1000))
    assert entering_share(0, 10**12) < 1
    assert entering_share(10**6, 10**6 + 1) > 0


def strategies(seed, n=12, d=3, whole=True):
    calibration = np.random.default_rng([seed, 0]).normal(size=(n, len(ANOMALY_SCORES) + d))
    return Strategies(calibration, seed, whole, calibration[:0])


def test_directions_have_uniform_p_values():
    """Chosen by the graphs before, judged by those after: exact, with a dozen held-out graphs."""
    p_values = []
    for seed in range(500):
        found = strategies(seed)
        rows = np.random.default_rng([seed, 1]).standard_t(3, size=(12, found.calibration.shape[1]))
        found.advance(rows)
        (strategy,) = [w for w in found.running if (w.start, w.stop) == (8, 40)]
        ties = np.random.default_rng([seed, 2]).random(4)
        cauchy = np.random.default_rng([seed, 3]).standard_t(3, size=found.calibration.shape)
        known = strategy.scores(cauchy)  # held-out graphs of the same law
        p_values.append(online_pvalues(known, strategy.scores(rows[8:]), ties))
    p = np.array(p_values)
    for way in range(N_DIRECTIONS):
        for t in range(4):
            assert kstest(p[:, t, way], "uniform").pvalue > 1e-3
        assert spearmanr(p[:, 0, way], p[:, 1, way]).pvalue > 1e-3


@pytest.mark.parametrize("whole", [True, False])
def test_weights_sum_to_what_may_enter(whole):
    """To 1 at most over the whole stream, or to 1 for each graph."""
    n, found, entered = 2600, strategies(0, whole=whole), 0.0
    found.count, found.rows = n, np.zeros((n, found.calibration.shape[1]))
    for strategy in found._starting(0, 0):
        until = min(strategy.enters_until, n)
        entering = sum(np.exp(found._log_share(t, t + 1)) for t in range(strategy.start, until))
        wealth = np.exp(strategy.log_held).sum(axis=1) + entering
        entered += (np.exp(strategy.log_weights) * wealth).sum()
    most = 1 if whole else n
    assert 0.4 * most < entered <= most * (1 + 1e-9)


def test_rows_that_are_not_needed_are_forgotten():
    found = strategies(0)
    for _ in range(12):
        found.advance(np.zeros((256, found.calibration.shape[1])))
    assert len(found.rows) <= 2 * 1024
    assert len(found.running) < 60


def test_scores_tell_what_lies_outside_the_axes():
    generator = np.random.default_rng(0)
    Z = np.column_stack([generator.normal(size=(100, 2)), np.zeros((100, 2))])
    scores = ReferenceScores.learned(Z, n_axes=8, n_neighbors=3)
    assert scores.axes.shape == (4, 2)
    row = scores(np.array([[0.0, 0.0, 3.0, 4.0]]))[0]
    rest = ANOMALY_SCORES.index("rest")
    assert row[rest] * scores.units[rest] == pytest.approx(5, rel=1e-5)
    assert abs(row[len(ANOMALY_SCORES) :]).max() < 1


few_numbers = st.lists(st.integers(0, 5), min_size=1, max_size=12)


@given(few_numbers, few_numbers)
def test_p_values_are_counts(calibration, scores):
    p = conformal_pvalues(np.array(calibration, float), np.array(scores, float))
    for score, found in zip(scores, p, strict=True):
        assert found == (1 + sum(other >= score for other in calibration)) / (1 + len(calibration))


@given(few_numbers, few_numbers, st.integers(0, 12))
def test_online_p_values_are_ranks(calibration, scores, earlier):
    earlier = min(earlier, len(scores))
    ties = np.linspace(0.1, 0.9, len(scores))
    columns = np.array([calibration, calibration[::-1]], float).T, np.array([scores, scores[::-1]], float).T
    p = online_pvalues(*columns, ties[earlier:], earlier)
    assert p.shape == (len(scores) - earlier, 2)
    for t in range(earlier, len(scores)):
        known = calibration + scores[: t + 1]
        above, equal = sum(s > scores[t] for s in known), sum(s == scores[t] for s in known)
        assert p[t - earlier, 0] == pytest.approx((above + ties[t] * equal) / len(known))


def test_edges():
    with pytest.raises(GraphError, match="no held-out scores"):
        conformal_pvalues(np.array([]), np.array([1.0]))
    assert rounded_scores(np.array([1.0, 1.0 + 1e-12]), 0.0).tolist() == [1.0, 1.0]
