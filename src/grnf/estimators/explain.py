"""What each node and edge adds to a prediction: Shapley values of a game in which they join one by one."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from grnf._utils.random import page_generator
from grnf.errors import GraphError
from grnf.io.raw import RawGraph
from grnf.typing import BoolArray, FloatArray, IntArray

LARGEST = 2_000
"""Nodes and edges of a graph that can be explained."""
AT_ONCE = 2_000
"""Graphs that are predicted at a time."""


@dataclass(frozen=True, eq=False)
class Explanation:
    """Contributions of nodes and edges, which add up to `prediction` less `reference`.

    `prediction` is what is explained: the number, or the probability of the class `label`. `reference` is the
    same for the graph without nodes. `nodes` and `edges` are Shapley values, estimated from random orders,
    and `node_errors` and `edge_errors` their standard errors.
    """

    prediction: float
    reference: float
    label: Any
    nodes: FloatArray
    edges: FloatArray
    node_errors: FloatArray
    edge_errors: FloatArray

    def records(self) -> list[dict[str, Any]]:
        """Return a table: a row for each node and edge, with what it adds and the standard error."""
        parts = (("node", self.nodes, self.node_errors), ("edge", self.edges, self.edge_errors))
        return [
            {"item": item, "number": number, "adds": value, "standard_error": error}
            for item, values, errors in parts
            for number, (value, error) in enumerate(zip(values.tolist(), errors.tolist(), strict=True))
        ]


def explanation(
    predict: Callable[[list[RawGraph]], Any], graph: RawGraph, label: Any, n_orders: int, seed: int
) -> Explanation:
    """Estimate the Shapley values of nodes and edges from random orders, each with its reverse.

    An edge counts as there if it and both of its ends have joined.
    """
    edges = np.asarray(graph.edges, dtype=np.int64).reshape(-1, 2)
    n_items = graph.n_nodes + len(edges)
    if n_items > LARGEST:
        raise GraphError(f"a graph to explain must have at most {LARGEST:,} nodes and edges, got {n_items:,}")
    generator = page_generator(seed, 1, stream=9)
    orders = [generator.permutation(n_items) for _ in range(n_orders)]
    values: dict[bytes, float] = {}
    added = []
    for order in orders:
        pair = []
        for one in (order, order[::-1]):
            rank = np.empty(n_items, np.int64)
            rank[one] = np.arange(n_items)
            present = rank < np.arange(n_items + 1)[:, np.newaxis]
            steps = np.diff(_values(predict, graph, edges, present, values))
            pair.append(steps[rank])
        added.append(np.mean(pair, axis=0))
    means, errors = np.mean(added, axis=0), np.full(n_items, np.nan)
    if n_orders > 1:
        errors = np.std(added, axis=0, ddof=1) / np.sqrt(n_orders)
    everyone = np.array([np.zeros(n_items), np.ones(n_items)], dtype=bool)
    reference, prediction = _values(predict, graph, edges, everyone, values).tolist()
    n = graph.n_nodes
    return Explanation(prediction, reference, label, means[:n], means[n:], errors[:n], errors[n:])


def _values(
    predict: Callable[[list[RawGraph]], Any],
    graph: RawGraph,
    edges: IntArray,
    present: BoolArray,
    known: dict[bytes, float],
) -> FloatArray:
    """Return the predictions for parts of a graph. The same part is predicted once."""
    n = graph.n_nodes
    present = present.copy()
    present[:, n:] &= present[:, edges[:, 0]] & present[:, edges[:, 1]]
    keys = [row.tobytes() for row in present]
    new = {key: row for key, row in zip(keys, present, strict=True) if key not in known}
    names, rows = list(new), list(new.values())
    for start in range(0, len(rows), AT_ONCE):
        parts = [_part(graph, edges, row[:n], row[n:]) for row in rows[start : start + AT_ONCE]]
        known.update(zip(names[start : start + AT_ONCE], np.asarray(predict(parts)).tolist(), strict=True))
    return np.array([known[key] for key in keys])


def _part(graph: RawGraph, edges: IntArray, nodes: BoolArray, kept: BoolArray) -> RawGraph:
    place = np.cumsum(nodes) - 1
    return replace(
        graph,
        n_nodes=int(nodes.sum()),
        edges=place[edges[kept]],
        node_columns={name: np.asarray(values)[nodes] for name, values in graph.node_columns.items()},
        edge_columns={name: np.asarray(values)[kept] for name, values in graph.edge_columns.items()},
    )
