"""Every experiment runs at a tiny size, as a user would start it, and stores what it says it stores."""

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("matplotlib")

FOLDER = Path(__file__).parents[1] / "experiments"


def run(name, output, *options, start=()):
    command = [sys.executable, *start, FOLDER / f"{name}.py", "--tiny", "--output", output, *options]
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}  # threads wait where others are at work
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, env=environment)
    assert done.returncode == 0, done.stderr
    record = json.loads((output / "results" / f"{name}.json").read_text())
    assert record["settings"]
    return record["results"]


@pytest.mark.parametrize("name", ["precision", "reweighted"])
def test_experiment_runs(name, tmp_path):
    assert run(name, tmp_path)
    assert (tmp_path / "figures" / f"{name}.png").stat().st_size > 5000


def test_peers_run_and_resume(shared, tmp_path):
    methods = ["GRNF", "WL-OA", "histogram + forest", "topology + forest"]
    options = ["--data", shared / "data", "--sets", "MUTAG", "--methods", *methods]
    (entry,) = run("peers", tmp_path, *options).values()
    assert list(entry["methods"]) == methods
    for found in entry["methods"].values():
        assert len(found["scores"]) == 2
        assert np.mean(found["scores"]) > 70  # 66 in 100 are of the larger class
    lines = (tmp_path / "peers-work.jsonl").read_text()
    assert len(lines.splitlines()) == 8
    assert (tmp_path / "figures" / "peers.png").stat().st_size > 5000
    (again,) = run("peers", tmp_path, *options).values()
    assert again == entry
    assert (tmp_path / "peers-work.jsonl").read_text() == lines  # nothing was computed again


def test_the_first_version_runs(tmp_path):
    pytest.importorskip("torch")
    code = (
        f"import pathlib, runpy, sys; sys.path[:0] = {[str(FOLDER.parent / 'tests'), str(FOLDER)]!r}\n"
        "import tu_sets\n"
        f"tu_sets.install(pathlib.Path({str(tmp_path)!r}), 'ENZYMES'); del sys.argv[0]\n"
        "runpy.run_path(sys.argv[0], run_name='__main__')"
    )
    options = ["--cache", tmp_path / "cache", "--data", tmp_path / "tu"]
    results = run("first_version", tmp_path, *options, start=["-c", code])
    (entry,) = results["sets"].values()
    assert len(entry["folds"]) == 2
    assert entry["mean"] > 100 / 6  # six classes
    assert results["ours"]["ENZYMES"]["mean"] > 40
    again = run("first_version", tmp_path, *options, start=["-c", code])
    assert again["sets"] == results["sets"]


def test_two_sample_runs_and_resumes(tmp_path):
    pytest.importorskip("networkx")
    results = run("two_sample", tmp_path)
    kinds = {(record["key"][0], record["key"][1]) for record in results}
    assert {("SBM", "level"), ("SBM", "other class"), ("rewired", "rank"), ("SBM", "speed")} <= kinds
    rank = next(record["correlation"] for record in results if record["key"][1] == "rank")
    assert rank["GRNF"] > 0.8
    assert (tmp_path / "figures" / "two_sample.png").stat().st_size > 5000
    lines = (tmp_path / "two_sample-work.jsonl").read_text()
    assert run("two_sample", tmp_path) == results
    assert (tmp_path / "two_sample-work.jsonl").read_text() == lines  # nothing was computed again


def test_third_order_runs(shared, tmp_path):
    (entry,) = run("third_order", tmp_path, "--data", shared / "data" / "tu").values()
    assert entry["gain_error"] >= 0
    assert entry["orders 1, 2, 3"]["milliseconds_per_graph"] > 0


def test_streams_run_and_resume(tmp_path):
    (entry,) = run("streams", tmp_path).values()
    assert set(entry["false_alarms"]) == {"0.01", "0.05", "0.1", "0.2"}
    assert all(row["delay"] > 0 and row["best"] > 0 for row in entry["delays"].values())
    assert (tmp_path / "figures" / "streams.png").stat().st_size > 5000
    lines = (tmp_path / "streams-work.jsonl").read_text()
    (again,) = run("streams", tmp_path).values()
    assert again == entry
    assert (tmp_path / "streams-work.jsonl").read_text() == lines  # nothing was computed again


def test_outliers_run(shared, tmp_path):
    (entry,) = run("outliers", tmp_path, "--data", shared / "data" / "tu").values()
    for row in entry.values():
        assert len(row["auc"]) == 6
        assert all(0 <= area <= 1 for area in row["auc"].values())
