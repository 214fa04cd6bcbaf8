"""Where two graphs differ: leaving out by hand gives the same numbers."""

import numpy as np
import pytest

from grnf import GRNF, Graph
from grnf.estimators.difference import without_edge, without_node
from grnf.io import to_raw

TRIANGLE = Graph(3, [(0, 1), (1, 2), (2, 0)], [[1.0], [2.0], [3.0]], [[0.1], [0.2], [0.3]])
TAILED = Graph(
    4, [(0, 1), (1, 2), (2, 0), (2, 3)], [[1.0], [2.0], [3.0], [9.0]], [[0.1], [0.2], [0.3], [0.7]]
)


@pytest.mark.parametrize("heads", [1, 4])
def test_each_number_is_a_difference_of_squared_distances(heads):
    grnf = GRNF(256, heads=heads, random_state=0, dtype="float64").fit([TAILED])
    found = grnf.difference(TRIANGLE, TAILED)
    whole = grnf.distance(TRIANGLE, TAILED)
    assert found.distance.squared == pytest.approx(whole.squared)
    for node in range(4):
        kept = [other for other in range(4) if other != node]
        rows = [row for row, edge in enumerate(TAILED.edges) if node not in edge]
        edges = [[kept.index(end) for end in TAILED.edges[row]] for row in rows]
        less = Graph(3, np.reshape(edges, (-1, 2)), TAILED.node_attr[kept], TAILED.edge_attr[rows])
        expected = whole.squared - grnf.distance(TRIANGLE, less).squared
        assert found.nodes[1][node] == pytest.approx(expected, abs=1e-12)
    for edge in range(3):
        rows = [row for row in range(3) if row != edge]
        less = Graph(3, TRIANGLE.edges[rows], TRIANGLE.node_attr, TRIANGLE.edge_attr[rows])
        expected = whole.squared - grnf.distance(less, TAILED).squared
        assert found.edges[0][edge] == pytest.approx(expected, abs=1e-12)
    assert all((errors > 0).all() for errors in (*found.node_errors, *found.edge_errors))


def test_the_odd_node_stands_out():
    found = GRNF(4096, random_state=0).fit([TAILED]).difference(TRIANGLE, TAILED)
    assert np.argmax(found.nodes[1]) == 3
    assert found.nodes[1][3] == pytest.approx(found.distance.squared, abs=1e-5)
    assert len(found.records()) == 3 + 3 + 4 + 4
    assert set(found.records()[0]) == {"graph", "item", "number", "adds", "standard_error"}


def test_leaving_out_keeps_columns_and_loops_go_with_their_node():
    graph = to_raw(Graph(3, [(0, 0), (0, 1), (2, 1)], [5.0, 6.0, 7.0], [1.0, 2.0, 3.0], directed=True))
    less = without_node(graph, 0)
    assert (less.n_nodes, less.edges.tolist(), less.directed) == (2, [[1, 0]], True)
    assert less.node_columns["x"].ravel().tolist() == [6.0, 7.0]
    assert without_edge(graph, 1).edge_columns["edge_attr"].ravel().tolist() == [1.0, 3.0]


def test_graphs_of_no_nodes_and_too_many():
    grnf = GRNF(16, random_state=0).fit([Graph(1, [])])
    found = grnf.difference(Graph(0, []), Graph(1, []))
    assert (len(found.nodes[0]), len(found.nodes[1])) == (0, 1)
    with pytest.raises(ValueError, match="at most 2,000 nodes and edges in all, got 3,001"):
        grnf.difference(Graph(3000, []), Graph(1, []))


def test_features_go_on_where_the_vectors_end():
    grnf = GRNF(64, heads=2, random_state=0, dtype="float64").fit([TAILED])
    more = GRNF(128, heads=2, random_state=0, dtype="float64").fit([TAILED])
    np.testing.assert_allclose(
        grnf.features([TAILED], 64, 128), np.sqrt(128) * more.transform([TAILED])[:, 64:], atol=1e-12
    )
    for start, stop in ((1, 4), (4, 4), (0, 3)):
        with pytest.raises(ValueError, match="multiples of heads=2"):
            grnf.features([TAILED], start, stop)
