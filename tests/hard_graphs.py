"""Graphs that look alike everywhere: strongly regular ones, unions of cycles, circulants, and their kin."""

import numpy as np
from hypothesis import strategies as st

from grnf import Graph
from optional import require

nx = require("networkx")


def as_graph(graph):
    """A networkx graph with nodes of any name."""
    plain = nx.convert_node_labels_to_integers(graph)
    edges = np.array(list(plain.edges), dtype=np.int64).reshape(-1, 2)
    return Graph(len(plain), edges, directed=plain.is_directed())


def rook():
    return as_graph(nx.line_graph(nx.complete_bipartite_graph(4, 4)))


def shrikhande():
    steps = [(0, 1), (1, 0), (1, 1)]
    cells = [(i, j) for i in range(4) for j in range(4)]
    return as_graph(nx.Graph([(c, ((c[0] + a) % 4, (c[1] + b) % 4)) for c in cells for a, b in steps]))


def _union(graphs):
    return as_graph(nx.disjoint_union_all([_plain(graph) for graph in graphs]))


def _plain(graph):
    made = nx.DiGraph() if graph.directed else nx.Graph()
    made.add_nodes_from(range(graph.n_nodes))
    made.add_edges_from(graph.edges.tolist())
    return made


def _circulant(n, steps):
    return as_graph(nx.DiGraph([(i, (i + s) % n) for i in range(n) for s in steps]))


@st.composite
def hard_graphs(draw):
    """One of them, at times with attributes of few values."""
    kind = draw(st.sampled_from(["union", "regular", "circulant", "strong"]))
    if kind == "union":
        graph = _union(
            [as_graph(nx.cycle_graph(n)) for n in draw(st.lists(st.integers(3, 6), max_size=4))]
            or [Graph(1, [])]
        )
    elif kind == "regular":
        graph = as_graph(
            nx.random_regular_graph(draw(st.sampled_from([2, 3, 4])), 10, draw(st.integers(0, 30)))
        )
    elif kind == "circulant":
        n = draw(st.integers(5, 11))
        graph = _circulant(n, draw(st.sets(st.integers(1, n - 1), min_size=1, max_size=3)))
    else:
        graph = _union(draw(st.lists(st.sampled_from([rook(), shrikhande()]), min_size=1, max_size=2)))
    generator = np.random.default_rng(draw(st.integers(0, 100)))
    node_attr, edge_attr = None, None
    if draw(st.integers(0, 3)) == 0:
        node_attr = generator.integers(0, 2, (graph.n_nodes, 1))
    if draw(st.integers(0, 3)) == 0:
        edge_attr = generator.integers(0, 2, (graph.n_edges, 1))
    return Graph(graph.n_nodes, graph.edges, node_attr, edge_attr, graph.directed)
