"""Running commands as users do, and small sets of graphs to run them on."""

import io
import os
import subprocess
import sys
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path
from types import SimpleNamespace

import pytest

from cli import lines_format
from cli.small_sets import write_tu
from grnf.cli import main

HERE = Path(__file__).parent


def run_code(program, *arguments, code=0, **options):
    """Run Python code and then the command line, in another process. It must end with this exit code."""
    command = [sys.executable, "-c", f"{program}\nfrom grnf.cli import main; main()", *map(str, arguments)]
    path = os.pathsep.join(filter(None, [str(HERE), os.environ.get("PYTHONPATH")]))
    environment = {**os.environ, "PYTHONPATH": path, "COLUMNS": "200"}
    options = {"text": True, "timeout": 300, **options}
    result = subprocess.run(command, capture_output=True, env=environment, **options)
    result.stderr = without_notice(result.stderr)
    assert code in (None, result.returncode), result.stderr
    return result


def without_notice(stderr):
    """What was said but for the notice of compiling: the first test on a fresh machine sees it."""
    lines = stderr.splitlines(keepends=True)
    notice = b"compiling (first" if isinstance(stderr, bytes) else "compiling (first"
    return type(stderr)().join(line for line in lines if notice not in line)


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
def call(monkeypatch):
    """Run the command line in this process, which is quicker. It must end with the exit code `code`."""

    def call(*arguments, code=0):
        monkeypatch.setattr("sys.argv", ["grnf", *map(str, arguments)])
        stdout, stderr = io.StringIO(), io.StringIO()
        with redirect_stdout(stdout), redirect_stderr(stderr), pytest.raises(SystemExit) as end:
            main()
        returncode, said = end.value.code or 0, without_notice(stderr.getvalue())
        assert code in (None, returncode), said
        return SimpleNamespace(returncode=returncode, stdout=stdout.getvalue(), stderr=said)

    return call


@pytest.fixture
def call_lines(call, monkeypatch):
    """As `call`, with the formats of lines_format.py."""
    lines_format.install(lambda *entry: monkeypatch.setitem(lines_format.FORMATS, *entry))
    return call


@pytest.fixture
def tu(tmp_path):
    """A TU folder of 25 graphs."""
    return write_tu(tmp_path / "TU", 25)
