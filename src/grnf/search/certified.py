"""The k nearest graphs under d_P itself: more features for those that are still in doubt, and for no others.

Round r has M_r = 2^(r-1) M features and may fail with probability delta_r = delta / (r (r + 1)), a third
of it for each of:

- no mean of terms (psi_q - psi_i)^2 of one of N graphs is so far above, or so far below, its expectation
  that n kl(mean, expectation) > log(3 N / delta_r), kl that of Bernoulli variables for terms scaled to [0, 1]
  (Chernoff and Hoeffding). It depends on the mean alone, so the index gives all that are not ruled out;
- no bet on (psi_q - psi_i)^2 - (psi_q - psi_j)^2 being positive wins a factor of 3 N^2 / delta_r where its
  expectation is not (`grnf.metric.betting`): what two graphs have in common with the query cancels.

A graph is out when k others are nearer for certain. One is in for certain when all that are left beside the k
are farther. Who is neither at the largest M is tied.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from scipy.special import rel_entr

from grnf._utils.jit import compiled
from grnf.io.raw import RawGraph
from grnf.search.segments import Found, Segments
from grnf.typing import BoolArray, FloatArray, IntArray

__all__ = ["CertifiedAnswer", "certify"]

CHUNK = 4096
"""Features that are evaluated at a time."""

PAIRED = 256
"""Candidates up to which pairs of them are compared; before, single means rule most out."""

SHARES = 0.99 * 4.0 ** -np.arange(5)
"""Constant bets, as shares of the largest that cannot lose all."""

EQUAL = 1e-12
"""Mean difference of terms below which two graphs are taken for equal, so that more features are in vain."""


class CertifiedAnswer(NamedTuple):
    """Graphs that are, or may be, among the k nearest, and the number of features that it took to know."""

    ids: list[str]
    distances: FloatArray
    status: list[str]
    components: int


def certify(
    segments: Segments, grnf: Any, z: FloatArray, graph: RawGraph, k: int, delta: float, most: int, own: int
) -> CertifiedAnswer:
    """Answer one query with at most `most` features; `own` is a place that is left out, or -1."""
    n_rows = len(segments) - (own >= 0)
    k = min(k, n_rows)
    if k == 0:
        return CertifiedAnswer([], np.empty(0), [], grnf.n_components_)
    race = _Race(grnf, k, n_rows, delta)
    places, squares = _others(segments.nearest(z[np.newaxis], min(k + (own >= 0), len(segments)), 1), own)
    places, squares = places[:k], squares[:k]
    if n_rows > k:
        screen = race.screen(squares, grnf.n_components_ // grnf.heads, 1)
        radius = math.sqrt(max(screen, float(squares[-1]))) * (1 + 1e-9)
        places, squares = _others(segments.within(z[np.newaxis], radius, 1), own)
    race.places, race.squares = places, squares
    M, turn = grnf.n_components_, 1
    while not race.decided and most >= 2 * M:
        M, turn = 2 * M, turn + 1
        race.run([graph, *(segments.graph(int(place)) for place in race.places)], M, turn)
    return CertifiedAnswer(segments.names_at(race.places), np.sqrt(race.squares), race.status(), M)


def _others(found: list[Found], own: int) -> tuple[IntArray, FloatArray]:
    """Return the places other than `own` that were found for one query, and their squared distances."""
    (places, far) = found[0]
    return places[places != own], np.square(far[places != own])


class _Race:
    """The candidates of one query, nearest first, and which of them are farther than which for certain."""

    def __init__(self, grnf: Any, k: int, n_rows: int, delta: float) -> None:
        self.grnf, self.k, self.n_rows, self.delta = grnf, k, n_rows, delta
        self.largest = float(grnf.largest_term_)
        self.places: IntArray = np.empty(0, np.int64)
        self.squares: FloatArray = np.empty(0)
        self.farther: set[tuple[int, int]] = set()
        self.in_vain = False

    def risk(self, turn: int) -> float:
        """Return a third of what a round may fail with."""
        return self.delta / (3 * turn * (turn + 1))

    def screen(self, nearest: FloatArray, n_terms: int, turn: int) -> float:
        """Return the mean square beyond which a graph is farther than the k nearest for certain."""
        evidence = math.log(self.n_rows / self.risk(turn)) / n_terms
        upper = _farthest(float(nearest[: self.k].max()) / self.largest, evidence, upwards=True)
        return self.largest * _farthest(upper, evidence, upwards=False)

    @property
    def decided(self) -> bool:
        """Whether nothing is left that more features could decide."""
        return len(self.places) <= self.k or self.in_vain

    def run(self, graphs: list[RawGraph], M: int, turn: int) -> None:
        """Play a round with M features, and drop who is out."""
        heads, first = self.grnf.heads, np.arange(self.k)
        paired = len(self.places) <= PAIRED
        sums = np.zeros(len(self.places))
        logs = np.zeros((len(self.places) if paired else 0, self.k, len(SHARES)))
        spread = np.zeros(logs.shape[:2])
        step = max(heads, CHUNK - CHUNK % heads)
        for start in range(0, M, step):
            psi = self.grnf.features(graphs, start, min(start + step, M))
            terms = np.square(psi[1:] - psi[0]).reshape(len(self.places), -1, heads).mean(axis=2)
            sums += terms.sum(axis=1)
            if paired:
                _bet(terms / self.largest, first, SHARES, logs, spread)
        if paired:
            won = np.logaddexp.reduce(logs, axis=2) - math.log(len(SHARES))
            enough = math.log(self.n_rows**2 / self.risk(turn))
            for i, j in zip(*np.nonzero(won >= enough), strict=True):
                self.farther.add((int(self.places[i]), int(self.places[j])))
        equal = spread < EQUAL * (M // heads)
        self._drop(sums / (M // heads), M // heads, turn, equal if paired else None)

    def _drop(self, squares: FloatArray, n_terms: int, turn: int, equal: BoolArray | None) -> None:
        """Order the candidates anew, and keep those that are not out."""
        nearest = self.places[: self.k]
        beaten = np.array([all((int(i), int(j)) in self.farther for j in nearest) for i in self.places])
        beaten[: self.k] = False
        limit = self.screen(np.sort(squares), n_terms, turn)
        beaten |= squares > max(limit, float(np.sort(squares)[self.k - 1]))
        keep = np.flatnonzero(~beaten)
        self.in_vain = equal is not None and all(
            equal[i, j] or (int(self.places[i]), int(place)) in self.farther
            for i in keep[keep >= self.k]
            for j, place in enumerate(nearest)
        )
        keep = keep[np.argsort(squares[keep], kind="stable")]
        self.places, self.squares = self.places[keep], squares[keep]

    def status(self) -> list[str]:
        """Return whether each candidate is among the k nearest for certain."""
        rest = self.places[self.k :]
        return [
            "certain" if rank < self.k and all((int(i), int(place)) in self.farther for i in rest) else "tied"
            for rank, place in enumerate(self.places)
        ]


@compiled
def _bet(terms, first, shares, logs, spread):  # type: ignore[no-untyped-def]
    """Add the logarithms of what bets on terms[i] > terms[j] win, for all i and the first k as j."""
    for i in range(len(terms)):
        for j in first:
            if i == j:
                continue
            for m in range(terms.shape[1]):
                spread[i, j] += abs(terms[i, m] - terms[j, m])
            for a in range(len(shares)):
                product, total = 1.0, 0.0
                for m in range(terms.shape[1]):
                    product *= 1 + shares[a] * (terms[i, m] - terms[j, m])
                    if m % 32 == 31:  # factors lie between 0.01 and 1.99: no overflow, nor underflow
                        total += np.log(product)
                        product = 1.0
                logs[i, j, a] += total + np.log(product)


def _farthest(mean: float, evidence: float, *, upwards: bool) -> float:
    """Return the largest expectation that a mean allows, or the largest mean that an expectation allows."""
    low, high = mean, 1.0
    for _ in range(60):
        middle = (low + high) / 2
        p, q = (mean, middle) if upwards else (middle, mean)
        if rel_entr(p, q) + rel_entr(1 - p, 1 - q) <= evidence:
            low = middle
        else:
            high = middle
    return high
