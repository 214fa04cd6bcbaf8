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
ROOT = HERE.parents[1]
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


def run(*command, cwd=None):
    return subprocess.run([sys.executable, *command], capture_output=True, text=True, timeout=500, cwd=cwd)


def test_the_page_about_guarantees_has_the_stored_counts():
    result = run("-c", "import table; print('\\n'.join(table.failures()))", cwd=ROOT / "benchmarks")
    assert result.stdout.count("make") == 3, result.stderr
    assert result.stdout in (ROOT / "docs" / "explanation" / "guarantees.md").read_text()


def test_every_command_that_writes_is_enumerated():
    program = "import enumeration as e; from grnf.cli.app import app; from typer.main import get_command; "
    program += "print(*{*get_command(app).commands} - {each.arguments[0] for each in e.CASES.values()})"
    result = run("-c", program, cwd=HERE)
    assert set(result.stdout.split()) == {"demo", "dimension", "info"}, result.stderr


@pytest.mark.slow
def test_a_sample_of_faults():
    names = ["embed-npy", "embed-shards", "index-append", "index-remove", "monitor"]
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
