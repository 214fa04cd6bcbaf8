"""Random and damaged files of every format: only our own errors come out, and soon."""

import subprocess
import sys
import tempfile
from importlib.util import find_spec
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from grnf.io import FORMATS
from optional import require
from readers import read_all, valid_bytes

require("pyarrow")
VALID = {name: valid_bytes(name) for name in FORMATS}


@st.composite
def damaged(draw, data):
    """A valid file with pieces changed, cut out, doubled or put in."""
    data = bytearray(data)
    for _ in range(draw(st.integers(1, 4))):
        start = draw(st.integers(0, len(data)))
        stop = min(len(data), start + draw(st.integers(0, 12)))
        piece = draw(
            st.one_of(
                st.binary(max_size=6),
                st.just(bytes(data[start:stop]) * 2),
                st.sampled_from(
                    [b"", b"0", b"-1", b"99999999999999999999", b"nan", b"inf", b"1e999", b'"', b"\n"]
                ),
                st.sampled_from(
                    [b"[", b"]", b"{", b"}", b"<", b"/>", b",", b"\x00", b"\xff\xff\xff\xff", b"\x7f"]
                ),
            )
        )
        data[start:stop] = piece
    if draw(st.booleans()):
        del data[draw(st.integers(0, len(data))) :]
    return bytes(data)


@pytest.mark.parametrize("name", FORMATS)
def test_the_valid_file_is_valid(name, tmp_path):
    from grnf.io import RawGraph, read_graphs

    path = tmp_path / f"file{FORMATS[name].suffixes[0]}"
    path.write_bytes(VALID[name])
    graphs = list(read_graphs(path, format=name))
    assert graphs
    assert all(isinstance(graph, RawGraph) for graph in graphs)


@pytest.mark.slow
@pytest.mark.parametrize("name", FORMATS)
@settings(max_examples=150)
@given(data=st.data())
def test_damaged_files(name, data):
    with tempfile.TemporaryDirectory() as folder:
        read_all(name, data.draw(damaged(VALID[name])), folder)


@pytest.mark.parametrize("name", FORMATS)
@settings(max_examples=60)
@given(data=st.binary(max_size=300))
def test_random_bytes(name, data):
    with tempfile.TemporaryDirectory() as folder:
        read_all(name, data, folder)
        if name in ("graph6", "sparse6", "digraph6"):  # within their alphabet
            read_all(name, bytes(63 + byte % 64 for byte in data), folder)


@pytest.mark.slow
@pytest.mark.skipif(find_spec("atheris") is None, reason="atheris is not installed")
@pytest.mark.parametrize("name", FORMATS)
def test_coverage_guided(name):
    script = Path(__file__).with_name("fuzz_readers.py")
    # by way of a shell: a child's peak memory, which libFuzzer limits, begins with that of its parent
    command = ["sh", "-c", '"$@"; exit $?', "sh", sys.executable, str(script), name, "-max_total_time=1"]
    subprocess.run(command, check=True, capture_output=True)
