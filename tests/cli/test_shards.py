"""`grnf embed` into folders of shards, and what other commands make of these; several inputs at once."""

import json
import re

import numpy as np
import pytest

from cli.small_sets import write_tu
from grnf import GRNF
from grnf.datasets import make_sbm
from grnf.io import read_graphs, write_graphs
from grnf.io.vectors import read_vectors
from grnf.metric import pairwise_distances
from optional import require


@pytest.fixture
def files(tmp_path):
    graphs, _ = make_sbm(20, random_state=0)
    for name, some in (("a", graphs[:12]), ("b", graphs[12:])):
        write_graphs(tmp_path / f"{name}.g6", some, lossy=True)
    return [tmp_path / "a.g6", tmp_path / "b.g6"]


def test_a_folder_of_shards_and_what_becomes_of_it(call, files, tmp_path):
    require("pyarrow")
    folder = tmp_path / "vectors"
    done = call("embed", *files, "-o", folder, "-m", 8, "--shard-size", 5, "--json")
    summary = json.loads(done.stdout)
    assert (summary["graphs"], summary["shards"], summary["set_aside"]) == (20, 5, [])
    expected = GRNF(8, random_state=0).fit_transform(list(read_graphs(files)))
    np.testing.assert_array_equal(read_vectors(folder).Z, expected)
    call("embed", *files, "-o", folder, "-m", 8, code=1, says="exists already: write over it with --force")
    again = call("embed", *files, "-o", folder, "-m", 8, "--shard-size", 5, "--resume")
    assert "5 finished shards found" in again.stderr
    call("index", folder, "-o", tmp_path / "index")
    found = call("search", tmp_path / "index", files[0], "-k", 1)
    first = found.stdout.splitlines()[1].split(",")
    assert first[2] == "a"
    assert call("info", folder).stdout.startswith("source        ")
    call("embed", files[0], "-o", tmp_path / "z.npy", "--like", folder / "_manifest.json")
    np.testing.assert_array_equal(np.load(tmp_path / "z.npy"), expected[:12])
    call("distances", folder, files[0], "-o", tmp_path / "d.npy")  # files by what made the shards
    np.testing.assert_allclose(
        np.load(tmp_path / "d.npy"), pairwise_distances(expected, expected[:12]), atol=1e-6
    )


def test_shards_set_aside_have_an_exit_code(call, files, tmp_path):
    require("pyarrow")
    files[1].write_text(files[1].read_text() + "no graph\n")
    done = call("embed", tmp_path / "*.g6", "-o", tmp_path / "vectors", "-m", 4, "--shard-size", 12, code=3)
    assert f"shard 1 ({files[1]} from graph 0) is set aside: {files[1]}, line 9" in done.stderr
    assert "repeat the command with --resume" in done.stderr
    assert "12 graphs" in done.stdout
    with pytest.warns(UserWarning, match="lacks 1 shards"):
        assert len(read_vectors(tmp_path / "vectors").ids) == 12


def test_several_inputs_into_one_file(call, files, tmp_path):
    for inputs in (files, [tmp_path / "*.g6"]):
        done = call("embed", *inputs, "-o", tmp_path / "z.npz", "-m", 4, "--force")
        ids = np.load(tmp_path / "z.npz")["graph_id"].tolist()
        assert (len(ids), ids[0], ids[12], ids[13]) == (20, "a", "b", "b:1")
    assert "20" in call("info", *files).stdout
    call("convert", *files, tmp_path / "all.jsonl")
    assert len(list(read_graphs(tmp_path / "all.jsonl"))) == 20
    call("index", *files, "-m", 4, "-o", tmp_path / "index")
    done = call("distances", tmp_path / "?.g6", files[0], "--nearest", 1, "-m", 4)
    assert len(done.stdout.splitlines()) == 21
    nothing = call("info", tmp_path / "*.gml", code=1)
    assert nothing.stderr == f"grnf: no file matches {tmp_path}/*.gml\n"


def test_standard_input_is_the_only_input(call, files, tmp_path):
    both = "-", "--format", "graph6", files[0]
    call("embed", *both, "-o", tmp_path / "z.npy", code=1, says="can be read only once")


def test_progress_shows_pace_and_time_left(monkeypatch):
    import io

    from grnf.cli import messages

    class Terminal(io.StringIO):
        def isatty(self):
            return True

    terminal = Terminal()
    monkeypatch.setattr("sys.stderr", terminal)
    monkeypatch.setenv("COLUMNS", "120")
    with messages.progress("embedding", total=100) as advance:
        advance(50)
    assert re.sub(r"\x1b\[\d+m", "", terminal.getvalue()).count("50/100 graphs  50% 0:00:00 left") == 1


def test_a_tu_folder_is_one_shard(call, tmp_path):
    require("pyarrow")
    tu = write_tu(tmp_path / "TU", 25)
    done = call("embed", tu, "-o", tmp_path / "vectors", "-m", 4, "--json")
    assert (json.loads(done.stdout)["graphs"], json.loads(done.stdout)["shards"]) == (25, 1)
    assert read_vectors(tmp_path / "vectors").y is not None
