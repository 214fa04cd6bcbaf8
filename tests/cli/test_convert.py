import json

import numpy as np
import pytest

from cli.lines_format import PATH, TRIANGLE, UNREADABLE, write_lines
from grnf.io import RawGraph
from grnf.io.losses import losses
from optional import require

LABELLED = {**PATH, "node_columns": {"charge": [0, 1, 2]}, "edge_columns": {"weight": [0.5, 1.5]}}


def test_nothing_is_lost(call_lines, tmp_path):
    source = write_lines(tmp_path / "g.lines", [TRIANGLE, LABELLED])
    result = call_lines("convert", source, tmp_path / "h.lines", "--json", "--strict")
    answer = {"graphs": 2, "output": str(tmp_path / "h.lines"), "lost": {}, "bad": []}
    assert json.loads(result.stdout) == answer
    assert result.stderr == ""
    assert sorted(path.name for path in tmp_path.iterdir()) == ["g.lines", "h.lines"]


def test_what_is_lost_is_said(call_lines, tmp_path):
    source = write_lines(tmp_path / "g.lines", [TRIANGLE, LABELLED])
    result = call_lines("convert", source, tmp_path / "h.bare")
    assert result.stdout == f"2 graphs: {tmp_path / 'h.bare'}\n"
    assert result.stderr == (
        f"grnf: {tmp_path / 'h.bare'} cannot hold "
        "edge attribute 'weight' (1 graph), graph_id (2 graphs), "
        "node attribute 'charge' (1 graph), y (2 graphs)\n"
    )
    result = call_lines("convert", source, tmp_path / "strict.bare", "--strict", code=1)
    assert not (tmp_path / "strict.bare").exists()


def test_from_standard_input_to_standard_output(fork, tmp_path):
    source = write_lines(tmp_path / "g.lines", [TRIANGLE])
    with_lines = "import lines_format; lines_format.install()"
    options = "--format", "lines", "--to", "lines", "-q"
    result = fork(with_lines, "convert", "-", "-", *options, stdin=source)
    assert result.stderr == ""
    assert json.loads(result.stdout)["edges"] == TRIANGLE["edges"]


def test_bad_graphs(call_lines, tmp_path):
    source = write_lines(tmp_path / "g.lines", [TRIANGLE, UNREADABLE, PATH])
    output = tmp_path / "h.lines"
    output.write_text("old")
    result = call_lines("convert", source, output, "--force", code=1)
    assert result.stderr == f"grnf: {source}, line 2: no such thing\n"
    assert output.read_text() == "old"
    result = call_lines("convert", source, output, "--force", "--on-error", "skip", "--json")
    assert json.loads(result.stdout)["bad"][0]["graph_id"] == "lost"
    assert "1 graph could not be used (left out)" in result.stderr
    assert len(output.read_text().splitlines()) == 2


def test_a_folder_that_does_not_exist(call_lines, tmp_path):
    source = write_lines(tmp_path / "g.lines", [TRIANGLE])
    result = call_lines("convert", source, tmp_path / "none" / "x.lines", code=1)
    assert result.stderr.count("\n") == 1


SQUARE = np.array([[0, 1], [1, 2], [2, 3], [3, 0]])
WEIGHTS = np.array([1.0, 2.0, 3.0, 4.0])


@pytest.mark.parametrize(
    ("after", "lost"),
    [
        (RawGraph(4, SQUARE[::-1], edge_columns={"w": WEIGHTS[::-1]}), set()),
        (RawGraph(4, SQUARE[:, ::-1], edge_columns={"w": WEIGHTS.astype(int)}), set()),
        (RawGraph(4, SQUARE, edge_columns={"w": WEIGHTS[::-1]}), {"edge attribute 'w'"}),
        (RawGraph(4, SQUARE, edge_columns={"v": WEIGHTS}), {"edge attribute 'w'"}),
        (RawGraph(4, SQUARE[:3], edge_columns={"w": WEIGHTS[:3]}), {"edges"}),
        (RawGraph(5, SQUARE, edge_columns={"w": WEIGHTS}), {"the number of nodes"}),
        (RawGraph(4, SQUARE, edge_columns={"w": WEIGHTS}, directed=True), {"direction"}),
    ],
)
def test_losses(after, lost):
    assert losses(RawGraph(4, SQUARE, edge_columns={"w": WEIGHTS}), after) == lost


def test_missing_values_and_labels_compare():
    before = RawGraph(
        2, SQUARE[:0], {"a": np.array([1.0, np.nan]), "b": np.array(["x", None])}, y=np.int64(1)
    )
    after = RawGraph(2, SQUARE[:0], {"a": np.array([1, None]), "b": np.array(["x", None])}, y=1.0)
    assert losses(before, after) == set()
    assert losses(before, RawGraph(2, SQUARE[:0], before.node_columns, y=2)) == {"y"}


def test_files_beside_the_output(call, tmp_path):
    source = tmp_path / "two.jsonl"
    edges = {"directed": True, "links": [{"source": 0, "target": 1, "weight": 2}]}
    nodes = {"nodes": [{"id": 0, "kind": "a"}, {"id": 1, "kind": "b"}, {"id": 2, "kind": "a"}]}
    source.write_text(json.dumps({"graph": {"graph_id": "one"}, **nodes, **edges}) + "\n")
    result = call("convert", source, tmp_path / "long.csv", "--strict")
    assert (tmp_path / "long.csv").read_text().splitlines()[1].endswith("0,1,1,2")
    assert len((tmp_path / "long.nodes.csv").read_text().splitlines()) == 4
    result = call("convert", tmp_path / "long.csv", tmp_path / "back.jsonl", "--strict", "--json")
    assert json.loads(result.stdout)["lost"] == {}
    result = call("convert", source, "-", "--to", "edge-table", code=1)
    assert result.stderr.count("more than one file") == 1
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        "back.jsonl",
        "long.csv",
        "long.nodes.csv",
        "two.jsonl",
    ]


def test_a_tu_folder(call, tmp_path):
    (tmp_path / "a.g6").write_text("Bw\nDhc\n")
    result = call("convert", tmp_path / "a.g6", f"{tmp_path}/set.1/", "--strict")
    assert (tmp_path / "set.1" / "set.1_A.txt").is_file()
    result = call("convert", tmp_path / "a.g6", tmp_path / "set.1", "--to", "tu", code=1)
    assert result.stderr.count("exists already") == 1


def test_molecules(call, tmp_path):
    require("rdkit")
    (tmp_path / "a.smi").write_text("C1CC1O some name\n")
    call("convert", tmp_path / "a.smi", tmp_path / "a.parquet", "--strict")
    call("convert", tmp_path / "a.parquet", tmp_path / "b.csv", "--to", "smiles", "--strict")
    assert (tmp_path / "b.csv").read_text() == "smiles,graph_id\nC1CC1O,some name\n"
