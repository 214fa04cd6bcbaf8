"""Views that count: kinds of nodes and edges in columns of numbers; Weisfeiler-Lehman colours as sets.

For counts a and b, min(a, b) = sum over t of [a >= t] [b >= t]. So a histogram of colours is the set of all pairs
(colour, t) with t = 1 .. count, and the number of pairs that two sets share is the kernel of histogram
intersection, which on colours of all depths is the optimal assignment kernel of Kriege, Giscard and Wilson
(NIPS 2016), exactly. A pair is a 64-bit hash, so that there is no vocabulary.
"""

from __future__ import annotations

from typing import NamedTuple, Self

import numpy as np
import scipy.sparse as sp

from grnf.graphs import GraphBatch
from grnf.graphs.batch import Codes
from grnf.lifts.base import arcs
from grnf.lifts.colours import Hashes, hashed_rows, mixed, refined_colours
from grnf.lifts.columns import category_columns
from grnf.typing import FloatArray, IntArray, Keys

__all__ = ["ColourSets", "Counts", "Sets", "SetsKernel"]

DEPTHS = (2, 4)
"""Colours up to each of these depths have a kernel of their own."""
MOST_DEGREE = 24
"""Degrees from here on are counted together."""
MOST_KINDS = 256
"""Categories of a column that are counted: those that most graphs have."""
ROWS_AT_ONCE = 512
SKETCH_SEED = np.uint64(0x5851F42D4C957F2D)


class Counts:
    """How many nodes and edges, of what kinds and degrees, with what numbers: one row per graph.

    `fit` learns which categories are counted. Counts are on a scale of logarithms, sign(s) log(1 + |s|).
    """

    def fit(self, batch: GraphBatch) -> Self:
        """Learn the categories of each column that most graphs have."""
        graph, edge_graph = _owners(batch)
        self.node_kinds_ = [_frequent(keys, graph) for keys in _key_columns(batch.node_codes)]
        self.edge_kinds_ = [_frequent(keys, edge_graph) for keys in _key_columns(batch.edge_codes)]
        kinds = sum(map(len, [*self.node_kinds_, *self.edge_kinds_]))
        self.width = 2 + MOST_DEGREE + 1 + kinds + 3 * (batch.node_attr.shape[1] + batch.edge_attr.shape[1])
        return self

    def rows(self, batch: GraphBatch) -> FloatArray:
        """Return the columns of each graph."""
        graph, edge_graph = _owners(batch)
        n = len(batch)
        degree = np.bincount(arcs(batch)[0], minlength=len(graph))
        parts = [np.column_stack([batch.sizes, np.diff(batch.edge_ptr)]).astype(np.float64)]
        parts.append(_counted(np.minimum(degree, MOST_DEGREE), graph, n, MOST_DEGREE + 1))
        for owner, codes, kinds, numbers in (
            (graph, batch.node_codes, self.node_kinds_, batch.node_attr),
            (edge_graph, batch.edge_codes, self.edge_kinds_, batch.edge_attr),
        ):
            for keys, known in zip(_key_columns(codes), kinds, strict=True):
                places = np.searchsorted(known, keys)
                found = places < len(known)
                found[found] = known[places[found]] == keys[found]
                parts.append(_counted(places[found], owner[found], n, len(known)))
            size = np.maximum(np.bincount(owner, minlength=n), 1)[:, np.newaxis]
            member = sp.csr_array(
                (np.ones(len(owner)), (owner, np.arange(len(owner)))), shape=(n, len(owner))
            )
            mean, square = member @ numbers / size, member @ numbers**2 / size
            parts += [mean, np.sqrt(np.maximum(square - mean**2, 0)), mean * size]
        rows = np.hstack(parts)
        return np.asarray(np.sign(rows) * np.log1p(np.abs(rows)), dtype=np.float32)


class Sets(NamedTuple):
    """Sets of 64-bit keys, one per graph: those of the first kernel, those that the next one adds, and so on.

    Parameters
    ----------
    graph : array of int
        To whose set each key belongs.
    keys : array of uint64
    level : array of int
        The first kernel that sees the key.
    n_graphs : int
    """

    graph: IntArray
    keys: Hashes
    level: IntArray
    n_graphs: int

    def take(self, graphs: IntArray) -> Sets:
        """Return the sets of some graphs, each of which is named once."""
        place = np.full(self.n_graphs, -1, dtype=np.int64)
        place[graphs] = np.arange(len(graphs))
        kept = place[self.graph] >= 0
        return Sets(place[self.graph[kept]], self.keys[kept], self.level[kept], len(graphs))

    def sizes(self) -> IntArray:
        """Return how many keys each graph has in each kernel, shape (n_graphs, n_kernels)."""
        added = [
            np.bincount(self.graph[self.level == k], minlength=self.n_graphs) for k in range(len(DEPTHS))
        ]
        return np.cumsum(np.column_stack(added), axis=1)

    def sketch(self, width: int) -> FloatArray:
        """Return vectors whose products are those of the last kernel, on average: keys fall into columns at
        random, with a random sign."""
        random = mixed(self.keys ^ SKETCH_SEED)
        column = (random >> np.uint64(1)) % np.uint64(width)
        sign = np.where(random & np.uint64(1), 1.0, -1.0)
        place = self.graph * width + column.astype(np.int64)
        rows = np.bincount(place, sign, self.n_graphs * width).reshape(self.n_graphs, width)
        return np.asarray(rows / np.sqrt(self.sizes()[:, -1:]), dtype=np.float32)


class ColourSets:
    """Colours of the nodes of each graph, as sets: nodes start from their categories, else from degrees.

    `fit` learns which columns of numbers are categories in truth: few different whole numbers.
    """

    def fit(self, batch: GraphBatch) -> Self:
        """Learn which columns colour."""
        self.node_columns_ = category_columns(batch.node_attr)
        self.edge_columns_ = category_columns(batch.edge_attr)
        self.degrees_ = not (self.node_columns_.any() or batch.node_codes.values.shape[1])
        return self

    def rows(self, batch: GraphBatch) -> Sets:
        """Return the set of each graph."""
        nodes = hashed_rows(batch.node_attr[:, self.node_columns_], batch.node_codes)
        edges = hashed_rows(batch.edge_attr[:, self.edge_columns_], batch.edge_codes)
        if self.degrees_:
            nodes = mixed(np.bincount(arcs(batch)[0], minlength=len(nodes)).astype(np.uint64))
        graph = np.repeat(np.arange(len(batch)), batch.sizes)
        # every set has one key, so that graphs without nodes are like each other and have a size
        owners, keys = [np.arange(len(batch))], [np.zeros(len(batch), dtype=np.uint64)]
        levels = [np.zeros(len(batch), dtype=np.int64)]
        for depth, colours in enumerate(refined_colours(batch, max(DEPTHS), nodes, edges)):
            own = mixed(colours + np.uint64(depth))
            order = np.lexsort((own, graph))
            g, c = graph[order], own[order]
            new = np.ones(len(c), dtype=bool)
            new[1:] = (g[1:] != g[:-1]) | (c[1:] != c[:-1])
            starts = np.flatnonzero(new)
            times = np.arange(len(c)) - np.repeat(starts, np.diff(np.append(starts, len(c))))
            owners.append(g)
            keys.append(mixed(c ^ mixed(times.astype(np.uint64) + np.uint64(1))))
            levels.append(np.full(len(c), next(k for k, most in enumerate(DEPTHS) if depth <= most)))
        return Sets(np.concatenate(owners), np.concatenate(keys), np.concatenate(levels), len(batch))


class SetsKernel:
    """How many keys sets share with those of some graphs, in parts of the geometric mean of their sizes."""

    def __init__(self, sets: Sets) -> None:
        self.vocabulary = _shared(sets)
        self.columns, self.sizes = self._columns(sets), sets.sizes()

    def __call__(self, sets: Sets | None = None) -> list[FloatArray]:
        """Return the kernels between the rows of some sets (by default the own ones) and the own ones."""
        columns, sizes = (self.columns, self.sizes) if sets is None else (self._columns(sets), sets.sizes())
        kernels: list[FloatArray] = []
        for level, (theirs, own) in enumerate(zip(columns, self.columns, strict=True)):
            K = np.zeros((len(sizes), len(self.sizes)), dtype=np.float32)
            turned = own.T.tocsr()
            for start in range(0, len(K), ROWS_AT_ONCE):
                K[start : start + ROWS_AT_ONCE] = (theirs[start : start + ROWS_AT_ONCE] @ turned).toarray()
            kernels.append(K if level == 0 else K + kernels[-1])
        for level, K in enumerate(kernels):
            if sets is None:
                np.fill_diagonal(K, self.sizes[:, level])  # keys that no other graph has are left out above
            K /= np.sqrt(sizes[:, level], dtype=np.float32)[:, np.newaxis]
            K /= np.sqrt(self.sizes[:, level], dtype=np.float32)
        return kernels

    def _columns(self, sets: Sets) -> list[sp.csr_array]:
        places = np.searchsorted(self.vocabulary, sets.keys)
        found = places < len(self.vocabulary)
        found[found] = self.vocabulary[places[found]] == sets.keys[found]
        made = []
        for level in range(len(DEPTHS)):
            kept = found & (sets.level == level)
            ones = np.ones(int(kept.sum()), dtype=np.float32)
            shape = (sets.n_graphs, len(self.vocabulary))
            made.append(sp.csr_array((ones, (sets.graph[kept], places[kept])), shape=shape))
        return made


def _shared(sets: Sets) -> Keys:
    """Return the keys that several sets have; a key stands once in each."""
    ordered = np.sort(sets.keys)
    again = ordered[1:] == ordered[:-1]
    return np.unique(ordered[1:][again])


def _owners(batch: GraphBatch) -> tuple[IntArray, IntArray]:
    n = np.arange(len(batch))
    return np.repeat(n, batch.sizes), np.repeat(n, np.diff(batch.edge_ptr))


def _key_columns(codes: Codes) -> list[Keys]:
    keys = np.append(codes.keys, np.uint64(0))
    return [keys[places] for places in codes.values.T]


def _frequent(keys: Keys, owner: IntArray) -> Keys:
    """Return the categories that most graphs have, ascending."""
    kinds, place = np.unique(keys, return_inverse=True)
    pairs = np.unique(np.column_stack([place.ravel(), owner]), axis=0)
    graphs = np.bincount(pairs[:, 0], minlength=len(kinds))
    return np.sort(kinds[np.argsort(-graphs, kind="stable")[:MOST_KINDS]])


def _counted(places: IntArray, owner: IntArray, n_graphs: int, width: int) -> FloatArray:
    found = np.bincount(owner * width + places, minlength=n_graphs * width)
    return found.reshape(n_graphs, width).astype(np.float64)
