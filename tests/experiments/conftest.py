"""Running the command line as users do."""

import os
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

TESTS = Path(__file__).parents[1]


@pytest.fixture(autouse=True)
def one_thread():
    """Small networks gain nothing from threads, which wait for each other where others are at work."""
    if find_spec("torch") is None:
        yield
        return
    import torch

    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


@pytest.fixture
def run():
    def run(*arguments, first=""):
        """Run some code first, then the command line."""
        command = [sys.executable, "-c", f"{first}\nfrom grnf.cli import main; main()", *map(str, arguments)]
        path = os.pathsep.join(filter(None, [str(TESTS), os.environ.get("PYTHONPATH")]))
        environment = {**os.environ, "PYTHONPATH": path, "OMP_NUM_THREADS": "1"}
        return subprocess.run(command, capture_output=True, text=True, timeout=300, env=environment)

    return run
