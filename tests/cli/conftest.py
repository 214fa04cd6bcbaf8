"""Running commands as users do, and small sets of graphs to run them on."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from small_sets import write_tu

HERE = Path(__file__).parent


def run_code(code, *arguments, **options):
    """Run Python code and then the command line, in another process."""
    command = [sys.executable, "-c", f"{code}\nfrom grnf.cli import main; main()", *map(str, arguments)]
    environment = {**os.environ, "PYTHONPATH": str(HERE), "COLUMNS": "200", **options.pop("env", {})}
    options = {"text": True, "timeout": 300, **options}
    return subprocess.run(command, capture_output=True, env=environment, **options)


@pytest.fixture
def run():
    """Run the command line."""
    return lambda *arguments, **options: run_code("", *arguments, **options)


@pytest.fixture
def run_patched():
    """Run some code first, then the command line."""
    return run_code


@pytest.fixture
def run_lines():
    """Run the command line with two more formats, "lines" and "bare" (see lines_format.py)."""
    return lambda *arguments, **options: run_code(
        "import lines_format; lines_format.install()", *arguments, **options
    )


@pytest.fixture
def tu(tmp_path):
    """A TU folder of 25 graphs."""
    return write_tu(tmp_path / "TU", 25)
