"""The cost of each path to a sum: for the plan, which takes the cheapest, and for warnings of long runs.

A term is one addition, rho_e and one more addition in one channel, as in the kernel over pairs.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from grnf.basis.partitions import stirling
from grnf.engine.statistics import grouped, neighbors, statistics
from grnf.engine.twins import twins
from grnf.graphs import GraphBatch
from grnf.typing import FloatArray, IntArray

SORTED_FROM = 384
"""Classes of nodes from which sorting is faster than the kernel over pairs, see the benchmark "crossing"."""

SORTED_GRADIENTS_FROM = 1024
"""The same for derivatives, whose sort must remember where each entry came from."""

MOST_TYPES, FEW_TUPLES = 2**22, 1000
"""Types of ordered tuples of a graph that are held at most, and tuples whose types are always counted."""

COUNTING_COST = 40
"""Cost of counting per step of the walk and per type, relative to a term of a channel."""

EDGE_STEP = 0.8
"""Cost of a step along edges, relative to a step of the walk."""

TERMS_PER_SECOND, SMOOTH_PER_SECOND, SUMS_PER_SECOND = 5e9, 4e8, 1e8
"""Rough rates of a thread, to warn of long runs: terms of relu and ramp, of other activations, and sums of
one graph and channel, however few terms they have."""

SORTED_NODE = 45
"""Cost of a node in a sort, relative to a term of a pair: at `SORTED_FROM` both paths cost the same."""

SAMPLED_GRAPHS = 24
"""Graphs in which equal nodes are counted for an estimate."""


def falling(n: FloatArray, B: int) -> FloatArray:
    """Return n (n - 1) .. (n - B + 1)."""
    return np.asarray(np.prod([np.maximum(n - i, 0) for i in range(B)], axis=0))


def most_types(cost: FloatArray, steps: FloatArray, channels: int) -> IntArray:
    """Return up to how many types U_B of each graph is cheaper by types than what it costs otherwise.

    `steps` is the number of steps to count them. Graphs with few tuples always use types, so that no other
    kernel is compiled for them.
    """
    most = (cost * channels - COUNTING_COST * steps) / (COUNTING_COST + channels)
    return np.where(cost <= FEW_TUPLES, MOST_TYPES, np.clip(most, 0, MOST_TYPES)).astype(np.int64)


def walked(B: int, rows: IntArray | FloatArray, edges: IntArray | FloatArray) -> FloatArray:
    """Return the steps of a walk over all tuples of B - 1 rows, each with the neighbors of its rows."""
    n, degree = np.asarray(rows, float), 2.0 * edges / np.maximum(rows, 1)
    return np.asarray(falling(n + B - 2, B - 1) / math.factorial(B - 1) * (2 + (B - 1) * degree))


def met_along_edges(degrees: IntArray, node_ptr: IntArray) -> FloatArray:
    """Return the steps by which triples of each graph are counted along edges: edges that meet, thrice."""
    squares = np.concatenate([[0.0], np.cumsum(degrees.astype(float) ** 2)])
    return np.asarray(3.0 * np.diff(squares[node_ptr]) + np.diff(node_ptr))


def estimated_seconds(
    batch: GraphBatch, orders: IntArray, hidden_channels: int, linear: bool, sampled: int
) -> float:
    """Estimate how long features of these orders take on one thread, from terms and rough rates."""
    sums: dict[int, float] = {}
    for k, count in zip(*np.unique(orders, return_counts=True), strict=True):
        for B in range(1, int(k) + 1):
            sums[B] = sums.get(B, 0.0) + float(count) * hidden_channels * stirling(int(k), B)
    seconds, rate = 0.0, TERMS_PER_SECOND if linear else SMOOTH_PER_SECOND
    for B, count in sums.items():
        step = COUNTING_COST / TERMS_PER_SECOND * rate / count
        terms = estimated_terms(batch, B, linear, sampled, step)
        seconds += count * (terms / rate + len(batch) / SUMS_PER_SECOND)
    return seconds


def estimated_terms(
    batch: GraphBatch, B: int, linear: bool, sampled: int = SAMPLED_GRAPHS, step: float = 0.0
) -> float:
    """Return how many terms U_B of all graphs takes for each channel, sorting included.

    Equal nodes are counted in some graphs, picked in proportion to what they cost without equal nodes. If
    none is looked at, all nodes count as different. `step`: what a step costs by which types are counted.
    """
    n, edges = batch.sizes.astype(float), np.diff(batch.edge_ptr)
    most = _terms(B, Distinct(n, n, 2.0 * edges), batch, linear, step)
    total = float(most.sum())
    if not sampled or not total:
        return total
    places = total * (np.arange(sampled) + 0.5) / sampled
    picked, times = np.unique(np.searchsorted(np.cumsum(most), places), return_counts=True)
    some = batch.take(picked)
    shares = _terms(B, count_distinct(some, B), some, linear, step) / most[picked]
    return total * float(np.average(shares, weights=times))


def _terms(B: int, alike: Distinct, batch: GraphBatch, linear: bool, step: float) -> FloatArray:
    """Return the terms of U_B of each graph by the path that the plan takes, given what is alike in it."""
    classes, edges = alike.classes, np.diff(batch.edge_ptr)
    if B > 2:
        tuples, types = falling(batch.sizes.astype(float), B), estimated_types(B, alike)
        steps = walked(B, alike.twins, np.minimum(edges, alike.twins**2))
        if B == 3:
            ends = batch.edges + np.repeat(batch.node_ptr[:-1], edges)[:, np.newaxis]
            degrees = np.bincount(ends.ravel(), minlength=int(batch.node_ptr[-1]))
            steps = np.minimum(steps, met_along_edges(degrees, batch.node_ptr))
        return np.where(types < tuples, types + step * steps, tuples)
    terms = classes**B
    if linear and B == 2:
        by_sorting = SORTED_NODE * classes * np.log2(classes + 2) + 3.0 * edges
        return np.where(classes >= SORTED_FROM, by_sorting, terms)
    return terms


def estimated_types(B: int, alike: Distinct) -> FloatArray:
    """Return about how many types of tuples there are. More than can be held count as without end.

    A slot has any class, and for each slot before one of the classes that this one's class is joined to, and
    tuples of the same twins have one type.
    """
    classes = np.maximum(alike.classes, 1.0)
    types = np.prod([classes + slot * alike.pairs / classes for slot in range(B)], axis=0)
    types = np.minimum(types, np.maximum(alike.twins, 1.0) ** B)
    return np.where(types <= MOST_TYPES, types, np.inf)


class Distinct(NamedTuple):
    """How many different things each graph has.

    `classes`: nodes with different statistics. `twins`: nodes that cannot be swapped with an earlier one.
    `pairs`: edges whose ends have different statistics or whose values differ, both ways round.
    """

    classes: FloatArray
    twins: FloatArray
    pairs: FloatArray


def count_distinct(batch: GraphBatch, B: int) -> Distinct:
    """Count in each graph what is different. Twins are looked for only if B > 2."""
    found = Distinct(*np.zeros((3, len(batch))))
    for directed in (False, True):
        (members,) = np.nonzero(batch.directed == directed)
        if not len(members):
            continue
        s = statistics(batch, members, directed, True, np.float32)
        few = grouped(s)
        alike = np.append(0, np.cumsum(few.pair_nodes[:, 0] == few.pair_nodes[:, 1]))  # met once both ways
        found.classes[members] = np.diff(few.node_ptr)
        found.pairs[members] = 2 * np.diff(few.pair_ptr) - np.diff(alike[few.pair_ptr])
        if B > 2:
            found.twins[members] = np.diff(twins(s, neighbors(s)).node_ptr)
    return found
