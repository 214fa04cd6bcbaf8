"""Testing by betting: wealth that grows if a stream has changed, and hardly ever if it has not.

**One bet.** If graphs are exchangeable, their online p-values are independent and uniform
(`grnf.stats.conformal`). A bet is a density f on (0, 1): its payoff f(p) has expectation 1, so wealth that is
multiplied by it is a martingale and ever exceeds c with probability at most 1 / c (Ville). The densities are

    exp(d z - d^2 / 2),  z = Phi^-1(1 - p)     the likelihood ratio of a shift by d standard deviations
    h + (1 - h) b [p <= 1 / b]                  pays b for scores beyond nearly all others

each for several d and b, in one direction or both. The time of a change is unknown, so a share e_t of the
wealth enters at time t (a mixture over change times). With wealth A_k in bet k,

    A_k(t) = (A_k(t - 1) + e_t / K) f_k(p_t).

With sum e_t = 1 the total is a martingale that starts at 1. With e_t = 1 it is the Shiryaev-Roberts sum,
whose expectation at time t is t. All values are logarithms, so no wealth overflows.

**Many strategies.** A strategy that starts after s graphs may choose its score by these graphs. Given them,
the held-out graphs and those to come are exchangeable as before, so its p-values, ranks among the held-out
scores and those since s, are independent and uniform, and its wealth M is a martingale. With weights w that
sum to 1 over all strategies

    P(some w M ever reaches 1 / alpha)  <=  sum of w alpha  =  alpha,

however strategies depend on each other. (Their average is not a martingale: each has a past of its own.)

- Strategies for fixed scores start with the stream, and again after every `EPOCH` graphs, so that at most two
  epochs of scores are kept. Wealth that enters in one epoch continues to bet in the next.
- Strategies for a direction: the mean of the last 8, 16, .., 128 graphs, along the first axes, along all, and
  along those in which it is large, is where the stream may be moving. Later graphs are scored by it.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np
from scipy.special import logsumexp, ndtri

from grnf._utils.random import page_generator
from grnf.stats.conformal import ANOMALY_SCORES, online_pvalues, rounded_scores
from grnf.typing import FloatArray

SHIFTS = np.array([0.25, 0.5, 1.0, 1.5, 2.0, 3.0])
"""d: sizes of the change that are bet on, in standard deviations of the score."""

PAYOFFS = np.array([16.0, 64.0, 256.0])
"""b."""

KEPT = 0.2
"""h: share that is left after such a bet is lost."""

POWER, FIRST = 0.3, 100.0
"""The share that has not entered after t graphs is (1 + t / FIRST)^-POWER: nearly as much is bet on a change
late in a long stream as on an early one."""

EPOCH = 1024
"""Graphs after which strategies for fixed scores start again."""

AXES_BET_ON = 16
WINDOWS = (8, 16, 32, 64, 128)
"""Graphs whose mean is a direction."""

LIFE = 4
"""A direction is bet on for this many times the graphs that it came from."""

FIRST_AXES = 8
WEIGHTS = {"anomaly": 0.25, "axes": 0.25, "directions": 0.5}
"""Of the strategies for each kind of score."""

N_DIRECTIONS = 3
"""Directions from a mean: along the first axes, along all, and along those in which it is large."""

TIES_PAGE = 1024
TEMPER = 0.5
"""Bets are not the true distribution, and the score was chosen by the data. So products count by their root,
or the interval would be too short (`python -m experiments streams` measures that)."""


def log_payoffs(p: FloatArray, both_sides: bool) -> FloatArray:
    """Return log f_k(p) with one more axis for k. `both_sides` adds bets on scores that became small."""
    logs: list[FloatArray] = []
    for side in (p, 1 - p)[: 1 + both_sides]:
        q = np.clip(np.asarray(side, dtype=np.float64), 1e-300, 1 - 2.0**-53)[..., None]
        steps = KEPT + (1 - KEPT) * PAYOFFS * (q <= 1 / PAYOFFS)
        logs += [-ndtri(q) * SHIFTS - SHIFTS**2 / 2, np.log(steps)]
    return np.concatenate(logs, axis=-1)


def entering_share(start: int, stop: int) -> float:
    """Return the share of the wealth that enters for changes after `start` and up to `stop` graphs."""
    return float((1 + start / FIRST) ** -POWER - (1 + stop / FIRST) ** -POWER)


def log_wealth(log_paid: FloatArray, log_entering: FloatArray, log_held: FloatArray) -> FloatArray:
    """Return the logarithm of the wealth in each bet after each p-value, shape (m, ..., K).

    `log_paid` (m, ..., K) is log f_k(p_t), `log_entering` (m,) is log e_t, and `log_held` (..., K) is the
    wealth in each bet before, -inf for none.
    """
    gained = np.cumsum(log_paid, axis=0)
    entered = log_entering.reshape(-1, *[1] * (log_paid.ndim - 1)) - np.log(log_paid.shape[-1])
    # wealth that enters at t has missed all gains before t
    deflated = entered - np.concatenate([np.zeros_like(gained[:1]), gained[:-1]])
    deflated[0] = np.logaddexp(deflated[0], log_held)
    return np.asarray(np.logaddexp.accumulate(deflated, axis=0) + gained)


def likely_interval(log_weight: FloatArray, confidence: float) -> tuple[int, int, int]:
    """Return the position of the largest weight, and the ends of the smallest set with this share of all.

    Examples
    --------
    >>> likely_interval(np.log([0.01, 0.3, 0.6, 0.09]), 0.95)
    (2, 1, 3)
    """
    weight = np.exp(log_weight - log_weight.max())
    order = np.argsort(-weight, kind="stable")
    inside = order[: int(np.searchsorted(np.cumsum(weight[order]) / weight.sum(), confidence)) + 1]
    return int(order[0]), int(inside.min()), int(inside.max())


@dataclass(eq=False)
class Strategy:
    """Bets on J scores of the graphs after the first `start`, up to graph `stop`.

    The scores are rows @ directions. `calibration` has those of held-out graphs, each column sorted. Wealth
    enters up to graph `enters_until`, and `log_held` (J, K) is the logarithm of the wealth in each bet.
    """

    start: int
    stop: int
    enters_until: int
    directions: FloatArray
    names: list[str]
    log_weights: FloatArray
    both_sides: bool
    calibration: FloatArray
    log_held: FloatArray

    def scores(self, rows: FloatArray) -> FloatArray:
        """Return the scores that are bet on, of rows of all scores."""
        return rounded_scores(rows @ self.directions)

    def advance(
        self, rows: FloatArray, earlier: int, ties: FloatArray, log_entering: FloatArray
    ) -> FloatArray:
        """Bet on the rows after the first `earlier`. Return the evidence of each score after each of them."""
        p = online_pvalues(self.calibration, self.scores(rows), ties, earlier)
        wealth = log_wealth(log_payoffs(p, self.both_sides), log_entering, self.log_held)
        self.log_held = wealth[-1]
        return np.asarray(self.log_weights + np.logaddexp.reduce(wealth, axis=-1))

    def located(self, kind: int, rows: FloatArray, confidence: float) -> tuple[int, int, int, FloatArray]:
        """Return the most likely first row after a change, an interval of rows, and the gain of each row.

        Each start s has the same prior probability, and so has each bet: the weight of s is the mean over
        bets of the root of the product of payoffs from s to the last row. Ranks are among held-out graphs
        alone, which no change reaches. `kind` is the score that raised the alarm, after the last row.
        """
        scores, held_out = self.scores(rows)[:, kind], self.calibration[:, kind]
        above = len(held_out) - np.searchsorted(held_out, scores, side="right")
        at_least = 1 + len(held_out) - np.searchsorted(held_out, scores, side="left")
        paid = log_payoffs((above + at_least) / (2 * (1 + len(held_out))), self.both_sides)
        after = np.cumsum(paid[::-1], axis=0)[::-1]
        change, low, high = likely_interval(logsumexp(TEMPER * after, axis=1), confidence)
        return change, low, high, paid[:, int(after[change].argmax())]


@dataclass(eq=False)
class Strategies:
    """All strategies of a stream, and the rows of scores of the last graphs, which they still need.

    `calibration` has the scores of the held-out graphs. Wealth that enters sums to 1 if `whole` (for
    `alpha`), or is 1 with every graph (for `mean_time`). `seed` is for random numbers that break ties.
    """

    calibration: FloatArray
    seed: int
    whole: bool
    rows: FloatArray
    count: int = 0
    running: list[Strategy] = field(default_factory=list)

    def resume(self, rows: FloatArray, count: int) -> None:
        """Continue after `count` graphs, of which the rows since `since(count)` are enough."""
        self.count = since(count)
        self.advance(rows)

    def advance(self, rows: FloatArray) -> tuple[FloatArray, list[tuple[Strategy, int]]]:
        """Bet on more graphs.

        Returns the largest log w M of all strategies after each graph, the strategy, and which of its scores.
        """
        if not len(rows):
            return np.zeros(0), []
        before, self.count = self.count, self.count + len(rows)
        self.rows = np.concatenate([self.rows, rows])
        first = self.count - len(self.rows)
        evidence = np.full(len(rows), -np.inf)
        self.running += self._starting(before, first)
        by = [(self.running[0], 0)] * len(rows)
        ties = self._ties(before, self.count)
        for strategy in self.running:
            start, stop = max(before, strategy.start), min(self.count, strategy.stop)
            if start >= stop:
                continue
            own = self.rows[strategy.start - first : stop - first]
            until = strategy.enters_until
            shares = [self._log_share(t, t + 1) if t < until else -math.inf for t in range(start, stop)]
            some = slice(start - before, stop - before)
            logs = strategy.advance(own, start - strategy.start, ties[some], np.array(shares))
            best = logs.argmax(axis=1)
            largest = logs[np.arange(len(best)), best]
            better = np.flatnonzero(largest > evidence[some])
            evidence[start - before + better] = largest[better]
            for row in better.tolist():
                by[start - before + row] = (strategy, int(best[row]))
        self.running = [strategy for strategy in self.running if strategy.stop > self.count]
        self.rows = self.rows[max(0, since(self.count) - first) :]
        return evidence, by

    def _log_share(self, start: int, stop: int) -> float:
        return math.log(entering_share(start, stop) if self.whole else stop - start)

    def _ties(self, start: int, stop: int) -> FloatArray:
        """Return the random numbers of some graphs: the same for any division of the stream into pieces."""
        pages = range(start // TIES_PAGE, (stop - 1) // TIES_PAGE + 1)
        drawn = [page_generator(self.seed, page, stream=1).random(TIES_PAGE) for page in pages]
        return np.concatenate(drawn)[start - pages[0] * TIES_PAGE : stop - pages[0] * TIES_PAGE]

    def _starting(self, before: int, first: int) -> Iterator[Strategy]:
        """Yield the strategies that start after graph `before`, or later, and before the last one."""
        for start in range(-(-before // EPOCH) * EPOCH, self.count, EPOCH):
            yield self._fixed(start)
        for window in WINDOWS:
            step = window // 2
            # without the rows before it (which are absent after `resumed`) it would have ended by now
            earliest = max(first + window, -(-before // step) * step)
            for start in range(-(-earliest // step) * step, self.count, step):
                yield self._direction(start, window, self.rows[start - window - first : start - first])

    def _fixed(self, start: int) -> Strategy:
        """Return the strategy for fixed scores."""
        n_anomaly = len(ANOMALY_SCORES)
        n_axes = min(AXES_BET_ON, self.calibration.shape[1] - n_anomaly)
        shares = [WEIGHTS["anomaly"] / n_anomaly] * n_anomaly + [WEIGHTS["axes"] / n_axes] * n_axes
        names = [*ANOMALY_SCORES, *(f"axis {axis + 1}" for axis in range(n_axes))]
        directions = np.eye(self.calibration.shape[1], len(names))
        times = start, start + 2 * EPOCH, start + EPOCH
        return self._strategy(times, directions, names, np.log(shares), True, -math.inf)

    def _direction(self, start: int, window: int, rows: FloatArray) -> Strategy:
        """Return the strategy for the directions of the mean of the last graphs."""
        directions = np.zeros((self.calibration.shape[1], N_DIRECTIONS))
        mean = rows[:, len(ANOMALY_SCORES) :].mean(axis=0)
        directions[len(ANOMALY_SCORES) :] = unit_directions(mean, window)
        names = [f"direction of graphs {start - window} to {start - 1}"] * N_DIRECTIONS
        weight = WEIGHTS["directions"] / len(WINDOWS) / N_DIRECTIONS
        since_last = start if start == window else window // 2
        entered = self._log_share(start - since_last, start) - math.log(len(SHIFTS) + len(PAYOFFS))
        weights = np.full(N_DIRECTIONS, math.log(weight))
        times = start, start + LIFE * window, start
        return self._strategy(times, directions, names, weights, False, entered)

    def _strategy(
        self,
        times: tuple[int, int, int],
        directions: FloatArray,
        names: list[str],
        log_weights: FloatArray,
        both_sides: bool,
        log_held: float,
    ) -> Strategy:
        calibration = np.sort(rounded_scores(self.calibration @ directions), axis=0)
        held = np.full((len(names), (1 + both_sides) * (len(SHIFTS) + len(PAYOFFS))), log_held)
        return Strategy(*times, directions, names, log_weights, both_sides, calibration, held)


def since(count: int) -> int:
    """Return the first graph whose rows are needed, after this many graphs."""
    return max(0, count // EPOCH - 1) * EPOCH


def unit_directions(mean: FloatArray, window: int) -> FloatArray:
    """Return unit vectors along a mean, one per column: in the first axes, in all, and in the large ones."""
    first = np.where(np.arange(len(mean)) < FIRST_AXES, mean, 0.0)
    noise = 2 / window  # of the square of a mean of whitened numbers, twice the expectation
    large = mean * np.maximum(0.0, 1 - noise / np.maximum(mean**2, 1e-300))
    columns = np.column_stack([first, mean, large])
    norms = np.linalg.norm(columns, axis=0)
    return np.asarray(columns / np.where(norms > 0, norms, 1.0))
