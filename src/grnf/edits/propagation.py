"""A correspondence of large graphs without a matrix: Weisfeiler-Lehman labels, then matched neighbors."""

from __future__ import annotations

from collections import defaultdict
from heapq import heappop, heappush

import numpy as np
from scipy.optimize import linear_sum_assignment

from grnf._utils.hashing import hash_pairs, mix
from grnf.edits.edit_problem import CodedGraph, EditProblem
from grnf.typing import IntArray, Keys

ROUNDS = 4
"""Rounds of Weisfeiler-Lehman labels."""

REPAIRS, MOST_PAIRS = 20, 400_000
"""Rounds in which nodes with edges that do not match are assigned again, and pairs of such nodes at most."""

MOST_CANDIDATES = 16
"""Neighbors of a matched node up to which their pairs are candidates; of more, the first ones."""


def propagated_mapping(problem: EditProblem) -> IntArray:
    """Match nodes with equal labels, and neighbors of matched nodes before others.

    Pairs are matched in the order of their matched neighbors, then of the rounds after which their labels
    are still equal. A pair without matched neighbors is matched if its labels are rare: from the finest
    labels to the coarsest, smallest groups first.
    """
    g, h = problem.g, problem.h
    _, bundles = problem.bundles()
    starts = _start_labels(problem)
    ends = [_ends(side, own, problem.directed) for side, own in zip((g, h), bundles, strict=True)]
    labels = [_labels(start, *own) for start, own in zip(starts, ends, strict=True)]
    rounds = [labels[0][:, depth].tolist() for depth in range(ROUNDS + 1)]
    others = [labels[1][:, depth].tolist() for depth in range(ROUNDS + 1)]
    near1, near2 = _neighbors(g.n_nodes, *ends[0]), _neighbors(h.n_nodes, *ends[1])
    mapping, taken = [-1] * g.n_nodes, [False] * h.n_nodes
    votes: dict[tuple[int, int], int] = defaultdict(int)
    heap: list[tuple[int, int, int, int]] = []

    def agreement(i: int, x: int) -> int:
        return sum(own[i] == other[x] for own, other in zip(rounds, others, strict=True))

    def match(i: int, x: int) -> None:
        mapping[i], taken[x] = x, True
        for kind, ends in near1[i].items():
            free = [y for y in near2[x].get(kind, ())[:MOST_CANDIDATES] if not taken[y]]
            for j in ends[:MOST_CANDIDATES]:
                if mapping[j] < 0:
                    for y in free:
                        votes[j, y] += 1
                        heappush(heap, (-votes[j, y], -agreement(j, y), j, y))

    def propagate() -> None:
        while heap:
            count, _, i, x = heappop(heap)
            if mapping[i] < 0 and not taken[x] and -count == votes[i, x]:
                match(i, x)

    for depth in range(ROUNDS, -1, -1):
        for members, candidates in _groups(rounds[depth], others[depth], mapping, taken):
            waiting = iter(candidates)
            for i in members:
                if mapping[i] < 0 and (x := next((x for x in waiting if not taken[x]), None)) is not None:
                    match(i, x)
                    propagate()
    images = np.array(mapping, np.int64)
    free, left = np.flatnonzero(images < 0), np.flatnonzero(~np.array(taken, bool))
    count = min(len(free), len(left))
    images[free[:count]] = left[:count]
    return _repaired(images, [_kinds(own) for own in (near1, near2)], starts)


def _repaired(images: IntArray, kinds: list[list[dict[int, int]]], labels: list[Keys]) -> IntArray:
    """Repeat the assignment of nodes with edges that do not match, while this matches more of them.

    The gain of an image is the number of neighbors whose images are connected to it in the same way, plus a
    little for an equal label. Other nodes keep their images in this.
    """
    best, most = images, -1
    for _ in range(REPAIRS):
        matched = [_matched(i, int(x), images, kinds) for i, x in enumerate(images)]
        if sum(matched) <= most:
            break
        best, most = images, sum(matched)
        used = images[images >= 0]
        wrong = [
            i for i, x in enumerate(images) if x < 0 or not matched[i] == len(kinds[0][i]) == len(kinds[1][x])
        ]
        free = np.setdiff1d(np.arange(len(kinds[1])), used)
        places = np.concatenate([images[wrong][images[wrong] >= 0], free]).astype(np.int64)
        if not wrong or not len(places) or len(wrong) * len(places) > MOST_PAIRS:
            break
        gains = np.array([[_matched(i, int(x), images, kinds) for x in places] for i in wrong], float)
        gains += 0.5 * (labels[0][wrong][:, np.newaxis] == labels[1][places])
        gains += 0.1 * (images[wrong][:, np.newaxis] == places)
        rows, columns = linear_sum_assignment(gains, maximize=True)
        images = images.copy()
        images[wrong] = -1
        images[np.array(wrong)[rows]] = places[columns]
    return best


def _matched(i: int, x: int, images: IntArray, kinds: list[list[dict[int, int]]]) -> int:
    """Return how many edges of node i are also edges of its image x."""
    if x < 0:
        return 0
    others = kinds[1][x]
    return sum(others.get(int(images[j])) == kind for j, kind in kinds[0][i].items() if images[j] >= 0)


def _kinds(near: list[dict[int, list[int]]]) -> list[dict[int, int]]:
    """Return what connects each node with each of its neighbors."""
    found: list[dict[int, int]] = [{} for _ in near]
    for i, groups in enumerate(near):
        for kind, ends in groups.items():
            for j in ends:
                found[i][j] = found[i].get(j, 0) * 31 + kind + 1
    return found


def _groups(
    labels: list[int], others: list[int], mapping: list[int], taken: list[bool]
) -> list[tuple[list[int], list[int]]]:
    """Return the free nodes of both graphs for each label that both have, smallest groups first."""
    groups: dict[int, tuple[list[int], list[int]]] = defaultdict(lambda: ([], []))
    for i, label in enumerate(labels):
        if mapping[i] < 0:
            groups[label][0].append(i)
    for x, label in enumerate(others):
        if not taken[x] and label in groups:
            groups[label][1].append(x)
    return sorted((pair for pair in groups.values() if pair[1]), key=lambda pair: len(pair[0]) * len(pair[1]))


def _ends(side: CodedGraph, bundles: IntArray, directed: bool) -> tuple[IntArray, IntArray, IntArray]:
    """Return both ends of each pair, from each of them, with a kind: the bundle and the direction."""
    i, j = side.pairs().T
    return np.append(i, j), np.append(j, i), np.append(2 * bundles, 2 * bundles + directed)


def _start_labels(problem: EditProblem) -> list[Keys]:
    """Return labels of nodes by their attributes. Numbers are rounded, so that noise is not a label."""
    _, rounded = np.unique(np.round(problem.nodes.values, 3), axis=0, return_inverse=True)
    return [mix(rounded.ravel()[side.nodes].astype(np.uint64)) for side in (problem.g, problem.h)]


def _labels(start: Keys, source: IntArray, target: IntArray, kind: IntArray) -> Keys:
    """Return the label of each node after each round, shape (n_nodes, ROUNDS + 1)."""
    labels = [start]
    for _ in range(ROUNDS):
        sums = np.zeros(len(start), np.uint64)
        np.add.at(sums, source, hash_pairs(kind.astype(np.uint64), labels[-1][target]))
        labels.append(hash_pairs(labels[-1], sums))
    return np.stack(labels, axis=1)


def _neighbors(n_nodes: int, *ends: IntArray) -> list[dict[int, list[int]]]:
    """Return the neighbors of each node by kind."""
    near: list[dict[int, list[int]]] = [defaultdict(list) for _ in range(n_nodes)]
    for i, j, kind in zip(*(part.tolist() for part in ends), strict=True):
        if i != j:
            near[i][kind].append(j)
    return near


def histogram_bound(problem: EditProblem) -> float:
    """Return a lower bound by the numbers of nodes, and of edges, that have each label."""
    bound = 0.0
    for costs, one, other in (
        (problem.nodes, problem.g.nodes, problem.h.nodes),
        (problem.edges, problem.g.edge_codes, problem.h.edge_codes),
    ):
        deletion = float(costs.single(costs.deletion, np.unique(one)).min(initial=np.inf))
        insertion = float(costs.single(costs.insertion, np.unique(other)).min(initial=np.inf))
        surplus = len(one) - len(other)
        if surplus:
            bound += surplus * deletion if surplus > 0 else -surplus * insertion
        if not callable(costs.substitution) and not costs.tolerances.any():
            counts = [np.bincount(codes, minlength=len(costs.labels)) for codes in (one, other)]
            changed = min(len(one), len(other)) - int(np.minimum(*counts).sum())
            bound += changed * min(costs.substitution, deletion + insertion) if changed else 0.0
    return bound
