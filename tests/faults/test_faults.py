"""A sample of the faults that `make faults` enumerates."""

import subprocess
import sys
from pathlib import Path

import pytest

from optional import require

require("pyarrow")


@pytest.mark.slow
@pytest.mark.parametrize(
    "names", [["embed-npy", "embed-shards"], ["index-append", "index-remove", "monitor"]]
)
def test_a_sample_of_faults(names):
    script = Path(__file__).with_name("enumeration.py")
    command = [sys.executable, str(script), *names, "--step", "23"]
    result = subprocess.run(command, capture_output=True, text=True, timeout=500)
    assert result.returncode == 0, result.stdout + result.stderr
    assert ", 0 problems" in result.stdout
