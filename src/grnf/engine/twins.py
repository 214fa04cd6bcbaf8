"""Twins grouped: nodes that can be swapped without changing the graph.

Two nodes are twins when they have equal statistics, equal edges to all others and, between them, the same
edge both ways or none. All members of a class are then joined alike, so one of each stands for all in sums
over tuples of any length, with multiplicities (exact). Cliques, stars and ego networks are full of twins.
Nodes that merely have equal statistics (see `statistics.grouped`) will do in U_1 and U_2, but not in U_3.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from grnf._utils.jit import compiled, inner
from grnf.engine.counting import integers_below
from grnf.engine.statistics import Neighbors, Statistics, mixed
from grnf.typing import FloatArray, IntArray

Hashes = npt.NDArray[np.uint64]


def twins(s: Statistics, near: Neighbors) -> Statistics:
    """Return the same graphs with one row per class of twins. The pair (p, p) is the edge within class p."""
    node_rows, pair_rows = np.empty(len(s.nodes), np.int64), np.empty(len(s.pairs), np.int64)
    weight = np.zeros_like(s.node_weight)
    node_ptr, pair_ptr = np.zeros_like(s.node_ptr), np.zeros_like(s.pair_ptr)
    pair_nodes = np.empty_like(s.pair_nodes)
    _group(s, near, (node_ptr, node_rows, weight), (pair_ptr, pair_rows, pair_nodes))
    nodes, pairs = node_rows[: node_ptr[-1]], pair_rows[: pair_ptr[-1]]
    kept: dict[str, Any] = {
        "node_ptr": node_ptr,
        "nodes": s.nodes[nodes],
        "node_weight": weight[: len(nodes)],
        "pair_ptr": pair_ptr,
        "pair_nodes": pair_nodes[: len(pairs)],
        "pairs": s.pairs[pairs],
        "pair_weight": s.pair_weight[pairs],
    }
    return s._replace(**kept)


@compiled
def _group(
    s: Statistics,
    near: Neighbors,
    node_out: tuple[IntArray, IntArray, FloatArray],
    pair_out: tuple[IntArray, IntArray, IntArray],
) -> None:
    out_ptr, out_rows, out_weight = node_out
    out_pair_ptr, out_pair_rows, out_pair_nodes = pair_out
    n_classes = n_pairs = 0
    for g in range(len(s.node_ptr) - 1):
        first, n, own = s.node_ptr[g], s.node_ptr[g + 1] - s.node_ptr[g], n_classes
        twin = _first_twins(s, near, first, n)
        class_of, inside = np.empty(n, np.int64), np.zeros(n, np.bool_)
        for i in range(n):
            if twin[i] == i:
                class_of[i] = n_classes - own
                out_rows[n_classes], out_weight[n_classes] = first + i, 0
                n_classes += 1
            out_weight[own + class_of[twin[i]]] += 1
        for pair in range(s.pair_ptr[g], s.pair_ptr[g + 1]):
            i, j = s.pair_nodes[pair, 0], s.pair_nodes[pair, 1]
            within = twin[i] == twin[j]
            if (twin[i] == i and twin[j] == j) or (within and not inside[twin[i]]):
                inside[twin[i]] |= within
                out_pair_rows[n_pairs] = pair
                out_pair_nodes[n_pairs, 0], out_pair_nodes[n_pairs, 1] = class_of[twin[i]], class_of[twin[j]]
                n_pairs += 1
        out_ptr[g + 1], out_pair_ptr[g + 1] = n_classes, n_pairs


@inner
def _first_twins(s: Statistics, near: Neighbors, first: int, n: int) -> IntArray:
    """Return the first twin of each node of a graph, which may be itself.

    Candidates are found by hashes of the edges of a node, then checked edge by edge. Twins that are joined
    have equal hashes once their own edge is left out. Twins that are not are found through a table.
    """
    twin, hashes = integers_below(n), np.zeros(n, np.uint64)
    size = 4
    while size < 2 * n:
        size *= 2
    table = np.full(size, -1, np.int64)
    for i in range(n):
        for entry in range(near.ptr[first + i], near.ptr[first + i + 1]):
            hashes[i] += _hash(near.node[entry], near.value[entry], near.back[entry])
    for i in range(n):
        for entry in range(near.ptr[first + i], near.ptr[first + i + 1]):
            j, value, back = near.node[entry], near.value[entry], near.back[entry]
            if (
                twin[i] == i
                and j < i
                and twin[j] == j
                and value == back
                and hashes[i] - _hash(j, value, back) == hashes[j] - _hash(i, value, back)
                and _are_twins(s, near, first, i, j)
            ):
                twin[i] = j
        at = mixed(hashes[i]) & np.uint64(size - 1)
        while twin[i] == i and table[at] >= 0:
            j = table[at]
            if hashes[i] == hashes[j] and _are_twins(s, near, first, i, j):
                twin[i] = j
            at = (at + np.uint64(1)) & np.uint64(size - 1)
        if twin[i] == i:
            table[at] = i
    return twin


@inner
def _are_twins(s: Statistics, near: Neighbors, first: int, i: int, j: int) -> bool:
    """Whether i and j have equal statistics, and equal edges to all other nodes."""
    for f in range(s.nodes.shape[1]):
        if s.nodes[first + i, f] != s.nodes[first + j, f]:
            return False
    p, q = near.ptr[first + i], near.ptr[first + j]
    p_end, q_end = near.ptr[first + i + 1], near.ptr[first + j + 1]
    while True:
        while p < p_end and near.node[p] == j:
            p += 1
        while q < q_end and near.node[q] == i:
            q += 1
        if p == p_end or q == q_end:
            return bool(p == p_end and q == q_end)
        if near.node[p] != near.node[q] or near.value[p] != near.value[q] or near.back[p] != near.back[q]:
            return False
        p += 1
        q += 1


@inner
def _hash(node: int, value: int, back: int) -> np.uint64:
    return mixed(mixed(np.uint64(node) + np.uint64(1)) + np.uint64(value) * np.uint64(3) + np.uint64(back))
