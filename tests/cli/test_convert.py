import json

import numpy as np
import pytest

from cli.lines_format import PATH, TRIANGLE, UNREADABLE, write_lines
from grnf.cli.losses import losses
from grnf.io import RawGraph

LABELLED = {**PATH, "node_columns": {"charge": [0, 1, 2]}, "edge_columns": {"weight": [0.5, 1.5]}}


def test_nothing_is_lost(call_lines, tmp_path):
    source = write_lines(tmp_path / "g.lines", [TRIANGLE, LABELLED])
    result = call_lines("convert", source, tmp_path / "h.lines", "--json", "--strict")
    assert result.returncode == 0, result.stderr
    answer = {"graphs": 2, "output": str(tmp_path / "h.lines"), "lost": {}, "bad": []}
    assert json.loads(result.stdout) == answer
    assert result.stderr == ""
    assert sorted(path.name for path in tmp_path.iterdir()) == ["g.lines", "h.lines"]


def test_what_is_lost_is_said(run_lines, tmp_path):
    source = write_lines(tmp_path / "g.lines", [TRIANGLE, LABELLED])
    result = run_lines("convert", source, tmp_path / "h.bare")
    assert (result.returncode, result.stdout) == (0, f"2 graphs: {tmp_path / 'h.bare'}\n")
    assert result.stderr == (
        f"grnf: {tmp_path / 'h.bare'} does not carry "
        "edge attribute 'weight' (1 graphs), graph_id (2 graphs), "
        "node attribute 'charge' (1 graphs), y (2 graphs)\n"
    )
    result = run_lines("convert", source, tmp_path / "strict.bare", "--strict")
    assert result.returncode == 1
    assert "would not carry" in result.stderr
    assert not (tmp_path / "strict.bare").exists()


def test_from_standard_input_to_standard_output(run_lines):
    line = json.dumps(TRIANGLE) + "\n"
    result = run_lines("convert", "-", "-", "--format", "lines", "--to", "lines", "-q", input=line)
    assert (result.returncode, result.stderr) == (0, "")
    assert json.loads(result.stdout)["edges"] == TRIANGLE["edges"]


def test_bad_graphs(call_lines, tmp_path):
    source = write_lines(tmp_path / "g.lines", [TRIANGLE, UNREADABLE, PATH])
    output = tmp_path / "h.lines"
    output.write_text("old")
    result = call_lines("convert", source, output)
    assert (result.returncode, result.stderr) == (1, f"grnf: {source}, line 2: no such thing\n")
    assert output.read_text() == "old"
    result = call_lines("convert", source, output, "--on-error", "skip", "--json")
    assert result.returncode == 0, result.stderr
    assert json.loads(result.stdout)["bad"][0]["graph_id"] == "lost"
    assert "1 graphs could not be used (left out)" in result.stderr
    assert len(output.read_text().splitlines()) == 2


def test_wrong_usage(call_lines, tmp_path):
    source = write_lines(tmp_path / "g.lines", [TRIANGLE])
    assert call_lines("convert", source).returncode == 2
    result = call_lines("convert", source, tmp_path / "x.lines", "--to", "wax")
    assert result.returncode == 2
    assert "known are lines, bare" in result.stderr
    assert call_lines("convert", source, "-").returncode == 2
    result = call_lines("convert", source, tmp_path / "none" / "x.lines")
    assert (result.returncode, result.stderr.count("\n")) == (1, 1)


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
