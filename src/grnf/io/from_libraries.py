"""Graphs of networkx, igraph and rustworkx, read through their methods: no library is imported."""

from __future__ import annotations

from typing import Any

import numpy as np

from grnf.io.columns import as_column, column_of_payloads, columns_of_rows
from grnf.io.raw import RawGraph

__all__ = ["raw_from_igraph", "raw_from_networkx", "raw_from_rustworkx"]

IGRAPH_IDS = ("name", "_nx_name")
"""Vertex attributes that igraph itself uses as names of the vertices."""
RUSTWORKX_ID = "__networkx_node__"
"""Where rustworkx keeps the id of a node that comes from networkx."""


def raw_from_networkx(graph: Any) -> RawGraph:
    """Convert a networkx Graph, DiGraph, MultiGraph or MultiDiGraph.

    Every attribute of nodes and of edges becomes a column; what only some of them have is missing for the
    others. Nodes are numbered in the order of ``graph.nodes``. A repeated edge is listed repeatedly.

    Examples
    --------
    >>> import networkx as nx
    >>> graph = nx.DiGraph()
    >>> graph.add_edge("b", "a", weight=2.0)
    >>> raw_from_networkx(graph)
    RawGraph(n_nodes=2, n_edges=1, node_columns=[], edge_columns=['weight'], directed)
    """
    number = {node: index for index, node in enumerate(graph.nodes)}
    edges, edge_rows = [], []
    for source, target, row in graph.edges(data=True):
        edges.append((number[source], number[target]))
        edge_rows.append(row)
    return RawGraph(
        n_nodes=len(number),
        edges=np.array(edges, dtype=np.int64).reshape(-1, 2),
        node_columns=columns_of_rows([row for _, row in graph.nodes(data=True)]),
        edge_columns=columns_of_rows(edge_rows),
        directed=bool(graph.is_directed()),
        graph_id=str(graph.name) or None,
        y=graph.graph.get("y"),
    )


def raw_from_igraph(graph: Any) -> RawGraph:
    """Convert an igraph Graph. The vertex attribute "name" is the id of a vertex, hence not a column."""
    return RawGraph(
        n_nodes=graph.vcount(),
        edges=np.array(graph.get_edgelist(), dtype=np.int64).reshape(-1, 2),
        node_columns={
            name: as_column(graph.vs[name]) for name in graph.vs.attributes() if name not in IGRAPH_IDS
        },
        edge_columns={name: as_column(graph.es[name]) for name in graph.es.attributes()},
        directed=graph.is_directed(),
    )


def raw_from_rustworkx(graph: Any) -> RawGraph:
    """Convert a rustworkx PyGraph or PyDiGraph.

    Payloads that are dictionaries give named columns. A payload that is a single number is the weight of an
    edge; other payloads are the columns "x" of nodes and "edge_attr" of edges. None is no payload, nor is the
    index of the node itself, which rustworkx puts there when it reads an adjacency matrix.
    """
    number = {index: position for position, index in enumerate(graph.node_indices())}
    payloads = graph.nodes()
    node_columns = {} if payloads == list(number) else column_of_payloads(payloads, number="x", other="x")
    node_columns.pop(RUSTWORKX_ID, None)
    edges = [(number[source], number[target]) for source, target in graph.edge_list()]
    return RawGraph(
        n_nodes=len(number),
        edges=np.array(edges, dtype=np.int64).reshape(-1, 2),
        node_columns=node_columns,
        edge_columns=column_of_payloads(graph.edges(), number="weight", other="edge_attr"),
        directed=hasattr(graph, "successors"),
    )
