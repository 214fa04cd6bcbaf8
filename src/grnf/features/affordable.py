"""Which orders can be afforded: a law of full support has orders without end, and each costs more."""

from __future__ import annotations

from itertools import pairwise

import numpy as np

from grnf.engine.costs import SAMPLED_GRAPHS, estimated_seconds
from grnf.features.embedding import FeatureMap
from grnf.graphs import GraphBatch

__all__ = ["affordable_orders"]


def affordable_orders(features: FeatureMap, batch: GraphBatch, seconds: float) -> list[int] | None:
    """Return the orders 1 .. k that the features of a graph may have if they are to take so many seconds.

    By the estimate for one thread, on the mean over the graphs of the batch; the lowest order is always kept.
    None if all orders that are drawn can be afforded.

    Examples
    --------
    >>> from grnf.graphs import Graph
    >>> from grnf.law import ParameterLaw, ShiftedPoisson
    >>> law = ParameterLaw(ShiftedPoisson(0.5))
    >>> batch = GraphBatch.from_graphs([Graph(30, [(i, i // 2) for i in range(30)], np.arange(30.0))])
    >>> features = FeatureMap(law, law, 512, seed=0)
    >>> affordable_orders(features, batch, 0.001), affordable_orders(features, batch, 3600)
    ([1, 2], None)
    """
    drawn = np.unique(features.hidden_orders()).tolist()
    for last, more in pairwise(drawn):
        kept = [k for k in range(1, more + 1) if features.proposal.orders.probability(k) > 0]
        orders = features.proposal.restricted_to(kept).orders_of(features.n_hidden, seed=features.seed)
        linear, width = features.engine.linear, features.proposal.hidden_channels
        cost = estimated_seconds(batch, orders, width, linear, SAMPLED_GRAPHS)
        if cost > seconds * max(len(batch), 1):
            return [k for k in kept if k <= last]
    return None
