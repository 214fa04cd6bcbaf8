"""networkx graphs: any hashable ids, directed or not, with repeated edges and self-loops."""

from __future__ import annotations

from typing import Any

import numpy as np

from grnf.io.columns import columns_of_rows
from grnf.io.raw import RawGraph

__all__ = ["raw_from_networkx"]


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
