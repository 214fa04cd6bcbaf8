import numpy as np
import pytest

from grnf import Graph, GraphBatch, GraphError, check_graphs
from random_graphs import random_graph


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
    with pytest.raises(GraphError, match=r"X\[1\].node_attr has 2 columns; 3 expected"):
        check_graphs([first, Graph(1, [], np.zeros((1, 2)))])
    with pytest.raises(GraphError, match=r"X\[1\].edge_attr has 0 columns; 2 expected"):
        check_graphs([first, Graph(2, [(0, 1)], np.zeros((2, 3)))])
    with pytest.raises(GraphError, match=r"X\[0\].node_attr has 3 columns; 1 expected"):
        check_graphs([first], node_width=1)
    with pytest.raises(GraphError, match=r"node_attr has 3 columns; 1 expected"):
        check_graphs(batch, node_width=1)


@pytest.mark.parametrize(
    ("X", "message"),
    [
        ([], "X is empty"),
        (iter([]), "X is empty"),
        (Graph(1, []), r"got one Graph: pass \[graph\]"),
        ("graphs", "X must be a list of grnf.Graph; got str"),
        (None, "X must be a list of grnf.Graph; got NoneType"),
        ([Graph(1, []), 3], r"X\[1\] must be a grnf.Graph; got int"),
    ],
)
def test_what_is_no_collection_of_graphs_is_refused(X, message):
    with pytest.raises(GraphError, match=message):
        check_graphs(X)
