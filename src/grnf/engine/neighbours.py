"""For each node its neighbours, listed by the value of the edge."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from grnf._utils.jit import compiled
from grnf.engine.counting import counted, counting_sort
from grnf.engine.statistics import Statistics
from grnf.typing import BoolArray, FloatArray, IntArray

__all__ = ["SEARCHED", "Neighbours", "neighbours"]

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


def neighbours(s: Statistics, searched: int = SEARCHED, left_out: BoolArray | None = None) -> Neighbours:
    """List the neighbours of every node; a pair {i, j} stands in the lists of both.

    With searched = 0 every entry has a value of its own: for the pair e, those of its two ways are the values
    2 e and 2 e + 1. Graphs that nobody has a use for may be left out.
    """
    n_entries = 2 * len(s.pairs)
    node, value, back = np.zeros((3, n_entries), np.int64)
    near = Neighbours(
        np.zeros(len(s.nodes) + 1, np.int64),
        node,
        np.zeros(n_entries, s.pairs.dtype),
        value,
        back,
        np.zeros(len(s.pair_ptr), np.int64),
        np.zeros((n_entries, s.pairs.shape[1]), s.pairs.dtype),
    )
    if left_out is None:
        left_out = np.zeros(len(s.sizes), np.bool_)
    half = s.pairs.shape[1] // 2 if s.directed else 0
    _list_neighbours(
        s.node_ptr, s.pair_ptr, s.pair_nodes, s.pairs, s.pair_weight, half, searched, left_out, *near
    )
    return near


@compiled
def _list_neighbours(
    node_ptr: IntArray,
    pair_ptr: IntArray,
    pair_nodes: IntArray,
    pairs: FloatArray,
    pair_weight: FloatArray,
    half: int,
    searched: int,
    left_out: BoolArray,
    ptr: IntArray,
    node: IntArray,
    weight: FloatArray,
    value: IntArray,
    back_value: IntArray,
    value_ptr: IntArray,
    values: FloatArray,
) -> None:
    """Fill the arrays of `Neighbours`; `half`: half the columns of pairs of directed graphs, or else 0."""
    columns = pairs.shape[1]
    n_values = 0
    for g in range(len(pair_ptr) - 1):
        first_pair, first_node, first_value = pair_ptr[g], node_ptr[g], n_values
        n_entries, n = 2 * (pair_ptr[g + 1] - first_pair), node_ptr[g + 1] - first_node
        if left_out[g]:
            value_ptr[g + 1], ptr[first_node + n] = n_values, 2 * pair_ptr[g + 1]
            continue
        source, kind = np.zeros(n_entries, np.int64), np.zeros(n_entries, np.int64)
        for entry in range(n_entries):
            e, back = first_pair + entry // 2, entry % 2
            source[entry] = pair_nodes[e, back]
            for f in range(columns):
                shifted = f + back * half
                values[n_values, f] = pairs[e, shifted if shifted < columns else shifted - columns]
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
            node[place] = pair_nodes[e, 1 - entry % 2]
            weight[place] = pair_weight[e]
            value[place] = kind[entry]
            back_value[place] = kind[entry ^ 1]
            ptr[first_node + source[entry] + 1] = place + 1
        value_ptr[g + 1] = n_values
    for i in range(len(ptr) - 1):
        ptr[i + 1] = max(ptr[i + 1], ptr[i])
