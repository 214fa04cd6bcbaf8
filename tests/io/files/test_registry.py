import io
import sys
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from grnf import Graph, GraphError
from grnf.io import (
    FORMATS,
    BadGraph,
    Format,
    RawGraph,
    read_blocks,
    read_graphs,
    register_format,
    write_graphs,
)
from grnf.io.files import formats
from grnf.io.files.file import each_record, line_records
from grnf.io.files.formats import table_of_formats
from grnf.io.files.reading import guess_format
from optional import require
from tu_sets import write_set

pd = require("pandas")

PATH = Graph(3, [(0, 1), (1, 2)])


@pytest.mark.parametrize("entry", FORMATS.values(), ids=FORMATS)
def test_the_table_of_formats(entry):
    assert entry.description
    for suffix in entry.suffixes:
        if entry.name not in ("smiles", "edge-table", "matrices"):  # told apart by what they hold
            assert guess_format(f"somewhere/file{suffix}") == entry.name
            assert guess_format(f"FILE{suffix.upper()}") == entry.name
            assert guess_format(f"file{suffix}.gz") == entry.name


def test_the_table_of_formats_stands_in_the_documentation():
    text = (Path(__file__).parents[3] / "docs" / "guides" / "files.md").read_text()
    for row in table_of_formats():
        assert f"| {' | '.join(row)} |\n" in text


def read_stars(file, *, on_error="raise"):
    def star(line):
        return RawGraph(int(line) + 1, np.array([[0, leaf + 1] for leaf in range(int(line))]))

    return each_record(line_records(file, 100), star, on_error)


STARS = Format("stars", "leaves per line", (".stars",), read_stars, lost="all")


@pytest.fixture
def restored():
    yield
    del FORMATS["stars"]


@pytest.mark.usefixtures("restored")
def test_registered_formats(tmp_path):
    register_format(STARS)
    (tmp_path / "a.stars").write_text("2\n3\n")
    assert [graph.n_nodes for graph in read_graphs(tmp_path / "a.stars")] == [3, 4]
    assert [len(block) for block in read_blocks(tmp_path, format="stars")] == [2]
    assert ("stars", ".stars", "grnf", "yes", "no", "") in table_of_formats()
    with pytest.raises(GraphError, match="a format called 'stars' exists"):
        register_format(STARS)
    with pytest.raises(GraphError, match=r"begin with a point, got \['stars'\]"):
        register_format(replace(STARS, name="other", suffixes=("stars",)))


@pytest.mark.usefixtures("restored")
def test_formats_of_installed_packages(monkeypatch):
    points = [
        SimpleNamespace(name="stars", load=lambda: STARS),
        SimpleNamespace(name="broken", load=lambda: 1 / 0),
    ]
    monkeypatch.setattr(formats, "entry_points", lambda group: points if group == "grnf.formats" else [])
    with pytest.warns(UserWarning, match="format 'broken' was not registered: division by zero"):
        formats._register_installed()
    assert "stars" in FORMATS


@pytest.mark.parametrize("name", ["file", "file.docx", "file.gz", "-"])
def test_what_cannot_be_guessed(name):
    with pytest.raises(GraphError, match="format="):
        guess_format(name)


def test_wrong_arguments(tmp_path):
    write_graphs(tmp_path / "a.g6", [PATH])
    with pytest.raises(GraphError, match=r"no format 'graph7'\. Available: parquet, npz"):
        read_graphs(tmp_path / "a.g6", format="graph7")
    with pytest.raises(GraphError, match="format graph6 has no option 'directed'"):
        read_graphs(tmp_path / "a.g6", directed=True)
    with pytest.raises(GraphError, match="does not exist"):
        read_graphs(tmp_path / "b.g6")
    with pytest.raises(ValueError, match="on_error must be"):
        read_graphs(tmp_path / "a.g6", on_error="skip")
    with pytest.raises(GraphError, match=r"format graph6-npy cannot be written\. Write one of parquet"):
        write_graphs(tmp_path / "a.npy", [PATH])
    for format in (None, "smiles"):
        with pytest.raises(GraphError, match=r"cannot be written\. Write \.csv"):
            write_graphs(tmp_path / "a.xlsx", [PATH], format=format)
    with pytest.raises(GraphError, match="npz files are packed already"):
        write_graphs(tmp_path / "a.npz.gz", [PATH])
    with pytest.raises(GraphError, match="gexf has one graph per file"):
        write_graphs(tmp_path / "a.gexf", [PATH, PATH])
    with pytest.raises(GraphError, match=r"must be a grnf.Graph or grnf.io.RawGraph, got str"):
        write_graphs(tmp_path / "a.npz", ["C"])
    with pytest.raises(GraphError, match="graph 0: it could not be read: why"):
        write_graphs(tmp_path / "a.npz", [BadGraph(None, 0, "why")])
    with pytest.raises(GraphError, match="graph 0: node column 'x' has 1 entries for 3 nodes"):
        write_graphs(tmp_path / "a.npz", [RawGraph(3, np.array([[0, 1]]), {"x": np.zeros(1)})])
    assert [file.name for file in tmp_path.iterdir()] == ["a.g6"]


@pytest.mark.parametrize("suffix", [".graphml", ".gml", ".gexf", ".json", ".edgelist", ".edgelist.gz"])
def test_folders_of_files(tmp_path, suffix):
    for name, n in (("b", 2), ("a", 1), ("c", 3)):
        write_graphs(tmp_path / f"{name}{suffix}", [Graph(n, [])])
    (tmp_path / ".hidden").write_text("nothing")
    (tmp_path / "notes.md").write_text("nothing")
    (tmp_path / "inner").mkdir()
    graphs = list(read_graphs(tmp_path))
    assert [graph.n_nodes for graph in graphs] == [1, 2, 3]
    assert [graph.graph_id for graph in graphs] == ["a", "b", "c"]
    (tmp_path / f"b{suffix}").write_bytes(b"\x00\xff")
    with pytest.raises(GraphError, match=f"b{suffix}"):
        list(read_graphs(tmp_path))
    one, bad, three = read_graphs(tmp_path, on_error="yield")
    assert (bad.graph_id, bad.index) == ("b", 1)
    assert (one.n_nodes, three.n_nodes) == (1, 3)


def test_folders_of_parquet_files(tmp_path):
    write_graphs(tmp_path / "1.parquet", [PATH, PATH])
    write_graphs(tmp_path / "2.parquet", [PATH])
    assert len(list(read_graphs(tmp_path))) == 3
    for name in ("1.parquet", "2.parquet", "a file"):  # SMILES instead, known by their columns
        pd.DataFrame({"smiles": ["C", "CC"]}).to_parquet(tmp_path / name)
    assert [graph.n_nodes for graph in read_graphs(tmp_path)] == [1, 2, 1, 2]
    assert len(list(read_graphs(tmp_path / "a file", format="smiles"))) == 2


def test_links_in_folders(tmp_path):
    write_graphs(tmp_path / "a.gml", [PATH])
    (tmp_path / "b.gml").symlink_to(tmp_path / "a.gml")
    assert len(list(read_graphs(tmp_path))) == 2
    (tmp_path / "c.gml").symlink_to(tmp_path / "nowhere.gml")
    with pytest.raises(FileNotFoundError):
        list(read_graphs(tmp_path, format="gml"))


@pytest.mark.parametrize("name", ["graph6", "parquet"])
def test_compressed_files_are_known_by_their_content(tmp_path, monkeypatch, name):
    write_graphs(tmp_path / "file.gz", [PATH], format=name)
    assert next(read_graphs(tmp_path / "file.gz", format=name)).n_nodes == 3
    (tmp_path / "file.gz").rename(tmp_path / "file")
    assert (tmp_path / "file").read_bytes()[:2] == b"\x1f\x8b"
    assert next(read_graphs(tmp_path / "file", format=name)).n_nodes == 3
    stream = io.BufferedReader(io.BytesIO((tmp_path / "file").read_bytes()))
    monkeypatch.setattr(sys, "stdin", SimpleNamespace(buffer=stream))
    assert next(read_graphs("-", format=name)).n_nodes == 3


def test_folders_that_are_unclear(tmp_path):
    with pytest.raises(GraphError, match="expected files in the same format, found none"):
        read_graphs(tmp_path)
    write_graphs(tmp_path / "a.g6", [PATH])
    write_graphs(tmp_path / "a.gml", [PATH])
    with pytest.raises(GraphError, match="found gml, graph6"):
        read_graphs(tmp_path)
    assert len(list(read_graphs(tmp_path, format="gml"))) == 1
    with pytest.raises(GraphError, match="no files of format json"):
        read_graphs(tmp_path, format="json")


@pytest.mark.parametrize("name", [name for name, entry in FORMATS.items() if entry.writer and name != "smi"])
def test_standard_input_and_output(monkeypatch, name):
    directed = name == "digraph6"
    graph = Graph(3, [(0, 1), (1, 2)], directed=directed)
    out = io.BytesIO()
    monkeypatch.setattr(sys, "stdout", SimpleNamespace(buffer=out))
    assert write_graphs("-", [graph], format=name) == 1
    monkeypatch.setattr(sys, "stdin", SimpleNamespace(buffer=io.BytesIO(out.getvalue())))
    (found,) = read_graphs("-", format=name)
    assert found.n_nodes == 3
    assert found.directed == directed
    assert found.edges.tolist() == [[0, 1], [1, 2]]


def test_a_bad_graph_of_a_tu_set(tmp_path):
    files = {"A": "1, 1\n", "graph_indicator": "1\n2\n", "node_attributes": "1\ninf\n"}
    for name, text in files.items():
        (tmp_path / f"DS_{name}.txt").write_text(text)
    with pytest.raises(GraphError, match="graph 2: node column 'attributes' is infinite"):
        list(read_graphs(tmp_path))
    good, bad = read_graphs(tmp_path, on_error="yield")
    assert good.n_nodes == 1
    assert (bad.graph_id, bad.index) == ("2", 1)


def test_tu_graphs_have_labels_as_categories(tmp_path):
    graph = next(read_graphs(write_set(tmp_path, "ENZYMES")))
    assert graph.node_columns["label"].dtype == object
    assert set(graph.node_columns["label"]) <= {"1", "2", "3"}
    assert graph.node_columns["attributes"].shape == (graph.n_nodes, 18)
    assert graph.y == 6
    assert graph.graph_id == "1"


def test_reading_is_lazy_and_closes_the_file(tmp_path):
    (tmp_path / "a.g6").write_bytes(b"Bw\n" * 10 + b"\xff\n")
    graphs = read_graphs(tmp_path / "a.g6")
    assert next(graphs).n_nodes == 3  # the bad line is far away
    graphs.close()
