"""Intervals for a mean by betting: valid for every number of terms, and short if terms vary little.

Suppose that a mean is m, and bet on the terms x_1 .. x_n in [0, 1], one by one, that they are larger: a
capital of 1 becomes

    K+(m) = prod_t (1 + a_t (x_t - m)),    0 <= a_t <= c / m,  a_t chosen before x_t is seen,

whose expectation is 1 if m is the mean, so it exceeds 2 / delta with probability delta / 2 at most. K-(m)
bets that they are smaller, with a_t <= c / (1 - m). All m that make neither exceed 2 / delta form the
interval (Waudby-Smith and Ramdas, "Estimating means of bounded random variables by betting", 2024). K+ falls
and K- rises with m, so each end is found by bisection.

Bets are those of the paper for n terms, a_t = sqrt(2 log(2 / delta) / (n v)) with the variance v of the terms
before t. Its first guess of v is too large for the small terms of distances, so for the lower end half of the
capital is bet on constant shares of the largest allowed bet, from c down to c / sqrt(n).
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from grnf.typing import FloatArray

C = 0.99
"""Share of the largest bet that cannot lose all."""

STEPS = 32
"""Bisections: an end is known to 2^-32 of where it may lie, and rounded outwards."""


def betting_interval(x: FloatArray, delta: float) -> tuple[float, float]:
    """Return an interval that holds the mean of independent terms in [0, 1] with probability 1 - delta."""
    x = np.clip(np.asarray(x, dtype=np.float64), 0, 1)
    mean, bets, shares = float(x.mean()), _bets(x, delta), _shares(len(x))
    enough = math.log(2 / delta)

    def too_small(m: float) -> bool:
        adaptive = np.log1p(np.minimum(bets, C / m) * (x - m)).sum()
        constant = np.log1p(np.multiply.outer(shares, x / m - 1)).sum(axis=1)
        both = np.concatenate([[adaptive - math.log(2)], constant - math.log(2 * len(shares))])
        return bool(np.logaddexp.reduce(both) >= enough)

    def too_large(m: float) -> bool:
        return bool(np.log1p(-np.minimum(bets, C / (1 - m)) * (x - m)).sum() >= enough)

    return _end(too_small, 0.0, mean), _end(too_large, 1.0, mean)


def _bets(x: FloatArray, delta: float) -> FloatArray:
    """Return the bets for each term, from the terms before it."""
    n = len(x)
    seen = np.arange(1, n + 1)
    means = (0.5 + np.cumsum(x)) / (seen + 1)
    variances = (0.25 + np.cumsum(np.square(x - means))) / (seen + 1)
    before = np.concatenate([[0.25], variances[:-1]])
    return np.asarray(np.sqrt(2 * math.log(2 / delta) / (n * before)))


def _shares(n: int) -> FloatArray:
    return C * 4.0 ** -np.arange(2 + int(math.log(n, 16)))


def _end(refused: Callable[[float], bool], outer: float, mean: float) -> float:
    """Return the innermost mean known to be refused between an outer end and the mean, or the outer end."""
    known, open_ = outer, mean
    for _ in range(STEPS):
        middle = (known + open_) / 2
        if not 0 < middle < 1:
            break
        if refused(middle):
            known = middle
        else:
            open_ = middle
    return known
