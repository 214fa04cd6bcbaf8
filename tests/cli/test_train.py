"""`grnf classify`, as a user runs it."""

import json

import numpy as np
import pytest

from cli.small_sets import rows
from grnf.datasets import make_sbm
from grnf.io import RawGraph, write_graphs
from optional import require

FAST = ["--folds", 4, "-m", 16]


@pytest.fixture
def labelled(tmp_path):
    """Forty graphs with classes, as JSON lines."""
    graphs, y = make_sbm(40, random_state=0)
    raws = [RawGraph(g.n_nodes, g.edges, y=["one", "two"][label]) for g, label in zip(graphs, y, strict=True)]
    path = tmp_path / "sbm.jsonl"
    write_graphs(path, raws)
    return path


def test_classes(call, labelled, tmp_path):
    require("matplotlib")
    result = call("train", labelled, "--report", tmp_path / "out", *FAST)
    assert "GRNF" in result.stdout
    assert "the most frequent class                accuracy 0.500" in result.stdout
    report = json.loads((tmp_path / "out" / "results.json").read_text())
    accuracy = report["scores"]["GRNF"]["accuracy"]["mean"]
    assert accuracy > 0.7
    assert len(report["selected"]) == 4
    found = rows(tmp_path / "out" / "predictions.csv")
    assert len(found) == 40
    right = np.mean([row["label"] == row["predicted"] for row in found])
    assert right == pytest.approx(accuracy)
    assert (tmp_path / "out" / "confusion.png").read_bytes().startswith(b"\x89PNG")


def test_tu_json_and_repeats(call, tu, tmp_path):
    arguments = ["--folds", 2, "--repeats", 2, "-m", 8, "--lifts", "none", "--estimator", "linear", "--json"]
    result = call("train", tu, "--report", tmp_path / "out", *arguments)
    report = json.loads(result.stdout)
    assert report["graphs"] == 25
    assert report["task"] == "classes"
    assert report["settings"]["lifts"] is None
    assert len(report["selected"]) == 4


def test_numbers(call, tmp_path):
    require("matplotlib")
    generator = np.random.default_rng(0)
    edges = [np.argwhere(np.triu(generator.random((9, 9)) < generator.random(), 1)) for _ in range(40)]
    write_graphs(tmp_path / "g.jsonl", [RawGraph(9, pairs, y=len(pairs) / 36) for pairs in edges])
    result = call("train", tmp_path / "g.jsonl", "--report", tmp_path / "out", *FAST)
    assert "mean absolute error" in result.stdout
    report = json.loads((tmp_path / "out" / "results.json").read_text())
    assert report["task"] == "numbers"
    assert report["scores"]["GRNF"]["R2"]["mean"] > 0.8 > report["scores"]["the mean"]["R2"]["mean"]
    assert (tmp_path / "out" / "predictions.png").is_file()


def test_target_column_of_a_table(call, tmp_path):
    require("rdkit")
    acids, alkanes = ["C" * n + "C(=O)O" for n in range(1, 7)], ["C" * n for n in range(3, 9)]
    lines = ["smiles,kind", *(f"{s},acid" for s in acids), *(f"{s},alkane" for s in alkanes)]
    (tmp_path / "m.csv").write_text("\n".join(lines) + "\n")
    arguments = ["train", tmp_path / "m.csv", "--report", tmp_path / "out", *FAST]
    result = call(*arguments, "--target", "kind", "--json")
    report = json.loads(result.stdout)
    assert report["task"] == "classes"
    assert report["graphs"] == 12
    labels = [row["label"] for row in rows(tmp_path / "out" / "predictions.csv")]
    assert labels == ["acid"] * 6 + ["alkane"] * 6
    call(*arguments, says="--target")
    call(*arguments, "--target", "king", code=1, says="no column 'king'")


def test_wrong_usage(call, labelled, tmp_path):
    call("train", labelled, "--folds", 41, code=2)
    call("train", labelled, "--task", "numbers", code=1)
    write_graphs(tmp_path / "one.jsonl", [RawGraph(2, np.array([[0, 1]]), y=1)] * 20)
    call("train", tmp_path / "one.jsonl", code=1, says="two classes")
    half = [RawGraph(n, np.array([[0, 1]]), y=n % 2 if n < 20 else None) for n in range(2, 23)]
    write_graphs(tmp_path / "half.jsonl", half)
    result = call("train", tmp_path / "half.jsonl", "--report", tmp_path / "out", *FAST)
    assert "3 of 21 graphs have no label and are left out" in result.stderr
