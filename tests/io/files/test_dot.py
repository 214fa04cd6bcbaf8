"""DOT of Graphviz: names, values, defaults, subgraphs, several graphs, faults one by one."""

import pytest

from grnf import GRNF, GraphError
from grnf.io import BadGraph, read_graphs
from grnf.io.files.reading import guess_format

CONTROL_FLOW = r"""
# made by a compiler
digraph "CFG for 'main' function" {
	label="CFG for 'main' function"; y = 3
	Node0x1 [shape=record,color="#b70d28ff",label="{entry:\l  %1 = \"a\"\l|{<s0>T|<s1>F}}"];
	Node0x1:s0 -> Node0x2[weight=2];  // true
	Node0x1:s1:sw -> Node0x3 [weight="0.5"]
	/* the end -> { */
}
"""


def read(tmp_path, text, **how):
    path = tmp_path / "a.dot"
    path.write_text(text)
    return list(read_graphs(path, **how))


def columns(graph):
    return (
        {name: values.tolist() for name, values in graph.node_columns.items()},
        {name: values.tolist() for name, values in graph.edge_columns.items()},
    )


@pytest.mark.parametrize("name", ["a.dot", "a.gv"])
def test_a_graph_of_a_compiler(tmp_path, name):
    (tmp_path / name).write_text(CONTROL_FLOW)
    assert guess_format(tmp_path / name) == "dot"
    (graph,) = read_graphs(tmp_path / name)
    assert (graph.n_nodes, graph.directed, graph.y) == (3, True, 3)
    assert (graph.graph_id, graph.edges.tolist()) == ("CFG for 'main' function", [[0, 1], [0, 2]])
    label = r"{entry:\l  %1 = " + '"a"' + r"\l|{<s0>T|<s1>F}}"
    assert columns(graph) == (
        {
            "shape": ["record", None, None],
            "color": ["#b70d28ff", None, None],
            "label": [label, None, None],
        },
        {"weight": [2.0, 0.5]},
    )
    assert GRNF(4, random_state=0, handle_missing="zero").fit_transform([graph]).shape == (1, 4)


@pytest.mark.parametrize(
    ("body", "n_nodes", "edges"),
    [
        ("", 0, []),
        ("a; b c, d", 4, []),
        ("a -- b -- c -- a", 3, [[0, 1], [1, 2], [2, 0]]),
        ("a -- {b c}", 3, [[0, 1], [0, 2]]),  # nodes are numbered as they are met
        ("{a b} -- {c d}", 4, [[0, 2], [0, 3], [1, 2], [1, 3]]),
        ("subgraph s {a b}; c -- subgraph s", 3, [[2, 0], [2, 1]]),
        ("subgraph s {a; {b}} subgraph s {c}; d -- subgraph s", 4, [[3, 0], [3, 1], [3, 2]]),
        ("a -- b; a -- b; b -- a; a -- a", 2, [[0, 1], [0, 1], [1, 0], [0, 0]]),
        ("1--2; -3.5--.5; 1 -- 1.0", 5, [[0, 1], [2, 3], [0, 4]]),
        ('a -- "a"; "b" + "c" -- bc; "x\\\ny" -- xy', 3, [[0, 0], [1, 1], [2, 2]]),
        ("<<b>1</b>> -- <<b>1</b>>; ü -- Ü_1", 3, [[0, 0], [1, 2]]),
    ],
)
def test_nodes_and_edges(tmp_path, body, n_nodes, edges):
    (graph,) = read(tmp_path, f"graph {{ {body} }}")
    assert (graph.n_nodes, graph.directed, graph.graph_id) == (n_nodes, False, None)
    assert graph.edges.tolist() == edges
    (again,) = read(tmp_path, f"GRAPH {{\n# {{\n{body}\n// {{\n}}".replace(";", ";\n"))
    assert again.edges.tolist() == graph.edges.tolist()


def test_values_and_defaults(tmp_path):
    (graph,) = read(
        tmp_path,
        """digraph g {
        a [x=1]; node [x=2, kind=big]; b; edge [w=5]
        subgraph inner { node [x=3] edge [w=6] c -> a; d [x="4"; bold] [kind=small] }
        e -> f [w=7 colour="dark red"]; a [x=10]; b -> a
        c [label=c] d [label="\\N"] 7 [label="7"] e [label=E]
        }""",
    )
    nodes, edges = columns(graph)
    assert nodes == {
        "x": [10, 2, 3, 4, 2, 2, 2],
        "kind": [None, "big", "big", "small", "big", "big", "big"],
        "bold": [None, None, None, "true", None, None, None],
        "label": [None, None, None, None, "E", None, None],
    }
    assert graph.edges.tolist() == [[2, 0], [4, 5], [1, 0]]
    assert edges == {"w": [6, 7, 5], "colour": [None, "dark red", None]}


@pytest.mark.parametrize(("kind", "arrow", "left"), [("graph", "--", 2), ("digraph", "->", 3)])
def test_strict_graphs_have_each_edge_once(tmp_path, kind, arrow, left):
    body = f"a {arrow} b [x=1]; a {arrow} b [y=2]; b {arrow} a [x=3]; a {arrow} a"
    (graph,) = read(tmp_path, f"strict {kind} {{ {body} }}")
    assert len(graph.edges) == left
    assert columns(graph)[1]["y"][0] == 2
    (plain,) = read(tmp_path, f"{kind} {{ {body} }}")
    assert len(plain.edges) == 4


def test_several_graphs(tmp_path):
    (whole,) = read(tmp_path, CONTROL_FLOW)
    found = read(tmp_path, CONTROL_FLOW * 2 + "graph second{a--<x<y>z>--b}digraph{-1->2.5}")
    assert [graph.graph_id for graph in found] == [whole.graph_id] * 2 + ["second", None]
    assert all(columns(graph) == columns(whole) for graph in found[:2])
    assert [graph.n_nodes for graph in found] == [3, 3, 3, 2]
    assert read(tmp_path, "// nothing\n") == []


FAULTS = {
    "a -> b": "line 2: expected '--' between the nodes of a graph, got '->'",
    "a -- ": "expected a name or a value, got '}'",
    "a [x=]": "expected a name or a value, got ']'",
    "a -- node": "got 'node'",
    "a ~ b": "got '~'",
    "1a": "got '1'",
    'a + "b"': "got '+'",
    '"a" + b': "expected a text in quotes after '+', got 'b'",
    "{" * 70 + "}" * 70: "nested more than 64 deep",
    "subgraph s {"
    + " ".join(map(str, range(1001)))
    + "} subgraph s -- subgraph s": "more than 1000000 edges",
}


@pytest.mark.parametrize("body", FAULTS)
def test_faults(tmp_path, body):
    """A damaged file is one error; the graphs before it are read."""
    text = f"graph one {{ a }}\ngraph two {{ {body} }}\ngraph three {{ c }}"
    with pytest.raises(GraphError) as error:
        read(tmp_path, text)
    assert FAULTS[body] in str(error.value)
    assert error.value.where == f"{tmp_path / 'a.dot'}, line 2"
    found = read(tmp_path, text, on_error="yield")
    assert [isinstance(graph, BadGraph) for graph in found] == [False, True]
    assert FAULTS[body] in found[1].reason


@pytest.mark.parametrize(
    "text",
    ["hello", "digraph", "graph {", "graph { a -- b", 'graph { "a }', "graph { <a> -- <b }", "graph { /* }"],
)
def test_files_that_end_too_early(tmp_path, text):
    with pytest.raises(GraphError, match=r"a\.dot, line 1: expected .*, got"):
        read(tmp_path, text)
    found = read(tmp_path, "graph { a }" + text, on_error="yield")
    assert [isinstance(graph, BadGraph) for graph in found] == [False, True]
