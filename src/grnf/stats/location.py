"""When a change came, and which graphs showed it, looking back from an alarm."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import logsumexp

from grnf.stats.watch import Watcher
from grnf.typing import FloatArray

__all__ = ["Alarm", "Driver", "located"]

MOST_DRIVERS = 10
TEMPER = 0.5
"""Bets are not the true law, and the score was chosen by what it showed: products count by their root, or the
interval would be too short (`python -m experiments streams` measures how often it holds the change)."""


@dataclass(frozen=True)
class Driver:
    """A graph after the change that raised the evidence: its number and id, by what factor, and its score.

    `distance` is that to the nearest graphs of the reference on average, where 1 is usual.
    """

    graph: int
    id: str
    factor: float
    distance: float


@dataclass(frozen=True)
class Alarm:
    """A change of the stream.

    Parameters
    ----------
    graph, id : int, str
        The graph after which the alarm was raised.
    change : int
        The first graph after the change, as far as can be told.
    interval : (int, int)
        First and last graph that may be it, with a probability of about `coverage`.
    coverage : float
    evidence : float
        Logarithm of the evidence; the alarm is raised at `threshold`.
    threshold : float
    score : str
        What changed: see `grnf.stats.stream_scores`, or a direction that earlier graphs showed.
    drivers : list of Driver
        The graphs that raised the evidence most, strongest first.
    """

    graph: int
    id: str
    change: int
    interval: tuple[int, int]
    coverage: float
    evidence: float
    threshold: float
    score: str
    drivers: list[Driver]

    def record(self) -> dict[str, Any]:
        """Return the alarm as plain values."""
        drivers = [vars(driver) for driver in self.drivers]
        return {**vars(self), "interval": list(self.interval), "drivers": drivers}

    @classmethod
    def of_record(cls, record: dict[str, Any]) -> Alarm:
        """Return the alarm that a record was made of."""
        low, high = record["interval"]
        drivers = [Driver(**driver) for driver in record["drivers"]]
        return cls(**{**record, "interval": (int(low), int(high)), "drivers": drivers})


def located(
    watcher: Watcher, kind: int, rows: FloatArray, coverage: float
) -> tuple[int, int, int, FloatArray]:
    """Return the most likely first row after the change, the interval, and what each row added.

    Each start s is as likely before, and a bet is as likely as another: the weight of s is the mean over bets
    of the root of the product of payoffs from s to the last row. Ranks are among held-out graphs alone, which
    no change reaches.

    Parameters
    ----------
    watcher, kind : Watcher, int
        Which score raised the alarm.
    rows : array, shape (m, 4 + d)
        Scores of the last graphs up to the alarm.
    coverage : float
    """
    scores, held_out = watcher.scores(rows)[:, kind], watcher.calibration[:, kind]
    above = len(held_out) - np.searchsorted(held_out, scores, side="right")
    at_least = 1 + len(held_out) - np.searchsorted(held_out, scores, side="left")
    payoffs = watcher.bets.log_payoffs((above + at_least) / (2 * (1 + len(held_out))))
    after = np.cumsum(payoffs[::-1], axis=0)[::-1]
    weight = logsumexp(TEMPER * after, axis=1)
    weight = np.exp(weight - weight.max())
    order = np.argsort(-weight, kind="stable")
    enough = int(np.searchsorted(np.cumsum(weight[order]) / weight.sum(), coverage)) + 1
    inside = order[:enough]
    change = int(order[0])
    return change, int(inside.min()), int(inside.max()), payoffs[:, int(after[change].argmax())]
