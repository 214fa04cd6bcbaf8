"""What writers refuse, and odd things that readers accept."""

import json

import numpy as np
import pytest

from grnf import GraphError
from grnf.io import RawGraph, read_graphs, write_graphs
from optional import require_format

EDGE = np.array([[0, 1]])


def column(*values):
    array = np.empty(len(values), dtype=object)
    array[:] = values
    return array


def with_nodes(**columns):
    return RawGraph(2, EDGE, columns)


def with_edges(**columns):
    return RawGraph(2, EDGE, {}, columns)


@pytest.mark.parametrize(
    ("name", "graphs", "message"),
    [
        ("a.json", with_nodes(id=column("a", "b")), "uses the column name 'id'"),
        ("a.json", with_edges(source=column("a")), "uses the column name 'source'"),
        ("a.jsonl", with_nodes(x=column("a", {1, 2})), "does not fit in JSON"),
        ("a.jsonl", RawGraph(2, EDGE, y=object()), "y must be a number or a text in JSON, got object"),
        ("a.gml", with_nodes(id=column("a", "b")), "uses the column name 'id'"),
        ("a.gml", with_nodes(**{"my name": column("a", "b")}), "GML names are letters, digits and _"),
        ("a.gexf", with_nodes(label=column("a", "1")), "attribute .label., which would come back changed"),
        ("a.graphml", with_nodes(x=column("a", 1)), "column 'x' mixes types"),
        ("a.graphml", with_nodes(x=column("a", "\x00")), "has a character that XML cannot carry"),
        ("a.graphml", RawGraph(2, EDGE, y=[1, 2]), "y must be a number or a text in GraphML, got list"),
        ("a.gml", with_nodes(x=np.zeros((2, 2)), x_0=np.zeros(2)), "two columns would be called 'x_0'"),
        ("a.edgelist", with_edges(weight=column("a")), "one number for each edge"),
        ("a.edgelist", with_edges(weight=np.array([np.nan])), "one number for each edge"),
        ("a.npz", with_nodes(x=column("a", {1, 2})), "column 'x' must hold .* got set"),
        ("a.npz", with_nodes(x=np.array([1, np.inf])), "is infinite at node 1"),
        ("a.npz", RawGraph(2, np.array([[0, 2]])), "names a node outside"),
        ("a.npz", RawGraph(-1, EDGE), "n_nodes must lie between"),
        ("a.g6", RawGraph(2, np.array([[1, 1]])), "self-loop"),
        ("a.g6", RawGraph(2, EDGE[[0, 0]]), "repeated edges"),
        ("a.g6", RawGraph(10**6, np.empty((0, 2), np.int64)), "too large"),
        ("a.d6", RawGraph(2, EDGE), "must be directed"),
        ("a.zip", [with_nodes(element=column("C", "O"))], "cannot be written as tu"),
        ("a.zip", [RawGraph(2, EDGE), RawGraph(2, EDGE, directed=True)], "direction must be the same"),
        ("a.zip", [RawGraph(2, EDGE, y=1), RawGraph(2, EDGE)], "y must be the same for all"),
        ("a.zip", [RawGraph(2, EDGE, y="a")], "y must be a number or numbers"),
        ("a.zip", [RawGraph(2, np.array([[0, 1], [1, 0]]))], "repeated edges"),
        ("a.zip", [RawGraph(2, np.array([[0, 1], [1, 0]]), directed=True)], "would be read as undirected"),
        (
            "a.zip",
            [RawGraph(2, EDGE), RawGraph(0, np.empty((0, 2), dtype=np.int64))],
            "the last graph has no nodes",
        ),
        (
            "a.zip",
            [RawGraph(2, EDGE, {"label1": np.array(["1", "2"], dtype=object)})],
            "labels of a TU dataset must be label",
        ),
        ("a.csv", [RawGraph(0, np.empty((0, 2), dtype=np.int64))], "graph 0 has no nodes"),
        ("a.csv", [RawGraph(2, EDGE, graph_id="a")] * 2, "graph 1: an earlier graph is called 'a'"),
        ("a.csv", [RawGraph(2, EDGE, {"node": np.arange(2.0)})], "uses the column name 'node'"),
        ("a.csv", [RawGraph(2, EDGE, {"a;b": np.arange(2.0)})], "table header"),
        ("a.csv", [RawGraph(2, EDGE, {"a": column("1", "x")})], "come back changed"),
        ("a.csv", [RawGraph(2, EDGE, {"a": column("", "x")})], "come back changed"),
        ("a.csv", [RawGraph(2, EDGE, {"a": column("\ud800", "x")})], "come back changed"),
        ("a.csv", [RawGraph(2, EDGE, {"a": column((1,), "x")})], "come back changed"),
    ],
)
def test_what_cannot_be_written(tmp_path, name, graphs, message):
    with pytest.raises(GraphError, match=message):
        write_graphs(tmp_path / name, graphs if isinstance(graphs, list) else [graphs])
    assert not list(tmp_path.iterdir())


def test_names_of_numpy_texts_become_categories(tmp_path):
    require_format("parquet")
    graph = RawGraph(2, EDGE, {"x": np.array(["a", "b"])})
    write_graphs(tmp_path / "a.parquet", [graph])
    (found,) = read_graphs(tmp_path / "a.parquet")
    assert found.node_columns["x"].dtype == object
    assert found.node_columns["x"].tolist() == ["a", "b"]


@pytest.mark.parametrize("suffix", [".parquet", ".npz"])
@pytest.mark.parametrize("y", [2**62, True, "text", [1, "a"], 0.5])
def test_targets_of_all_kinds(tmp_path, suffix, y):
    require_format(suffix)
    write_graphs(tmp_path / f"a{suffix}", [RawGraph(2, EDGE, y=y)])
    (found,) = read_graphs(tmp_path / f"a{suffix}")
    assert found.y == y
    assert type(found.y) is type(y)


def test_values_of_json(tmp_path):
    require_format("json")
    nodes = [
        {"id": [1, 2], "v": [1, 2], "gap": [1.5, None], "whole": True, "odd": {"b": 1, "a": 2}, "big": 2**70},
        {"id": None, "v": [3, 4], "gap": [None, None], "whole": False, "odd": [1, "x"], "big": 1},
    ]
    links = [{"source": [1, 2], "target": None}]
    document = {"graph": {"name": "old", "y": 2}, "nodes": nodes, "links": links}
    (tmp_path / "a.json").write_text(json.dumps(document))
    (graph,) = read_graphs(tmp_path / "a.json")
    assert (graph.graph_id, graph.y) == ("old", 2)
    assert graph.edges.tolist() == [[0, 1]]
    assert graph.node_columns["v"].tolist() == [[1, 2], [3, 4]]
    assert graph.node_columns["v"].dtype == np.int64
    np.testing.assert_array_equal(graph.node_columns["gap"], [[1.5, np.nan], [np.nan, np.nan]])
    assert graph.node_columns["whole"].dtype == np.bool_
    assert graph.node_columns["odd"].tolist() == ['{"a": 2, "b": 1}', '[1, "x"]']
    assert graph.node_columns["big"].tolist() == [2.0**70, 1.0]


def test_values_of_gml(tmp_path):
    require_format("gml")
    (tmp_path / "a.gml").write_text(
        'Creator "me"\n# a comment\ngraph [ directed 1 name "g"\n'
        'node [ id 5 label "5" text "a &amp; b &#252; &unknown;" graphics [ x 1.5 y -2e3 ] ]\n'
        'node [ id 7 label "seven" ] edge [ source 5 target 7 value +3 ] ]'
    )
    (graph,) = read_graphs(tmp_path / "a.gml")
    assert graph.directed
    assert graph.graph_id == "g"
    assert graph.node_columns["text"].tolist() == ["a & b ü &unknown;", None]
    assert graph.node_columns["label"].tolist() == [None, "seven"]
    assert graph.node_columns["graphics_y"][0] == -2000.0
    assert graph.edge_columns["value"].tolist() == [3]


def test_values_of_gexf(tmp_path):
    require_format("gexf")
    (tmp_path / "a.gexf").write_text(
        """<gexf xmlns:viz="v"><graph defaultedgetype="directed">
        <attributes class="node"><attribute id="0" title="old" type="boolean"><default>true</default>
        </attribute></attributes><nodes><node id="a" label="A"><viz:size value="2"/></node>
        <node id="b" label="b"><attvalues><attvalue for="0" value="false"/></attvalues></node></nodes>
        <edges><edge source="a" target="b" weight="2"/><edge source="b" target="a"/></edges></graph></gexf>"""
    )
    (graph,) = read_graphs(tmp_path / "a.gexf")
    assert graph.directed
    assert graph.node_columns["old"].tolist() == [True, False]
    assert graph.node_columns["label"].tolist() == ["A", None]
    assert graph.edge_columns["weight"].tolist() == [2.0, 1.0]


@pytest.mark.parametrize("suffix", [".csv", ".tsv", ".parquet"])
def test_missing_guests_are_named(tmp_path, monkeypatch, suffix):
    from grnf.io.files import molecules

    monkeypatch.setattr(molecules, "find_spec", lambda _: None)
    (tmp_path / f"a{suffix}").write_text("SMILES\nC\n")
    with pytest.raises(ImportError, match=r"grnf\[chem\]"):
        list(read_graphs(tmp_path / f"a{suffix}", format="smiles"))
