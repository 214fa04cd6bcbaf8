"""What is written comes back: everything that a format carries, for every format that can be written."""

import tempfile
from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from grnf import Graph, GraphError
from grnf.io import FORMATS, RawGraph, read_graphs, write_graphs
from optional import require, require_format
from raw_graphs import assert_same, canonical_edges, raw_graphs

EVERY_KIND = ("float", "int", "bool", "text", "vector", "mixed")
PLAIN_KINDS = ("float", "int", "bool", "text")


def through(graphs, suffix):
    require_format(suffix)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / f"graphs{suffix}"
        assert write_graphs(path, graphs) == len(graphs)
        assert [file.name for file in Path(folder).iterdir()] == [path.name]  # no leftovers
        return list(read_graphs(path))


def in_order(graph):
    """Sort the edges, whose order networkx does not keep."""
    edges = graph.edges if graph.directed else np.sort(graph.edges, axis=1)
    order = np.lexsort((edges[:, 1], edges[:, 0]))
    columns = {name: values[order] for name, values in graph.edge_columns.items()}
    return replace(graph, edges=edges[order], edge_columns=columns)


def check(graphs, suffix, exact=True, arrange=lambda graph: graph):
    found = through(graphs, suffix)
    assert len(found) == len(graphs)
    for one, other in zip(found, graphs, strict=True):
        assert_same(arrange(one), arrange(other), exact=exact)


@pytest.mark.slow
@pytest.mark.parametrize("suffix", [".parquet", ".npz"])
@given(graphs=st.lists(raw_graphs(EVERY_KIND), max_size=4))
def test_own_formats_carry_everything(suffix, graphs):
    check(graphs, suffix)


DOCUMENTS = {  # what they carry, how many graphs of what kind
    ".jsonl": (PLAIN_KINDS, 3, {}),
    ".json": (PLAIN_KINDS, 3, {}),
    ".jsonl.gz": (PLAIN_KINDS, 3, {}),
    ".graphml": (PLAIN_KINDS, 3, {}),
    ".gml": (("float", "int", "text"), 3, {}),
    ".gexf": (PLAIN_KINDS, 1, {"y": False, "graph_id": False}),
}


@pytest.mark.parametrize("suffix", DOCUMENTS)
@given(data=st.data())
def test_documents_carry_names_numbers_vectors_and_texts(suffix, data):
    kinds, most, others = DOCUMENTS[suffix]
    graphs = raw_graphs((*kinds, "vector"), **others)
    arrange = (lambda graph: graph) if "json" in suffix else in_order
    check(data.draw(st.lists(graphs, min_size=1, max_size=most)), suffix, exact=False, arrange=arrange)


@given(graph=raw_graphs(y=False, graph_id=False), weighted=st.booleans(), data=st.data())
def test_edge_lists_carry_weights_and_direction(graph, weighted, data):
    if weighted and len(graph.edges):
        numbers = st.floats(allow_nan=False, allow_infinity=False)
        weights = data.draw(st.lists(numbers, min_size=len(graph.edges), max_size=len(graph.edges)))
        graph = replace(graph, edge_columns={"weight": np.array(weights)})
    check([graph], ".edgelist")


@pytest.mark.parametrize(
    ("suffix", "kind"),
    [
        (".g6", {"directed": False, "loops": False, "repeats": False}),
        (".s6", {"directed": False}),
        (".d6", {"directed": True, "repeats": False}),
    ],
)
@given(data=st.data())
def test_graph6_family_carries_structure(suffix, kind, data):
    graphs = data.draw(st.lists(raw_graphs(y=False, graph_id=False, **kind), max_size=4))
    found = through(graphs, suffix)
    assert [graph.n_nodes for graph in found] == [graph.n_nodes for graph in graphs]
    assert [graph.directed for graph in found] == [graph.directed for graph in graphs]
    assert [canonical_edges(graph) for graph in found] == [canonical_edges(graph) for graph in graphs]


EXAMPLES = {
    "empty columns": RawGraph(
        0, np.empty((0, 2), dtype=np.int64), {"x": np.empty((0, 3)), "t": np.empty(0, object)}
    ),
    "all missing": RawGraph(2, np.array([[0, 1]]), {"t": np.array([None, None], dtype=object)}),
    "small types": RawGraph(
        2,
        np.array([[1, 0]]),
        {"a": np.array([1, 2], dtype=np.uint8), "b": np.array([0.5, 1], dtype=np.float32)},
    ),
    "vector target": RawGraph(1, np.array([[0, 0]]), y=[1.5, 2.5], directed=True),
    "no width": RawGraph(2, np.array([[1, 0]]), {"x": np.empty((2, 0))}),
    "half a surrogate": RawGraph(1, np.array([[0, 0]]), {"t": np.array(["\ud800"], dtype=object)}),
}


@pytest.mark.parametrize("suffix", [".parquet", ".npz"])
@pytest.mark.parametrize("name", EXAMPLES)
def test_odd_graphs_in_own_formats(suffix, name):
    graph = EXAMPLES[name]
    if name == "half a surrogate" and suffix == ".parquet":
        with pytest.raises(GraphError, match="does not fit in Parquet"):
            through([graph], suffix)
        return
    (found,) = through([graph], suffix)
    if name == "vector target":
        assert found.y.tolist() == graph.y
        found = replace(found, y=graph.y)
    assert_same(found, graph)


@pytest.mark.parametrize("suffix", [".parquet", ".npz", ".jsonl", ".json", ".graphml", ".gml", ".gexf"])
def test_graphs_of_the_library_are_written_too(suffix):
    graph = Graph(3, [(0, 1), (1, 2)], node_attr=[[1.0, 2], [3, 4], [5, 6]], edge_attr=[0.5, 0.0])
    (found,) = through([graph], suffix)
    np.testing.assert_array_equal(np.column_stack(list(found.node_columns.values())), graph.node_attr)
    np.testing.assert_array_equal(np.column_stack(list(found.edge_columns.values())), graph.edge_attr)


@pytest.mark.parametrize(
    "name", [name for name, entry in FORMATS.items() if entry.can_write and name not in ("smi", "smiles")]
)
def test_nothing_is_dropped_in_silence(name, tmp_path):
    require_format(name)
    entry = FORMATS[name]
    graph = RawGraph(2, np.array([[0, 1]]), {"x": np.array([1.0, 2.0])}, {"w": np.array([1.0])}, True, "a", 3)
    path = tmp_path / f"graph{entry.suffixes[0]}"
    missing = {"attributes", "y", "directed"} - entry.carries
    if missing:
        with pytest.raises(GraphError, match=r"graph 0: .* cannot be written as .* lossy=True"):
            write_graphs(path, [graph], format=name)
        assert not list(tmp_path.iterdir())
    assert write_graphs(path, [graph], format=name, lossy=True) == 1
    (found,) = read_graphs(path, format=name)
    assert found.n_nodes == 2
    assert found.directed == ("directed" in entry.carries)
    assert found.y == (3 if "y" in entry.carries else None)
    assert set(found.node_columns) == ({"x"} if "attributes" in entry.carries else set())


def test_parquet_reads_as_a_hugging_face_data_set(tmp_path):
    pq = require("pyarrow.parquet")
    graph = RawGraph(
        3, np.array([[0, 1], [2, 2]]), {"x": np.array([1, 2, 3])}, {"w": np.array([0.5, 1.5])}, y=1
    )
    write_graphs(tmp_path / "a.parquet", [graph])
    (row,) = pq.read_table(tmp_path / "a.parquet").to_pylist()
    assert row["edge_index"] == [[0, 2, 1], [1, 2, 0]]  # both arcs; the loop once
    assert row["edge_attr"] == [[0.5], [1.5], [0.5]]
    assert row["node_feat"] == [[1.0], [2.0], [3.0]]
    assert row["y"] == [1.0]
    assert row["num_nodes"] == 3


@pytest.mark.parametrize("suffix", [".graphml", ".gml", ".gexf"])
def test_vectors_become_columns_whose_names_sort(tmp_path, suffix):
    """Other programs see columns; read here they are a vector again."""
    nx = require("networkx")
    graph = RawGraph(2, np.array([[0, 1]]), {"x": np.arange(24.0).reshape(2, 12)})
    write_graphs(tmp_path / f"a{suffix}", [graph])
    read = {".graphml": nx.read_graphml, ".gexf": nx.read_gexf, ".gml": partial(nx.read_gml, label="id")}
    for row, (_, seen) in enumerate(read[suffix](tmp_path / f"a{suffix}").nodes(data=True)):
        names = sorted(name for name in seen if name.startswith("x_"))
        assert [seen[name] for name in names] == graph.node_columns["x"][row].tolist()
    (found,) = read_graphs(tmp_path / f"a{suffix}")
    assert_same(found, graph)


@pytest.mark.parametrize("suffix", [".graphml", ".gml", ".gexf"])
def test_columns_that_are_called_like_parts_of_a_vector_stay_as_they_are(tmp_path, suffix):
    require_format(suffix)
    columns = {"a_0": np.array([1.0, 2.0]), "a_1": np.array([3.0, 4.0]), "b_0": np.array([1, 2])}
    graph = RawGraph(
        2, np.array([[0, 1]]), {**columns, "x": np.array([[1.5, np.nan, 3], [np.nan, np.nan, 6]])}
    )
    write_graphs(tmp_path / f"a{suffix}", [graph])
    (found,) = read_graphs(tmp_path / f"a{suffix}")
    assert_same(found, graph)


@pytest.mark.parametrize("suffix", [".graphml", ".gml"])
def test_each_graph_of_a_file_has_its_own_vectors(tmp_path, suffix):
    require_format(suffix)
    edges = np.array([[0, 1]])
    apart = {"x_0": np.array([1.0, 2.0]), "x_1": np.array([3.0, 4.0])}
    graphs = [
        RawGraph(2, edges, {"x": np.arange(4.0).reshape(2, 2)}),
        RawGraph(2, edges, apart),
        RawGraph(2, edges, {"x": np.arange(6.0).reshape(2, 3)}),
        RawGraph(2, edges, {"x": np.array([[1.0], [2.0]])}),
    ]
    write_graphs(tmp_path / f"a{suffix}", graphs)
    for found, graph in zip(read_graphs(tmp_path / f"a{suffix}"), graphs, strict=True):
        assert_same(found, graph)


def test_widths_that_nothing_stands_behind_are_not_believed(tmp_path):
    require_format("gml")
    text = 'graph [ vectors [ node [ x 900000000 y 2 ] ] node [ id 0 x_0 1.5 y_0 1 y_1 "a" ] ]'
    (tmp_path / "a.gml").write_text(text)
    (found,) = read_graphs(tmp_path / "a.gml")
    assert list(found.node_columns) == ["x_0", "y_0", "y_1"]


@st.composite
def tu_graphs(draw):
    """Graphs as a TU set has them: one kind of direction, labels and target for all."""
    directed, target = draw(st.booleans()), draw(st.sampled_from([None, "whole", "real"]))
    numbers = {None: st.none(), "whole": st.integers(-5, 5), "real": st.floats(-9, 9)}[target]
    graphs = draw(st.lists(raw_graphs(directed=directed, repeats=False, y=False), max_size=4))
    labels = st.integers(-9, 99).map(str)

    def column(count):
        array = np.empty(count, dtype=object)
        array[:] = draw(st.lists(labels, min_size=count, max_size=count))
        return {"label": array, "attributes": np.arange(2.0 * count).reshape(count, 2) / 3} if count else {}

    last = RawGraph(2, np.array([[0, 1]]), directed=directed)
    return [
        replace(
            graph,
            graph_id=str(index + 1),
            y=draw(numbers),
            node_columns=column(graph.n_nodes),
            edge_columns={"label": column(len(graph.edges))["label"]} if len(graph.edges) else {},
        )
        for index, graph in enumerate([*graphs, last])
    ]


@settings(max_examples=50)
@given(graphs=tu_graphs())
def test_tu_sets_carry_labels_attributes_and_targets(graphs):
    for found, wanted in zip(through(graphs, ".zip"), map(in_order, graphs), strict=True):
        if not len(wanted.edges):  # the columns of the set, with no entries
            found = replace(found, edge_columns={})
        if not wanted.n_nodes:
            found = replace(found, node_columns={})
        assert_same(found, wanted)
