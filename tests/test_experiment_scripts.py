"""Every experiment runs at a tiny size, as a user would start it, and stores what it says it stores."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("matplotlib")

FOLDER = Path(__file__).parents[1] / "experiments"


@pytest.mark.parametrize("name", ["precision", "reweighted"])
def test_experiment_runs(name, tmp_path):
    command = [sys.executable, str(FOLDER / f"{name}.py"), "--tiny", "--output", str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    record = json.loads((tmp_path / "results" / f"{name}.json").read_text())
    assert record["settings"]
    assert record["results"]
    assert (tmp_path / "figures" / f"{name}.png").stat().st_size > 5000
