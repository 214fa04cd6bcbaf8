import networkx as nx
import numpy as np
from hypothesis import given

from grnf.io import AttributeEncoder, to_raw
from guests import guest, to_igraph, to_rustworkx
from random_graphs import graphs


def encoded(graph, like):
    return AttributeEncoder.of_widths(like.node_width, like.edge_width).encode(to_raw(graph))


@given(graphs())
def test_igraph_round_trip(graph):
    again = encoded(to_igraph(graph), graph)
    assert again.directed == graph.directed
    np.testing.assert_allclose(again.tensor(), graph.tensor(), rtol=1e-12, atol=1e-12)


@given(graphs())
def test_rustworkx_round_trip(graph):
    again = encoded(to_rustworkx(graph), graph)
    assert again.directed == graph.directed
    np.testing.assert_allclose(again.tensor(), graph.tensor(), rtol=1e-12, atol=1e-12)


def test_igraph_names_are_ids_not_attributes():
    graph = guest("igraph").Graph.TupleList([("ann", "bob", 2.0)], weights=True)
    raw = to_raw(graph)
    assert list(raw.node_columns) == []
    assert raw.edge_columns["weight"].tolist() == [2.0]


def test_igraph_missing_values():
    graph = guest("igraph").Graph(2, [(0, 1)], vertex_attrs={"size": [1, None]})
    np.testing.assert_array_equal(to_raw(graph).node_columns["size"], [1, np.nan])


def test_rustworkx_numbers_left_by_removed_nodes_are_closed():
    graph = guest("rustworkx").PyDiGraph()
    graph.add_nodes_from(["a", "b", "c"])
    graph.add_edge(2, 1, 0.5)
    graph.remove_node(0)
    raw = to_raw(graph)
    assert (raw.n_nodes, raw.directed) == (2, True)
    assert raw.edges.tolist() == [[1, 0]]
    assert raw.edge_columns["weight"].tolist() == [0.5]
    assert raw.node_columns["x"].tolist() == ["b", "c"]


def test_rustworkx_ids_are_no_attributes():
    rustworkx = guest("rustworkx")
    assert to_raw(rustworkx.PyGraph.from_adjacency_matrix(np.eye(3))).node_columns == {}
    source = nx.Graph()
    source.add_node("ann", age=30)
    raw = to_raw(rustworkx.networkx_converter(source, keep_attributes=True))
    assert list(raw.node_columns) == ["age"]
