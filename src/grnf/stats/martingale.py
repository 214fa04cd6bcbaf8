"""Betting against "nothing has changed": capital that grows if it has, and hardly ever if it has not.

Under exchangeability online p-values are independent and uniform (`grnf.stats.conformal`). A bet is a density
f on (0, 1): its payoff f(p) has expectation 1, so capital that is multiplied by it is a martingale, and ever
passes c with probability 1 / c at most (Ville). What it gains after a change depends on f:

    exp(d z - d^2 / 2),  z = Phi^-1(1 - p)     the likelihood ratio of a shift by d standard deviations
    h + (1 - h) b [p <= 1 / b]                  pays b for scores beyond nearly all others

each for several d and b, in one direction or both. Nobody knows when a change comes, so a share e_t of the
capital enters at time t (a mixture over times of change): with capital A_k in bet k,

    A_k(t) = (A_k(t - 1) + e_t / K) f_k(p_t).

With sum e_t = 1 the whole is a martingale that starts at 1; with e_t = 1 it is the sum of Shiryaev and
Roberts, whose expectation at time t is t. All in logarithms: no capital is too large.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import ndtri

from grnf.typing import FloatArray

__all__ = ["Bets", "entering_share", "log_capital", "total"]

SHIFTS = np.array([0.25, 0.5, 1.0, 1.5, 2.0, 3.0])
"""d: sizes of the change that are bet on, in standard deviations of the score."""

PAYOFFS = np.array([16.0, 64.0, 256.0])
"""b."""

KEPT = 0.2
"""h: what is left where such a bet is lost."""

POWER, FIRST = 0.3, 100.0
"""The share that has not entered after t graphs is (1 + t / FIRST)^-POWER: of a change late in a long stream
nearly as much is bet as of an early one."""


@dataclass(frozen=True)
class Bets:
    """Densities that are bet on p-values.

    Parameters
    ----------
    both_ways : bool
        Bet on large p-values too: on scores that became small.

    Examples
    --------
    >>> bets = Bets(both_ways=False)
    >>> np.exp(bets.log_payoffs(np.array([0.001, 0.01]))[:, -2]).round(1)
    array([51.4, 51.4])
    """

    both_ways: bool

    def __len__(self) -> int:
        return (1 + self.both_ways) * (len(SHIFTS) + len(PAYOFFS))

    def log_payoffs(self, p: FloatArray) -> FloatArray:
        """Return log f_k(p), shape of p with one more axis for k."""
        found = self._one_way(np.asarray(p, dtype=np.float64))
        if self.both_ways:
            found = np.concatenate([found, self._one_way(1 - np.asarray(p, dtype=np.float64))], axis=-1)
        return found

    def _one_way(self, p: FloatArray) -> FloatArray:
        p = np.clip(p, 1e-300, 1 - 2.0**-53)[..., None]
        shifted = -ndtri(p) * SHIFTS - SHIFTS**2 / 2
        steps = np.log(KEPT + (1 - KEPT) * PAYOFFS * (p <= 1 / PAYOFFS))
        return np.concatenate([shifted, steps], axis=-1)


def entering_share(start: int, stop: int) -> float:
    """Return the share of the capital that enters for changes after `start` and up to `stop` graphs.

    Examples
    --------
    >>> sum(entering_share(t, t + 1) for t in range(10_000)) < 1
    True
    """
    return float((1 + start / FIRST) ** -POWER - (1 + stop / FIRST) ** -POWER)


def log_capital(log_payoffs: FloatArray, log_entering: FloatArray, log_held: FloatArray) -> FloatArray:
    """Return the logarithm of the capital in each bet after each p-value.

    Parameters
    ----------
    log_payoffs : array, shape (m, ..., K)
        log f_k(p_t).
    log_entering : array, shape (m,)
        log e_t; -inf where nothing enters.
    log_held : array, shape (..., K)
        The capital in each bet before; -inf for none.

    Returns
    -------
    array, shape (m, ..., K)

    Examples
    --------
    >>> paid = np.log([[2.0], [3.0]])
    >>> np.exp(log_capital(paid, np.log([1.0, 1.0]), np.array([-np.inf])))
    array([[2.],
           [9.]])
    """
    bets = log_payoffs.shape[-1]
    gained = np.cumsum(log_payoffs, axis=0)
    entered = log_entering.reshape(-1, *[1] * (log_payoffs.ndim - 1)) - np.log(bets)
    # capital that enters at t has missed all gains before t
    deflated = entered - np.concatenate([np.zeros_like(gained[:1]), gained[:-1]])
    deflated[0] = np.logaddexp(deflated[0], log_held)
    return np.asarray(np.logaddexp.accumulate(deflated, axis=0) + gained)


def total(log_capital_of_bets: FloatArray) -> FloatArray:
    """Return the logarithm of the capital in all bets together: the sum over the last axis."""
    return np.asarray(np.logaddexp.reduce(log_capital_of_bets, axis=-1))
