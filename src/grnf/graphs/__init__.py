"""A_g: the graph as a tensor. `Graph` is one graph, `GraphBatch` a ragged collection of them."""

from grnf.graphs.checks import check_graphs
from grnf.graphs.graph import Graph, GraphBatch, edge_channels, null_graph

__all__ = ["Graph", "GraphBatch", "check_graphs", "edge_channels", "null_graph"]
