"""Every experiment runs at a tiny size, as a user would start it, and stores what it says it stores."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("matplotlib")

FOLDER = Path(__file__).parents[1] / "experiments"


def run(name, output, *options):
    command = [sys.executable, FOLDER / f"{name}.py", "--tiny", "--output", output, *options]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    record = json.loads((output / "results" / f"{name}.json").read_text())
    assert record["settings"]
    return record["results"]


@pytest.mark.parametrize("name", ["precision", "reweighted"])
def test_experiment_runs(name, tmp_path):
    assert run(name, tmp_path)
    assert (tmp_path / "figures" / f"{name}.png").stat().st_size > 5000


def test_the_first_version_runs(shared, tmp_path):
    pytest.importorskip("torch")
    data = shared / "data" / "tu"
    results = run("first_version", tmp_path, "--cache", tmp_path / "cache", "--data", data)
    (entry,) = results["sets"].values()
    assert len(entry["folds"]) == 2
    assert entry["mean"] > 100 / 6  # six classes
    assert results["ours"]["ENZYMES"]["mean"] > 40
    again = run("first_version", tmp_path, "--cache", tmp_path / "cache", "--data", data)
    assert again["sets"] == results["sets"]
