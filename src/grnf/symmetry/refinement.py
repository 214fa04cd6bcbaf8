"""Ordered partitions of the nodes of a graph into cells, refined until neighbors tell no more apart.

A partition is three arrays: `lab` lists the nodes cell by cell, `cell[v]` is the place in `lab` where the
cell of v begins, `length[s]` the size of the cell that begins at s. Every decision follows from places,
sizes and sums of labels, never from the number of a node: another numbering gives the same partition,
renumbered.

A graph is four arrays: the neighbors `nbr[ptr[v]:ptr[v + 1]]` of v, the label of each such pair as seen
from v (never 0), and the colors of the nodes.
"""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from grnf._utils.jit import inlined, inner
from grnf.typing import Keys

Places: TypeAlias = npt.NDArray[np.int32]
GraphArrays: TypeAlias = tuple[Any, Places, Keys, Keys]
Partition: TypeAlias = tuple[Places, Places, Places]
Scratch: TypeAlias = tuple[Any, ...]

GOLDEN = np.uint64(0x9E3779B97F4A7C15)
FIRST, SECOND = np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB)


@inner
def mixed(x: Any) -> Any:
    """Mix the bits of a number (splitmix64)."""
    z = x + GOLDEN
    z = (z ^ (z >> np.uint64(30))) * FIRST
    z = (z ^ (z >> np.uint64(27))) * SECOND
    return z ^ (z >> np.uint64(31))


@inner
def joined(a: Any, b: Any) -> Any:
    """Hash two numbers in this order."""
    return mixed(mixed(a) * np.uint64(3) + b)


@inner
def sort_by(items: Places, start: int, stop: int, key: Any) -> None:
    """Sort items[start:stop] by their keys, in place (Shell's sort: short to compile, fast for few)."""
    gap = 1
    while 3 * gap + 1 < stop - start:
        gap = 3 * gap + 1
    while gap > 0:
        for i in range(start + gap, stop):
            item = items[i]
            value = key[item]
            j = i - gap
            while j >= start and key[items[j]] > value:
                items[j + gap] = items[j]
                j -= gap
            items[j + gap] = item
        gap //= 3


@inner
def split(
    part: Partition, start: int, middle: int, stop: int, key: Keys, queue: Places, waiting: Any, tail: int
) -> tuple[Any, int, int]:
    """Split a cell into cells of equal keys. Queue all but a largest one.

    The nodes before `middle` have one key, those from there on are sorted by larger ones. A cell that waits
    already is replaced by all of its parts. Returns a hash of what was done, the number of new cells, and the
    end of the queue.
    """
    lab, cell, length = part
    trace, new, all_of_them = np.uint64(0), 0, waiting[start]
    largest, size = start, 0
    first = start
    while first < stop:
        value = key[lab[first]]
        last = max(first + 1, middle)
        while last < stop and key[lab[last]] == value:
            last += 1
        trace = joined(trace + value, (np.uint64(first) << np.uint64(32)) + np.uint64(last))
        if last - first > size:
            largest, size = first, last - first
        if first > start:
            new += 1
            for i in range(first, last):
                cell[lab[i]] = first
        length[first] = last - first
        first = last
    first = start
    while first < stop:
        if (all_of_them or first != largest) and not waiting[first]:
            waiting[first] = True
            queue[tail % len(queue)] = first
            tail += 1
        first += length[first]
    return trace, new, tail


@inlined
def reached(graph: GraphArrays, part: Partition, nodes: Places, scratch: Scratch) -> int:
    """Add the labels of some nodes to the keys of their neighbors. Return how many cells these are in.

    The cells are left in `touched`, in order. In each of them the neighbors are moved to the end, `hits` is
    their number. So what is done next takes no longer than they are many, whatever the size of the cell.
    """
    ptr, nbr, label, _ = graph
    lab, cell, length = part
    _, _, key, hits, touched, _, place, places = scratch
    count = 0
    for u in nodes:
        for arc in range(ptr[u], ptr[u + 1]):
            v = nbr[arc]
            s = cell[v]
            if hits[s] == 0:
                touched[count] = s
                count += 1
            last = s + length[s] - 1 - hits[s]
            if place[v] <= last:
                other = lab[last]
                lab[place[v]], place[other] = other, place[v]
                lab[last], place[v] = v, last
                hits[s] += 1
            key[v] += label[arc]
    sort_by(touched, 0, count, places)
    return count


@inner
def refine(graph: GraphArrays, part: Partition, tail: int, scratch: Scratch) -> tuple[Any, int]:
    """Refine by the cells queue[:tail] until nodes of the same cell have equal sums of labels to each cell.

    Returns the trace, a hash of all that was done in its order, and the number of new cells.
    """
    lab, _, length = part
    queue, waiting, key, hits, touched, members, place, _ = scratch
    trace, new, head = np.uint64(len(lab)), 0, 0
    for i in range(len(lab)):
        place[lab[i]] = i
    while head < tail:
        start = queue[head % len(queue)]
        head += 1
        waiting[start] = False
        size = length[start]
        members[:size] = lab[start : start + size]
        trace = joined(trace, np.uint64(start))
        for i in range(reached(graph, part, members[:size], scratch)):
            s = touched[i]
            stop = s + length[s]
            middle = stop - hits[s]
            hits[s] = 0
            low, high = key[lab[middle]], key[lab[middle]]
            for j in range(middle + 1, stop):
                low, high = min(low, key[lab[j]]), max(high, key[lab[j]])
            if middle == s and low == high:
                trace = joined(trace + low, np.uint64(s))
            else:
                sort_by(lab, middle, stop, key)
                more, added, tail = split(part, s, middle, stop, key, queue, waiting, tail)
                trace, new = joined(trace, more), new + added
            for j in range(middle, stop):
                place[lab[j]] = j
                key[lab[j]] = 0
    return trace, new


@inner
def first_partition(graph: GraphArrays, part: Partition, scratch: Scratch) -> tuple[Any, int]:
    """Make cells of equal colors, in the order of colors, and refine. Return trace and number of cells."""
    lab, cell, length = part
    queue, waiting = scratch[0], scratch[1]
    n = len(lab)
    for v in range(n):
        lab[v] = v
        cell[v] = 0
    sort_by(lab, 0, n, graph[3])
    length[0], waiting[0], queue[0] = n, True, 0
    trace, made, tail = split(part, 0, 0, n, graph[3], queue, waiting, 1)
    more, new = refine(graph, part, tail, scratch)
    return joined(trace, more), 1 + made + new


@inner
def individualize(graph: GraphArrays, part: Partition, node: int, scratch: Scratch) -> tuple[Any, int]:
    """Give a node a cell of its own, before the rest of its cell, and refine. Return trace and new cells."""
    lab, cell, length = part
    queue, waiting = scratch[0], scratch[1]
    start = cell[node]
    stop = start + length[start]
    queue[0], waiting[start] = start, True
    if length[start] > 1:
        for i in range(start, stop):
            if lab[i] == node:
                lab[i] = lab[start]
                lab[start] = node
                break
        for i in range(start + 1, stop):
            cell[lab[i]] = start + 1
        length[start], length[start + 1] = 1, stop - start - 1
    trace, new = refine(graph, part, 1, scratch)
    return trace, new + (stop - start > 1)


@inner
def target(length: Places) -> int:
    """Return where the first of the largest cells begins, or -1 if all cells are single nodes."""
    first, size, start = -1, 1, 0
    while start < len(length):
        if length[start] > size:
            first, size = start, length[start]
        start += length[start]
    return first
