"""Running commands as users do, and small sets of graphs to run them on."""

import io
import os
import subprocess
import sys
from contextlib import redirect_stderr, redirect_stdout
from types import SimpleNamespace

import pytest

from cli import lines_format
from cli.forked import Forked
from cli.small_sets import write_tu
from grnf.cli import main


def run_code(program, *arguments, code=0, says="", **options):
    """Run Python code and then the command line, in another process, and check what came of it."""
    command = [sys.executable, "-c", f"{program}\nfrom grnf.cli import main; main()", *map(str, arguments)]
    options = {"env": {**os.environ, "COLUMNS": "200"}, "text": True, "timeout": 300, **options}
    result = subprocess.run(command, capture_output=True, **options)
    return checked(result.returncode, result.stdout, result.stderr, code, says)


def fork_code(program, *arguments, code=0, says="", stdin=None):
    """As `run_code`, in a process that has loaded the package already. `stdin` is a file."""
    process = Forked(program, *arguments, stdin=stdin)
    stdout, stderr = process.communicate()
    return checked(process.returncode, stdout, stderr, code, says)


def checked(returncode, stdout, stderr, code, says):
    """Return a result that has this exit code (None for any), and this text in its messages."""
    stderr = without_notice(stderr)
    assert code in (None, returncode), stderr
    assert not says or says in stderr or says in " ".join(stderr.replace("│", " ").split()), stderr
    return SimpleNamespace(returncode=returncode, stdout=stdout, stderr=stderr)


def without_notice(stderr):
    """What was said but for the notice of compiling: the first test on a fresh machine sees it."""
    return "".join(line for line in stderr.splitlines(keepends=True) if "compiling (first" not in line)


@pytest.fixture
def run():
    """Run some code first, then the command line, in a new process that has loaded nothing."""
    return run_code


@pytest.fixture
def fork():
    """Run some code first, then the command line, in a process of its own."""
    return fork_code


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
