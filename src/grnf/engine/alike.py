"""How many nodes of a graph are different: a count in numpy, for estimates; loops find their own classes."""

from __future__ import annotations

import math

import numpy as np

from grnf.graphs import Codes, GraphBatch
from grnf.typing import FloatArray, IntArray

__all__ = ["count_classes"]


def count_classes(batch: GraphBatch, *, twins: bool) -> FloatArray:
    """Count in each graph the nodes that have different statistics, or the nodes that are no twins.

    By one number for each node, made of all that must be equal: rounding aside, others are equal by chance.

    Examples
    --------
    >>> from grnf.graphs import Graph
    >>> square, path = Graph(4, [(0, 1), (1, 2), (2, 3), (3, 0)]), Graph(3, [(0, 1), (1, 2)])
    >>> batch = GraphBatch.from_graphs([square, path])
    >>> count_classes(batch, twins=False), count_classes(batch, twins=True)
    (array([1., 2.]), array([2., 2.]))
    """
    owner = np.repeat(np.arange(len(batch)), batch.sizes)
    of_edge = np.repeat(np.arange(len(batch)), np.diff(batch.edge_ptr))
    i, j = (batch.edges + batch.node_ptr[of_edge, np.newaxis]).T
    back = np.where(batch.directed[of_edge], math.sqrt(3), 1.0)  # what an arc counts at its end
    value = 1 + batch.edge_attr @ np.sqrt(2.0 + np.arange(batch.edge_width)) + _of_codes(batch.edge_codes)

    def of_neighbours(x: FloatArray) -> FloatArray:
        found = np.bincount(i, value * x[j], len(owner)) + np.bincount(j, back * value * x[i], len(owner))
        return np.asarray(found)

    key = batch.node_attr @ np.cbrt(2.0 + np.arange(batch.node_width)) + _of_codes(batch.node_codes)
    key += math.pi * of_neighbours(np.ones(len(owner))) + np.bincount(i[i == j], value[i == j], len(owner))
    if not twins:
        return _n_different(owner, key, len(batch))
    names = _names(len(owner))
    key += of_neighbours(names)
    # twins that are not joined have equal neighbours; twins that are, once each is among its own
    apart, joined = _n_different(owner, key, len(batch)), _n_different(owner, key + names, len(batch))
    return np.asarray(apart + joined - batch.sizes)


def _names(count: int) -> FloatArray:
    """Return so many numbers that differ, and whose sums do."""
    return np.asarray(np.modf(np.sin(1.0 + np.arange(count)) * 1e4)[0])


def _of_codes(codes: Codes) -> FloatArray:
    """Return a number for the categories of each item."""
    return np.append(_names(len(codes.keys)), 0.0)[codes.values].sum(axis=1)  # type: ignore[no-any-return]


def _n_different(owner: IntArray, key: FloatArray, count: int) -> FloatArray:
    """Return for each owner how many of its keys differ."""
    key = np.round(key / max(float(np.abs(key).max(initial=0.0)), 1e-300), 11)
    order = np.lexsort((key, owner))
    first = np.ones(len(key), dtype=np.bool_)
    first[1:] = (np.diff(owner[order]) != 0) | (np.diff(key[order]) != 0)
    return np.bincount(owner[order][first], minlength=count).astype(float)
