"""Views that count: kinds of nodes and edges in columns of numbers; Weisfeiler-Lehman colours as sets.

For counts a and b, min(a, b) = sum over t of [a >= t] [b >= t]. So a histogram of colours is the set of all
pairs (colour, t) with t = 1 .. count, and the number of pairs that two sets share is the kernel of histogram
intersection, which on colours of all depths is the optimal assignment kernel of Kriege, Giscard and Wilson
(NIPS 2016), exactly. A pair is a 64-bit hash, so that there is no vocabulary.
"""

from __future__ import annotations

from typing import NamedTuple, Self

import numpy as np
import scipy.sparse as sp

from grnf._utils.hashing import mix
from grnf.estimators.shared_loops import count_shared, count_shared_among
from grnf.graphs import GraphBatch
from grnf.graphs.batch import Codes
from grnf.lifts.base import arcs
from grnf.lifts.colours import Hashes, hashed_rows, refined_colours
from grnf.lifts.columns import category_columns, indicator_columns
from grnf.typing import FloatArray, IntArray, Keys

__all__ = ["ColourSets", "Counts", "Sets", "SetsKernel", "counted_kinds", "frequent_kinds"]

COARSE_DEPTHS, FINE_DEPTH = (2, 4), 2
"""Rounds of refinement."""
MOST_DEGREE = 24
"""Degrees from here on are counted together."""
MOST_KINDS = 256
"""Categories of a column that are counted: those that most graphs have."""
SKETCH_SEED = np.uint64(0x5851F42D4C957F2D)


class Counts:
    """How many nodes and edges, of what kinds and degrees, with what numbers: one row per graph.

    `fit` learns which categories are counted. Counts are on a scale of logarithms, sign(s) log(1 + |s|).
    """

    def fit(self, batch: GraphBatch) -> Self:
        """Learn the categories of each column that most graphs have."""
        graph, edge_graph = _owners(batch)
        self.node_kinds_ = frequent_kinds(batch.node_codes, graph)
        self.edge_kinds_ = frequent_kinds(batch.edge_codes, edge_graph)
        kinds = sum(map(len, [*self.node_kinds_, *self.edge_kinds_]))
        self.width = 2 + MOST_DEGREE + 1 + kinds + 3 * (batch.node_attr.shape[1] + batch.edge_attr.shape[1])
        return self

    def rows(self, batch: GraphBatch) -> FloatArray:
        """Return the columns of each graph."""
        graph, edge_graph = _owners(batch)
        n = len(batch)
        degree = np.bincount(arcs(batch)[0], minlength=len(graph))
        parts: list[FloatArray] = [np.column_stack([batch.sizes, np.diff(batch.edge_ptr)]).astype(np.float64)]
        parts.append(_counted(np.minimum(degree, MOST_DEGREE), graph, n, MOST_DEGREE + 1))
        for owner, codes, kinds, numbers in (
            (graph, batch.node_codes, self.node_kinds_, batch.node_attr),
            (edge_graph, batch.edge_codes, self.edge_kinds_, batch.edge_attr),
        ):
            parts += counted_kinds(codes, kinds, owner, n)
            size = np.maximum(np.bincount(owner, minlength=n), 1)[:, np.newaxis]
            member = sp.csr_array(
                (np.ones(len(owner)), (owner, np.arange(len(owner)))), shape=(n, len(owner))
            )
            mean, square = member @ numbers / size, member @ numbers**2 / size
            parts += [mean, np.sqrt(np.maximum(square - mean**2, 0)), mean * size]
        rows = np.hstack(parts)
        return np.asarray(np.sign(rows) * np.log1p(np.abs(rows)), dtype=np.float32)


class Sets(NamedTuple):
    """Sets of 64-bit keys, two or three per graph; the second one holds the first.

    Parameters
    ----------
    graph : array of int
        To whose set each key belongs.
    keys : array of uint64
    level : array of int
        0 for keys of the first sets, 1 for those that the second ones add, 2 for those of the third.
    n_graphs : int
    n_kinds : int
        2 or 3.
    """

    graph: IntArray
    keys: Hashes
    level: IntArray
    n_graphs: int
    n_kinds: int

    def take(self, graphs: IntArray) -> Sets:
        """Return the sets of some graphs, each of which is named once."""
        place = np.full(self.n_graphs, -1, dtype=np.int64)
        place[graphs] = np.arange(len(graphs))
        kept = place[self.graph] >= 0
        return Sets(place[self.graph[kept]], self.keys[kept], self.level[kept], len(graphs), self.n_kinds)

    def sizes(self) -> IntArray:
        """Return how many keys the sets of each graph have, shape (n_graphs, n_kinds)."""
        sizes = np.column_stack(
            [np.bincount(self.graph[self.level == k], minlength=self.n_graphs) for k in range(self.n_kinds)]
        )
        sizes[:, 1] += sizes[:, 0]
        return sizes

    def sketch(self, width: int) -> FloatArray:
        """Return vectors whose products count the keys that all sets share, on average.

        Keys fall into columns at random, with a random sign.
        """
        random = mix(self.keys ^ SKETCH_SEED)
        column = (random >> np.uint64(1)) % np.uint64(width)
        sign = np.where(random & np.uint64(1), 1.0, -1.0)
        place = self.graph * width + column.astype(np.int64)
        rows = np.bincount(place, sign, self.n_graphs * width).reshape(self.n_graphs, width)
        size = np.bincount(self.graph, minlength=self.n_graphs)
        return np.asarray(rows / np.sqrt(size)[:, np.newaxis], dtype=np.float32)


class ColourSets:
    """Colours of the nodes of each graph, as sets: coarse ones of two depths, and fine ones of small depth.

    Coarse colours start from one column of categories, the one that has most of them (such as the symbols of
    atoms); fine ones from all that may be a category: other columns of them, and columns of few different
    whole numbers (such as charges, or numbers of hydrogens). Where there is nothing more to start from, there
    are coarse colours only, and where there is nothing at all they start from degrees.
    """

    def fit(self, batch: GraphBatch) -> Self:
        """Learn which columns colour."""
        nodes = _Colouring.of(batch.node_attr, batch.node_codes)
        edges = _Colouring.of(batch.edge_attr, batch.edge_codes)
        self.fine_, self.coarse_ = (
            (nodes, edges),
            (nodes.coarse(batch.node_codes), edges.coarse(batch.edge_codes)),
        )
        self.degrees_ = nodes.is_empty
        self.n_kinds_ = 2 if self.fine_ == self.coarse_ else 3
        return self

    def rows(self, batch: GraphBatch) -> Sets:
        """Return the sets of each graph."""
        everyone, one = np.arange(len(batch)), np.zeros(len(batch), np.uint64)
        # every set has this key, so that graphs without nodes are like each other and have a size
        parts = [(everyone, one, 0)]
        for depth, colours in enumerate(self._colours(batch, max(COARSE_DEPTHS), *self.coarse_)):
            parts.append((*_pairs(batch, colours, depth), int(depth > COARSE_DEPTHS[0])))
        if self.n_kinds_ == 3:
            parts.append((everyone, one + np.uint64(1), 2))
            for depth, colours in enumerate(self._colours(batch, FINE_DEPTH, *self.fine_)):
                parts.append((*_pairs(batch, colours, depth + 1000), 2))
        owner, keys, levels = zip(*parts, strict=True)
        level = np.repeat(levels, [len(part) for part in keys])
        return Sets(np.concatenate(owner), np.concatenate(keys), level, len(batch), self.n_kinds_)

    def _colours(self, batch: GraphBatch, depth: int, node: _Colouring, edge: _Colouring) -> list[Hashes]:
        nodes = node.hashes(batch.node_attr, batch.node_codes)
        edges = edge.hashes(batch.edge_attr, batch.edge_codes)
        if self.degrees_:
            nodes = mix(np.bincount(arcs(batch)[0], minlength=len(nodes)).astype(np.uint64))
        return refined_colours(batch, depth, nodes, edges)


class _Colouring(NamedTuple):
    """Columns that colour nodes or edges: of numbers, of them those of 0 and 1 only, and of categories."""

    numbers: tuple[int, ...]
    indicators: tuple[int, ...]
    codes: tuple[int, ...]

    @classmethod
    def of(cls, values: FloatArray, codes: Codes) -> _Colouring:
        numbers, indicators = (
            tuple(np.flatnonzero(found).tolist())
            for found in (category_columns(values), indicator_columns(values))
        )
        return cls(numbers, indicators, tuple(range(codes.values.shape[1])))

    def coarse(self, codes: Codes) -> _Colouring:
        """Return the column of most categories alone; else those that hold 0 and 1, as one-hot ones do."""
        if self.codes:
            most = max(self.codes, key=lambda column: len(np.unique(codes.values[:, column])))
            return _Colouring((), (), (most,)) if self.numbers or len(self.codes) > 1 else self
        return _Colouring(self.indicators, self.indicators, ()) if self.indicators else self

    @property
    def is_empty(self) -> bool:
        return not (self.numbers or self.codes)

    def hashes(self, values: FloatArray, codes: Codes) -> Hashes:
        chosen = Codes(codes.values[:, list(self.codes)], codes.keys)
        return hashed_rows(values[:, list(self.numbers)], chosen)


def _pairs(batch: GraphBatch, colours: Hashes, salt: int) -> tuple[IntArray, Hashes]:
    """Return the pairs (colour, t), t = 1 .. count, of each graph, as keys, and whose they are."""
    graph = np.repeat(np.arange(len(batch)), batch.sizes)
    own = mix(colours + np.uint64(salt))
    order = np.lexsort((own, graph))
    g, c = graph[order], own[order]
    new = np.ones(len(c), dtype=bool)
    new[1:] = (g[1:] != g[:-1]) | (c[1:] != c[:-1])
    starts = np.flatnonzero(new)
    times = np.arange(len(c)) - np.repeat(starts, np.diff(np.append(starts, len(c))))
    return g, mix(c ^ mix(times.astype(np.uint64) + np.uint64(1)))


class SetsKernel:
    """How many keys sets share with those of some graphs, over the geometric mean of their sizes."""

    def __init__(self, sets: Sets) -> None:
        self.vocabulary = np.unique(sets.keys)
        self.columns, self.sizes = self._columns(sets), sets.sizes()

    def __call__(self, sets: Sets | None = None) -> list[FloatArray]:
        """Return the kernels between the rows of some sets (by default the own ones) and the own ones."""
        columns, sizes = (self.columns, self.sizes) if sets is None else (self._columns(sets), sets.sizes())
        kernels: list[FloatArray] = []
        for level, (theirs, own) in enumerate(zip(columns, self.columns, strict=True)):
            K = np.zeros((len(sizes), len(self.sizes)), dtype=np.float32)
            turned, count = own.tocsc(), count_shared_among if sets is None else count_shared
            count(theirs.indptr, theirs.indices, turned.indptr, turned.indices, K)
            kernels.append(K + kernels[0] if level == 1 else K)
        for level, K in enumerate(kernels):
            K /= np.sqrt(sizes[:, level], dtype=np.float32)[:, np.newaxis]
            K /= np.sqrt(self.sizes[:, level], dtype=np.float32)
        return kernels

    def restrict(self, rows: IntArray) -> None:
        """Keep some of the own sets."""
        self.columns, self.sizes = [own[rows] for own in self.columns], self.sizes[rows]

    def _columns(self, sets: Sets) -> list[sp.csr_array]:
        places = np.searchsorted(self.vocabulary, sets.keys)
        found = places < len(self.vocabulary)
        found[found] = self.vocabulary[places[found]] == sets.keys[found]
        made = []
        for level in range(sets.n_kinds):
            kept = found & (sets.level == level)
            ones = np.ones(int(kept.sum()), dtype=np.float32)
            shape = (sets.n_graphs, len(self.vocabulary))
            made.append(sp.csr_array((ones, (sets.graph[kept], places[kept])), shape=shape))
        return made


def _owners(batch: GraphBatch) -> tuple[IntArray, IntArray]:
    n = np.arange(len(batch))
    return np.repeat(n, batch.sizes), np.repeat(n, np.diff(batch.edge_ptr))


def _key_columns(codes: Codes) -> list[Keys]:
    keys = np.append(codes.keys, np.uint64(0))
    return [keys[places] for places in codes.values.T]


def frequent_kinds(codes: Codes, owner: IntArray) -> list[Keys]:
    """Return for each column the categories that most graphs have; `owner` is whose each row is."""
    return [_frequent(keys, owner) for keys in _key_columns(codes)]


def counted_kinds(codes: Codes, kinds: list[Keys], owner: IntArray, n_graphs: int) -> list[FloatArray]:
    """Return for each column how often each graph has each of some categories."""
    parts = []
    for keys, known in zip(_key_columns(codes), kinds, strict=True):
        places = np.searchsorted(known, keys)
        found = places < len(known)
        found[found] = known[places[found]] == keys[found]
        parts.append(_counted(places[found], owner[found], n_graphs, len(known)))
    return parts


def _frequent(keys: Keys, owner: IntArray) -> Keys:
    """Return the categories that most graphs have, ascending."""
    kinds, place = np.unique(keys, return_inverse=True)
    n_graphs = int(owner.max(initial=-1)) + 1
    pairs = np.unique(place.ravel() * n_graphs + owner)
    graphs = np.bincount(pairs // max(n_graphs, 1), minlength=len(kinds))
    return np.sort(kinds[np.argsort(-graphs, kind="stable")[:MOST_KINDS]])


def _counted(places: IntArray, owner: IntArray, n_graphs: int, width: int) -> FloatArray:
    found = np.bincount(owner * width + places, minlength=n_graphs * width)
    return found.reshape(n_graphs, width).astype(np.float64)
