"""Running the command line as users do."""

import subprocess
import sys

import pytest


@pytest.fixture
def run():
    def run(*arguments):
        command = [sys.executable, "-c", "from grnf.cli import main; main()", *map(str, arguments)]
        return subprocess.run(command, capture_output=True, text=True, timeout=300)

    return run
