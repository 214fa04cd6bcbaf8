"""How much of a graph is different: counts in numpy, for estimates; loops find their own classes."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from grnf.graphs import Codes, GraphBatch
from grnf.typing import FloatArray, IntArray

__all__ = ["Alike", "count_alike"]


class Alike(NamedTuple):
    """How many different things each graph has.

    Parameters
    ----------
    classes : array, shape (n_graphs,)
        Nodes that have different statistics.
    twins : array
        Nodes that cannot be swapped with an earlier one.
    pairs : array
        Edges whose ends have different statistics or whose values differ, both ways round.
    """

    classes: FloatArray
    twins: FloatArray
    pairs: FloatArray


def count_alike(batch: GraphBatch) -> Alike:
    """Count in each graph what is different.

    By one number for each node, made of all that must be equal: rounding aside, others are equal by chance.

    Examples
    --------
    >>> from grnf.graphs import Graph
    >>> square, path = Graph(4, [(0, 1), (1, 2), (2, 3), (3, 0)]), Graph(3, [(0, 1), (1, 2)])
    >>> alike = count_alike(GraphBatch.from_graphs([square, path]))
    >>> alike.classes, alike.twins, alike.pairs
    (array([1., 2.]), array([2., 2.]), array([1., 2.]))
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
    classes = _n_different(owner, key, len(batch))
    there, again = (
        value + math.e * key[i] + math.sqrt(5) * key[j],
        value + math.e * key[j] + math.sqrt(5) * key[i],
    )
    apart = i != j
    pairs = np.concatenate([there[apart], (back * again)[apart]])
    pairs_of = np.tile(of_edge[apart], 2)
    names = _names(len(owner))
    key = key + of_neighbours(names)
    # twins that are not joined have equal neighbours; twins that are, once each is among its own
    loose, joined = _n_different(owner, key, len(batch)), _n_different(owner, key + names, len(batch))
    twins = np.asarray(loose + joined - batch.sizes)
    return Alike(classes, twins, _n_different(pairs_of, pairs, len(batch)))


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
