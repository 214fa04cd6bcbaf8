"""The k nearest graphs under d_P itself: more features for candidates that are undecided, and no others.

Round r has M_r = 2^(r-1) M features and may fail with probability delta_r = delta / (r (r + 1)), a third
of it for each of:

- no mean of terms (psi_q - psi_i)^2 of one of N graphs is so far above, or so far below, its expectation
  that n kl(mean, expectation) > log(3 N / delta_r), kl that of Bernoulli variables for terms scaled to [0, 1]
  (Chernoff and Hoeffding). It depends on the mean alone, so a radius search gives all that are not excluded.
- no bet on (psi_q - psi_i)^2 - (psi_q - psi_j)^2 being positive wins a factor of 3 N^2 / delta_r if its
  expectation is not (`grnf.metric.betting`): terms that two graphs have in common with the query cancel.

A candidate is excluded if k others are certainly nearer. It is certain if all candidates after the k nearest
are certainly farther. Those that are neither at the largest M are tied.
"""

from __future__ import annotations

import math
import time
from typing import Any

import numpy as np
from scipy.special import rel_entr

from grnf._utils.jit import compiled
from grnf.io.raw import RawGraph
from grnf.metric.estimate import distance_errors
from grnf.search.segments import Segments
from grnf.typing import FloatArray, IntArray

CHUNK = 4096
"""Features that are evaluated at a time."""

PAIRED = 256
"""Candidates up to which pairs of them are compared; before, single means exclude most."""

SHARES = 0.99 * 4.0 ** -np.arange(5)
"""Constant bets, as shares of the largest that cannot lose all."""

EQUAL = 1e-12
"""Mean difference of terms below which two graphs count as equal, so that more features cannot help."""


def certify(
    segments: Segments,
    grnf: Any,
    z: FloatArray,
    graph: RawGraph,
    k: int,
    delta: float,
    most: int,
    own: int,
    deadline: float = math.inf,
) -> tuple[IntArray, FloatArray, FloatArray, list[str], int]:
    """Search for one query with at most `most` features. `own` is a position to leave out, or -1.

    No round starts after the `deadline` of `time.monotonic`.

    Returns positions, distances, their standard errors and status of the graphs that may be among the k
    nearest, and M.
    """
    n_rows = len(segments) - (own >= 0)
    k, M, turn = min(k, n_rows), grnf.n_components_, 1
    if k == 0:
        return np.empty(0, np.int64), np.empty(0), np.empty(0), [], M
    largest = float(grnf.largest_term_)

    def risk() -> float:
        """Return a third of the failure probability of a round."""
        return delta / (3 * turn * (turn + 1))

    def limit(squares: FloatArray) -> float:
        """Return the mean square beyond which a graph is certainly farther than the k nearest."""
        square = float(np.sort(squares)[k - 1])
        evidence = math.log(n_rows / risk()) / (M // grnf.heads)
        upper = _farthest(square / largest, evidence, upwards=True)
        return max(largest * _farthest(upper, evidence, upwards=False), square)

    ((positions, distances),) = segments.nearest(z[np.newaxis], min(k + (own >= 0), len(segments)), 1)
    distances = distances[positions != own][:k]
    if n_rows > k:
        radius = math.sqrt(limit(np.square(distances))) * (1 + 1e-9)
        ((positions, distances),) = segments.within(z[np.newaxis], radius, 1)
        distances = distances[positions != own]
    positions, squares = positions[positions != own][: len(distances)], np.square(distances)
    errors = distance_errors(np.array([segments.row(position) for position in positions]), z, grnf.heads)
    farther, undecided = np.zeros((0, 0), np.bool_), True  # farther[i, j]: i is certainly farther than j
    while len(positions) > k and undecided and most >= 2 * M and time.monotonic() < deadline:
        M, turn = 2 * M, turn + 1
        paired = len(positions) <= PAIRED
        graphs = [graph, *(segments.graph(int(position)) for position in positions)]
        squares, errors, wealth, spread = _play(grnf, graphs, M, k if paired else 0)
        excluded = squares > limit(squares)
        if paired:
            farther = farther if farther.size else np.zeros((len(positions),) * 2, np.bool_)
            farther[:, :k] |= wealth >= math.log(n_rows**2 / risk())
            excluded[k:] |= farther[k:, :k].all(axis=1)
            settled = (spread < EQUAL * (M // grnf.heads)) | farther[:, :k]
            undecided = not settled[k:][~excluded[k:]].all()
        keep = np.flatnonzero(~excluded)
        keep = keep[np.argsort(squares[keep], kind="stable")]
        positions, squares, errors = positions[keep], squares[keep], errors[keep]
        farther = farther[np.ix_(keep, keep)] if paired else farther
    certain = np.atleast_1d(farther[k:, :k].all(axis=0) if farther.size else np.full(k, len(positions) <= k))
    status = ["certain" if sure else "tied" for sure in certain] + ["tied"] * (len(positions) - k)
    return positions, np.sqrt(squares), errors, status, M


def _play(grnf: Any, graphs: list[RawGraph], M: int, k: int) -> tuple[FloatArray, ...]:
    """Return the mean terms of the first graph to the others, with M features, and bets on pairs of these.

    After the means come the standard errors of their roots. The bets are on graph i being farther than graph
    j, for the first k as j: the logarithm of their wealth, and the sum of the differences of terms.
    """
    n, heads, largest = len(graphs) - 1, grnf.heads, float(grnf.largest_term_)
    sums, squares, logs, spread = *np.zeros((2, n)), np.zeros((n, k, len(SHARES))), np.zeros((n, k))
    step = max(heads, CHUNK - CHUNK % heads)
    for start in range(0, M, step):
        psi = grnf.features(graphs, start, min(start + step, M))
        terms = np.square(psi[1:] - psi[0]).reshape(n, -1, heads).mean(axis=2)
        sums += terms.sum(axis=1)
        squares += np.square(terms).sum(axis=1)
        _bet(terms / largest, np.arange(k), SHARES, logs, spread)
    means = sums / (M // heads)
    errors = np.sqrt(np.maximum(squares / (M // heads) - means**2, 0) / max(M // heads - 1, 1))
    errors = np.divide(errors, 2 * np.sqrt(means), out=np.zeros(n), where=means > 0)
    return means, errors, np.logaddexp.reduce(logs, axis=2) - math.log(len(SHARES)), spread


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
