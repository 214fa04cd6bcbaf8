"""The text of graph miners: graphs, labels as categories, faults one by one."""

import pytest

from grnf import GRNF, GraphError
from grnf.io import BadGraph, guess_format, read_graphs

TEXT = """% mined
t # 7
v 0 1
v 1 C

e 0 1 2
x 3 4 5
t # 8 * 130
v 0 1
v 1 1
v 2 1
d 0 1 a
d 1 2 a
t # -1
this is not read
"""


@pytest.mark.parametrize("name", ["a.gspan", "a.lg", "a.txt"])
def test_graphs_and_labels(tmp_path, name):
    path = tmp_path / name
    path.write_text(TEXT)
    assert guess_format(path) == "gspan"
    first, second = read_graphs(path)
    assert (first.graph_id, first.n_nodes, first.edges.tolist(), first.directed) == ("7", 2, [[0, 1]], False)
    assert first.node_columns["label"].tolist() == ["1", "C"]
    assert first.edge_columns["label"].tolist() == ["2"]
    assert (second.graph_id, second.directed, second.edges.tolist()) == ("8", True, [[0, 1], [1, 2]])
    assert GRNF(4, random_state=0).fit_transform(list(read_graphs(path))).shape == (2, 4)


def test_without_labels(tmp_path):
    path = tmp_path / "a.gspan"
    path.write_text("t # a\nv 5\nv 3\ne 5 3\nt # b\n")
    first, second = read_graphs(path)
    assert (first.n_nodes, dict(first.node_columns), dict(first.edge_columns)) == (2, {}, {})
    assert (second.graph_id, second.n_nodes) == ("b", 0)


def test_faults(tmp_path):
    path = tmp_path / "a.gspan"
    path.write_text("t # 0\nv 0 C\nt # 1\nv 0 C\ne 0 9 1\nt # 2\nv 0 C\nv 0 C\nt # 3\nz\nt # 4\nv 0 C\n")
    found = list(read_graphs(path, on_error="yield"))
    assert [isinstance(graph, BadGraph) for graph in found] == [False, True, True, True, False]
    assert [graph.graph_id for graph in found] == list("01234")
    for place, words in (
        (1, "line 3: edge 0 ('0', '9'): there is no node '9'"),
        (2, "stands twice"),
        (3, "'z' is"),
    ):
        assert words in found[place].reason
    path.write_text("v 0 C\n")
    with pytest.raises(GraphError, match="line 1: a line 't # id' is wanted before 'v 0 C'"):
        list(read_graphs(path))
