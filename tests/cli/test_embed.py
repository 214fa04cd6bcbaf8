import json
import os
import shutil
import stat
from pathlib import Path

import numpy as np
import pytest

from cli.lines_format import IMPOSSIBLE, ONE_NODE, PATH, TRIANGLE, UNREADABLE, write_lines
from cli.small_sets import names
from grnf import GRNF, GraphError
from grnf.io import read_graphs, read_tu
from grnf.io.vectors import read_vectors
from grnf.metric import distance
from optional import require


@pytest.mark.parametrize("suffix", ["parquet", "npy", "npz", "csv"])
def test_every_format(call, tu, tmp_path, suffix):
    if suffix == "parquet":
        require("pyarrow")
    output = tmp_path / f"z.{suffix}"
    result = call("embed", tu, "-o", output, "-m", 16, "--seed", 3, "--block-size", 10, "--json")
    assert result.stderr == ""
    assert json.loads(result.stdout) == {
        "graphs": 25,
        "n_components": 16,
        "bad": 0,
        "vectors": str(output),
        "settings": f"{output}.json",
    }
    graphs = read_tu(tu).graphs
    found = read_vectors(output)
    np.testing.assert_allclose(found.Z, GRNF(16, random_state=3).fit_transform(graphs), rtol=1e-7)
    first = 0 if suffix == "npy" else 1  # rows of .npy files have no names but their places
    assert found.ids == [str(first + row) for row in range(25)]
    if suffix != "npy":
        assert [int(y) for y in found.y] == [graph % 2 for graph in range(25)]
    assert names(tmp_path) == ["TU", output.name, f"{output.name}.json"]


def test_side_file_makes_the_same_embedding_again(call, tu, tmp_path):
    options = ["--orders", "poisson:0.5", "--proposal", "1,2", "--activation", "sigmoid"]
    options += ["--basis", "overlapping"]
    options += ["--hidden-activation", "ramp", "--no-normalize", "--no-center", "--dtype", "float64"]
    result = call("embed", tu, "-o", tmp_path / "z.npy", "-m", 8, "--hidden-channels", 2, *options)
    assert "25 graphs, 8 numbers each" in result.stdout
    side = tmp_path / "z.npy.json"
    loaded = GRNF.load(side)
    assert (loaded.normalize, loaded.center, loaded.basis) == (False, False, "overlapping")
    Z = np.load(tmp_path / "z.npy")
    assert Z.dtype == np.float64
    np.testing.assert_array_equal(Z, loaded.transform(read_tu(tu).graphs))
    again = call(
        "embed", tu, "-o", tmp_path / "again.npy", "--like", side, "--n-jobs", 2, "--block-size", 7, "-q"
    )
    assert (again.returncode, again.stdout, again.stderr) == (0, "", "")
    np.testing.assert_allclose(np.load(tmp_path / "again.npy"), Z, rtol=1e-12)
    content = json.loads(side.read_text())
    assert content["input"]["sha256"].keys() == {
        f"TU_{part}.txt" for part in ("A", "graph_indicator", "graph_labels")
    }
    assert json.loads((tmp_path / "again.npy.json").read_text())["transformer"] == content["transformer"]


def test_number_of_features_from_error_and_risk(call, tu, tmp_path):
    result = call("embed", tu, "-o", tmp_path / "z.npy", "-m", "auto", "--eps", 1, "--delta", 0.1, "--json")
    assert json.loads(result.stdout)["n_components"] == np.load(tmp_path / "z.npy").shape[1] == 24


def test_from_standard_input_to_standard_output(fork, tu, tmp_path):
    archive = shutil.make_archive(tmp_path / "TU", "zip", tu)
    options = "-o", "-", "--format", "tu", "-m", 4, "--json"
    result = fork("", "embed", "-", *options, stdin=archive)
    lines = result.stdout.splitlines()
    assert lines[0] == "graph_id,y,grnf0,grnf1,grnf2,grnf3"
    assert len(lines) == 26
    assert json.loads(result.stderr) == {"graphs": 25, "n_components": 4, "bad": 0}
    assert names(tmp_path) == ["TU", "TU.zip"]


def test_bad_graphs_stop_the_run_and_are_named(call_lines, tmp_path):
    source = write_lines(tmp_path / "g.lines", [TRIANGLE, PATH, IMPOSSIBLE])
    result = call_lines("embed", source, "-o", tmp_path / "z.npy", "-m", 4, code=1)
    assert result.stderr.count("\n") == 1
    assert result.stderr.startswith("grnf: ")
    assert "7" in result.stderr
    source = write_lines(source, [TRIANGLE, UNREADABLE])
    result = call_lines("embed", source, "-o", tmp_path / "z.npy", "-m", 4, code=1)
    assert result.stderr == f"grnf: {source}, line 2: no such thing\n"
    assert names(tmp_path) == ["g.lines"]


@pytest.mark.parametrize("block_size", [2, 100])
def test_bad_graphs_become_nan_or_are_left_out(call_lines, tmp_path, block_size):
    require("pyarrow")
    source = write_lines(tmp_path / "g.lines", [TRIANGLE, UNREADABLE, PATH, IMPOSSIBLE, ONE_NODE])
    options = ["-m", 4, "--block-size", block_size]
    result = call_lines("embed", source, "-o", tmp_path / "z.parquet", *options, "--on-error", "nan")
    assert "2 graphs could not be used (rows of NaN)" in result.stderr
    found = read_vectors(tmp_path / "z.parquet")
    assert found.ids == ["triangle", "lost", "path", "impossible", "one"]
    assert found.y == ["ring", None, "tree", None, None]
    assert np.isnan(found.Z).all(axis=1).tolist() == [False, True, False, True, False]
    bad = json.loads((tmp_path / "z.parquet.json").read_text())["bad"]
    assert [(record["index"], record["graph_id"]) for record in bad] == [(1, "lost"), (3, "impossible")]
    assert bad[0]["reason"] == "no such thing"
    result = call_lines("embed", source, "-o", tmp_path / "s.parquet", *options, "--on-error", "skip", "-q")
    assert result.stderr == ""
    left = read_vectors(tmp_path / "s.parquet")
    assert left.ids == ["triangle", "path", "one"]
    np.testing.assert_array_equal(left.Z, found.Z[[0, 2, 4]])


def test_like_excludes_settings_and_must_exist(call, tu, tmp_path):
    call("embed", tu, "-o", tmp_path / "z.npy", "--like", tmp_path / "none.json", code=1, says="none.json")
    GRNF(4, random_state=0).fit(read_tu(tu).graphs).save(tmp_path / "t.json")
    result = call("embed", tu, "-o", tmp_path / "z.npy", "--like", tmp_path / "t.json", "-m", 8, code=2)
    assert "--n-components cannot be combined with --like" in " ".join(result.stderr.split())


def test_like_goes_with_policies_which_the_new_settings_remember(call_lines, tmp_path):
    known, strange = (
        {"n_nodes": 1, "edges": [], "node_columns": {"symbol": [symbol]}, "graph_id": symbol}
        for symbol in "CN"
    )
    source = write_lines(tmp_path / "g.lines", [known])
    closed = ["-m", 4, "--handle-unknown", "error"]
    call_lines("embed", source, "-o", tmp_path / "z.npy", *closed)
    source = write_lines(tmp_path / "h.lines", [known, strange])
    again = ["embed", source, "-o", tmp_path / "y.npy", "--like", tmp_path / "z.npy.json"]
    result = call_lines(*again, code=1)
    assert names(tmp_path) == ["g.lines", "h.lines", "z.npy", "z.npy.json"]
    assert "graph N: the node column 'symbol' has the value" in result.stderr
    call_lines(*again, "--handle-unknown", "ignore")
    assert GRNF.load(tmp_path / "y.npy.json").handle_unknown == "ignore"
    assert GRNF.load(tmp_path / "z.npy.json").handle_unknown == "error"


@pytest.mark.slow
def test_closed_pipe_ends_in_silence(run, tu):
    code = "import os; reader, writer = os.pipe(); os.close(reader); os.dup2(writer, 1)"
    result = run(code, "embed", tu, "-o", "-", "-m", 64, "-q", code=1)
    assert result.stderr == ""


def test_places_that_cannot_be_written_to(call, tu, tmp_path):
    place = tmp_path / "closed"
    place.mkdir()
    place.chmod(stat.S_IRUSR | stat.S_IXUSR)
    if os.access(place, os.W_OK):  # root may write anywhere, but not here
        place = Path("/proc")
    result = call("embed", tu, "-o", place / "z.npy", "-m", 4, code=1)
    assert result.stderr.count("\n") == 1
    assert "z.npy" in result.stderr
    call("embed", tu, "-o", tmp_path / "none" / "z.npy", "-m", 4, code=1, says="none does not exist")


def test_a_folder_is_not_a_vector_file(call, tu, tmp_path):
    (tmp_path / "d.npy").mkdir()
    call("embed", tu, "-o", tmp_path / "d.npy", "-m", 4, code=1, says="a folder is not replaced")
    assert list((tmp_path / "d.npy").iterdir()) == []
    require("pyarrow")  # for shards
    call("embed", tu, "-o", f"{tmp_path / 'd.npy'}/", "-m", 4)


def test_a_graph_that_does_not_fit_in_memory_is_named(call, tmp_path, monkeypatch):
    from grnf.features.embedding import Embedder

    def embedded(self, batch):
        if batch.sizes.max() > 5:
            raise MemoryError("Unable to allocate 14 GiB")
        return compute(self, batch)

    compute = Embedder.__call__
    monkeypatch.setattr(Embedder, "__call__", embedded)
    rows = [f"{n},{n + 1},{name}" for name, size in (("a", 3), ("big", 9), ("c", 4)) for n in range(size)]
    (tmp_path / "e.csv").write_text("source,target,graph_id\n" + "\n".join(rows) + "\n")
    job = ["embed", tmp_path / "e.csv", "-m", 4, "-o", tmp_path / "z.npy"]
    result = call(*job, code=1)
    assert f"{tmp_path / 'e.csv'}, graph big: out of memory: this graph has 10 nodes" in result.stderr
    assert "--on-error skip" in result.stderr
    call(*job, "--on-error", "skip")
    assert np.load(tmp_path / "z.npy").shape == (2, 4)
    with pytest.raises(GraphError, match=r"X\[1\]: out of memory: this graph has 10 nodes"):
        GRNF(4).fit_transform(list(read_graphs(tmp_path / "e.csv")))


def test_existing_output_is_replaced_only_on_success(call_lines, tmp_path):
    output = tmp_path / "z.npy"
    output.write_bytes(b"old")
    source = write_lines(tmp_path / "g.lines", [TRIANGLE, UNREADABLE])
    call_lines("embed", source, "-o", output, "-m", 4, "--force", code=1)
    assert output.read_bytes() == b"old"
    write_lines(source, [TRIANGLE, PATH])
    call_lines("embed", source, "-o", output, "-m", 4, "--force")
    assert np.load(output).shape == (2, 4)


def test_no_graphs(call_lines, tmp_path):
    source = write_lines(tmp_path / "g.lines", [])
    for output in (tmp_path / "z.npy", "-"):
        result = call_lines("embed", source, "-o", output, code=1)
        assert result.stderr == f"grnf: {source} holds no graphs\n"
    assert names(tmp_path) == ["g.lines"]


def test_heads_and_stratified_orders_and_their_intervals(call, tu, tmp_path):
    output = tmp_path / "z.npy"
    call("embed", tu, "-o", output, "-m", 64, "--heads", 4, "--stratified", "--seed", 3)
    grnf = GRNF(64, heads=4, stratified=True, random_state=3)
    graphs = read_tu(tu).graphs
    np.testing.assert_allclose(read_vectors(output).Z, grnf.fit_transform(graphs), rtol=1e-6, atol=1e-8)
    (tmp_path / "pairs.csv").write_text("0,1\n")
    found = call("distances", output, "--pairs", tmp_path / "pairs.csv", "--confidence", 0.9, "--json")
    z1, z2 = read_vectors(output).Z[:2]
    low, high = distance(z1, z2, heads=4).interval(0.9)
    (record,) = json.loads(found.stdout)
    assert (record["low"], record["high"]) == pytest.approx((low, high), abs=1e-6)
    call("embed", tu, "-o", output, "-m", 64, "--heads", 5, "--force", code=2, says="multiple of heads")


def test_columns_of_a_table(call, tmp_path):
    require("rdkit")
    rows = "\n".join(f"D{n},{'C' * n}C(=O)O,{'C' * n}" for n in range(1, 9))
    (tmp_path / "t.csv").write_text(f"Drug_ID,Drug,tail\n{rows}\n")
    arguments = ["embed", tmp_path / "t.csv", "-o", tmp_path / "z.csv", "-m", 4]
    call(*arguments, "--smiles-column", "Drug", "--id-column", "Drug_ID")
    lines = (tmp_path / "z.csv").read_text().splitlines()
    assert [line.split(",")[0] for line in lines[1:]] == [f"D{n}" for n in range(1, 9)]
    made = json.loads((tmp_path / "z.csv.json").read_text())
    assert made["input"]["options"] == {"column": "Drug", "graph_id": "Drug_ID"}
    call(*arguments, "--smiles-column", "drug", "--force", code=1, says="no column 'drug'")


# Print how often the file of the first argument is opened.
COUNT_OPENS = """
import atexit, sys
path, opens = sys.argv.pop(1), []
sys.addaudithook(lambda event, arguments: event == "open" and arguments[0] == path and opens.append(1))
atexit.register(lambda: print("opened", len(opens), "times", file=sys.stderr))
"""


@pytest.mark.parametrize(("more", "times"), [(0, 1), (500, 2)])
def test_a_table_is_opened_once_for_its_checksum_and_once_for_its_graphs(fork, tmp_path, more, times):
    """A table up to 1 MB is kept from the first time."""
    require("rdkit")
    require("pyarrow")
    rows = "".join(f"{'C' * (1 + n % 9)}O,{n},{'text' * more}\n" for n in range(600))
    table = tmp_path / "t.csv"
    table.write_text(f"Drug,y,note\n{rows}")
    result = fork(COUNT_OPENS, table, "embed", table, "-o", tmp_path / "z.parquet", "-m", 4)
    assert f"opened {times} times" in result.stderr
    assert read_vectors(tmp_path / "z.parquet").Z.shape == (600, 4)
