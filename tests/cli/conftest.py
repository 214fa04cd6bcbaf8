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


def run_code(program, *arguments, code=0, says="", **options):
    """Run Python code and then the command line, in another process, and check what came of it."""
    command = [sys.executable, "-c", f"{program}\nfrom grnf.cli import main; main()", *map(str, arguments)]
    path = os.pathsep.join(filter(None, [str(HERE), os.environ.get("PYTHONPATH")]))
    environment = {**os.environ, "PYTHONPATH": path, "COLUMNS": "200"}
    options = {"text": True, "timeout": 300, **options}
    result = subprocess.run(command, capture_output=True, env=environment, **options)
    return checked(result.returncode, result.stdout, result.stderr, code, says)


def checked(returncode, stdout, stderr, code, says):
    """Return a result that has this exit code (None for any), and this text in its messages."""
    stderr = without_notice(stderr)
    assert code in (None, returncode), stderr
    assert not says or says in stderr or says in " ".join(stderr.replace("│", " ").split()), stderr
    return SimpleNamespace(returncode=returncode, stdout=stdout, stderr=stderr)


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
    """Run the command line in this process, which is quicker, and check what came of it."""

    def call(*arguments, code=0, says=""):
        monkeypatch.setattr("sys.argv", ["grnf", *map(str, arguments)])
        stdout, stderr = io.StringIO(), io.StringIO()
        with redirect_stdout(stdout), redirect_stderr(stderr), pytest.raises(SystemExit) as end:
            main()
        return checked(end.value.code or 0, stdout.getvalue(), stderr.getvalue(), code, says)

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
