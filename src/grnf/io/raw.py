"""A graph as it comes through a door: named columns of any type, before they become numbers.

Every converter and reader makes a `RawGraph`; the encoder (fitted on the graphs of `fit`) turns it into a
`Graph`. So categories, missing values and columns that are not used are treated in one place for all formats.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from grnf.errors import GraphError
from grnf.graphs import Graph
from grnf.typing import IntArray

__all__ = ["BadGraph", "Columns", "RawGraph", "checked_raw", "columns_of_graphs", "raw_from_graph"]

Columns = Mapping[str, Any]

LARGEST_GRAPH = 10**8
"""Nodes of one graph in a file. A header that says 10^12 costs nothing to write; arrays have this length."""


@dataclass(frozen=True, eq=False)
class RawGraph:
    """One graph with named columns of attributes.

    Parameters
    ----------
    n_nodes : int
    edges : array of int, shape (n_edges, 2)
        In numbers 0 .. n_nodes - 1. Undirected graphs list each edge once.
    node_columns, edge_columns : mapping from name to array
        One entry per node (edge) each: an array of numbers, shape (n,) or (n, width), or an object array of
        categories (strings, or anything hashable), where None marks a missing value; NaN marks a missing
        number. The weight of an edge is the edge column "weight" where the source calls it so.
    directed : bool
    graph_id : str, optional
        What the source calls this graph.
    y : optional
        Label or target of the graph.
    graph_columns : mapping from name to value
        What else its row of a table says; it goes with the graph, and into no vector.
    """

    n_nodes: int
    edges: IntArray
    node_columns: Columns = field(default_factory=dict)
    edge_columns: Columns = field(default_factory=dict)
    directed: bool = False
    graph_id: str | None = None
    y: Any = None
    graph_columns: Columns = field(default_factory=dict)

    def __repr__(self) -> str:
        return (
            f"RawGraph(n_nodes={self.n_nodes}, n_edges={len(np.asarray(self.edges))}, "
            f"node_columns={list(self.node_columns)}, edge_columns={list(self.edge_columns)}, "
            f"{'directed' if self.directed else 'undirected'})"
        )


@dataclass(frozen=True)
class BadGraph:
    """The place of a graph that could not be read, so that rows out stay aligned with graphs in.

    Parameters
    ----------
    graph_id : str or None
        What the source calls this graph, where that much could be read.
    index : int
        Its number in the source, from 0.
    reason : str
        Where it stands, what is wrong, and what to do.
    graph_columns : mapping from name to value
        As in `RawGraph`, where that much could be read.
    """

    graph_id: str | None
    index: int
    reason: str
    graph_columns: Columns = field(default_factory=dict, repr=False, compare=False)


def checked_raw(
    n_nodes: int,
    edges: Any,
    node_columns: Columns | None = None,
    edge_columns: Columns | None = None,
    directed: bool = False,
    graph_id: str | None = None,
    y: Any = None,
) -> RawGraph:
    """Return a `RawGraph` whose sizes, edges and columns fit together, or say what does not.

    Examples
    --------
    >>> checked_raw(2, [(0, 1)], {"charge": np.array([0, 1])})
    RawGraph(n_nodes=2, n_edges=1, node_columns=['charge'], edge_columns=[], undirected)
    """
    structure = Graph(n_nodes, edges)
    if structure.n_nodes > LARGEST_GRAPH:
        raise GraphError(f"{structure.n_nodes} nodes in one graph; files may have up to {LARGEST_GRAPH}")
    for item, count, columns in (
        ("node", structure.n_nodes, node_columns),
        ("edge", structure.n_edges, edge_columns),
    ):
        for name, values in (columns or {}).items():
            _check_column(f"{item} column {name!r}", values, count, item)
    return RawGraph(
        structure.n_nodes,
        structure.edges,
        dict(node_columns or {}),
        dict(edge_columns or {}),
        directed,
        graph_id,
        y,
    )


def _check_column(title: str, values: Any, count: int, item: str) -> None:
    if len(values) != count:
        raise GraphError(f"{title} has {len(values)} entries for {count} {item}s")
    if values.dtype.kind == "f" and np.isinf(values).any():
        row = int(np.flatnonzero(np.isinf(values).reshape(count, -1).any(axis=1))[0])
        raise GraphError(f"{title} is infinite at {item} {row}; leave the value out where it is not known")


def raw_from_graph(graph: Graph | RawGraph) -> RawGraph:
    """Return a `Graph` with its unnamed attributes as columns "x" and "edge_attr"; a `RawGraph` as it is."""
    if isinstance(graph, RawGraph):
        return graph
    if not isinstance(graph, Graph):
        raise GraphError(f"a grnf.Graph or grnf.io.RawGraph is wanted; got {type(graph).__name__}")
    node_columns = {} if graph.node_attr is None else {"x": graph.node_attr}
    edge_columns = {} if graph.edge_attr is None else {"edge_attr": graph.edge_attr}
    return RawGraph(graph.n_nodes, graph.edges, node_columns, edge_columns, graph.directed)


def columns_of_graphs(graphs: Iterable[Any]) -> dict[str, list[Any]]:
    """Put what the graphs' own columns say one below the other; None where one does not have a column.

    Examples
    --------
    >>> columns_of_graphs([RawGraph(1, [], graph_columns={"smiles": "C"}), BadGraph(None, 1, "cut off")])
    {'smiles': ['C', None]}
    """
    rows = [graph.graph_columns if isinstance(graph, (RawGraph, BadGraph)) else {} for graph in graphs]
    names = dict.fromkeys(name for row in rows for name in row)
    return {name: [row.get(name) for row in rows] for name in names}
