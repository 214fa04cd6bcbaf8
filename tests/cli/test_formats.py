"""What --format says: a format, and after a colon what its reader is to know."""

import json

import numpy as np
import pytest

from grnf.io.vectors import read_vectors
from optional import require


def n_directed(call, path, *more):
    result = call("info", path, "--json", *more)
    return json.loads(result.stdout)["directed_graphs"]


def test_directed_edges_and_names_of_columns(call, tmp_path):
    edges = tmp_path / "a.edges"
    edges.write_text("1 2\n2 3\n")
    assert n_directed(call, edges) == 0
    assert n_directed(call, edges, "--format", "edge-list:directed") == 1
    assert n_directed(call, edges, "--format", "edge-list:directed=no") == 0
    table = tmp_path / "a.csv"
    table.write_text('who,"whom, then"\na,b\n')
    told = 'edge-table:source_column=who,"target_column=whom, then",directed=yes'
    assert n_directed(call, table, "--format", told) == 1
    table.write_text("source,target\na,b\n")
    assert n_directed(call, table, "--format", "csv:directed") == 1


@pytest.mark.slow
def test_arrays_of_a_file_in_every_run_of_a_command(call, tmp_path):
    require("pyarrow")
    A = np.triu(np.random.default_rng(0).random((6, 5, 5)), 1)
    A += A.transpose(0, 2, 1)
    np.savez(tmp_path / "a.npz", raw=A, few=A * (A > 0.5))
    np.save(tmp_path / "few.npy", A * (A > 0.5))
    vectors = []
    for source, output, more in (
        ("few.npy", "z.npy", []),
        ("a.npz", "y.npy", ["--format", "matrices:array=few"]),
        ("a.npz", "shards", ["--format", "matrices:array=few", "--shard-size", 4, "--n-jobs", 2]),
    ):
        call("embed", tmp_path / source, "-o", tmp_path / output, "-m", 4, "--seed", 0, *more)
        vectors.append(read_vectors(tmp_path / output).Z)
    assert np.array_equal(vectors[0], vectors[1])
    assert np.array_equal(vectors[0], vectors[2])
    call(  # other graphs are no continuation
        "embed", tmp_path / "a.npz", "-o", tmp_path / "shards", "-m", 4, "--seed", 0, "--shard-size", 4,
        "--format", "matrices:array=raw", "--resume", code=1,
    )  # fmt: skip


@pytest.mark.parametrize(
    ("format", "message"),
    [
        ("edge-table:sourcecolumn=a", "has no option 'sourcecolumn'"),
        ("gml:directed", "gml has no option 'directed'. Available: none"),
        (":directed", "unknown format ''"),
        ("edge-lists:directed", "unknown format 'edge-lists'"),
        ("smiles:keep=a", "has no option 'keep'"),
        ("edge-list:directed=maybe", "directed of edge-list must be yes or no"),
        ("csv:source_column", "source_column of csv must be a value"),
    ],
)
def test_what_is_no_option(call, tmp_path, format, message):
    (tmp_path / "a.csv").write_text("source,target\na,b\n")
    call("info", tmp_path / "a.csv", "--format", format, code=2, says=message)
