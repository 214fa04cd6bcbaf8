"""A sample of the faults that `make faults` enumerates, and defects that it must find."""

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

from optional import require

require("pyarrow")
HERE = Path(__file__).parent
DEFECTS = {"lost data": "sync", "lost names": "sync_folder", "kill": "remove_abandoned"}
"""Kinds of faults, and the function of grnf._utils.files without which they do harm."""
PLANT = f"""
import json, sys
sys.path.insert(0, {str(HERE)!r})
import enumeration
from grnf._utils import files

enumeration.warm_up(["convert-jsonl"])
found = {{}}
for kind, name in {DEFECTS}.items():
    real = getattr(files, name)
    setattr(files, name, lambda path: None)
    found[kind] = enumeration.enumerate_case("convert-jsonl", [kind], step=5 if kind == "kill" else 1)[2]
    setattr(files, name, real)
found["none"] = enumeration.enumerate_case("convert-jsonl", list({DEFECTS}), step=6)[2]
print(json.dumps(found))
"""


def run(*command):
    return subprocess.run([sys.executable, *command], capture_output=True, text=True, timeout=500)


@pytest.mark.slow
@pytest.mark.parametrize(
    "names", [["embed-npy", "embed-shards"], ["index-append", "index-remove", "monitor"]]
)
def test_a_sample_of_faults(names):
    result = run(str(HERE / "enumeration.py"), *names, "--step", "23")
    assert result.returncode == 0, result.stdout + result.stderr
    total = re.fullmatch(
        rf"(\d+) faults in {len(names)} commands, 0 problems", result.stdout.splitlines()[-1]
    )
    assert total, result.stdout
    assert int(total[1]) >= 5 * len(names)


@pytest.mark.slow
def test_planted_defects_are_found():
    """A writer that does not flush contents, or names, or that leaves what a killed run wrote."""
    result = run("-c", PLANT)
    assert result.returncode == 0, result.stderr
    found = json.loads(result.stdout.splitlines()[-1])
    assert found.pop("none") == 0, result.stdout
    assert all(found[kind] > 0 for kind in DEFECTS), result.stdout
