"""`grnf data` and `grnf reproduce` as users meet them."""

import json

import pytest

import tu_sets
from grnf.datasets import TU_SETS
from grnf.io import read_tu


def test_list(call, tmp_path):
    (tmp_path / "tu").mkdir()
    (tmp_path / "tu" / "MUTAG.zip").write_bytes(b"")
    result = call("data", "list", "--data", tmp_path)
    assert result.returncode == 0
    lines = {line.split()[0]: line for line in result.stdout.splitlines()}
    assert set(TU_SETS) < set(lines)
    assert " here " in lines["MUTAG"]
    assert " here " not in lines["NCI1"]
    found = json.loads(call("data", "list", "--data", tmp_path, "--json").stdout)
    assert [entry["name"] for entry in found["sets"] if entry["path"]] == ["MUTAG"]


@pytest.fixture
def data(tmp_path, monkeypatch):
    """Small sets in the shapes of the real ones."""
    tu_sets.install(tmp_path, "MUTAG", "ENZYMES", n_graphs=60, put=monkeypatch.setitem)
    return tmp_path


def test_describe(call, data):
    result = call("data", "describe", "MUTAG", "--data", data)
    assert result.returncode == 0
    assert "60" in result.stdout
    found = json.loads(call("data", "describe", "ENZYMES", "--data", data, "--json").stdout)
    assert found["graphs"] == 60
    assert found["mean_nodes"] == round(read_tu(data / "tu" / "ENZYMES.zip").graphs.sizes.mean(), 2)
    assert len(found["node_columns"]) == 21
    assert found["classes"] == {str(label): 10 for label in range(1, 7)}
    assert found["folds"] == ["CHEMICAL"]


def test_fetch_checks_what_is_there(call, data):
    result = call("data", "fetch", "ENZYMES", "MUTAG", "--data", data)
    assert result.returncode == 0
    assert [line.split("/")[-1] for line in result.stdout.splitlines()] == [
        "ENZYMES.zip",
        "ENZYMES_splits.json",
        "MUTAG.zip",
    ]


def test_unknown_names(call, tmp_path):
    result = call("data", "describe", "FLOWERS", "--data", tmp_path)
    assert result.returncode == 1
    assert "known are NCI1" in result.stderr
    result = call("reproduce", "magic", "-o", tmp_path)
    assert result.returncode == 2
    assert list(tmp_path.iterdir()) == []


def test_an_interrupt_says_how_to_go_on(run_patched, tmp_path):
    code = "import grnf.experiments.theorem2 as t\ndef stop(*a): raise KeyboardInterrupt\nt._compute = stop"
    result = run_patched(code, "reproduce", "theorem2", "--quick", "-o", tmp_path)
    assert result.returncode == 130
    assert "the same command goes on" in result.stderr
