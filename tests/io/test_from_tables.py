import numpy as np
import pytest

from grnf import GRNF, GraphError
from grnf.io import graphs_from_tables
from grnf.io.objects import iter_raw
from optional import require


@pytest.fixture(params=["pandas", "polars"])
def frame(request):
    return require(request.param).DataFrame


@pytest.fixture
def edges(frame):
    return frame(
        {
            "molecule": ["b", "a", "b", "a"],
            "from": [1, 1, 2, 3],
            "to": [2, 2, 2, 1],
            "weight": [0.5, 1.0, None, 2.0],
            "kind": ["x", None, "y", "x"],
        }
    )


KEYS = {"graph_id": "molecule", "source": "from", "target": "to"}


def test_edges_alone(edges):
    b, a = graphs_from_tables(edges, **KEYS, directed=True)
    assert (b.graph_id, a.graph_id) == ("b", "a")
    assert (b.n_nodes, a.n_nodes, a.directed) == (2, 3, True)
    assert b.edges.tolist() == [[0, 1], [1, 1]]
    assert a.edges.tolist() == [[0, 1], [2, 0]]
    np.testing.assert_array_equal(b.edge_columns["weight"], [0.5, np.nan])
    assert a.edge_columns["kind"].tolist() == [None, "x"]


def test_nodes_bring_attributes_and_lonely_nodes(edges, frame):
    nodes = frame(
        {
            "molecule": ["c", "a", "b", "a", "b", "a", "b"],
            "id": [9, 3, 2, 2, 1, 1, 7],
            "charge": [0, 1, 2, 3, 4, 5, None],
            "ok": [True, False, True, True, False, True, True],
            "pos": [[0.0, 1.0]] * 7,
        }
    )
    c, a, b = graphs_from_tables(edges, nodes, **KEYS, node="id")
    assert (c.graph_id, c.n_nodes, len(c.edges)) == ("c", 1, 0)
    assert (a.n_nodes, b.n_nodes) == (3, 3)
    assert a.edges.tolist() == [[2, 1], [0, 2]]
    assert a.node_columns["charge"].tolist() == [1, 3, 5]
    np.testing.assert_array_equal(b.node_columns["charge"], [2, 4, np.nan])
    assert a.node_columns["ok"].tolist() == [0, 1, 1]
    assert a.node_columns["pos"].shape == (3, 2)
    assert [raw is again for raw, again in zip(iter_raw([a, b]), [a, b], strict=True)] == [True, True]


def test_a_graph_of_edges_only_comes_last(frame):
    edges = frame({"graph_id": [1, 2], "source": [0, 0], "target": [0, 0]})
    nodes = frame({"graph_id": [1], "node": [0]})
    with pytest.raises(GraphError, match="edges, row 1: graph 2 has no node 0 in the table of nodes"):
        graphs_from_tables(edges, nodes)
    assert [raw.n_nodes for raw in graphs_from_tables(edges)] == [1, 1]


def test_empty_tables(frame):
    assert len(graphs_from_tables(frame({"graph_id": [], "source": [], "target": []}))) == 0


def test_a_dataframe_of_one_graph(frame):
    edges = frame({"source": ["a", "b"], "target": ["b", "c"], "weight": [0.5, 2.0]})
    nodes = frame({"node": ["c", "b", "a", "d"], "charge": [1, 2, 3, 4]})
    alone, beside = iter_raw([edges, (edges, nodes)])
    assert (alone.n_nodes, alone.graph_id, alone.edges.tolist()) == (3, None, [[0, 1], [1, 2]])
    assert alone.edge_columns["weight"].tolist() == [0.5, 2.0]
    assert (beside.n_nodes, beside.edges.tolist()) == (4, [[2, 1], [1, 0]])
    assert beside.node_columns["charge"].tolist() == [1, 2, 3, 4]
    (nothing,) = iter_raw([frame({"source": [], "target": []})])
    assert (nothing.n_nodes, len(nothing.edges)) == (0, 0)
    assert GRNF(4, random_state=0).fit_transform([edges, edges[:1]]).shape == (2, 4)
    with pytest.raises(GraphError, match=r"X\[0\]: edges, row 0: the graph has no node 'a' in the table"):
        list(iter_raw([(edges, frame({"node": ["b"]}))]))
    with pytest.raises(GraphError, match=r"X\[0\]: nodes, row 1: node 'b' is listed twice"):
        list(iter_raw([(edges, frame({"node": ["b", "b"]}))]))
    with pytest.raises(GraphError, match=r"of a single graph into a list: \[edges\]"):
        list(iter_raw(edges))


def test_bad_tables(frame):
    good = frame({"graph_id": [1, 1], "source": [0, 1], "target": [1, 0]})
    with pytest.raises(GraphError, match=r"edges has no column 'src'\. Available: graph_id, source, target"):
        graphs_from_tables(good, source="src")
    with pytest.raises(GraphError, match="nodes must be a dataframe, got list"):
        graphs_from_tables(good, [1])
    with pytest.raises(GraphError, match="nodes, row 1: node 0 of graph 1 is listed twice"):
        graphs_from_tables(good, frame({"graph_id": [1, 1], "node": [0, 0]}))
    with pytest.raises(GraphError, match=r"edges, row 0: 'source' is .*, which cannot be an id"):
        graphs_from_tables(frame({"graph_id": [1], "source": [[0]], "target": [1]}))
    with pytest.raises(GraphError, match="edges, row 1: 'target' is missing"):
        graphs_from_tables(frame({"graph_id": [1, 1], "source": [0, 1], "target": [1, None]}))


def test_arrow_tables_work_too():
    pyarrow = require("pyarrow")
    edges = pyarrow.table({"graph_id": [1], "source": ["u"], "target": ["v"], "weight": [2]})
    (raw,) = graphs_from_tables(edges)
    assert raw.edge_columns["weight"].tolist() == [2.0]
