"""What can be said of a graph without its structure: how many nodes and edges, and of what kinds."""

from __future__ import annotations

import numpy as np

from grnf.graphs import GraphBatch
from grnf.lifts import Pool, Size
from grnf.typing import FloatArray

__all__ = ["structure_free"]


def structure_free(batch: GraphBatch) -> FloatArray:
    """Return one row per graph: means and counts of its node attributes, and its numbers of nodes and edges.

    A model that does not beat these numbers has learnt nothing from who is connected to whom.

    Examples
    --------
    >>> from grnf import Graph
    >>> structure_free(GraphBatch.from_graphs([Graph(2, [(0, 1)], [[1.0], [0.0]])])).round(2)
    array([[0.5 , 0.69, 1.1 , 0.69]])
    """
    columns = [
        lift.fit_transform(batch).node_attr[:, batch.node_width :] for lift in (Pool(), Pool("count"), Size())
    ]
    rows = np.zeros((len(batch), sum(part.shape[1] for part in columns)))
    filled = batch.sizes > 0  # the statistics stand at each node; a graph without nodes has zeros
    rows[filled] = np.hstack(columns)[batch.node_ptr[:-1][filled]]
    return rows
