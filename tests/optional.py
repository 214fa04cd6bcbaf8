"""Optional dependencies of tests, and graphs as objects of these libraries."""

import warnings

import numpy as np
import pytest


def require(name):
    """Import an optional dependency without its warnings, or skip the test or file if it is not installed."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return pytest.importorskip(name)


def require_format(name):
    """Skip the test if files of this format or suffix need a library that is not installed."""
    libraries = {
        "parquet": "pyarrow",
        "graphml": "networkx",
        "gml": "networkx",
        "gexf": "networkx",
        "json": "ijson",
        "cyjs": "ijson",
    }
    for part in name.split("."):
        if part in libraries:
            require(libraries[part])


def to_networkx(graph, names=None):
    """A `Graph` as a networkx multigraph, with the attributes "x" of nodes and "edge_attr" of edges."""
    nx = require("networkx")
    names = list(range(graph.n_nodes)) if names is None else names
    again = nx.MultiDiGraph() if graph.directed else nx.MultiGraph()
    for node in range(graph.n_nodes):
        again.add_node(names[node], **({} if graph.node_attr is None else {"x": graph.node_attr[node]}))
    for index, (i, j) in enumerate(graph.edges):
        row = {} if graph.edge_attr is None else {"edge_attr": graph.edge_attr[index]}
        again.add_edge(names[i], names[j], **row)
    return again


def arcs_of(graph):
    """(edge_index, edge_attr) as PyTorch Geometric has them: undirected edges in both directions."""
    edges, attr = graph.edges, graph.edge_attr
    if not graph.directed:
        back = edges[:, 0] != edges[:, 1]
        edges = np.concatenate([edges, edges[back][:, ::-1]])
        attr = None if attr is None else np.concatenate([attr, attr[back]])
    return edges.T, attr


def to_pyg(graph):
    """A `Graph` as PyTorch Geometric data."""
    require("torch_geometric.data")
    return graph.to_pyg()


def to_igraph(graph):
    """A `Graph` as an igraph graph."""
    again = require("igraph").Graph(graph.n_nodes, graph.edges.tolist(), directed=graph.directed)
    if graph.node_attr is not None:
        again.vs["x"] = graph.node_attr.tolist()
    if graph.edge_attr is not None:
        again.es["edge_attr"] = graph.edge_attr.tolist()
    return again


def to_rustworkx(graph):
    """A `Graph` as a rustworkx graph whose payloads are dictionaries."""
    rustworkx = require("rustworkx")
    again = rustworkx.PyDiGraph() if graph.directed else rustworkx.PyGraph()
    nodes = [None] * graph.n_nodes if graph.node_attr is None else [{"x": row} for row in graph.node_attr]
    edges = [None] * graph.n_edges if graph.edge_attr is None else [{"edge_attr": e} for e in graph.edge_attr]
    again.add_nodes_from(nodes)
    again.add_edges_from([(int(i), int(j), row) for (i, j), row in zip(graph.edges, edges, strict=True)])
    return again


def to_tables(graph, frame):
    """A `Graph` as (edges, nodes) tables, made by the dataframe class `frame`."""
    edges = {
        "graph_id": [0] * graph.n_edges,
        "source": [f"node {i}" for i in graph.edges[:, 0]],
        "target": [f"node {i}" for i in graph.edges[:, 1]],
    }
    nodes = {"graph_id": [0] * graph.n_nodes, "node": [f"node {i}" for i in range(graph.n_nodes)]}
    if graph.node_attr is not None:
        nodes["x"] = graph.node_attr.tolist()
    if graph.edge_attr is not None:
        edges["edge_attr"] = graph.edge_attr.tolist()
    return frame(edges), frame(nodes)
