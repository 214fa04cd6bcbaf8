"""The tree of individualized nodes of a graph, one level after the other, pruned by automorphisms.

Leaves are partitions into single nodes. Two leaves that are the same graph give an automorphism. A graph is
searched by its connected parts: their trees add up, in one tree they would multiply.
"""

from __future__ import annotations

from itertools import pairwise
from typing import Any, NamedTuple, TypeAlias

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

__all__ = ["MOST_DEPTH", "SearchResult", "search_parts"]

MOST_DEPTH = 32
"""Levels that are ever looked at in full: with two nodes in each cell they would have 2^32 nodes."""

MOST_ENTRIES = 2**23
"""Places of all partitions on one way: a bound on memory."""

MOST_WORK = 2**31
"""Places of all partitions on the ways to the nodes of a level: a bound on time, some 10 seconds a level."""

KEPT = 64
"""Leaves that are kept to find automorphisms by."""

LEAF, INNER, OPEN = np.uint64(1), np.uint64(2), np.uint64(3)

Memory: TypeAlias = tuple[Any, ...]


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
def one_leaf(
    graph: GraphArrays, parts: Partition, level: int, cells: int, traces: Any, targets: Any, scratch: Scratch
) -> int:
    """Go down from the partition of a level to a leaf by first nodes, and return the level of the leaf.

    It is -1 if there is no room for so many levels.
    """
    labs, cell, length = parts
    while cells < labs.shape[1]:
        targets[level] = target(length[level])
        if level + 1 == len(labs):
            return -1
        labs[level + 1], cell[level + 1], length[level + 1] = labs[level], cell[level], length[level]
        node = labs[level, targets[level]]
        level += 1
        traces[level], new = individualize(graph, (labs[level], cell[level], length[level]), node, scratch)
        cells += new
    return level


@inlined
def leads_to(
    graph: GraphArrays,
    work: Partition,
    level: int,
    leaf: int,
    node: int,
    traces: Any,
    targets: Any,
    scratch: Scratch,
) -> bool:
    """Individualize a node, go down by first nodes. Tell whether all looks as on the way to the known leaf.

    `work` holds the partition of the level, and then that of the leaf.
    """
    while True:
        trace, _ = individualize(graph, work, node, scratch)
        level += 1
        if trace != traces[level]:
            return False
        start = target(work[2])
        if level == leaf or start < 0:
            return level == leaf and start < 0
        if start != targets[level]:
            return False
        node = work[0][start]


@inner
def maps_to(
    graph: GraphArrays,
    parts: Partition,
    level: int,
    leaf: int,
    node: int,
    traces: Any,
    targets: Any,
    scratch: Scratch,
    work: Partition,
) -> bool:
    """Tell whether the first leaf by way of `node` is the same graph as the known one. `place` is the map."""
    work[0][:], work[1][:], work[2][:] = parts[0][level], parts[1][level], parts[2][level]
    if not leads_to(graph, work, level, leaf, node, traces, targets, scratch):
        return False
    return is_automorphism(graph, parts[0][leaf], work[0], scratch)


@inlined
def all_leaves_equal(
    graph: GraphArrays,
    parts: Partition,
    level: int,
    cells: int,
    traces: Any,
    targets: Any,
    parent: Places,
    work: Partition,
    budget: int,
    scratch: Scratch,
) -> int:
    """Tell whether all leaves below a partition are the same graph: return their level, or -1.

    They are if every cell that is chosen on the way to one leaf is a single orbit of the automorphisms that
    fix the nodes chosen before it. From the leaf upwards, a node of such a cell is in the orbit of the
    first one by automorphisms known so far, as its twin, or because the leaf that it leads to by any way is
    the same graph. Where that leaf is another graph, not all leaves are equal. So the answer does not
    depend on the ways that were taken, nor on the numbering of the nodes. Orbits are united in `parent`.

    A chain of so many levels that the test is dear (`budget`) counts as unequal: chains have equal length
    if all leaves are equal, so that does not depend on numbering either.
    """
    labs, _, length = parts
    key, image = scratch[2], scratch[6]
    n = labs.shape[1]
    leaf = one_leaf(graph, parts, level, cells, traces, targets, scratch)
    if leaf < 0 or (leaf - level) * (leaf - level) * n > budget:
        return -1
    if leaf > level:  # most unequal ones show at the last node of the first cell
        node = labs[level, targets[level] + length[level, targets[level]] - 1]
        if not maps_to(graph, parts, level, leaf, node, traces, targets, scratch, work):
            return -1
    for above in range(leaf - 1, level - 1, -1):
        start = targets[above]
        first = labs[above + 1, start]
        for i in range(start, start + length[above, start]):
            node = labs[above, i]
            if root_of(parent, node) == root_of(parent, first):
                continue
            if are_twins(graph, first, node, key):
                unite_pair(parent, first, node)
            elif maps_to(graph, parts, above, leaf, node, traces, targets, scratch, work):
                unite(parent, image)
            else:
                return -1
    return leaf


@inlined
def note_leaf(graph: GraphArrays, order: Places, memory: Memory, level: int, scratch: Scratch) -> Any:
    """Keep the leaf of smallest hash (and some others). Find automorphisms to leaves that are the same graph.

    An automorphism counts at each level of which it fixes all nodes chosen so far. Returns the hash of the
    leaf.
    """
    _, path, _, _, parents, _, _, orders, hashes, used, _, _ = memory
    image = scratch[6]
    value = leaf_hash(graph, order, image)
    new = True
    for i in range(used[0]):
        if hashes[i] == value and not is_automorphism(graph, orders[i], order, scratch):
            used[1] = 1  # a collision of 64 bits: the smallest leaf may not be one graph
        elif hashes[i] == value:
            for at in range(level + 1):
                if at > 0 and image[path[at]] != path[at]:
                    break
                unite(parents[at], image)
            new = False
            break
    if used[0] == 0 or value < hashes[0]:
        orders[0], hashes[0] = order, value
        used[0] = max(used[0], 1)
    if new and used[0] < len(orders):
        orders[used[0]], hashes[used[0]] = order, value
        used[0] += 1
    return value


@inlined
def by_one_leaf(
    graph: GraphArrays, parts: Partition, level: int, memory: Memory, budget: int, scratch: Scratch
) -> tuple[Any, bool]:
    """Return the hash of a partition by one leaf if all its leaves are equal, else that of its trace."""
    cells, _, traces, targets, parents, _, _, _, _, _, orbits, work = memory
    for v in range(len(orbits)):
        orbits[v] = v
        if level > 0:
            parents[level, v] = v
    leaf = all_leaves_equal(graph, parts, level, cells[level], traces, targets, orbits, work, budget, scratch)
    for above in range(level + 1):  # what fixes all nodes chosen so far, fixes those chosen further up
        unite(parents[above], orbits)
    if leaf < 0:
        return joined(OPEN, traces[level]), False
    value = LEAF
    for i in range(level, leaf + 1):
        value = joined(value, traces[i])
    return joined(value, note_leaf(graph, parts[0][leaf], memory, level, scratch)), True


@inlined
def choose_children(
    graph: GraphArrays, parts: Partition, level: int, again: bool, memory: Memory, scratch: Scratch
) -> None:
    """Look at the traces of all nodes of the target cell, and choose the rarest one, of several the smallest.

    These distinguish nodes of other traces. What is below the chosen ones is enough to know the graph.
    In a pass over the same nodes that goes deeper (`again`), the hashes of the last pass stand for the traces
    of the nodes that were chosen then.
    """
    lab, start = parts[0][level], memory[3][level]
    stop = start + parts[2][level, start]
    values, sums, work = memory[5][level], memory[6][level], memory[11]
    last = sums[2]
    for i in range(start, stop):
        node = lab[i]
        if not again:
            work[0][:], work[1][:], work[2][:] = lab, parts[1][level], parts[2][level]
            values[node, 2], _ = individualize(graph, work, node, scratch)
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
def go_down(
    graph: GraphArrays, parts: Partition, level: int, node: int, memory: Memory, scratch: Scratch
) -> None:
    """Make the partition of the level below by individualizing a node."""
    labs, cell, length = parts
    cells, path, traces = memory[0], memory[1], memory[2]
    below = level + 1
    labs[below], cell[below], length[below] = labs[level], cell[level], length[level]
    traces[below], new = individualize(graph, (labs[below], cell[below], length[below]), node, scratch)
    cells[below], path[below] = cells[level] + new, node


@inner
def tree(
    graph: GraphArrays, parts: Partition, base: int, depth: int, memory: Memory, budget: int, scratch: Scratch
) -> tuple[Any, Any]:
    """Evaluate the tree below the partition of level `base`, `depth` levels of it in full.

    Returns its hash, and how many nodes the next level would have: 0 if the tree is finished.
    """
    labs, _, length = parts
    _, _, traces, targets, parents, values, sums, _, _, _, _, _ = memory
    at = np.empty(base + depth + 1, np.int64)  # place of the child that is looked at
    level, fresh = base, True
    value, rest = OPEN, np.uint64(0)
    while True:
        if fresh:
            value, finished = by_one_leaf(graph, parts, level, memory, budget, scratch)
            rest = np.uint64(0 if finished else length[level, targets[level]])
            fresh = not finished and level < base + depth
            if fresh:
                at[level] = targets[level]
                choose_children(graph, parts, level, level == 0 and depth > 1, memory, scratch)
        if not fresh:
            if level == base:
                return value, rest
            level -= 1
            node = labs[level, at[level]]
            values[level, node, 0], values[level, node, 1] = value, rest
            sums[level, 0] += mixed(value)
            sums[level, 1] += rest
            at[level] += 1
        start = targets[level]
        stop = start + length[level, start]
        at[level] = next_child(
            labs[level], start, stop, at[level], parents[level], values[level], sums[level]
        )
        fresh = at[level] < stop
        if fresh:
            go_down(graph, parts, level, labs[level, at[level]], memory, scratch)
            level += 1
        else:
            value, rest = joined(joined(INNER, traces[level]), sums[level, 0]), sums[level, 1]


@inlined
def node_trees(
    graph: GraphArrays, parts: Partition, depth: int, memory: Memory, budget: int, scratch: Scratch
) -> Any:
    """Evaluate the tree of each node, the first to be individualized. Return the size of the next level."""
    parents, values = memory[4], memory[5]
    rest = np.uint64(0)
    for v in range(len(graph[3])):
        root = root_of(parents[0], v)  # the first node of an orbit
        if root == v:
            go_down(graph, parts, 0, v, memory, scratch)
            values[0, v, 0], values[0, v, 1] = tree(graph, parts, 1, depth - 1, memory, budget, scratch)
        else:
            values[0, v, 0], values[0, v, 1] = values[0, root, 0], values[0, root, 1]
        rest += values[0, v, 1]
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
    graph = (ptr, nbr, label, color)
    codes = np.empty(n, np.uint64)
    if n == 0:
        return codes, mixed(OPEN), np.empty(0, np.int32), True
    rows = min(n + 2, max(MOST_ENTRIES // n, 4))
    limit = min(limit, max(MOST_WORK // (rows * n), 1))
    levels = min(depth, MOST_DEPTH, rows - 3 if rows > 3 else 0) + 2
    parts = (np.empty((rows, n), np.int32), np.empty((rows, n), np.int32), np.empty((rows, n), np.int32))
    work = (np.empty(n, np.int32), np.empty(n, np.int32), np.empty(n, np.int32))
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
    memory = (
        np.zeros(rows, np.int64),  # cells
        np.zeros(rows, np.int64),  # path
        np.zeros(rows, np.uint64),  # traces
        np.zeros(rows, np.int64),  # targets
        np.empty((levels, n), np.int32),  # parents
        np.empty((levels, n, 4), np.uint64),  # values: hash, next level, trace, whether to choose among
        np.empty((levels, 3), np.uint64),  # sums of hashes and of nodes, the trace that is chosen
        np.empty((KEPT, n), np.int32),  # orders
        np.zeros(KEPT, np.uint64),  # hashes
        np.zeros(2, np.int64),  # used, whether hashes of leaves collided
        np.empty(n, np.int32),  # orbits
        work,
    )
    for v in range(n):
        memory[4][0, v] = v
        memory[7][0, v] = v
    memory[2][0], memory[0][0] = first_partition(graph, (parts[0][0], parts[1][0], parts[2][0]), scratch)
    value, rest = OPEN, np.uint64(0)
    for deep in range(levels - 1):
        value, rest = tree(graph, parts, 0, deep, memory, budget, scratch)
        if rest == 0 or rest > limit:
            break
    if rest == 0:
        orbit_codes(value, memory[7][0], memory[4][0], codes)
        return codes, value, memory[7][0], memory[9][1] == 0
    for v in range(n):
        codes[v] = joined(value, np.uint64(parts[1][0, v]))
    if every and n <= limit:
        for deep in range(1, levels - 1):
            rest = node_trees(graph, parts, deep, memory, budget, scratch)
            for v in range(n):
                codes[v] = joined(joined(value, np.uint64(parts[1][0, v])), memory[5][0, v, 0])
            if rest == 0 or rest > limit:
                break
    return codes, value, memory[7][0], rest == 0 and memory[9][1] == 0


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
