import tracemalloc
import zipfile
from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from grnf import GRNF, GraphError
from grnf.io import read_blocks, read_graphs, read_tu
from grnf.io.files.tu_files import whole_numbers
from tu_sets import SHAPES, write_set

FILES = {
    "A": "1, 2\n2, 1\n1, 2\n3, 3\n4, 5\n5, 4\n",
    "graph_indicator": "1\n1\n2\n4\n4\n",
    "graph_labels": "1\n-1\n1\n1\n-1\n",
    "node_labels": "7\n5\n5\n7\n5\n",
    "node_attributes": "0.5, 1\n1, 2\n2, 3\n3, 4\n4, 5\n",
    "edge_labels": "0\n0\n0\n1\n1\n1\n",
}


@pytest.fixture
def folder(tmp_path):
    def write(name="DS", **changes):
        place = tmp_path / name
        place.mkdir(exist_ok=True)
        for suffix, text in {**FILES, **changes}.items():
            if text is None:
                (place / f"{name}_{suffix}.txt").unlink(missing_ok=True)
            else:
                (place / f"{name}_{suffix}.txt").write_text(text)
        return place

    return write


def test_reads_a_folder(folder):
    data = read_tu(folder())
    graphs = data.graphs
    assert data.y.tolist() == [1, -1, 1, 1, -1]
    assert graphs.sizes.tolist() == [2, 1, 0, 2, 0]  # graph 3 and the last have no nodes: they are kept
    assert not graphs.directed.any()
    assert graphs[0].edges.tolist() == [[0, 1]]  # repeated line: the same edge
    assert graphs[1].edges.tolist() == [[0, 0]]
    assert data.node_columns == ["attribute0", "attribute1", "label=5", "label=7"]
    assert graphs[0].node_attr.tolist() == [[0.5, 1, 0, 1], [1, 2, 1, 0]]
    assert data.edge_columns == ["label=0", "label=1"]
    assert graphs[3].edge_attr.tolist() == [[0, 1]]
    assert read_tu(folder(), node_attributes=False).graphs.node_width == 2


def test_arcs_without_their_reverse_are_directed(folder):
    graphs = read_tu(folder(A="1, 2\n", edge_labels=None)).graphs
    assert graphs.directed.all()
    graphs = read_tu(folder(A="1, 2\n2, 1\n", edge_labels="0\n1\n")).graphs
    assert graphs.directed.all()
    assert graphs[0].n_edges == 2


def test_reads_a_zip_with_odd_member_names(folder, tmp_path):
    expected = read_tu(folder()).graphs
    with zipfile.ZipFile(tmp_path / "DS.zip", "w") as archive:
        for suffix, text in FILES.items():
            archive.writestr(f"DS//DS_{suffix}.txt", text)
    found = read_tu(tmp_path / "DS.zip").graphs
    for a, b in zip(expected, found, strict=True):
        np.testing.assert_array_equal(a.tensor(), b.tensor())


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"A": "1, 2\n2, 9\n", "edge_labels": None}, "DS_A.txt, line 2: no such node"),
        ({"A": "1, 2\n2, 3\n", "edge_labels": None}, "DS_A.txt, line 2: an edge between two graphs"),
        ({"A": "1, x\n"}, "DS_A.txt, line 1: must be 2 whole numbers, got b'1, x'"),
        ({"A": "1, 2, 3\n"}, "DS_A.txt, line 1: must be 2 whole numbers, got b'1, 2, 3'"),
        ({"A": None}, "DS_A.txt is missing"),
        ({"graph_indicator": "1\n2\n1\n2\n2\n"}, "must ascend"),
        ({"graph_labels": "1\n"}, "1 graph labels for 4 graphs"),
        ({"node_labels": "1\n"}, r"DS_node_labels.txt: must have one line per node \(5\), got 1"),
        ({"graph_indicator": None}, "not a TU dataset"),
    ],
)
def test_damage_is_named(folder, changes, message):
    with pytest.raises(GraphError, match=message):
        read_tu(folder(**changes))


def test_missing_and_wrong_paths(tmp_path):
    with pytest.raises(GraphError, match="does not exist"):
        read_tu(tmp_path / "none.zip")
    (tmp_path / "text.zip").write_text("no archive")
    with pytest.raises(GraphError, match="neither a folder nor a zip"):
        read_tu(tmp_path / "text.zip")
    with zipfile.ZipFile(tmp_path / "SOME.zip", "w") as archive:
        archive.writestr("SOME_graph_indicator.txt", "1\n" * 1000)
    (tmp_path / "SOME.zip").write_bytes((tmp_path / "SOME.zip").read_bytes()[:500])
    with pytest.raises(GraphError, match=r"SOME.zip begins as a zip file, but its end is missing"):
        read_tu(tmp_path / "SOME.zip")


def assert_both_readers_agree(path):
    data, graphs = read_tu(path), list(read_graphs(path))
    assert len(graphs) == len(data.graphs)
    assert [graph.n_nodes for graph in graphs] == data.graphs.sizes.tolist()
    assert [graph.y for graph in graphs] == data.y.tolist()
    assert np.array_equal(np.concatenate([graph.edges for graph in graphs]), data.graphs.edges)
    labels = {name for name in data.node_columns if name.startswith("label=")}
    found = {f"label={label}" for graph in graphs for label in graph.node_columns.get("label", ())}
    assert found == labels


@pytest.mark.parametrize("name", SHAPES)
def test_both_readers(tmp_path, name):
    path = write_set(tmp_path, name)
    assert_both_readers_agree(path)
    batch, raws = read_tu(path).graphs, list(read_graphs(path))
    Z = GRNF(32, random_state=0).fit_transform(batch)
    again = GRNF(32, random_state=0).fit_transform(raws)  # categories in another order: other rounding
    np.testing.assert_allclose(again, Z, rtol=1e-4, atol=1e-6)


def test_shapes_have_the_oddities_of_real_sets(tmp_path):
    assert "MUTAG//MUTAG_A.txt" in zipfile.ZipFile(write_set(tmp_path, "MUTAG")).namelist()
    twice = zipfile.ZipFile(write_set(tmp_path, "IMDB-BINARY")).read("IMDB-BINARY//IMDB-BINARY_A.txt")
    assert set(Counter(twice.splitlines()).values()) == {2}
    collab = read_tu(write_set(tmp_path, "COLLAB")).graphs
    assert (collab.edges[:, 0] == collab.edges[:, 1]).any()
    assert 0 in read_tu(write_set(tmp_path, "Fingerprint")).graphs.sizes
    (graph, *_) = read_graphs(write_set(tmp_path, "PTC_MR"))
    assert len(graph.edge_columns["label"]) == len(graph.edges)


@pytest.mark.parametrize("name", ["PROTEINS_full", "ENZYMES", "IMDB-BINARY", "MUTAG", "PTC_MR"])
def test_both_readers_of_real_sets(shared, name):
    """Their facts are tested in tests/datasets."""
    assert_both_readers_agree(shared / "data" / "tu" / f"{name}.zip")


@settings(max_examples=300)
@given(text=st.text("12,\n -3", max_size=12))
def test_fast_lines_of_whole_numbers_are_what_int_reads(text):
    block = text.encode() + b"\n"
    table = whole_numbers(block)
    if table is not None:
        assert table.tolist() == [[int(field) for field in line.split(",")] for line in text.split("\n")]


@given(
    table=st.integers(1, 4).flatmap(
        lambda width: st.lists(
            st.lists(st.integers(0, 2**61), min_size=width, max_size=width), min_size=1, max_size=5
        )
    ),
    comma=st.sampled_from([",", ", "]),
    end=st.sampled_from(["\n", "\r\n"]),
)
def test_usual_lines_take_the_fast_way(table, comma, end):
    text = "".join(comma.join(map(str, row)) + end for row in table)
    assert whole_numbers(text.encode()).tolist() == table


def labelled(folder, count):
    """Write one graph of isolated loops, each node with a label of its own."""
    nodes = range(1, count + 1)
    return folder(
        A="".join(f"{node}, {node}\n" for node in nodes),
        graph_indicator="1\n" * count,
        graph_labels="1\n",
        node_labels="".join(f"{node}\n" for node in nodes),
        node_attributes=None,
        edge_labels=None,
    )


def test_many_labels_are_categories(folder):
    """41,325 labels as one-hot columns would take 12.7 GiB here."""
    path = labelled(folder, 41_325)
    tracemalloc.start()
    try:
        graphs = read_tu(path).graphs
        assert sum(len(block) for block in read_blocks(path)) == 1
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 100_000_000
    assert graphs.node_width == 0
    assert graphs.node_codes.values.shape == (41_325, 1)
    assert len(graphs.node_codes.keys) == 41_325


def test_many_labels_give_the_vectors_of_open_categories(folder):
    path = labelled(folder, 300)
    Z, again = (
        GRNF(8, random_state=0).fit_transform(each)
        for each in (read_tu(path).graphs, list(read_graphs(path)))
    )
    np.testing.assert_allclose(Z, again, rtol=1e-5)
