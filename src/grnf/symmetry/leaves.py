"""Leaves of the tree: partitions into single nodes, and automorphisms between equal ones."""

from __future__ import annotations

from typing import Any

import numpy as np

from grnf._utils.jit import inlined, inner
from grnf.symmetry.refinement import (
    GraphArrays,
    Partition,
    Places,
    Scratch,
    individualize,
    joined,
    mixed,
    target,
)

__all__ = ["all_leaves_equal", "is_automorphism", "leaf_hash", "root_of", "unite"]


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
