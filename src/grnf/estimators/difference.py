"""Where two graphs differ: how d_P^2 changes when a node or an edge is left out."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from grnf.io.raw import RawGraph
from grnf.metric import DistanceEstimate, distance
from grnf.typing import FloatArray

__all__ = ["Difference", "difference", "without_edge", "without_node"]

LARGEST = 2_000
"""Nodes and edges of both graphs up to which each is left out in turn."""


@dataclass(frozen=True, eq=False)
class Difference:
    """What nodes and edges add to the squared distance of two graphs g, h.

    Attributes
    ----------
    distance : DistanceEstimate
        d_P(g, h), with error bars.
    nodes : (array, array)
        For each node v of g, and of h: d_P^2 less that without v (and its edges). Positive if leaving it
        out brings the graphs together.
    edges : (array, array)
        The same for edges.
    node_errors, edge_errors : (array, array)
        Standard errors of these.
    """

    distance: DistanceEstimate
    nodes: tuple[FloatArray, FloatArray]
    edges: tuple[FloatArray, FloatArray]
    node_errors: tuple[FloatArray, FloatArray]
    edge_errors: tuple[FloatArray, FloatArray]

    def records(self) -> list[dict[str, Any]]:
        """Return a table: a row for each node and edge, with what it adds and the standard error."""
        parts = (("node", self.nodes, self.node_errors), ("edge", self.edges, self.edge_errors))
        return [
            {"graph": graph + 1, "item": item, "number": number, "adds": value, "standard_error": error}
            for graph in (0, 1)
            for item, values, errors in parts
            for number, (value, error) in enumerate(
                zip(values[graph].tolist(), errors[graph].tolist(), strict=True)
            )
        ]


def difference(
    embed: Callable[[list[RawGraph]], Any], g: RawGraph, h: RawGraph, precision: dict[str, Any]
) -> Difference:
    """Leave out each node and edge of both graphs in turn, and embed them all at once."""
    n_items = sum(graph.n_nodes + len(graph.edges) for graph in (g, h))
    if n_items > LARGEST:
        raise ValueError(f"the graphs must have at most {LARGEST:,} nodes and edges in all, got {n_items:,}")
    smaller = [
        [without_node(graph, node) for node in range(graph.n_nodes)]
        + [without_edge(graph, edge) for edge in range(len(graph.edges))]
        for graph in (g, h)
    ]
    Z = np.asarray(embed([g, h, *smaller[0], *smaller[1]]), dtype=np.float64)
    heads, M = precision.get("heads", 1), Z.shape[1]

    def terms(x: FloatArray, y: FloatArray) -> FloatArray:
        return np.asarray(M * np.square(x - y).reshape(*x.shape[:-1], M // heads, heads).mean(axis=-1))

    whole = terms(Z[0], Z[1])
    cut = 2 + len(smaller[0])
    parts = []
    for rows, other, n_nodes in ((Z[2:cut], Z[1], g.n_nodes), (Z[cut:], Z[0], h.n_nodes)):
        added = whole - terms(rows, other)
        means, errors = added.mean(axis=1), np.full(len(rows), np.inf)
        if len(whole) > 1:
            errors = added.std(axis=1, ddof=1) / np.sqrt(len(whole))
        parts.append((means[:n_nodes], means[n_nodes:], errors[:n_nodes], errors[n_nodes:]))
    nodes, edges, node_errors, edge_errors = zip(*parts, strict=True)
    return Difference(distance(Z[0], Z[1], **precision), nodes, edges, node_errors, edge_errors)


def without_node(graph: RawGraph, node: int) -> RawGraph:
    """Return a graph without a node and its edges."""
    edges = np.asarray(graph.edges).reshape(-1, 2)
    kept = np.flatnonzero((edges != node).all(axis=1))
    left = np.delete(np.arange(graph.n_nodes), node)
    return replace(
        graph,
        n_nodes=graph.n_nodes - 1,
        edges=edges[kept] - (edges[kept] > node),
        node_columns={name: np.asarray(values)[left] for name, values in graph.node_columns.items()},
        edge_columns={name: np.asarray(values)[kept] for name, values in graph.edge_columns.items()},
    )


def without_edge(graph: RawGraph, edge: int) -> RawGraph:
    """Return a graph without an edge, by its number."""
    kept = np.delete(np.arange(len(graph.edges)), edge)
    return replace(
        graph,
        edges=np.asarray(graph.edges).reshape(-1, 2)[kept],
        edge_columns={name: np.asarray(values)[kept] for name, values in graph.edge_columns.items()},
    )
