import json

import numpy as np
import pytest

from cli.lines_format import ONE_NODE, PATH, TRIANGLE, UNREADABLE, write_lines
from grnf.io.tally import MOST_VALUES, Attribute, Values, about_targets
from optional import require


def test_tu(call, tu):
    result = call("info", tu, "--json")
    assert result.stderr == ""
    report = json.loads(result.stdout)
    assert report["graphs"] == 25
    assert 2 <= report["nodes"]["min"] <= report["nodes"]["mean"] <= report["nodes"]["max"] <= 8
    assert report["y"] == {"classes": {"0": 13, "1": 12}, "missing": 0}
    assert report["problems"] == []
    result = call("info", tu)
    assert "nodes                 2 to 8, mean " in result.stdout


def test_problems(call_lines, tmp_path):
    odd = {
        "n_nodes": 4,
        "edges": [[0, 1], [1, 0], [2, 2]],
        "graph_id": "path",
        "directed": False,
        "node_columns": {"charge": [1.0, float("nan"), 2.0, 3.0], "kind": ["a", "b", "a", None]},
    }
    arcs = {"n_nodes": 2, "edges": [[0, 1], [1, 0]], "directed": True, "edge_columns": {"weight": [1, 2]}}
    empty = {"n_nodes": 0, "edges": []}
    source = write_lines(tmp_path / "g.lines", [TRIANGLE, PATH, ONE_NODE, odd, arcs, empty, UNREADABLE])
    result = call_lines("info", source, "--json", "--format", "lines")
    report = json.loads(result.stdout)
    assert (report["graphs"], report["directed_graphs"], report["self_loops"]) == (6, 1, 1)
    assert (report["repeated_edges"], report["isolated_nodes"], report["empty_graphs"]) == (1, 2, 1)
    assert report["graphs_without_edges"] == 2
    assert report["node_attributes"] == {
        "charge": {"type": "numbers", "graphs": 1, "missing": 1},
        "kind": {"type": "categories", "values": 2, "graphs": 1, "missing": 1},
    }
    assert report["bad"] == [{"index": 6, "graph_id": "lost", "reason": "no such thing"}]
    assert report["problems"] == [
        "1 graph that cannot be read",
        "1 of 6 graphs are directed, the rest not",
        "1 graph without nodes",
        "1 edge repeating another (repeats are summed)",
        "1 graph with the id of an earlier one",
        "4 graphs without y, though others have one",
        "node attribute 'charge' is in 1 of 6 graphs only",
        "node attribute 'charge' lacks 1 value",
        "node attribute 'kind' is in 1 of 6 graphs only",
        "node attribute 'kind' lacks 1 value",
        "edge attribute 'weight' is in 1 of 6 graphs only",
    ]
    text = call_lines("info", source).stdout
    assert "  1 edge repeating another (repeats are summed)\n" in text
    assert "  graph lost: no such thing\n" in text


def test_vectors(call, tu, tmp_path):
    call("embed", tu, "-o", tmp_path / "z.npy", "-m", 8)
    report = json.loads(call("info", tmp_path / "z.npy", "--json").stdout)
    assert (report["vectors"], report["n_components"], report["dtype"]) == (25, 8, "float32")
    assert report["settings"]["activation"] == "tanh"
    np.save(tmp_path / "bad.npy", np.array([[1.0, np.nan], [0.0, 0.0]]))
    assert "1 rows hold NaN" in call("info", tmp_path / "bad.npy").stdout


@pytest.mark.parametrize("content", [None, "no graphs here"])
def test_bad_input(call, tmp_path, content):
    if content is not None:
        (tmp_path / "x.zip").write_text(content)
    result = call("info", tmp_path / "x.zip", code=1)
    assert result.stderr.count("\n") == 1
    assert "x.zip" in result.stderr


def test_what_is_counted_is_bounded():
    attribute, targets = Attribute(), Values()
    for start in range(0, 2 * MOST_VALUES, 100):
        attribute.add(np.array([f"v{value}" for value in range(start, start + 100)], dtype=object))
    for value in range(MOST_VALUES):
        targets.add(value / 7)
        targets.add(f"class {value}")
    assert attribute.report()["values"] == f"more than {MOST_VALUES:,}"
    assert len(attribute.values.counts) == len(targets.counts) == MOST_VALUES
    assert about_targets(targets) == {"n_classes": f"more than {MOST_VALUES:,}", "missing": 0}


def told(labels):
    targets = Values()
    for y in labels:
        targets.add(y)
    return about_targets(targets)


@pytest.mark.parametrize("name", [int, "class {}".format])
def test_many_classes_are_told_by_the_largest_and_the_smallest(name):
    report = told([name(label) for label in range(100) for _ in range(label + 2)])
    assert report["n_classes"] == 100
    assert list(report["largest"].values()) == [101, 100, 99, 98, 97]
    assert list(report["smallest"].items())[-1] == (str(name(0)), 2)
    assert ("numbers" in report) == (name is int)  # whole numbers may be classes or numbers: both are shown
    assert "total" not in str(report)


def test_numbers_are_told_by_their_range():
    assert told(range(1000)) == {
        "values": 1000,
        "numbers": {"min": 0, "mean": 499.5, "max": 999},
        "missing": 0,
    }
    report = told([0.5, 1.5, 1.5, None])
    assert report == {
        "classes": {"0.5": 1, "1.5": 2},
        "numbers": {"min": 0.5, "mean": 3.5 / 3, "max": 1.5},
        "missing": 1,
    }
    assert told([0, 1, 1]) == {"classes": {"0": 1, "1": 2}, "missing": 0}
    assert told([value / 7 for value in range(100)] * 5).keys() == {"values", "numbers", "missing"}


def test_many_classes_for_people(call_lines, tmp_path):
    source = write_lines(
        tmp_path / "g.lines",
        [{"n_nodes": 1, "edges": [], "y": label} for label in range(100) for _ in range(label % 3 + 2)],
    )
    lines = call_lines("info", source).stdout.splitlines()
    assert "  n_classes  100" in lines
    assert not any("total" in line for line in lines)


def test_columns_of_a_table(call, tmp_path):
    require("rdkit")
    lines = [f"D{n},{'C' * n}C(=O)O,{n % 2},{'' if n == 1 else n / 7}" for n in range(1, 9)]
    (tmp_path / "t.csv").write_text("\n".join(["Drug_ID,Drug,active,logp", *lines]) + "\n")
    result = call("info", tmp_path / "t.csv", "--json", "--id-column", "Drug_ID")
    assert "SMILES column 'Drug', found by its content" in result.stderr
    columns = json.loads(result.stdout)["columns"]
    assert {name: column["may_be"] for name, column in columns.items()} == {
        "Drug_ID": "id",
        "Drug": "SMILES",
        "active": "target",
        "logp": "target",
    }
    assert columns["active"]["classes"] == {"0": 4, "1": 4}
    assert (columns["logp"]["kind"], columns["logp"]["missing"]) == ("numbers", 1)
    text = call("info", tmp_path / "t.csv", "--smiles-column", "Drug").stdout
    assert "  active   target  whole numbers; 0 (4), 1 (4)\n" in text
    assert "  logp     target  numbers; 7 different; for example 0.285" in text


def test_formats(call):
    from grnf.io.files.formats import table_of_formats

    result = call("info", "--formats")
    head, *rows = table_of_formats()
    for line, row in zip(result.stdout.splitlines(), (head, *rows), strict=True):
        assert line.split() == " ".join(row).split()
    as_json = json.loads(call("info", "--formats", "--json").stdout)
    assert [entry["format"] for entry in as_json] == [row[0] for row in rows]
