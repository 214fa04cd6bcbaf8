"""Every experiment runs at a tiny size, as a user would start it, and stores what it says it stores."""

import json
import os
import subprocess
import sys
from pathlib import Path

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
