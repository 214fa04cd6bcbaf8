import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from grnf import Graph, GraphBatch, GraphError
from grnf.io import to_raw
from grnf.io.encode import AttributeEncoder
from optional import require, to_igraph, to_networkx, to_rustworkx
from random_graphs import graphs

nx = require("networkx")


def encoded(graph, like):
    return AttributeEncoder.of_batch(GraphBatch.from_graphs([like])).encode(to_raw(graph))


def ids(count):
    """Names of nodes of any hashable kind."""
    return [(f"node {i}", i - 3, (i, "pair"), frozenset([i]))[i % 4] for i in range(count)]


@given(graphs(), st.randoms(use_true_random=False))
def test_round_trip_with_arbitrary_ids(graph, random):
    names = ids(graph.n_nodes)
    random.shuffle(names)
    again = encoded(to_networkx(graph, names), graph)
    assert again.directed == graph.directed
    np.testing.assert_allclose(again.tensor(), graph.tensor(), rtol=1e-12, atol=1e-12)


def test_direction_self_loops_and_repeated_edges_are_kept():
    graph = nx.MultiDiGraph([("b", "a"), ("b", "a"), ("a", "a")])
    graph.add_node("alone")
    raw = to_raw(graph)
    assert raw.directed
    assert raw.n_nodes == 4 - 1
    assert raw.edges.tolist() == [[0, 1], [0, 1], [1, 1]]
    assert not to_raw(nx.Graph(graph)).directed


def test_attributes_on_some_nodes_only_are_missing_on_the_others():
    graph = nx.path_graph(3)
    graph.nodes[1]["charge"] = 2
    graph.nodes[2]["symbol"] = "C"
    graph.edges[0, 1]["weight"] = 0.5
    raw = to_raw(graph)
    np.testing.assert_array_equal(raw.node_columns["charge"], [np.nan, 2, np.nan])
    assert raw.node_columns["symbol"].tolist() == [None, None, "C"]
    np.testing.assert_array_equal(raw.edge_columns["weight"], [0.5, np.nan])


def test_names_targets_subclasses_and_views():
    class Mine(nx.Graph):
        pass

    assert to_raw(nx.Graph()).graph_id is None
    graph = Mine([(0, 1), (1, 2)], name="ethanol", y=1)
    raw = to_raw(graph)
    assert (raw.n_nodes, raw.graph_id, raw.y) == (3, "ethanol", 1)
    assert to_raw(graph.subgraph([0, 1])).n_nodes == 2
    assert to_raw(nx.freeze(graph)).n_nodes == 3


@pytest.mark.parametrize(
    ("first", "second", "node"),
    [
        *((None, value, 1) for value in ({"a": 1}, [[1, 2], [3, 4]], {1, 2}, ["a", "b"])),
        ([1, 2], [1, 2, 3], 0),
    ],
)
def test_values_that_are_no_attribute_are_named(first, second, node):
    graph = nx.path_graph(2)
    graph.nodes[0]["x"], graph.nodes[1]["x"] = first, second
    message = rf"the node column 'x' holds .* for node {node}, it must hold numbers, vectors of equal length"
    with pytest.raises(GraphError, match=message):
        to_raw(graph)


def test_attributes_with_the_same_text_are_refused():
    graph = nx.path_graph(2)
    graph.nodes[0].update({3: 1, "b": 2})
    assert list(to_raw(graph).node_columns) == ["3", "b"]
    graph.nodes[1]["3"] = 2
    with pytest.raises(GraphError, match="two attributes are both called '3'"):
        to_raw(graph)


def test_rustworkx_payloads():
    def columns(payloads):
        graph = require("rustworkx").PyGraph()
        graph.add_nodes_from([None] * 3)
        graph.add_edges_from([(i, i + 1, payload) for i, payload in enumerate(payloads)])
        return list(to_raw(graph).edge_columns)

    assert columns([None, None]) == []
    assert columns([1, 2.5]) == ["weight"]
    assert columns(["C", "O"]) == columns([[1, 2], [3, 4]]) == ["edge_attr"]
    assert columns([{"a": 1}, None]) == ["a"]


@pytest.mark.parametrize("convert", [to_igraph, to_rustworkx, Graph.to_networkx, Graph.to_pyg])
@given(graph=graphs())
def test_round_trip(convert, graph):
    if convert is Graph.to_pyg:
        require("torch_geometric")
    again = encoded(convert(graph), graph)
    if convert is not Graph.to_pyg:  # which has no direction: a symmetric graph is undirected
        assert again.directed == graph.directed
    np.testing.assert_allclose(again.tensor(), graph.tensor(), rtol=1e-12, atol=1e-12)


def test_igraph_keeps_the_attribute_name_and_missing_values():
    source = nx.Graph()
    source.add_node("ann", name="Ann")
    graph = require("igraph").Graph.from_networkx(source)
    assert to_raw(source).node_columns["name"].tolist() == ["Ann"]
    assert to_raw(graph).node_columns["name"].tolist() == ["Ann"]
    assert list(to_raw(graph).node_columns) == ["name"]  # not the ids of networkx
    graph = require("igraph").Graph(2, [(0, 1)], vertex_attrs={"size": [1, None]})
    np.testing.assert_array_equal(to_raw(graph).node_columns["size"], [1, np.nan])


def test_rustworkx_numbers_left_by_removed_nodes_are_closed_and_ids_are_no_attributes():
    rustworkx = require("rustworkx")
    graph = rustworkx.PyDiGraph()
    graph.add_nodes_from(["a", "b", "c"])
    graph.add_edge(2, 1, 0.5)
    graph.remove_node(0)
    raw = to_raw(graph)
    assert (raw.n_nodes, raw.directed) == (2, True)
    assert raw.edges.tolist() == [[1, 0]]
    assert raw.edge_columns["weight"].tolist() == [0.5]
    assert raw.node_columns["x"].tolist() == ["b", "c"]
    assert to_raw(rustworkx.PyGraph.from_adjacency_matrix(np.eye(3))).node_columns == {}
    source = nx.Graph()
    source.add_node("ann", age=30)
    raw = to_raw(rustworkx.networkx_converter(source, keep_attributes=True))
    assert list(raw.node_columns) == ["age"]
