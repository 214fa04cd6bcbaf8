"""How the work is cut, and who does it: all sizes, memory, threads, progress and warnings, in one place.

A *piece* is graphs that one thread treats together, a *chunk* features that are drawn and evaluated together,
a *tile* hidden channels that a kernel treats at once. What is computed does not depend on any of them.
"""

from __future__ import annotations

import math
import warnings
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from grnf._utils.jit import compiled
from grnf._utils.running import n_workers
from grnf.basis import bell
from grnf.engine.costs import SAMPLED_GRAPHS, SMOOTH_PER_SECOND, estimated_seconds
from grnf.errors import CostWarning
from grnf.graphs import GraphBatch
from grnf.law import ParameterLaw
from grnf.typing import FloatArray, IntArray

TILE = 1024
"""Hidden channels that U_1 and U_2 treat at once."""

TYPES_TILE = 4096
"""Hidden channels treated at once if types of tuples are counted and their rows fit the cache."""

TYPES_HELD = 2**14
"""Types of tuples of a few graphs that are held at once. Those of a single graph may be more."""

TUPLES_TILE, TUPLE_GRADIENTS_TILE = 256, 16
"""Hidden channels that the general U_B treats at once, if its rows fit the cache, and its derivative."""

SORTED_TILE, SORTED_ENTRIES = 16, 2**16
"""Hidden channels of the sorted paths, and entries of a tile: many channels of small graphs, of large ones
as many as make a row of single precision one cache line."""

GRADIENTS_TILE = 512
"""Hidden channels whose derivatives are taken at once, if the rows of a graph fit the cache."""

TABLE_BYTES = 2**20
"""Memory of the tables of a tile: they are to stay in the second-level cache."""

NODES = 256
"""Nodes that U_1 treats at once: sums short enough for single precision, rows that fit the cache."""

GRAPHS = 64
"""Graphs whose U_1 and U_2 are treated at once: their sums stay in the cache between the two."""

OUTPUTS = 128
"""Graphs to which rho_i is applied at once: their rows stay in the cache."""

SMALLEST_PIECE = 200_000
"""Pairs of nodes below which a piece is not worth a thread's while."""

LARGEST_PIECE = 512
"""Graphs in one piece: bounds its memory."""

MOST_CATEGORIES, PART_CATEGORIES = 1024, 1024
"""Categories up to which the coefficients of all are held, and those that are held at a time beyond."""

ROUNDS, SHRINKING = 5, 0.6
"""Pieces for each worker, and how much cheaper those of the next round are: few in all, since workers queue
for the interpreter between kernels, and small ones at the end, so that none waits long for the last one."""

FEATURES = 16
"""Chunks are multiples of this number: fewer channels do not fill vector registers."""

COEFFICIENT_BYTES = 128
"""Memory that a drawn coefficient takes at its peak, on its way from the draw to the engine."""

LONG_RUN = 600.0
"""Seconds of estimated work from which a warning comes first."""


@compiled
def fitting_tile(largest: int, entries: int, itemsize: int) -> int:
    """Return how many channels of `entries` entries fit the cache, in multiples of 16."""
    fitting = TABLE_BYTES // (max(entries, 1) * itemsize)
    return min(largest, max(16, fitting - fitting % 16))


class Piece(NamedTuple):
    """Graphs that are treated together, in ascending size."""

    members: IntArray
    directed: bool


@dataclass(frozen=True)
class Schedule:
    """How work is cut. `max_memory`: bytes in addition to graphs and vectors. `n_jobs`: as in joblib."""

    max_memory: int = 2**30
    n_jobs: int | None = None

    def __post_init__(self) -> None:
        n_workers(self.n_jobs)

    @property
    def workers(self) -> int:
        """The number of threads."""
        return n_workers(self.n_jobs)

    def pieces(self, batch: GraphBatch) -> list[Piece]:
        """Cut a batch into pieces, the costly ones first, a few for each worker if they are worth it."""
        sizes = batch.sizes
        cost = sizes**2 + (8 + len(batch.channels().node)) * sizes + 8 * np.diff(batch.edge_ptr) + 100
        limits = _limits(int(cost.sum()), self.workers)
        result: list[tuple[int, Piece]] = []
        for directed in (False, True):
            (members,) = np.nonzero(batch.directed == directed)
            if not len(members):
                continue
            members = members[np.argsort(sizes[members], kind="stable")]
            result += [(int(cost[some].sum()), Piece(some, directed)) for some in _cut(members, cost, limits)]
        return [piece for _, piece in sorted(result, key=lambda item: -item[0])]

    def by_categories(self, batch: GraphBatch) -> list[IntArray] | None:
        """Cut a batch with very many categories into parts with few of them each, or None if there is one.

        The graphs of a part have equal size if possible: coefficients depend on it, and are made once for
        each size of a part.
        """
        if len(batch.node_codes.keys) + len(batch.edge_codes.keys) <= MOST_CATEGORIES:
            return None
        order = np.argsort(batch.sizes, kind="stable")
        entries = batch.node_ptr * batch.node_codes.values.shape[1]
        entries = np.diff(entries + batch.edge_ptr * batch.edge_codes.values.shape[1])[order]
        size = batch.sizes[order]
        parts, first, filled = [], 0, 0
        for place, count in enumerate(entries.tolist()):
            full = filled + count > PART_CATEGORIES
            if place > first and (full or (size[place] != size[first] and 2 * filled > PART_CATEGORIES)):
                parts.append(order[first:place])
                first, filled = place, 0
            filled += count
        return [*parts, order[first:]] if parts else None

    def chunks(
        self,
        law: ParameterLaw,
        n_hidden: int,
        *,
        seed: int,
        channels: int,
        heads: int,
        n_graphs: int,
        keep_hidden: bool = False,
        at_least: int = 1,
    ) -> list[tuple[int, int]]:
        """Cut the hidden draws into chunks (start, size), so that all that goes with one fits the memory.

        `n_graphs`: graphs whose sums are held, with `keep_hidden` the hidden sums of all of them and not only
        those of a piece. `at_least`: smallest number of chunks, one for each worker.
        """
        sample = law.orders_of(min(n_hidden, 1024), seed=seed)
        width = math.ceil(law.hidden_channels * np.mean([bell(int(k)) for k in sample]))
        entries = 1 if heads == 1 else heads + width
        most = self.max_memory // (4 * 16 * entries * max(1, min(n_graphs, LARGEST_PIECE)))
        size = law.mean_parameters(sample, channels, heads)
        most = min(most, int(self.max_memory / (2 * COEFFICIENT_BYTES * at_least * size)))
        if keep_hidden:
            most = min(most, self.max_memory // (32 * width * n_graphs))
        if at_least > 1:
            most = min(most, -(-n_hidden // at_least))
        step = FEATURES * max(1, most // FEATURES)
        return [(start, min(step, n_hidden - start)) for start in range(0, n_hidden, step)]

    def warn_if_long(
        self, batch: GraphBatch, law: ParameterLaw, n_hidden: int, *, seed: int, linear: bool
    ) -> None:
        """Warn before work that will take very long. `linear`: whether rho_e is piecewise linear.

        An upper bound is cheap. Equal nodes are counted only if it is high.
        """
        sample = law.orders_of(min(n_hidden, 4096), seed=seed)
        k = int(sample.max())
        if (
            np.sum(batch.sizes.astype(float) ** k) * n_hidden * law.hidden_channels * bell(k)
            < LONG_RUN * SMOOTH_PER_SECOND
        ):
            return
        for sampled in (0, SAMPLED_GRAPHS):
            seconds = estimated_seconds(batch, sample, law.hidden_channels, linear, sampled)
            seconds *= n_hidden / len(sample) / self.workers
            if seconds <= LONG_RUN:
                return
        warnings.warn(
            f"this will take about {_spelled(seconds)}: order {sample.max()} on graphs of up to "
            f"{batch.sizes.max()} nodes. Fewer orders, drawn as proposal=law.restricted_to({{1, 2}}), "
            "smaller graphs or fewer components take less",
            CostWarning,
            stacklevel=4,
        )


def _limits(total: int, workers: int) -> FloatArray:
    """Return the costs, added up, at which pieces end: as many for each worker, ever smaller ones."""
    rounds = ROUNDS
    while rounds > 1 and _shares(rounds, workers)[-1] * total < SMALLEST_PIECE:
        rounds -= 1
    return np.asarray(np.cumsum(_shares(rounds, workers))[:-1] * total)


def _shares(rounds: int, workers: int) -> FloatArray:
    shares = np.repeat(SHRINKING ** np.arange(rounds), workers)
    return np.asarray(shares / shares.sum())


def _cut(members: IntArray, cost: IntArray, limits: FloatArray) -> list[IntArray]:
    """Cut where the costs reach another limit, and wherever there are too many graphs."""
    shares = np.searchsorted(limits, np.cumsum(cost[members]))
    result = []
    for some in np.split(members, np.flatnonzero(np.diff(shares)) + 1):
        result += [some[i : i + LARGEST_PIECE] for i in range(0, len(some), LARGEST_PIECE)]
    return result


def _spelled(seconds: float) -> str:
    """Return a duration in the unit that a person would use."""
    for unit, length in (("days", 86400.0), ("hours", 3600.0), ("minutes", 60.0)):
        if seconds >= 2 * length:
            return f"{seconds / length:.0f} {unit}"
    return f"{seconds:.0f} seconds"
