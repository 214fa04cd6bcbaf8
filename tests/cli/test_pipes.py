"""Graphs that come through a pipe: read once, as standard input is."""

import io
import json
import os
import shutil
import signal
import threading
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from grnf import GRNF
from grnf.io import read_graphs, read_tu, write_graphs
from optional import require, require_format

SECONDS = 60
pytestmark = pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no named pipes here")


@pytest.fixture(autouse=True)
def in_time():
    """A command that waits for ever on a pipe fails, instead of waiting for ever."""

    def stop(*_):
        raise TimeoutError(f"still waiting after {SECONDS} s")

    before = signal.signal(signal.SIGALRM, stop)
    signal.alarm(SECONDS)
    yield
    signal.alarm(0)
    signal.signal(signal.SIGALRM, before)


def write(place, data):
    """Write to a pipe; a reader that goes away early is no fault."""
    try:
        with open(place, "wb") as pipe:
            pipe.write(data)
    except BrokenPipeError:
        pass


@pytest.fixture
def fifo(tmp_path):
    """Make a named pipe that gives this data once."""

    def make(name, data):
        place = tmp_path / name
        os.mkfifo(place)
        threading.Thread(target=write, args=(place, data), daemon=True).start()
        return place

    return make


@pytest.fixture
def substituted():
    """Make an anonymous pipe that gives this data once; its name is as the shell makes it of <(command)."""
    opened = []

    def make(data):
        reader, writer = os.pipe()
        opened.append(reader)
        threading.Thread(target=write, args=(writer, data), daemon=True).start()
        return f"/dev/fd/{reader}"

    yield make
    for reader in opened:
        os.close(reader)


@pytest.fixture
def graphs(tu):
    """Graphs that a table of edges alone can tell of."""
    return [graph for graph in read_graphs(tu) if len(graph.edges)]


def data_of(path, graphs, **options):
    write_graphs(path, graphs, **options)
    return path.read_bytes()


@pytest.mark.parametrize("suffix", ["json", "jsonl", "json.gz", "npz", "parquet", "gml"])
def test_embed_a_named_pipe(call, fifo, graphs, tmp_path, suffix):
    require_format(suffix)
    source = fifo(f"pipe.{suffix}", data_of(tmp_path / f"graphs.{suffix}", graphs))
    call("embed", source, "-o", tmp_path / "z.npy", "-m", 8)
    expected = GRNF(8, random_state=0).fit_transform(graphs)
    np.testing.assert_allclose(np.load(tmp_path / "z.npy"), expected, rtol=1e-6)
    assert json.loads((tmp_path / "z.npy.json").read_text())["input"]["name"] == str(source)


@pytest.mark.parametrize("format", ["json", "npz", "edge-table", "tu"])
def test_every_command_reads_pipes_of_the_shell(call, substituted, graphs, tu, tmp_path, format):
    require_format(format)
    data = Path(shutil.make_archive(tmp_path / "TU", "zip", tu)).read_bytes()
    if format != "tu":
        suffix = {"edge-table": "csv"}.get(format, format)
        data = data_of(tmp_path / f"graphs.{suffix}", graphs, format=format, lossy=True)

    def done(command, *options):
        return call(command, substituted(data), "--format", format, *options)

    done("embed", "-o", tmp_path / "z.npy", "-m", 8)
    done("convert", tmp_path / "again.jsonl")
    done("distances", "-o", tmp_path / "d.npy", "-m", 8)
    count = 25 if format == "tu" else len(graphs)
    assert json.loads(done("info", "--json").stdout)["graphs"] == count
    assert len((tmp_path / "again.jsonl").read_text().splitlines()) == count
    assert np.load(tmp_path / "d.npy").shape == (count, count)
    if format != "edge-table":
        done("train", "-m", 8, "--folds", 2, "--report", tmp_path / "report")


def test_molecules_by_a_pipe_of_the_shell(call, substituted, tmp_path):
    require("rdkit")
    table = b"smiles,y\nCCO,1\nc1ccccc1,0\n"
    call("embed", substituted(table), "--format", "smiles", "-o", tmp_path / "z.npy", "-m", 8)
    assert np.load(tmp_path / "z.npy").shape == (2, 8)


@pytest.mark.parametrize("format", ["csv", "tsv"])
@pytest.mark.parametrize("text", ["smiles,y\nCCO,1\nCCC,0\n", "graph_id,source,target\na,0,1\nb,0,1\n"])
def test_tables_are_told_apart_by_their_columns(call, substituted, tmp_path, monkeypatch, format, text):
    require("rdkit")
    text = text.replace(",", "\t") if format == "tsv" else text
    (tmp_path / "table").write_text(text)
    for source in (tmp_path / "table", substituted(text.encode())):
        result = call("info", source, "--format", format, "--json")
        assert json.loads(result.stdout)["graphs"] == 2
    assert len(list(read_graphs(substituted(text.encode()), format=format))) == 2
    monkeypatch.setattr("sys.stdin", SimpleNamespace(buffer=io.BytesIO(text.encode())))
    assert len(list(read_graphs("-", format=format))) == 2
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder" / f"one.{format}").write_text(text)
    assert len(list(read_graphs(tmp_path / "folder", format=format))) == 2


def test_a_table_of_neither_kind(call, tmp_path):
    (tmp_path / "table").write_text("name,price\n")
    call("info", tmp_path / "table", "--format", "csv", code=1, says="neither SMILES nor source and target")


def test_a_pipe_without_a_suffix_needs_a_format(call, substituted, tmp_path):
    for command in (["embed", "-o", tmp_path / "z.npy"], ["info"], ["train"], ["distances"]):
        call(command[0], substituted(b""), *command[1:], code=2, says="has no suffix. Name its format")


@pytest.mark.parametrize("name", ["pipe.json", "pipe.csv", "pipe.zip", "pipe.edgelist"])
def test_an_empty_pipe_holds_no_graphs(call, fifo, tmp_path, name):
    source = fifo(name, b"")
    result = call("embed", source, "-o", tmp_path / "z.npy", code=1)
    assert result.stderr == f"grnf: {source} holds no graphs: it is empty\n"
    assert sorted(path.name for path in tmp_path.iterdir()) == [name]


def test_errors_call_the_pipe_by_its_name(call, fifo, tmp_path):
    require("ijson")
    source = fifo("pipe.json", b'{"nodes": [')
    call("embed", source, "-o", tmp_path / "z.npy", code=1, says=f"{source}: invalid JSON")


def test_vectors_come_in_files(call, fifo, tmp_path):
    np.save(tmp_path / "z.npy", np.eye(3))
    source = fifo("pipe.npy", (tmp_path / "z.npy").read_bytes())
    call("distances", source, "--format", "vectors", code=1, says="Vectors are read from files only")
    source.open("rb").close()  # lets the writer go


@pytest.mark.parametrize("suffix", ["json", "jsonl.gz", "npz", "graphml", "csv"])
def test_the_library_reads_pipes_too(fifo, graphs, tmp_path, suffix):
    require_format(suffix)
    data = data_of(tmp_path / f"graphs.{suffix}", graphs, lossy=True)
    found = list(read_graphs(fifo(f"pipe.{suffix}", data)))
    assert [len(graph.edges) for graph in found] == [len(graph.edges) for graph in graphs]
    with pytest.raises(ValueError, match="Name its format by format="):
        read_graphs(fifo("pipe", data))
    (tmp_path / "pipe").open("rb").close()
    named = {"json": "json", "csv": "edge-table"}.get(suffix)
    if named:
        assert len(list(read_graphs(fifo("other", data), format=named))) == len(graphs)


def test_a_tu_set_by_a_pipe(fifo, tu, tmp_path):
    data = Path(shutil.make_archive(tmp_path / "TU", "zip", tu)).read_bytes()
    assert len(read_tu(fifo("pipe.zip", data)).graphs) == 25
