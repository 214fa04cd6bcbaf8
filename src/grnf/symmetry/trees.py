"""The tree of individualized nodes of a graph, one level after the other, pruned by automorphisms.

Leaves are partitions into single nodes. Two leaves that are the same graph give an automorphism. A graph is
searched by its connected parts: their trees add up, in one tree they would multiply.
"""

from __future__ import annotations

from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from scipy.sparse.csgraph import connected_components

from grnf._utils.arrays import offsets, ragged_indices
from grnf._utils.hashing import mix
from grnf._utils.jit import compiled, inlined, inner
from grnf.symmetry.refinement import (
    GraphArrays,
    Partition,
    Places,
    Scratch,
    first_partition,
    individualize,
    joined,
    mixed,
    target,
)
from grnf.typing import IntArray, Keys

MOST_DEPTH = 32
"""Levels that are ever looked at in full: with two nodes in each cell they would have 2^32 nodes."""

MOST_ENTRIES = 2**23
"""Places of all partitions on one way: a bound on memory."""

MOST_WORK = 2**31
"""Places of all partitions on the ways to the nodes of a level: a bound on time, some 10 seconds a level."""

KEPT = 64
"""Leaves that are kept to find automorphisms by."""

LEAF, INNER, OPEN = np.uint64(1), np.uint64(2), np.uint64(3)


class Search(NamedTuple):
    """What the search of a graph works with. Most arrays have one row for each level of the tree.

    `labs`, `cell` and `length` are its partition, `cells` the number of its cells, `path` the node that was
    individualized last, `traces` what happened then, and `targets` where the first largest cell begins.
    `parents` are the orbits of automorphisms that fix all nodes chosen so far. `values` has of each node the
    hash, the size of the next level, the trace, and whether to choose among, `sums` those of hashes and of
    sizes, and the trace that is chosen. `orders` and `hashes` are leaves that are kept, `used` their number,
    and whether hashes collided. `work` and `orbits` are scratch.
    """

    graph: GraphArrays
    scratch: Scratch
    work: Partition
    budget: int
    labs: Any
    cell: Any
    length: Any
    cells: Any
    path: Any
    traces: Any
    targets: Any
    parents: Any
    values: Any
    sums: Any
    orders: Any
    hashes: Any
    used: Any
    orbits: Places


@inner
def leaf_hash(graph: GraphArrays, order: Places, place: Places) -> Any:
    """Hash the whole graph, colors and labels, with its nodes in this order."""
    ptr, nbr, label, color = graph
    for i in range(len(order)):
        place[order[i]] = i
    total = mixed(np.uint64(len(order)))
    for u in order:
        row = np.uint64(0)
        for arc in range(ptr[u], ptr[u + 1]):
            row += mixed(joined(label[arc], np.uint64(place[nbr[arc]])))
        total += mixed(joined(row + color[u], np.uint64(place[u])))
    return total


@inner
def is_automorphism(graph: GraphArrays, one: Places, other: Places, scratch: Scratch) -> bool:
    """Tell whether one[i] -> other[i] keeps colors and the labels of all pairs: each is looked at.

    The map is left in the scratch array `place`.
    """
    ptr, nbr, label, color = graph
    key, image = scratch[2], scratch[6]
    for i in range(len(one)):
        image[one[i]] = other[i]
    right = True
    for u in range(len(one)):
        w = image[u]
        if color[u] != color[w] or ptr[u + 1] - ptr[u] != ptr[w + 1] - ptr[w]:
            return False
        for arc in range(ptr[w], ptr[w + 1]):
            key[nbr[arc]] = label[arc]
        for arc in range(ptr[u], ptr[u + 1]):
            right &= key[image[nbr[arc]]] == label[arc]  # no label is 0
        for arc in range(ptr[w], ptr[w + 1]):
            key[nbr[arc]] = 0
        if not right:
            return False
    return True


@inner
def are_twins(graph: GraphArrays, u: int, w: int, key: Any) -> bool:
    """Tell whether two nodes of a cell can be swapped: equal labels to all others, and to each other."""
    ptr, nbr, label, _ = graph
    if ptr[u + 1] - ptr[u] != ptr[w + 1] - ptr[w]:
        return False
    for arc in range(ptr[w], ptr[w + 1]):
        key[nbr[arc]] = label[arc]
    back, right = key[u], True
    for arc in range(ptr[u], ptr[u + 1]):
        v = nbr[arc]
        right &= label[arc] == (back if v == w else key[v])
    for arc in range(ptr[w], ptr[w + 1]):
        key[nbr[arc]] = 0
    return right


@inner
def root_of(parent: Places, v: int) -> int:
    """Return the smallest node that v has been united with."""
    while parent[v] != v:
        parent[v] = parent[parent[v]]
        v = parent[v]
    return v


@inner
def unite_pair(parent: Places, v: int, w: int) -> None:
    """Unite two nodes."""
    one, other = root_of(parent, v), root_of(parent, w)
    if one != other:
        parent[max(one, other)] = min(one, other)


@inner
def unite(parent: Places, images: Places) -> None:
    """Unite each node with its image."""
    for v in range(len(images)):
        unite_pair(parent, v, images[v])


@inlined
def set_work(t: Search, level: int) -> None:
    """Set the scratch partition to that of a level."""
    t.work[0][:], t.work[1][:], t.work[2][:] = t.labs[level], t.cell[level], t.length[level]


@inlined
def go_down(t: Search, level: int, node: int) -> None:
    """Make the partition of the level below by individualizing a node."""
    below = level + 1
    t.labs[below], t.cell[below], t.length[below] = t.labs[level], t.cell[level], t.length[level]
    part = t.labs[below], t.cell[below], t.length[below]
    t.traces[below], new = individualize(t.graph, part, node, t.scratch)
    t.cells[below] = t.cells[level] + new


@inlined
def one_leaf(t: Search, level: int) -> int:
    """Go down from the partition of a level to a leaf by first nodes, and return the level of the leaf.

    It is -1 if there is no room for so many levels.
    """
    while t.cells[level] < t.labs.shape[1]:
        t.targets[level] = target(t.length[level])
        if level + 1 == len(t.labs):
            return -1
        go_down(t, level, t.labs[level, t.targets[level]])
        level += 1
    return level


@inner
def maps_to(t: Search, level: int, leaf: int, node: int) -> bool:
    """Tell whether the first leaf by way of `node` is the same graph as the known one. `place` is the map.

    All must look as on the way to the known leaf.
    """
    set_work(t, level)
    at, start = level, -1
    while at == level or start >= 0:
        trace, _ = individualize(t.graph, t.work, node, t.scratch)
        at += 1
        start = target(t.work[2])
        if trace != t.traces[at] or (at == leaf) != (start < 0) or (start >= 0 and start != t.targets[at]):
            return False
        if start >= 0:
            node = t.work[0][start]
    return is_automorphism(t.graph, t.labs[leaf], t.work[0], t.scratch)


@inlined
def all_leaves_equal(t: Search, level: int) -> int:
    """Tell whether all leaves below a partition are the same graph: return their level, or -1.

    They are if every cell that is chosen on the way to one leaf is a single orbit of the automorphisms that
    fix the nodes chosen before it. From the leaf upwards, a node of such a cell is in the orbit of the
    first one by automorphisms known so far, as its twin, or because the leaf that it leads to by any way is
    the same graph. Where that leaf is another graph, not all leaves are equal. So the answer does not
    depend on the ways that were taken, nor on the numbering of the nodes. Orbits are united in `orbits`.

    A chain of so many levels that the test is dear (`budget`) counts as unequal: chains have equal length
    if all leaves are equal, so that does not depend on numbering either.
    """
    key, image = t.scratch[2], t.scratch[6]
    leaf = one_leaf(t, level)
    if leaf < 0 or (leaf - level) * (leaf - level) * t.labs.shape[1] > t.budget:
        return -1
    if leaf > level:  # most unequal ones show at the last node of the first cell
        node = t.labs[level, t.targets[level] + t.length[level, t.targets[level]] - 1]
        if not maps_to(t, level, leaf, node):
            return -1
    for above in range(leaf - 1, level - 1, -1):
        start = t.targets[above]
        first = t.labs[above + 1, start]
        for i in range(start, start + t.length[above, start]):
            node = t.labs[above, i]
            if root_of(t.orbits, node) == root_of(t.orbits, first):
                continue
            if are_twins(t.graph, first, node, key):
                unite_pair(t.orbits, first, node)
            elif maps_to(t, above, leaf, node):
                unite(t.orbits, image)
            else:
                return -1
    return leaf


@inlined
def note_leaf(t: Search, order: Places, level: int) -> Any:
    """Keep the leaf of smallest hash (and some others). Find automorphisms to leaves that are the same graph.

    An automorphism counts at each level of which it fixes all nodes chosen so far. Returns the hash of the
    leaf.
    """
    image = t.scratch[6]
    value = leaf_hash(t.graph, order, image)
    new = True
    for i in range(t.used[0]):
        if t.hashes[i] == value and not is_automorphism(t.graph, t.orders[i], order, t.scratch):
            t.used[1] = 1  # a collision of 64 bits: the smallest leaf may not be one graph
        elif t.hashes[i] == value:
            for at in range(level + 1):
                if at > 0 and image[t.path[at]] != t.path[at]:
                    break
                unite(t.parents[at], image)
            new = False
            break
    if t.used[0] == 0 or value < t.hashes[0]:
        t.orders[0], t.hashes[0] = order, value
        t.used[0] = max(t.used[0], 1)
    if new and t.used[0] < len(t.orders):
        t.orders[t.used[0]], t.hashes[t.used[0]] = order, value
        t.used[0] += 1
    return value


@inlined
def by_one_leaf(t: Search, level: int) -> tuple[Any, bool]:
    """Return the hash of a partition by one leaf if all its leaves are equal, else that of its trace."""
    for v in range(len(t.orbits)):
        t.orbits[v] = v
        if level > 0:
            t.parents[level, v] = v
    leaf = all_leaves_equal(t, level)
    for above in range(level + 1):  # what fixes all nodes chosen so far, fixes those chosen further up
        unite(t.parents[above], t.orbits)
    if leaf < 0:
        return joined(OPEN, t.traces[level]), False
    value = LEAF
    for i in range(level, leaf + 1):
        value = joined(value, t.traces[i])
    return joined(value, note_leaf(t, t.labs[leaf], level)), True


@inlined
def choose_children(t: Search, level: int, again: bool) -> None:
    """Look at the traces of all nodes of the target cell, and choose the rarest one, of several the smallest.

    These distinguish nodes of other traces. What is below the chosen ones is enough to know the graph.
    In a pass over the same nodes that goes deeper (`again`), the hashes of the last pass stand for the traces
    of the nodes that were chosen then.
    """
    lab, start = t.labs[level], t.targets[level]
    stop = start + t.length[level, start]
    values, sums = t.values[level], t.sums[level]
    last = sums[2]
    for i in range(start, stop):
        node = lab[i]
        if not again:
            set_work(t, level)
            values[node, 2], _ = individualize(t.graph, t.work, node, t.scratch)
            values[node, 3] = 1
        elif values[node, 3] == 1:
            values[node, 3] = values[node, 2] == last
            if values[node, 3] == 1:
                values[node, 2] = values[node, 0]
    sums[0], sums[1] = 0, 0
    fewest = stop - start + 1
    for i in range(start, stop):
        trace = values[lab[i], 2]
        sums[0] += mixed(trace)
        if values[lab[i], 3] == 1:
            count = 0
            for j in range(start, stop):
                count += values[lab[j], 3] == 1 and values[lab[j], 2] == trace
            if count < fewest or (count == fewest and trace < sums[2]):
                fewest, sums[2] = count, trace


@inlined
def next_child(lab: Places, start: int, stop: int, at: int, parent: Places, values: Any, sums: Any) -> int:
    """Return the place of the next chosen node whose orbit is new. Add those before it to the sums."""
    while at < stop:
        known = -1
        if values[lab[at], 3] == 1 and values[lab[at], 2] == sums[2]:
            for i in range(start, at):
                if root_of(parent, lab[i]) == root_of(parent, lab[at]):
                    known = lab[i]
                    break
            if known < 0:
                break
            values[lab[at], 0], values[lab[at], 1] = values[known, 0], values[known, 1]
            sums[0] += mixed(values[known, 0])
            sums[1] += values[known, 1]
        at += 1
    return at


@inner
def tree(t: Search, base: int, depth: int) -> tuple[Any, Any]:
    """Evaluate the tree below the partition of level `base`, `depth` levels of it in full.

    Returns its hash, and how many nodes the next level would have: 0 if the tree is finished.
    """
    at = np.empty(base + depth + 1, np.int64)  # place of the child that is looked at
    level, fresh = base, True
    value, rest = OPEN, np.uint64(0)
    while True:
        if fresh:
            value, finished = by_one_leaf(t, level)
            rest = np.uint64(0 if finished else t.length[level, t.targets[level]])
            fresh = not finished and level < base + depth
            if fresh:
                at[level] = t.targets[level]
                choose_children(t, level, level == 0 and depth > 1)
        if not fresh:
            if level == base:
                return value, rest
            level -= 1
            node = t.labs[level, at[level]]
            t.values[level, node, 0], t.values[level, node, 1] = value, rest
            t.sums[level, 0] += mixed(value)
            t.sums[level, 1] += rest
            at[level] += 1
        start = t.targets[level]
        stop = start + t.length[level, start]
        sums = t.sums[level]
        at[level] = next_child(t.labs[level], start, stop, at[level], t.parents[level], t.values[level], sums)
        fresh = at[level] < stop
        if fresh:
            node = t.labs[level, at[level]]
            go_down(t, level, node)
            level += 1
            t.path[level] = node
        else:
            value, rest = joined(joined(INNER, t.traces[level]), sums[0]), sums[1]


@inlined
def node_trees(t: Search, depth: int) -> Any:
    """Evaluate the tree of each node, the first to be individualized. Return the size of the next level."""
    values, rest = t.values[0], np.uint64(0)
    for v in range(len(values)):
        root = root_of(t.parents[0], v)  # the first node of an orbit
        if root == v:
            go_down(t, 0, v)
            t.path[1] = v
            values[v, 0], values[v, 1] = tree(t, 1, depth - 1)
        else:
            values[v, 0], values[v, 1] = values[root, 0], values[root, 1]
        rest += values[v, 1]
    return rest


@inlined
def orbit_codes(value: Any, order: Places, parent: Places, codes: Keys) -> None:
    """Write the codes of a finished graph: its hash, with the first place of the node's orbit in its leaf."""
    lowest = np.full(len(order), -1, np.int64)
    for i in range(len(order)):
        root = root_of(parent, order[i])
        if lowest[root] < 0:
            lowest[root] = i
        codes[order[i]] = joined(value, np.uint64(lowest[root]))


@compiled
def search(
    ptr: Any, nbr: Places, label: Keys, color: Keys, depth: int, limit: int, budget: int, every: bool
) -> tuple[Keys, Any, Places, bool]:
    """Search one graph, given as in `refinement`. Return the parts of a `SearchResult`.

    At most `depth` levels of the tree are looked at in full. A level of more than `limit` nodes is not begun.
    Orbits count in full, so that the number does not depend on which automorphisms were found. For more than
    some 300 nodes the limit is lower. `budget` is the work that a test of equal leaves may be. If the tree of
    the graph is not finished, those of all nodes are followed if `every`.
    """
    n = len(color)
    codes = np.empty(n, np.uint64)
    if n == 0:
        return codes, mixed(OPEN), np.empty(0, np.int32), True
    rows = min(n + 2, max(MOST_ENTRIES // n, 4))
    limit = min(limit, max(MOST_WORK // (rows * n), 1))
    levels = min(depth, MOST_DEPTH, rows - 3 if rows > 3 else 0) + 2
    scratch = (
        np.empty(n + 1, np.int32),  # queue
        np.zeros(n, np.bool_),  # waiting
        np.zeros(n, np.uint64),  # key
        np.zeros(n, np.int32),  # hits
        np.empty(n, np.int32),  # touched
        np.empty(n, np.int32),  # members
        np.empty(n, np.int32),  # place, image
        np.arange(n),  # places
    )
    t = Search(
        (ptr, nbr, label, color),
        scratch,
        (np.empty(n, np.int32), np.empty(n, np.int32), np.empty(n, np.int32)),
        budget,
        np.empty((rows, n), np.int32),  # labs
        np.empty((rows, n), np.int32),  # cell
        np.empty((rows, n), np.int32),  # length
        np.zeros(rows, np.int64),  # cells
        np.zeros(rows, np.int64),  # path
        np.zeros(rows, np.uint64),  # traces
        np.zeros(rows, np.int64),  # targets
        np.empty((levels, n), np.int32),  # parents
        np.empty((levels, n, 4), np.uint64),  # values
        np.empty((levels, 3), np.uint64),  # sums
        np.empty((KEPT, n), np.int32),  # orders
        np.zeros(KEPT, np.uint64),  # hashes
        np.zeros(2, np.int64),  # used
        np.empty(n, np.int32),  # orbits
    )
    for v in range(n):
        t.parents[0, v] = v
        t.orders[0, v] = v
    t.traces[0], t.cells[0] = first_partition(t.graph, (t.labs[0], t.cell[0], t.length[0]), scratch)
    value, rest = OPEN, np.uint64(0)
    for deep in range(levels - 1):
        value, rest = tree(t, 0, deep)
        if rest == 0 or rest > limit:
            break
    if rest == 0:
        orbit_codes(value, t.orders[0], t.parents[0], codes)
        return codes, value, t.orders[0], t.used[1] == 0
    for v in range(n):
        codes[v] = joined(value, np.uint64(t.cell[0, v]))
    if every and n <= limit:
        for deep in range(1, levels - 1):
            rest = node_trees(t, deep)
            for v in range(n):
                codes[v] = joined(joined(value, np.uint64(t.cell[0, v])), t.values[0, v, 0])
            if rest == 0 or rest > limit:
                break
    return codes, value, t.orders[0], rest == 0 and t.used[1] == 0


class SearchResult(NamedTuple):
    """A code of each node, one of the graph, the nodes in the order of the leaf with the smallest hash.

    `finished` tells whether the codes are those of finished trees.
    """

    codes: Keys
    value: int
    order: IntArray
    finished: bool


def search_parts(arrays: GraphArrays, depth: int, limit: int, budget: int, every: bool) -> SearchResult:
    """Search a graph: the arguments are those of `search`, `limit` holds for each connected part."""
    run: Any = search  # compiled: mypy sees other types
    ptr, nbr, label, color = arrays
    n_nodes = len(color)
    links = sp.csr_array((np.ones(len(nbr), np.int8), nbr, ptr), shape=(n_nodes, n_nodes))
    n_parts, part = connected_components(links, directed=False)
    if n_parts <= 1:
        return SearchResult(*run(*arrays, depth, limit, budget, every))
    nodes = np.argsort(part, kind="stable")
    place = np.empty(n_nodes, np.int64)
    place[nodes] = np.arange(n_nodes)
    arcs = ragged_indices(ptr, nodes)
    ptr, label, color = offsets(np.diff(ptr)[nodes]), label[arcs], color[nodes]
    nbr = place[nbr[arcs]].astype(np.int32)
    bounds = offsets(np.bincount(part))
    each = []
    for start, stop in pairwise(bounds):
        own = slice(ptr[start], ptr[stop])
        piece = ptr[start : stop + 1] - ptr[start], nbr[own] - np.int32(start), label[own], color[start:stop]
        result = SearchResult(*run(*piece, depth, limit, budget, every))
        each.append((result.value, _form(piece, result.order), nodes[start:stop], result))
    each.sort(key=lambda entry: entry[:2])  # forms break ties of hashes
    values = np.array([value for value, *_ in each], np.uint64)
    total = mix(mix(values).sum(keepdims=True) + np.uint64(n_parts))
    codes = np.empty(n_nodes, np.uint64)
    for _, _, own_nodes, result in each:
        codes[own_nodes] = mix(result.codes + total)
    order = np.concatenate([own_nodes[result.order] for _, _, own_nodes, result in each])
    return SearchResult(codes, int(total[0]), order, all(result.finished for *_, result in each))


def _form(arrays: GraphArrays, order: IntArray) -> Any:
    """Return a part in this order as bytes."""
    ptr, nbr, label, color = arrays
    place = np.empty(len(order), np.int64)
    place[order] = np.arange(len(order))
    first, second = place[np.repeat(np.arange(len(order)), np.diff(ptr))], place[nbr]
    ranks = np.lexsort((second, first))
    return b"".join(array.tobytes() for array in (color[order], first[ranks], second[ranks], label[ranks]))
