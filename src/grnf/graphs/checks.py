"""What may be passed where graphs are wanted."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from grnf.errors import GraphError
from grnf.graphs.batch import GraphBatch
from grnf.graphs.graph import Graph

__all__ = ["check_graphs"]


def check_graphs(
    X: Any, *, node_width: int | None = None, edge_width: int | None = None, caller: str = "X"
) -> GraphBatch:
    """Return a collection of graphs as one `GraphBatch`, or say which graph is wrong and why.

    Parameters
    ----------
    X : GraphBatch or iterable of Graph
        The graphs, at least one.
    node_width, edge_width : int, optional
        The widths of the attributes that every graph must have. By default those of the first graph
        that has nodes (edges).
    caller : str
        Name of the argument, for messages.

    Examples
    --------
    >>> check_graphs([Graph(2, [(0, 1)]), Graph(0, [])])
    GraphBatch(2 graphs, 2 nodes, 1 edges, node_width=0, edge_width=0)
    """
    if isinstance(X, GraphBatch):
        graphs: list[Graph] | GraphBatch = X
    elif isinstance(X, Graph):
        raise GraphError(f"{caller} must be a collection of graphs; got one Graph: pass [graph]")
    elif isinstance(X, (str, bytes, dict)) or not isinstance(X, Iterable):
        raise GraphError(f"{caller} must be a list of grnf.Graph; got {type(X).__name__}")
    else:
        graphs = list(X)
        for index, graph in enumerate(graphs):
            if not isinstance(graph, Graph):
                raise GraphError(
                    f"must be a grnf.Graph, got {type(graph).__name__}", index=index, where=caller
                )
    if len(graphs) == 0:
        raise GraphError(f"{caller} is empty: it must contain at least one graph")
    if isinstance(graphs, GraphBatch):
        graphs.require_widths(node_width, edge_width, caller)
        return graphs
    return GraphBatch.from_graphs(graphs, node_width=node_width, edge_width=edge_width, caller=caller)
