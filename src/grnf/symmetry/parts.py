"""The search of a graph by its connected parts: their trees add up, in one tree they would multiply."""

from __future__ import annotations

import itertools
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from scipy.sparse.csgraph import connected_components

from grnf._utils.arrays import offsets, ragged_indices
from grnf._utils.hashing import mix
from grnf.symmetry.partitions import GraphArrays
from grnf.symmetry.trees import search
from grnf.typing import IntArray, Keys

__all__ = ["Found", "search_parts"]


class Found(NamedTuple):
    """What `trees.search` gives."""

    codes: Keys
    value: int
    order: IntArray
    finished: bool


def search_parts(arrays: GraphArrays, depth: int, limit: int, budget: int, every: bool) -> Found:
    """Search a graph: the arguments are those of `trees.search`, `limit` holds for each connected part."""
    ptr, nbr, label, colour = arrays
    n_nodes = len(colour)
    links = sp.csr_array((np.ones(len(nbr), np.int8), nbr, ptr), shape=(n_nodes, n_nodes))
    n_parts, part = connected_components(links, directed=False)
    if n_parts <= 1:
        return _one(arrays, depth, limit, budget, every)
    nodes = np.argsort(part, kind="stable")
    place = np.empty(n_nodes, np.int64)
    place[nodes] = np.arange(n_nodes)
    arcs = ragged_indices(ptr, nodes)
    ptr, label, colour = offsets(np.diff(ptr)[nodes]), label[arcs], colour[nodes]
    nbr = place[nbr[arcs]].astype(np.int32)
    bounds = offsets(np.bincount(part))
    each = []
    for start, stop in itertools.pairwise(bounds):
        own = slice(ptr[start], ptr[stop])
        piece = ptr[start : stop + 1] - ptr[start], nbr[own] - np.int32(start), label[own], colour[start:stop]
        found = _one(piece, depth, limit, budget, every)
        each.append((found.value, _form(piece, found.order), nodes[start:stop], found))
    each.sort(key=lambda entry: entry[:2])  # forms break ties of hashes
    values = np.array([value for value, *_ in each], np.uint64)
    total = mix(mix(values).sum(keepdims=True) + np.uint64(n_parts))
    codes = np.empty(n_nodes, np.uint64)
    for _, _, own_nodes, found in each:
        codes[own_nodes] = mix(found.codes + total)
    order = np.concatenate([own_nodes[found.order] for _, _, own_nodes, found in each])
    return Found(codes, int(total[0]), order, all(found.finished for *_, found in each))


def _one(arrays: GraphArrays, depth: int, limit: int, budget: int, every: bool) -> Found:
    codes, value, order, finished = search(*arrays, depth, limit, budget, every)
    return Found(codes, int(value), order.astype(np.int64), finished)


def _form(arrays: GraphArrays, order: IntArray) -> Any:
    """Return a part in this order as bytes."""
    ptr, nbr, label, colour = arrays
    place = np.empty(len(order), np.int64)
    place[order] = np.arange(len(order))
    first, second = place[np.repeat(np.arange(len(order)), np.diff(ptr))], place[nbr]
    ranks = np.lexsort((second, first))
    return b"".join(array.tobytes() for array in (colour[order], first[ranks], second[ranks], label[ranks]))
