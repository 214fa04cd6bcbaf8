"""Damaged files that once made trouble: each is an error that names the file."""

import tracemalloc
from pathlib import Path

import pytest

from grnf import GraphError
from grnf.io import BadGraph, read_graphs
from grnf.io.files.file import File
from guests import guest

CORPUS = sorted((Path(__file__).parents[2] / "data" / "corpus").iterdir())


@pytest.mark.parametrize("path", CORPUS, ids=[path.name for path in CORPUS])
def test_damaged_files_are_errors_that_name_the_file(path):
    guest("rdkit")
    tracemalloc.start()
    try:
        with pytest.raises(GraphError) as caught:
            list(read_graphs(File(path, isolated=True)))
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert path.name in str(caught.value)
    assert peak < 100_000_000
    try:
        found = list(read_graphs(File(path, isolated=True), on_error="yield"))
    except GraphError:  # the format cannot be told
        return
    assert any(isinstance(graph, BadGraph) and path.name in graph.reason for graph in found)
