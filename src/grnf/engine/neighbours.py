"""For each node its neighbours, listed by the value of the edge."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from grnf.engine.counting import counted, counting_sort
from grnf.engine.jit import compiled, inlined, inner
from grnf.engine.statistics import Statistics
from grnf.typing import BoolArray, FloatArray, IntArray

__all__ = ["SEARCHED", "Neighbours", "listed", "neighbours"]

SEARCHED = 16
"""Values of edges among which a new one is looked for; a graph with more has continuous edge attributes."""


class Neighbours(NamedTuple):
    """Neighbours of all nodes (rows of `Statistics.nodes`) of a batch.

    Node i has the entries ptr[i] .. ptr[i + 1] - 1: the other end (in the graph's own numbers), how many such
    pairs there are, and the value of the edge as a row of the graph's values (`back`: of the edge the other
    way round). Graph g has the values value_ptr[g] .. value_ptr[g + 1] - 1. Entries of a node ascend by
    value.
    """

    ptr: IntArray
    node: IntArray
    weight: FloatArray
    value: IntArray
    back: IntArray
    value_ptr: IntArray
    values: FloatArray


@compiled
def neighbours(s: Statistics, searched: int = SEARCHED) -> Neighbours:
    """List the neighbours of every node; a pair {i, j} stands in the lists of both.

    With searched = 0 every entry has a value of its own: for the pair e, those of its two ways are the values
    2 e and 2 e + 1.
    """
    return listed(s, searched, np.zeros(len(s.sizes), np.bool_))


@inlined
def listed(s: Statistics, searched: int, left_out: BoolArray) -> Neighbours:
    """Do what `neighbours` says, for other loops; graphs that they have no use for may be left out."""
    n_entries = 2 * len(s.pairs)
    result = Neighbours(
        np.zeros(len(s.nodes) + 1, np.int64),
        np.zeros(n_entries, np.int64),
        np.zeros(n_entries, s.pairs.dtype),
        np.zeros(n_entries, np.int64),
        np.zeros(n_entries, np.int64),
        np.zeros(len(s.pair_ptr), np.int64),
        np.zeros((n_entries, s.pairs.shape[1]), s.pairs.dtype),
    )
    _fill(s, searched, left_out, result)
    return result


@inner
def _fill(s: Statistics, searched: int, left_out: BoolArray, result: Neighbours) -> None:
    ptr, node, weight, value, back_value, value_ptr, values = result
    columns = s.pairs.shape[1]
    half = columns // 2 if s.directed else 0
    n_values = 0
    for g in range(len(s.pair_ptr) - 1):
        first_pair, first_node, first_value = s.pair_ptr[g], s.node_ptr[g], n_values
        n_entries, n = 2 * (s.pair_ptr[g + 1] - first_pair), s.node_ptr[g + 1] - first_node
        if left_out[g]:
            value_ptr[g + 1], ptr[first_node + n] = n_values, 2 * s.pair_ptr[g + 1]
            continue
        source, kind = np.zeros(n_entries, np.int64), np.zeros(n_entries, np.int64)
        for entry in range(n_entries):
            e, back = first_pair + entry // 2, entry % 2
            source[entry] = s.pair_nodes[e, back]
            for f in range(columns):
                shifted = f + back * half
                values[n_values, f] = s.pairs[e, shifted if shifted < columns else shifted - columns]
            found = n_values
            for v in range(first_value, min(n_values, first_value + searched)):
                same = True
                for f in range(columns):
                    same = same and values[v, f] == values[n_values, f]
                if same:
                    found = v
                    break
            kind[entry] = found - first_value
            n_values = max(n_values, found + 1)
        order = counted(n_entries)
        if n_values > first_value + 1:
            order = counting_sort(order, kind, n_values - first_value)
        order = counting_sort(order, source, n)
        for position in range(n_entries):
            entry, place = order[position], 2 * first_pair + position
            e = first_pair + entry // 2
            node[place] = s.pair_nodes[e, 1 - entry % 2]
            weight[place] = s.pair_weight[e]
            value[place] = kind[entry]
            back_value[place] = kind[entry ^ 1]
            ptr[first_node + source[entry] + 1] = place + 1
        value_ptr[g + 1] = n_values
    for i in range(len(ptr) - 1):
        ptr[i + 1] = max(ptr[i + 1], ptr[i])
