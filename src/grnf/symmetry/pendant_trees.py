"""Trees that hang on a graph, folded into the colors of the nodes they hang on.

Isomorphic trees need no search: a node with one neighbor left is taken away, round after round, and its
color, with those of all that was taken away from it, goes into the color of that neighbor. Graphs are
isomorphic if and only if what is left of them is, with these colors. Threads of answers, dendrites and
molecules are mostly pendant trees, often many equal ones, of which a search would try all orders.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from grnf._utils.arrays import offsets, ragged_indices
from grnf._utils.hashing import hash_pairs, mix
from grnf.symmetry.encoded import Stacked, told_apart
from grnf.symmetry.trees import SearchResult
from grnf.typing import BoolArray, IntArray, Keys

ROUNDS = 256
"""Most levels of a tree that are folded. A bound on the time for one long path."""


@dataclass(frozen=True, eq=False)
class Cores:
    """Graphs without their pendant trees.

    `rest` is what is left of each graph, and `nodes` its nodes in the numbering of the whole batch.
    `node_ptr` has the nodes of each graph before. `children` by `ptr` are what hangs on each node, in an
    order that does not depend on the numbering. `joint` hashes for each of them the edge by which it hangs,
    its color, and those of all that hangs on it. A graph is `clear` if no two nodes with different children
    have one color.
    """

    rest: Stacked
    nodes: IntArray
    node_ptr: IntArray
    children: IntArray
    ptr: IntArray
    joint: Keys
    clear: BoolArray

    def restored(self, results: list[SearchResult]) -> list[SearchResult]:
        """Put the trees back: return what was found for the cores with codes and places of all nodes."""
        starts = self.rest.node_ptr[:-1]
        ranks = [start + one.order for start, one in zip(starts, results, strict=True)]
        codes = np.empty(self.node_ptr[-1], np.uint64)
        codes[self.nodes] = np.concatenate([codes[:0], *(one.codes for one in results)])
        level = self.nodes[np.concatenate([self.nodes[:0], *ranks])]
        order = [level]
        while len(level):
            below = ragged_indices(self.ptr, level)
            above = np.repeat(codes[level], self.ptr[level + 1] - self.ptr[level])
            level = self.children[below]
            codes[level] = hash_pairs(above, self.joint[below])
            order.append(level)
        nodes = np.concatenate(order)
        nodes = nodes[np.argsort(_graph_of(self.node_ptr, nodes), kind="stable")]
        return [
            SearchResult(
                codes[start:stop], one.value, nodes[start:stop] - start, one.finished and bool(clear)
            )
            for (start, stop), one, clear in zip(
                pairwise(self.node_ptr), results, self.clear.tolist(), strict=True
            )
        ]


def without_pendant_trees(graphs: Stacked) -> Cores:
    """Fold the pendant trees of all graphs of a batch, one round for all."""
    n_nodes = len(graphs.color)
    sizes = np.diff(graphs.node_ptr)
    owner = np.repeat(np.arange(n_nodes), np.diff(graphs.ptr))
    nbr = graphs.nbr + np.repeat(graphs.node_ptr[:-1], sizes)[owner]
    degree, kept = np.diff(graphs.ptr), np.ones(n_nodes, np.bool_)
    color, below = graphs.color.copy(), np.zeros(n_nodes, np.uint64)
    tips = np.flatnonzero(degree == 1)
    taken = [(tips[:0], tips[:0], color[:0])]
    for _ in range(ROUNDS):
        arcs = ragged_indices(graphs.ptr, tips)
        arcs = arcs[kept[nbr[arcs]]]  # one for each tip
        inwards = degree[nbr[arcs]] > 1  # the two nodes in the middle of a tree stay
        tips, arcs = tips[inwards], arcs[inwards]
        if not len(tips):
            break
        parent, label = nbr[arcs], graphs.label[arcs]
        kept[tips] = False
        np.add.at(below, parent, mix(hash_pairs(label, color[tips])))
        np.subtract.at(degree, parent, 1)
        taken.append((tips, parent, label))
        parent = np.unique(parent)
        color[parent] = hash_pairs(graphs.color[parent], below[parent])
        tips = parent[degree[parent] == 1]
    child, parent, label = (np.concatenate(column) for column in zip(*taken, strict=True))
    order = np.lexsort((color[child], label, parent))
    child, parent, label = child[order], parent[order], label[order]
    ptr = offsets(np.bincount(parent, minlength=n_nodes))
    _, first, group = np.unique(color, return_index=True, return_inverse=True)
    clear = told_apart(ptr, parent, label, color[child], color)
    clear &= graphs.color == graphs.color[first][group]
    per_graph = np.ones(len(sizes), np.bool_)
    per_graph[_graph_of(graphs.node_ptr, np.flatnonzero(~clear))] = False
    before = offsets(kept)
    node_ptr = before[graphs.node_ptr]
    arcs = kept[owner] & kept[nbr]
    counts = np.bincount(owner[arcs], minlength=n_nodes)[kept]
    origin = np.repeat(np.repeat(node_ptr[:-1], np.diff(node_ptr)), counts)
    own = (before[nbr[arcs]] - origin).astype(np.int32)
    rest = Stacked(node_ptr, offsets(counts), own, graphs.label[arcs], color[kept])
    joint = hash_pairs(label, color[child])
    return Cores(rest, np.flatnonzero(kept), graphs.node_ptr, child, ptr, joint, per_graph)


def _graph_of(node_ptr: IntArray, nodes: IntArray) -> IntArray:
    return np.searchsorted(node_ptr, nodes, "right") - 1
