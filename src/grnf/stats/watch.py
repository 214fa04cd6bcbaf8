"""Many watchers of one stream: each bets on one score from some time on, and all share the promise.

A watcher that starts after s graphs may use all that it has seen of them to choose its score. Given these
graphs, the held-out ones and those to come are exchangeable as before, so its p-values, ranks among the
held-out scores and those since s, are independent and uniform, and its capital M is a martingale. With
weights w that sum to 1 over all watchers

    P(some w M ever reaches 1 / alpha)  <=  sum of w alpha  =  alpha,

however watchers depend on each other (their average would be no martingale: each has a past of its own).

- Watchers of fixed scores start at the head of the stream, and again after every `EPOCH` graphs, so that no
  more than two epochs of scores are held. What enters in one epoch goes on betting in the next.
- Watchers of a direction: the mean of the last 8, 16, .., 128 graphs, along the first axes, along all, and
  along those where it is large, says where the stream may be going; the graphs that follow are
  measured by it.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np

from grnf._utils.random import page_generator
from grnf.stats.conformal import online_p_values, rounded_scores
from grnf.stats.martingale import Bets, entering_share, log_capital, total
from grnf.stats.stream_scores import STRANGE
from grnf.typing import FloatArray

__all__ = ["EPOCH", "Bank", "Watcher"]

EPOCH = 1024
"""Graphs after which watchers of fixed scores start again."""

WATCHED_AXES = 16
WINDOWS = (8, 16, 32, 64, 128)
"""Graphs whose mean is a direction."""

LIFE = 4
"""A direction is watched for so many times the graphs that it came from."""

FEW = 8
SHARES = {"strange": 0.25, "axes": 0.25, "directions": 0.5}
"""Of the weight of all watchers."""

WAYS = ("few", "all", "large")
"""Ways to take a direction from a mean."""

TIES_PAGE = 1024


@dataclass(eq=False)
class Watcher:
    """Bets on some scores of the graphs after the first `start`, up to graph `stop`.

    Parameters
    ----------
    start, stop : int
    directions : array, shape (4 + d, J)
        The scores are rows @ directions.
    names : list of str
    log_weights : array, shape (J,)
    bets : Bets
    calibration : array, shape (n, J)
        Held-out scores, each column sorted.
    log_held : array, shape (J, K)
        Logarithms of the capital in each bet.
    enters_until : int
        Graphs up to which capital enters.
    """

    start: int
    stop: int
    directions: FloatArray
    names: list[str]
    log_weights: FloatArray
    bets: Bets
    calibration: FloatArray
    log_held: FloatArray
    enters_until: int

    def scores(self, rows: FloatArray) -> FloatArray:
        """Return the scores that are watched, of rows of all scores."""
        return rounded_scores(rows @ self.directions)

    def advance(
        self, rows: FloatArray, earlier: int, ties: FloatArray, log_entering: FloatArray
    ) -> FloatArray:
        """Bet on the rows after the first `earlier`; return the evidence of each score after each of them."""
        p = online_p_values(self.calibration, self.scores(rows), ties, earlier)
        capital = log_capital(self.bets.log_payoffs(p), log_entering, self.log_held)
        self.log_held = capital[-1]
        return self.log_weights + total(capital)


@dataclass(eq=False)
class Bank:
    """All watchers of a stream, and the rows of scores that they still need.

    Parameters
    ----------
    calibration : array, shape (n, 4 + d)
        Scores of the held-out graphs.
    seed : int
        Of the random numbers that break ties.
    whole : bool
        Capital that enters sums to 1 (for `alpha`), or is 1 with every graph (for `mean_time`).
    rows : array, shape (m, 4 + d)
        Scores of the last graphs.
    count : int
        Graphs of the stream.
    """

    calibration: FloatArray
    seed: int
    whole: bool
    rows: FloatArray
    count: int = 0
    watchers: list[Watcher] = field(default_factory=list)

    @classmethod
    def resumed(cls, calibration: FloatArray, seed: int, whole: bool, rows: FloatArray, count: int) -> Bank:
        """Return the bank after `count` graphs, of which it needs the rows since `since(count)` only."""
        bank = cls(calibration, seed, whole, rows[:0], since(count))
        bank.advance(rows)
        return bank

    def advance(self, rows: FloatArray) -> tuple[FloatArray, list[tuple[Watcher, int]]]:
        """Bet on more graphs.

        Returns
        -------
        evidence : array, shape (n,)
            After each graph the largest log w M of all watchers.
        by : list of (Watcher, int)
            The watcher that has it, and which of its scores.
        """
        before, self.count = self.count, self.count + len(rows)
        self.rows = np.concatenate([self.rows, rows])
        first = self.count - len(self.rows)
        evidence = np.full(len(rows), -np.inf)
        self.watchers += self._starting(before, first)
        by = [(self.watchers[0], 0)] * len(rows)
        ties = self._ties(before, self.count)
        for watcher in self.watchers:
            start, stop = max(before, watcher.start), min(self.count, watcher.stop)
            if start >= stop:
                continue
            own = self.rows[watcher.start - first : stop - first]
            entering = self._entering(watcher, start, stop)
            found = watcher.advance(
                own, start - watcher.start, ties[start - before : stop - before], entering
            )
            best = found.argmax(axis=1)
            largest = found[np.arange(len(best)), best]
            better = np.flatnonzero(largest > evidence[start - before : stop - before])
            evidence[start - before + better] = largest[better]
            for row in better.tolist():
                by[start - before + row] = (watcher, int(best[row]))
        self.watchers = [watcher for watcher in self.watchers if watcher.stop > self.count]
        self.rows = self.rows[max(0, since(self.count) - first) :]
        return evidence, by

    def _entering(self, watcher: Watcher, start: int, stop: int) -> FloatArray:
        """Return log e_t for the graphs after the first `start`."""
        return np.array(
            [self._log_share(t, t + 1) if t < watcher.enters_until else -math.inf for t in range(start, stop)]
        )

    def _log_share(self, start: int, stop: int) -> float:
        return math.log(entering_share(start, stop) if self.whole else stop - start)

    def _ties(self, start: int, stop: int) -> FloatArray:
        """Return the random numbers of some graphs: the same, however the stream comes in pieces."""
        pages = range(start // TIES_PAGE, (max(stop, start + 1) - 1) // TIES_PAGE + 1)
        drawn = [page_generator(self.seed, page, stream=1).random(TIES_PAGE) for page in pages]
        return np.concatenate(drawn)[start - pages[0] * TIES_PAGE : stop - pages[0] * TIES_PAGE]

    def _starting(self, before: int, first: int) -> Iterator[Watcher]:
        """Yield the watchers that start after graph `before`, or later, and before the last one."""
        for start in range(-(-before // EPOCH) * EPOCH, self.count, EPOCH):
            yield self._fixed(start)
        for window in WINDOWS:
            step = window // 2
            # without the rows before it (which a bank that is resumed lacks) it would be over by now
            earliest = max(first + window, -(-before // step) * step)
            for start in range(-(-earliest // step) * step, self.count, step):
                yield self._direction(start, window, self.rows[start - window - first : start - first])

    def _fixed(self, start: int) -> Watcher:
        width = self.calibration.shape[1]
        n_axes = min(WATCHED_AXES, width - len(STRANGE))
        kinds = len(STRANGE) + n_axes
        shares = [SHARES["strange"] / len(STRANGE)] * len(STRANGE) + [SHARES["axes"] / n_axes] * n_axes
        bets = Bets(both_ways=True)
        return Watcher(
            start,
            start + 2 * EPOCH,
            np.eye(width, kinds),
            [*STRANGE, *(f"axis {axis + 1}" for axis in range(n_axes))],
            np.log(shares),
            bets,
            np.sort(self.calibration[:, :kinds], axis=0),
            np.full((kinds, len(bets)), -math.inf),
            start + EPOCH,
        )

    def _direction(self, start: int, window: int, rows: FloatArray) -> Watcher:
        directions = np.zeros((self.calibration.shape[1], len(WAYS)))
        directions[len(STRANGE) :] = _ways(rows[:, len(STRANGE) :].mean(axis=0), window)
        since_last = start if start == window else window // 2
        share = SHARES["directions"] / len(WINDOWS) / len(WAYS)
        bets = Bets(both_ways=False)
        entered = self._log_share(start - since_last, start) - math.log(len(bets))
        watcher = Watcher(
            start,
            start + LIFE * window,
            directions,
            [f"direction of graphs {start - window} to {start - 1}"] * len(WAYS),
            np.full(len(WAYS), math.log(share)),
            bets,
            np.zeros((0, len(WAYS))),
            np.full((len(WAYS), len(bets)), entered),
            start,
        )
        watcher.calibration = np.sort(watcher.scores(self.calibration), axis=0)
        return watcher


def since(count: int) -> int:
    """Return from which graph on the rows are needed, after so many graphs.

    Examples
    --------
    >>> since(100), since(3 * EPOCH + 5)
    (0, 2048)
    """
    return max(0, count // EPOCH - 1) * EPOCH


def _ways(mean: FloatArray, window: int) -> FloatArray:
    """Return unit directions along a mean, one a column: in the first axes, in all, and where it is large."""
    few = np.where(np.arange(len(mean)) < FEW, mean, 0.0)
    noise = 2 / window  # of the square of a mean of whitened numbers, twice what is expected
    large = mean * np.maximum(0.0, 1 - noise / np.maximum(mean**2, 1e-300))
    found = np.column_stack([few, mean, large])
    norms = np.linalg.norm(found, axis=0)
    return np.asarray(found / np.where(norms > 0, norms, 1.0))
