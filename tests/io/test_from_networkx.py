import networkx as nx
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from grnf import GraphError
from grnf.io import AttributeEncoder, to_raw
from guests import to_networkx
from random_graphs import graphs


def ids(count):
    """Names of nodes of any hashable kind."""
    return [(f"node {i}", i - 3, (i, "pair"), frozenset([i]))[i % 4] for i in range(count)]


@given(graphs(), st.randoms(use_true_random=False))
def test_round_trip_with_arbitrary_ids(graph, random):
    names = ids(graph.n_nodes)
    random.shuffle(names)
    raw = to_raw(to_networkx(graph, names))
    again = AttributeEncoder.of_widths(graph.node_width, graph.edge_width).encode(raw)
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


def test_name_and_target():
    graph = nx.Graph(name="ethanol", y=1)
    assert (to_raw(graph).graph_id, to_raw(graph).y) == ("ethanol", 1)
    assert to_raw(nx.Graph()).graph_id is None


def test_subclasses_and_views_are_graphs():
    class Mine(nx.Graph):
        pass

    graph = Mine([(0, 1), (1, 2)])
    assert to_raw(graph).n_nodes == 3
    assert to_raw(graph.subgraph([0, 1])).n_nodes == 2
    assert to_raw(nx.freeze(graph)).n_nodes == 3


@pytest.mark.parametrize("value", [{"a": 1}, [[1, 2], [3, 4]], {1, 2}, ["a", "b"]])
def test_values_that_are_no_attribute_are_named(value):
    graph = nx.path_graph(2)
    graph.nodes[1]["pos"] = value
    with pytest.raises(GraphError, match=r"the node column 'pos' holds .* for node 1; it must hold numbers"):
        to_raw(graph)


def test_vectors_of_several_lengths_are_refused():
    graph = nx.path_graph(2)
    graph.nodes[0]["x"], graph.nodes[1]["x"] = [1, 2], [1, 2, 3]
    with pytest.raises(GraphError, match=r"the node column 'x' holds \[1, 2\] .* vectors of one length"):
        to_raw(graph)
