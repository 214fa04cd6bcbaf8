"""`grnf distances`, from graphs and from vectors."""

import csv
import io
import json
import weakref
from dataclasses import replace

import numpy as np
import pytest
from typer.testing import CliRunner

from cli.lines_format import PATH, TRIANGLE, write_lines
from cli.small_sets import write_tu
from grnf import GRNF
from grnf.cli.app import app
from grnf.cli.graph_input import LikeInput
from grnf.io import RawGraph, read_tu
from grnf.metric import exact_distances, pairwise_distances, pairwise_kernels
from optional import require


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    """Two sets of graphs, and the vectors of the first in three formats."""
    require("pyarrow")
    place = tmp_path_factory.mktemp("distances")
    write_tu(place / "ONE", 12)
    write_tu(place / "TWO", 5, seed=1)
    for suffix in ("npy", "npz", "parquet"):
        arguments = ["embed", str(place / "ONE"), "-o", str(place / f"one.{suffix}"), "-m", "16", "-q"]
        assert CliRunner().invoke(app, arguments).exit_code == 0
    return place


def vectors(place, name="ONE"):
    grnf = GRNF(16, random_state=0).fit(read_tu(place / "ONE").graphs)
    return grnf.transform(read_tu(place / name).graphs)


def table(text):
    rows = list(csv.reader(io.StringIO(text)))
    return rows[0], rows[1:]


def test_matrix_from_graphs(call, place, tmp_path):
    result = call("distances", place / "ONE", place / "TWO", "-m", 16, "-o", tmp_path / "d.npy", "--json")
    assert json.loads(result.stdout) == {"output": str(tmp_path / "d.npy"), "graphs": [12, 5]}
    expected = pairwise_distances(vectors(place), vectors(place, "TWO"))
    np.testing.assert_allclose(np.load(tmp_path / "d.npy"), expected, atol=1e-7)
    result = call("distances", "--kernel", place / "ONE", "-m", 16, "-o", tmp_path / "k.csv")
    assert result.stdout == f"12 x 12 graphs: {tmp_path / 'k.csv'}\n"
    text = (tmp_path / "k.csv").read_text()
    assert table(text)[0] == ["graph_id", *map(str, range(1, 13))]
    np.testing.assert_allclose(table_of_numbers(text), pairwise_kernels(vectors(place)), atol=1e-7)


@pytest.mark.parametrize("name", ["one.npy", "one.npz", "one.parquet"])
def test_matrix_from_vectors_to_standard_output(call, place, name):
    result = call("distances", place / name)
    assert result.stderr == ""
    np.testing.assert_allclose(table_of_numbers(result.stdout), pairwise_distances(vectors(place)), atol=1e-7)


def test_graphs_beside_vectors_are_embedded_alike(call, place):
    result = call("distances", "--kernel", place / "TWO", place / "one.npy", "--json")
    found = [json.loads(line) for line in result.stdout.splitlines()]
    assert [record["graph_id"] for record in found] == ["1", "2", "3", "4", "5"]
    values = np.array([record["kernel"] for record in found])
    np.testing.assert_allclose(values, pairwise_kernels(vectors(place, "TWO"), vectors(place)), atol=1e-7)


def test_nearest(call, place):
    D = pairwise_distances(vectors(place))
    np.fill_diagonal(D, np.inf)
    header, rows = table(call("distances", place / "one.npz", "--nearest", 3).stdout)
    assert header == ["graph_id", "rank", "neighbor", "distance"]
    assert len(rows) == 36
    np.testing.assert_allclose([float(row[3]) for row in rows], np.sort(D)[:, :3].ravel(), atol=1e-7)
    assert all(row[0] != row[2] for row in rows)
    result = call("distances", "--kernel", place / "one.npz", place / "TWO", "--nearest", 1, "--json")
    found = [record["kernel"] for record in json.loads(result.stdout)]
    np.testing.assert_allclose(
        found, pairwise_kernels(vectors(place), vectors(place, "TWO")).max(axis=1), atol=1e-7
    )


def test_pairs_with_intervals(call, place, tmp_path):
    pairs = tmp_path / "pairs.csv"
    pairs.write_text("0,1\n3, 3\n")
    result = call("distances", place / "one.npy", "--pairs", pairs, "--confidence", 0.95, "--json")
    first, second = json.loads(result.stdout)
    graphs = read_tu(place / "ONE").graphs
    estimate = GRNF(16, random_state=0).fit(graphs).distance(graphs[0], graphs[1])
    assert first["distance"] == pytest.approx(estimate.value, abs=1e-7)
    assert (first["low"], first["high"]) == pytest.approx(
        replace(estimate, upper=None).interval(0.95), abs=1e-5
    )
    assert (second["distance"], second["method"]) == (0, "betting")
    (tmp_path / "graphs.csv").write_text("1,2\n")
    of_graphs = place / "ONE", "-m", 16, "--seed", 0, "--pairs", tmp_path / "graphs.csv"
    result = call("distances", *of_graphs, "--confidence", 0.95, "--json")
    closer = json.loads(result.stdout)[0]  # the graphs have an upper bound in closed form
    assert (closer["low"], closer["high"]) == pytest.approx(estimate.interval(0.95), abs=1e-5)
    assert closer["high"] < 0.8 * first["high"]
    result = call(
        "distances", "--kernel", place / "one.npy", "--pairs", pairs, "--confidence", 0.95, "--json"
    )
    first = json.loads(result.stdout)[0]
    similarity = GRNF(16, random_state=0).fit(graphs).kernel(graphs[0], graphs[1])
    assert first["kernel"] == pytest.approx(similarity.value, abs=1e-7)
    assert (first["low"], first["high"]) == pytest.approx(similarity.interval(0.95), abs=1e-6)
    header, rows = table(call("distances", "--kernel", place / "one.npy", "--pairs", pairs).stdout)
    assert header == ["graph_1", "graph_2", "kernel"]
    assert float(rows[1][2]) == pytest.approx(pairwise_kernels(vectors(place))[3, 3])


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("0,99\n", "line 1: {place}/one.npy has no graph called '99'"),
        ("0,1\n0\n", "line 2: expected two ids, found 1 columns"),
    ],
)
def test_bad_pairs(call, place, tmp_path, text, message):
    (tmp_path / "pairs.csv").write_text(text)
    result = call(
        "distances", place / "one.npy", "--pairs", tmp_path / "pairs.csv", "-o", tmp_path / "d.csv", code=1
    )
    assert result.stderr == f"grnf: {tmp_path / 'pairs.csv'}, {message.format(place=place)}\n"
    assert not (tmp_path / "d.csv").exists()


def test_exact_distances_of_pairs_below_a_header(call, place, tmp_path):
    pairs = tmp_path / "pairs.csv"
    pairs.write_text("graph_1,graph_2\n1,2\n4,3\n")
    graphs = read_tu(place / "ONE").graphs
    for options, exact in (((), exact_distances(graphs)), (("--kernel",), None)):
        result = call("distances", place / "ONE", "--exact", "--pairs", pairs, "--seed", 0, *options)
        (*_, name), rows = table(result.stdout)
        assert [row[:2] for row in rows] == [["1", "2"], ["4", "3"]]
        if exact is None:
            exact = GRNF(16, random_state=0).fit(graphs).pairwise_kernels(graphs, exact=True)
        assert [float(row[2]) for row in rows] == pytest.approx([exact[0, 1], exact[3, 2]]), name
    wrong = "--exact", "--pairs", pairs, "--confidence", 0.9
    call("distances", place / "ONE", *wrong, code=2, says="leave --confidence out")


def test_bad_graphs_are_reported_once(call, tmp_path):
    pytest.importorskip("rdkit")
    (tmp_path / "x.smi").write_text("CCO a\nCCC b\nC1CC bad\n")
    (tmp_path / "pairs.csv").write_text("a,b\n")
    options = "--pairs", tmp_path / "pairs.csv", "--confidence", 0.9, "-m", 16, "--on-error", "skip"
    result = call("distances", tmp_path / "x.smi", *options)
    assert result.stderr.count("1 graph could not be used") == 1


def test_ids_that_are_not_unique(call_lines, tmp_path):
    source = write_lines(tmp_path / "g.lines", [TRIANGLE, PATH, PATH])
    (tmp_path / "pairs.csv").write_text("triangle,path\n")
    options = "--pairs", tmp_path / "pairs.csv", "-m", 4
    call_lines("distances", source, *options, code=1, says="has several graphs called 'path'")


def test_vectors_of_different_transformers(call, place, tmp_path):
    other = tmp_path / "other.npy"
    call("embed", place / "TWO", "-o", other, "-m", 16, "--seed", 1)
    call("distances", place / "one.npy", other, code=1, says="different transformers")
    (tmp_path / "other.npy.json").unlink()
    np.save(other, np.zeros((2, 3)))
    call("distances", place / "one.npy", other, code=1, says="length 16")
    (tmp_path / "pairs.csv").write_text("0,1\n")
    pairs = "--pairs", tmp_path / "pairs.csv", "--confidence", 0.9
    call("distances", other, *pairs, code=1, says="other.npy.json is missing")
    call("distances", other, place / "TWO", code=1, says="Pass it with --like")


def test_damaged_vectors(call, tmp_path):
    (tmp_path / "z.npy").write_bytes(b"\x93NUMPY\x01\x00cut off")
    result = call("distances", tmp_path / "z.npy", "--format", "vectors", code=1)
    assert result.stderr.count("\n") == 1
    assert "holds no vectors" in result.stderr


def test_uncentered_vectors_give_the_same_kernel(call, place, tmp_path):
    call("embed", place / "ONE", "-o", tmp_path / "z.npy", "-m", 16, "--no-center")
    assert call("distances", "--kernel", tmp_path / "z.npy", "-o", tmp_path / "k.npy", "-q").stdout == ""
    np.testing.assert_allclose(np.load(tmp_path / "k.npy"), pairwise_kernels(vectors(place)), atol=1e-6)


def test_some_rows_are_held_at_a_time(call, tmp_path, monkeypatch):
    """The matrix is never in memory: no call asks for more rows than are held."""
    monkeypatch.setattr("grnf.cli.distances.BYTES_OF_ROWS", 8 * 7 * 3)
    Z = np.random.default_rng(0).normal(size=(7, 4))
    np.save(tmp_path / "z.npy", Z)
    sizes = []

    def between(X, Y):
        sizes.append(len(X))
        return pairwise_distances(X, Y)

    monkeypatch.setattr("grnf.metric.pairwise_distances", between)
    call("distances", tmp_path / "z.npy", "-o", tmp_path / "d.npy")
    assert sizes == [3, 3, 1]
    np.testing.assert_allclose(np.load(tmp_path / "d.npy"), pairwise_distances(Z), atol=1e-12)


def test_rows_of_nan_are_nobodys_neighbors(tmp_path, call):
    np.save(tmp_path / "z.npy", np.array([[0.0, 1.0], [np.nan, np.nan], [1.0, 1.0]]))
    _, rows = table(call("distances", tmp_path / "z.npy", "--nearest", 2).stdout)
    assert rows == [["0", "1", "2", "1"], ["2", "1", "0", "1"]]


def test_graphs_are_embedded_as_they_are_read(tmp_path, monkeypatch):
    """No more graphs than two blocks are alive at a time."""
    alive, most = weakref.WeakSet(), []

    def read(self, *, yield_bad=False, **options):
        for number in range(5_000):
            graph = RawGraph(3, np.array([[0, 1]]), graph_id=str(number))
            alive.add(graph)
            most.append(len(alive))
            yield graph

    monkeypatch.setattr("grnf.io.files.source.Source.read", read)
    (tmp_path / "graphs.g6").write_text("Bw\n")
    found = LikeInput(n_components=4, quiet=True).vectors([str(tmp_path / "graphs.g6")])
    assert (found[0].vectors.shape, found[0].ids[-1]) == ((5_000, 4), "4999")
    assert 1024 <= max(most) <= 2 * 1024 + 1


def test_distance_0_of_different_graphs_is_reported(call, tmp_path):
    require("rdkit")
    table, pairs = tmp_path / "x.smi", tmp_path / "pairs.csv"
    table.write_text("Cc1cccc(C)c1 meta\nCc1ccc(C)cc1 para\nCCO e\nOCC e2\n")
    pairs.write_text("meta,para\n")
    for options in ([], [table], ["--nearest", 1], ["--pairs", pairs]):
        told = call("distances", table, *options).stderr
        assert "1 pair, for example meta and para. A larger order" in told
    assert "0 of graphs" not in call("distances", table, "--orders", "1:1/3,2:1/3,3:1/3").stderr
    pairs.write_text("e,e2\n")
    assert "0 of graphs" not in call("distances", table, "--pairs", pairs).stderr


def test_molecules_are_read_as_those_of_the_vectors(call, tmp_path):
    require("rdkit")
    table = tmp_path / "x.smi"
    table.write_text("C[C@H](F)Cl a\nC[C@@H](F)Cl b\nCCO c\n[Na+].CC(=O)[O-] d\n")
    options = ["-m", 8, "--stereo", "--standardize"]
    call("embed", table, "-o", tmp_path / "z.npy", *options)
    own = table_of_numbers(call("distances", table, *options).stdout)
    assert own[0, 1] > 0.01
    like = ["--like", tmp_path / "z.npy.json"]
    for arguments in ([tmp_path / "z.npy", table], [table, *like]):
        done = call("distances", *arguments)
        np.testing.assert_allclose(table_of_numbers(done.stdout), own, atol=1e-6)
    call("embed", table, "-o", tmp_path / "plain.npy", "-m", 8)
    done = call("distances", table, "--like", tmp_path / "plain.npy.json", "--stereo", code=2)
    assert "--stereo was not used" in done.stderr
    call("embed", table, "-o", tmp_path / "again.npy", *like)
    np.testing.assert_array_equal(np.load(tmp_path / "again.npy"), np.load(tmp_path / "z.npy"))


def table_of_numbers(text):
    return np.array([row[1:] for row in table(text)[1]], dtype=float)
