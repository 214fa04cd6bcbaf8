"""Bets are fair, capital is what the recursion says, and no capital is too large."""

from itertools import pairwise

import numpy as np
import pytest
from scipy.integrate import quad

from grnf.stats.martingale import PAYOFFS, SHIFTS, Bets, entering_share, log_capital, total


@pytest.mark.parametrize("both_ways", [False, True])
def test_every_bet_has_expectation_one(both_ways):
    bets = Bets(both_ways)

    def mean(bet):
        def payoff(p):
            return float(np.exp(bets.log_payoffs(np.array(p))[bet]))

        steps = [
            1e-12,
            1e-8,
            1e-5,
            1e-3,
            *(1 / PAYOFFS),
            *(1 - 1 / PAYOFFS),
            0.5,
            1 - 1e-3,
            1 - 1e-5,
            1 - 1e-8,
        ]
        ends = np.unique([0, *steps, 1])
        return sum(quad(payoff, a, b)[0] for a, b in pairwise(ends))

    assert len(bets) == (1 + both_ways) * (len(SHIFTS) + len(PAYOFFS))
    for bet in range(len(bets)):
        assert mean(bet) == pytest.approx(1, abs=1e-5)


def test_capital_follows_its_recursion():
    generator = np.random.default_rng(0)
    payoffs, entering = generator.uniform(0.1, 3, size=(20, 2, 3)), generator.uniform(0, 1, size=20)
    entering[7:9] = 0
    held = expected = generator.uniform(0, 1, size=(2, 3))
    with np.errstate(divide="ignore"):
        found = np.exp(log_capital(np.log(payoffs), np.log(entering), np.log(held)))
    for t in range(20):
        expected = (expected + entering[t] / 3) * payoffs[t]
        assert found[t] == pytest.approx(expected)
    assert np.exp(total(np.log(found))) == pytest.approx(found.sum(axis=-1))


def test_mean_capital_under_the_null():
    """A martingale stays at what entered, and the sum of Shiryaev and Roberts at t, on average."""
    generator = np.random.default_rng(1)
    p = generator.random((3, 40_000))
    payoffs = Bets(both_ways=True).log_payoffs(p)
    payoffs = payoffs[..., (np.arange(payoffs.shape[-1]) % 9) < 4]  # others have too heavy a tail for means
    for entering, expected in (([1.0, 0.0, 0.0], 1.0), ([1.0, 1.0, 1.0], 3.0)):
        with np.errstate(divide="ignore"):
            held = np.full(payoffs.shape[1:], -np.inf)
            capital = np.exp(total(log_capital(payoffs, np.log(entering), held)[-1]))
        assert abs(capital.mean() - expected) < 4 * capital.std() / 200


def test_the_level_of_one_bettor():
    """Ville: a martingale of uniform p-values passes 1 / alpha with probability alpha at most."""
    generator = np.random.default_rng(2)
    p = generator.random((200, 2000))
    bets = Bets(both_ways=True)
    nothing, held = np.full(200, -np.inf), np.full((2000, len(bets)), -np.log(len(bets)))
    capital = total(log_capital(bets.log_payoffs(p), nothing, held))
    passed = (capital.max(axis=0) >= np.log(1 / 0.2)).mean()
    assert 0.05 < passed <= 0.2


def test_nothing_overflows():
    payoffs = Bets(both_ways=True).log_payoffs(np.full(20_000, 1e-300))
    capital = total(log_capital(payoffs, np.zeros(20_000), np.full(payoffs.shape[1], -np.inf)))
    assert np.isfinite(capital).all()
    assert capital[-1] > 1e5
    lost = Bets(both_ways=False).log_payoffs(np.full(20_000, 1 - 1e-12))
    low = total(log_capital(lost, np.full(20_000, -np.inf), np.zeros(lost.shape[1])))
    assert -np.inf < low[-1] < -1e4


def test_shares_never_exceed_the_whole():
    assert sum(entering_share(t, t + 1) for t in range(1000)) == pytest.approx(entering_share(0, 1000))
    assert entering_share(0, 10**12) < 1
    assert entering_share(10**6, 10**6 + 1) > 0
