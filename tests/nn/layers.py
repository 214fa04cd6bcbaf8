"""Graphs as the layer takes them, shared by its tests."""

import numpy as np

from grnf.activations import ACTIVATIONS
from optional import require, to_pyg
from random_graphs import random_graph

torch = require("torch")
data = require("torch_geometric.data")

COMPILED = [(k, name) for k in (1, 2, 3, 4) for name in ("relu", "tanh")]
"""Order and hidden activation of tests that compile kernels: relu has its own code, others share theirs."""

SIZES = (3, 0, 1, 2, 7, 5, 0)  # the last graph is empty


def covering_design(orders):
    """(k, heads, basis, hidden activation): each order with each activation, basis and number of heads."""
    return [
        (k, (1, 3)[(place // 2 + k) % 2], ("indicator", "overlapping")[place % 2], name)
        for k in orders
        for place, name in enumerate(ACTIVATIONS)
    ]


def some_graphs(node_width, edge_width, sizes=SIZES, seed=0):
    """Graphs of each size, undirected and directed, with self-loops and repeated edges."""
    generator = np.random.default_rng(seed)
    return [
        random_graph(generator, n, node_width, edge_width, directed)
        for n in sizes
        for directed in (False, True)
    ]


def batch_of(graphs):
    """A PyTorch Geometric batch, in double precision."""
    return data.Batch.from_data_list([to_pyg(graph) for graph in graphs])
