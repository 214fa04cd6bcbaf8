"""Feature views that count kinds of nodes and edges (columns), or Weisfeiler-Lehman (WL) labels (sets).

For counts a and b, min(a, b) = sum over t of [a >= t] [b >= t]. So a histogram of WL labels is the set of all
pairs (label, t) with t = 1 .. count. The number of pairs that two sets share is the kernel of histogram
intersection, which for labels of all depths is the optimal assignment kernel of Kriege, Giscard and Wilson
(NIPS 2016), exactly. A pair is a 64-bit hash, so that there is no vocabulary.
"""

from __future__ import annotations

from copy import copy
from typing import Any, NamedTuple, Self

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp
from sklearn.base import BaseEstimator
from sklearn.utils.extmath import safe_sparse_dot

from grnf._utils.hashing import mix
from grnf._utils.jit import compiled
from grnf._utils.rules import Int, checked
from grnf.graphs import GraphBatch
from grnf.graphs.batch import Codes
from grnf.lifts.attributes import category_columns, indicator_columns, signed_log
from grnf.lifts.base import arcs, graph_sums
from grnf.lifts.labels import hashed_rows, refined_labels
from grnf.typing import FloatArray, IntArray, Keys

COARSE_DEPTHS, FINE_DEPTH = (2, 4), 2
"""Rounds of refinement."""
MOST_DEGREE = 24
"""Degrees from here on are counted together."""
MOST_KINDS = 256
"""Categories of a column that are counted: those that most graphs have."""
SKETCH_SEED = np.uint64(0x5851F42D4C957F2D)


class Counts(BaseEstimator):  # type: ignore[misc]
    """Numbers of nodes and edges by kind and degree, means and spreads of their attributes: a row per graph.

    Sums s are on a logarithmic scale, sign(s) log(1 + |s|).
    """

    def fit(self, X: GraphBatch, y: Any = None) -> Self:  # noqa: ARG002
        """Learn the categories of each column that most graphs have."""
        graph, edge_graph = _owners(X)
        self.node_kinds_ = _frequent_kinds(X.node_codes, graph)
        self.edge_kinds_ = _frequent_kinds(X.edge_codes, edge_graph)
        return self

    def transform(self, X: GraphBatch) -> FloatArray:
        """Return the columns of each graph."""
        graph, edge_graph = _owners(X)
        n = len(X)
        degree = np.bincount(arcs(X)[0], minlength=len(graph))
        parts: list[FloatArray] = [np.column_stack([X.sizes, np.diff(X.edge_ptr)]).astype(np.float64)]
        parts.append(_histogram(np.minimum(degree, MOST_DEGREE), graph, n, MOST_DEGREE + 1))
        for owner, codes, kinds, numbers in (
            (graph, X.node_codes, self.node_kinds_, X.node_attr),
            (edge_graph, X.edge_codes, self.edge_kinds_, X.edge_attr),
        ):
            parts += _kind_histograms(codes, kinds, owner, n)
            size = np.maximum(np.bincount(owner, minlength=n), 1)[:, np.newaxis]
            mean, square = (graph_sums(values, owner, n) / size for values in (numbers, numbers**2))
            parts += [mean, np.sqrt(np.maximum(square - mean**2, 0)), mean * size]
        return np.asarray(signed_log(np.hstack(parts)), dtype=np.float32)


def structure_free(batch: GraphBatch) -> FloatArray:
    """Return one row per graph: means and sums of its node attributes, and its numbers of nodes and edges.

    Of a column of categories, those that most graphs have are counted, 256 at most. Sums and numbers are on a
    logarithmic scale. A model that is not better than these numbers has learned nothing from the edges.
    """
    n, owner = len(batch), _owners(batch)[0]
    totals, kinds = graph_sums(batch.node_attr, owner, n), _frequent_kinds(batch.node_codes, owner)
    sums = np.hstack([totals, *_kind_histograms(batch.node_codes, kinds, owner, n)])
    means = sums / np.maximum(batch.sizes, 1)[:, np.newaxis]
    sizes = np.column_stack([batch.sizes, np.diff(batch.edge_ptr)])
    return np.hstack([means, signed_log(sums), np.log1p(sizes)])


class LabelSets:
    """Sets of 64-bit keys, two or three per graph, and how many of them graphs share.

    `columns` has a matrix for each kind of sets, with a row for each graph and a column for each key of
    `vocabulary`. The second set of a graph includes the first one, so its matrix has only the keys that it
    adds. `sizes` counts the keys of each set, shape (n_graphs, n_kinds).
    """

    def __init__(self, graph: IntArray, keys: Keys, level: IntArray, n_graphs: int, n_kinds: int) -> None:
        """Take graph, key and kind of all entries."""
        self.vocabulary, place = np.unique(keys, return_inverse=True)
        columns = []
        for kind in range(n_kinds):
            own = level == kind
            ones = np.ones(int(own.sum()), dtype=np.float32)
            columns.append(sp.csr_array((ones, (graph[own], place[own])), (n_graphs, len(self.vocabulary))))
        self.sizes = np.column_stack([np.diff(own.indptr) for own in columns]).astype(np.int64)
        self.sizes[:, 1] += self.sizes[:, 0]
        self.columns = columns

    def take(self, graphs: IntArray) -> LabelSets:
        """Return the sets of some graphs. The vocabulary stays."""
        made = copy(self)
        made.columns, made.sizes = [own[graphs] for own in self.columns], self.sizes[graphs]
        return made

    def compacted(self) -> LabelSets:
        """Return the same sets without the keys that no graph has."""
        made, used = copy(self), np.unique(np.concatenate([own.indices for own in self.columns]))
        made.vocabulary, made.columns = self.vocabulary[used], [own[:, used] for own in self.columns]
        return made

    def kernels(self, others: LabelSets) -> list[FloatArray]:
        """Return for each kind how many keys other graphs share with these, over the mean of their sizes."""
        places, known = _places(self.vocabulary, others.vocabulary)
        ones = np.ones(int(known.sum()), dtype=np.float32)
        shape = len(known), len(self.vocabulary)
        turn = sp.csr_array((ones, (np.flatnonzero(known), places[known])), shape)
        pairs = zip(others.columns, self.columns, strict=True)
        kernels = [safe_sparse_dot(theirs @ turn, own.T, dense_output=True) for theirs, own in pairs]
        kernels[1] += kernels[0]
        for kind, K in enumerate(kernels):
            K /= np.sqrt(others.sizes[:, kind], dtype=np.float32)[:, np.newaxis]
            K /= np.sqrt(self.sizes[:, kind], dtype=np.float32)
        return kernels

    def sketch(self, width: int) -> FloatArray:
        """Return vectors whose products count the keys that all sets share, on average.

        Each key adds a random sign to a random column.
        """
        columns, signs = random_signs(mix(self.vocabulary ^ SKETCH_SEED), width)
        entries = signs.astype(np.float32), (np.arange(len(columns)), columns)
        random = sp.csr_array(entries, (len(columns), width))
        rows: Any = sum(safe_sparse_dot(own, random, dense_output=True) for own in self.columns)
        return np.asarray(rows / np.sqrt(self.sizes[:, 1:].sum(axis=1))[:, np.newaxis], dtype=np.float32)


class WLLabels(BaseEstimator):  # type: ignore[misc]
    """WL labels of the nodes of each graph: exactly as sets, or as vectors by random projection (a sketch).

    Coarse labels of two depths start from the column with most categories, such as the symbols of atoms. Fine
    labels of small depth start from all columns that may be categories: other ones, and those of few
    different whole numbers, such as charges. If both would start from the same columns, there are coarse
    labels only. If there are no categories, they start from degrees.

    Parameters
    ----------
    n_components : int, default=512
        Length of the vectors.
    """

    def __init__(self, n_components: int = 512) -> None:
        self.n_components = n_components

    def fit(self, X: GraphBatch, y: Any = None) -> Self:  # noqa: ARG002
        """Learn which columns the labels start from."""
        self.fine_, self.coarse_ = label_columns(X)
        return self

    def transform(self, X: GraphBatch) -> FloatArray:
        """Return vectors whose products estimate the shares of labels in common."""
        return self.sets(X).sketch(checked(self.n_components, "n_components", Int(1)))

    def sets(self, X: GraphBatch) -> LabelSets:
        """Return the labels of each graph as sets."""
        everyone, one = np.arange(len(X)), np.zeros(len(X), np.uint64)
        nodes = _owners(X)[0]
        # every set has this key, so that graphs without nodes are like each other and have a size
        parts = [(everyone, one, 0)]
        for depth, labels in enumerate(wl_labels(X, max(COARSE_DEPTHS), *self.coarse_)):
            parts.append((nodes, label_pairs(X, labels, depth)[0], int(depth > COARSE_DEPTHS[0])))
        n_kinds = 2 if self.fine_ == self.coarse_ else 3
        if n_kinds == 3:
            parts.append((everyone, one + np.uint64(1), 2))
            for depth, labels in enumerate(wl_labels(X, FINE_DEPTH, *self.fine_)):
                parts.append((nodes, label_pairs(X, labels, depth + 1000)[0], 2))
        owner, keys, levels = zip(*parts, strict=True)
        level = np.repeat(levels, [len(part) for part in keys])
        return LabelSets(np.concatenate(owner), np.concatenate(keys), level, len(X), n_kinds)


def wl_labels(batch: GraphBatch, depth: int, node: LabelColumns, edge: LabelColumns) -> list[Keys]:
    """Return the labels of all nodes at depths 0 .. `depth`. Without node columns they start from degrees."""
    nodes = node.hashes(batch.node_attr, batch.node_codes)
    edges = edge.hashes(batch.edge_attr, batch.edge_codes)
    if node.is_empty:
        nodes = mix(np.bincount(arcs(batch)[0], minlength=len(nodes)).astype(np.uint64))
    return refined_labels(batch, depth, nodes, edges)


class LabelColumns(NamedTuple):
    """Columns that labels start from: numbers, of these those of 0 and 1 only, and categories."""

    numbers: tuple[int, ...]
    indicators: tuple[int, ...]
    codes: tuple[int, ...]

    @classmethod
    def of(cls, values: FloatArray, codes: Codes) -> LabelColumns:
        """Return all columns that may be categories."""
        numbers, indicators = (
            tuple(np.flatnonzero(mask).tolist())
            for mask in (category_columns(values), indicator_columns(values))
        )
        return cls(numbers, indicators, tuple(range(codes.values.shape[1])))

    def coarse(self, codes: Codes) -> LabelColumns:
        """Return the column of most categories alone, or else those that hold 0 and 1, as one-hot ones do."""
        if self.codes:
            most = max(self.codes, key=lambda column: len(np.unique(codes.values[:, column])))
            return LabelColumns((), (), (most,)) if self.numbers or len(self.codes) > 1 else self
        return LabelColumns(self.indicators, self.indicators, ()) if self.indicators else self

    @property
    def is_empty(self) -> bool:
        """Whether there are no columns."""
        return not (self.numbers or self.codes)

    def hashes(self, values: FloatArray, codes: Codes) -> Keys:
        """Return one hash per node or edge."""
        chosen = Codes(codes.values[:, list(self.codes)], codes.keys)
        return hashed_rows(values[:, list(self.numbers)], chosen)


def label_columns(batch: GraphBatch) -> tuple[list[LabelColumns], list[LabelColumns]]:
    """Return the columns that fine and coarse labels of nodes and edges start from."""
    sides = ((batch.node_attr, batch.node_codes), (batch.edge_attr, batch.edge_codes))
    fine = [LabelColumns.of(values, codes) for values, codes in sides]
    return fine, [columns.coarse(codes) for columns, (_, codes) in zip(fine, sides, strict=True)]


def label_pairs(batch: GraphBatch, labels: Keys, salt: int) -> tuple[Keys, Keys]:
    """Return the pairs (label, t), t = 1 .. count, of each graph, as keys (one per node), and t."""
    keys = mix(labels + np.uint64(salt))
    times = _occurrences(batch.node_ptr, keys)
    return mix(keys ^ mix(times)), times


@compiled
def _occurrences(ptr: IntArray, keys: Keys) -> Keys:
    """Sort the keys of each graph in place, and number those that are equal from 1."""
    times = np.ones(len(keys), np.uint64)
    for graph in range(len(ptr) - 1):
        own = keys[ptr[graph] : ptr[graph + 1]]
        own.sort()
        for i in range(1, len(own)):
            if own[i] == own[i - 1]:
                times[ptr[graph] + i] = times[ptr[graph] + i - 1] + np.uint64(1)
    return times


def random_signs(random: Keys, width: int) -> tuple[IntArray, IntArray]:
    """Return a random column and a random sign, 1 or -1, from random numbers."""
    columns = ((random >> np.uint64(1)) % np.uint64(width)).astype(np.int64)
    return columns, np.where(random & np.uint64(1), 1, -1)


def _owners(batch: GraphBatch) -> tuple[IntArray, IntArray]:
    """Return the graph of each node and of each edge."""
    n = np.arange(len(batch))
    return np.repeat(n, batch.sizes), np.repeat(n, np.diff(batch.edge_ptr))


def _key_columns(codes: Codes) -> list[Keys]:
    keys = np.append(codes.keys, np.uint64(0))
    return [keys[places] for places in codes.values.T]


def _frequent_kinds(codes: Codes, owner: IntArray) -> list[Keys]:
    """Return for each column the categories that most graphs have, ascending."""
    frequent, n_graphs = [], int(owner.max(initial=-1)) + 1
    for keys in _key_columns(codes):
        kinds, place = np.unique(keys, return_inverse=True)
        pairs = np.unique(place.ravel() * n_graphs + owner)
        graphs = np.bincount(pairs // max(n_graphs, 1), minlength=len(kinds))
        frequent.append(np.sort(kinds[np.argsort(-graphs, kind="stable")[:MOST_KINDS]]))
    return frequent


def _kind_histograms(codes: Codes, kinds: list[Keys], owner: IntArray, n_graphs: int) -> list[FloatArray]:
    """Return for each column how often each graph has each of some categories."""
    parts = []
    for keys, known in zip(_key_columns(codes), kinds, strict=True):
        places, is_known = _places(known, keys)
        parts.append(_histogram(places[is_known], owner[is_known], n_graphs, len(known)))
    return parts


def _histogram(places: IntArray, owner: IntArray, n_graphs: int, width: int) -> FloatArray:
    counts = np.bincount(owner * width + places, minlength=n_graphs * width)
    return counts.reshape(n_graphs, width).astype(np.float64)


def _places(known: Keys, keys: Keys) -> tuple[IntArray, npt.NDArray[np.bool_]]:
    """Return the positions of keys among ascending known ones, and which are known."""
    places = np.searchsorted(known, keys)
    is_known = places < len(known)
    is_known[is_known] = known[places[is_known]] == keys[is_known]
    return places, is_known
