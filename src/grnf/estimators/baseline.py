"""What can be said of a graph without its structure: how many nodes and edges, and of what kinds."""

from __future__ import annotations

import numpy as np

from grnf.estimators.histograms import counted_kinds, frequent_kinds
from grnf.graphs import GraphBatch
from grnf.typing import FloatArray

__all__ = ["structure_free"]


def structure_free(batch: GraphBatch) -> FloatArray:
    """Return one row per graph: means and sums of its node attributes, and its numbers of nodes and edges.

    Of a column of categories, those that most graphs have are counted, 256 at most. Sums and numbers are on a
    scale of logarithms. A model that does not beat these numbers has learnt nothing from who is connected to
    whom.

    Examples
    --------
    >>> from grnf import Graph
    >>> structure_free(GraphBatch.from_graphs([Graph(2, [(0, 1)], [[1.0], [0.0]])])).round(2)
    array([[0.5 , 0.69, 1.1 , 0.69]])
    """
    n, sizes = len(batch), batch.sizes
    owner = np.repeat(np.arange(n), sizes)
    totals = [np.bincount(owner, column, n)[:, np.newaxis] for column in batch.node_attr.T]
    kinds = frequent_kinds(batch.node_codes, owner)
    sums = np.hstack([np.empty((n, 0)), *totals, *counted_kinds(batch.node_codes, kinds, owner, n)])
    means = sums / np.maximum(sizes, 1)[:, np.newaxis]
    logarithms = np.sign(sums) * np.log1p(np.abs(sums))
    return np.hstack([means, logarithms, np.log1p(np.column_stack([sizes, np.diff(batch.edge_ptr)]))])
