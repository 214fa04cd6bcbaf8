"""Graphs, their tensors, and batches of graphs."""

import numpy as np
import pytest

from grnf import Graph, GraphBatch, GraphError, check_graphs, null_graph
from random_graphs import random_graph


def test_tensor_puts_attributes_where_the_paper_does():
    graph = Graph(3, [(0, 1), (2, 2)], node_attr=[[5.0], [6.0], [7.0]], edge_attr=[[0.0], [3.0]])
    A = graph.tensor()
    assert A.shape == (3, 3, 3)
    np.testing.assert_array_equal(A[:, :, 0], np.diag([5.0, 6.0, 7.0]))
    np.testing.assert_array_equal(A[:, :, 1], [[0, 1, 0], [1, 0, 0], [0, 0, 1]])  # attribute 0: still an edge
    np.testing.assert_array_equal(A[:, :, 2], [[0, 0, 0], [0, 0, 0], [0, 0, 3]])
    literal = graph.tensor(adjacency_channel=False)
    np.testing.assert_array_equal(literal, A[:, :, [0, 2]])


def test_tensor_without_edge_attributes_keeps_the_adjacency_in_both_forms():
    graph = Graph(2, [(0, 1)], directed=True)
    np.testing.assert_array_equal(graph.tensor()[:, :, 0], [[0, 1], [0, 0]])
    np.testing.assert_array_equal(graph.tensor(adjacency_channel=False), graph.tensor())


def test_repeated_edges_are_summed_in_either_direction():
    graph = Graph(2, [(0, 1), (1, 0), (0, 1), (1, 1), (1, 1)], edge_attr=[1.0, 2.0, 4.0, 8.0, 16.0])
    np.testing.assert_array_equal(graph.tensor()[:, :, 0], [[0, 3], [3, 2]])
    np.testing.assert_array_equal(graph.tensor()[:, :, 1], [[0, 7], [7, 24]])
    directed = Graph(2, [(0, 1), (1, 0), (0, 1)], directed=True)
    np.testing.assert_array_equal(directed.tensor()[:, :, 0], [[0, 2], [1, 0]])


def test_permuted_permutes_the_tensor():
    graph = Graph(4, [(0, 1), (1, 2), (3, 3)], np.arange(8.0).reshape(4, 2), [1.0, 2.0, 3.0], directed=True)
    order = np.array([2, 0, 3, 1])
    np.testing.assert_array_equal(graph.permuted(order).tensor(), graph.tensor()[np.ix_(order, order)])


def test_graph_is_frozen_and_copies_its_input():
    edges = np.array([[0, 1]])
    attributes = np.ones((2, 1))
    graph = Graph(2, edges, attributes)
    edges[0, 1] = 0
    attributes[0] = 9
    assert graph.edges.tolist() == [[0, 1]]
    assert graph.node_attr.tolist() == [[1.0], [1.0]]
    with pytest.raises(ValueError, match="read-only"):
        graph.edges[0, 0] = 1
    with pytest.raises(AttributeError):
        graph.n_nodes = 3


def test_one_dimensional_attributes_and_integers_are_welcome():
    graph = Graph(np.int32(2), np.array([[0, 1]], dtype=np.uint8), [1, 2], [True])
    assert graph.node_attr.tolist() == [[1.0], [2.0]]
    assert graph.edge_attr.tolist() == [[1.0]]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((-1, []), r"n_nodes must lie between 0 and 2\*\*31 - 1, got -1"),
        ((2.0, []), "n_nodes must be an integer, got 2.0"),
        ((True, []), "n_nodes must be an integer, got True"),
        ((2**40, []), "n_nodes must lie between"),
        ((2, [(0, 2)]), r"edges\[0\] = \(0, 2\) names a node outside 0 .. 1"),
        ((2, [(0, 1), (-1, 0)]), r"edges\[1\] = \(-1, 0\)"),
        ((3, [[0, 1, 2], [1, 2, 0]]), r"got \(2, 3\); transpose it"),
        ((3, [(0, 1), (1,)]), "edges must be pairs"),
        ((3, [(0.0, 1.5)]), "edges must be integers"),
        ((3, [("a", "b")]), "edges must be integers"),
        ((2, [], [[1.0]]), r"node_attr must have one row per node, shape \(2, width\), got shape \(1, 1\)"),
        ((2, [], [["C"], ["N"]]), "node_attr must hold real numbers.*one-hot"),
        ((2, [], [[1.0], [1.0, 2.0]]), "node_attr must hold real numbers in rows of equal length"),
        ((2, [], [[1.0], [np.nan]]), r"node_attr\[1, 0\] must be finite, got nan"),
        ((2, [(0, 1)], None, [[1.0, -np.inf]]), r"edge_attr\[0, 1\] must be finite, got -inf"),
        ((2, [(0, 1)], None, [1.0, 2.0]), "edge_attr must have one row per edge"),
        ((2, [(0, 1)], [1j, 2j]), "node_attr must hold real numbers"),
    ],
)
def test_bad_input_is_refused_with_the_field(arguments, message):
    with pytest.raises(GraphError, match=message):
        Graph(*arguments)


def test_permuted_refuses_what_is_no_permutation():
    with pytest.raises(GraphError, match=r"permutation of 0 .. 2"):
        Graph(3, []).permuted([0, 1, 1])


def test_null_graph_is_one_node_of_zeros():
    A = null_graph(2, 1).tensor()
    assert A.shape == (1, 1, 4)
    assert not A.any()


@pytest.fixture
def some():
    generator = np.random.default_rng(0)
    return [random_graph(generator, n, 2, 1, directed=bool(n % 2)) for n in (3, 0, 1, 5, 2)]


def test_round_trip(some):
    batch = GraphBatch.from_graphs(some)
    assert len(batch) == 5
    assert batch.sizes.tolist() == [3, 0, 1, 5, 2]
    for graph, again in zip(some, batch, strict=True):
        np.testing.assert_array_equal(graph.tensor(), again.tensor())
        assert graph.directed == again.directed


def test_take_reorders_and_repeats(some):
    batch = GraphBatch.from_graphs(some).take([3, 1, 3, 0])
    for graph, again in zip([some[3], some[1], some[3], some[0]], batch, strict=True):
        np.testing.assert_array_equal(graph.tensor(), again.tensor())


def test_take_by_mask_and_from_the_end():
    batch = GraphBatch.from_graphs([Graph(n, []) for n in (2, 3, 4)])
    assert batch.take(np.array([True, False, True])).sizes.tolist() == [2, 4]
    assert batch.take([-1, 0]).sizes.tolist() == [4, 2]
    assert len(batch.take([])) == len(batch.take(np.zeros(3, bool))) == 0
    for wrong in ([3], [-4], [1.5], [True, False]):
        with pytest.raises(IndexError):
            batch.take(wrong)


def test_index_errors(some):
    batch = GraphBatch.from_graphs(some)
    assert batch[-1].n_nodes == 2
    with pytest.raises(IndexError):
        batch[5]


def test_widths_are_checked_and_empty_graphs_agree_with_any():
    first = Graph(2, [(0, 1)], np.zeros((2, 3)), [[1.0, 2.0]])
    atom = Graph(1, [], np.zeros((1, 3)))
    batch = check_graphs([Graph(0, []), first, atom])
    assert (batch.node_width, batch.edge_width) == (3, 2)
    with pytest.raises(
        GraphError, match=r"X\[1\]: node_attr must have 3 columns, as in the graphs before it, got 2"
    ):
        check_graphs([first, Graph(1, [], np.zeros((1, 2)))])
    with pytest.raises(GraphError, match=r"X\[1\]: edge_attr must have 2 columns, .*, got 0"):
        check_graphs([first, Graph(2, [(0, 1)], np.zeros((2, 3)))])
    with pytest.raises(GraphError, match=r"X\[0\]: node_attr must have 1 column, .*, got 3"):
        check_graphs([first], node_width=1)
    with pytest.raises(GraphError, match=r"node_attr must have 1 column, .*, got 3"):
        check_graphs(batch, node_width=1)


@pytest.mark.parametrize(
    ("X", "message"),
    [
        ([], "X is empty"),
        (iter([]), "X is empty"),
        (Graph(1, []), r"got one Graph: pass \[graph\]"),
        ("graphs", "X must be a list of grnf.Graph, got str"),
        (None, "X must be a list of grnf.Graph, got NoneType"),
        ([Graph(1, []), 3], r"X\[1\]: must be a grnf.Graph, got int"),
    ],
)
def test_what_is_no_collection_of_graphs_is_refused(X, message):
    with pytest.raises(GraphError, match=message):
        check_graphs(X)
