"""A_g: the graph as a tensor. `Graph` is one graph, `GraphBatch` a ragged collection of them."""

from grnf.graphs.batch import ChannelKeys, Codes, GraphBatch, check_graphs, edge_channels
from grnf.graphs.channels import ADJACENCY, category_key, number_keys
from grnf.graphs.graph import Graph, null_graph

__all__ = [
    "ADJACENCY",
    "ChannelKeys",
    "Codes",
    "Graph",
    "GraphBatch",
    "category_key",
    "check_graphs",
    "edge_channels",
    "null_graph",
    "number_keys",
]
