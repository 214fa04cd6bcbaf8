"""The walk of one call through the package stays short: CONTRIBUTING tells it."""

import subprocess
import sys
from pathlib import Path

import pytest

from optional import require

ROOT = Path(__file__).parents[1]


@pytest.mark.skipif(not (ROOT / "benchmarks").is_dir(), reason="the benchmarks are not part of this copy")
def test_the_walk_is_short_and_told():
    require("networkx")
    command = [sys.executable, str(ROOT / "benchmarks" / "walk.py")]
    lines = subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines()
    middle = next(i for i, line in enumerate(lines) if "frames" in line)
    files, frames = lines[1:middle], lines[middle + 1 :]
    assert len(files) <= 20
    assert len(frames) <= 9
    manual = (ROOT / "CONTRIBUTING.md").read_text()
    assert f"passes through {len(files)} files" in manual
    for file in files:
        assert file.strip() in manual or file.strip().split("/")[0] == "law"
