"""Random and damaged files of every format: only our own errors come out, and soon."""

import gzip
import os
import tempfile
import threading

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from grnf.io import FORMATS, read_graphs
from optional import require
from raw_graphs import assert_same
from readers import damaged, read_all, valid_bytes

require("pyarrow")
VALID = {name: valid_bytes(name) for name in FORMATS}


@pytest.mark.parametrize("name", FORMATS)
def test_a_valid_file_packed_and_from_a_pipe(name, tmp_path):
    path = tmp_path / f"file{FORMATS[name].suffixes[0]}"
    path.write_bytes(VALID[name])
    graphs = list(read_graphs(path, format=name))
    assert graphs
    (tmp_path / "file.gz").write_bytes(gzip.compress(VALID[name]))
    os.mkfifo(tmp_path / "pipe")
    writer = threading.Thread(target=(tmp_path / "pipe").write_bytes, args=(VALID[name],))
    writer.start()
    for other in ("file.gz", "pipe"):
        for one, same in zip(graphs, read_graphs(tmp_path / other, format=name), strict=True):
            assert_same(one, same)
    writer.join()


@pytest.mark.parametrize("name", FORMATS)
@settings(max_examples=150)
@given(chance=st.randoms(use_true_random=False))
def test_damaged_files(name, chance):
    with tempfile.TemporaryDirectory() as folder:
        read_all(name, damaged(VALID[name], chance), folder)


@pytest.mark.parametrize("name", FORMATS)
@settings(max_examples=60)
@given(data=st.binary(max_size=300))
def test_random_bytes(name, data):
    with tempfile.TemporaryDirectory() as folder:
        read_all(name, data, folder)
        if name in ("graph6", "sparse6", "digraph6"):  # within their alphabet
            read_all(name, bytes(63 + byte % 64 for byte in data), folder)
