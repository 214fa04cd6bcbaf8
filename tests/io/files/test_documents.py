"""GraphML, GML, GEXF, JSON and edge lists: as others write them, and what is refused."""

import json

import numpy as np
import pytest

from grnf import GraphError
from grnf.io import RawGraph, read_graphs, write_graphs
from optional import require

nx = require("networkx")


def example(kind):
    graph = kind()
    graph.add_node("a", size=1, name="A & <b>", ratio=0.5)
    graph.add_node("b", size=2, name='quote " and ü')
    graph.add_node("c", size=3, name="")
    graph.add_edge("a", "b", weight=2.0)
    graph.add_edge("b", "c", weight=0.25, kind="x")
    return graph


WRITERS = {"graphml": nx.write_graphml_xml, "gml": nx.write_gml, "gexf": nx.write_gexf}


@pytest.mark.parametrize("kind", [nx.Graph, nx.DiGraph])
@pytest.mark.parametrize("suffix", WRITERS)
def test_what_networkx_writes(tmp_path, kind, suffix):
    graph = example(kind)
    WRITERS[suffix](graph, str(tmp_path / f"g.{suffix}"))
    (found,) = read_graphs(tmp_path / f"g.{suffix}")
    assert found.n_nodes == 3
    assert found.directed == graph.is_directed()
    assert found.edges.tolist() == [[0, 1], [1, 2]]
    assert found.node_columns["size"].tolist() == [1, 2, 3]
    assert found.node_columns["name"].tolist() == ["A & <b>", 'quote " and ü', ""]
    np.testing.assert_array_equal(found.node_columns["ratio"], [0.5, np.nan, np.nan])
    assert found.edge_columns["weight"].tolist() == [2.0, 0.25]
    assert found.edge_columns["kind"].tolist() == [None, "x"]


@pytest.mark.parametrize("suffix", ["graphml", "gml", "gexf"])
def test_networkx_reads_what_is_written(tmp_path, suffix):
    names = np.array(["C", 'a"<&>ü'], dtype=object)
    graph = RawGraph(2, np.array([[0, 1]]), {"element": names}, {"weight": np.array([1.5])}, directed=True)
    write_graphs(tmp_path / f"g.{suffix}", [graph])
    reader = {
        "graphml": nx.read_graphml,
        "gexf": nx.read_gexf,
        "gml": lambda path: nx.read_gml(path, label="id"),
    }
    found = reader[suffix](str(tmp_path / f"g.{suffix}"))
    assert found.is_directed()
    assert [values["element"] for _, values in found.nodes(data=True)] == names.tolist()
    assert [values["weight"] for _, _, values in found.edges(data=True)] == [1.5]


@pytest.mark.parametrize("kind", [nx.Graph, nx.DiGraph, nx.MultiGraph, nx.MultiDiGraph])
@pytest.mark.parametrize("key", ["links", "edges"])
def test_node_link_of_networkx(tmp_path, kind, key):
    graph = example(kind)
    if graph.is_multigraph():
        graph.add_edge("a", "b", weight=3.0)
    (tmp_path / "g.json").write_text(json.dumps(nx.node_link_data(graph, edges=key)))
    (found,) = read_graphs(tmp_path / "g.json")
    assert found.directed == graph.is_directed()
    assert sorted(found.edge_columns["weight"]) == sorted(nx.get_edge_attributes(graph, "weight").values())
    assert set(found.edge_columns) == {"weight", "kind"}
    assert found.node_columns["size"].tolist() == [1, 2, 3]


def test_labels_of_gexf(tmp_path):
    edges, labels = np.array([[0, 1], [1, 2]]), np.array(["a<", None, "b"], dtype=object)
    write_graphs(tmp_path / "g.gexf", [RawGraph(3, edges, {"label": labels}, {"label": labels[::2]})])
    assert 'label="a&lt;"' in (tmp_path / "g.gexf").read_text()
    (found,) = read_graphs(tmp_path / "g.gexf")
    assert found.node_columns["label"].tolist() == labels.tolist()
    assert found.edge_columns["label"].tolist() == ["a<", "b"]


def read_text(tmp_path, name, text, **options):
    (tmp_path / name).write_bytes(text if isinstance(text, bytes) else text.encode())
    return list(read_graphs(tmp_path / name, **options))


def test_graphml_defaults_and_several_graphs(tmp_path):
    text = """<graphml>
    <key id="k" for="node" attr.name="colour" attr.type="string"><default>red</default></key>
    <graph id="one" edgedefault="directed"><edge source="a" target="b"/><node id="a"/>
    <node id="b"><data key="k">blue</data></node></graph>
    <graph edgedefault="undirected"><node id="a"/></graph></graphml>"""
    one, two = read_text(tmp_path, "g.graphml", text)
    assert one.graph_id == "one"
    assert one.directed
    assert one.node_columns["colour"].tolist() == ["red", "blue"]
    assert two.n_nodes == 1
    assert not two.directed


NODES, EDGE = '<node id="a"/><node id="b"/>', '<edge source="a" target="b"'
KEY = '<key id="k" for="node" attr.name="x" attr.type="decimal"/>'
NUMBERS = "".join(f'<node id="{name}"><data key="k">{name}.5</data></node>' for name in "12")
COLUMN = '<attributes class="node"><attribute id="k" title="x" type="bigdecimal"/></attributes>'
OLD = "".join(
    f'<node id="{name}"><attvalues><attvalue id="k" value="{name}.5"/></attvalues></node>' for name in "12"
)
LOOP = '<edge source="b" target="b"/>'
EDGES = f'{EDGE}/>{EDGE} type="mutual"/>'
DIALECTS = [
    ("graphml", f'<graph edgedefault="directed">{NODES}{EDGE} directed="false"/></graph>', (False, 1, {})),
    ("graphml", f'<graph>{NODES}{LOOP}{EDGE} directed="true"/></graph>', (True, 2, {})),
    ("graphml", f'<graph>{NODES}{EDGE}/>{EDGE} directed="true"/></graph>', (True, 3, {})),
    (
        "gexf",
        f'<graph defaultedgetype="directed"><nodes>{NODES}</nodes><edges>{EDGES}</edges></graph>',
        (True, 3, {}),
    ),
    ("gexf", f"<graph>{COLUMN}<nodes>{OLD}</nodes></graph>", (False, 0, {"x": [1.5, 2.5]})),
    ("graphml", f"{KEY}<graph>{NUMBERS}</graph>", (False, 0, {"x": [1.5, 2.5]})),
]


@pytest.mark.parametrize(("root", "text", "expected"), DIALECTS, ids=range(len(DIALECTS)))
def test_mixed_directions_and_other_dialects(tmp_path, root, text, expected):
    (found,) = read_text(tmp_path, f"g.{root}", f'<!DOCTYPE {root} SYSTEM "x.dtd"><{root}>{text}</{root}>')
    columns = {name: values.tolist() for name, values in found.node_columns.items()}
    assert (found.directed, len(found.edges), columns) == expected


BOMB = """<?xml version="1.0"?><!DOCTYPE lolz [<!ENTITY lol "lol"><!ENTITY lol2 "&lol;&lol;&lol;&lol;">
<!ENTITY lol3 "&lol2;&lol2;&lol2;&lol2;">]><{root}><graph>&lol3;</graph></{root}>"""

TWICE = '{"source": 0, "target": 0}, {"source": 0, "target": 0}'
A_NODE, SELF_LOOP = "<node id='a'/>", "<edge source='a' target='a'/>"
UNDECLARED = "><attvalues><attvalue for='0' value='1'/></attvalues></node>"
NO_NUMBER = "<node id='a'><data key='k'>x</data></node>"

BAD = [
    ("g.graphml", BOMB.format(root="graphml"), "line 1: declarations in a document type are not read"),
    ("g.gexf", BOMB.format(root="gexf"), "line 1: declarations in a document type are not read"),
    ("g.graphml", "<graphml><graph><node id='a'/>", "invalid XML"),
    ("g.graphml", "", r"is empty \(0 bytes\)"),
    ("g.graphml", "<html/>", "no <graph> in this file"),
    ("g.graphml", "<a>" * 100, "invalid XML"),
    ("g.graphml", "<graphml><graph><node id='a'/><node id='a'/></graph></graphml>", "node 'a' is repeated"),
    ("g.graphml", "<graphml><graph><edge source='a' target='b'/></graph></graphml>", "there is no node 'a'"),
    ("g.graphml", "<graphml><graph><node/></graph></graphml>", "a <node> has no id"),
    (
        "g.graphml",
        "<graphml><graph><node id='a'><data key='k'>1</data></node></graph></graphml>",
        "declares .* 'k'",
    ),
    ("g.graphml", "<graphml><graph><node id='a'><graph/></node></graph></graphml>", "a graph within a graph"),
    (
        "g.graphml",
        f"<graphml><key id='k' attr.name='a' attr.type='int'/><graph>{NO_NUMBER}</graph></graphml>",
        "networkx cannot read it: invalid literal",
    ),
    ("g.gexf", "<gexf/>", "one <graph> in a file, found 0"),
    ("g.gexf", "<gexf><graph/><graph/></gexf>", "one <graph> in a file, found 2"),
    ("g.gexf", "<gexf><graph mode='dynamic'/></gexf>", "dynamic graph"),
    ("g.gexf", f"<gexf><graph>{2 * A_NODE}</graph></gexf>", "node 'a' is repeated"),
    ("g.gexf", f"<gexf><graph>{SELF_LOOP}</graph></gexf>", "there is no node 'a'"),
    ("g.gexf", f"<gexf><graph><nodes>{A_NODE.replace('/>', UNDECLARED)}</nodes></graph></gexf>", "for=0"),
    ("g.gexf", "<gexf><graph><attributes/></graph></gexf>", "networkx cannot read it"),
    ("g.gml", "graph [ node [ id 0 ]", "do not close"),
    ("g.gml", "graph [ node [ id 0 ] ] ]", "do not close"),
    ("g.gml", "\n\ngraph [ node [ { ] ]", "cannot tokenize"),
    ("g.gml", "a [ " * 100, "no 'graph"),
    ("g.gml", "graph [ node [ label 1 ] ]", "has no 'id'"),
    ("g.gml", "graph [ node [ id 1 ] node [ id 1 ] ]", "node id 1 is duplicated"),
    ("g.gml", "graph [ node [ id 1 x 1e999 ] ]", "node column 'x' is infinite"),
    ("g.gml", "nothing 1", "no 'graph \\['"),
    ("g.json", '{"nodes": [{"id": 0}], "links": [{"source": 0, "target": 1}]}', "there is no node 1"),
    ("g.json", '{"nodes": [{"id": 0}, {"id": 0}], "links": []}', "ids of nodes must be unique, got 0 twice"),
    ("g.json", '{"nodes": [{"id": {}}], "links": []}', "must be a number or a text"),
    ("g.json", '{"nodes": [{"id": 0}, {"x": 1}], "links": []}', "each node must be an object with 'id'"),
    ("g.json", '{"nodes": [{"id": 0, "x": Infinity}], "links": []}', "is infinite at node 0"),
    (
        "g.json",
        '{"nodes": [{"id": 0, "x": 1.5}, {"id": 1, "x": 1' + "0" * 400 + '}], "links": []}',
        "64 bits",
    ),
    (
        "g.json",
        '{"multigraph": false, "nodes": [{"id": 0}], "links": [' + TWICE + "]}",
        "is repeated",
    ),
    ("g.json", "[" * 100_000, "nested too deeply"),
    ("g.json", '{"nodes": ', "invalid JSON"),
    ("g.json", b'{"nodes": "\xff"}', "not UTF-8"),
    ("g.edgelist", "a b\na\n", "line 2: .*got 1 fields"),
    ("g.edgelist", "a b 1\na c\n", "line 2: some lines have a weight"),
    ("g.edgelist", "a b nan\n", "line 1: the weight nan is not finite"),
    ("g.edgelist", "a b x\n", "no edge follows the header 'a b x'"),
    ("g.edgelist", "a b 1\na b x\n", "line 2: the weight 'x' is not a number"),
    ("g.edgelist", "# grnf: 3 nodes\n0 3\n", "line 2: no node '3'"),
    ("g.edgelist", "# grnf: 3 nodes\n0 -1\n", "line 2: no node '-1'"),
    ("g.edgelist", "# grnf: 1000000000000 nodes\n0 1\n", "n_nodes must lie between|would take about"),
    ("g.edgelist", "# grnf: 999999999 nodes\n0 1\n", "a graph of 999999999 nodes"),
    ("g.edgelist", b"a b\n\xff c\n", "line 2.* not UTF-8"),
    ("g.edgelist", "1 " * 10**6, "line 1: the line is longer than"),
]


@pytest.mark.parametrize(("name", "text", "message"), BAD, ids=range(len(BAD)))
def test_what_is_wrong_is_named(tmp_path, name, text, message):
    with pytest.raises(GraphError, match=message) as caught:
        read_text(tmp_path, name, text)
    assert name in str(caught.value)


def test_edge_lists_of_all_kinds(tmp_path):
    (found,) = read_text(tmp_path, "a.txt", "# a comment\n% another\n\nx y\ny,z\nz\tx\n")
    assert found.edges.tolist() == [[0, 1], [1, 2], [2, 0]]
    assert not found.directed
    (found,) = read_text(tmp_path, "b.csv", "1, 2, 0.5\n", format="edge-list", directed=True)
    assert found.directed
    assert found.edge_columns["weight"].tolist() == [0.5]
    (found,) = read_text(tmp_path, "c.edges", "\ufeff10000000000000000000000 b\n")  # ids of any length
    assert found.n_nodes == 2
    (found,) = read_text(tmp_path, "d.edges", "")
    assert found.n_nodes == 0


def test_names_and_targets_outside_of_graph(tmp_path):
    lines = [
        '{"id": "a", "y": 2, "nodes": [{"id": 0}], "edges": []}',
        '{"name": "b", "graph": {}, "nodes": [{"id": 0}], "links": []}',
        '{"id": "c", "y": 5, "graph": {"name": "d", "id": "e", "y": 6}, "nodes": [], "edges": []}',
    ]
    found = read_text(tmp_path, "g.jsonl", "\n".join(lines))
    assert [(graph.graph_id, graph.y) for graph in found] == [("a", 2), ("b", None), ("e", 6)]


def test_vectors_of_several_lengths_are_refused(tmp_path):
    text = '{"nodes": [{"id": 0, "v": [1, 2]}, {"id": 1, "v": [3]}, {"id": 2}], "edges": []}'
    with pytest.raises(GraphError, match=r"line 1: node column 'v' holds vectors of 1 and of 2 numbers"):
        read_text(tmp_path, "g.jsonl", text)
    (found,) = read_text(tmp_path, "g.jsonl", text.replace("[3]", '["a"]'))  # not vectors: categories
    assert found.node_columns["v"].tolist() == ["[1, 2]", '["a"]', None]


def test_json_lines_go_on_after_a_bad_line(tmp_path):
    good = '{"graph": {"id": "x", "y": 1}, "nodes": [{"id": 0}], "edges": []}'
    row = '{"edge_index": [[0, 1], [1, 0]], "num_nodes": 3, "y": [0.5]}'
    text = f"{good}\nnonsense\n\n{row}\n".encode() + b"\xff\n"
    one, bad, two, last = read_text(tmp_path, "g.jsonl", text, on_error="yield")
    assert (one.graph_id, one.y) == ("x", 1)
    assert (two.n_nodes, two.edges.tolist(), two.y) == (3, [[0, 1]], 0.5)
    assert bad.index == 1
    assert "g.jsonl, line 2: invalid JSON" in bad.reason
    assert "line 5" in last.reason
    with pytest.raises(GraphError, match="line 2"):
        read_text(tmp_path, "g.jsonl", text)
