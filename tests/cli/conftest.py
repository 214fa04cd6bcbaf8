"""Running commands as users do, and small sets of graphs to run them on."""

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

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


def write_tu(folder, n_graphs, seed=0):
    """A TU folder of random graphs without attributes, of two classes."""
    generator = np.random.default_rng(seed)
    folder.mkdir()
    arcs, owner = [], []
    for graph in range(n_graphs):
        size = int(generator.integers(2, 9))
        pairs = np.argwhere(np.triu(generator.random((size, size)) < 0.5, 1)) + len(owner) + 1
        arcs += [f"{i}, {j}\n{j}, {i}\n" for i, j in pairs.tolist()]
        owner += [f"{graph + 1}\n"] * size
    (folder / f"{folder.name}_A.txt").write_text("".join(arcs))
    (folder / f"{folder.name}_graph_indicator.txt").write_text("".join(owner))
    labels = "".join(f"{graph % 2}\n" for graph in range(n_graphs))
    (folder / f"{folder.name}_graph_labels.txt").write_text(labels)
    return folder


@pytest.fixture
def tu(tmp_path):
    """A TU folder of 25 graphs."""
    return write_tu(tmp_path / "TU", 25)
